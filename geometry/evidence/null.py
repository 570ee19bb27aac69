"""Null distributions, and the comparison of a number with one."""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array, read_only

Outcome = Literal[
    "holds",
    "as any smooth curve",
    "does not hold",
    "worse than any such curve",
    "not applicable",
    "cannot tell",
]
"""Outcome of a claim about a number.

"as any smooth curve": the number is as claimed, but so it is in random tables.
"worse than any such curve": on the other side of what random tables of every kind give, whether or
not it meets the bound; without correction for the number of claims.
"not applicable": the claim has no meaning for such a table, or its bound cannot be reached.
"cannot tell": information is missing that would decide it.
"""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Side = Literal["above", "below"]
"""Side of a bound on which a number has to lie."""
RARE = 0.05
"""Largest p-value, corrected for the number of claims, of one that counts as not due to chance."""
FEW_DRAWS, USUAL_DRAWS = 19, 39
"""Draws of which none, and of which one, may reach a number that does not come of chance."""


@result
class Null:
    """Draws of a quantity from random tables with a single named property.

    Attributes
    ----------
    name
        "process", "matern", "walk", "band", "phase", "spline", "rank", "fourier", "cosines",
        "shuffled", "turned", "frames", "permuted", "entries", "directions", "rows", "relabelled".
    meaning
        Description of the tables, for a caption.
    values : (draws,) float64
        The quantity of each table, increasing.
    """

    name: str
    meaning: str
    values: Array

    @property
    def draws(self) -> int:
        """Number of tables drawn."""
        return len(self.values)

    def scaled(self, times: float, over: float) -> "Null":
        """Return the distribution of the quantity times one positive number over another."""
        return null_of(self.name, self.meaning, self.values * times / over)

    @property
    def band(self) -> tuple[float, float, float]:
        """5th, 50th and 95th percentile."""
        low, middle, high = np.percentile(self.values, (5, 50, 95))
        return float(low), float(middle), float(high)

    def share_from(self, value: float, side: Side = "above") -> float:
        """Return the share of draws that reach a value, from the given side."""
        return self.reached(value, side) / self.draws

    def p_value(self, value: float, side: Side = "above") -> float:
        """Return the Monte Carlo p-value of a value, which counts as one more draw."""
        return (self.reached(value, side) + 1) / (self.draws + 1)

    def interval_from(self, value: float, side: Side = "above") -> tuple[float, float]:
        """Return the 95 % interval of that share, by Clopper and Pearson."""
        from scipy.special import betaincinv  # slow to import

        n, k = self.draws, self.reached(value, side)
        low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
        high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
        return low, high

    def surrounds(self, value: float) -> bool:
        """Return whether a value is unusual to neither side."""
        return min(self.p_value(value, "above"), self.p_value(value, "below")) > RARE

    def reached(self, value: float, side: Side = "above") -> int:
        """Return the number of draws that reach a value, from the given side."""
        # Rounding does not make a number rarer than an equal one.
        slack = 1e-9 * max(abs(value), 1e-9)
        if side == "above":
            return int((self.values >= value - slack).sum())
        return int((self.values <= value + slack).sum())


@result
class Band:
    """The null distribution of a curve, at each of its places.

    Attributes
    ----------
    name, meaning, draws
        As of a :class:`Null`.
    low, middle, high : (m,) float64
        5th, 50th and 95th percentile.
    """

    name: str
    meaning: str
    draws: int
    low: Array
    middle: Array
    high: Array


@result
class CurveNull:
    """Draws of a curve, such as of R² by lag.

    Attributes
    ----------
    name, meaning
        As of a :class:`Null`.
    curves : (draws, m) float64
        The curve of each table.
    """

    name: str
    meaning: str
    curves: Array

    @property
    def band(self) -> Band:
        """The 5th, 50th and 95th percentile at each place."""
        return band_of(self.name, self.meaning, self.curves)

    def at(self, place: int) -> Null:
        """Return the null distribution at a place, by its index."""
        return null_of(self.name, self.meaning, self.curves[:, place])


def null_of(name: str, meaning: str, values: npt.ArrayLike) -> Null:
    """Return the null distribution of some draws, sorted and read-only."""
    drawn = np.sort(np.asarray(values, dtype=np.float64))
    read_only(drawn)
    return Null(name, meaning, drawn)


def band_of(name: str, meaning: str, curves: Iterable[npt.ArrayLike]) -> Band:
    """Return the null distribution of some drawn curves, each (m,)."""
    drawn = np.array([np.asarray(curve, dtype=np.float64) for curve in curves])
    low, middle, high = np.percentile(drawn, (5, 50, 95), axis=0)
    read_only(low, middle, high)
    return Band(name, meaning, len(drawn), low, middle, high)


def strictest(nulls: Iterable[Null], side: Side = "above") -> Null:
    """Return the null distribution whose 5 % on a side reach farthest."""
    if side == "above":
        return max(nulls, key=lambda null: null.band[2])
    return min(nulls, key=lambda null: null.band[0])


def least_favourable(nulls: Iterable[Null], value: float, side: Side = "above") -> Null:
    """Return the null distribution beside which a value is least unusual: of the largest p-value.

    Of several with the same, the one that reaches farthest to that side.
    """

    def favour(null: Null) -> tuple[float, float]:
        low, _, high = null.band
        return null.p_value(value, side), high if side == "above" else -low

    return max(nulls, key=favour)


def weigh(
    holds: bool,
    value: float,
    side: Side,
    null: Null | Iterable[Null] | None,
    p_adjusted: float | None = None,
) -> Outcome:
    """Return the outcome of a claim about a number.

    Parameters
    ----------
    holds
        Whether the number is as claimed.
    value
        The number.
    side
        The claimed side of a bound.
    null
        The same number of random tables, of one kind or of several, of which the least favourable
        decides; None if such tables cannot be drawn.
    p_adjusted
        The p-value, corrected for several claims; the Monte Carlo p-value itself if None.

    Returns
    -------
    Outcome
        "holds" only if the p-value is at most 5 %: none of 19 draws may reach the number, and two
        of 59. "worse than any such curve" if to the other side the p-value beside every kind is at
        most 5 %.
    """
    nulls = [] if null is None else [null] if isinstance(null, Null) else list(null)
    if nulls:
        other: Side = "below" if side == "above" else "above"
        if max(null.p_value(value, other) for null in nulls) <= RARE:
            return "worse than any such curve"
        if p_adjusted is None:
            p_adjusted = max(null.p_value(value, side) for null in nulls)
    if not holds:
        return "does not hold"
    return "holds" if p_adjusted is None or p_adjusted <= RARE else "as any smooth curve"
