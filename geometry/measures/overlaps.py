"""Agreement of the directions of two matrices: overlaps, capture, sparsity."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.evidence.null import Band, Null, band_of, null_of
from geometry.evidence.random_frames import random_frame
from geometry.measures.directions import Directions
from geometry.pca.components import Array, read_only

CORNER = 30
ALONG = 0.1
"""Half the width of the stripe along a diagonal, as a share of the directions."""
LARGE = 0.1
HEAVIEST = 40
SPARSE = 0.5
"""Mean mass of the 40 largest entries from which on directions are sparse: the most of it."""
MAX_MASS = 0.9
"""Share of a direction's mass whose entries are counted."""


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
    corners = _corners(overlaps, m)
    return Contrast(chance, m, **{at: float(part.mean() / chance) for at, part in corners.items()})


def _corners(overlaps: Array, m: int) -> dict[str, Array]:
    top, bottom = overlaps[:m], overlaps[-m:]
    return {"TL": top[:, :m], "TR": top[:, -m:], "BL": bottom[:, :m], "BR": bottom[:, -m:]}


def top3(overlaps: Array) -> float:
    """Sum of the corner of the three strongest directions of each: 0 to 3."""
    return float(overlaps[:3, :3].sum())


@result
class OverlapSums:
    """Squared overlaps of two matrices, summed over parts of their matrix, which is large.

    Attributes
    ----------
    rows, columns, dimensions
        Numbers of directions, and of the dimensions in which they lie.
    contrast, top3
        See :func:`corner_contrast` and :func:`top3`.
    parts
        Sums over the corners "TL", "TR", "BL" and "BR"; shares along the "diagonal" and the
        "antidiagonal".
    """

    rows: int
    columns: int
    dimensions: int
    contrast: Contrast
    top3: float
    parts: Mapping[str, float]

    @property
    def of_corner(self) -> float:
        """The sum over a corner by chance."""
        return self.contrast.corner * self.contrast.corner / self.dimensions


def sum_overlaps(rows: Directions, columns: Directions) -> OverlapSums:
    """Reduce the squared overlaps of two matrices to sums over parts of their matrix."""
    overlaps = squared_overlaps(rows, columns)
    (p, q), d = overlaps.shape, rows.vectors.shape[1]
    contrast = corner_contrast(overlaps, 1 / d)
    parts = {at: float(part.sum()) for at, part in _corners(overlaps, contrast.corner).items()}
    stripe, total = along_diagonal(p, q), float(overlaps.sum()) or np.nan
    parts["diagonal"] = float(overlaps[stripe].sum()) / total
    parts["antidiagonal"] = float(overlaps[stripe[:, ::-1]].sum()) / total
    return OverlapSums(p, q, d, contrast, top3(overlaps), parts)


def along_diagonal(p: int, q: int) -> npt.NDArray[np.bool_]:
    """Mask (p, q) of the tenth to either side of the diagonal."""
    down, across = (np.arange(p) + 0.5) / p, (np.arange(q) + 0.5) / q
    return np.abs(down[:, None] - across) <= ALONG


def check_rank(rank: int, have: int) -> int:
    """Return the rank if a matrix has that many directions; RangeError if not."""
    if 1 <= rank <= have:
        return rank
    raise RangeError(
        f"rank {rank} is not available: this table has {have} directions",
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
    k = check_rank(rank, len(subspace.vectors))
    strongest = Directions(subspace.singular_values[:k], subspace.vectors[:k])
    captured: Array = squared_overlaps(strongest, directions).sum(axis=0)
    return captured


@result
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
    entries_90
        For each: how many of its largest entries have 90 % of Σv².
    """

    above_0_1: tuple[int, ...]
    above_0_1_union: np.ndarray
    participation_ratio: tuple[float, ...]
    mass_top40: tuple[float, ...]
    entries_90: tuple[int, ...] = ()


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
    read_only(union)
    return Sparsity(
        tuple(large.sum(axis=1).tolist()),
        union,
        tuple((1.0 / (squares**2).sum(axis=1)).tolist()),
        tuple(squares[:, :HEAVIEST].sum(axis=1).tolist()),
        tuple(((np.cumsum(squares, axis=1) < MAX_MASS).sum(axis=1) + 1).tolist()),
    )


@result
class SparsityNulls:
    """Sparsity of directions turned at random.

    Attributes
    ----------
    mass_top40, entries_90
        Of a single direction; see :class:`Sparsity`.
    mean_mass_top40
        The mean over all.
    by_use : (d,)
        The band of :func:`use`, falling: the most used entry first.
    """

    mass_top40: Null
    entries_90: Null
    mean_mass_top40: Null
    by_use: Band


def use(vectors: Array) -> Array:
    """Return how much unit vectors (k, d) use each entry: its mean square over 1/d, (d,)."""
    found: Array = np.square(vectors).mean(axis=0) * vectors.shape[1]
    return found


def sparsity_nulls(k: int, d: int, draws: int = 200, seed: int = 0) -> SparsityNulls:
    """Draw the sparsity of k orthonormal directions in d dimensions that are turned at random.

    Parameters
    ----------
    k, d
        Number of directions, at most d, and of their entries.
    draws, seed
        Number of draws of all directions, and of the random numbers.
    """
    rng, meaning = np.random.default_rng((seed, k, d)), "as many directions, randomly rotated"
    frames = [random_frame(k, d, rng) for _ in range(draws)]
    found = [sparsity(frame) for frame in frames]
    masses = np.array([one.mass_top40 for one in found])
    return SparsityNulls(
        null_of("frames", meaning, masses.ravel()),
        null_of("frames", meaning, np.ravel([one.entries_90 for one in found])),
        null_of("frames", meaning, masses.mean(axis=1)),
        band_of("frames", meaning, (np.sort(use(frame))[::-1] for frame in frames)),
    )


def random_directions(k: int, d: int, seed: int = 0) -> Array:
    """Orthonormal random directions (k, d), for comparison: sparse in no basis."""
    normal = np.random.default_rng(seed).standard_normal((d, k))
    Q, _ = np.linalg.qr(normal)
    return Q.T
