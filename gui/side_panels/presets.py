"""The articles' ranges of positions, for any length of table. Independent of Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Preset:
    """A named range of positions.

    Attributes
    ----------
    label
        Short text of a button.
    name
        Full text.
    positions
        First and last position, inclusive; None if the table does not have the range.
    why
        Use of the range, or why the table does not have it, in one sentence.
    """

    label: str
    name: str
    positions: tuple[int, int] | None
    why: str


def longest_run(n_positions: int, outliers: Sequence[int]) -> tuple[int, int] | None:
    """Return the longest range without outliers; None if every position is one.

    Of equally long ones it is the first. Outliers may be in any order.
    """
    fences = [-1, *sorted(set(outliers)), n_positions]
    runs = [(left + 1, right - 1) for left, right in pairwise(fences)]
    longest = max(runs, key=lambda run: run[1] - run[0])
    return longest if longest[0] <= longest[1] else None


def range_presets(n_positions: int, outliers: Sequence[int] | None) -> tuple[Preset, ...]:
    """Return the presets for a table, always the same ones in the same order.

    ``outliers`` are positions with outlying norms; None if the norms are unknown.
    """
    last = n_positions - 1
    short = f"This table has only {n_positions} positions."

    def fixed(label: str, first: int, end: int, why: str) -> Preset:
        # At least two rows have variance.
        fits = 0 <= first < end <= last
        return Preset(label, label, (first, end) if fits else None, why if fits else short)

    return (
        Preset("All", "All positions", (0, last), "Every stored row, outliers included."),
        fixed("1–last", 1, last, "Without position 0, whose row is often much longer."),
        fixed("100–last", 100, last, "Without the early positions, where the curve frays."),
        fixed("1–99", 1, 99, "Only the early positions, where the curve frays."),
        _without_outliers(n_positions, outliers),
    )


def _without_outliers(n_positions: int, outliers: Sequence[int] | None) -> Preset:
    run = None if outliers is None else longest_run(n_positions, outliers)
    if run is not None and run[0] == run[1]:
        run = None
    if outliers is None:
        why = "The norms of this table are not known yet."
    elif run is None:
        why = "There is no range of two or more positions without outliers."
    elif outliers:
        why = "The longest range in which no norm is an outlier."
    else:
        why = "No norm of this table is an outlier."
    return Preset("No outliers", "Without outliers", run, why)
