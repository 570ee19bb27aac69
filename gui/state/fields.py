"""Declarations of the session's fields, with the uses that the application makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

from gui.state.values import MAX_COLUMNS, ColumnWidths

LARGEST_WHOLE = 2**31 - 1
"""Largest integer of a saved field: Qt's controls hold none beyond."""
LONGEST_NAME = 10_000
"""Maximum number of characters of a name or a path in saved work: twice those of any path."""
LONGEST_TEXT = 1_000_000
"""Maximum number of characters of a note or a prompt in saved work: ten times those that are split
into tokens.
"""
MAX_SELECTED = 100_000
"""Maximum number of selected positions: no table has more."""
UNCHANGED = object()
"""Sentinel: the current value is kept."""
_TRAITS = "traits"

Check = Callable[[object], bool]
"""Returns whether a value from a file is valid for a field."""


@dataclass(frozen=True, slots=True)
class Traits:
    """How the application uses a field of the session."""

    undo: str = ""  # Its name in the Edit menu; "" if its changes are not undone
    # The check of its values in files of saved work; None if it is not saved.
    saved: Check | None = None
    absent: object = UNCHANGED  # The value for files that lack the field
    linked: bool = False  # Whether all views show the open model's value
    drawn: bool = False  # Whether the 3D view shows it
    setting: str = ""  # Its key in the settings; "" if it is not stored there


def traits(**given: Any) -> dict[str, Traits]:
    """Return the metadata of a dataclass field; the arguments are those of :class:`Traits`."""
    return {_TRAITS: Traits(**given)}


def traits_of(cls: Any) -> dict[str, Traits]:
    """Return the traits of all fields of a dataclass, by their names."""
    return {f.name: f.metadata.get(_TRAITS, Traits()) for f in fields(cls)}


# ---- checks ----------------------------------------------------------------------------


def one_of(*allowed: object) -> Check:
    """Return the check for a choice."""
    return lambda value: value in allowed


def flag(value: object) -> TypeGuard[bool]:
    """Return whether a value is a bool."""
    return isinstance(value, bool)


def whole(value: object, minimum: int = 0) -> TypeGuard[int]:
    """Return whether a value is an integer from ``minimum`` to :data:`LARGEST_WHOLE`."""
    return (
        isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= LARGEST_WHOLE
    )


def three(value: object) -> TypeGuard[tuple[int, int, int]]:
    """Return whether a value is three components, from 1."""
    return isinstance(value, tuple) and len(value) == 3 and all(whole(k, 1) for k in value)


def position_tuple(value: object) -> TypeGuard[tuple[int, ...]]:
    """Return whether a value is a tuple of positions."""
    return isinstance(value, tuple) and len(value) <= MAX_SELECTED and all(map(whole, value))


def text(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that is not too long."""
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def column_widths(value: object) -> TypeGuard[ColumnWidths]:
    """Return whether a value is keys of columns with their widths."""
    return isinstance(value, tuple) and len(value) <= MAX_COLUMNS and all(map(_column_width, value))


def _column_width(value: object) -> bool:
    match value:
        case (str() as key, width):
            return len(key) <= LONGEST_NAME and whole(width)
        case _:
            return False
