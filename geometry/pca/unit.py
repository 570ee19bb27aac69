"""Units in which the squares of a table's numbers can be summed."""

import numpy as np

USUAL = 2.0**200
"""Numbers of this size and its inverse still have fourth powers, as sums of squared lengths
need."""


def unit_of(*arrays: np.ndarray, usual: float = USUAL) -> float:
    """Return the unit in which finite numbers are to be squared and summed.

    Parameters
    ----------
    arrays
        The numbers.
    usual
        Size up to which numbers are usual, and their inverses.

    Returns
    -------
    float
        1 for usual numbers, and for zeros. If the largest number is not usual, the power of two at
        or below it: dividing by it rounds only numbers too small to matter.
    """
    # Numbers in single precision are usual.
    wide = [x for x in arrays if x.size and x.dtype == np.float64]
    if all(x.flags.forc for x in wide):  # a sum of squares is found faster than the largest
        squares = sum(float(np.vdot(x, x)) for x in wide)
        if sum(x.size for x in wide) / usual**2 <= squares <= usual**2:
            return 1.0
    largest = max((float(max(x.max(), -x.min())) for x in wide), default=0.0)
    if largest == 0.0 or 1 / usual <= largest <= usual:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def in_unit(array: np.ndarray) -> tuple[np.ndarray, float]:
    """Divide numbers by their unit, see :func:`unit_of`; usual ones are returned uncopied."""
    unit = unit_of(array)
    return (array if unit == 1.0 else array / unit), unit


def in_table_unit(number: np.ndarray, unit: float) -> np.ndarray:
    """Multiply a result by its unit again; numbers too large for float64 become infinite."""
    if unit == 1.0:
        return number
    with np.errstate(over="ignore"):
        return np.asarray(number * unit)
