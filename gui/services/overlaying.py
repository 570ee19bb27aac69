"""Other models in the norms panel."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from geometry.checkpoints.transfer import Transfer
from gui.services.fetching import Fetch, Fetching
from gui.services.jobs.jobs import Jobs
from gui.services.loading import Wanted, open_from, remembered_name, short_name
from gui.services.notices import notice_beside
from gui.state.session import Overlay, Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.hub.network import Network
    from geometry.measures.row_lengths import RowLengths
    from geometry.models.model import PositionalModel

log = logging.getLogger(__name__)

COLORS = 8
"""Maximum number of other models, each with its own colour."""


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """Measurements of an overlay's model, whose table is not kept."""

    name: str
    lengths: RowLengths


def measure(
    source: str,
    network: Callable[[], Network],
    opener: Callable[..., PositionalModel] | None = None,
) -> Measured:
    """Open a source, as :func:`gui.services.loading.open_from` does, and measure its rows."""
    from geometry.measures.row_lengths import row_lengths

    model = open_from(source, network, opener)
    return Measured(model.name, row_lengths(model.W_pos))


class Overlaying:
    """Maintains ``session.overlays``: each is loaded in the background.

    Parameters
    ----------
    session, jobs, fetching
        The session it reads and writes; runs the work; access to the Hub.
    opener
        Opens a source; ``geometry.models.sources.open_source`` except in tests.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        fetching: Fetching,
        opener: Callable[..., PositionalModel] | None = None,
    ) -> None:
        self._session, self._jobs, self._fetching = session, jobs, fetching
        self._opener = opener
        self._listening = Listening()
        self._listening.to(session.events.model, self._drop_the_open_one)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        for overlay in self._session.overlays:
            self._jobs.cancel(_job(overlay.source))

    def add(self, source: str) -> None:
        """Add a model; does nothing for a duplicate or beyond the maximum.

        If it cannot be opened, a notice gives the reason. Whole files are not downloaded.
        """
        session = self._session
        others = len(session.overlays) + len(session.compared)
        if others >= COLORS or self._find(source) is not None:
            return
        taken = {*session.compared_colors.values(), *(o.color for o in session.overlays)}
        color = next(number for number in range(COLORS) if number not in taken)
        session.overlays = (
            *session.overlays,
            Overlay(source, short_name(source), None, shown=True, color=color),
        )
        network = self._fetching.network

        def work(transfer: Transfer) -> Measured:
            return measure(source, lambda: network(transfer, Wanted(source)), self._opener)

        fetch = Fetch(work)
        self._jobs.start(
            _job(source),
            fetch,
            lambda measured: self._on_measured(source, measured),
            lambda error: self._on_failed(source, error),
            on_progress=lambda _: None,  # only position tables are read: too short for a bar
            stop=fetch.stop,
        )

    def remove(self, source: str) -> None:
        """Remove an overlay; cancels its loading."""
        self._jobs.cancel(_job(source))
        self._session.overlays = tuple(o for o in self._session.overlays if o.source != source)

    def show(self, source: str, shown: bool) -> None:
        """Show or hide an overlay's curve."""
        self._change(source, lambda overlay: replace(overlay, shown=shown))

    def _find(self, source: str) -> Overlay | None:
        return next((o for o in self._session.overlays if o.source == source), None)

    def _change(self, source: str, change: Callable[[Overlay], Overlay]) -> None:
        self._session.overlays = tuple(
            change(overlay) if overlay.source == source else overlay
            for overlay in self._session.overlays
        )

    def _on_measured(self, source: str, measured: Measured) -> None:
        self._change(
            source, lambda overlay: replace(overlay, name=measured.name, lengths=measured.lengths)
        )

    def _on_failed(self, source: str, error: Exception) -> None:
        what = f"{short_name(source)} could not be laid over the open model"
        log.error("%s", what, exc_info=error)
        self.remove(source)
        self._session.notice = notice_beside(error, what)

    def _drop_the_open_one(self) -> None:
        """Remove the open model from the overlays."""
        model, overlays = self._session.model, self._session.overlays
        if model is None or not overlays:
            return
        opened = remembered_name(model.source)
        for overlay in overlays:
            if remembered_name(overlay.source) == opened:
                self.remove(overlay.source)


def _job(source: str) -> str:
    return f"overlay {source}"
