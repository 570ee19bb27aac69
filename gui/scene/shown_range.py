"""Ranges of positions, as somebody asks for them."""

from __future__ import annotations


def inside(positions: tuple[int, int], n_positions: int) -> tuple[int, int]:
    """Return a range in order, and as far as a table of ``n_positions`` goes."""
    last = n_positions - 1
    one, other = (min(max(position, 0), last) for position in positions)
    return min(one, other), max(one, other)
