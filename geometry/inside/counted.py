"""Counters in the residual stream: directions of the sentence, the word, the line, and so on.

Counters are correlated: the tenth word of a sentence is also late in its line. So all of them, and
the position, are estimated together, by a regression on indicator columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.inside.layers import (
    Halves,
    cosine,
    kept_rows,
    position_means,
    token_variance,
)
from geometry.inside.sums import Sums
from geometry.pca.components import Array

DIRECTIONS = 3
"""Leading directions of a counter whose angles are measured."""
MIN_TOKENS = 30
"""Minimum number of tokens in each half for a value of a counter; others are left out."""
DRAWS = 200
"""Pairs of random subspaces."""
TOLERANCE = 1e-10
"""Relative to the largest eigenvalue: smaller ones belong to combinations that no token
distinguishes, such as all positions against all words."""


@result
class Counter:
    """The contribution of a counter to a layer's residual stream, given the others.

    Attributes
    ----------
    name
        Of :data:`geometry.inside.settings.SIZES`, or "position".
    halves
        Its effects by value, relative to their mean.
    tokens : (m,) int64
        Number of tokens with each of these values.
    share
        Share of a token's variance, as for positions.
    halves_cosine
        Cosine between the effects in the two halves.
    norms_cv
        Standard deviation over mean of the effects' norms about their mean: 0 on a hypersphere.
    """

    name: str
    halves: Halves
    tokens: npt.NDArray[np.int64]
    share: float
    halves_cosine: float
    norms_cv: float

    @property
    def directions(self) -> Array:
        """(d_model, at most 3): orthonormal leading directions."""
        V = np.linalg.svd(self.halves.both, full_matrices=False)[2]
        return V[: min(DIRECTIONS, len(self.halves.both) - 1)].T


class Counting:
    """The regression of a run, the same for all layers."""

    def __init__(self, sums: Sums, special: tuple[int, ...] = ()) -> None:
        self._sums, self._special = sums, special
        self._inverse = [_inverse(sums.together[half]) for half in (0, 1)]
        self._inverse_of_both = _inverse(sums.together.sum(axis=0))

    def counters(self, layer: int, names: Sequence[str]) -> list[Counter]:
        """Measure counters in a layer; those with fewer than two values are left out.

        Parameters
        ----------
        layer
            Of the residual stream.
        names
            Of :data:`geometry.inside.settings.SIZES`, or "position".
        """
        sums = self._sums
        totals = sums.totals[:, layer]
        effects = [inverse @ total for inverse, total in zip(self._inverse, totals, strict=True)]
        both = self._inverse_of_both @ totals.sum(axis=0)
        counters = [self._counter(name, (*effects, both), layer) for name in names]
        return [counter for counter in counters if counter is not None]

    def _counter(
        self, name: str, effects: tuple[Array, Array, Array], layer: int
    ) -> Counter | None:
        sums, place = self._sums, self._sums.values_of(name)
        seen = np.diagonal(sums.together, axis1=1, axis2=2)[:, place]
        ordinary, _ = kept_rows(position_means(sums, layer)[2], self._special)
        rows = np.flatnonzero((seen >= MIN_TOKENS).all(axis=0))
        rows = ordinary if name == "position" else rows
        if len(rows) < 2:
            return None
        a, b, both = (effect[place][rows] for effect in effects)
        halves = Halves(rows, *(effect - effect.mean(axis=0) for effect in (a, b, both)))
        tokens = seen.sum(axis=0)[rows]
        norms = np.linalg.norm(halves.both, axis=1)
        weights = tokens / tokens.sum()
        energy = float(weights @ np.einsum("ij,ij->i", halves.a, halves.b))
        share = energy / token_variance(sums, layer, ordinary)
        return Counter(
            name,
            halves,
            tokens,
            share,
            cosine(halves.a, halves.b),
            float(norms.std() / norms.mean()) if norms.mean() > 0 else 0.0,
        )


def angles_between(counters: Sequence[Counter]) -> dict[tuple[str, str], Array]:
    """Return the principal angles of each pair's leading directions, in degrees, ascending."""
    from scipy.linalg import subspace_angles

    return {
        (a.name, b.name): np.degrees(subspace_angles(a.directions, b.directions))[::-1]
        for a, b in combinations(counters, 2)
    }


def random_angles(d_model: int, sizes: tuple[int, int], seed: int = 0) -> Mapping[str, float]:
    """Return the smallest principal angle of random subspaces, in degrees.

    Parameters
    ----------
    d_model
        Dimensions of the space.
    sizes
        Those of the two subspaces.

    Returns
    -------
    Mapping
        "p5", "median" and "p95" over :data:`DRAWS` pairs.
    """
    from scipy.linalg import subspace_angles

    random = np.random.default_rng(seed)
    smallest = []
    for _ in range(DRAWS):
        a, b = (random.standard_normal((d_model, size)) for size in sizes)
        smallest.append(np.degrees(subspace_angles(a, b)[-1]))
    return quantiles(smallest)


def quantiles(values: Sequence[float]) -> Mapping[str, float]:
    """Return "p5", "median" and "p95" of values, of which some may be NaN."""
    low, middle, high = np.nanpercentile(values, (5, 50, 95))
    return {"p5": float(low), "median": float(middle), "p95": float(high)}


def _inverse(together: npt.NDArray[np.int64]) -> Array:
    """Return the pseudo-inverse of an indicator matrix's products."""
    values, vectors = np.linalg.eigh(together.astype(np.float64))
    kept = values > TOLERANCE * values[-1]
    inverse: Array = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse
