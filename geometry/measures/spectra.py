"""Singular values of a matrix, and their summaries."""

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from geometry.checkpoints.result import result
from geometry.measures.directions import BLOCK_ROWS, gram
from geometry.pca.components import Array, read_only
from geometry.pca.unit import in_table_unit, in_unit

TOP = 30
TALL = 8


@result
class Spectrum:
    """Singular values of a matrix, uncentred.

    Attributes
    ----------
    singular_values : (min(n, d),) float64
        Falling, in the matrix's units.
    stable_rank
        ‖A‖_F² / σ₁²: an effective number of directions; 0 for a zero matrix.
    energy_top30
        Σσ² of the first 30 over all; 0 for a zero matrix.
    """

    singular_values: Array
    stable_rank: float
    energy_top30: float

    @property
    def effective_rank(self) -> float:
        """exp(−Σ p ln p) with p = σ/Σσ: n for n equal singular values; 0 for a zero matrix.

        Roy and Vetterli, "The effective rank: a measure of effective dimensionality", 2007.
        """
        first = float(self.singular_values[0])
        if not first > 0.0:
            return 0.0
        shares = self.singular_values / first
        return float(np.exp(entr(shares / shares.sum()).sum()))

    @property
    def participation_ratio(self) -> float:
        """(Σσ²)²/Σσ⁴: n for n equal singular values; 0 for a zero matrix."""
        first = float(self.singular_values[0])
        if not first > 0.0:
            return 0.0
        squares = (self.singular_values / first) ** 2
        return float(squares.sum() ** 2 / np.square(squares).sum())


def spectrum(matrix: npt.ArrayLike) -> Spectrum:
    """Singular values of a matrix as it is: P is not centred, as in the article.

    Parameters
    ----------
    matrix : (n, d)
        Any real type. If at least 8 times as tall as wide (token embeddings), its Gram matrix is
        summed in float64 blocks, without a copy of the matrix: singular values are accurate to 1e-8
        of the first. Other matrices are decomposed directly, to rounding accuracy.

    Raises
    ------
    ValueError
        When it is not a matrix, or empty.
    """
    values = np.asarray(matrix)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"expected a matrix (n, d), got {values.shape}")
    (n, d), (values, unit) = values.shape, in_unit(values)
    if n >= TALL * d and n > BLOCK_ROWS:
        squares = np.maximum(np.linalg.eigvalsh(gram(values))[::-1], 0.0)
        singular_values = np.sqrt(squares)
    else:
        singular_values = np.linalg.svd(values.astype(np.float64, copy=False), compute_uv=False)
    singular_values = in_table_unit(singular_values, unit)
    read_only(singular_values)
    return summarise(singular_values)


def summarise(singular_values: Array) -> Spectrum:
    """Summarise given singular values, decreasing."""
    # As shares of the first, whose square may underflow or overflow.
    first = float(singular_values[0])
    shares = (singular_values / first) ** 2 if first > 0.0 else np.zeros_like(singular_values)
    total = float(shares.sum())
    energy = float(shares[:TOP].sum()) / total if total > 0.0 else 0.0
    return Spectrum(singular_values, total, energy)


def gaussian_singular_values(shape: tuple[int, int], norm: float, seed: int = 0) -> Array:
    """Singular values of a matrix of independent normal numbers, scaled to a norm.

    Parameters
    ----------
    shape
        Rows and columns.
    norm
        Frobenius norm of the matrix.
    seed
        Seed of the random numbers.

    Returns
    -------
    (min(shape),) float64, falling, read-only

    Notes
    -----
    The matrix itself is never formed. Householder reflections, which preserve singular values, turn
    it into a bidiagonal one whose entries are independent and chi-distributed: sampling these gives
    the same distribution, from d numbers and not n·d.

    References
    ----------
    Silverstein, "The smallest eigenvalue of a large dimensional Wishart matrix", 1985.
    Dumitriu and Edelman, "Matrix models for beta ensembles", 2002.
    """
    from scipy.linalg import eigvalsh_tridiagonal

    n, d = max(shape), min(shape)
    rng = np.random.default_rng(seed)
    diagonal = rng.chisquare(n - np.arange(d))
    above = rng.chisquare(d - 1 - np.arange(d - 1)) if d > 1 else np.zeros(0)
    squares = diagonal.copy()
    squares[1:] += above
    eigenvalues = eigvalsh_tridiagonal(squares, np.sqrt(diagonal[:-1] * above))
    values = np.sqrt(np.maximum(eigenvalues[::-1], 0.0))
    values *= norm / np.sqrt((values**2).sum())
    read_only(values)
    return values
