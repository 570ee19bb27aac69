"""Null distributions of the balanced turning share, and of the shape rule.

Random curves are drawn as Gaussian processes over position, the same in every column. Both depend
only on their Gram matrix in the eigenvectors of the centred kernel, which is a Wishart matrix: a
few numbers per draw, whatever the width of the table. Curves of few slow waves have other modes in
each draw, see :mod:`geometry.evidence.random_curves`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import ResultDict
from geometry.evidence.null import Null, null_of, strictest
from geometry.evidence.random_curves import SLOW_MEANINGS, SlowKind, slow_modes
from geometry.evidence.random_frames import bartlett_factor
from geometry.evidence.turning_pairs import pairs_of
from geometry.evidence.turning_share import (
    COMPONENTS,
    FEWEST,
    balanced_turning,
    ramp,
    turn_counts,
    waves,
)
from geometry.pca.components import Array, about_mean
from geometry.pca.pca import leading_pairs
from geometry.pca.unit import in_unit

NODES = 192
"""Places at which a random curve is evaluated: four for each of the 48 fastest turns."""
MODES = 32
"""Number of drawn eigenvectors. The variance of the others, at most a hundredth, is replaced by its
mean."""
SLOW = 12
"""Columns in which a curve of few slow waves is drawn; further ones hold next to nothing."""
COURSES = 24
"""Components whose phases are redrawn; the variance of the others is unchanged."""
LENGTHS: Mapping[str, tuple[float, ...]] = {
    "process": (0.115,),
    "matern": (0.15,),
    "band": (1.8, 2.0, 3.0),
}
"""Length scales, in ranges, and highest frequencies, in cycles over the range, with which random
curves turn most. The distribution is that of the worst."""
MEANINGS: Mapping[str, str] = {
    "process": "smooth random curves (Gaussian processes, squared-exponential, of the length scale "
    "that turns most)",
    "matern": "rougher random curves (Gaussian processes, Matérn-3/2, of the length scale that "
    "turns most)",
    "walk": "random walks with the same step lengths",
    "band": "random curves made only of slow waves, all equally strong, up to the frequency that "
    "turns most",
    "phase": "the same components with random phases of their waves",
    **{str(kind): meaning for kind, meaning in SLOW_MEANINGS.items()},
}
RULE_DRAWS = 59
"""Draws of the rule, each of which takes milliseconds."""
THIN = 2
"""Every second place is used for the rule."""

_Spectrum = tuple[Array, Array, float]
"""Eigenvalues of a centred kernel, decreasing; their vectors, (NODES, k); the sum of the others."""


class _Curves(NamedTuple):
    """Random curves: scores in the leading components, (draws, m, k), and variances, (draws,)."""

    scores: Array
    total: Array
    beside: Array  # without a straight line


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
    return _nulls(_evenness, rows, draws, seed, names, check)


def rule_nulls(
    rows: npt.ArrayLike,
    draws: int = RULE_DRAWS,
    seed: int = 0,
    *,
    names: Sequence[str] = tuple(MEANINGS),
    check: Callable[[], None] | None = None,
) -> dict[str, Null]:
    """Draw the null distributions of the rule's strength, by the name of the random curves.

    The least favourable one decides: that of the largest p-value.

    Parameters
    ----------
    rows, draws, seed, names, check
        As of :func:`turning_nulls`.
    """
    return _nulls(_strength, rows, draws, seed, names, check)


def rule_null(d: int, draws: int = RULE_DRAWS, seed: int = 0) -> Null:
    """Draw the rule's strength for the random curves that reach the highest.

    Parameters
    ----------
    d
        Columns of the curves.
    draws
        Number of curves of each kind that does not depend on a table.
    seed
        Of the random numbers.
    """
    names = [name for name in MEANINGS if name != "phase"]
    even_steps = np.zeros((FEWEST, d))
    even_steps[1::2, 0] = 1.0
    return strictest(rule_nulls(even_steps, draws, seed, names=names).values())


def _nulls(
    measure: Callable[[_Curves, int], Array],
    rows: npt.ArrayLike,
    draws: int,
    seed: int,
    names: Sequence[str],
    check: Callable[[], None] | None,
) -> dict[str, Null]:
    X, _ = in_unit(np.asarray(rows, dtype=np.float64))
    d, nulls = X.shape[1], ResultDict()
    for name in names:
        if check is not None:
            check()
        if name == "walk":
            values = measure(_of_process(_walk(X), d, draws, _random(name, seed)), d)
        elif name == "phase":
            values = measure(_of_phases(X, draws, _random(name, seed)), d)
        else:
            values = _of_width(measure, name, d, draws, seed)
        nulls[name] = null_of(name, MEANINGS[name], values)
    return nulls


def _evenness(curves: _Curves, d: int) -> Array:
    """Return B of random curves, (draws,)."""
    counts = turn_counts(curves.scores.shape[1])
    smaller, _ = balanced_turning(curves.scores[:, :, :3], counts)
    # Rows that are all equal do not turn.
    return np.divide(
        2 * smaller, curves.total, out=np.zeros_like(smaller), where=curves.total > 0.0
    )


def _strength(curves: _Curves, d: int) -> Array:
    """Return the strength of random curves, (draws,)."""
    thin = curves.scores[:, ::THIN] if curves.scores.shape[1] == NODES else curves.scores
    if thin.shape[2] < 2:
        return np.zeros(len(thin))
    counts, part = turn_counts(thin.shape[1]), thin.shape[1] / curves.scores.shape[1]
    tries = pairs_of(thin - thin.mean(axis=1, keepdims=True), counts, waves(thin.shape[1], counts))
    strongest: Array = tries.strengths(part * curves.total, part * curves.beside, d)[0].max(axis=1)
    return strongest


def _random(name: str, seed: int) -> np.random.Generator:
    return np.random.default_rng((seed, list(MEANINGS).index(name)))


@lru_cache(maxsize=256)
def _of_width(
    measure: Callable[[_Curves, int], Array], name: str, d: int, draws: int, seed: int
) -> Array:
    """Measure random curves with d columns, (draws,); of a process, those that reach highest."""
    rng = _random(name, seed)
    if name in LENGTHS:
        spectra = [_stationary(name, length) for length in LENGTHS[name]]
        each = [measure(_of_process(one, d, draws, rng), d) for one in spectra]
        return max(each, key=lambda values: float(np.percentile(values, 95)))
    tables = np.stack([_slow(name, d, rng) for _ in range(draws)])
    return measure(_of_tables(tables, np.zeros(draws)), d)


def _slow(name: str, d: int, rng: np.random.Generator) -> Array:
    """Draw a curve of few slow waves, (NODES, SLOW)."""
    modes = slow_modes(cast("SlowKind", name), NODES, rng)
    k = modes.shape[1]
    factor = bartlett_factor(d, k, 1, rng)[0] if d >= k else rng.standard_normal((k, d))
    table = modes @ factor
    # Of several waves that are hardly independent, those that differ.
    left, strengths, _ = np.linalg.svd(table, full_matrices=False)
    kept = min(SLOW, len(strengths))
    drawn = np.zeros((NODES, SLOW))
    drawn[:, :kept] = left[:, :kept] * strengths[:kept]
    return drawn


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


def _of_process(spectrum: _Spectrum, d: int, draws: int, rng: np.random.Generator) -> _Curves:
    """Return tables with d independent columns of one process."""
    values, vectors, remaining = spectrum
    k = len(values)
    factor = bartlett_factor(d, k, draws, rng) if d >= k else rng.standard_normal((draws, k, d))
    factor *= np.sqrt(values)[:, None]
    gram = factor @ factor.transpose(0, 2, 1)
    total = np.trace(gram, axis1=1, axis2=2) + d * remaining
    strengths, directions = np.linalg.eigh(gram)
    leading = directions * np.sqrt(np.maximum(strengths[:, None], 0.0))
    scores = vectors @ leading[:, :, : -COMPONENTS - 1 : -1]
    along = ramp(len(vectors)) @ vectors
    beside = total - np.einsum("i,nij,j->n", along, gram, along)
    return _Curves(scores, total, beside)


def _of_phases(X: Array, draws: int, rng: np.random.Generator) -> _Curves:
    """Return the table with random phases of its components' waves."""
    at = np.unique(np.linspace(0, len(X) - 1, min(len(X), NODES)).round().astype(np.intp))
    thin = about_mean(X[at])
    values, courses = leading_pairs(thin @ thin.T, min(COURSES, *thin.shape))
    values = np.maximum(values, 0.0)
    amplitudes = np.abs(np.fft.rfft(courses * np.sqrt(values), axis=0))
    phases = rng.uniform(0.0, 2 * np.pi, (draws, *amplitudes.shape))
    tables = np.fft.irfft(amplitudes * np.exp(1j * phases), n=len(at), axis=1)
    remaining = max(float(np.vdot(thin, thin)) - float(values.sum()), 0.0)
    return _of_tables(tables, np.full(draws, remaining))


def _of_tables(tables: Array, remaining: Array) -> _Curves:
    """Return curves from whole tables (draws, m, k), and the variance of what they lack."""
    tables = tables - tables.mean(axis=1, keepdims=True)
    gram = tables.transpose(0, 2, 1) @ tables
    values, vectors = np.linalg.eigh(gram)
    total = np.maximum(values, 0.0).sum(axis=1) + remaining
    beside = total - np.square(ramp(tables.shape[1]) @ tables).sum(axis=1)
    return _Curves(tables @ vectors[:, :, : -COMPONENTS - 1 : -1], total, beside)
