"""The displayed curve: every stored row in the chosen components of a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.checkpoints.threads import one_thread
from geometry.pca.components import Array, PositionPCA, read_only, row_norms
from geometry.pca.unit import USUAL, in_table_unit, unit_of

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Rounding of a row's difference to the mean, as a share of their lengths."""
CANCELLED = 1e-8
"""Squared distances to the mean below this share of the squared length are summed directly."""


@result
class Curve:
    """All rows of a position table in three (or more) principal components of a range.

    Attributes
    ----------
    pca
        The fitted components; its ``positions`` are the inclusive range they were fitted to.
    components
        The shown components, 1-based, in axis order.
    coordinates
        (n_positions, len(components)) float64, read-only: every row minus the range's mean,
        projected. A component that the range does not have (fewer rows than components, or rows
        that do not vary along it) is zero.
    residual
        (n_positions,) float64, read-only: the share of each centred row's length that lies
        outside the shown components, 0 to 1 ("fraying").
    """

    pca: PositionPCA
    components: tuple[int, ...]
    coordinates: np.ndarray
    residual: np.ndarray

    @property
    def explained_variance_ratio(self) -> tuple[float, ...]:
        """Share of the range's variance along each shown component."""
        ratio = self.pca.explained_variance_ratio
        return tuple(float(ratio[c - 1]) if c <= len(ratio) else 0.0 for c in self.components)

    @property
    def absent(self) -> tuple[int, ...]:
        """Shown components that the range does not have, ascending: their coordinates are zero."""
        return tuple(sorted(c for c in self.components if c > self.pca.rank))

    @property
    def shortage(self) -> str:
        """Why some shown components are zero, as a clause; "" if none are."""
        if not self.absent:
            return ""
        names = " or ".join(f"PC {c}" for c in self.absent)
        return f"{why_fewer(self.pca)}: no {names}"


def why_fewer(pca: PositionPCA) -> str:
    """Return what limits the number of a range's components, as a clause."""
    first, last = pca.positions
    rows, columns = last - first + 1, pca.mean.size
    if pca.rank < min(len(pca.components), rows - 1):
        if not pca.rank:
            return "all rows of the range are equal"
        return f"the rows of the range vary in {pca.rank} dimension{'s'[: pca.rank != 1]} only"
    count, of = (columns, "column") if columns <= rows else (rows, "position")
    return f"{'this table' if of == 'column' else 'the range'} has {count} {of}{'s'[: count != 1]}"


def place_curve(
    W_pos: np.ndarray, pca: PositionPCA, components: Sequence[int] = (1, 2, 3)
) -> Curve:
    """Project every row of a position table onto the shown components.

    Parameters
    ----------
    W_pos
        (n_positions, d_model) position table.
    pca
        Components fitted to a range of these rows.
    components
        1-based numbers of the components on the axes.

    Returns
    -------
    Curve

    Raises
    ------
    RangeError
        A component number is below 1.
    """
    if min(components) < 1:
        raise RangeError(f"components count from 1, got {tuple(components)}")
    chosen = shown_rows(pca, components)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", W_pos, W_pos)
    if not 1 / USUAL < float(squares.max()) < USUAL and (unit := unit_of(W_pos)) != 1.0:
        placed = place_curve(W_pos / unit, replace(pca, mean=pca.mean / unit), components)
        coordinates = in_table_unit(placed.coordinates, unit)
        read_only(coordinates)
        return replace(placed, pca=pca, coordinates=coordinates)
    # One product gives the coordinates and, from the last column, the distance to the mean.
    basis = np.vstack([pca.components[chosen], pca.mean])
    with one_thread():
        products = W_pos @ basis.T
    offsets = basis @ pca.mean
    projected = products[:, :-1] - offsets[:-1]
    squared_distance = (squares - 2 * products[:, -1] + offsets[-1]).clip(min=0)
    near = np.flatnonzero(squared_distance < CANCELLED * squares)
    if near.size:  # the difference is mostly rounding
        exact_distance = row_norms(W_pos[near] - pca.mean) ** 2
        squared_distance[near] = np.where(
            exact_distance > ROUNDING**2 * squares[near], exact_distance, 0.0
        )
    return make_curve(pca, components, projected, squared_distance)


def shown_rows(pca: PositionPCA, components: Sequence[int]) -> list[int]:
    """Return the rows of ``pca.components`` of 1-based components, without absent ones."""
    return [c - 1 for c in components if c <= pca.rank]


def make_curve(
    pca: PositionPCA, components: Sequence[int], shown: Array, squared_distance: Array
) -> Curve:
    """Create a curve from its parts.

    Parameters
    ----------
    pca, components
        As in :class:`Curve`.
    shown
        (n_positions, number of :func:`shown_rows`) coordinates of all rows.
    squared_distance
        (n_positions,) squared distances to the range's mean.
    """
    coordinates = np.zeros((len(shown), len(components)))
    coordinates[:, [i for i, c in enumerate(components) if c <= pca.rank]] = shown
    outside = (squared_distance - np.einsum("ij,ij->i", shown, shown)).clip(min=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.sqrt(np.where(squared_distance > 0, outside / squared_distance, 0.0))
    read_only(coordinates)
    read_only(residual)
    return Curve(pca, tuple(components), coordinates, residual)
