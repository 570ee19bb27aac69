"""Agreement of the directions of two matrices: overlaps, capture, sparsity."""

from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.measures.directions import Directions
from geometry.pca.components import Array

CORNER = 30
LARGE = 0.1
HEAVIEST = 40


@dataclass(frozen=True, slots=True)
class Contrast:
    """Mean of a squared overlap's four corners over chance; 1 means no more than by chance.

    Rows and columns are ordered from strong to weak: ``TR`` are the strong rows with the weak
    columns. ``corner`` is the side of the corners: 30, or less for a smaller matrix. ``chance`` is
    1/d, for directions in d dimensions.
    """

    chance: float
    corner: int
    TL: float
    TR: float
    BL: float
    BR: float


def squared_overlaps(rows: Directions, columns: Directions) -> Array:
    """Squared overlaps of two matrices' directions.

    Parameters
    ----------
    rows, columns
        Directions in one space: (a, d) and (b, d) vectors.

    Returns
    -------
    (a, b) float64
        O_ij = (u_i · v_j)², 0 to 1. By chance it is 1/d on average. Rows and columns sum to at most
        1, and to exactly 1 where the other matrix has all d directions.

    Raises
    ------
    ValueError
        When the directions lie in spaces of different size.

    References
    ----------
    "Insights into GPT-2's positional encodings", 2024: the heatmaps.
    """
    u, v = rows.vectors, columns.vectors
    if u.shape[1] != v.shape[1]:
        raise ValueError(f"expected directions in one space, got {u.shape[1]} and {v.shape[1]}")
    overlaps: Array = u @ v.T
    return np.square(overlaps, out=overlaps)


def corner_contrast(overlaps: Array, chance: float, corner: int = CORNER) -> Contrast:
    """Mean of each corner of squared overlaps, divided by chance (1/d_model)."""
    m = min(corner, *overlaps.shape)
    corners = (overlaps[:m, :m], overlaps[:m, -m:], overlaps[-m:, :m], overlaps[-m:, -m:])
    return Contrast(chance, m, *(float(part.mean() / chance) for part in corners))


def top3(overlaps: Array) -> float:
    """Sum of the corner of the three strongest directions of each: 0 to 3."""
    return float(overlaps[:3, :3].sum())


def check_rank(rank: int, directions: Directions) -> int:
    """Return the rank if a matrix has that many directions; RangeError if not."""
    have = len(directions.vectors)
    if 1 <= rank <= have:
        return rank
    raise RangeError(
        f"rank {rank} is none that this table has: it has {have} directions",
        f"Choose a rank from 1 to {have}.",
    )


def capture(subspace: Directions, directions: Directions, rank: int = 30) -> Array:
    """Share of each direction that lies in another matrix's strongest subspace.

    Parameters
    ----------
    subspace
        P's directions; the first ``rank`` of them span the subspace.
    directions
        E's directions v_j.
    rank
        k, by which chance is k/d_model.

    Returns
    -------
    (len(directions.vectors),) float64
        v_jᵀ Π v_j with Π the projector onto the subspace: 0 to 1.

    Raises
    ------
    RangeError
        When the subspace has fewer directions.
    ValueError
        When the directions lie in spaces of different size.

    References
    ----------
    "Insights into GPT-2's positional encodings", 2024.
    """
    k = check_rank(rank, subspace)
    strongest = Directions(subspace.singular_values[:k], subspace.vectors[:k])
    captured: Array = squared_overlaps(strongest, directions).sum(axis=0)
    return captured


@dataclass(frozen=True, eq=False, slots=True)
class Sparsity:
    """Sparsity of directions of unit length.

    Attributes
    ----------
    above_0_1
        For each direction: entries of magnitude above 0.1.
    above_0_1_union : (m,) int
        Indices above 0.1 in any of them, increasing.
    participation_ratio
        For each: 1/Σv⁴, 1 for a single entry, d for equal ones, about d/3 for a random direction.
    mass_top40
        For each: Σv² of its 40 entries of largest magnitude.
    """

    above_0_1: tuple[int, ...]
    above_0_1_union: np.ndarray
    participation_ratio: tuple[float, ...]
    mass_top40: tuple[float, ...]


def sparsity(vectors: Array) -> Sparsity:
    """Sparsity of directions.

    Parameters
    ----------
    vectors : (k, d)
        Unit rows.
    """
    large = np.abs(vectors) > LARGE
    squares = np.sort(vectors**2, axis=1)[:, ::-1]
    union = np.flatnonzero(large.any(axis=0))
    union.flags.writeable = False
    return Sparsity(
        tuple(large.sum(axis=1).tolist()),
        union,
        tuple((1.0 / (squares**2).sum(axis=1)).tolist()),
        tuple(squares[:, :HEAVIEST].sum(axis=1).tolist()),
    )


def random_directions(k: int, d: int, seed: int = 0) -> Array:
    """Orthonormal random directions (k, d), for comparison: sparse in no basis."""
    normal = np.random.default_rng(seed).standard_normal((d, k))
    Q, _ = np.linalg.qr(normal)
    directions: Array = Q.T
    return directions
