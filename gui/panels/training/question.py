"""The question of the training panel: a model's history as moving curves."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from geometry.checkpoints.errors import FileChanged, HelixscopeError, RangeError
from geometry.history.helices import Helices, grow_helices
from geometry.history.here import history_here, of_one_version
from geometry.history.history import History
from geometry.history.last_position import LastPosition, last_position
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
    # The fitted helix of each snapshot; NaN for pending ones, None if the range has no shape
    helices: Helices | None
    no_helices: str = ""  # The reason, as a sentence; else ""
    layers: LayerTables | None = None  # Measurements of the layers' positions; None for a training
    described: Description | None = None  # Further measurements of them; None if they are missing


def _described(layers: LayerTables) -> Description | None:
    """Return a run's description; None if it cannot be read, as positions do not need it."""
    try:
        return read_description(layers.file.path.parent, layers.shape[0])
    except HelixscopeError as error:
        log.warning("no description of the layers: %s", error)
        return None


@dataclass(frozen=True, slots=True)
class TrainingOf:
    """The training of the open model over a range: the given history, or that on this machine."""

    positions: tuple[int, int]
    given: History | None = None

    def steps(self, context: QuestionContext) -> Iterator[Progress | Training]:
        """Yield the :class:`Training`; first without its helices, then as they are fitted."""
        if self.given is None:
            yield Progress(None, "Reading the history")

        def report(share: float, words: str) -> None:
            context.report(LAPSE_SHARE * share, words)

        def report_directions(share: float, words: str) -> None:
            context.report(LAPSE_SHARE + (SPARSE_SHARE - LAPSE_SHARE) * share, words)

        def measure(history: History) -> Training:
            try:
                timelapse = make_timelapse(history, self.positions, report)
                riddle = last_position(history) if history.unit == "step" else None
                # Cached, as it does not depend on the range.
                sparse = context.cache(
                    ("sparse directions", history),
                    lambda: sparse_directions(history, report_directions),
                )
                store = context.model.store
                layers = store.tables if isinstance(store, LayerStore) else None
                described = None
                if layers is not None:
                    described = context.cache("description", lambda: _described(layers))
                return Training(
                    history, timelapse, riddle, sparse, None, layers=layers, described=described
                )
            except FileChanged:
                context.cache.forget("history", history)
                raise

        def read() -> History:
            return context.cache("history", lambda: history_here(context.model))

        training = of_one_version(read, measure, self.given)
        history = training.history
        try:
            for done, helices in enumerate(grow_helices(training.timelapse), start=1):
                training = replace(training, helices=helices)
                share = SPARSE_SHARE + (1 - SPARSE_SHARE) * done / history.n_snapshots
                yield Progress(share, "Fitting helices", training)
        except RangeError as error:
            training = replace(training, helices=None, no_helices=str(error))
        yield training
