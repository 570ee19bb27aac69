"""Search for and download of the checkpoints of the open model's training."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from geometry.checkpoints.transfer import Transfer
from geometry.hub.faults import WholeDownload
from geometry.models.sources.source import Source
from gui.services.fetching import Fetch, Fetching
from gui.services.jobs.jobs import Job, Jobs
from gui.services.loading import OpenRequest
from gui.services.notices import ONLINE, notice_of
from gui.state.checkpoint_download import DownloadState
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.history.gathering import Gathered, Gathering
    from geometry.history.history import History, Skipped
    from geometry.history.origins import Origin, Snapshot
    from geometry.history.plan import HistoryPlan
    from geometry.hub.network import Network
    from geometry.models.model import PositionalModel

log = logging.getLogger(__name__)

LIST, GATHER, SO_FAR = "history list", "history", "history so far"
"""Slots of the jobs."""


@dataclass(frozen=True, slots=True)
class _Listed:
    origin: Origin | None
    snapshots: tuple[Snapshot, ...]


class CheckpointDownload:
    """Searches for checkpoints, and gathers a selection of them into ``session.gathered``."""

    def __init__(self, session: Session, jobs: Jobs, fetching: Fetching) -> None:
        self._session, self._jobs, self._fetching = session, jobs, fetching
        self._listed = _Listed(None, ())
        self._gathering: Gathering | None = None
        self._whole = False
        self._listening = Listening()
        self._listening.to(session.events.model, self._forget)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        for slot in (LIST, GATHER, SO_FAR):
            self._jobs.cancel(slot)

    def look(self) -> None:
        """Search for checkpoints; for a model on the Hub, in one request.

        Offline, only cached ones are found.
        """
        session, fetching = self._session, self._fetching
        model, state = session.model, session.gathering
        if model is None or (state is not None and state.stage == "gathering"):
            return

        def work(transfer: Transfer) -> _Listed:
            return _list(model, lambda: fetching.network(transfer, OpenRequest(model.source)))

        fetch = Fetch(work)
        self._jobs.start(
            LIST,
            Job(
                fetch,
                self._on_listed,
                lambda error: self._fail(error, "The checkpoints could not be listed"),
                lambda: setattr(session, "gathering", DownloadState("looking")),
                on_progress=lambda _: None,  # it is a single request
                stop=fetch.stop,
            ),
        )

    def choose(self, count: int) -> None:
        """Plan to gather this many checkpoints."""
        state = self._session.gathering
        if state is not None and state.stage == "listed" and state.plan is not None:
            # Earlier errors and questions concerned another selection.
            self._session.gathering = DownloadState(
                "listed", self._plan(count), skipped=state.skipped
            )

    def gather(self, count: int, *, whole: bool = False) -> None:
        """Gather checkpoints.

        The checkpoints that have arrived become the session's history, even after an error;
        another call gathers the rest.

        Parameters
        ----------
        count
            Number of checkpoints, at log-spaced steps.
        whole
            Whether the user agreed to the download of whole files.
        """
        session, state = self._session, self._session.gathering
        if state is None or state.plan is None or state.stage != "listed":
            return
        self._jobs.cancel(SO_FAR)
        plan = self._plan(count)
        gathering = self._take_up(plan, whole)
        session.gathering = DownloadState("gathering", plan)

        def on_progress(progress: Gathered) -> None:
            session.gathering = DownloadState("gathering", plan, progress)

        transfer = Transfer()
        self._jobs.start(
            GATHER,
            Job(
                lambda report: gathering.run(transfer, report),
                lambda history: self._end(history=history),
                lambda error: self._fail(error, "The checkpoints could not be loaded"),
                on_progress=on_progress,
                stop=transfer.cancel,
            ),
        )

    def cancel(self) -> bool:
        """Cancel searching or gathering; checkpoints that have arrived are kept.

        Returns False if there is nothing to cancel.
        """
        state = self._session.gathering
        if state is None or state.stage == "listed":
            return False
        self._jobs.cancel(LIST)
        self._jobs.cancel(GATHER)
        if state.stage == "looking":
            self._session.gathering = None
        else:
            self._end()
        return True

    # ---- results -------------------------------------------------------------------------

    def _forget(self) -> None:
        """Discard the state, as it belongs to another model."""
        for slot in (LIST, GATHER, SO_FAR):
            self._jobs.cancel(slot)
        self._listed, self._gathering, self._whole = _Listed(None, ()), None, False
        self._session.gathering = None

    def _on_listed(self, listed: _Listed) -> None:
        from geometry.history.plan import DEFAULT_COUNT

        self._listed = listed
        if listed.snapshots:
            self._session.gathering = DownloadState("listed", self._plan(DEFAULT_COUNT))
            return
        why, advice = _nothing(listed.origin, self._session)
        self._session.gathering = DownloadState("listed", why=why, advice=advice)

    def _plan(self, count: int) -> HistoryPlan:
        from geometry.history.plan import plan_history

        assert self._listed.origin is not None
        return plan_history(self._listed.origin, self._listed.snapshots, max(1, count))

    def _take_up(self, plan: HistoryPlan, whole: bool) -> Gathering:
        """Resume an interrupted gathering of the same plan, or begin a new one."""
        from geometry.history.gathering import Gathering as Begun

        before = self._gathering
        same = before is not None and _steps(before.plan) == _steps(plan)
        # Consent holds for these checkpoints only.
        whole = whole or (same and self._whole)
        if before is None or not same or whole != self._whole:
            network = None
            if plan.origin.kind == "hub":
                wanted = OpenRequest(Source.parse(plan.origin.source), whole=whole)
                network = self._fetching.network(Transfer(), wanted)
            before = Begun(plan, network)
        self._gathering, self._whole = before, whole
        return before

    def _end(
        self, *, history: History | None = None, why: str = "", advice: str = "", whole: int = 0
    ) -> None:
        """Show the checkpoints that have arrived, and the missing ones."""
        gathering = self._gathering
        assert gathering is not None
        skipped, lacking = gathering.skipped, _steps_of(gathering.missing)
        # Skipped checkpoints are tried again each time, perhaps with new downloads.
        arrived = _steps(gathering.plan) - lacking - _steps_of(skipped)
        self._listed = replace(
            self._listed,
            snapshots=tuple(
                replace(snapshot, here=True) if snapshot.step in arrived else snapshot
                for snapshot in self._listed.snapshots
            ),
        )
        plan = self._plan(len(gathering.plan.snapshots))
        state = DownloadState("listed", plan, None, skipped, why, advice, whole)
        if history is not None:
            self._session.change(history=history, gathered=history, gathering=state)
            self._session.status = _gathered(history.n_snapshots, len(skipped))
            return
        self._session.gathering = state
        self._jobs.start(
            SO_FAR,
            Job(
                lambda: gathering.history,
                self._show_so_far,
                lambda error: log.error("The loaded checkpoints cannot be shown", exc_info=error),
            ),
        )

    def _show_so_far(self, history: History | None) -> None:
        """Show the checkpoints that have arrived, unless an earlier history has more."""
        shown = self._session.history
        if history is not None and (shown is None or shown.n_snapshots < history.n_snapshots):
            self._session.change(history=history, gathered=history)

    def _fail(self, error: Exception, what: str) -> None:
        log.error("%s", what, exc_info=error)
        notice = notice_of(error, what)
        whole = 0
        state = self._session.gathering
        if state is None or state.stage != "gathering":
            self._session.gathering = DownloadState("listed", why=notice.text, advice=notice.advice)
            return
        if isinstance(error, WholeDownload):
            assert self._gathering is not None
            whole = -1 if error.nbytes is None else error.nbytes * len(self._gathering.missing)
        self._end(why=notice.text, advice=notice.advice * (not whole), whole=whole)


def _list(model: PositionalModel, network: Callable[[], Network]) -> _Listed:
    """Find a model's checkpoints; uses the network only for a model on the Hub."""
    from geometry.history.origins import find_history, list_snapshots

    origin = find_history(model)
    if origin is None or origin.kind not in ("folder", "hub"):
        return _Listed(origin, ())
    return _Listed(origin, list_snapshots(origin, network() if origin.kind == "hub" else None))


def _nothing(origin: Origin | None, session: Session) -> tuple[str, str]:
    """Explain that there are no checkpoints, with advice."""
    if origin is None or origin.kind != "hub":
        return "This model comes without checkpoints of its training.", ""
    if session.offline:
        return (
            "No checkpoints of this model are on this machine, and Helixscope is offline.",
            ONLINE,
        )
    return (
        f"{origin.source} has no checkpoints on the Hub: no branch or tag such as checkpoint-1000.",
        "",
    )


def _gathered(count: int, skipped: int) -> str:
    """Describe the result of a gathering."""
    text = f"Loaded {count} checkpoint{'' if count == 1 else 's'}"
    return f"{text}; {skipped} left out" if skipped else text


def _steps(plan: HistoryPlan) -> frozenset[int]:
    return _steps_of(plan.snapshots)


def _steps_of(checkpoints: tuple[Snapshot, ...] | tuple[Skipped, ...]) -> frozenset[int]:
    return frozenset(checkpoint.step for checkpoint in checkpoints)
