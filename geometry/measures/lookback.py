"""Looking back N tokens as one rigid motion of the curve, the same at every position.

For a lag N the motion x → R·x + t is fitted to the pairs (p_i, p_{i−N}) of a range, **both in the
range**, in coordinates about the range's mean. It is compared with the shift alone, and with the
rotation alone about that mean. All lags are computed from second moments, so no pair is visited
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.checkpoints.threads import one_thread
from geometry.measures.rigid_motion import Motion, best_rotations
from geometry.pca.components import Array, read_only
from geometry.pca.unit import in_table_unit, in_unit

Scoring = Literal["even_odd", "halves"]
Kind = Literal["screw", "translation", "rotation"]
KINDS: tuple[Kind, ...] = ("screw", "translation", "rotation")

BLOCK_LAGS = 64
"""Lags fitted at a time."""
GOOD_R2 = 0.8
"""From here on a motion is the same at every position; a fifth of the variance is left over."""
CLEAR_R2 = 0.5
"""A screw that fits worse than this has no meaningful angle."""


@result
class LookBack:
    """The motions that look back, for many lags.

    Attributes
    ----------
    scoring
        "even_odd": fitted on the pairs of even i, scored on those of odd i, which are nearly the
        same points. "halves": fitted on the first half of the pairs, scored on the second.
    lags : (L,) int64
        N, increasing.
    r2
        For "screw", "translation" and "rotation": (L,) float64, 1 − SSE/SST on the scored pairs,
        SST about the mean of their targets; 0 where these do not vary. It may be negative.
    rotations : (L, k, k) float64
        R of the screw.
    shifts : (L, k) float64
        t of the screw.
    """

    scoring: Scoring
    lags: npt.NDArray[np.int64]
    r2: dict[Kind, Array]
    rotations: Array
    shifts: Array

    def index(self, lag: int) -> int:
        """Return the index of the nearest lag."""
        return int(np.abs(self.lags - lag).argmin())

    def motion(self, lag: int) -> Motion:
        """Return the screw of the nearest lag."""
        at = self.index(lag)
        return Motion(self.rotations[at], self.shifts[at])

    def first(self, n: int) -> LookBack:
        """Return the motions of the first n lags."""
        r2 = {kind: values[:n] for kind, values in self.r2.items()}
        return LookBack(self.scoring, self.lags[:n], r2, self.rotations[:n], self.shifts[:n])

    @property
    def angles(self) -> Array:
        """(L, k // 2) rotation angle of every plane, in radians, 0 to π, decreasing."""
        if self.rotations.shape[1] != 3:
            pairs = zip(self.rotations, self.shifts, strict=True)
            return np.array([Motion(*pair).angles for pair in pairs])
        sines, cosines = _turns(self.rotations)
        angles: Array = np.arctan2(np.linalg.norm(sines, axis=1), cosines)[:, None]
        return angles


@result
class Turning:
    """How the rotation grows with the lag, in three dimensions.

    Rotation angles lie between 0 and π, so a growing one wraps. It is unwrapped about one axis,
    from lag to lag, as long as the screw fits.

    Attributes
    ----------
    axis : (3,) float64
        The common axis of the rotations of all these lags.
    angles : (l,) float64
        Radians, of the first l lags: those before the first one with R² < 0.5. May exceed π.
    steps : (l,) float64
        Translation along that axis.
    slope
        Radians for each token: the least-squares line through the origin, not negative.
    r2
        Of that line.
    """

    axis: Array
    angles: Array
    steps: Array
    slope: float
    r2: float


def longest_lag(n_points: int, n_components: int) -> int:
    """Return the longest lag with enough pairs for a motion, in both scorings; below 1 if none."""
    return n_points - 2 * (n_components + 1)


def check_length(positions: tuple[int, int], n_components: int) -> None:
    """Raise RangeError if an inclusive range is too short for a lag of 1."""
    first, last = positions
    if longest_lag(last - first + 1, n_components) < 1:
        raise RangeError(
            f"In {n_components} dimensions looking back needs at least {2 * n_components + 3} "
            f"positions; the range is {first}–{last}.",
            "Show a longer range.",
        )


def all_lags(n_points: int, n_components: int) -> npt.NDArray[np.int64]:
    """Return the lags from 1 that have pairs for at least a quarter of the points, and enough."""
    longest = min(longest_lag(n_points, n_components), n_points - n_points // 4)
    return np.arange(1, longest + 1)


def look_back(
    coordinates: npt.ArrayLike,
    lags: Sequence[int] | npt.NDArray[np.int64] | None = None,
    *,
    scoring: Scoring = "even_odd",
    first: int = 0,
    tell: Callable[[float], None] | None = None,
) -> LookBack:
    """Fit the motion that looks back, for many lags.

    Parameters
    ----------
    coordinates : (m, k)
        A range's rows, in order, about their mean: its first k components, or others.
    lags
        N, each from 1 to :func:`longest_lag`; :func:`all_lags` if None.
    scoring
        See :class:`LookBack`.
    first
        The position of the first row, for even and odd.
    tell
        Called with the share done; may raise to stop.

    Raises
    ------
    ValueError
        When there are no coordinates, or a lag leaves too few pairs.

    References
    ----------
    A comment under "GPT-2's positional embedding matrix is a helix" (2023) suggests that looking
    back N tokens is a rotation and perhaps a translation, independent of the position.
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"expected coordinates (m, k), got {points.shape}")
    return look_back_each(points[None], lags, scoring=scoring, first=first, tell=tell)[0]


def look_back_each(
    coordinates: npt.ArrayLike,
    lags: Sequence[int] | npt.NDArray[np.int64] | None = None,
    *,
    scoring: Scoring = "even_odd",
    first: int = 0,
    tell: Callable[[float], None] | None = None,
) -> tuple[LookBack, ...]:
    """Fit the motions of several curves (s, m, k) at once; see :func:`look_back`."""
    points = np.asarray(coordinates, dtype=np.float64)
    s, m, k = points.shape
    wanted = all_lags(m, k) if lags is None else np.unique(np.asarray(lags, dtype=np.int64))
    if not len(wanted) or wanted[0] < 1 or wanted[-1] > longest_lag(m, k):
        raise ValueError(f"expected lags from 1 to {longest_lag(m, k)} for {m} points of {k}")
    # Centred, with a 1 and the squared norm appended: one product gives all moments of two rows.
    points, unit = in_unit(points)
    points = points - points[:, m // 2, None]  # exactly 0 where all are equal
    points = points - points.mean(axis=1, keepdims=True)
    squares = np.einsum("sij,sij->si", points, points)[:, :, None]
    rows = np.concatenate([points, np.ones((s, m, 1)), squares], axis=2)
    r2: dict[Kind, Array] = {kind: np.empty((s, len(wanted))) for kind in KINDS}
    rotations, shifts = np.empty((s, len(wanted), k, k)), np.empty((s, len(wanted), k))
    for start in range(0, len(wanted), BLOCK_LAGS):
        if tell is not None:
            tell(start / len(wanted))
        block = slice(start, start + BLOCK_LAGS)
        with one_thread():  # many small products
            fitted, scored = _moments(rows, wanted[block], scoring, first)
            rotations[:, block], shifts[:, block] = screw = _fit(fitted)
            still = np.broadcast_to(np.eye(k), screw[0].shape)
            motions: dict[Kind, tuple[Array, Array]] = {
                "screw": screw,
                "translation": (still, fitted.target - fitted.source),
                "rotation": (best_rotations(fitted.products), np.zeros_like(screw[1])),
            }
            for kind, motion in motions.items():
                r2[kind][:, block] = _score(scored, *motion)
    shifts = in_table_unit(shifts, unit)
    read_only(wanted, *r2.values(), rotations, shifts)
    return tuple(
        LookBack(scoring, wanted, {kind: r2[kind][at] for kind in KINDS}, rotations[at], shifts[at])
        for at in range(s)
    )


def follow_turning(found: LookBack) -> Turning | None:
    """Unwrap the rotation from lag to lag.

    Parameters
    ----------
    found
        In three components, with lags that are multiples of the first: 1, 2, 3 … or 5, 10, 15 …

    Returns
    -------
    Turning
        Or None where the screw fits fewer than two of the first lags.
    """
    even = found.lags[-1] == len(found.lags) * found.lags[0]
    if found.rotations.shape[1] != 3 or not even:
        raise ValueError("expected three components, and lags that are multiples of the first")
    bad = np.flatnonzero(found.r2["screw"] < CLEAR_R2)
    n = int(bad[0]) if len(bad) else len(found.lags)
    if n < 2:
        return None
    sines, cosines = _turns(found.rotations[:n])
    axis: Array = np.linalg.eigh(sines.T @ sines)[1][:, -1]
    sizes, along = np.linalg.norm(sines, axis=1), sines @ axis
    angles = np.unwrap(np.arctan2(np.where(along < 0.0, -sizes, sizes), cosines))
    lags = found.lags[:n].astype(np.float64)
    slope = float(lags @ angles / (lags @ lags))
    if slope < 0.0:
        slope, angles, axis = -slope, -angles, -axis
    spread = float(((angles - angles.mean()) ** 2).sum())
    error = float(((angles - slope * lags) ** 2).sum())
    r2 = 1.0 - error / spread if spread > 0.0 else 0.0
    return Turning(axis, angles, found.shifts[:n] @ axis, slope, r2)


@result
class _Moments:
    """Sums over the pairs of each curve and lag: y is the target p_{i−N}, x the source p_i."""

    count: Array  # (s, L)
    source: Array  # means (s, L, k)
    target: Array
    source_squares: Array  # Σ‖x‖² (s, L)
    target_squares: Array
    products: Array  # Σ y xᵀ (s, L, k, k)


def _moments(
    rows: Array, lags: npt.NDArray[np.int64], scoring: Scoring, first: int
) -> tuple[_Moments, _Moments]:
    """Sum over the fitted pairs, and over the scored ones."""
    s, m, width = rows.shape
    sums = np.empty((2, s, len(lags), width, width))
    for at, lag in enumerate(lags):
        if scoring == "halves":
            middle = lag + (m - lag) // 2
            parts = slice(lag, middle, 1), slice(middle, m, 1)
        else:
            odd = (first + lag) % 2
            parts = slice(lag + odd, m, 2), slice(lag + 1 - odd, m, 2)
        for which, part in enumerate(parts):
            back = slice(part.start - lag, part.stop - lag, part.step)
            sums[which, :, at] = np.swapaxes(rows[:, back], 1, 2) @ rows[:, part]
    return _closed(sums[0]), _closed(sums[1])


def _closed(sums: Array) -> _Moments:
    k = sums.shape[-1] - 2
    count = sums[..., k, k]
    return _Moments(
        count,
        sums[..., k, :k] / count[..., None],
        sums[..., :k, k] / count[..., None],
        sums[..., k, k + 1],
        sums[..., k + 1, k],
        sums[..., :k, :k],
    )


def _fit(pairs: _Moments) -> tuple[Array, Array]:
    means = pairs.target[..., :, None] * pairs.source[..., None, :]
    rotations = best_rotations(pairs.products - pairs.count[..., None, None] * means)
    return rotations, pairs.target - np.einsum("...ab,...b->...a", rotations, pairs.source)


def _score(pairs: _Moments, rotations: Array, shifts: Array) -> Array:
    """R² of motions on pairs, (s, L)."""
    dot = "...a,...a->..."
    carried = np.einsum("...ab,...b->...a", rotations, pairs.source)
    crossed = np.einsum("...ab,...ab->...", rotations, pairs.products)
    means = np.einsum(dot, shifts, shifts + 2 * carried - 2 * pairs.target)
    error = pairs.source_squares + pairs.target_squares - 2 * crossed + pairs.count * means
    middle = np.einsum(dot, pairs.target, pairs.target)
    spread = pairs.target_squares - pairs.count * middle
    known = spread > 1e-14 * pairs.target_squares
    share: Array = np.divide(np.maximum(error, 0.0), spread, out=np.ones_like(spread), where=known)
    return 1.0 - share


def _turns(rotations: Array) -> tuple[Array, Array]:
    """Sine of the angle times the axis, (L, 3), and the cosine, (L,)."""
    skew = rotations - np.swapaxes(rotations, 1, 2)
    sines = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1) / 2
    cosines: Array = (np.einsum("laa->l", rotations) - 1) / 2
    return sines, cosines
