"""Null distributions of the balanced turning share.

Random curves are drawn as Gaussian processes over position, the same in every column. The statistic
depends only on their Gram matrix in the eigenvectors of the centred kernel, which is a Wishart
matrix: a few numbers per draw, whatever the width of the table.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from geometry.evidence.null import Null, null_of
from geometry.evidence.random_frames import bartlett_factor
from geometry.evidence.turning_share import SMOOTH, balanced_turning, ramp, turn_counts
from geometry.pca.components import Array, about_mean
from geometry.pca.unit import in_unit

NODES = 192
"""Places at which a random curve is evaluated: four for each of the 48 fastest turns."""
MODES = 32
"""Number of drawn eigenvectors. The variance of the others, at most a hundredth, is replaced by its
mean."""
COURSES = 24
"""Components whose phases are redrawn; the variance of the others is unchanged."""
LENGTHS: Mapping[str, tuple[float, ...]] = {
    "process": (0.13, 0.15, 0.18),
    "matern": (0.12, 0.15, 0.18),
    "band": (1.7, 1.9),
}
"""Length scales, in ranges, and highest frequencies, in cycles over the range: those around the
worst case, where random curves turn most. The distribution is that of the worst."""
MEANINGS: Mapping[str, str] = {
    "process": "smooth random curves (Gaussian processes, squared-exponential, of the length scale "
    "that turns most)",
    "matern": "rougher random curves (Gaussian processes, Matérn-3/2, of the length scale that "
    "turns most)",
    "walk": "random walks with the same step lengths",
    "band": "random curves made only of slow waves, all equally strong, up to the frequency that "
    "turns most",
    "phase": "the same components with random phases of their waves",
}

_Spectrum = tuple[Array, Array, float]
"""Eigenvalues of a centred kernel, decreasing; their vectors, (NODES, k); the sum of the others."""


def turning_nulls(
    rows: npt.ArrayLike,
    draws: int = 400,
    seed: int = 0,
    *,
    names: Sequence[str] = tuple(MEANINGS),
    check: Callable[[], None] | None = None,
) -> dict[str, Null]:
    """Draw the null distributions of B, see :func:`~geometry.evidence.turning_share.turning_share`.

    Parameters
    ----------
    rows : (m, d)
        The table's rows, for its size, its steps and its components; at least 8.
    draws
        Draws of each distribution.
    seed
        Of the random numbers.
    names
        Keys of :data:`MEANINGS`; all by default.
    check
        Called before each distribution; may raise to stop.

    Returns
    -------
    dict
        By name: see :data:`MEANINGS`.
    """
    X, _ = in_unit(np.asarray(rows, dtype=np.float64))
    nulls: dict[str, Null] = {}
    for name in names:
        if check is not None:
            check()
        if name == "walk":
            values, _ = _of_process(_walk(X), X.shape[1], draws, _random(name, seed))
        elif name == "phase":
            values = _of_phases(X, draws, _random(name, seed))
        else:
            each = [b for b, _ in _of_lengths(name, X.shape[1], draws, seed)]
            values = max(each, key=_reach)
        nulls[name] = null_of(name, MEANINGS[name], values)
    return nulls


def rule_null(d: int, draws: int = 400, seed: int = 0) -> Null:
    """Draw the larger of B / 0.5 and B′ / 0.8 of smooth random curves.

    Parameters
    ----------
    d
        Columns of the curves.
    draws
        Number of curves, of the length scale at which they turn most evenly.
    seed
        Of the random numbers.
    """
    each = [
        np.maximum(b / SMOOTH[0], b_prime / SMOOTH[1])
        for b, b_prime in _of_lengths("process", d, draws, seed)
    ]
    return null_of("process", MEANINGS["process"], max(each, key=_reach))


def _reach(values: Array) -> float:
    return float(np.percentile(values, 95))


def _random(name: str, seed: int) -> np.random.Generator:
    return np.random.default_rng((seed, list(MEANINGS).index(name)))


@lru_cache(maxsize=64)
def _of_lengths(name: str, d: int, draws: int, seed: int) -> list[tuple[Array, Array]]:
    """Return B and B′ of tables with d columns, for each of the length scales."""
    rng = _random(name, seed)
    return [_of_process(_stationary(name, length), d, draws, rng) for length in LENGTHS[name]]


@cache
def _stationary(name: str, length: float) -> _Spectrum:
    t = np.linspace(0.0, 1.0, NODES)
    distance = np.abs(t[:, None] - t)
    if name == "process":
        return _spectrum(np.exp(-0.5 * (distance / length) ** 2))
    if name == "matern":
        scaled = np.sqrt(3.0) * distance / length
        return _spectrum((1.0 + scaled) * np.exp(-scaled))
    return _spectrum(np.sinc(2.0 * length * distance))


def _walk(X: Array) -> _Spectrum:
    """Return the spectrum of walks whose variance grows as the table's squared steps do."""
    squares = np.square(np.diff(X, axis=0)).sum(axis=1)
    grown = np.concatenate([[0.0], np.cumsum(squares)])
    at = np.interp(np.linspace(0.0, len(X) - 1, NODES), np.arange(len(X)), grown)
    return _spectrum(np.minimum(at[:, None], at))


def _spectrum(kernel: Array) -> _Spectrum:
    centred = kernel - kernel.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    used = min(MODES, int((values > 1e-12 * values[0]).sum()))
    return values[:used], vectors[:, :used], float(values[used:].sum())


def _of_process(
    spectrum: _Spectrum, d: int, draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return B and B′ of some tables with d independent columns of one process."""
    values, vectors, remaining = spectrum
    k = len(values)
    factor = bartlett_factor(d, k, draws, rng) if d >= k else rng.standard_normal((draws, k, d))
    factor *= np.sqrt(values)[:, None]
    gram = factor @ factor.transpose(0, 2, 1)
    total = np.trace(gram, axis1=1, axis2=2) + d * remaining
    smaller, _ = balanced_turning(vectors @ _leading(gram), turn_counts(len(vectors)))
    along = ramp(len(vectors)) @ vectors
    without = total - np.einsum("i,nij,j->n", along, gram, along)
    return _share(smaller, total), _share(smaller, np.where(without > 1e-9 * total, without, 0.0))


def _of_phases(X: Array, draws: int, rng: np.random.Generator) -> Array:
    """Return B of the table with random phases of its components' waves."""
    at = np.unique(np.linspace(0, len(X) - 1, min(len(X), NODES)).round().astype(np.intp))
    thin = about_mean(X[at])
    courses, strengths, _ = np.linalg.svd(thin, full_matrices=False)
    used = min(COURSES, len(strengths))
    amplitudes = np.abs(np.fft.rfft(courses[:, :used] * strengths[:used], axis=0))
    phases = rng.uniform(0.0, 2 * np.pi, (draws, *amplitudes.shape))
    tables = np.fft.irfft(amplitudes * np.exp(1j * phases), n=len(at), axis=1)
    tables -= tables.mean(axis=1, keepdims=True)
    gram = tables.transpose(0, 2, 1) @ tables
    values, vectors = np.linalg.eigh(gram)
    total = values.sum(axis=1) + float(np.square(strengths[used:]).sum())
    smaller, _ = balanced_turning(tables @ vectors[:, :, -3:], turn_counts(len(at)))
    return _share(smaller, total)


def _leading(gram: Array) -> Array:
    """Return the scores in three components from Gram matrices over eigenvectors, (draws, k, 3)."""
    values, vectors = np.linalg.eigh(gram)
    scores: Array = vectors[:, :, -3:] * np.sqrt(np.maximum(values[:, None, -3:], 0.0))
    return scores


def _share(smaller: Array, total: Array) -> Array:
    # Rows that are all equal do not turn.
    return np.divide(2 * smaller, total, out=np.zeros_like(smaller), where=total > 0.0)
