"""Norms of the positional rows: their profile, stability and outliers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.measures.stretches import AFTER, measure_stretch
from geometry.pca.components import Array, check_table, row_norms

CACHED = 128
NEIGHBOURS = 8
OUTLIER_LOG_RATIO = 0.3


@dataclass(frozen=True, eq=False, slots=True)
class NormProfile:
    """Euclidean norms of all stored rows.

    Attributes
    ----------
    values : (n_positions,) float64
        ‖P_i‖₂ in the table's units.
    centred
        True when each row was centred over d_model first (what LayerNorm sees).
    after
        First position of the stretch whose stability is measured. It ends with the last
        position but one; a table too short for `after` is measured as a whole.
    mean, std, cv
        Mean, population standard deviation, and their ratio (0 for a zero mean) there.
    outliers
        Positions whose norm differs from the median of the 8 nearest other positions' norms
        by more than 0.3 in natural logarithm.
    """

    values: Array
    centred: bool
    after: int
    mean: float
    std: float
    cv: float
    outliers: tuple[int, ...]

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
        return _profile(self.values, self.centred, after, self.outliers)


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
    table = check_table(W_pos)
    values = _centred_row_norms(table) if centred else row_norms(table)
    values.flags.writeable = False
    return _profile(values, centred, after, find_outliers(values))


def _profile(values: Array, centred: bool, after: int, outliers: tuple[int, ...]) -> NormProfile:
    found = measure_stretch(values, after)
    return NormProfile(values, centred, after, found.mean, found.std, found.cv, outliers)


def _centred_row_norms(table: Array) -> Array:
    # A few rows at a time, which fit into the processor's cache: the table is not copied.
    parts = (table[start : start + CACHED] for start in range(0, len(table), CACHED))
    return np.concatenate([row_norms(rows - rows.mean(axis=1, keepdims=True)) for rows in parts])


def find_outliers(norms: Array) -> tuple[int, ...]:
    """Positions whose norm stands out from the norms of their neighbourhood.

    Parameters
    ----------
    norms : (n_positions,)
        Norms by position.

    Returns
    -------
    tuple of int
        Every i with |ln(norm_i / m_i)| > 0.3, m_i the median norm of the 8 other positions
        nearest to i: four on each side, at the ends whatever is nearest (the lower of two
        equally near ones). A zero among non-zeros (or the reverse) stands out.
    """
    n = len(norms)
    count = min(NEIGHBOURS, n - 1)
    if count == 0:
        return ()
    # A window of count + 1 rows around i, pushed inwards at the ends, holds exactly i and the
    # `count` positions nearest to it.
    start = np.clip(np.arange(n) - (count + 1) // 2, 0, n - count - 1)
    window = start[:, None] + np.arange(count + 1)
    others = window[window != np.arange(n)[:, None]].reshape(n, count)
    typical = np.median(norms[others], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.abs(np.log(norms) - np.log(typical))
    # Zero against zero is nan: no difference, no outlier.
    return tuple(int(i) for i in np.flatnonzero(log_ratio > OUTLIER_LOG_RATIO))
