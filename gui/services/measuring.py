"""Norms and steps of the open model's rows, for the norms panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geometry.measures.norms import NormProfile, norm_profile
from gui.services.jobs.jobs import Jobs, OnError
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

JOB = "lengths"
MISHAP = "The steps between positions could not be measured"


class Measuring:
    """Updates ``session.norms`` and ``session.lengths`` for the settings of the norms panel.

    Parameters
    ----------
    session, jobs
        The session it reads and writes; runs the work.
    on_error
        Called with an error and a description of what failed.
    """

    def __init__(self, session: Session, jobs: Jobs, on_error: OnError) -> None:
        self._session, self._jobs, self._on_error = session, jobs, on_error
        events = session.events
        self._listening = Listening()
        for signal, slot in (
            (events.norms_centred, self._on_centred_changed),
            (events.norms_after, self._on_after_changed),
            (events.norms_quantity, self._measure_steps),
            (events.model, self._on_model_changed),
        ):
            self._listening.to(signal, slot)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()

    def as_wanted(self, norms: NormProfile, model: PositionalModel) -> NormProfile:
        """Return a model's norms with the current settings, which may have changed meanwhile."""
        session = self._session
        if norms.centred != session.norms_centred:
            return norm_profile(
                model.W_pos, after=session.norms_after, centred=session.norms_centred
            )
        if norms.after != session.norms_after:
            return norms.measured_from(session.norms_after)
        return norms

    def _on_centred_changed(self) -> None:
        if self._session.model is not None and self._session.norms is not None:
            self._session.norms = self.as_wanted(self._session.norms, self._session.model)

    _on_after_changed = _on_centred_changed

    def _on_model_changed(self) -> None:
        self._jobs.cancel(JOB)
        self._session.lengths = None
        self._measure_steps()

    def _measure_steps(self) -> None:
        """Measure the steps, if they are needed and not known."""
        session, model = self._session, self._session.model
        if session.norms_quantity != "step" or session.lengths is not None or model is None:
            return
        from geometry.measures.row_lengths import row_lengths

        self._jobs.start(
            JOB,
            lambda: row_lengths(model.W_pos),
            lambda lengths: setattr(session, "lengths", lengths),
            lambda error: self._on_error(error, MISHAP),
        )
