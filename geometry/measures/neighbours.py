"""Details of one position: norm, coordinates, residual, and the nearest positions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import (
    Array,
    PositionPCA,
    check_range,
    check_table,
    read_only,
    row_norms,
)
from geometry.pca.curve import shown_rows
from geometry.pca.pca import off_subspace_residual

NEAREST = 5
NEIGHBOURHOOD = 8


@result
class Neighbour:
    """Another position, with its Euclidean distance (table's units) and cosine of raw rows.

    The cosine with a zero row is 0.
    """

    position: int
    distance: float
    cosine: float


@result
class PositionDetails:
    """Details of one position, for the inspector.

    Attributes
    ----------
    position
        Its index, from 0.
    norm
        ‖P_i‖₂, raw, in the table's units.
    coordinates : (k,) float64
        Coordinates in the requested components of the range, in that order.
    residual
        Share of the centred row outside those components, 0…1 ("fraying").
    neighbours
        The positions before and after, as far as they exist.
    nearest
        The 5 rows nearest by Euclidean distance among positions more than 8 away.
    """

    position: int
    norm: float
    coordinates: Array
    residual: float
    neighbours: tuple[Neighbour, ...]
    nearest: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class PairDistance:
    """Distance of two positions.

    Attributes
    ----------
    positions
        The two, from 0, in the requested order.
    shown
        Euclidean distance in the shown components, in the table's units.
    distance
        The same in all ``d_model`` dimensions; at least ``shown``.
    cosine
        Of the two raw rows; 0 if one of them is zero.
    d_model
        Dimensions of the rows.
    """

    positions: tuple[int, int]
    shown: float
    distance: float
    cosine: float
    d_model: int

    @property
    def steps(self) -> int:
        """Positions from the first to the second; negative if the second is earlier."""
        return self.positions[1] - self.positions[0]


def pair_distance(
    W_pos: npt.ArrayLike,
    pca: PositionPCA,
    positions: tuple[int, int],
    components: Sequence[int] = (1, 2, 3),
) -> PairDistance:
    """Measure the distance of two positions, in the shown components and in all dimensions.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, all stored rows.
    pca
        Basis of the shown range; the positions need not lie in the range.
    positions
        The two rows.
    components
        Shown components, counted from 1; those that the range does not have are left out.

    Raises
    ------
    RangeError
        When there is no such position.
    """
    table, (first, second) = np.asarray(W_pos), positions
    for position in positions:
        check_range((position, position), len(table))
    pair = check_table(table[[first, second]])  # only these rows of a large table
    other = _neighbour(pair, 0, 1)
    shown = shown_rows(pca, components)
    apart = (pair[1] - pair[0]) @ pca.components[shown].T
    shown_distance = float(row_norms(apart[None])[0])
    return PairDistance(
        (first, second), shown_distance, other.distance, other.cosine, pair.shape[1]
    )


def position_details(
    W_pos: npt.ArrayLike, pca: PositionPCA, position: int, components: Sequence[int] = (1, 2, 3)
) -> PositionDetails:
    """Describe one position against the whole table and the current basis.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, all stored rows; distances and cosines are of these raw rows.
    pca
        Basis of the shown range; the position need not lie in the range.
    position
        Which row.
    components
        Shown components, counted from 1; those that the range does not have are left out.

    Raises
    ------
    RangeError
        When there is no such position.
    """
    table = check_table(W_pos)
    position, _ = check_range((position, position), len(table))
    row = table[position : position + 1]
    shown = [c - 1 for c in components if c <= len(pca.components)]
    coordinates = pca.project(row)[0, shown]
    read_only(coordinates)
    residual = float(off_subspace_residual(row, pca, components)[0])
    distances = _distances(table, position)
    beside = [i for i in (position - 1, position + 1) if 0 <= i < len(table)]
    return PositionDetails(
        position,
        float(row_norms(row)[0]),
        coordinates,
        residual,
        tuple(_neighbour(table, position, i) for i in beside),
        tuple(_neighbour(table, position, i) for i in _nearest_elsewhere(distances, position)),
    )


def _distances(table: Array, position: int) -> Array:
    """Euclidean distance of every row to one of them, (n_positions,)."""
    # In blocks, so that a large table is never copied whole.
    blocks = np.array_split(table, max(1, len(table) // 4096))
    return np.concatenate([row_norms(block - table[position]) for block in blocks])


def _nearest_elsewhere(distances: Array, position: int) -> list[int]:
    elsewhere = np.flatnonzero(np.abs(np.arange(len(distances)) - position) > NEIGHBOURHOOD)
    order = np.argsort(distances[elsewhere], kind="stable")[:NEAREST]
    return [int(i) for i in elsewhere[order]]


def _neighbour(table: Array, position: int, other: int) -> Neighbour:
    pair = table[[position, other]]
    norms = row_norms(pair)
    distance = float(row_norms(pair[:1] - pair[1:])[0])
    if not norms.all():
        return Neighbour(other, distance, 0.0)
    cosine = float((pair[0] / norms[0]) @ (pair[1] / norms[1]))
    return Neighbour(other, distance, min(1.0, max(-1.0, cosine)))
