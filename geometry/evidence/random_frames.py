"""What directions have in common that have nothing to do with each other.

Squared overlaps, captures and corners of two matrices depend on their singular vectors alone. Two
sets of directions that are unrelated are, up to a common rotation, some axes and the rows of a
random orthogonal matrix; so a matrix of the same spectrum turned at random has the same overlaps.
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
        Number of draws, and of the random numbers.

    Returns
    -------
    Null
        Its mean is p·q/d; divided by that it is a corner over chance, divided by p the mean capture
        of the first directions by the others.

    Raises
    ------
    ValueError
        When p or q is not between 1 and d.
    """
    if not (1 <= p <= d and 1 <= q <= d):
        raise ValueError(f"expected 1 to {d} directions, got {p} and {q}")
    rng = np.random.default_rng((seed, p, q, d))
    p, q = max(p, q), min(p, q)
    if p == d:
        return null_of("frames", MEANING, np.full(draws, float(q)))
    if d - p < q:  # p others than these have the rest
        rest = shared_energy(d - p, q, d, draws, seed).values
        return null_of("frames", MEANING, q - rest)
    inside, outside = _wishart(p, q, draws, rng), _wishart(d - p, q, draws, rng)
    sums = np.trace(np.linalg.solve(inside + outside, inside), axis1=1, axis2=2)
    return null_of("frames", MEANING, sums)


def _wishart(n: int, q: int, draws: int, rng: np.random.Generator) -> Array:
    """Return GᵀG of standard normal matrices (n, q), n ≥ q, by its Bartlett factor."""
    factor = np.tril(rng.standard_normal((draws, q, q)), -1)
    at = np.arange(q)
    factor[:, at, at] = np.sqrt(rng.chisquare(n - at, (draws, q)))
    gram: Array = factor @ factor.transpose(0, 2, 1)
    return gram


def random_frame(k: int, d: int, rng: np.random.Generator) -> Array:
    """Return k orthonormal rows in d dimensions, uniformly distributed, (k, d).

    Parameters
    ----------
    k
        Number of rows, at most d.
    d
        Their dimensions.
    rng
        Random numbers.
    """
    frame, triangle = np.linalg.qr(rng.standard_normal((d, k)))
    signs: Array = np.sign(np.diag(triangle))
    found: Array = (frame * np.where(signs == 0.0, 1.0, signs)).T
    return found
