"""Atomic writing of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError

PART = ".part"
"""Suffix of a file while it is being written."""


def part_of(out: Path) -> Path:
    """Return the temporary name of a file while it is written.

    Always the same, so that the remains of a killed process are overwritten by the next one.
    """
    return out.with_name(f".{out.name}{PART}")


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``out`` when the block succeeds.

    Otherwise it is removed and ``out`` stays unchanged. The suffix differs from that of ``out``, so
    the writer must be given the format explicitly.

    Raises
    ------
    OSError
        It cannot be written; mostly raised before the block begins.
    """
    out = Path(os.path.realpath(out))  # a link keeps its target
    part = part_of(out)
    try:
        part.touch()
        yield part
        os.replace(part, out)
    finally:
        # In a folder without access this fails as the writing did, with the same reason.
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(text: str, out: Path) -> None:
    r"""Write a text as UTF-8, with "\n" line endings on every system.

    Raises
    ------
    OSError
        It cannot be written.
    """
    with whole_file(out) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def not_written(out: Path, error: OSError) -> HelixscopeError:
    """Return the error for a file that could not be written."""
    return HelixscopeError(
        f"{out} cannot be written: {error.strerror or error}",
        "Choose another folder or file name.",
    )
