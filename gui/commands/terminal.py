"""What the headless commands say: progress on a terminal only, tables, one sentence on errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


def say_written(what: str, model: PositionalModel) -> None:
    """Say what was written, and of which model."""
    commit = f" at commit {model.commit[:7]}" if model.commit else ""
    say(f"Wrote {what}: {model.name}{commit}.")


def say(sentence: str) -> None:
    """Say something that is no result and no error: on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{sentence}\n")


def sentence(error: HelixscopeError) -> str:
    """Return what went wrong and what to do about it as one sentence in one line."""
    candidates = [tensor.name for tensor in getattr(error, "candidates", ())]
    if candidates:
        return joined(str(error), f"--table takes one of {', '.join(candidates)}")
    return joined(str(error), error.advice)


def joined(text: str, advice: str) -> str:
    """Make one sentence of what happened and what to do, in one line."""
    text, advice = (" ".join(part.split()).rstrip(".") for part in (text, advice))
    if advice.partition(" ")[0][1:].islower():  # a word, and no name of a variable
        advice = advice[0].lower() + advice[1:]
    return f"{text}; {advice}." if advice else f"{text}."


def print_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table on standard output; into a file or a pipe every cell in full.

    On a narrow terminal the first column is the last to be cut: that is what one copies.
    """
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column(titles[0], no_wrap=True), *titles[1:], box=None)
    for row in rows:
        table.add_row(*row)
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)
