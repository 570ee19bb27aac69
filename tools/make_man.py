"""Make the manual page from the texts that ``--help`` prints.

    python -m tools.make_man [FILE]

FILE is resources/helixscope.1 unless another is named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_group

from main import app

PAGE = Path(__file__).parents[1] / "resources" / "helixscope.1"
ABOUT = """\
Its pages are in the window (F1), and in the folder resources/guide of the source.
"""


def man_page() -> str:
    """Return the page, in the language of man(7)."""
    group = get_group(app)
    group.name = "helixscope"
    root = group.make_context("helixscope", [], resilient_parsing=True)
    commands = [command for command in group.commands.values() if not command.hidden]
    contexts = [
        command.make_context(command.name, [], parent=root, resilient_parsing=True)
        for command in commands
    ]
    lines = [
        ".TH HELIXSCOPE 1",
        ".SH NAME",
        rf"helixscope \- {_text(str(group.help))}",
        ".SH SYNOPSIS",
        *_lines_of_usage([root, *contexts]),
        ".SH OPTIONS",
        *_options(group, root),
    ]
    for command, context in zip(commands, contexts, strict=True):
        lines += [f".SH {_text(f'helixscope {command.name}').upper()}"]
        for paragraph in str(command.help).split("\n\n"):
            lines += [".PP", _text(" ".join(paragraph.split()))]
        lines += _options(command, context)
    lines += [".SH SEE ALSO", _text(" ".join(ABOUT.split()))]
    return "\n".join(lines) + "\n"


def _lines_of_usage(contexts: list[Any]) -> Iterator[str]:
    for context in contexts:
        words = " ".join(context.get_usage().split()).removeprefix(f"Usage: {context.command_path}")
        yield from (".PP", rf"\fB{_text(context.command_path)}\fR{_text(words)}")


def _options(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is not None:
            names, text = record
            yield from (".TP", rf"\fB{_text(names)}\fR", _text(" ".join(text.split())))


def _text(text: str) -> str:
    """Return a text that is not interpreted."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text[:1] in (".", "'") else text


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PAGE).write_text(man_page(), "utf-8")
