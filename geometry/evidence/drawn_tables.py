"""Tables that have nothing but what their name says, to measure what is measured of a model's.

A quantity that depends on the distances and angles between rows alone is the same in any
orthonormal basis. So a random curve in hundreds of columns is drawn in a few: the coordinates of
its rows in the space that its leading modes and its mean row span. These have the Gram matrix of
the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.pca.components import Array, about_mean
from geometry.pca.unit import in_table_unit, in_unit

Kind = Literal["process", "walk", "shuffled", "turned"]

MEANINGS: dict[Kind, str] = {
    "process": "smooth random curves: Gaussian processes over position, as smooth and as noisy as "
    "the table, with its variance and its mean row",
    "walk": "random walks with the table's step lengths, from its first row",
    "shuffled": "the table with its rows in random order",
    "turned": "the table, randomly rotated in the space of its columns",
}
MOST_ROWS = 4096
"""Longer tables are thinned to as many rows at most, so that a draw takes milliseconds."""
NODES = 256
"""Places at which the modes of a process are found; between them they are interpolated."""
MODES = 160
"""Modes that are drawn at most."""
LEFT_OUT = 0.002
"""Share of a process's variance in the modes that are not drawn."""
NOISE = 64
"""Columns that stand for those of noise: of more, distances between rows vary still less."""
LEAST_NOISE, MOST_NOISE = 0.003, 0.95
"""Shares of variance: less cannot be told from a bend of the curve; above there is no curve."""
STRETCHES = 32
"""Stretches of a walk, whose ends are drawn in all columns and what is between in as many as
noise."""

_Rest = Callable[[np.random.Generator, int], Array]
"""Draws what is beside the modes, in a number of columns, (m, columns)."""


def thinned(rows: npt.ArrayLike, most: int = MOST_ROWS) -> Array:
    """Return every second, third, … row of a table of more than 4,096; else all rows.

    Single precision stays.

    Parameters
    ----------
    rows : (n, d)
    most
        Rows that are left at most.
    """
    X = np.asarray(rows)
    if X.dtype != np.float32:
        X = X.astype(np.float64, copy=False)
    return X[:: -(-len(X) // most)]


def drawn_tables(
    rows: npt.ArrayLike,
    kind: Kind,
    draws: int = 100,
    seed: int = 0,
    *,
    columns: int | None = None,
    length: int | None = None,
) -> Iterator[Array]:
    """Draw tables of the size of a given one that have nothing of it but what is named.

    Parameters
    ----------
    rows : (n, d)
        The table, at least three rows; :func:`thinned` to 4,096.
    kind
        See :data:`MEANINGS`. Curves ("process" and "walk") are as many columns as it takes to
        have the Gram matrix of a table with d columns, at most d.
    draws
        Number of tables.
    seed
        Of the random numbers.
    columns
        Draw this many of the columns themselves (for a quantity of single columns) instead of a
        table with the Gram matrix of all.
    length
        Rows of the curves, if not as many as there are; of these, too, at most 4,096.

    Yields
    ------
    (m, k) float64
        A table, m being n or `length`, or the number of thinned rows.
    """
    X, unit = in_unit(thinned(rows))
    m = len(X) if length is None else len(thinned(np.empty((length, 0))))
    rng = np.random.default_rng((seed, list(MEANINGS).index(kind)))
    for drawn in _drawn(X, kind, draws, rng, columns, m):
        yield in_table_unit(drawn, unit)


def _drawn(
    X: Array, kind: Kind, draws: int, rng: np.random.Generator, columns: int | None, m: int
) -> Iterator[Array]:
    if kind == "shuffled":
        for _ in range(draws):
            yield X[rng.permutation(len(X))]
    elif kind == "turned":
        for _ in range(draws):
            yield turned(X, rng)
    elif columns is not None:
        chosen = np.linspace(0, X.shape[1] - 1, min(columns, X.shape[1])).round().astype(np.intp)
        modes, rest = _curve(X, kind, m)
        for _ in range(draws):
            yield _whole(modes, rest, len(chosen), rng) + _origin(X, kind)[chosen]
    else:
        yield from _by_gram(X, kind, draws, rng, m)


def turned(X: Array, rng: np.random.Generator) -> Array:
    """Turn rows (n, d) at random: signs at random and a cosine transform, twice, and a shuffle.

    As good as a uniformly distributed turn where no entry matters by itself, and much faster.
    """
    from scipy.fft import dct  # slow to import

    for _ in range(2):
        signs = rng.choice((-1.0, 1.0), X.shape[1]).astype(X.dtype)
        X = dct(X * signs, norm="ortho", axis=1)
    return np.take(X, rng.permutation(X.shape[1]), axis=1)


def _by_gram(X: Array, kind: Kind, draws: int, rng: np.random.Generator, m: int) -> Iterator[Array]:
    """Draw tables in the fewest columns that have the Gram matrix of d independent ones."""
    d, origin, (modes, rest) = X.shape[1], _origin(X, kind), _curve(X, kind, m)
    length, k = float(np.linalg.norm(origin)), modes.shape[1]
    of_rest = 0 if rest is None else min(d, NOISE if k else MODES)
    if k + of_rest + 1 >= d:
        for _ in range(draws):
            yield _whole(modes, rest, d, rng) + origin
        return
    for _ in range(draws):
        table = np.empty((m, k + of_rest + 1))
        # The lower triangle of the coefficients' LQ decomposition, by Bartlett.
        factor = np.tril(rng.standard_normal((k, k)), -1)
        np.fill_diagonal(factor, np.sqrt(rng.chisquare(d - np.arange(k))))
        table[:, :k] = modes @ factor
        if rest is not None:
            table[:, k:-1] = np.sqrt(d / of_rest) * rest(rng, of_rest)
        # The origin is as a random direction to the span of the coefficients.
        outside = np.sqrt(rng.chisquare(d - k - of_rest))
        direction = np.append(rng.standard_normal(k + of_rest), outside)
        table[:, -1] = 0.0
        yield table + direction * (length / np.linalg.norm(direction))


def _origin(X: Array, kind: Kind) -> Array:
    """Return the row about which a curve varies: the mean of a process, the start of a walk."""
    found: Array = X[0] if kind == "walk" else X.mean(axis=0)
    return found


def _whole(modes: Array, rest: _Rest | None, d: int, rng: np.random.Generator) -> Array:
    """Draw d columns of a curve as they are."""
    beside = 0.0 if rest is None else rest(rng, d)
    found: Array = beside + modes @ rng.standard_normal((modes.shape[1], d))
    return found


def _curve(X: Array, kind: Kind, m: int) -> tuple[Array, _Rest | None]:
    """Return modes (m, k) of a curve, times their strengths, and what is beside them."""
    return _walk(X, m) if kind == "walk" else _process(X, m)


def _process(X: Array, m: int) -> tuple[Array, _Rest | None]:
    """Return the modes of a process as smooth as a table, and the noise beside it."""
    n, nodes = len(X), min(len(X), NODES)
    scale = float(np.sqrt(np.square(about_mean(X)).mean()))
    lengths, lags = _half_lags(nodes)
    noise, wanted = noise_and_half_lag(about_mean(X))
    wanted *= (nodes - 1) / max(n - 1, 1)
    if noise > MOST_NOISE or wanted < lags[0]:  # too rough for the nodes
        return np.empty((m, 0)), _noise(m, scale)
    length = float(np.exp(np.interp(np.log(wanted), np.log(lags), np.log(lengths))))
    modes = _between(_modes_of(nodes, length), m)
    size = float(np.sqrt(np.square(modes).sum() / m))
    modes = modes * (scale * np.sqrt(1.0 - noise) / size)  # a copy: they may be cached
    return modes, _noise(m, scale * float(np.sqrt(noise))) if noise else None


def _noise(m: int, size: float) -> _Rest:
    return lambda rng, columns: size * rng.standard_normal((m, columns))


def noise_and_half_lag(centred: Array) -> tuple[float, float]:
    """Return what of rows is noise, and how smooth the rest is.

    Parameters
    ----------
    centred : (n, d)
        Rows about their mean.

    Returns
    -------
    float
        Share of their mean square that the mean products of rows at lags 1 and 2 do not lead to; 1
        of fewer than three rows.
    float
        Lag, in rows, at which the mean product falls to half of the rest.
    """
    from scipy import fft  # slow to import

    n = len(centred)
    if n < 3:  # no two lags
        return 1.0, 0.0
    centred, _ = in_unit(centred)
    length = fft.next_fast_len(2 * n, real=True)  # zero-padded: no lag wraps around
    power = np.zeros(length // 2 + 1)
    for start in range(0, centred.shape[1], 64):
        found = fft.rfft(centred[:, start : start + 64], n=length, axis=0)
        power += np.square(found.real).sum(axis=1) + np.square(found.imag).sum(axis=1)
    by_lag = fft.irfft(power, n=length)[:n] / (n - np.arange(n))
    if by_lag[0] <= 0.0:
        return 1.0, 0.0
    # A smooth process has a parabola at lag 0.
    smooth = float(np.clip((4 * by_lag[1] - by_lag[2]) / 3, 0.0, by_lag[0]))
    share = 1.0 - smooth / float(by_lag[0])
    share = share if share > LEAST_NOISE else 0.0
    by_lag[0] = smooth
    return share, _half(by_lag)


def _half(by_lag: Array) -> float:
    """Return the place at which a course first falls below half of its first value."""
    below = np.flatnonzero(by_lag < 0.5 * by_lag[0])
    if not len(below) or not below[0]:
        return float(len(by_lag))
    at = int(below[0])
    before, after = by_lag[at - 1], by_lag[at]
    return float(at - 1 + (before - 0.5 * by_lag[0]) / (before - after))


def _kernel(nodes: int, length: float) -> Array:
    """Return the centred covariance of a process at equally spaced nodes."""
    apart = np.arange(nodes)[:, None] - np.arange(nodes)
    kernel = np.exp(-0.5 * np.square(apart / length))
    kernel -= kernel.mean(axis=0)
    kernel -= kernel.mean(axis=1, keepdims=True)
    return kernel


@lru_cache(maxsize=8)
def _half_lags(nodes: int) -> tuple[Array, Array]:
    """Return length scales from rough to smooth, in nodes, and the half lag of each."""
    lengths = np.geomspace(1.5, max(0.6 * nodes, 3.0), 24)
    groups = np.abs(np.arange(nodes)[:, None] - np.arange(nodes)).ravel()
    pairs = np.bincount(groups)
    lags = [_half(np.bincount(groups, _kernel(nodes, one).ravel()) / pairs) for one in lengths]
    rising: Array = np.maximum.accumulate(np.array(lags))
    return lengths, rising


@lru_cache(maxsize=8)
def _modes_of(nodes: int, length: float) -> Array:
    """Return the modes of a process at some nodes, times their strengths, (nodes, k)."""
    values, vectors = np.linalg.eigh(_kernel(nodes, length))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    held = np.cumsum(values) / max(float(values.sum()), np.finfo(float).tiny)
    k = min(int((held < 1.0 - LEFT_OUT).sum()) + 1, MODES)
    found: Array = np.sqrt(values[:k]) * vectors[:, :k]
    return found


def _walk(X: Array, m: int) -> tuple[Array, _Rest | None]:
    """Return the modes of walks whose variance grows as the table's squared steps, and the rest.

    The modes are straight lines through the ends of some stretches, which are themselves a walk.
    Beside them are, in each stretch, a walk that comes back to where it began: independent of the
    ends, and of other stretches.
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
    along = share[np.arange(m), stretch][:, None]

    def bridges(rng: np.random.Generator, columns: int) -> Array:
        walk = np.cumsum(steps * rng.standard_normal((m, columns)), axis=0)
        begin, end = walk[ends[stretch]], walk[ends[stretch + 1]]
        found: Array = walk - begin - along * (end - begin)
        return found

    return modes, bridges


def _between(modes: Array, m: int) -> Array:
    """Interpolate modes (nodes, k) at m places."""
    from scipy.interpolate import CubicSpline  # slow to import

    if len(modes) == m:
        return modes
    nodes = np.linspace(0.0, 1.0, len(modes))
    found: Array = CubicSpline(nodes, modes)(np.linspace(0.0, 1.0, m))
    return found
