"""PCA of a range, fast enough to follow a drag."""

from collections.abc import Callable
from functools import cached_property

import numpy.typing as npt

from geometry.checkpoints.threads import one_thread
from geometry.pca.components import Array, PositionPCA, check_range, check_table, count_components
from geometry.pca.narrow_table import NarrowTable
from geometry.pca.pca import fit_pca
from geometry.pca.reduced_table import ReducedTable
from geometry.pca.unit import unit_of

SHORT = 128
NARROW = 128
SINGLE = 2.0**40
"""Numbers of this size and its inverse still have squared lengths in single precision."""


class RangePCA:
    """PCA of any inclusive range of a table, fast enough for every step of a slider.

    The data shared by all ranges are prepared once, by :meth:`prepare` or for the first range that
    needs them; results do not depend on earlier calls. Wide tables are reduced to their leading
    directions, and a product with the true rows bounds the error of every coordinate
    (`ReducedTable`); tables of at most 128 dimensions keep running sums (`NarrowTable`). Decomposed
    exactly are ranges shorter than 128, those with nearly equal singular values, whose basis is not
    unique, and those of tables whose squares are beyond single precision.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table; it is kept without a copy if it is float64. Or a function that returns it, which
        is called when a range is fitted.

    Raises
    ------
    ValueError
        W_pos is not a table.
    """

    def __init__(self, W_pos: npt.ArrayLike | Callable[[], npt.ArrayLike]) -> None:
        self._given = W_pos if callable(W_pos) else check_table(W_pos)
        self._prepared: NarrowTable | ReducedTable | None = None

    @cached_property
    def _table(self) -> Array:
        return check_table(self._given() if callable(self._given) else self._given)

    @cached_property
    def _too_wide(self) -> bool:
        return unit_of(self._table, usual=SINGLE) != 1.0

    def fit(
        self,
        positions: tuple[int, int],
        n_components: int = 3,
        *,
        certified: int | None = None,
    ) -> PositionPCA:
        """Compute the PCA of an inclusive range.

        Parameters
        ----------
        positions
            First and last position, both inclusive.
        n_components
            Number of components.
        certified
            Number of components that must be within the tolerance: up to the highest shown one;
            all if None. Weak components are the hardest to bound; if they are needed only for a
            chart of variances, leaving them uncertified saves most of the time.

        Returns
        -------
        PositionPCA
            The certified coordinates of the range's rows are within 1e-4 of the largest of them
            of the exact ones (bounded, not estimated); ``exact=False``, or True if the range was
            decomposed exactly. A component whose two largest entries have opposite signs and equal
            magnitudes to rounding may have the opposite sign of the exact one.

        Raises
        ------
        RangeError
            The range is empty or leaves the table, or no component is requested.
        """
        first, last = check_range(positions, len(self._table))
        n_rows, d_model = last - first + 1, self._table.shape[1]
        k = count_components(n_components, n_rows, d_model)
        # The matrices are so small that threads only slow this down when all cores are busy.
        with one_thread():
            if n_rows >= SHORT and not self._too_wide:
                pca = self.prepare().fit(first, last, k, min(certified or k, k))
                if pca is not None:
                    return pca
            return fit_pca(self._table, (first, last), k)

    def is_ready(self, positions: tuple[int, int]) -> bool:
        """Return whether a range can be fitted without waiting for :meth:`prepare`."""
        short = positions[1] - positions[0] + 1 < SHORT
        return self._prepared is not None or short or self._too_wide

    def prepare(self) -> NarrowTable | ReducedTable:
        """Compute the data shared by all ranges, in about 20 ms for GPT-2 small.

        The first range is then fast. It may be called from another thread.
        """
        if self._prepared is None:
            kind = NarrowTable if self._table.shape[1] <= NARROW else ReducedTable
            self._prepared = kind(self._table)
        return self._prepared
