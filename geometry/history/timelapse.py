"""A history as moving curves: the coordinates of every snapshot.

There are two bases. **Frozen**: the mean and the first three components of the open model's range
for all snapshots. This is a single affine map, so motion on the screen is motion in the model,
including that of the mean. **Aligned**: each snapshot in its own mean and components, aligned with
its neighbour on the side of the open model by an orthogonal Procrustes fit, so that nothing jumps;
the open model's snapshot is unchanged. Reflections are allowed, since the components' signs are
arbitrary. In a training, the open model's snapshot is the last one.
"""

from __future__ import annotations

from collections.abc import Callable
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
    history: History, positions: tuple[int, int] | None = None, report: Report | None = None
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

    Raises
    ------
    RangeError
        The range leaves the table.
    SourceError
        A table cannot be read.
    """
    n, last = history.n_snapshots, history.n_positions - 1
    span = check_range(positions or (min(1, last), last), history.n_positions)
    frames_at: dict[int, _Frame] = {}
    shown = history.shown
    for i in (*range(shown, -1, -1), *range(shown + 1, n)):
        table = history.table(i).astype(np.float64)
        beside = frames_at.get(i + 1 if i < shown else i - 1)
        with one_thread():
            frames_at[i] = _frame(table, span, frames_at.get(shown), beside)
        if report is not None:
            report(len(frames_at) / n, f"{history.unit.capitalize()} {history.steps[i]:,}")
    pca = frames_at[shown].own
    frames = [frames_at[i] for i in range(n)]
    inside = slice(span[0], span[1] + 1)
    frozen = np.array([frame.frozen for frame in frames], np.float32)
    aligned = np.array([frame.aligned for frame in frames], np.float32)
    own_ratio = np.array([frame.own_ratio for frame in frames])
    frozen_ratio = np.array([frame.frozen_ratio for frame in frames])
    norms = np.array([frame.norms for frame in frames], np.float32)
    mean_norms = norms[:, inside].mean(axis=1, dtype=np.float64)
    for array in (frozen, aligned, own_ratio, frozen_ratio, norms, mean_norms):
        array.setflags(write=False)
    return Timelapse(
        history.steps, span, frozen, aligned, pca, own_ratio, frozen_ratio, norms, mean_norms
    )


@result
class _Frame:
    """Results of one snapshot."""

    own: PositionPCA
    frozen: Array
    aligned: Array
    own_ratio: Array
    frozen_ratio: float
    norms: Array


def _frame(
    table: Array, span: tuple[int, int], shown: _Frame | None, beside: _Frame | None
) -> _Frame:
    """Compute one snapshot.

    Parameters
    ----------
    shown
        That of the open model; None if it is this one.
    beside
        The neighbour on its side.
    """
    inside = slice(span[0], span[1] + 1)
    own = _leading(table, span)
    aligned = _padded(own.project(table))
    frozen = aligned if shown is None else _padded(shown.own.project(table))
    if beside is not None:
        onto = beside.aligned[inside]
        aligned = aligned @ procrustes_rotation(aligned[inside], onto).T
    total = _spread(table[inside])
    return _Frame(
        own,
        frozen,
        aligned,
        _padded(own.explained_variance_ratio[None])[0],
        min(_spread(frozen[inside]) / total, 1.0) if total > 0.0 else 0.0,
        row_norms(table),
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
