"""A scatter of points as data, for the screen and for print; independent of Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gui.state.colors import ColorScale


@dataclass(frozen=True, eq=False, slots=True)
class ScatterAxis:
    """An axis of a scatter, with the values of all points on it."""

    title: str  # Quantity and unit
    values: np.ndarray  # (n,) float: NaN for points without a value
    log: bool = False  # Whether it is logarithmic, without values that are not positive
    whole: bool = False  # Whether ticks are at integers only
    names: tuple[str, ...] = ()  # Names of the values 0, 1, …, if they are not numbers

    def places(self) -> np.ndarray:
        """Return the places along the axis, logarithms if it is logarithmic: (n,)."""
        if not self.log:
            return self.values
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.values > 0, np.log10(self.values), np.nan)


@dataclass(frozen=True, eq=False, slots=True)
class Scatter:
    """Points at two values each, coloured by a third one."""

    x: ScatterAxis
    y: ScatterAxis
    scale: ColorScale  # The third values, and their colours
    runs: tuple[np.ndarray, ...] = ()  # Indices of points that a line joins

    def places(self) -> np.ndarray:
        """Return the places of all points, NaN for points not shown: (n, 2)."""
        places = np.column_stack([self.x.places(), self.y.places()]).astype(np.float64)
        places[~np.isfinite(places).all(axis=1)] = np.nan
        return places

    def lines(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of all lines, and which is joined to the next one: (m, 2), (m,)."""
        shown = [run[np.isfinite(places[run, 0])] for run in self.runs]
        shown = [run for run in shown if run.size > 1]
        if not shown:
            return np.zeros((0, 2)), np.zeros(0, dtype=bool)
        ends = np.cumsum([run.size for run in shown]) - 1
        joined = np.ones(ends[-1] + 1, dtype=bool)
        joined[ends] = False
        return places[np.concatenate(shown)], joined
