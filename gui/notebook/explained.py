"""Errors of scripts and notebooks, whose tracebacks show what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geometry.checkpoints.errors import HelixscopeError
from gui.style.system_libraries import imports_explained


@contextmanager
def explained() -> Iterator[None]:
    """Name packages that are missing, and add an error's advice to what Python prints of it.

    Raises
    ------
    HelixscopeError
        Of the block, or a package is missing.
    """
    try:
        with imports_explained():
            yield
    except HelixscopeError as error:
        if error.advice and error.advice not in getattr(error, "__notes__", ()):
            error.add_note(error.advice)
        raise
