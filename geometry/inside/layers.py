"""Positions in each layer: their share of the residual stream, and its uncertainty.

All energies are products of the two halves of the texts, whose expectation has no sampling noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from geometry.inside.sums import FIRST, Sums
from geometry.measures.norms import norm_profile
from geometry.models.sources.layer_tables import RESOLVED
from geometry.pca.components import Array

COMPONENTS = 3
RANK_LEVEL = 0.01
"""Probability with which noise alone gives pos a component, or one more than it has."""


class Halves(NamedTuple):
    """Positions of each half of the texts and of all texts, relative to their own mean.

    ``a``, ``b`` and ``both`` are (m, d_model); the rows are ``rows``, (m,) int64.
    """

    rows: npt.NDArray[np.int64]
    a: Array
    b: Array
    both: Array


@dataclass(frozen=True, slots=True)
class LayerPositions:
    """Measurements of a layer's positions; shares are of the variance of a token.

    Attributes
    ----------
    stable_rank
        Σσ² / σ₁² of pos, from products of the halves; NaN where these do not agree, as it would be
        that of noise.
    rank
        Components above the noise, see :func:`components_above_noise`; None if it was not measured.
    relative_norm
        ‖pos, repeated for each text‖₂ / ‖h‖₂, both about their means (Song and Zhong).
    share, share_noise
        Share of pos, and the share that sampling noise adds in a mean over these texts.
    share_context, share_rest
        Share of the means of the texts; and the remainder.
    halves_cosine
        Cosine between the two halves' positions.
    standard_error
        Root mean square length of the sampling error of pos(t).
    top3
        Share of pos in three components, fitted to one half and measured in the other; NaN where
        the halves do not agree.
    outliers
        Positions left out by the rule for tables, besides position 0 and special tokens.
    texts_needed
        Windows needed for a cosine of :data:`RESOLVED`; None if the halves share no signal.
    energy
        Mean squared distance of pos(t) from its mean, without sampling noise: ``share`` times
        ``token_variance``.
    token_variance
        Mean squared distance of a token's h from the mean over all tokens.
    probe_error
        Mean distance, in positions, between the position of a token and what a linear probe reads
        from its h; see :mod:`geometry.inside.probe`.
    probe_chance
        The same for the best constant, which reads nothing from h.
    """

    stable_rank: float
    rank: int | None
    relative_norm: float
    share: float
    share_noise: float
    share_context: float
    share_rest: float
    halves_cosine: float
    standard_error: float
    top3: float
    outliers: tuple[int, ...]
    texts_needed: int | None
    energy: float = math.nan
    token_variance: float = math.nan
    probe_error: float = math.nan
    probe_chance: float = math.nan

    @property
    def resolved(self) -> bool:
        """Whether the halves agree."""
        return self.halves_cosine >= RESOLVED


def position_means(sums: Sums, layer: int) -> tuple[Array, Array, Array]:
    """Return the mean of h at each position, of each half and of all; (length, d_model) each."""
    totals = sums.totals[:, layer, : sums.length]
    half_a, half_b = (totals[i] / max(int(sums.windows[i]), 1) for i in (0, 1))
    return half_a, half_b, totals.sum(axis=0) / sums.n_windows


def kept_rows(
    table: Array, special: tuple[int, ...] = (), *, with_first: bool = False
) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
    """Return the measured positions, and the outliers.

    Parameters
    ----------
    table : (length, d_model)
        Mean of h at each position.
    special
        Positions of special tokens, which are left out.
    with_first
        Whether position 0 is measured, unless it is an outlier.
    """
    left_out = {*special} if with_first else {0, *special}
    rows = np.array([i for i in range(len(table)) if i not in left_out], np.int64)
    indices = norm_profile(table[rows] - table[rows].mean(axis=0)).outliers
    outliers = tuple(int(rows[i]) for i in indices)
    return np.setdiff1d(rows, outliers), outliers


def measure_layer(
    sums: Sums, layer: int, special: tuple[int, ...] = (), *, with_first: bool = False
) -> LayerPositions:
    """Measure a layer; see :class:`LayerPositions`."""
    a, b, both = position_means(sums, layer)
    rows, outliers = kept_rows(both, special, with_first=with_first)
    halves = Halves(rows, *(means[rows] - means[rows].mean(axis=0) for means in (a, b, both)))
    pos, noise = _energies(halves)
    counts, variance = sums.n_windows, token_variance(sums, layer, rows)
    by_position = sums.energy[layer, rows] / counts - np.square(both[rows]).sum(axis=1)
    context = _context(sums, layer)
    share, share_noise = pos / variance, noise / variance
    agreement = cosine(halves.a, halves.b)
    resolved = agreement >= RESOLVED
    return LayerPositions(
        stable_rank=_stable_rank(halves) if resolved else math.nan,
        rank=components_above_noise(sums, layer, rows),
        relative_norm=_relative_norm(sums, layer, halves),
        share=share,
        share_noise=share_noise,
        share_context=context / variance,
        share_rest=1 - share - share_noise - context / variance,
        halves_cosine=agreement,
        standard_error=float(np.sqrt(by_position.mean() / max(counts - 1, 1))),
        top3=_top_share(halves, COMPONENTS) if resolved else math.nan,
        outliers=outliers,
        texts_needed=_texts_needed(halves, counts),
        energy=pos,
        token_variance=variance,
        probe_error=_probe_error(sums, layer, rows),
        probe_chance=_probe_chance(rows),
    )


def token_variance(sums: Sums, layer: int, rows: npt.NDArray[np.int64]) -> float:
    """Return the mean squared distance of tokens at these positions from their mean."""
    mean = position_means(sums, layer)[2][rows].mean(axis=0)
    tokens = sums.n_windows * len(rows)
    return float(sums.energy[layer, rows].sum() / tokens - mean @ mean)


def components_above_noise(sums: Sums, layer: int, rows: npt.NDArray[np.int64]) -> int:
    """Return the number of components of pos above the noise of a mean over texts.

    The noise is measured, not modelled. Orthogonal contrasts of the groups of texts, scaled as
    their mean is, are free of pos, and each has the noise of the mean over all texts, with its
    dependence from position to position. A component counts if its singular value is above the
    largest of such noise: above the upper prediction bound of a further draw, at
    :data:`RANK_LEVEL`, by Student's t on logarithms.

    Parameters
    ----------
    sums, layer
        The sums by group of texts, and the layer.
    rows : (m,) int64
        Positions.

    Returns
    -------
    int
        0 also with fewer than three groups of texts, whose noise has no spread.
    """
    from scipy.fft import dct
    from scipy.stats import t

    used = np.flatnonzero(sums.group_windows)
    draws = len(used) - 1
    if draws < 2:
        return 0
    windows = sums.group_windows[used, None, None]
    means = sums.groups[used, layer][:, rows].astype(np.float64) / windows
    means -= means.mean(axis=1, keepdims=True)
    # With these weights the noise of all groups has the same size.
    weights = np.sqrt(windows / windows.sum())
    contrasts = dct(np.eye(draws + 1), norm="ortho", axis=0)  # each involves all groups
    contrasts[0] = weights[:, 0, 0]
    orthogonal = np.linalg.qr(contrasts.T)[0].T[1:]
    noise = np.tensordot(orthogonal, weights * means, 1)
    largest = np.linalg.svd(noise, compute_uv=False)[:, 0]
    both = np.sum(weights**2 * means, axis=0)
    if not largest.all():
        return int(np.linalg.matrix_rank(both))
    values = np.linalg.svd(both, compute_uv=False)
    logs = np.log(largest)
    margin = t.ppf(1 - RANK_LEVEL, draws - 1) * logs.std(ddof=1) * math.sqrt(1 + 1 / draws)
    return int((values > np.exp(logs.mean() + margin)).sum())


def _energies(halves: Halves) -> tuple[float, float]:
    """Return the energy of pos for each position, and the energy that noise adds to the mean."""
    pos = float(np.vdot(halves.a, halves.b)) / len(halves.rows)
    naive = float(np.square(halves.both).sum()) / len(halves.rows)
    return pos, naive - pos


def cosine(a: Array, b: Array) -> float:
    """Return the cosine of two arrays as vectors; 0 if one is zero."""
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.vdot(a, b)) / lengths if lengths > 0 else 0.0


def _stable_rank(halves: Halves) -> float:
    whole, first = float(np.vdot(halves.a, halves.b)), _energy_in(halves, 1)
    return whole / first if whole > 0 and first > 0 else float("nan")


def _top_share(halves: Halves, count: int) -> float:
    whole = float(np.vdot(halves.a, halves.b))
    return _energy_in(halves, count) / whole if whole > 0 else float("nan")


def _energy_in(halves: Halves, count: int) -> float:
    """Return the halves' product in the first components of one of them, as a mean of both."""
    energies = []
    for fitted, measured in ((halves.a, halves.b), (halves.b, halves.a)):
        V = np.linalg.svd(fitted, full_matrices=False)[2][:count]
        energies.append(np.vdot(fitted @ V.T, measured @ V.T))
    return float(np.mean(energies))


def _relative_norm(sums: Sums, layer: int, halves: Halves) -> float:
    """Return the ratio of spectral norms, each divided by the root of the number of tokens."""
    largest = largest_variance(sums, layer)
    pos = max(_energy_in(halves, 1), 0.0) / len(halves.rows)
    return float(np.sqrt(pos / largest)) if largest > 0 else float("nan")


def largest_variance(sums: Sums, layer: int) -> float:
    """Return the variance of all tokens along their first component."""
    tokens = sums.n_windows * (sums.length - FIRST)
    mean = sums.totals[:, layer, FIRST : sums.length].sum(axis=(0, 1)) / tokens
    covariance = sums.products[:, layer].sum(axis=0) / tokens - np.outer(mean, mean)
    return _largest_eigenvalue(covariance)


def _largest_eigenvalue(matrix: Array) -> float:
    """Return the largest eigenvalue of a symmetric matrix."""
    from scipy.linalg import eigvalsh

    last = len(matrix) - 1
    return float(eigvalsh(matrix, subset_by_index=[last, last])[0])


def _context(sums: Sums, layer: int) -> float:
    """Return the energy of the texts' means, over the positions from :data:`FIRST`."""
    count, width = sums.n_windows, sums.length - FIRST
    total = sums.totals[:, layer, FIRST : sums.length].sum(axis=(0, 1))
    mean = total / (count * width)
    return float(sums.context[layer] / (count * width**2) - mean @ mean)


def _probe_error(sums: Sums, layer: int, rows: npt.NDArray[np.int64]) -> float:
    """Return the mean error of the probe at these positions; NaN if none was run."""
    rows, windows = rows[rows >= FIRST], int(sums.probed[0])
    if not windows or not len(rows):
        return math.nan
    return float(sums.probe_errors[layer, rows].mean() / windows)


def _probe_chance(rows: npt.NDArray[np.int64]) -> float:
    """Return the mean distance of these positions from their median."""
    rows = rows[rows >= FIRST]
    return float(np.abs(rows - np.median(rows)).mean()) if len(rows) else math.nan


def _texts_needed(halves: Halves, count: int) -> int | None:
    """Return the number of windows for which the halves would have a cosine of 0.9."""
    pos = float(np.vdot(halves.a, halves.b))
    if pos <= 0:
        return None
    noise = (float(np.square(halves.a).sum()) + float(np.square(halves.b).sum())) / 2 - pos
    return int(np.ceil(count * max(noise, 0.0) / pos * RESOLVED / (1 - RESOLVED)))
