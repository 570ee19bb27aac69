"""Details of one position, distances of two, and the smallest distance of all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.pca.components import Array, PositionPCA, check_range, check_table, row_norms
from geometry.pca.pca import off_subspace_residual

NEAREST = 5
NEIGHBOURHOOD = 8
BLOCK = 1024
"""Rows compared with as many others at a time: 4 MB of distances, which the cache holds."""
TREE_COLUMNS = 8
"""Up to this width a k-d tree finds the nearest row faster than products of all rows."""
FEW_PAIRS = 4096
"""Pairs of two blocks that are computed one by one; of more, double precision leaves fewer."""
CHUNK = 2**20
"""Numbers in the differences of pairs that are computed at a time: 8 MB."""


@dataclass(frozen=True, eq=False, slots=True)
class Neighbour:
    """Another position, with its Euclidean distance (table's units) and cosine of raw rows.

    The cosine with a zero row is 0.
    """

    position: int
    distance: float
    cosine: float


@dataclass(frozen=True, eq=False, slots=True)
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
        Shown components, counted from 1; those that the range is too short to have are left out.

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
    shown = [c - 1 for c in components if c <= len(pca.components)]
    apart = (pair[1] - pair[0]) @ pca.components[shown].T
    return PairDistance(
        (first, second), float(np.linalg.norm(apart)), other.distance, other.cosine, pair.shape[1]
    )


def smallest_distance(W_pos: npt.ArrayLike) -> float:
    """Smallest Euclidean distance between any two rows, in the table's units.

    Exact to rounding of the closest rows' own difference, also where it is far smaller than the
    rows. Takes a few blocks of memory besides a copy of the table: 100,000 × 64 takes some 10 s,
    and less for rows along a curve.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table; at least two rows.

    Raises
    ------
    ValueError
        When W_pos is no table, or has one row.
    """
    table = check_table(W_pos)
    if len(table) < 2:
        raise ValueError("expected at least two rows, got one")
    # By a power of two, so that no number is rounded.
    scale = 2.0 ** (int(np.frexp(max(table.max(), -table.min()))[1]) - 1)
    rows = table / scale
    found = _by_tree(rows) if rows.shape[1] <= TREE_COLUMNS else _by_blocks(rows)
    return float(found * scale)


def _by_tree(rows: Array) -> float:
    from scipy.spatial import cKDTree  # slow to import, so not at start-up

    # Many equal rows would all be compared with each other.
    if len(np.unique(rows, axis=0)) < len(rows):
        return 0.0
    apart, which = (np.asarray(found) for found in cKDTree(rows).query(rows, k=2))
    one = int(apart[:, 1].argmin())
    other = which[one, 1] if which[one, 0] == one else which[one, 0]
    return float(row_norms(rows[[one]] - rows[[other]])[0])


def _by_blocks(rows: Array) -> float:
    """Compare blocks of rows, except those that are too far from each other as a whole."""
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
    centres = np.stack([block.mean(axis=0) for block in blocks])
    pairs = zip(blocks, centres, strict=True)
    radii = np.array([row_norms(block - centre).max() for block, centre in pairs])
    radii *= 1 + 1e-9  # for rounding
    best = min(
        float(row_norms(np.diff(rows[start : start + BLOCK + 1], axis=0)).min())
        for start in range(0, len(rows) - 1, BLOCK)
    )
    for i, block in enumerate(blocks):
        apart = row_norms(centres[i:] - centres[i]) - radii[i:] - radii[i]
        for j in np.flatnonzero(apart <= best) + i:
            if apart[j - i] <= best:
                best = _closest(block, blocks[j], best, same=i == j)
    return best


def _closest(one: Array, other: Array, best: float, *, same: bool) -> float:
    """Return the smallest distance between two blocks' rows, or `best` if that is smaller."""
    centre = one.mean(axis=0)
    for kind in (np.float32, np.float64):
        i, j = _candidates(one - centre, other - centre, best, kind, same=same)
        if len(i) <= FEW_PAIRS:
            break
    step = max(1, CHUNK // one.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        best = min(best, float(row_norms(one[i[part]] - other[j[part]]).min()))
    return best


def _candidates(
    one: Array, other: Array, best: float, kind: type[np.floating], *, same: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return all pairs of rows that may be closer than `best`, computed in some precision."""
    d = one.shape[1]
    norms = row_norms(one), row_norms(other)
    size = max(float(norms[0].max()), float(norms[1].max())) or 1.0
    # |x − y|² = −2 x·y + |x|² + |y|² as one product of matrices.
    left, right = np.ones((len(one), d + 2), kind), np.ones((len(other), d + 2), kind)
    left[:, :d], left[:, d] = one * (-2 / size), (norms[0] / size) ** 2
    right[:, :d], right[:, d + 1] = other / size, (norms[1] / size) ** 2
    squares = left @ right.T
    if same:
        squares[np.tri(len(one), dtype=bool)] = np.inf
    # The terms of the sum, and the rounding of each number, are at most 4 and d + 8 units.
    error = 4 * (d + 8) * float(np.finfo(kind).eps)
    bound = (best / size) ** 2 + error
    if squares.min() > bound:  # nearly always, and far quicker than the comparison of each
        none = np.zeros(0, dtype=np.intp)
        return none, none
    i, j = np.nonzero(squares <= bound)
    return i, j


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
        Shown components, counted from 1; those that the range is too short to have are left
        out.

    Raises
    ------
    RangeError
        When there is no such position.
    """
    table = check_table(W_pos)
    position, _ = check_range((position, position), len(table))
    row = table[position : position + 1]
    shown = [c for c in components if c <= len(pca.components)]
    coordinates = pca.project(row)[0, [c - 1 for c in shown]]
    coordinates.flags.writeable = False
    residual = float(off_subspace_residual(row, pca, shown)[0])
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
