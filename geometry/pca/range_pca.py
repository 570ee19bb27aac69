"""PCA of a range, fast enough to follow a drag."""

import numpy.typing as npt

from geometry.checkpoints.threads import one_thread
from geometry.pca.components import PositionPCA, check_range, check_table, count_components
from geometry.pca.exact_pca import fit_pca
from geometry.pca.narrow_table import NarrowTable
from geometry.pca.reduced_table import ReducedTable
from geometry.pca.unit import unit_of

SHORT = 128
NARROW = 128
SINGLE = 2.0**40
"""Numbers of this size and its inverse still have squared lengths in single precision."""


class RangePCA:
    """PCA of any inclusive range of one table, fast enough for every tick of a slider.

    What all ranges share is prepared once, by :meth:`prepare` or for the first range that needs it;
    results do not depend on earlier calls. Wide tables are reduced to their leading directions, and
    one product with the true rows bounds the error of every coordinate (`ReducedTable`); tables of
    at most 128 dimensions keep running sums (`NarrowTable`). Ranges shorter than 128, those
    with nearly equal singular values, where no basis is *the* right one, and those of tables whose
    squares leave single precision are decomposed exactly.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table. It is kept, not copied, when it is float64 already.

    Raises
    ------
    ValueError
        When W_pos is no table.
    """

    def __init__(self, W_pos: npt.ArrayLike) -> None:
        self._table = check_table(W_pos)
        self._prepared: NarrowTable | ReducedTable | None = None
        self._too_wide = unit_of(self._table, usual=SINGLE) != 1.0

    def fit(
        self,
        positions: tuple[int, int],
        n_components: int = 3,
        *,
        certified: int | None = None,
    ) -> PositionPCA:
        """PCA of an inclusive range.

        Parameters
        ----------
        positions
            First and last position, both inclusive.
        n_components
            How many components.
        certified
            How many of them must be within the tolerance: the highest shown one. Default: all. Weak
            components are the hardest to bound; where they are needed only for a chart of
            variances, leaving them uncertified saves most of the time.

        Returns
        -------
        PositionPCA
            The certified coordinates of the range's rows are within 1e-4 of the largest of them
            of the exact ones (bounded, not estimated); ``exact=False``, or True where the exact
            decomposition answered. A component whose two largest entries are of opposite sign and
            within rounding of each other may have the other sign than the exact one.

        Raises
        ------
        RangeError
            When the range is empty or leaves the table, or no component is asked for.
        """
        first, last = check_range(positions, len(self._table))
        n_rows, d_model = last - first + 1, self._table.shape[1]
        k = count_components(n_components, n_rows, d_model)
        # The matrices are so small that threads only slow this down when all cores are busy.
        with one_thread():
            if n_rows >= SHORT and not self._too_wide:
                found = self.prepare().fit(first, last, k, min(certified or k, k))
                if found is not None:
                    return found
            return fit_pca(self._table, (first, last), k)

    def is_ready(self, positions: tuple[int, int]) -> bool:
        """Return whether a range can be fitted without waiting for :meth:`prepare`."""
        short = positions[1] - positions[0] + 1 < SHORT
        return self._prepared is not None or short or self._too_wide

    def prepare(self) -> NarrowTable | ReducedTable:
        """Compute what all ranges share, some 20 ms for GPT-2 small; the first range is then fast.

        It may be called from another thread.
        """
        if self._prepared is None:
            kind = NarrowTable if self._table.shape[1] <= NARROW else ReducedTable
            self._prepared = kind(self._table)
        return self._prepared
