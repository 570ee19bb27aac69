"""What the training panel asks: a model's history as moving curves, and what changes in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from geometry.checkpoints.errors import RangeError
from geometry.history.helices import Helices, grow_helices
from geometry.history.here import history_here
from geometry.history.history import History
from geometry.history.last_position import LastPosition, last_position
from geometry.history.timelapse import Timelapse, make_timelapse
from gui.services.questions import QuestionContext

LAPSE_SHARE = 0.3
"""Of the whole work, what comes before the helices; about, it matters to nobody."""


@dataclass(frozen=True, eq=False, slots=True)
class Training:
    """A history over a range of positions, ready to be played.

    Attributes
    ----------
    history
        What was read or gathered.
    timelapse
        Every snapshot's coordinates, norms and variance.
    riddle
        The last position's row.
    helices
        How much of a helix each snapshot is; NaN where that is not known yet, None where the range
        has no shape.
    no_helices
        Why not, as a sentence; "" if it has one.
    """

    history: History
    timelapse: Timelapse
    riddle: LastPosition
    helices: Helices | None
    no_helices: str = ""


@dataclass(frozen=True, slots=True)
class TrainingOf:
    """The training of the open model, over a range of positions.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    given
        Its history where that was gathered; None for the one that is here.
    """

    positions: tuple[int, int]
    given: History | None = field(default=None)

    def answer(self, about: QuestionContext) -> Training:
        """Return the :class:`Training`; reported before its helices are fitted."""
        history = self.given
        if history is None:
            about.tell(None, "Reading the history")
            history = about.once("history", lambda: history_here(about.model))

        def report(share: float, words: str) -> None:
            about.tell(LAPSE_SHARE * share, words)

        timelapse = make_timelapse(history, self.positions, report)
        found = Training(history, timelapse, last_position(history), None)
        try:
            for done, helices in enumerate(grow_helices(timelapse), start=1):
                found = Training(history, timelapse, found.riddle, helices)
                share = LAPSE_SHARE + (1 - LAPSE_SHARE) * done / history.n_snapshots
                about.tell(share, "Fitting helices", found)
        except RangeError as error:
            return Training(history, timelapse, found.riddle, None, str(error))
        return found
