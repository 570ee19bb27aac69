"""Terminal output of commands: messages on a terminal only, tables, one-sentence errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


def say_written(what: str, model: PositionalModel) -> None:
    """Report the written file and the model."""
    commit = f" at commit {model.commit[:7]}" if model.commit else ""
    say(f"Wrote {what}: {model.name}{commit}.")


def say(sentence: str) -> None:
    """Print a message that is neither result nor error: on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{sentence}\n")


def sentence(error: HelixscopeError) -> str:
    """Return an error with its advice as one sentence on one line."""
    candidates = [tensor.name for tensor in getattr(error, "candidates", ())]
    if candidates:
        return joined(str(error), f"--table takes one of {', '.join(candidates)}")
    return joined(str(error), error.advice)


def joined(text: str, advice: str) -> str:
    """Join what happened and the advice to one sentence on one line."""
    text, advice = (" ".join(part.split()).rstrip(".") for part in (text, advice))
    if advice.partition(" ")[0][1:].islower():  # a word, and not the name of a variable
        advice = advice[0].lower() + advice[1:]
    return f"{text}; {advice}." if advice else f"{text}."


def print_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table on standard output; in files and pipes with full cells.

    On a narrow terminal the first column is the last to be cut, since it is the one to copy.
    """
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column(titles[0], no_wrap=True), *titles[1:], box=None)
    for row in rows:
        table.add_row(*row)
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)
