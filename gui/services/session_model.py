"""The model of a session: it is opened, shown, fitted and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gui.services.fetching import Fetching
from gui.services.fitting import Fitter
from gui.services.jobs.jobs import Jobs
from gui.services.loading import Opened, OpenRequest
from gui.services.opening import Opening
from gui.services.origins import progress_shown, training_state
from gui.services.pair_measuring import Measuring, PairMeasuring
from gui.state.guides import NO_GUIDES
from gui.state.session import Session
from gui.state.turn import turn_onto
from gui.state.values import Fields
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.sources.source import Source

NO_FIELDS: Fields = MappingProxyType({})


@dataclass(frozen=True, eq=False, slots=True)
class LoadedModel:
    """A model with everything needed to show it again, and the request that opened it."""

    wanted: OpenRequest
    opened: Opened


class SessionModel:
    """Opens models for a session, and fits and measures the shown one.

    Parameters
    ----------
    session, jobs, fetching, on_opened, on_error
        As for :class:`gui.services.opening.Opening`; ``on_opened`` calls :meth:`show`.

    Attributes
    ----------
    opening
        Opens the models.
    listening
        What its owner listens to in the session.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        fetching: Fetching,
        on_opened: Callable[[OpenRequest, Opened], None],
        on_error: Callable[[Exception, str, Source | None], None],
    ) -> None:
        self.session = session
        self.opening = Opening(session, jobs, fetching, on_opened, on_error)
        self.listening = Listening()
        self._fitter = Fitter(session, jobs, lambda error, what: on_error(error, what, None))
        self._measuring = Measuring(session)
        self._pairs = PairMeasuring(session)

    def close(self) -> None:
        """Stop listening, fitting and measuring."""
        self.listening.stop()
        self._fitter.pause()
        self._fitter.close()
        self._measuring.close()
        self._pairs.close()

    @property
    def loaded(self) -> LoadedModel | None:
        """The shown model with everything needed to show it elsewhere; None without a model."""
        session, wanted, fast = self.session, self.opening.shown, self._fitter.fast
        model, curve, norms = session.model, session.curve, session.norms
        if wanted is None or fast is None or model is None or curve is None or norms is None:
            return None
        return LoadedModel(wanted, Opened(model, fast, curve, norms))

    def show(
        self,
        wanted: OpenRequest,
        opened: Opened,
        first: Fields = NO_FIELDS,
        more: Fields = NO_FIELDS,
        *,
        ahead: bool = True,
    ) -> None:
        """Show a model, whether it was opened here or elsewhere.

        Parameters
        ----------
        wanted, opened
            The request, and the loaded model. If that is a later step of the shown one's training,
            the view and the panels' results stay.
        first, more
            Further fields of the session that change with it; whether their events come before or
            after those of the model.
        ahead
            Whether to prepare fast fits now, which takes time and memory, and not on the first
            drag.
        """
        session, model = self.session, opened.model
        self.opening.take(wanted)
        self._fitter.pause()
        if wanted.later:
            self._show_later(opened, {**first, **more})
            return
        session.change(
            first_model=model,
            **first,
            # Drawn before the panels start.
            curve=opened.curve,
            hover=None,
            details=None,
            tokens=None,
            snapshot=None,
            timeline=None,
            history=None,
            gathered=None,
            guides=NO_GUIDES,
            selection=tuple(p for p in session.selection if p < model.n_positions),
            model=model,
            positions=opened.curve.pca.positions,
            turn=np.eye(3),
            norms=self._measuring.as_wanted(opened.norms, model),
            opening=None,
            transfer=None,
            status="Ready",
            training_state=training_state(progress_shown(model)),
            **more,
        )
        self._fitter.use(opened.fast, ahead=ahead)

    def _show_later(self, opened: Opened, more: Fields) -> None:
        """Show a later step of the model's training: the view and the results stay until then."""
        session, curve, before = self.session, opened.curve, self.session.curve
        turn = np.eye(3)
        if before is not None and before.components == curve.components:
            turn = turn_onto(curve, before, session.turn)
        session.change(
            curve=curve,
            model=opened.model,
            turn=turn,
            norms=self._measuring.as_wanted(opened.norms, opened.model),
            training_state=training_state(progress_shown(opened.model)),
            **more,
        )
        self._fitter.use(opened.fast, ahead=False, quietly=True)
