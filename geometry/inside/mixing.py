"""Mixing of two counters by LayerNorm: a test of the article's statement on hyperspheres.

If effects lie on hyperspheres and in orthogonal subspaces, all orthogonal to the mean, every sum
μ + a + b has the same length. LayerNorm then only scales it: the effect of a does not depend on b.
The part that depends on both is the interaction, in the sense of a two-way analysis of variance,
of LN(μ + a + b) over all values of the two counters.

LN here has no gain, no bias and no small constant in its root. It is also used for a network with
RMSNorm, which does not subtract the mean over d_model. The content of tokens is left out: it would
make them longer, and all mixing smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import Any

import numpy as np

from geometry.inside.counted import Counter, quantiles
from geometry.inside.interventions import with_scrambled_norms
from geometry.inside.layers import kept_rows, position_means
from geometry.inside.sums import Sums
from geometry.models.sources.layer_tables import RESOLVED
from geometry.pca.components import Array

VALUES = 24
"""Values of a counter, evenly spaced: all 512 positions with all words would take minutes."""
DRAWS = 20
"""Number of draws of random directions, and of scrambled norms."""


@dataclass(frozen=True, slots=True)
class Mixing:
    """How much LayerNorm mixes two counters in a layer.

    Attributes
    ----------
    counters
        Names of the two counters.
    mixed
        Energy of the interaction over that of the two main effects. 0 if each counter's effect
        after LayerNorm does not depend on the other; NaN if neither has an effect.
    random_turn, scrambled_norms
        "p5", "median" and "p95" of the same with the effects of each counter rotated into random
        directions, which keeps their norms and distances; and with norms that vary about their
        mean by a third.
    """

    counters: tuple[str, str]
    mixed: float
    random_turn: Mapping[str, float]
    scrambled_norms: Mapping[str, float]


def measure_mixing(
    sums: Sums,
    layer: int,
    counters: Sequence[Counter],
    special: tuple[int, ...] = (),
    seed: int = 0,
) -> list[Mixing]:
    """Measure how much LayerNorm mixes each pair of counters in a layer.

    Parameters
    ----------
    sums, layer, special
        Determine the mean, over the measured positions.
    counters
        Counters of this layer.
    seed
        Seed of random directions and norms.
    """
    means = position_means(sums, layer)[2]
    mean = means[kept_rows(means, special)[0]].mean(axis=0)
    effects = [(counter.name, _spaced(counter.halves.both)) for counter in counters]
    random = np.random.default_rng(seed)
    found = []
    for (name_a, a), (name_b, b) in combinations(effects, 2):
        mixed = interaction(mean, a, b)
        drawn = [
            quantiles(
                [interaction(mean, change(a, random), change(b, random)) for _ in range(DRAWS)]
            )
            for change in (rotated, with_scrambled_norms)
        ]
        found.append(Mixing((name_a, name_b), mixed, *drawn))
    return found


def resolved_pairs(
    counters: Sequence[Sequence[Counter]], mixing: Sequence[Sequence[Mixing]]
) -> list[Mixing]:
    """Return the pairs, in all layers, of counters for which the halves of the texts agree.

    The others are mostly noise, whose directions are random.
    """
    resolved = []
    for in_layer, pairs in zip(counters, mixing, strict=True):
        clear = {counter.name for counter in in_layer if counter.halves_cosine >= RESOLVED}
        resolved += [
            pair for pair in pairs if clear.issuperset(pair.counters) and isfinite(pair.mixed)
        ]
    return resolved


def interaction(mean: Array, a: Array, b: Array) -> float:
    """Return the share of an interaction in LN(mean + a + b); see :class:`Mixing`.

    Parameters
    ----------
    mean : (d_model,)
        Mean of the residual stream.
    a : (m, d_model)
        Effects of the first counter.
    b : (n, d_model)
        Effects of the second counter.
    """
    # LN of centred vectors is the same in any orthonormal basis of their span.
    vectors = _in_their_span(np.concatenate([mean[None], a, b]))
    mean, a, b = vectors[0], vectors[1 : 1 + len(a)], vectors[1 + len(a) :]
    x = mean + a[:, None] + b
    norms = np.linalg.norm(x, axis=2, keepdims=True)
    x = x / np.where(norms > 0, norms, 1)
    whole = x.mean(axis=(0, 1))
    of_a, of_b = x.mean(axis=1) - whole, x.mean(axis=0) - whole
    residual = x - of_a[:, None] - of_b - whole
    main = float(np.square(of_a).sum() / len(a) + np.square(of_b).sum() / len(b))
    return float(np.square(residual).sum() / (len(a) * len(b))) / main if main > 0 else float("nan")


def rotated(effects: Array, random: np.random.Generator) -> Array:
    """Return effects rotated into random directions, with the same norms and distances.

    The directions have mean 0 over d_model, as after LN.
    """
    coordinates = _in_their_span(effects)
    drawn = random.standard_normal((effects.shape[1], coordinates.shape[1]))
    frame = np.linalg.qr(drawn - drawn.mean(axis=0))[0]
    result: Array = coordinates @ frame.T
    return result


def _in_their_span(vectors: Array) -> Array:
    """Return vectors without their means over d_model, in an orthonormal basis of their span."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    triangle: Any = np.linalg.qr(centred.T, mode="r")  # its type is unknown to numpy's annotations
    coordinates: Array = triangle.T
    return coordinates


def _spaced(effects: Array) -> Array:
    """Return evenly spaced rows of effects, relative to their mean."""
    count = min(len(effects), VALUES)
    rows = np.linspace(0, len(effects) - 1, count).round().astype(np.intp)
    chosen: Array = effects[rows] - effects[rows].mean(axis=0)
    return chosen
