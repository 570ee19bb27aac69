"""Pairs of directions in which a curve turns at a single frequency, and the bounds of the rule.

In such a pair the curve is a cosine and a sine: a circle, up to an affine map of the plane. How
much of the pair's variance such a curve explains is its *purity*. A pair is *straight* if its pitch
is constant, *bent* if the pitch and the radius may change slowly along the curve. Smooth random
curves have pairs that turn as well, but these are impure, or hold little of the variance: a random
curve with waves of up to w cycles spreads its variance over all frequencies below, so that the
share of one pair falls with its number of turns.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array

MIN_TURNS, FEWEST_TURNS = 1.5, 1.45
"""The fewest turns that can be distinguished from half of a slower wave, and the fewest that count
as so many, since they are measured."""
MANY_TURNS = 2.5
"""Above this number of turns, the share that is asked for does not fall any more."""
DEGREE, START = 6, 4
"""Degrees of the phase of a bent pair over position, as a polynomial, and of an initial phase."""
MAX_WARP = 0.5
"""Largest deviation of the pitch from its mean, as a share of it."""
MIN_RATIO = 0.6
"""Smallest ratio of the two axes of a pair."""
STRAIGHT, BENT = 0.80, 0.90
"""Purity from which on a straight and a bent pair count."""
WIDE, NARROWED = (0.595, 0.695), 0.9
"""Bounds of the two tiers for the scaled share of a pair in a table of many columns, and by how
much more, over the root of their number, is asked of one with few."""
NARROWEST = 7
"""Fewer columns count as so many."""
PURE, ENOUGH = (0.993, 0.994), (0.40, 0.45)
"""Purity of a straight pair, in the two tiers, from which on this scaled share is enough; or twice
this share of the variance without a straight line, for steep helices."""
CLEAR, SIMPLER = 8, 0.98
"""Power of the purity in the choice of the clearest pair, and how much less a bent one counts."""
ITERATIONS = 5
"""Alternations between the plane of a pair and its phase."""
FREQUENCIES = 3
"""Frequencies that turn most evenly, from each of which a pair is sought. It is also sought from
the two planes in which the curve encloses the largest areas."""
TINY = 1e-10
"""Ridge of the least-squares fits, relative to their size."""


@result
class Pairs:
    """Pairs of directions of some curves, one from each initial phase, straight and bent.

    Attributes
    ----------
    bent : (draws, tries) bool
        Whether pitch and radius may change.
    turns : (draws, tries) float64
        Turns from the first point to the last.
    warp
        Largest deviation of the pitch from its mean, as a share.
    ratio
        Smaller axis of the turning over the larger.
    purity
        Share of the pair's variance that is explained.
    explained
        That variance itself, summed over points.
    planes : (draws, tries, 2, k) float64
        The orthonormal directions.
    """

    bent: npt.NDArray[np.bool_]
    turns: Array
    warp: Array
    ratio: Array
    purity: Array
    explained: Array
    planes: Array

    def strengths(self, totals: Array, beside: Array, d: int) -> tuple[Array, Array]:
        """Return the scaled shares over the bounds of the two tiers: 1 or more is remarkable.

        The share is twice that of the smaller axis of the turning.

        Parameters
        ----------
        totals : (draws,)
            Variance of each table, summed over points.
        beside : (draws,)
            The same without a straight line through the points.
        d
            Columns of the tables.

        Returns
        -------
        (draws, tries), (draws, tries) float64
            0 for pairs of too few turns, too uneven a pitch, too narrow an ellipse, or too low a
            purity.
        """
        sizes = np.where(totals > 0.0, totals, np.inf)[:, None]
        square = np.square(self.ratio)
        balanced = self.explained * 2.0 * square / (1.0 + square)
        scaled = balanced / sizes * np.clip(self.turns, MIN_TURNS, MANY_TURNS) / MIN_TURNS
        turn = (self.turns >= FEWEST_TURNS) & (self.warp <= MAX_WARP) & (self.ratio >= MIN_RATIO)
        clear = turn & (self.purity >= np.where(self.bent, BENT, STRAIGHT))
        steep = np.minimum(1.0, 2.0 * beside[:, None] / sizes)
        both = []
        for wide, pure, enough in zip(WIDE, PURE, ENOUGH, strict=True):
            bound = np.full_like(scaled, wide + NARROWED / np.sqrt(max(d, NARROWEST)))
            bound = np.where(~self.bent & (self.purity >= pure), enough * steep, bound)
            both.append(np.where(clear, scaled / np.maximum(bound, TINY), 0.0))
        return both[0], both[1]

    def clearest(self, strengths: Array) -> Pairs:
        """Return the clearest pair of each curve: arrays without the axis of tries.

        Parameters
        ----------
        strengths : (draws, tries)
            See :meth:`strengths`; pairs of 0 are left out where there are others.
        """
        clear = self.explained * self.purity**CLEAR * np.where(self.bent, SIMPLER, 1.0)
        best = np.where(strengths > 0.0, clear, -1.0).argmax(axis=1)
        draws = np.arange(len(best))
        return Pairs(*(getattr(self, field.name)[draws, best] for field in fields(self)))


def pairs_of(scores: Array, counts: Array, waves: Array) -> Pairs:
    """Return pairs of directions in which curves turn.

    From each initial phase, two steps alternate: the plane is that of the regression of all scores
    on a constant, a line, and the cosine and sine of the phase; and the phase is that of the points
    in the plane, smoothed by a polynomial that gives points far from it less weight.

    Parameters
    ----------
    scores : (draws, m, k)
        Curves of m points about their mean, in at least two directions.
    counts : (f,)
        Numbers of turns over the range, increasing.
    waves : (f, 2, m)
        Their cosines and sines, see :func:`geometry.evidence.turning_share.waves`.

    Returns
    -------
    Pairs
    """
    draws, m, _ = scores.shape
    t = np.linspace(-1.0, 1.0, m)
    powers = np.linalg.qr(np.polynomial.legendre.legvander(t, DEGREE))[0]
    started = np.concatenate(
        [_of_frequencies(scores, counts, waves, t), _of_areas(scores, powers[:, : START + 1])],
        axis=1,
    )
    tries = started.shape[1]
    curves = np.repeat(scores, tries, axis=0)
    straight = _refined(curves, started.reshape(draws * tries, m), powers[:, :2])
    bent = _refined(curves, straight, powers)
    each = (
        _measured(curves, straight, powers[:, :2], np.ones((1, m))),
        _measured(curves, bent, powers[:, :2], np.stack([np.ones(m), t])),
    )
    joined = [
        np.concatenate([part.reshape(draws, tries, *part.shape[1:]) for part in parts], axis=1)
        for parts in zip(*each, strict=True)
    ]
    is_bent = np.zeros((draws, 2 * tries), dtype=np.bool_)
    is_bent[:, tries:] = True
    return Pairs(is_bent, *joined)


def _of_frequencies(scores: Array, counts: Array, waves: Array, t: Array) -> Array:
    """Return phases of the frequencies that turn most evenly, (draws, FREQUENCIES, m)."""
    draws, m, k = scores.shape
    columns = np.ascontiguousarray(np.moveaxis(scores, 1, 0)).reshape(m, draws * k)
    products = (waves.reshape(-1, m) @ columns).reshape(len(counts), 2, draws, k)
    c, s = products[:, 0], products[:, 1]
    cc, ss, cs = ((a * b).sum(axis=-1) for a, b in ((c, c), (s, s), (c, s)))
    smaller = (cc + ss) / 2 - np.hypot((cc - ss) / 2, cs)
    padded = np.pad(smaller, ((1, 1), (0, 0)), constant_values=-np.inf)
    peak = (smaller >= padded[:-2]) & (smaller >= padded[2:])
    best = np.argsort(np.where(peak, smaller, -np.inf), axis=0)[::-1][:FREQUENCIES]
    phases: Array = np.pi * counts[best].T[:, :, None] * t
    return phases


def _of_areas(scores: Array, powers: Array) -> Array:
    """Return phases in the planes in which curves enclose the largest areas, (draws, 2, m).

    The area that a curve encloses in a plane is a sum over its steps, so that the planes are those
    of an antisymmetric matrix.
    """
    products = scores[:, :-1].transpose(0, 2, 1) @ scores[:, 1:]
    vectors = np.linalg.eigh(1j * (products - products.transpose(0, 2, 1)))[1]
    planes = vectors[:, :, -1:-3:-1] if scores.shape[2] > 3 else vectors[:, :, -1:]
    points = (scores @ planes.conj()).transpose(0, 2, 1)
    draws, count, m = points.shape
    flat = points.reshape(-1, m)
    return _smooth(np.unwrap(np.angle(flat)), np.abs(flat), powers).reshape(draws, count, m)


def _smooth(values: Array, weights: Array, powers: Array) -> Array:
    """Return weighted least-squares polynomials, robustly, (n, m)."""
    largest = weights.max(axis=1, keepdims=True)
    weights = np.divide(weights, largest, out=np.ones_like(weights), where=largest > 0.0)
    products = (powers[:, :, None] * powers[:, None]).reshape(len(powers), -1)
    size, robust = powers.shape[1], weights
    for _ in range(2):
        square = np.square(robust)
        gram = (square @ products).reshape(-1, size, size) + TINY * np.eye(size)
        right = (square * values) @ powers
        fitted: Array = np.linalg.solve(gram, right[..., None])[..., 0] @ powers.T
        robust = weights / np.maximum(1.0, 2 * np.abs(values - fitted))
    return fitted


def _refined(curves: Array, phases: Array, powers: Array) -> Array:
    """Alternate between the plane of a phase and the phase in the plane, (n, m)."""
    trend = powers[:, :2]
    level = curves - trend @ (trend.T @ curves)
    for _ in range(ITERATIONS):
        circle, along, gram = _circle(phases, trend)
        axes = np.linalg.solve(gram, circle @ level)
        square = axes @ axes.transpose(0, 2, 1)
        size = np.trace(square, axis1=1, axis2=2) + np.finfo(np.float64).tiny
        inverse = np.linalg.solve(square + TINY * size[:, None, None] * np.eye(2), axes)
        points = inverse @ level.transpose(0, 2, 1) + along @ trend.T
        z = points[:, 0] + 1j * points[:, 1]
        change = np.unwrap(np.angle(z * np.exp(-1j * phases)))
        moved = phases + _smooth(change, np.minimum(np.abs(z), 1.0), powers)
        rises: npt.NDArray[np.bool_] = np.all(np.diff(moved) > 0.0, axis=1, keepdims=True)
        phases = np.where(rises, moved, phases)
    return phases


def _circle(phases: Array, trend: Array) -> tuple[Array, Array, Array]:
    """Return cosines and sines, their parts along the trend, and the Gram matrix of the others."""
    circle = np.stack([np.cos(phases), np.sin(phases)], axis=1)
    along = circle @ trend
    gram = circle @ circle.transpose(0, 2, 1) - along @ along.transpose(0, 2, 1)
    return circle, along, gram + TINY * len(trend) * np.eye(2)


def _measured(curves: Array, phases: Array, trend: Array, radii: Array) -> tuple[Array, ...]:
    """Return the numbers of :class:`Pairs`; the radius is a sum of the given courses, (n, m)."""
    circle, along, gram = _circle(phases, trend)
    axes = np.linalg.solve(gram, circle @ curves - along @ (trend.T @ curves))
    _, strengths, planes = np.linalg.svd(axes, full_matrices=False)
    points = curves @ planes.transpose(0, 2, 1)
    points -= points.mean(axis=1, keepdims=True)
    basis = np.concatenate([radius * circle for radius in radii], axis=1)
    basis -= basis.mean(axis=2, keepdims=True)
    right = basis @ points
    gram = basis @ basis.transpose(0, 2, 1)
    gram += TINY * curves.shape[1] * np.eye(basis.shape[1])
    explained = (right * np.linalg.solve(gram, right)).sum(axis=(1, 2))
    variance = np.square(points).sum(axis=(1, 2))
    purity = np.divide(explained, variance, out=np.zeros_like(variance), where=variance > 0.0)
    steps = np.diff(phases)
    mean = steps.mean(axis=1, keepdims=True)
    warp = np.abs(steps / np.where(mean == 0.0, np.inf, mean) - 1.0).max(axis=1)
    ratio = strengths[:, 1] / np.maximum(strengths[:, 0], np.finfo(np.float64).tiny)
    turns = np.abs(phases[:, -1] - phases[:, 0]) / (2 * np.pi)
    return turns, warp, ratio, purity, explained, planes
