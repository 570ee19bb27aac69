"""Singular values expected by chance."""

import numpy as np

from geometry.pca.components import Array, read_only


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
