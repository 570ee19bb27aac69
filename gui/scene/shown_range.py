"""Validation of requested ranges of positions."""

from __future__ import annotations


def inside(positions: tuple[int, int], n_positions: int) -> tuple[int, int]:
    """Return a range in order and clipped to a table of ``n_positions``."""
    last = n_positions - 1
    one, other = (min(max(position, 0), last) for position in positions)
    return min(one, other), max(one, other)
