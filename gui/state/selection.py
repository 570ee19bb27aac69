"""Effects of gestures and typed text on the selection of positions.

A selection is a tuple of different positions in the order of selection; the last one is the
current one. All views use these functions, so that a click means the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from geometry.checkpoints.errors import RangeError

SELECTION_LIMIT = 2_000
"""Limit on the positions that one range selects; more could not be listed or distinguished."""

MAX_RINGS = 16
"""With more selected points, rings and labels are omitted, since they would hide the curve."""

_RANGE = re.compile(r"(\d+)\s*(?:-|–|−|\.\.|to)\s*(\d+)")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class TypedPositions:
    """The selection given by a typed line."""

    # Different positions as typed; the last one becomes the current one. Empty for a blank line.
    positions: tuple[int, ...]
    dropped: int = 0  # How many were dropped because of :data:`SELECTION_LIMIT`


def click(
    selection: tuple[int, ...], position: int, *, toggle: bool = False, extend: bool = False
) -> tuple[int, ...]:
    """Return the selection after a click on a position.

    Parameters
    ----------
    toggle
        Shift is held: add the position, or remove it.
    extend
        Control and Shift are held: add everything from the current position to this one. Takes
        precedence over ``toggle``.
    """
    if extend and selection:
        return _joined(selection, _span(selection[-1], position)[-SELECTION_LIMIT:])
    if toggle and position in selection:
        return without(selection, position)
    if toggle:
        return (*selection, position)
    return (position,)


def gather(
    selection: tuple[int, ...], inside: Iterable[int], *, add: bool = False, remove: bool = False
) -> tuple[int, ...]:
    """Return the selection after an outline was drawn around positions.

    Parameters
    ----------
    inside
        The positions within the outline, in their order.
    add, remove
        Whether to add them to the selection or remove them from it, instead of replacing it.
        ``remove`` takes precedence.
    """
    positions = tuple(inside)
    if remove:
        return without(selection, *positions)
    return (*without(selection, *positions), *positions) if add else positions


def to_label(selection: tuple[int, ...]) -> tuple[int, ...]:
    """Return the selected positions to label, the most important first.

    All if they are few; otherwise the current one and the ends of each run of positions; or only
    the current one if these are too many.
    """
    if len(selection) <= MAX_RINGS:
        return selection[::-1]
    chosen = frozenset(selection)
    ends = [p for p in sorted(selection) if p - 1 not in chosen or p + 1 not in chosen]
    ends = ends if len(ends) <= MAX_RINGS else []
    return tuple(dict.fromkeys((selection[-1], *ends)))


def without(selection: tuple[int, ...], *positions: int) -> tuple[int, ...]:
    """Return the selection without some positions; the rest keeps its order."""
    gone = frozenset(positions)
    return tuple(p for p in selection if p not in gone)


def make_current(selection: tuple[int, ...], position: int) -> tuple[int, ...]:
    """Return the selection with one of its positions last, which makes it the current one."""
    return (*without(selection, position), position)


def read_positions(text: str, n_positions: int) -> TypedPositions:
    """Parse positions as typed: ``300``, ``10-20`` or ``5, 9, 100``.

    Parameters
    ----------
    text
        Numbers and inclusive ranges, separated by commas, semicolons or blanks.

    Raises
    ------
    RangeError
        If something is not a number or a range, or lies outside the table.
    """
    spans: list[range] = []
    for part in _parts(text):
        span = _RANGE.fullmatch(part)
        if span is None and _NUMBER.fullmatch(part) is None:
            raise RangeError(f"“{part}” is not a position: type 300, 10-20 or 5, 9, 100")
        first, last = (int(span[1]), int(span[2])) if span else (int(part), int(part))
        if max(first, last) >= n_positions:
            raise RangeError(
                f"There is no position {max(first, last)}; the table has 0–{n_positions - 1}"
            )
        spans.append(_span(first, last))
    asked: dict[int, None] = {}
    for positions in spans:
        asked.update(dict.fromkeys(positions))
    return TypedPositions(tuple(asked)[:SELECTION_LIMIT], max(0, len(asked) - SELECTION_LIMIT))


def _parts(text: str) -> list[str]:
    # "10 - 20" is one range: spaces around its dash do not separate.
    tight = re.sub(r"(?<=\d)\s*(-|–|−|\.\.|to)\s*(?=\d)", r"\1", text.strip())
    return [part for part in re.split(r"[,;\s]+", tight) if part]


def _span(first: int, last: int) -> range:
    """Return first…last, both inclusive, in either direction."""
    step = 1 if last >= first else -1
    return range(first, last + step, step)


def _joined(selection: tuple[int, ...], added: range) -> tuple[int, ...]:
    return (*without(selection, *added), *added)
