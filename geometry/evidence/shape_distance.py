"""The distance between two tables' shapes, with its interval.

References
----------
.. [1] A. H. Williams, E. Kunz, S. Kornblith and S. Linderman, "Generalized shape metrics on neural
   representations", NeurIPS 2021, arXiv:2110.14739
.. [2] D. Pospisil, B. Larsen, S. Harvey and A. Williams, "Estimating shape distances on neural
   representations with limited samples", 2023, arXiv:2310.05742
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.evidence.bootstrap import FEWEST, Departures, Interval, interval_about
from geometry.evidence.turning_share import turning_share
from geometry.pca.components import Array, about_mean
from geometry.pca.unit import in_unit

DRAWS = 100


@dataclass(frozen=True, slots=True)
class ShapeDistance:
    """The angle between two tables, each moved, turned, reflected and scaled onto the other.

    Attributes
    ----------
    degrees
        0 for one shape, 90 for nothing in common: a metric [1]_. Its sine squared is the
        disparity of Procrustes analysis.
    interval
        Of 95 %, by resampling the rows' departures from their curves; None if one of the tables is
        not remarkable, so that no curve is known.
    same_curve
        The median distance of two draws of the first table's curve. Noise alone makes a distance
        [2]_, so this is what one curve with departures like these has from itself.
    """

    degrees: float
    interval: Interval | None = None
    same_curve: float | None = None


def shape_distance(
    rows: npt.ArrayLike,
    others: npt.ArrayLike,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    check: Callable[[], None] | None = None,
) -> ShapeDistance:
    """Return the distance between the shapes of two tables.

    Parameters
    ----------
    rows, others : (m, d), (m, e)
        Rows of the same positions.
    draws, seed
        Number of draws, and of the random numbers.
    check
        Called before each draw; may raise to stop.

    Raises
    ------
    ValueError
        They do not have the same number of rows, or one of them does not vary.
    """
    tables = [about_mean(in_unit(np.asarray(x, dtype=np.float64))[0]) for x in (rows, others)]
    if len(tables[0]) != len(tables[1]):
        raise ValueError(f"{len(tables[0])} rows cannot be compared with {len(tables[1])}")
    if not all(table.any() for table in tables):
        raise ValueError("all rows of a table are equal")
    degrees = _angle(*tables)
    if len(tables[0]) < FEWEST:
        return ShapeDistance(degrees)
    evidence = [turning_share(table) for table in tables]
    if not all(one.remarkable for one in evidence):
        return ShapeDistance(degrees)
    first, second = (Departures(x, one.turns) for x, one in zip(tables, evidence, strict=True))
    random = np.random.default_rng(seed)
    apart, own = np.empty(draws), np.empty(draws)
    for number in range(draws):
        if check is not None:
            check()
        drawn = first.draw(random)
        apart[number] = _angle(drawn, second.draw(random))
        own[number] = _angle(drawn, first.draw(random))
    interval = interval_about(degrees / 90, apart / 90, share=True)
    ends = (90 * interval[0], 90 * interval[1])
    return ShapeDistance(degrees, ends, float(np.median(own)))


def _angle(X: Array, Y: Array) -> float:
    """Return the angle between centred tables, in degrees."""
    common = float(np.linalg.svd(X.T @ Y, compute_uv=False).sum())
    cosine = common / float(np.linalg.norm(X) * np.linalg.norm(Y))
    return float(np.degrees(np.arccos(min(cosine, 1.0))))
