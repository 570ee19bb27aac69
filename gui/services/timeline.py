"""The timeline of the open model, from the answer to the training panel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gui.state.session import Session
from gui.state.timeline import TrainingTimeline
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.history.history import Steps

SLOT = "training"
"""Slot of the training panel."""


class TimelineFollower:
    """Keeps ``session.history``, ``session.timeline`` and ``session.snapshot`` consistent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        events = session.events
        self._listening = Listening()
        for signal, slot in (
            (events.answers, self._on_answers_changed),
            (events.basis, self._on_basis_changed),
        ):
            self._listening.to(signal, slot)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def _on_answers_changed(self) -> None:
        session, answer = self._session, self._session.answers.get(SLOT)
        if answer is None or answer.result is None:
            return
        training = answer.result
        before = session.timeline
        if before is not None and before.timelapse is training.timelapse:
            return
        snapshot = session.snapshot
        if before is not None and snapshot == before.n_snapshots - 1:
            snapshot = len(training.history.steps) - 1  # the last step stays the last one
        elif before is not None and snapshot is not None:
            # A new history may have other steps: the nearest one is shown.
            snapshot = nearest_step(training.history.steps, int(before.history.steps[snapshot]))
        elif snapshot is not None:  # from saved work, perhaps of another training
            snapshot = min(snapshot, len(training.history.steps) - 1)
        timeline = TrainingTimeline(training.history, training.timelapse, session.basis)
        session.change(history=training.history, timeline=timeline, snapshot=snapshot)

    def _on_basis_changed(self) -> None:
        timeline = self._session.timeline
        if timeline is not None:
            self._session.timeline = replace(timeline, basis=self._session.basis)


def nearest_step(steps: Steps, step: float) -> int:
    """Return the index of the nearest step on a logarithmic axis."""
    return int(np.abs(np.log1p(steps) - np.log1p(step)).argmin())
