"""Declaring fields of the session, with what the application does with each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

from gui.state.values import MOST_COLUMNS, ColumnWidths

LARGEST_WHOLE = 2**31 - 1
"""Largest integer of a saved field: Qt's controls hold none beyond."""
LONGEST_NAME = 10_000
"""Maximum number of characters of a name or a path in saved work: twice those of any path."""
LONGEST_TEXT = 1_000_000
"""Maximum number of characters of a note or a prompt in saved work: ten times those that are split
into tokens.
"""
MOST_SELECTED = 100_000
"""Maximum number of selected positions: no table has more."""
UNCHANGED = object()
"""In place of a value: the one that is there stays."""
_TRAITS = "traits"

Check = Callable[[object], bool]
"""Returns whether a value, read from a file, is one of a field."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What the application does with a field of the session.

    Attributes
    ----------
    undo
        Its name in the Edit menu; "" if its changes are not undone.
    saved
        The check of values in files of saved work, which then have the field; None if they do not.
    absent
        The value that is shown for files older than the field; by default :data:`UNCHANGED`.
    linked
        Whether all views show the value of the open model's.
    drawn
        Whether the 3D view shows it.
    setting
        Its key in the settings; "" if it is not remembered until the next start.
    """

    undo: str = ""
    saved: Check | None = None
    absent: object = UNCHANGED
    linked: bool = False
    drawn: bool = False
    setting: str = ""


def traits(**given: Any) -> dict[str, Traits]:
    """Return the metadata of a dataclass field; the arguments are those of :class:`Traits`."""
    return {_TRAITS: Traits(**given)}


def traits_of(cls: Any) -> dict[str, Traits]:
    """Return the traits of all fields of a dataclass, by their names."""
    return {one.name: one.metadata.get(_TRAITS, Traits()) for one in fields(cls)}


# ---- checks ----------------------------------------------------------------------------


def one_of(*allowed: object) -> Check:
    """Return the check for a choice."""
    return lambda value: value in allowed


def flag(value: object) -> TypeGuard[bool]:
    """Return whether a value is a bool."""
    return isinstance(value, bool)


def whole(value: object, least: int = 0) -> TypeGuard[int]:
    """Return whether a value is an integer from ``least`` to :data:`LARGEST_WHOLE`."""
    return (
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_WHOLE
    )


def three(value: object) -> TypeGuard[tuple[int, int, int]]:
    """Return whether a value is three components, from 1."""
    return isinstance(value, tuple) and len(value) == 3 and all(whole(k, 1) for k in value)


def position_tuple(value: object) -> TypeGuard[tuple[int, ...]]:
    """Return whether a value is a tuple of positions."""
    return isinstance(value, tuple) and len(value) <= MOST_SELECTED and all(map(whole, value))


def text(value: object) -> TypeGuard[str]:
    """Return whether a value is a text of bearable length."""
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def column_widths(value: object) -> TypeGuard[ColumnWidths]:
    """Return whether a value is keys of columns with their widths."""
    return (
        isinstance(value, tuple) and len(value) <= MOST_COLUMNS and all(map(_column_width, value))
    )


def _column_width(value: object) -> bool:
    match value:
        case (str() as key, width):
            return len(key) <= LONGEST_NAME and whole(width)
        case _:
            return False
