"""Overlaps of unrelated directions.

Squared overlaps, captures and corners of two matrices depend only on their singular vectors. Two
unrelated sets of directions are, up to a common rotation, coordinate axes and rows of a random
orthogonal matrix; so a randomly rotated matrix of the same spectrum has the same overlaps.
"""

from __future__ import annotations

import numpy as np

from geometry.evidence.null import Null, null_of
from geometry.pca.components import Array

MEANING = "randomly rotated matrices of the same spectra"
DRAWS = 400


def shared_energy(p: int, q: int, d: int, draws: int = DRAWS, seed: int = 0) -> Null:
    """Draw the sum of squared overlaps of p directions with q others, both orthonormal.

    Parameters
    ----------
    p, q
        Numbers of directions, at most d.
    d
        Dimensions of their space.
    draws, seed
        Number of draws, and seed of the random numbers.

    Returns
    -------
    Null
        Its mean is p·q/d. Divided by this it is a corner over chance; by p, the mean capture
        of the first directions by the others.

    Raises
    ------
    ValueError
        p or q is not between 1 and d.
    """
    if not (1 <= p <= d and 1 <= q <= d):
        raise ValueError(f"expected 1 to {d} directions, got {p} and {q}")
    rng = np.random.default_rng((seed, p, q, d))
    p, q = max(p, q), min(p, q)
    if p == d:
        return null_of("frames", MEANING, np.full(draws, float(q)))
    if d - p < q:  # the d − p other directions have the remaining energy
        remaining = shared_energy(d - p, q, d, draws, seed).values
        return null_of("frames", MEANING, q - remaining)
    inside, outside = _wishart(p, q, draws, rng), _wishart(d - p, q, draws, rng)
    sums = np.trace(np.linalg.solve(inside + outside, inside), axis1=1, axis2=2)
    return null_of("frames", MEANING, sums)


def _wishart(n: int, q: int, draws: int, rng: np.random.Generator) -> Array:
    """Return GᵀG of standard normal matrices (n, q), n ≥ q."""
    factor = bartlett_factor(n, q, draws, rng)
    return factor @ factor.transpose(0, 2, 1)


def bartlett_factor(n: int, q: int, draws: int, rng: np.random.Generator) -> Array:
    """Draw Bartlett factors L, (draws, q, q), which are lower triangular.

    LLᵀ is distributed as GᵀG of a standard normal G, (n, q), with n ≥ q.
    """
    factor = np.tril(rng.standard_normal((draws, q, q)), -1)
    at = np.arange(q)
    factor[:, at, at] = np.sqrt(rng.chisquare(n - at, (draws, q)))
    return factor


def random_frame(k: int, d: int, rng: np.random.Generator) -> Array:
    """Return k orthonormal rows in d dimensions, uniformly distributed, (k, d).

    Parameters
    ----------
    k
        Number of rows, at most d.
    d
        Their dimensions.
    rng
        Generator of random numbers.
    """
    frame, triangle = np.linalg.qr(rng.standard_normal((d, k)))
    signs: Array = np.sign(np.diag(triangle))
    return (frame * np.where(signs == 0.0, 1.0, signs)).T
