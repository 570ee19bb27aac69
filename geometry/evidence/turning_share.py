"""The balanced turning share: how much of a table turns evenly in a plane.

A short helix fits the leading components of any smooth curve, random ones included: they are nearly
half a cycle, one, and one and a half. They lack two components of *one* frequency, equally strong
and a quarter of a cycle apart, which this statistic measures. Its error rates are in
`resources/guide/evidence.md`.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.evidence.null import Outcome
from geometry.pca.components import Array, about_mean
from geometry.pca.unit import in_unit

MIN_TURNS = 1.25
"""Below this number, a turning and half of a slower wave cannot be distinguished."""
SMOOTH = (0.50, 0.80)
"""Bounds of B and B′ that a random smooth curve exceeds in less than 5 % of all draws at any length
scale: Gaussian processes with squared-exponential and Matérn kernels, and random walks."""
BAND_LIMITED = (0.62, 0.87)
"""The same for processes whose spectrum is flat up to any frequency, and zero above."""
FEWEST = 8
"""Minimum number of rows."""
STILL = 0.01
"""Below this value of B and B′, nothing turns."""
CLIMBS = 3.0
"""Minimum climb ratio of a helix, see :class:`TurningShare`. A hundred helices had at least 28, a
hundred circles at most 0.43."""
BLOCK = 500_000
"""Maximum entries of a block of waves: 4 MB."""


@dataclass(frozen=True, slots=True)
class TurningShare:
    """The turning of a table's rows, and its interpretation.

    Attributes
    ----------
    b
        B: twice the variance along the smaller axis of the turning, over the variance of all
        columns; the largest over all frequencies. 1 for a circle, 0 for a line.
    b_prime
        B′: the same over the remaining variance without the line through the rows; for steep
        helices. None if nothing is left.
    turns
        Turns from the first row to the last, at the frequency of the largest B.
    share
        Variance share of these components.
    climb_ratio
        Variance along the line outside the turning plane, over the largest variance of any other
        direction outside it, infinite if there is none; None if the turning is not remarkable, or
        there is no variance outside the plane.
    """

    b: float
    b_prime: float | None
    turns: float
    share: float
    climb_ratio: float | None

    @property
    def tier(self) -> Literal[0, 1, 2]:
        """2 for more than any band-limited random curve, 1 for more than a smooth one, else 0."""
        if self.turns < MIN_TURNS:
            return 0
        if self._exceeds(BAND_LIMITED):
            return 2
        return 1 if self._exceeds(SMOOTH) else 0

    @property
    def remarkable(self) -> bool | None:
        """Whether it turns more than a random smooth curve; None for less than 1.25 turns."""
        if not self._exceeds((STILL, STILL)):
            return False
        return None if self.turns < MIN_TURNS else self.tier > 0

    @property
    def outcome(self) -> Outcome:
        """The outcome of the claim that it turns more than a random smooth curve."""
        if self.remarkable is None:
            return "cannot tell"
        return "holds" if self.remarkable else "does not hold"

    @property
    def kind(self) -> Literal["helix", "circle"] | None:
        """A helix climbs out of the plane in which it turns; None if it is not remarkable."""
        if not self.remarkable:
            return None
        climbs = self.climb_ratio is not None and self.climb_ratio >= CLIMBS
        return "helix" if climbs else "circle"

    def _exceeds(self, bounds: tuple[float, float]) -> bool:
        return self.b >= bounds[0] or (self.b_prime is not None and self.b_prime >= bounds[1])


def turning_share(
    rows: npt.ArrayLike, scores: npt.ArrayLike | None = None, *, share: float = 1.0
) -> TurningShare:
    """Measure the balanced turning share of a table's rows.

    With X the centred rows, t their positions scaled to [−1, 1], Y their scores in the first three
    components, and C_w the plane of cos πwt and sin πwt, orthogonal to constants and to t, let
    σ₂(w) be the smaller singular value of C_wᵀY: B = max over w of 2σ₂²/‖X‖².

    Parameters
    ----------
    rows : (m, d)
        Consecutive rows of a position table, in order; at least 8.
    scores : (m, k)
        The rows in the components whose turning is measured; in the first three if None.
    share
        Variance share of the table in the columns of ``rows``: below 1 if these are themselves
        scores, because the rows are not available.

    Returns
    -------
    TurningShare

    Raises
    ------
    ValueError
        There are fewer than 8 rows, or no columns.
    """
    X = np.asarray(rows, dtype=np.float64)
    if X.ndim != 2 or len(X) < FEWEST or not X.shape[1]:
        raise ValueError(f"expected at least {FEWEST} rows (m, d), got {X.shape}")
    X, unit = in_unit(X)
    X = about_mean(X)
    total = float(np.einsum("ij,ij->", X, X)) / share if share > 0.0 else 0.0
    if total == 0.0:
        return TurningShare(0.0, None, 0.0, 0.0, None)
    along = ramp(len(X)) @ X
    remaining = total - float(along @ along)
    Y = _scores(X) if scores is None else np.asarray(scores, dtype=np.float64) / unit
    smaller, turns = balanced_turning(Y[None], turn_counts(len(X)))
    b_prime = float(2 * smaller[0] / remaining) if remaining > 1e-9 * total else None
    b = float(2 * smaller[0] / total)
    turning = TurningShare(b, b_prime, float(turns[0]), float(np.square(Y).sum() / total), None)
    return replace(turning, climb_ratio=_climb_ratio(X, turning.turns)) if turning.tier else turning


def turn_counts(m: int) -> Array:
    """Return the numbers of turns to try over m rows: each turn has at least four rows."""
    counts = np.concatenate([np.arange(20, 120) / 20, np.arange(30, 311) / 5])
    return counts[counts < m / 4]


def ramp(m: int) -> Array:
    """Return the unit vector that increases linearly over m rows, with mean 0."""
    t = np.linspace(-1.0, 1.0, m)
    return t / np.linalg.norm(t)


def waves(m: int, counts: Array) -> Array:
    """Return unit vectors of the cosine and sine of some turns, free of constants and the ramp.

    Returns
    -------
    (len(counts), 2, m) float64
    """
    t, line = np.linspace(-1.0, 1.0, m), ramp(m)
    angles = np.pi * np.outer(counts, t)
    cosine, sine = np.cos(angles), np.sin(angles)
    # Even and odd about the middle: no other projections are needed, and both are orthogonal.
    cosine -= cosine.mean(axis=1, keepdims=True)
    sine -= np.outer(sine @ line, line)
    pairs = np.stack([cosine, sine], axis=1)
    pairs /= np.linalg.norm(pairs, axis=2, keepdims=True)
    return pairs


def balanced_turning(scores: Array, counts: Array) -> tuple[Array, Array]:
    """Return σ₂² at the best number of turns, and that number, for several curves.

    Parameters
    ----------
    scores : (draws, m, k)
        Curves of m points.
    counts
        Numbers of turns to try.

    Returns
    -------
    (draws,), (draws,) float64
    """
    draws, m, k = scores.shape
    columns = np.ascontiguousarray(np.moveaxis(scores, 1, 0)).reshape(m, draws * k)
    best, turns = np.full(draws, -1.0), np.zeros(draws)
    size = max(1, BLOCK // (2 * m))
    for start in range(0, len(counts), size):
        block = counts[start : start + size]
        products = (waves(m, block).reshape(-1, m) @ columns).reshape(len(block), 2, draws, k)
        c, s = products[:, 0], products[:, 1]
        cc, ss, cs = ((a * b).sum(axis=-1) for a, b in ((c, c), (s, s), (c, s)))
        smaller = np.maximum((cc + ss) / 2 - np.hypot((cc - ss) / 2, cs), 0.0)
        at = smaller.argmax(axis=0)
        largest = smaller[at, np.arange(draws)]
        turns = np.where(largest > best, block[at], turns)
        best = np.maximum(best, largest)
    return best, turns


def _scores(X: Array) -> Array:
    """Return the scores of centred rows in up to three components, (m, k)."""
    from scipy.linalg import eigh  # slow to import, and not needed to show a curve

    wide = X.shape[1] > len(X)
    gram = X @ X.T if wide else X.T @ X
    last = len(gram) - 1
    values, vectors = eigh(gram, subset_by_index=[max(0, last - 2), last])
    return vectors * np.sqrt(np.maximum(values, 0.0)) if wide else X @ vectors


def _climb_ratio(X: Array, turns: float) -> float | None:
    """Return the climb ratio of centred rows; see :class:`TurningShare`."""
    from scipy.linalg import eigvalsh

    products = waves(len(X), np.array([turns]))[0] @ X
    plane = np.linalg.svd(products, full_matrices=False)[2]
    outside = X - (X @ plane.T) @ plane
    line = ramp(len(X))
    along = line @ outside
    outside -= np.outer(line, along)
    gram = outside @ outside.T if X.shape[1] > len(X) else outside.T @ outside
    last = len(gram) - 1
    largest = float(eigvalsh(gram, subset_by_index=[last, last])[0])
    climb = float(along @ along)
    rounding = 1e-12 * float(np.einsum("ij,ij->", X, X))
    if largest <= rounding:
        return None if climb <= rounding else np.inf
    return climb / largest
