"""Norms of the positional rows: their profile, stability and outliers."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.measures.stretches import AFTER, measure_stretch
from geometry.pca.components import Array, check_stored, read_only
from geometry.pca.norm_rule import norms_of, shares_of_bounds
from geometry.pca.unit import in_table_unit, in_unit


@result
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
        """How far out each position is, (n_positions,); above 1 for outliers."""
        return np.maximum(*shares_of_bounds(self.values, self.about_mean))

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
    table, unit = in_unit(check_stored(W_pos))
    norms = norms_of(table, centred)
    found = measure_stretch(norms[0], after)
    raw, about = (_beyond(share) for share in shares_of_bounds(*norms))
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


def _beyond(share: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(share > 1.0))
