"""Error bounds of Ritz pairs, and one refinement step.

Let C = XᵀX, in the subspace Q and its complement, be [[A, Fᵀ], [F, D]], with θ_j, w_j the
eigenpairs of A and F w_j, of norm ρ_j, the residuals. An eigenvector Q a + q of C with eigenvalue λ
obeys (D − λ) q = −F a and (A − λ) a = −Fᵀ q. Hence ‖q‖ ≤ ‖F a‖ / (λ − ‖D‖), and the share of
another pair in it is |a_j| ≤ ρ_j ‖q‖ / |θ_j − λ|. λ_i is not below θ_i, and above it by at most ‖D‖
and by at most Σρ_j² / (θ_i − θ_{p+1} − ‖D‖) (Schur complement of the first p pairs).
"""

import numpy as np

from geometry.pca.components import Array
from geometry.pca.subspace import Product, RitzPairs

ROUNDING = 1e-13
SMALL = 1e-2
"""Maximum squared length of a change for which perturbation theory holds."""


def coordinate_errors(
    pairs: RitzPairs,
    k: int,
    missed: float,
    reach: float,
    tail: float,
    sizes: Array,
    rounding: float = 0.0,
) -> tuple[Array, Array]:
    """Bound the error of the first k coordinates of every row.

    A coordinate is off by at most ‖q‖ times the row's part outside the subspace, plus |a_j| times
    the row's other coordinates.

    Parameters
    ----------
    pairs
        Ritz pairs; more than k of them sharpen the bound.
    k
        Coordinates to bound.
    missed
        Bound of ‖D‖, the largest eigenvalue of C outside the subspace.
    reach, tail
        Largest norm of a centred row, and of its part outside the subspace.
    sizes : (p,)
        Largest absolute coordinate by pair.
    rounding
        Rounding of the residuals, as a share of the square root of their eigenvalue.

    Returns
    -------
    errors : (k,) float64
        Infinite where an eigenvalue is not separated from the next.
    refined : (k,) float64
        The same after `refine`.
    """
    p = pairs.residuals.shape[1]
    theta = pairs.values[:p]
    rho = np.linalg.norm(pairs.residuals, axis=0) + rounding * np.sqrt(np.maximum(theta, 0.0))
    # Ritz pairs beyond p are bounded together, from ‖F w_j‖ ≤ √θ_j ‖D‖^½.
    beyond = float(pairs.values[p]) if p < pairs.values.size else 0.0
    rho_beyond = np.sqrt(max(beyond, 0.0) * missed)
    # Rounding mixes pairs even where the residuals vanish.
    noise = ROUNDING * theta[0]
    errors, refined = np.full(k, np.inf), np.full(k, np.inf)
    for i in range(k):
        above = theta[i] - beyond - missed
        drift = min(missed, rho @ rho / above) if above > 0.0 else missed
        gaps = np.where(np.arange(p) < i, theta - theta[i] - drift, theta[i] - theta)
        gaps[i] = np.inf
        gap_beyond = theta[i] - beyond
        gap = min(float(gaps.min()), float(gap_beyond))
        if gap <= 0.0:
            continue
        room = theta[i] - missed - (rho**2 / gaps).sum() - rho_beyond**2 / gap_beyond
        if room <= 0.0:
            continue
        q = rho[i] / room
        a, a_beyond = (rho * q + noise) / gaps, rho_beyond * q / gap_beyond
        lost = q * q + float(a @ a) + a_beyond * a_beyond
        errors[i] = q * tail + float(a @ sizes) + a_beyond * reach + lost * sizes[i]
        if lost > SMALL:
            continue
        # The part of q that `refine` misses comes from D, from the other pairs and from λ − θ; for
        # each a_j likewise, with λ − θ once more. Doubled to allow for the orthonormalisation.
        share = 2.0 * ((drift + theta[i] - room) / theta[i] + drift / gap)
        blur = rounding / np.sqrt(theta[i])
        refined[i] = share * errors[i] + blur * tail + float(((noise + blur * rho) / gaps) @ sizes)
    return errors, refined


def refine(
    pairs: RitzPairs, count: int, k: int, Q: Array, Y: Array, X_times: Product
) -> tuple[Array, Array]:
    """Refine the first Ritz pairs by one step of perturbation theory.

    Takes q = F w_i / θ_i, and with it a_j = (F w_j)ᵀ q / (θ_i − θ_j) for all pairs of the
    subspace: one product with the rows instead of another round in an extended subspace.

    Parameters
    ----------
    pairs
        Ritz pairs of the subspace.
    count
        Pairs to refine.
    k
        Pairs to return; those after `count` are only kept orthogonal to the refined ones.
    Q, Y
        The subspace's basis and its image.
    X_times
        V ↦ X·V.

    Returns
    -------
    values : (k,)
    vectors : (d, k), orthonormal
    """
    theta, residuals = pairs.values[:count], pairs.residuals[:, :count]
    # Inside the subspace there is only rounding, which small gaps would magnify.
    outside = (residuals - Q @ (Q.T @ residuals)) / theta
    better = theta + np.einsum("ij,ij->j", outside, residuals)
    pull = pairs.weights.T @ (Y.T @ X_times(outside))
    gaps = better - pairs.values[:, None]
    np.fill_diagonal(gaps, np.inf)
    vectors = pairs.vectors[:, :k].copy()
    vectors[:, :count] += Q @ (pairs.weights @ (pull / gaps)) + outside
    orthonormal, triangle = np.linalg.qr(vectors)
    values = np.concatenate((better, pairs.values[count:k]))
    return values, orthonormal * np.sign(np.diag(triangle))
