"""The position table at steps of a training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError, SourceError
from geometry.checkpoints.result import result
from geometry.pca.components import Array

Steps = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A checkpoint left out of the history.

    Attributes
    ----------
    step
        Of training.
    source
        Its source, as of :class:`geometry.history.origins.Snapshot`.
    why
        The reason, as a sentence.
    passing
        Whether it may succeed the next time.
    """

    step: int
    source: str
    why: str
    passing: bool = False


@result
class History:
    """A model's position table at steps of its training; safe for several threads at once.

    Attributes
    ----------
    name
        Of the model, for captions.
    source
        The file, the folder or the model's id.
    steps : (n,) int64
        Training steps, increasing, read-only.
    shape
        (n_positions, d_model) of each table.
    tokens : (n,) int64
        Tokens seen by each step; None if unknown.
    losses : (n,) float32
        Training losses in nats per token, NaN where unknown; None if all are unknown.
    decays : (n,) float64
        Factor by which weight decay alone has shrunk a parameter by each step, 1 at the beginning:
        the product of 1 − learning rate × weight decay over the steps before. None if unknown.
    unit
        What a step is: "step" of a training, or "layer" of a network.
    reference
        The snapshot of the open model; the last one if None.
    versions : (n,) int64
        What tells a table from another one of the same step; None if unknown.
    """

    name: str
    source: str
    steps: Steps
    shape: tuple[int, int]
    _read: Callable[[int], Floats] = field(repr=False)
    tokens: npt.NDArray[np.int64] | None = None
    losses: npt.NDArray[np.float32] | None = None
    decays: Array | None = None
    unit: Literal["step", "layer"] = "step"
    reference: int | None = None
    versions: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if not len(self.steps) or (self.steps[1:] <= self.steps[:-1]).any():
            raise SourceError(f"The steps of the history {self.source} are not increasing.")
        for values in (self.steps, self.tokens, self.losses, self.decays, self.versions):
            if values is not None:
                if values.shape != self.steps.shape:
                    raise SourceError(
                        f"The history {self.source} has {len(self.steps)} steps, but values of "
                        f"shape {values.shape}."
                    )
                values.setflags(write=False)

    @property
    def n_snapshots(self) -> int:
        """Number of snapshots."""
        return len(self.steps)

    @property
    def shown(self) -> int:
        """Index of the snapshot of the open model."""
        return self.n_snapshots - 1 if self.reference is None else self.reference

    @property
    def n_positions(self) -> int:
        """Rows of each table."""
        return self.shape[0]

    @property
    def d_model(self) -> int:
        """Columns of each table."""
        return self.shape[1]

    def table(self, snapshot: int) -> npt.NDArray[np.float32]:
        """Return one table.

        Parameters
        ----------
        snapshot
            0 to ``n_snapshots`` − 1; negative ones count from the end.

        Returns
        -------
        (n_positions, d_model) float32, read-only

        Raises
        ------
        RangeError
            There is no such snapshot.
        SourceError
            It can no longer be read, or holds numbers that are not finite.
        """
        index = snapshot + self.n_snapshots if snapshot < 0 else snapshot
        if not 0 <= index < self.n_snapshots:
            raise RangeError(f"snapshot {snapshot} of {self.n_snapshots} was asked for")
        table = self._read(index).astype(np.float32)
        if table.shape != self.shape or not np.isfinite(table).all():
            raise SourceError(
                f"The table at {self.unit} {self.steps[index]} of {self.source} is damaged.",
                f"Leave this {self.unit} out.",
            )
        table.setflags(write=False)
        return table

    def only(self, snapshots: Sequence[int]) -> History:
        """Return a history of some of the snapshots.

        Parameters
        ----------
        snapshots
            Indices from 0 to ``n_snapshots`` − 1, increasing, at least one.
        """
        chosen = np.asarray(snapshots, np.int64)

        def of(values: npt.NDArray[Any] | None) -> Any:
            return None if values is None else values[chosen]

        return replace(
            self,
            steps=self.steps[chosen],
            _read=lambda index: self._read(int(chosen[index])),
            tokens=of(self.tokens),
            losses=of(self.losses),
            decays=of(self.decays),
            versions=of(self.versions),
            reference=None if self.reference is None else int(np.abs(chosen - self.shown).argmin()),
        )

    def known_from(self, earlier: History | None) -> npt.NDArray[np.int64]:
        """Find the snapshots that an earlier history of the same training has as well.

        Parameters
        ----------
        earlier
            The same file, as it was read before; None for none.

        Returns
        -------
        (n,) int64
            The index there of each snapshot; −1 for those that are new, or have another table.
        """
        none = np.full(self.n_snapshots, -1, np.int64)
        if earlier is None or (earlier.source, earlier.shape) != (self.source, self.shape):
            return none
        if earlier.versions is None or self.versions is None:
            return none
        at = np.minimum(np.searchsorted(earlier.steps, self.steps), earlier.n_snapshots - 1)
        same = (earlier.steps[at] == self.steps) & (earlier.versions[at] == self.versions)
        return np.where(same, at, none)

    def last(self) -> npt.NDArray[np.float32]:
        """Return the last table."""
        return self.table(-1)


def in_memory(
    name: str, source: str, steps: Sequence[int], tables: Sequence[Floats], **more: Any
) -> History:
    """Create a history from tables in memory.

    Parameters
    ----------
    name, source, more
        As in :class:`History`.
    steps
        In any order.
    tables
        (n_positions, d_model) each, float16 or float32; kept as they are.

    Raises
    ------
    SourceError
        There are none, or their shapes differ.
    """
    order = np.argsort(np.asarray(steps, np.int64), kind="stable")
    kept = [tables[i] for i in order]
    shapes = {table.shape for table in kept}
    if len(shapes) != 1:
        raise SourceError(f"All tables of a history must have one shape, got {sorted(shapes)}.")
    return History(
        name, source, np.asarray(steps, np.int64)[order], shapes.pop(), kept.__getitem__, **more
    )
