"""Tables that have nothing but what their name says, to measure what is measured of a model's.

A quantity that depends on the distances and angles between rows alone is the same in any
orthonormal basis. So a random curve in hundreds of columns is drawn in a few: the coordinates of
its rows in the space that its leading modes and its mean row span. These have the Gram matrix of
the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.evidence.random_frames import random_frame
from geometry.pca.components import Array

Kind = Literal["process", "walk", "shuffled", "turned"]

MEANINGS: dict[Kind, str] = {
    "process": "smooth random curves: Gaussian processes over position, as smooth as the table, "
    "with its variance and its mean row",
    "walk": "random walks with the table's step lengths and its mean row",
    "shuffled": "the table with its rows in random order",
    "turned": "the table turned at random in the space of its columns",
}
MOST_ROWS = 4096
"""Longer tables are thinned to as many rows at most, so that a draw takes milliseconds."""
NODES = 256
"""Places at which the modes of a process are found; between them they are interpolated."""
MODES = 160
"""Modes that are drawn at most."""
LEFT_OUT = 0.002
"""Share of a process's variance in the modes that are not drawn."""
WALK_MODES = 64
"""Modes of a walk that are drawn; they have 99.7 % of its variance."""


def thinned(rows: npt.ArrayLike, most: int = MOST_ROWS) -> Array:
    """Return every second, third, … row of a table of more than 4,096; else all rows.

    Parameters
    ----------
    rows : (n, d)
    most
        Rows that are left at most.
    """
    X = np.asarray(rows, dtype=np.float64)
    return X[:: -(-len(X) // most)]


def drawn_tables(
    rows: npt.ArrayLike,
    kind: Kind,
    draws: int = 100,
    seed: int = 0,
    *,
    columns: int | None = None,
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

    Yields
    ------
    (m, k) float64
        A table, m being n or the number of thinned rows.
    """
    X = thinned(rows)
    rng = np.random.default_rng((seed, list(MEANINGS).index(kind)))
    if kind == "shuffled":
        for _ in range(draws):
            yield X[rng.permutation(len(X))]
    elif kind == "turned":
        for _ in range(draws):
            yield X @ random_frame(X.shape[1], X.shape[1], rng)
    elif columns is not None:
        chosen = np.linspace(0, X.shape[1] - 1, min(columns, X.shape[1])).round().astype(np.intp)
        mean = X.mean(axis=0)[chosen]
        found, scale = _modes(X, kind), _scale(X)
        for _ in range(draws):
            if found is None:
                yield scale * rng.standard_normal((len(X), len(mean))) + mean
            else:
                yield found @ rng.standard_normal((found.shape[1], len(mean))) + mean
    else:
        yield from _by_gram(X, kind, draws, rng)


def _by_gram(X: Array, kind: Kind, draws: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draw tables in the fewest columns that have the Gram matrix of d independent ones."""
    mean, d, modes = X.mean(axis=0), X.shape[1], _modes(X, kind)
    k = min(d, MODES) if modes is None else modes.shape[1]
    for _ in range(draws):
        if modes is None:  # independent rows; more columns than these make little difference
            table = np.sqrt(d / k) * _scale(X) * rng.standard_normal((len(X), k))
        elif k < d:  # the lower triangle of the coefficients' LQ decomposition, by Bartlett
            factor = np.tril(rng.standard_normal((k, k)), -1)
            np.fill_diagonal(factor, np.sqrt(rng.chisquare(d - np.arange(k))))
            table = modes @ factor
        else:
            table = modes @ rng.standard_normal((k, d))
        if table.shape[1] >= d:
            yield table + mean
            continue
        # The mean row is as a random direction to the span of the coefficients.
        direction = np.append(rng.standard_normal(k), np.sqrt(rng.chisquare(d - k)))
        direction *= np.linalg.norm(mean) / np.linalg.norm(direction)
        yield np.column_stack([table, np.zeros(len(table))]) + direction


def _scale(X: Array) -> float:
    """Return the root mean square of a table's numbers about its mean row."""
    return float(np.sqrt(X.var(axis=0).mean()))


def _modes(X: Array, kind: Kind) -> Array | None:
    """Modes (m, k) of a curve, times their strengths; None if its rows have nothing in common."""
    return _walk(X) if kind == "walk" else _process(X)


def _process(X: Array) -> Array | None:
    """Return the modes of a process as smooth as a table, with its variance."""
    n, nodes = len(X), min(len(X), NODES)
    lags, found = _processes(nodes)
    wanted = half_lag(X - X.mean(axis=0)) * (nodes - 1) / max(n - 1, 1)
    if wanted < lags[0]:  # too rough for the nodes
        return None
    modes = _between(found[int(np.abs(np.log(lags / wanted)).argmin())], n)
    size = float(np.sqrt(np.square(modes).sum() / n))
    return modes * (_scale(X) / size)


def half_lag(centred: Array) -> float:
    """Lag, in rows, at which the mean product of two rows falls to half of their mean square.

    Parameters
    ----------
    centred : (n, d)
        Rows about their mean.
    """
    from scipy import fft  # slow to import

    n = len(centred)
    length = fft.next_fast_len(2 * n, real=True)  # zero-padded: no lag wraps around
    power = np.zeros(length // 2 + 1)
    for start in range(0, centred.shape[1], 64):
        found = fft.rfft(centred[:, start : start + 64], n=length, axis=0)
        power += np.square(found.real).sum(axis=1) + np.square(found.imag).sum(axis=1)
    return _half(fft.irfft(power, n=length)[:n] / (n - np.arange(n)))


def _half(by_lag: Array) -> float:
    """Return the place at which a course first falls below half of its first value."""
    below = np.flatnonzero(by_lag < 0.5 * by_lag[0])
    if not len(below) or not below[0]:
        return float(len(by_lag))
    at = int(below[0])
    before, after = by_lag[at - 1], by_lag[at]
    return float(at - 1 + (before - 0.5 * by_lag[0]) / (before - after))


@lru_cache(maxsize=4)
def _processes(nodes: int) -> tuple[Array, tuple[Array, ...]]:
    """Return processes from rough to smooth: half lags, in nodes, and modes times strengths."""
    apart = np.abs(np.arange(nodes)[:, None] - np.arange(nodes))
    lags, modes = [], []
    for length in np.geomspace(1.5, max(0.6 * nodes, 3.0), 24):
        kernel = np.exp(-0.5 * np.square(apart / length))
        kernel -= kernel.mean(axis=0)
        kernel -= kernel.mean(axis=1, keepdims=True)
        lags.append(_half(np.array([np.trace(kernel, at) / (nodes - at) for at in range(nodes)])))
        values, vectors = np.linalg.eigh(kernel)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        held = np.cumsum(values) / max(float(values.sum()), np.finfo(float).tiny)
        k = min(int((held < 1.0 - LEFT_OUT).sum()) + 1, MODES)
        modes.append(np.sqrt(values[:k]) * vectors[:, :k])
    rising: Array = np.maximum.accumulate(np.array(lags))
    return rising, tuple(modes)


def _walk(X: Array) -> Array:
    """Return the modes of walks whose variance grows as the table's squared steps.

    They are those of Brownian motion at the times of the rows, centred.
    """
    squares = np.square(np.diff(X, axis=0)).sum(axis=1) / X.shape[1]
    grown = np.concatenate([[0.0], np.cumsum(squares)])
    total = max(float(grown[-1]), np.finfo(float).tiny)
    halves = np.arange(1, WALK_MODES + 1) - 0.5
    modes = np.sqrt(2.0) * np.sin(np.pi * halves * (grown / total)[:, None])
    modes -= modes.mean(axis=0)
    found: Array = modes * (np.sqrt(total) / (np.pi * halves))
    return found


def _between(modes: Array, n: int) -> Array:
    """Interpolate modes (nodes, k) at n places."""
    from scipy.interpolate import CubicSpline  # slow to import

    if len(modes) == n:
        return modes
    nodes = np.linspace(0.0, 1.0, len(modes))
    found: Array = CubicSpline(nodes, modes)(np.linspace(0.0, 1.0, n))
    return found
