"""Random tables with a single named property, as null models of a model's table.

A quantity that depends only on the distances and angles between rows is the same in any
orthonormal basis. So a random curve in hundreds of columns is drawn in a few: the coordinates of
its rows in the space spanned by its leading modes and its mean row. These have the Gram matrix of
the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from geometry.evidence.random_curves import SLOW_MEANINGS, SlowKind, slow_modes
from geometry.evidence.random_frames import bartlett_factor
from geometry.pca.components import Array, about_mean
from geometry.pca.pca import leading_pairs
from geometry.pca.unit import in_table_unit, in_unit

_ProcessKind = Literal["process", "matern", "band"]
CurveKind = _ProcessKind | Literal["walk", "phase"] | SlowKind
Kind = CurveKind | Literal["shuffled", "turned"]

_AS_SMOOTH = "as smooth and as noisy as the table, with its variance and its mean row"
MEANINGS: dict[Kind, str] = {
    "process": f"smooth random curves: Gaussian processes over position, {_AS_SMOOTH}",
    "walk": "random walks with the table's step lengths, from its first row",
    "shuffled": "the table with its rows in random order",
    "turned": "the table, randomly rotated in the space of its columns",
    **{
        kind: f"{meaning}, as noisy as the table, with its variance and its mean row"
        for kind, meaning in SLOW_MEANINGS.items()
    },
    "matern": f"rougher random curves: Gaussian processes of Matérn-3/2 kernel, {_AS_SMOOTH}",
    "band": f"random curves of all frequencies up to one, equally strong, {_AS_SMOOTH}",
    "phase": "the table with the phases of each principal component's waves drawn anew",
}
"""In the order of their seeds."""
CURVES: tuple[CurveKind, ...] = (
    "fourier",
    "phase",
    "walk",
    "spline",
    "process",
    "rank",
    "band",
    "cosines",
    "matern",
)
"""All kinds of random curves; first those that have what a table has most often."""
MAX_ROWS = 4096
"""Longer tables are thinned to at most this many rows, so that a draw takes milliseconds."""
NODES = 256
"""Places at which the modes of a process are computed; between them they are interpolated."""
MODES = 160
"""Maximum number of drawn modes."""
LEFT_OUT = 0.002
"""Share of a process's variance in the modes that are not drawn."""
NOISE = 64
"""Columns drawn in place of those of noise: with more, distances between rows vary even less."""
MIN_NOISE, MAX_NOISE = 0.003, 0.95
"""Shares of variance: less cannot be distinguished from the curve's bends, and more hides it."""
COURSES = 24
"""Components whose phases are drawn anew; the variance of the others becomes noise."""
STRETCHES = 32
"""Stretches of a walk: their ends are drawn in all columns, and the steps between in as many as
noise."""

_Remainder = Callable[[np.random.Generator, int], Array]
"""Draws the part of a curve outside the modes, in a number of columns, (m, columns)."""


def thinned(rows: npt.ArrayLike, max_rows: int = MAX_ROWS) -> Array:
    """Return every second, third, … row of a table of more than 4,096; else all rows.

    Single precision is kept.

    Parameters
    ----------
    rows : (n, d)
    max_rows
        Maximum number of rows to return.
    """
    X = np.asarray(rows)
    if X.dtype != np.float32:
        X = X.astype(np.float64, copy=False)
    return X[:: -(-len(X) // max_rows)]


class Course(NamedTuple):
    """What a table's curves have of it: its size, its noise and its smoothness.

    Attributes
    ----------
    scale
        Root of the mean square of its numbers about the mean row, in the table's unit.
    noise, half_lag
        See :func:`noise_and_half_lag`.
    """

    scale: float
    noise: float
    half_lag: float


def course_of(rows: Array) -> Course:
    """Return what the curves beside a table (n, d) have of it."""
    centred = about_mean(in_unit(rows)[0])
    return Course(float(np.sqrt(np.square(centred).mean())), *noise_and_half_lag(centred))


def drawn_tables(
    rows: npt.ArrayLike,
    kind: Kind,
    draws: int = 100,
    seed: int = 0,
    *,
    columns: int | None = None,
    length: int | None = None,
    course: Course | None = None,
) -> Iterator[Array]:
    """Draw tables of the size of a given one that share only a named property with it.

    Parameters
    ----------
    rows : (n, d)
        The table, at least three rows; :func:`thinned` to 4,096.
    kind
        See :data:`MEANINGS`. Curves (all but "shuffled" and "turned") have as many columns as
        needed to have the Gram matrix of a table with d columns, at most d.
    draws
        Number of tables.
    seed
        Of the random numbers.
    columns
        Draw this many of the columns themselves (for a quantity of single columns) instead of a
        table with the Gram matrix of all.
    length
        Rows of the curves, also at most 4,096; as many as the table has if None.
    course
        :func:`course_of` the table, if it is known already.

    Yields
    ------
    (m, k) float64
        A table, m being n or `length`, or the number of thinned rows.
    """
    X, unit = in_unit(thinned(rows))
    m = len(X) if length is None else len(thinned(np.empty((length, 0))))
    rng = np.random.default_rng((seed, list(MEANINGS).index(kind)))
    for drawn in _drawn(X, kind, draws, rng, columns, m, course):
        yield in_table_unit(drawn, unit)


def _drawn(
    X: Array,
    kind: Kind,
    draws: int,
    rng: np.random.Generator,
    columns: int | None,
    m: int,
    course: Course | None,
) -> Iterator[Array]:
    if kind == "shuffled":
        for _ in range(draws):
            yield X[rng.permutation(len(X))]
    elif kind == "turned":
        for _ in range(draws):
            yield randomly_rotated(X, rng)
    elif kind == "phase":
        yield from _other_phases(X, draws, rng, m, columns)
    elif columns is not None:
        chosen = _chosen(X.shape[1], columns)
        for modes, remainder in _curves(X, kind, draws, rng, m, course):
            yield _whole(modes, remainder, len(chosen), rng) + _origin(X, kind)[chosen]
    else:
        yield from _by_gram(X, kind, draws, rng, m, course)


def _chosen(d: int, columns: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, d - 1, min(columns, d)).round().astype(np.intp)


def randomly_rotated(X: Array, rng: np.random.Generator) -> Array:
    """Rotate rows (n, d) at random: random signs and a cosine transform, twice, and a shuffle.

    As good as a uniformly distributed rotation if no single entry matters, and much faster.
    """
    from scipy.fft import dct  # slow to import

    for _ in range(2):
        signs = rng.choice((-1.0, 1.0), X.shape[1]).astype(X.dtype)
        X = dct(X * signs, norm="ortho", axis=1)
    return np.take(X, rng.permutation(X.shape[1]), axis=1)


def _by_gram(
    X: Array, kind: Kind, draws: int, rng: np.random.Generator, m: int, course: Course | None
) -> Iterator[Array]:
    """Draw tables in the fewest columns that have the Gram matrix of d independent ones."""
    d, origin = X.shape[1], _origin(X, kind)
    length = float(np.linalg.norm(origin))
    for modes, remainder in _curves(X, kind, draws, rng, m, course):
        k = modes.shape[1]
        n_remainder = 0 if remainder is None else min(d, NOISE if k else MODES)
        if k + n_remainder + 1 >= d:
            yield _whole(modes, remainder, d, rng) + origin
            continue
        table = np.empty((m, k + n_remainder + 1))
        # The lower triangle of the coefficients' LQ decomposition.
        np.matmul(modes, bartlett_factor(d, k, 1, rng)[0], out=table[:, :k])
        if remainder is not None:
            np.multiply(remainder(rng, n_remainder), np.sqrt(d / n_remainder), table[:, k:-1])
        # Relative to the span of the coefficients, the origin has a random direction.
        outside = np.sqrt(rng.chisquare(d - k - n_remainder))
        direction = np.append(rng.standard_normal(k + n_remainder), outside)
        table[:, -1] = 0.0
        table += direction * (length / np.linalg.norm(direction))
        yield table


def _origin(X: Array, kind: Kind) -> Array:
    """Return the row about which a curve varies: the mean of a process, the start of a walk."""
    origin: Array = X[0] if kind == "walk" else X.mean(axis=0)
    return origin


def _whole(modes: Array, remainder: _Remainder | None, d: int, rng: np.random.Generator) -> Array:
    """Draw d columns of a curve."""
    outside = 0.0 if remainder is None else remainder(rng, d)
    return outside + modes @ rng.standard_normal((modes.shape[1], d))


def _curves(
    X: Array, kind: Kind, draws: int, rng: np.random.Generator, m: int, course: Course | None
) -> Iterator[tuple[Array, _Remainder | None]]:
    """Yield modes (m, k) of curves, times their strengths, and a generator of the remainder."""
    if kind == "walk":
        yield from repeat(_walk(X, m), draws)
        return
    course = course or course_of(X)
    if kind not in SLOW_MEANINGS:
        yield from repeat(_process(len(X), course, m, cast("_ProcessKind", kind)), draws)
        return
    scale, noise = course.scale, min(course.noise, MAX_NOISE)
    remainder = _noise(m, scale * float(np.sqrt(noise))) if noise else None
    for _ in range(draws):
        modes = slow_modes(cast("SlowKind", kind), m, rng)
        yield scale * np.sqrt(1.0 - noise) * modes, remainder


def _process(n: int, course: Course, m: int, kind: _ProcessKind) -> tuple[Array, _Remainder | None]:
    """Return the modes of a process as smooth as a table of n rows, and its noise."""
    nodes, scale, noise = min(n, NODES), course.scale, course.noise
    lengths, lags = _half_lags(nodes, kind)
    wanted = course.half_lag * (nodes - 1) / max(n - 1, 1)
    if noise > MAX_NOISE or wanted < lags[0]:  # too rough for the nodes
        return np.empty((m, 0)), _noise(m, scale)
    length = float(np.exp(np.interp(np.log(wanted), np.log(lags), np.log(lengths))))
    modes = _between(_modes_of(nodes, length, kind), m)
    size = float(np.sqrt(np.square(modes).sum() / m))
    modes = modes * (scale * np.sqrt(1.0 - noise) / size)  # a copy: they may be cached
    return modes, _noise(m, scale * float(np.sqrt(noise))) if noise else None


def _noise(m: int, size: float) -> _Remainder:
    return lambda rng, columns: size * rng.standard_normal((m, columns))


def noise_and_half_lag(centred: Array) -> tuple[float, float]:
    """Return the noise of rows, and the smoothness of the remainder.

    Parameters
    ----------
    centred : (n, d)
        Rows about their mean.

    Returns
    -------
    float
        Share of noise in their mean square: the difference to the value extrapolated from the mean
        products of rows at lags 1 and 2. 1 for fewer than three rows.
    float
        Lag, in rows, at which the mean product falls to half of the extrapolated value.
    """
    from scipy import fft  # slow to import

    n = len(centred)
    if n < 3:  # fewer than two lags
        return 1.0, 0.0
    centred, _ = in_unit(centred)
    length = fft.next_fast_len(2 * n, real=True)  # zero-padded: no lag wraps around
    power = np.zeros(length // 2 + 1)
    for start in range(0, centred.shape[1], 64):
        spectrum = fft.rfft(centred[:, start : start + 64], n=length, axis=0)
        power += np.square(spectrum.real).sum(axis=1) + np.square(spectrum.imag).sum(axis=1)
    by_lag = fft.irfft(power, n=length)[:n] / (n - np.arange(n))
    if by_lag[0] <= 0.0:
        return 1.0, 0.0
    # A smooth process has a parabola at lag 0.
    smooth = float(np.clip((4 * by_lag[1] - by_lag[2]) / 3, 0.0, by_lag[0]))
    share = 1.0 - smooth / float(by_lag[0])
    share = share if share > MIN_NOISE else 0.0
    by_lag[0] = smooth
    return share, _half(by_lag)


def _half(by_lag: Array) -> float:
    """Return the lag at which a curve first falls below half of its first value."""
    below = np.flatnonzero(by_lag < 0.5 * by_lag[0])
    if not len(below) or not below[0]:
        return float(len(by_lag))
    at = int(below[0])
    before, after = by_lag[at - 1], by_lag[at]
    return float(at - 1 + (before - 0.5 * by_lag[0]) / (before - after))


def _kernel(nodes: int, length: float, kind: _ProcessKind) -> Array:
    """Return the centred covariance of a process at equally spaced nodes."""
    lags = np.abs(np.arange(nodes)[:, None] - np.arange(nodes)) / length
    kernel: Array
    if kind == "process":
        kernel = np.exp(-0.5 * np.square(lags))
    elif kind == "matern":
        kernel = (1.0 + np.sqrt(3.0) * lags) * np.exp(-np.sqrt(3.0) * lags)
    else:
        kernel = np.sinc(lags / 2)
    kernel -= kernel.mean(axis=0)
    kernel -= kernel.mean(axis=1, keepdims=True)
    return kernel


@lru_cache(maxsize=24)
def _half_lags(nodes: int, kind: _ProcessKind) -> tuple[Array, Array]:
    """Return length scales from rough to smooth, in nodes, and the half lag of each."""
    lengths = np.geomspace(1.5, max(0.6 * nodes, 3.0), 24)
    groups = np.abs(np.arange(nodes)[:, None] - np.arange(nodes)).ravel()
    pairs = np.bincount(groups)
    lags = [
        _half(np.bincount(groups, _kernel(nodes, length, kind).ravel()) / pairs)
        for length in lengths
    ]
    rising: Array = np.maximum.accumulate(np.array(lags))
    return lengths, rising


@lru_cache(maxsize=24)
def _modes_of(nodes: int, length: float, kind: _ProcessKind) -> Array:
    """Return the modes of a process at some nodes, times their strengths, (nodes, k)."""
    values, vectors = np.linalg.eigh(_kernel(nodes, length, kind))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    held = np.cumsum(values) / max(float(values.sum()), np.finfo(float).tiny)
    k = min(int((held < 1.0 - LEFT_OUT).sum()) + 1, MODES)
    modes: Array = np.sqrt(values[:k]) * vectors[:, :k]
    return modes


def _walk(X: Array, m: int) -> tuple[Array, _Remainder | None]:
    """Return the modes of walks with the table's squared step lengths, and their remainder.

    The modes are straight lines through the ends of some stretches, which are themselves a walk.
    The remainder is, in each stretch, a walk that returns to its start (a Brownian bridge),
    independent of the ends and of other stretches.
    """
    squares = np.square(np.diff(X, axis=0)).sum(axis=1) / X.shape[1]
    grown = np.concatenate([[0.0], np.cumsum(squares)])
    grown = np.interp(np.linspace(0, len(X) - 1, m), np.arange(len(X)), grown)
    ends = np.unique(np.linspace(0, m - 1, min(STRETCHES + 1, m)).round().astype(np.intp))
    at, of_ends = grown[ends], np.diff(grown[ends])
    with np.errstate(over="ignore"):  # far beyond a stretch of short steps
        share = np.divide(
            grown[:, None] - at[:-1], of_ends, out=np.zeros((m, len(of_ends))), where=of_ends > 0.0
        )
    modes = np.clip(share, 0.0, 1.0) * np.sqrt(of_ends)
    if len(ends) == m:
        return modes, None
    steps = np.sqrt(np.diff(grown, prepend=0.0))[:, None]
    stretch = np.clip(np.searchsorted(ends, np.arange(m), side="right") - 1, 0, len(of_ends) - 1)
    rows = np.arange(m)
    lines = np.zeros((m, len(ends)))
    lines[rows, stretch + 1] = share[rows, stretch]
    lines[rows, stretch] = 1.0 - share[rows, stretch]

    def bridges(rng: np.random.Generator, columns: int) -> Array:
        walk = rng.standard_normal((m, columns))
        walk *= steps
        np.cumsum(walk, axis=0, out=walk)
        walk -= lines @ walk[ends]
        return walk

    return modes, bridges


def _other_phases(
    X: Array, draws: int, rng: np.random.Generator, m: int, columns: int | None
) -> Iterator[Array]:
    """Draw the table with random phases of the waves of its components' courses."""
    from scipy import fft  # slow to import

    origin, (n, d) = X.mean(axis=0), X.shape
    centred = X - origin
    gram = centred.T @ centred if d <= n else centred @ centred.T
    values, vectors = leading_pairs(gram, min(COURSES, len(gram)))
    used = int((values > 1e-12 * max(values[0], 1e-300)).sum())
    vectors, values = vectors[:, :used], values[:used]
    sizes, left = np.sqrt(values), max(float(np.trace(gram)) - float(values.sum()), 0.0)
    courses = centred @ vectors if d <= n else vectors * sizes
    axes = vectors if d <= n else centred.T @ vectors / sizes
    amplitudes = np.abs(np.fft.rfft(courses, axis=0)) * (m / n)
    amplitudes = amplitudes[: m // 2 + 1]
    noise, beside = (
        np.sqrt(left / (n * d)),
        min(NOISE if left > sum(sizes**2) / 8 else 16, d - used),
    )
    chosen, mean = None if columns is None else _chosen(d, columns), origin @ axes
    outside = np.sqrt(max(float(origin @ origin) - float(np.square(mean).sum()), 0.0))
    waves = np.empty(amplitudes.shape, dtype=np.complex128)
    for _ in range(draws):
        # Single precision is enough for what is random, and faster.
        phases = (2 * np.pi * rng.random(amplitudes.shape)).astype(np.float32)
        np.multiply(amplitudes, np.cos(phases), waves.real)
        np.multiply(amplitudes, np.sin(phases), waves.imag)
        drawn = fft.irfft(waves, n=m, axis=0)
        drawn += mean - drawn.mean(axis=0)
        if chosen is not None:
            inside = drawn @ axes[chosen].T
            inside += origin[chosen] - axes[chosen] @ mean
            yield inside + noise * rng.standard_normal((m, len(chosen)))
            continue
        table = np.empty((m, used + 1 + beside))
        table[:, :used], table[:, used] = drawn, outside
        if beside:
            rest = rng.standard_normal((m, beside))
            np.multiply(rest, noise * np.sqrt(d / beside), table[:, used + 1 :])
        yield table


def _between(modes: Array, m: int) -> Array:
    """Interpolate modes (nodes, k) at m places."""
    from scipy.interpolate import CubicSpline  # slow to import

    if len(modes) == m:
        return modes
    nodes = np.linspace(0.0, 1.0, len(modes))
    return CubicSpline(nodes, modes)(np.linspace(0.0, 1.0, m))
