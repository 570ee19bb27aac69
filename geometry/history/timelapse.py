"""A history as moving curves: the coordinates of every snapshot.

There are two bases. **Frozen**: the mean and the first three components of the open model's range
for all snapshots. This is a single affine map, so motion on the screen is motion in the model,
including that of the mean. **Aligned**: each snapshot in its own mean and components, aligned with
its neighbour on the side of the open model by an orthogonal Procrustes fit, so that nothing jumps;
the open model's snapshot is unchanged. Reflections are allowed, since the components' signs are
arbitrary. In a training, the open model's snapshot is the last one; while it goes on, the basis
may be that of a snapshot which was the last one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.checkpoints.threads import one_thread
from geometry.history.history import History, Steps
from geometry.pca.components import Array, PositionPCA, check_range, make_pca, row_norms
from geometry.pca.pca import EIGENVALUE_FLOOR, fit_pca, procrustes_rotation

Basis = Literal["frozen", "aligned"]
Coordinates = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
Report = Callable[[float, str], None]

N_COMPONENTS = 3


@result
class Timelapse:
    """Every snapshot of a history in three components, with measurements of each.

    All arrays are read-only; n snapshots, m positions in the range.

    Attributes
    ----------
    steps : (n,) int64
        Of training.
    positions
        First and last position of the range, both inclusive.
    frozen, aligned : (n, n_positions, 3) float32
        All stored rows, in the table's units; see the module. A component that the range does not
        have is zero.
    pca
        Components of the open model's range: the frozen basis.
    explained_variance_ratio : (n, 3) float64
        Of each snapshot's own components, over the range; zeros where the range does not vary.
    frozen_variance_ratio : (n,) float64
        Share of each snapshot's variance over the range that lies in the frozen components.
    norms : (n, n_positions) float32
        Euclidean norms of all stored rows.
    mean_norms : (n,) float64
        Their mean over the range.
    basis_step
        The step of the frozen basis.
    """

    steps: Steps
    positions: tuple[int, int]
    frozen: Coordinates
    aligned: Coordinates
    pca: PositionPCA
    explained_variance_ratio: Array
    frozen_variance_ratio: Array
    norms: npt.NDArray[np.float32]
    mean_norms: Array
    basis_step: int

    def coordinates(self, basis: Basis) -> Coordinates:
        """Return one of the two arrays of coordinates, (n, n_positions, 3) float32."""
        return self.frozen if basis == "frozen" else self.aligned

    @property
    def top3(self) -> Array:
        """(n,) variance share of each snapshot's own three components."""
        total: Array = self.explained_variance_ratio.sum(axis=1)
        return total

    @property
    def in_range(self) -> slice:
        """The range's rows in a snapshot's coordinates and norms."""
        first, last = self.positions
        return slice(first, last + 1)


def make_timelapse(
    history: History,
    positions: tuple[int, int] | None = None,
    report: Report | None = None,
    earlier: tuple[History, Timelapse] | None = None,
) -> Timelapse:
    """Compute the coordinates of every snapshot in advance, so that scrubbing is instant.

    Parameters
    ----------
    history
        Every table is read once, from that of the open model to the first, and to the last.
    positions
        First and last position of the range, both inclusive; 1 to the last if None.
    report
        Called with the share done and a message after each snapshot.
    earlier
        The same history as it was read before, and its time-lapse over this range: only new
        snapshots are read, and the frozen basis stays, until it holds less than half of what the
        last snapshot's own components do. Then, if there are twice as many snapshots as up to that
        of the basis, all are computed anew.

    Raises
    ------
    RangeError
        The range leaves the table.
    SourceError
        A table cannot be read.
    """
    last = history.n_positions - 1
    span = check_range(positions or (min(1, last), last), history.n_positions)
    if earlier is not None and earlier[1].positions == span:
        known, lapse = history.known_from(earlier[0]), earlier[1]
        basis_at = int(np.searchsorted(history.steps, lapse.basis_step))
        if known[0] >= 0 and lapse.basis_step in history.steps[known >= 0]:
            work = _Work.after(lapse, known, history, report)
            work.add(int(index) for index in np.flatnonzero(known < 0))
            held, own = work.frozen_ratio[-1], work.own_ratio[-1].sum()
            if held >= own / 2 or history.n_snapshots < 2 * (basis_at + 1):
                return work.finish(lapse.pca, lapse.basis_step)
    shown = history.shown
    work = _Work(history, span, report)
    pca = work.add_shown()
    work.add((*range(shown - 1, -1, -1), *range(shown + 1, history.n_snapshots)))
    return work.finish(pca, int(history.steps[shown]))


class _Work:
    """The arrays of a time-lapse, filled snapshot by snapshot."""

    def __init__(self, history: History, span: tuple[int, int], report: Report | None) -> None:
        n, rows = history.n_snapshots, history.n_positions
        self.history, self.span, self._report = history, span, report
        self._inside = slice(span[0], span[1] + 1)
        self._pca: PositionPCA | None = None
        self._done = np.zeros(n, np.bool_)
        self.frozen = np.empty((n, rows, N_COMPONENTS), np.float32)
        self.aligned = np.empty_like(self.frozen)
        self.own_ratio, self.frozen_ratio = np.empty((n, N_COMPONENTS)), np.empty(n)
        self.norms = np.empty((n, rows), np.float32)

    @classmethod
    def after(
        cls, lapse: Timelapse, known: Indices, history: History, report: Report | None
    ) -> _Work:
        """Begin with the snapshots of an earlier time-lapse, see :meth:`History.known_from`."""
        work = cls(history, lapse.positions, report)
        at = np.flatnonzero(known >= 0)
        work._pca, work._done[at] = lapse.pca, True
        for mine, earlier in (
            (work.frozen, lapse.frozen),
            (work.aligned, lapse.aligned),
            (work.own_ratio, lapse.explained_variance_ratio),
            (work.frozen_ratio, lapse.frozen_variance_ratio),
            (work.norms, lapse.norms),
        ):
            mine[at] = earlier[known[at]]
        return work

    def add_shown(self) -> PositionPCA:
        """Add the snapshot of the open model; return its components, the frozen basis."""
        self.add((self.history.shown,))
        assert self._pca is not None
        return self._pca

    def add(self, indices: Iterable[int]) -> None:
        """Add snapshots; all but the first one beside one that is there."""
        for index in indices:
            table = self.history.table(index).astype(np.float64)
            with one_thread():
                self._add(index, table)
            self._done[index] = True
            if self._report is not None:
                unit = self.history.unit.capitalize()
                share = int(self._done.sum()) / len(self._done)
                self._report(share, f"{unit} {self.history.steps[index]:,}")

    def _add(self, index: int, table: Array) -> None:
        inside, own = self._inside, _leading(table, self.span)
        aligned = _padded(own.project(table))
        frozen = aligned if self._pca is None else _padded(self._pca.project(table))
        self._pca = self._pca or own
        beside = index - 1 if index > 0 and self._done[index - 1] else index + 1
        if self._done.any():
            onto = self.aligned[beside, inside].astype(np.float64)
            aligned = aligned @ procrustes_rotation(aligned[inside], onto).T
        total = _spread(table[inside])
        self.frozen[index], self.aligned[index] = frozen, aligned
        self.own_ratio[index] = _padded(own.explained_variance_ratio[None])[0]
        held = _spread(frozen[inside]) / total if total > 0.0 else 0.0
        self.frozen_ratio[index] = min(held, 1.0)
        self.norms[index] = row_norms(table)

    def finish(self, pca: PositionPCA, basis_step: int) -> Timelapse:
        """Return the time-lapse."""
        mean_norms = self.norms[:, self._inside].mean(axis=1, dtype=np.float64)
        ratios = self.own_ratio, self.frozen_ratio
        for array in (self.frozen, self.aligned, *ratios, self.norms, mean_norms):
            array.setflags(write=False)
        return Timelapse(
            self.history.steps,
            self.span,
            self.frozen,
            self.aligned,
            pca,
            *ratios,
            self.norms,
            mean_norms,
            basis_step,
        )


def _spread(rows: Array) -> float:
    """Return the sum of squares about the mean."""
    centred = rows - rows.mean(axis=0)
    return float(np.vdot(centred, centred))


def _padded(coordinates: Array) -> Array:
    """Return three columns, with zeros for missing components."""
    missing = N_COMPONENTS - coordinates.shape[1]
    return np.pad(coordinates, ((0, 0), (0, missing))) if missing else coordinates


def _leading(table: Array, span: tuple[int, int]) -> PositionPCA:
    """Return the exact first three components of a range, in a time independent of its spectrum.

    For a table of noise, as before training, the iterations of :func:`fit_pca` converge slowly.
    """
    rows = table[span[0] : span[1] + 1]
    size = min(rows.shape)
    if size <= 4 * N_COMPONENTS:
        return fit_pca(table, span, N_COMPONENTS)
    mean = rows.mean(axis=0)
    centred = rows - mean
    tall = rows.shape[0] >= rows.shape[1]
    from scipy.linalg import eigh  # slow to import, and not needed for the names of bases

    values, vectors = eigh(
        centred.T @ centred if tall else centred @ centred.T,
        subset_by_index=[size - N_COMPONENTS, size - 1],
        check_finite=False,
    )
    if values[0] <= EIGENVALUE_FLOOR * values[-1]:
        return fit_pca(table, span, N_COMPONENTS)
    vectors = vectors[:, ::-1]
    components = vectors if tall else np.linalg.qr(centred.T @ vectors)[0]
    return make_pca(
        span, mean, components.T, values[::-1], float(np.vdot(centred, centred)), exact=True
    )
