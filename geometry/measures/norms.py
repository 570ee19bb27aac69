"""Norms of the positional rows: their profile, stability and outliers."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from geometry.measures.stretches import AFTER, measure_stretch
from geometry.pca.components import Array, check_table, read_only, row_norms
from geometry.pca.unit import in_table_unit, in_unit

CACHED = 128
NEIGHBOURS = 8
OUTLIER_LOG_RATIO = 0.3
"""Bound of the rule on norms, in natural logarithm: a factor of about a third."""
ABOUT_MEAN_LOG_RATIO = 0.4
"""Bound of the rule on norms about the mean row, which are shorter and so vary more."""
ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""Norms about the mean row below this share of the largest norm are rounding errors."""


@dataclass(frozen=True, eq=False, slots=True)
class NormProfile:
    """Euclidean norms of all stored rows.

    Attributes
    ----------
    values : (n_positions,) float64
        ‖P_i‖₂ in the table's units.
    about_mean : (n_positions,) float64
        ‖P_i − m‖₂, m the mean of all rows: unchanged by a vector that is added to every row.
    centred
        True when each row was centred over d_model first (what LayerNorm sees).
    after
        First position of the stretch whose stability is measured. It ends with the last
        position but one; a table too short for `after` is measured as a whole.
    mean, std, cv
        Mean, population standard deviation, and their ratio (0 for a zero mean) there.
    outliers_raw
        Positions whose norm differs from the median of the 8 nearest other positions' norms
        by more than 0.3 in natural logarithm.
    outliers_about_mean
        Positions whose norm about the mean row differs in this way by more than 0.4.
    """

    values: Array
    about_mean: Array
    centred: bool
    after: int
    mean: float
    std: float
    cv: float
    outliers_raw: tuple[int, ...]
    outliers_about_mean: tuple[int, ...]

    @property
    def outliers(self) -> tuple[int, ...]:
        """Positions that stand out by either rule, ascending."""
        return tuple(sorted({*self.outliers_raw, *self.outliers_about_mean}))

    @property
    def outlyingness(self) -> Array:
        """How far out each position is, (n_positions,); see :func:`outlyingness`."""
        return np.maximum(*_shares(self.values, self.about_mean))

    def measured_from(self, after: int) -> "NormProfile":
        """Return the same norms, their stability measured from another position on.

        Parameters
        ----------
        after
            As in :func:`norm_profile`.

        Raises
        ------
        ValueError
            When `after` is negative.
        """
        found = measure_stretch(self.values, after)
        return replace(self, after=after, mean=found.mean, std=found.std, cv=found.cv)


def norm_profile(W_pos: npt.ArrayLike, *, after: int = AFTER, centred: bool = False) -> NormProfile:
    """Norms of all stored rows, their stability and their outliers.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table, all stored rows.
    after
        First position of the stretch `after`…n_positions − 2 (inclusive) that mean, std and
        cv describe.
    centred
        Subtract from each row its own mean over d_model first.

    Raises
    ------
    ValueError
        When W_pos is no table or `after` is negative.
    """
    table, unit = in_unit(check_table(W_pos))
    norms = _norms(table, centred)
    found = measure_stretch(norms[0], after)
    raw, about = (_beyond(share) for share in _shares(*norms))
    values, about_mean = (in_table_unit(one, unit) for one in norms)
    read_only(values, about_mean)
    return NormProfile(
        values,
        about_mean,
        centred,
        after,
        found.mean * unit,
        found.std * unit,
        found.cv,
        raw,
        about,
    )


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
        The greater of |ln(norm_i / m_i)| / 0.3 and the same of norms about the mean row over
        0.4, m_i as in :func:`log_ratios`; finite, without a unit. Outliers are above 1. The
        norms about the mean row do not change with a vector added to all rows, so what stands
        out there still does.

    Raises
    ------
    ValueError
        When W_pos is no table.
    """
    return np.maximum(*_shares(*_norms(in_unit(check_table(W_pos))[0], centred)))


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
    least = np.finfo(np.float64).tiny
    typical = np.maximum(np.median(norms[others], axis=1), least)
    ratios: Array = np.abs(np.log(np.maximum(norms, least)) - np.log(typical))
    return ratios


def _shares(values: Array, about_mean: Array) -> tuple[Array, Array]:
    """Return by both rules how far out each position is, over the rule's bound."""
    least = ROUNDING * float(values.max())
    return (
        log_ratios(values) / OUTLIER_LOG_RATIO,
        log_ratios(np.maximum(about_mean, least)) / ABOUT_MEAN_LOG_RATIO,
    )


def _beyond(share: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(share > 1.0))


def _norms(table: Array, centred: bool) -> tuple[Array, Array]:
    """Return the rows' norms and those about the mean row."""
    mean = table.mean(axis=0)
    if centred:
        mean = mean - mean.mean()
    found: tuple[list[Array], list[Array]] = ([], [])
    # A few rows at a time, which fit into the processor's cache: the table is not copied.
    for start in range(0, len(table), CACHED):
        rows = table[start : start + CACHED]
        if centred:
            rows = rows - rows.mean(axis=1, keepdims=True)
        for norms, vectors in zip(found, (rows, rows - mean), strict=True):
            norms.append(row_norms(vectors))
    values, about_mean = (np.concatenate(norms) for norms in found)
    return values, about_mean
