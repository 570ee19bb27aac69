"""What the shape panel asks: which simple curve the shown components follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.measures.roughness import FEWEST, Roughness, roughness
from geometry.measures.shape_fit import FREE
from geometry.pca.pca import PositionPCA, fit_pca
from gui.services.questions import Progress, QuestionContext

if TYPE_CHECKING:
    from geometry.measures.shape import ShapeFit, Shapes

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
    n_free
        How many numbers were free to choose: k in the BIC.
    """

    name: str
    r2: float
    bic: float
    turns: float
    radius: float
    drift: float
    climb_per_turn: float
    n_free: int


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """The curves, and which of them describes the positions.

    Attributes
    ----------
    pca
        The components of the range.
    components
        Three of them, from 1.
    curves
        Line, circle, helix, drifting helix.
    best
        The name of the curve that it is, by the rule; or "none".
    coordinates : (m, 3) float64
        The positions in the components.
    fits
        The curves as they were fitted, by their names.
    rough
        How smoothly the positions go on there; None of fewer than eight.
    """

    pca: PositionPCA
    components: tuple[int, int, int]
    curves: tuple[Curve, ...]
    best: str
    coordinates: np.ndarray
    fits: Mapping[str, ShapeFit]
    rough: Roughness | None = None

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.pca.positions

    @property
    def first_choice(self) -> str:
        """The curve to look at: the one that it is, or the better helix where it is none."""
        return self.better_helix.name if self.best == "none" else self.best

    def distances(self, name: str) -> np.ndarray:
        """Return (m,) how far each position is from where a curve has it, in the table's units."""
        return self.fits[name].distances(self.coordinates)

    def rms(self, name: str) -> float:
        """Return the root of the mean square of these distances."""
        return float(np.sqrt(np.mean(np.square(self.distances(name)))))

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

    def steps(self, about: QuestionContext) -> Iterator[Progress | Shape]:
        """Yield the :class:`Shape` last.

        Raises
        ------
        RangeError
            There are too few positions or dimensions.
        """
        from geometry.measures.shape import fit_shapes

        check_positions(self.positions)
        yield Progress(None, "Finding the components")
        pca = fit_pca(about.model.W_pos, self.positions, max(self.components))
        coordinates = coordinates_in(about.model.W_pos, pca, self.components)
        yield Progress(None, "Fitting line, circle and helices")
        yield shape_of(pca, self.components, coordinates, fit_shapes(coordinates))


def check_positions(positions: tuple[int, int]) -> None:
    """Refuse a range that every curve would fit."""
    first, last = positions
    if last - first + 1 < LEAST_POSITIONS:
        raise RangeError(
            f"A curve needs {LEAST_POSITIONS} positions or more, and the range is {first}–{last}.",
            "Show a longer range.",
        )


def coordinates_in(
    table: np.ndarray, pca: PositionPCA, components: tuple[int, int, int]
) -> np.ndarray:
    """(m, 3) the range's positions in three of its components, from 1; RangeError without them."""
    if max(components) > len(pca.components):
        raise RangeError(
            f"A curve in space needs three components, and this table has {len(pca.components)}."
        )
    first, last = pca.positions
    chosen = [number - 1 for number in components]
    coordinates = np.ascontiguousarray(pca.project(table[first : last + 1])[:, chosen])
    coordinates.setflags(write=False)
    return coordinates


def shape_of(
    pca: PositionPCA,
    components: tuple[int, int, int],
    coordinates: np.ndarray,
    shapes: Shapes,
) -> Shape:
    """Put together what the fitted curves say of positions.

    Parameters
    ----------
    pca, components
        The components of the range, and which three, from 1.
    coordinates : (m, 3)
        The positions in these.
    shapes
        The curves that were fitted to them.
    """
    curves = tuple(
        Curve(name, fit.r2, fit.bic, fit.turns, fit.radius,
              fit.drift * (len(coordinates) - 1), fit.climb_per_turn, FREE[name])
        for name, fit in shapes.fits.items()
    )  # fmt: skip
    fits: Mapping[str, ShapeFit] = {str(name): fit for name, fit in shapes.fits.items()}
    rough = roughness(coordinates) if len(coordinates) >= FEWEST else None
    return Shape(pca, components, curves, shapes.best, coordinates, fits, rough)
