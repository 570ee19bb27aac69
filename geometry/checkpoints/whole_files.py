"""Files that are whole or as they were, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError

PART = ".part"
"""Ends the name of a file while it is written."""


def part_of(out: Path) -> Path:
    """Return the name of a file while it is written.

    One name for all attempts: what a killed process left of it is written over by the next.
    """
    return out.with_name(f".{out.name}{PART}")


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Give a name to write to; what is there takes its place when the block ends well.

    Otherwise nothing of it stays, and what was there before does. The name does not end as
    ``out`` does, so whatever writes to it has to be told the format.

    Raises
    ------
    OSError
        It cannot be written; most reasons are found before the block begins.
    """
    out = Path(os.path.realpath(out))  # a link goes on leading there
    part = part_of(out)
    try:
        part.touch()
        yield part
        os.replace(part, out)
    finally:
        # In a folder that may not be looked into this fails as the writing did, and says no more.
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(text: str, out: Path) -> None:
    r"""Write a text as UTF-8, its lines ended by "\n" on every system.

    Raises
    ------
    OSError
        It cannot be written.
    """
    with whole_file(out) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def not_written(out: Path, error: OSError) -> HelixscopeError:
    """Say of a file that it cannot be written, and why."""
    return HelixscopeError(
        f"{out} cannot be written: {error.strerror or error}",
        "Choose another folder or file name.",
    )
