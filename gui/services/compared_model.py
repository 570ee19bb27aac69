"""A compared model: its session, and the services for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gui.services.fetching import Fetching
from gui.services.fitting import Fitter
from gui.services.jobs.jobs import Jobs, SlottedJobs
from gui.services.loading import Opened, OpenRequest, short_name
from gui.services.opening import Opening
from gui.services.pair_measuring import Measuring, PairMeasuring
from gui.state.session import ComparedModel, Session

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


@dataclass(frozen=True, eq=False, slots=True)
class OpenModel:
    """A model with everything needed to show it again, and the request that opened it."""

    wanted: OpenRequest
    opened: Opened

    @classmethod
    def of(cls, session: Session, opening: Opening, fitter: Fitter) -> OpenModel | None:
        """Create from a session; None if it shows no model."""
        wanted, fast = opening.shown, fitter.fast
        model, curve, norms = session.model, session.curve, session.norms
        if wanted is None or fast is None or model is None or curve is None or norms is None:
            return None
        return cls(wanted, Opened(model, fast, curve, norms))


class ComparedKeeper:
    """Loads a compared model, and fits and measures it for its session.

    Parameters
    ----------
    key, source, in_grid
        As in :class:`gui.state.session.ComparedModel`.
    jobs, fetching, opener
        As for :class:`gui.services.opening.Opening`; the slots are its own.
    on_shown
        Called with the key when its model is shown or replaced, and whether it was loaded for this.
    on_error
        Called with the key, an error, and a description of what failed.
    """

    def __init__(
        self,
        key: int,
        source: str,
        jobs: Jobs,
        fetching: Fetching,
        on_shown: Callable[[int, bool], None],
        on_error: Callable[[int, Exception, str], None],
        opener: Callable[..., PositionalModel] | None = None,
        *,
        in_grid: bool = True,
    ) -> None:
        self.session = session = Session()
        self.compared = ComparedModel(key, source, short_name(source), session, in_grid)
        self._on_shown = on_shown
        self._jobs = SlottedJobs(jobs, f"view {key}")

        def fail(error: Exception, what: str, source: str = "") -> None:
            on_error(key, error, what)

        self.opening = Opening(session, self._jobs, fetching, self.show, fail, opener)
        self._fitter = Fitter(session, self._jobs, fail)
        self._measuring = Measuring(session)
        self._pairs = PairMeasuring(session)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._jobs.cancel_all()
        self._fitter.close()
        self._measuring.close()
        self._pairs.close()

    @property
    def open_model(self) -> OpenModel | None:
        """The model with everything needed to show it elsewhere; None while it is loading."""
        return OpenModel.of(self.session, self.opening, self._fitter)

    def take(self, open_model: OpenModel) -> None:
        """Replace the shown model by another."""
        self.opening.cancel()
        self.show(open_model.wanted, open_model.opened, read=False)

    def show(self, wanted: OpenRequest, opened: Opened, *, read: bool = True) -> None:
        """Show a model; ``read`` means loaded for this view, not taken from another."""
        session, model = self.session, opened.model
        self.opening.take(wanted)
        self._fitter.pause()
        session.change(
            curve=opened.curve,
            hover=None,
            selection=(),
            components=opened.curve.components,
            model=model,
            positions=opened.curve.pca.positions,
            turn=np.eye(3),
            norms=self._measuring.as_wanted(opened.norms, model),
            opening="",
            transfer=None,
            status="Ready",
        )
        self.compared = replace(self.compared, source=wanted.source, name=model.name, failed="")
        # Preparing fast fits takes time and memory, so it waits for the first drag.
        self._fitter.use(opened.fast, ahead=False)
        self._on_shown(self.compared.key, read)
