"""What the shape panel asks: which simple curve the shown components follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geometry.errors import RangeError
from geometry.pca import fit_pca
from gui.questions import Progress, Subjects

LEAST_POSITIONS = 4
"""Fewer points than these lie on any of the curves."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve fitted to the positions, in numbers.

    Attributes
    ----------
    name
        "line", "circle", "helix" or "drifting_helix".
    r2, bic
        1 − SSE/SST; m·ln(SSE/m) + k·ln m, which is lower for the better description.
    turns
        From the first position to the last; 0 for a line.
    radius, drift
        At the middle of the range, and its change from the first position to the last; in the
        table's units.
    climb_per_turn
        Along the axis, in the table's units; 0 for what does not climb or turn.
    """

    name: str
    r2: float
    bic: float
    turns: float
    radius: float
    drift: float
    climb_per_turn: float


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """The curves, and which of them describes the positions.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    components
        The three principal components, from 1.
    curves
        Line, circle, helix, drifting helix.
    best
        The name of the curve that it is, by the rule; or "none".
    coordinates : (m, 3) float64
        The positions in the components.
    fitted : (m, 3) float64
        The curve of ``best``, or the better helix where it is "none".
    """

    positions: tuple[int, int]
    components: tuple[int, int, int]
    curves: tuple[Curve, ...]
    best: str
    coordinates: np.ndarray
    fitted: np.ndarray

    def curve(self, name: str) -> Curve:
        """Return one of the curves."""
        return next(one for one in self.curves if one.name == name)

    @property
    def better_helix(self) -> Curve:
        """The helix that fits better, whichever it is that describes the positions."""
        return max(self.curve("helix"), self.curve("drifting_helix"), key=lambda one: one.r2)

    @property
    def margin(self) -> float:
        """How much higher the better helix's R² is than that of line and circle."""
        return self.better_helix.r2 - max(self.curve(name).r2 for name in ("line", "circle"))


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The curve of a range of positions in three of its principal components, from 1."""

    positions: tuple[int, int]
    components: tuple[int, int, int]

    def steps(self, about: Subjects) -> Iterator[Progress | Shape]:
        """Yield the :class:`Shape` last.

        Raises
        ------
        RangeError
            There are too few positions or dimensions.
        """
        from geometry.shape import fit_shapes

        first, last = self.positions
        if last - first + 1 < LEAST_POSITIONS:
            raise RangeError(
                f"A curve needs {LEAST_POSITIONS} positions or more, and the range is "
                f"{first}–{last}.",
                "Show a longer range.",
            )
        yield Progress(None, "Finding the components")
        table = about.model.W_pos
        pca = fit_pca(table, self.positions, max(self.components))
        if max(self.components) > len(pca.components):
            raise RangeError(
                f"A curve in space needs three components, and this table has "
                f"{len(pca.components)}."
            )
        chosen = [number - 1 for number in self.components]
        coordinates = np.ascontiguousarray(pca.project(table[first : last + 1])[:, chosen])
        coordinates.setflags(write=False)
        yield Progress(None, "Fitting line, circle and helices")
        shapes = fit_shapes(coordinates)
        curves = tuple(
            Curve(name, fit.r2, fit.bic, fit.turns, fit.radius,
                  fit.drift * (len(coordinates) - 1), fit.climb_per_turn)
            for name, fit in shapes.fits.items()
        )  # fmt: skip
        helices = (shapes.fits["helix"], shapes.fits["drifting_helix"])
        shown = max(helices, key=lambda fit: fit.r2)
        if shapes.best != "none":
            shown = shapes.fits[shapes.best]
        yield Shape(self.positions, self.components, curves, shapes.best, coordinates, shown.values)
