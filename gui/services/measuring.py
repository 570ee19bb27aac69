"""Norms of the open model's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geometry.measures.norms import NormProfile, norm_profile
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


class Measuring:
    """Keeps ``session.norms`` true to what is wanted of the open model."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._listening = Listening()
        for signal in (session.events.norms_centred, session.events.norms_after):
            self._listening.to(signal, self._measure)

    def close(self) -> None:
        """Stop answering."""
        self._listening.stop()

    def as_wanted(self, norms: NormProfile, model: PositionalModel) -> NormProfile:
        """Return a model's norms as they are wanted now, which may have changed meanwhile."""
        after, centred = self._session.norms_after, self._session.norms_centred
        if norms.centred != centred:
            return norm_profile(model.W_pos, after=after, centred=centred)
        return norms if norms.after == after else norms.measured_from(after)

    def _measure(self) -> None:
        session = self._session
        if session.model is not None and session.norms is not None:
            session.norms = self.as_wanted(session.norms, session.model)
