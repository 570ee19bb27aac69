"""Rotary position embeddings: how fast each pair of a head's entries turns, and the turning itself.

At position p, pair i of every query and key is turned by the angle p·θᵢ, so that their product
depends on the distance of the two positions alone (Su et al. 2021, arXiv:2104.09864). Without
scaling θᵢ = base^(−2i/d), i from 0, for the d entries of a head that are turned. What longer
contexts change about it is here as in transformers' ``modeling_rope_utils``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.pca.components import Array


def turning_rates(base: float, width: int) -> Array:
    """Return the unscaled rates θᵢ of the pairs of ``width`` entries.

    Parameters
    ----------
    base
        The rate of the last pair is about 1/base.
    width
        Entries of a head that are turned, an even number.

    Returns
    -------
    (width / 2,) float64, radians per position, falling from 1
    """
    return base ** (-np.arange(0, width, 2) / width)


def turning(rates: npt.ArrayLike, n_positions: int, factor: float = 1.0) -> Array:
    """Return where the turning takes a unit vector of each pair, at every position.

    Parameters
    ----------
    rates : (n_pairs,)
        Radians per position.
    n_positions
        Positions, from 0.
    factor
        What the model multiplies cosines and sines by.

    Returns
    -------
    (n_positions, 2 n_pairs) float64
        cos pθᵢ and sin pθᵢ, a pair of columns for each pair. The inner product of two rows is
        :func:`lag_kernel` of their distance.
    """
    # exp(i(qb + r)θ) = exp(iqbθ)·exp(irθ): products of two tables of √n rows.
    rates = np.asarray(rates, dtype=np.float64)
    block = math.isqrt(max(n_positions - 1, 0)) + 1
    near, far = (np.exp(1j * np.arange(block)[:, None] * step * rates) for step in (1, block))
    turned = (factor * far[:, None] * near).reshape(-1, len(rates))[:n_positions]
    table: Array = turned.view(np.float64)
    return table


def turn(vectors: npt.ArrayLike, angles: npt.ArrayLike, *, interleaved: bool) -> Array:
    """Turn each pair of a head's entries.

    Parameters
    ----------
    vectors : (…, d)
        Queries or keys; the entries after those of the pairs stay as they are.
    angles : (…, n_pairs)
        By how much, in radians.
    interleaved
        Whether a pair is the entries 2i and 2i + 1, or i and i + n_pairs.

    Returns
    -------
    (…, d) float64
    """
    turned = np.array(vectors, dtype=np.float64)
    angles = np.asarray(angles, dtype=np.float64)
    n_pairs = angles.shape[-1]
    if interleaved:
        first, second = slice(0, 2 * n_pairs, 2), slice(1, 2 * n_pairs, 2)
    else:
        first, second = slice(0, n_pairs), slice(n_pairs, 2 * n_pairs)
    x, y = turned[..., first].copy(), turned[..., second].copy()
    turned[..., first] = x * np.cos(angles) - y * np.sin(angles)
    turned[..., second] = y * np.cos(angles) + x * np.sin(angles)
    return turned


def turns(rates: npt.ArrayLike, n_positions: int) -> Array:
    """Return how often each pair turns from the first of so many positions to the last."""
    return np.asarray(rates, dtype=np.float64) * (n_positions - 1) / (2 * math.pi)


def lag_kernel(
    rates: npt.ArrayLike, lags: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Array:
    """Return Σᵢ wᵢ cos(θᵢ·lag): the mean product of a query and a key at a distance.

    It is the mean over queries and keys whose entries are independent but for the two of a pair,
    with E[q_i·k_i] = wᵢ for the pair i.

    Parameters
    ----------
    rates : (n_pairs,)
        Radians per position.
    lags
        Distances, in positions.
    weights : (…, n_pairs)
        wᵢ; 1 for each if None.

    Returns
    -------
    (…, n_lags) float64
    """
    waves = np.cos(np.multiply.outer(np.asarray(rates, dtype=np.float64), np.asarray(lags)))
    kernel: Array = waves.sum(axis=0) if weights is None else np.asarray(weights) @ waves
    return kernel


def stretched_base(base: float, width: int, by: float) -> float:
    """Return the base with which the slowest pair turns ``by`` times as slowly.

    The fastest stays as it is: "NTK-aware" scaling. "dynamic" scaling by a factor f uses it beyond
    the context, with ``by`` = f·length/context − (f − 1).
    """
    return base * by ** (width / (width - 2)) if width > 2 else base


@dataclass(frozen=True, slots=True)
class Ramp:
    """From which wavelengths on a scaling acts, and fully.

    Attributes
    ----------
    context
        Positions of the texts before scaling.
    fast
        Pairs that turn at least as often within them are left as they are.
    slow
        Pairs that turn at most as often are slowed by the whole factor.
    """

    context: float
    fast: float
    slow: float


def llama3(rates: Array, factor: float, ramp: Ramp) -> Array:
    """Slow the slow pairs as Llama 3.1 does: between the bounds by the number of turns."""
    cycles = rates * ramp.context / (2 * math.pi)
    kept = np.clip((cycles - ramp.slow) / (ramp.fast - ramp.slow), 0.0, 1.0)
    return (1 - kept) * rates / factor + kept * rates


def yarn(base: float, width: int, factor: float, ramp: Ramp, *, whole_pairs: bool = True) -> Array:
    """Return the rates by YaRN (Peng et al. 2023, arXiv:2309.00071).

    Parameters
    ----------
    base, width
        See :func:`turning_rates`.
    factor
        By which the slow pairs are slowed.
    ramp
        Its bounds are turned into numbers of pairs, between which the slowing grows evenly.
    whole_pairs
        Whether these are rounded, to more pairs.
    """
    pairs = width // 2

    def pair_with(cycles: float) -> float:
        """Return the number of the pair that turns so often within the context."""
        return width * math.log(ramp.context / (cycles * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair_with(ramp.fast), pair_with(ramp.slow)
    if whole_pairs:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    slowed = np.clip((np.arange(pairs) - low) / (high - low), 0.0, 1.0)
    rates = turning_rates(base, width)
    found: Array = rates / factor * slowed + rates * (1 - slowed)
    return found


def longrope(base: float, width: int, factors: Sequence[float]) -> Array:
    """Return the rates by LongRoPE: each pair slowed by a factor of its own."""
    return turning_rates(base, width) / np.asarray(factors, dtype=np.float64)
