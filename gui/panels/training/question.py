"""The question of the training panel: a model's history as moving curves."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from geometry.checkpoints.errors import FileChanged, HelixscopeError, RangeError
from geometry.history.helices import Helices, grow_helices, snapshots_apart
from geometry.history.here import history_here, of_one_version
from geometry.history.history import History
from geometry.history.last_position import LastPosition, Rows, last_position, last_rows
from geometry.history.sparse_directions import SparseDirections, sparse_directions
from geometry.history.timelapse import Timelapse, make_timelapse
from geometry.inside.record import Description, read_description
from geometry.models.sources.layer_tables import LayerStore, LayerTables
from gui.services.questions import Progress, QuestionContext

log = logging.getLogger(__name__)

LAPSE_SHARE, SPARSE_SHARE = 0.15, 0.3
"""Approximate shares of the work before the directions, and before the helices."""


@dataclass(frozen=True, eq=False, slots=True)
class Training:
    """A history over a range of positions."""

    history: History  # The history, read or downloaded
    timelapse: Timelapse  # Every snapshot's coordinates, norms and variance
    riddle: LastPosition | None  # Measures of the last position's row; None for layers
    sparse: SparseDirections  # Sparsity of the directions of the whole table
    # The fitted helix of each snapshot, where there are many of some; NaN for the others, None if
    # the range has no shape
    helices: Helices | None
    no_helices: str = ""  # The reason, as a sentence; else ""
    layers: LayerTables | None = None  # Measurements of the layers' positions; None for a training
    described: Description | None = None  # Further measurements of them; None if they are missing
    rows: Rows | None = None  # The last positions' rows at each snapshot; None for layers


def _described(layers: LayerTables) -> Description | None:
    """Return a run's description; None if it cannot be read, as positions do not need it."""
    try:
        return read_description(layers.file.path.parent, layers.shape[0])
    except HelixscopeError as error:
        log.warning("no description of the layers: %s", error)
        return None


def _known_helices(
    history: History, timelapse: Timelapse, before: Training | None
) -> Helices | None:
    """Return the helices that were fitted before a training went on; None if there are none."""
    if before is None or before.helices is None:
        return None
    if before.timelapse.positions != timelapse.positions:
        return None
    return before.helices.taken(history.known_from(before.history))


@dataclass(frozen=True, slots=True)
class TrainingOf:
    """The training of the open model over a range: the given history, or that on this machine.

    While the training goes on, only its new snapshots are measured.
    """

    positions: tuple[int, int]
    given: History | None = None
    resumes: ClassVar[bool] = True  # Partial answers are kept for a later step of the training

    def steps(self, context: QuestionContext) -> Iterator[Progress | Training]:
        """Yield the :class:`Training`; first without its helices, then as they are fitted."""
        if self.given is None:
            yield Progress(None, "Reading the history")

        def report(share: float, words: str) -> None:
            context.report(LAPSE_SHARE * share, words)

        def report_directions(share: float, words: str) -> None:
            context.report(LAPSE_SHARE + (SPARSE_SHARE - LAPSE_SHARE) * share, words)

        def measure(history: History) -> Training:
            before: Training | None = context.cache.lasting.get("training")
            known_lapse = known_rows = known_sparse = riddle = rows = None
            if before is not None:
                known_lapse = before.history, before.timelapse
                known_sparse = before.history, before.sparse
                known_rows = None if before.rows is None else (before.history, before.rows)
            try:
                timelapse = make_timelapse(history, self.positions, report, known_lapse)
                if history.unit == "step":
                    rows = last_rows(history, known_rows)
                    riddle = last_position(history, rows)
                # Cached, as it does not depend on the range.
                sparse = context.cache(
                    ("sparse directions", history),
                    lambda: sparse_directions(history, report_directions, known_sparse),
                )
                store = context.model.store
                layers = store.tables if isinstance(store, LayerStore) else None
                described = None
                if layers is not None:
                    described = context.cache("description", lambda: _described(layers))
                return Training(
                    history,
                    timelapse,
                    riddle,
                    sparse,
                    _known_helices(history, timelapse, before),
                    layers=layers,
                    described=described,
                    rows=rows,
                )
            except FileChanged:
                context.cache.forget("history", history)
                raise

        def keep(training: Training) -> None:
            if training.history.versions is not None:  # the training may go on
                context.cache.lasting["training"] = training

        def read() -> History:
            return context.cache("history", lambda: history_here(context.model))

        training = of_one_version(read, measure, self.given)
        history = training.history
        try:
            wanted = snapshots_apart(history.steps)
            growing = grow_helices(training.timelapse, training.helices, wanted)
            for done, helices in enumerate(growing, start=1):
                training = replace(training, helices=helices)
                keep(training)
                share = SPARSE_SHARE + (1 - SPARSE_SHARE) * min(done / len(wanted), 1)
                yield Progress(share, "Fitting helices", training)
        except RangeError as error:
            training = replace(training, helices=None, no_helices=str(error))
            keep(training)
        yield training
