"""The rule on norms: rows that differ in length from those around them."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.threads import for_each_part
from geometry.pca.components import Array, check_table, mean_row, norms_from, row_norms
from geometry.pca.unit import in_unit

NEIGHBOURS = 8
OUTLIER_LOG_RATIO = 0.3
"""Bound of the rule on norms, in natural logarithm: a factor of about a third."""
ABOUT_MEAN_LOG_RATIO = 0.4
"""Bound of the rule on norms about the mean row, which are shorter and so vary more."""
ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""Norms about the mean row below this share of the largest norm are rounding errors."""


def outlyingness(W_pos: npt.ArrayLike, *, centred: bool = False) -> Array:
    """How far each row's norm is from those of its neighbourhood, over the rule's bound.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, all stored rows.
    centred
        Subtract from each row its own mean over d_model first.

    Returns
    -------
    (n_positions,) float64
        The greater of ``|ln(norm_i / m_i)|`` / 0.3 and the same of norms about the mean row over
        0.4, m_i as in :func:`log_ratios`; finite, without a unit. Outliers are above 1. The
        norms about the mean row do not change with a vector added to all rows, so what stands
        out there still does.

    Raises
    ------
    ValueError
        When W_pos is no table.
    """
    return np.maximum(*shares_of_bounds(*norms_of(in_unit(check_table(W_pos))[0], centred)))


def outlyingness_at_ends(W_pos: npt.ArrayLike) -> tuple[float, float]:
    """Return how far the first and the last row are out, as :func:`outlyingness` does, faster.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, at least nine rows.

    Raises
    ------
    ValueError
        When W_pos is no table.
    """
    rows, _ = in_unit(check_table(W_pos))
    n = NEIGHBOURS + 1
    ends = np.concatenate([rows[:n], rows[: -n - 1 : -1]])  # each inwards
    values, about_mean = row_norms(ends), row_norms(ends - rows.mean(axis=0))
    shares = shares_of_bounds(values.reshape(2, n), about_mean.reshape(2, n), _of_first)
    first, last = np.maximum(*shares)
    return float(first), float(last)


def log_ratios(norms: Array) -> Array:
    """Difference between each norm and the norms of its neighbourhood.

    Parameters
    ----------
    norms : (n_positions,)
        Norms by position.

    Returns
    -------
    (n_positions,) float64
        |ln(norm_i / m_i)|, m_i the median norm of the 8 other positions nearest to i: four on
        each side, at the ends whatever is nearest (the lower of two equally near ones). Zeros
        count as the least positive number: they differ from all others, and not from each other.
    """
    n = len(norms)
    count = min(NEIGHBOURS, n - 1)
    if count == 0:
        return np.zeros(n)
    # A window of count + 1 rows around i, pushed inwards at the ends, holds exactly i and the
    # `count` positions nearest to it.
    start = np.clip(np.arange(n) - (count + 1) // 2, 0, n - count - 1)
    window = start[:, None] + np.arange(count + 1)
    others = window[window != np.arange(n)[:, None]].reshape(n, count)
    return _log_ratio(norms, norms[others])


def _of_first(norms: Array) -> Array:
    """Return that difference for the first of some norms (…, n), all others being near it."""
    return _log_ratio(norms[..., 0], norms[..., 1:])


def _log_ratio(norms: Array, others: Array) -> Array:
    least = np.finfo(np.float64).tiny
    others, n = np.sort(others, axis=-1), others.shape[-1]  # faster than NumPy's median
    typical = np.maximum((others[..., (n - 1) // 2] + others[..., n // 2]) / 2, least)
    ratios: Array = np.abs(np.log(np.maximum(norms, least)) - np.log(typical))
    return ratios


def shares_of_bounds(
    values: Array, about_mean: Array, ratios: Callable[[Array], Array] = log_ratios
) -> tuple[Array, Array]:
    """Return by both rules how far out each position is, over the rule's bound.

    Parameters
    ----------
    values, about_mean : (…, n)
        Norms, and norms about the mean row.
    ratios
        How far norms (…, n) are from those near them.
    """
    least = ROUNDING * values.max(axis=-1, keepdims=True)
    return (
        ratios(values) / OUTLIER_LOG_RATIO,
        ratios(np.maximum(about_mean, least)) / ABOUT_MEAN_LOG_RATIO,
    )


def norms_of(table: Array, centred: bool) -> tuple[Array, Array]:
    """Return the rows' norms and those about the mean row, each (n,).

    Parameters
    ----------
    table : (n, d)
        Rows, float64 or float32.
    centred
        Subtract from each row its own mean over its entries first.
    """
    mean = mean_row(table)
    if centred:
        mean = mean - mean.mean()

    def moved(few: np.ndarray, out: Array | None = None) -> Array:
        own = few.mean(axis=1, dtype=np.float64, keepdims=True) if centred else 0.0
        rows: Array = np.subtract(few, own, out=out, dtype=np.float64)
        return rows

    def squares(few: np.ndarray, room: Array) -> Array:
        rows, both = moved(few, room), np.empty((2, len(few)))
        with np.errstate(over="ignore"):
            np.einsum("ij,ij->i", rows, rows, out=both[0])
            rows -= mean
            np.einsum("ij,ij->i", rows, rows, out=both[1])
        return both

    of_rows, about_mean = np.concatenate(for_each_part(squares, table, np.float64), axis=1)
    return (
        norms_from(of_rows, lambda at: moved(table[at])),
        norms_from(about_mean, lambda at: moved(table[at]) - mean),
    )
