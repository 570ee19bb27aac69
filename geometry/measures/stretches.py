"""Mean and spread of values by position, from some position on."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.pca.unit import in_unit

AFTER = 100
"""Default first position: the articles' tables settle before it."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Mean and spread of values from a position on.

    Attributes
    ----------
    first, last
        The measured positions, both inclusive.
    whole
        Whether all positions are measured, because there are too few to leave any out.
    mean, std, cv
        Mean, population standard deviation, and their ratio (0 for a zero mean) there; mean and
        std in the values' units.
    early
        Mean of the positions before `first`; None where there are none.
    """

    first: int
    last: int
    whole: bool
    mean: float
    std: float
    cv: float
    early: float | None


def measure_stretch(values: npt.NDArray[np.floating], after: int = AFTER) -> Stretch:
    """Mean and spread from a position to the last but one.

    Parameters
    ----------
    values : (n,)
        One for each position, n at least 1.
    after
        First position of the stretch `after`…n − 2; where that is empty, all are measured.

    Raises
    ------
    ValueError
        When there are no values or `after` is negative.
    """
    if after < 0:
        raise ValueError(f"expected a first position of at least 0, got {after}")
    if values.ndim != 1 or not values.size:
        raise ValueError(f"expected values (n,), got {values.shape}")
    whole = after > len(values) - 2
    first, last = (0, len(values) - 1) if whole else (after, len(values) - 2)
    values, unit = in_unit(values)
    part = values[first : last + 1]
    mean, std = float(part.mean()), float(part.std())
    early = float(values[:first].mean()) * unit if first else None
    cv = std / mean if mean > 0.0 else 0.0
    return Stretch(first, last, whole, mean * unit, std * unit, cv, early)
