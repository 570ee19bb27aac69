"""The balanced turning share: how much of a table turns evenly in a plane.

A short helix fits the leading components of any smooth curve, random ones included: they are nearly
half a cycle, one, and one and a half. They lack two components of *one* frequency, equally strong
and a quarter of a cycle apart, which this statistic measures. Its error rates are in
`docs/evidence.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.evidence.null import Outcome
from geometry.evidence.turning_pairs import MIN_TURNS, pairs_of
from geometry.pca.components import Array, about_mean
from geometry.pca.norm_rule import outlyingness
from geometry.pca.unit import in_unit

FEWEST = 8
"""Minimum number of rows."""
STILL = 0.01
"""Below this value of B and B′, nothing turns."""
CLIMBS, MIN_CLIMB = 1.0, 1e-3
"""Minimum climb ratio of a helix, see :class:`TurningShare`, and minimum variance of the climb over
that of the turning: a climb over the range of a tenth of the radius."""
COMPONENTS = 8
"""Leading components in which pairs of directions are sought: several turnings, and a climb."""
MOST_OUTLYING = 0.1
"""Share of the rows up to which those that the norm rule names are replaced."""
STRETCHES = 16
"""Stretches of consecutive rows whose means show the climb; the first and the last are left out."""
ROUNDING = 1e-12
"""Share of the largest variance below which a component or a difference is rounding."""
WIDTH = 768
"""Columns of a table of which only scores are known."""
MAX_ROWS = 1024
"""Pairs of directions are sought in at most this many rows, evenly spaced."""
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
        Turns from the first row to the last: of the pair of directions that decides or, if there
        is none, at the frequency of the largest B.
    share
        Variance share of the first three components.
    climb_ratio
        How well a straight line describes the course along the direction in which the rows climb
        out of the turning plane: explained variance over unexplained, infinite if there is none
        of the latter; None if the turning is not remarkable, or there is no climb. The direction
        is that of every second row, the course that of the others, in means of 14 stretches, and
        the other way round.
    purity
        Share of the variance in a pair of directions that a turn of one frequency explains, see
        :mod:`geometry.evidence.turning_pairs`; of the pair that decides. 0 if there is none.
    pair_share
        That variance over the variance of all columns.
    strength
        The share, scaled by the turns, over the bound of the rule, see
        :meth:`geometry.evidence.turning_pairs.Pairs.strengths`.
    beyond
        The same over the bound of the higher tier.
    """

    b: float
    b_prime: float | None
    turns: float
    share: float
    climb_ratio: float | None
    purity: float = 0.0
    pair_share: float = 0.0
    strength: float = 0.0
    beyond: float = 0.0

    @property
    def tier(self) -> Literal[0, 1, 2]:
        """1 if it turns more than random curves, with an aim of 2 % of these at most; 2: 0.3 %."""
        if self.beyond >= 1.0:
            return 2
        return 1 if self.strength >= 1.0 else 0

    @property
    def remarkable(self) -> bool | None:
        """Whether it turns more than random curves; None for fewer than 1.5 turns."""
        if self.tier:
            return True
        turning = max(self.b, self.b_prime or 0.0) >= STILL
        return None if turning and self.turns < MIN_TURNS else False

    @property
    def outcome(self) -> Outcome:
        """The outcome of the claim that it turns more than random curves."""
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


def turning_share(
    rows: npt.ArrayLike,
    scores: npt.ArrayLike | None = None,
    *,
    share: float = 1.0,
    columns: int | None = None,
) -> TurningShare:
    """Measure how evenly and how purely a table's rows turn in a plane.

    With X the centred rows, t their positions scaled to [−1, 1], Y their scores in the first three
    components, and C_w the plane of cos πwt and sin πwt, orthogonal to constants and to t, let
    σ₂(w) be the smaller singular value of C_wᵀY: B = max over w of 2σ₂²/‖X‖². The pairs of
    directions of :mod:`geometry.evidence.turning_pairs` are sought in the first eight components.
    Rows that the norm rule names are replaced by what lies between their neighbours, unless they
    are more than a tenth of all, or the table turns more evenly with them.

    Parameters
    ----------
    rows : (m, d)
        Consecutive rows of a position table, in order; at least 8.
    scores : (m, k)
        The rows in the components whose turning is measured; in the leading ones if None.
    share
        Variance share of the table in the columns of ``rows``: below 1 if these are themselves
        scores, because the rows are not available.
    columns
        Columns of that table, if ``rows`` are scores; those of ``rows`` if None.

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
    d = columns or X.shape[1]
    Y = None if scores is None else np.asarray(scores, dtype=np.float64) / unit
    outlying = _outlying(X)
    if not outlying.any():
        return _turning(X, Y, share, d)
    others = None if Y is None else _between_others(Y, outlying)
    found = _turning(_between_others(X, outlying), others, share, d)
    if found.tier:
        return found
    # What lies between neighbours is not near the curve if that turns fast.
    whole = _turning(X, Y, share, d)
    return whole if whole.strength > found.strength else found


def _turning(X: Array, Y: Array | None, share: float, d: int) -> TurningShare:
    """Measure the turning of rows, in their leading components or in these scores."""
    X = about_mean(X)
    total = float(np.einsum("ij,ij->", X, X)) / share if share > 0.0 else 0.0
    if total == 0.0:
        return TurningShare(0.0, None, 0.0, 0.0, None)
    along = ramp(len(X)) @ X
    remaining = total - float(along @ along)
    Y = _scores(X) if Y is None else about_mean(Y)
    first = Y[:, :3]
    counts = turn_counts(len(X))
    smaller, turns = balanced_turning(first[None], counts)
    found = TurningShare(
        b=float(2 * smaller[0] / total),
        b_prime=float(2 * smaller[0] / remaining) if remaining > 1e-9 * total else None,
        turns=float(turns[0]),
        share=float(np.square(first).sum() / total),
        climb_ratio=None,
    )
    if Y.shape[1] < 2:
        return found
    thin = Y[:: -(-len(Y) // MAX_ROWS)]
    part = len(thin) / len(Y)
    sizes = np.array([part * total]), np.array([part * remaining])
    counts = turn_counts(len(thin))
    spread = waves(len(thin), counts)
    thin = about_mean(thin)
    tries = pairs_of(thin[None], counts, spread)
    strengths = tries.strengths(*sizes, d)
    if not strengths[0].any():
        return found
    pair = tries.clearest(strengths[0])
    found = replace(
        found,
        turns=float(pair.turns[0]),
        purity=float(pair.purity[0]),
        pair_share=float(pair.explained[0] / (part * total)),
        strength=float(strengths[0].max()),
        beyond=float(strengths[1].max()),
    )
    if not found.tier:
        return found
    planes = [pair.planes[0]]
    rest = thin - (thin @ planes[0].T) @ planes[0]
    tries = pairs_of(rest[None], counts, spread)
    strengths = tries.strengths(*sizes, d)
    if strengths[0].any():  # a second turning, whose waves are no climb
        planes.append(tries.clearest(strengths[0]).planes[0])
    axes = np.linalg.qr((np.concatenate(planes) / np.square(Y).sum(axis=0) @ Y.T @ X).T)[0]
    radius = float(pair.explained[0]) / len(thin)
    return replace(found, climb_ratio=_climb_ratio(X - (X @ axes) @ axes.T, radius))


def turning_in(
    rows: npt.ArrayLike, scores: npt.ArrayLike, components: Sequence[int]
) -> TurningShare:
    """Measure the turning in chosen components, numbered from 1; in all leading ones if 1 to 3.

    Parameters
    ----------
    rows : (m, d)
        As of :func:`turning_share`.
    scores : (m, k)
        The rows in the chosen components.
    components
        Their numbers.
    """
    return turning_share(rows, None if sorted(components) == [1, 2, 3] else scores)


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


def _outlying(X: Array) -> npt.NDArray[np.bool_]:
    """Return which rows the norm rule names; none if they are too many to stand out."""
    rows = outlyingness(X) > 1.0
    return rows if rows.sum() <= MOST_OUTLYING * len(X) else np.zeros_like(rows)


def _between_others(X: Array, outlying: npt.NDArray[np.bool_]) -> Array:
    """Replace rows by what lies between the nearest others, at an end by the nearest."""
    if not outlying.any():
        return X
    others, at = np.flatnonzero(~outlying), np.flatnonzero(outlying)
    after = np.searchsorted(others, at)
    low, high = others[np.maximum(after - 1, 0)], others[np.minimum(after, len(others) - 1)]
    along = np.clip((at - low) / np.maximum(high - low, 1), 0.0, 1.0)[:, None]
    X = X.copy()
    X[at] = (1.0 - along) * X[low] + along * X[high]
    return X


def _scores(X: Array) -> Array:
    """Return the scores of centred rows in their leading components, (m, k), decreasing."""
    from scipy.linalg import eigh  # slow to import, and not needed to show a curve

    wide = X.shape[1] > len(X)
    gram = X @ X.T if wide else X.T @ X
    last = len(gram) - 1
    values, vectors = eigh(gram, subset_by_index=[max(0, last - COMPONENTS + 1), last])
    vectors = vectors[:, values > ROUNDING * values[-1]][:, ::-1]
    values = values[values > ROUNDING * values[-1]][::-1]
    return vectors * np.sqrt(values) if wide else X @ vectors


def _climb_ratio(outside: Array, turning: float) -> float | None:
    """Return the climb ratio of rows without their turning; see :class:`TurningShare`.

    Parameters
    ----------
    outside : (m, d)
        Centred rows without the planes in which they turn.
    turning
        Mean square of the turning over rows.
    """
    halves = outside[::2], outside[1::2]
    explained = unexplained = 0.0
    for fitted, course in (halves, halves[::-1]):
        climb = ramp(len(fitted)) @ fitted
        length = float(np.linalg.norm(climb))
        if length**2 / len(fitted) < MIN_CLIMB * turning:
            return None
        # Stretches of equal length, which may end within a row: the same from either end.
        m, count = len(course), min(STRETCHES, len(course))
        sums = np.append(0.0, np.cumsum(course @ climb / length))
        ends = np.interp(np.linspace(0, m, count + 1), np.arange(m + 1), sums)
        means = np.diff(ends) * count / m
        means = means[1:-1] if len(means) > 4 else means
        means -= means.mean()
        straight = float(ramp(len(means)) @ means) ** 2
        explained += straight
        unexplained += float(means @ means) - straight
    if unexplained <= ROUNDING * explained:
        return np.inf
    return explained / unexplained
