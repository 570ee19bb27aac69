"""Numbers of the current position: of the open model, or of the shown step of its training."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from geometry.measures.neighbours import position_details
from gui.services.jobs.jobs import Job, Jobs
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.measures.neighbours import PositionDetails

log = logging.getLogger(__name__)

SLOT = "details"


class Describing:
    """Updates :attr:`Session.details`; of a step on a thread, as its table is read from a file."""

    def __init__(self, session: Session, jobs: Jobs) -> None:
        self._session, self._jobs = session, jobs
        self._listening = Listening()
        events = session.events
        for signal in (events.curve, events.selection, events.snapshot, events.timeline):
            self._listening.to(signal, self._describe)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        self._jobs.cancel(SLOT)

    def _describe(self) -> None:
        session, timeline = self._session, self._session.shown_timeline
        model, pca, current = session.model, session.pca, session.current
        self._jobs.cancel(SLOT)
        if model is None or pca is None or current is None:
            session.details = None
        elif timeline is None or session.snapshot is None:
            session.details = position_details(model.W_pos, pca, current, session.components)
        else:
            session.details = None
            describe = partial(
                timeline.details, session.snapshot, current, session.shown_components
            )
            self._jobs.start(SLOT, Job(describe, self._show, self._fail, counted=False))

    def _show(self, details: PositionDetails) -> None:
        self._session.details = details

    def _fail(self, error: Exception) -> None:
        log.error("The step's table could not be read", exc_info=error)
