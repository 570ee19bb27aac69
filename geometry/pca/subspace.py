"""Leading right singular directions by block Krylov subspaces and Rayleigh–Ritz.

The rows X (m, d) are accessed through two products only, X·V and Xᵀ·Z. A subspace is held as an
orthonormal basis Q (d, s) together with its image Y = X·Q (m, s).
"""

from collections.abc import Callable, Iterator

import numpy as np

from geometry.checkpoints.result import result
from geometry.pca.components import Array

Product = Callable[[Array], Array]

RANK_FLOOR = 1e-12
"""A new direction whose size after orthogonalisation is below this share of the largest singular
value squared is rounding, not a direction."""


@result
class RitzPairs:
    """Approximate eigenpairs of XᵀX from a subspace.

    Attributes
    ----------
    values : (s,)
        All Ritz values, decreasing; the squared singular values they approach are not below them.
    vectors : (d, p)
        The first p Ritz vectors, orthonormal.
    images : (m, p)
        X·vectors: the coordinates.
    residuals : (d, p)
        XᵀX·v − θ·v, orthogonal to the subspace.
    weights : (s, s)
        The vectors' coefficients in the subspace's basis, all of them.
    """

    values: Array
    vectors: Array
    images: Array
    residuals: Array
    weights: Array


def ritz_pairs(Q: Array, Y: Array, Xt_times: Product, count: int) -> RitzPairs:
    """Return the first `count` Ritz pairs of the subspace, with their residuals."""
    values, W = np.linalg.eigh(Y.T @ Y)
    values, W = values[::-1], W[:, ::-1]
    vectors, images = Q @ W[:, :count], Y @ W[:, :count]
    residuals = Xt_times(images) - vectors * values[:count]
    return RitzPairs(values, vectors, images, residuals, W)


def orthonormal_extension(Q: Array, block: Array, scale: float) -> Array:
    """Return the orthonormal directions that `block` (d, b) adds to Q (d, s); may be fewer than b.

    `scale` is the size of a column that is not just rounding.
    """
    block = block - Q @ (Q.T @ block)
    new, triangle = np.linalg.qr(block)
    new = new[:, np.abs(np.diag(triangle)) > RANK_FLOOR * scale]
    # Twice is enough (Kahan, Parlett): the second pass removes what the first left of Q.
    return np.linalg.qr(new - Q @ (Q.T @ new))[0]


def krylov_subspaces(
    X_times: Product, Xt_times: Product, d_model: int, block: int
) -> Iterator[tuple[Array, Array]]:
    """Yield growing block Krylov subspaces of XᵀX, from a random start.

    Parameters
    ----------
    X_times, Xt_times
        V ↦ X·V and Z ↦ Xᵀ·Z.
    d_model
        Number of columns of X.
    block
        Columns of the random start (seeded: the same rows give the same subspaces).

    Yields
    ------
    Q : (d_model, s)
        Orthonormal basis, extended by one application of the operator each time, by at most `block`
        dimensions. The last one is invariant.
    Y : (m, s)
        X·Q.

    References
    ----------
    Musco and Musco, "Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition", 2015.
    """
    image = X_times(np.random.default_rng(0).standard_normal((d_model, block)))
    Q, Y = np.empty((d_model, 0)), np.empty((len(image), 0))
    scale = 0.0
    while True:
        grown = Xt_times(image)
        scale = scale or float(np.abs(grown).max())
        if scale == 0.0:
            return
        new = orthonormal_extension(Q, grown, scale)
        if new.shape[1] == 0:
            return
        image = X_times(new)
        Q, Y = np.hstack((Q, new)), np.hstack((Y, image))
        yield Q, Y


def spectral_norm_bound(X_times: Product, Xt_times: Product, d_model: int) -> float:
    """Return an upper bound of ‖X‖₂, within a factor of about 2; it fails with probability 1e-8.

    The power scheme of Halko, Martinsson and Tropp, "Finding structure with randomness", 2011,
    lemma 4.1: ‖A‖ ≤ 10·√(2/π)·max ‖A·ω‖ over 8 Gaussian ω fails with probability 1e-8; here
    A = (XᵀX)³, whose sixth root makes the factor harmless.
    """
    probes = np.random.default_rng(1).standard_normal((d_model, 8))
    growth = 1.0
    for _ in range(3):
        probes = Xt_times(X_times(probes))
        largest = float(np.linalg.norm(probes, axis=0).max())
        if largest == 0.0:
            return 0.0
        # Kept at unit size: sixth powers overflow.
        growth *= largest ** (1 / 6)
        probes = probes / largest
    return float((10.0 * np.sqrt(2.0 / np.pi)) ** (1 / 6) * growth)
