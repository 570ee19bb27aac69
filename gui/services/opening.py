"""Opening models: a new request replaces the last, and the open model stays until it succeeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import NoStepYet
from gui.services.fetching import Fetch, Fetching
from gui.services.jobs.jobs import Job, Jobs, T
from gui.services.loading import (
    InitialView,
    Opened,
    OpenRequest,
    first_source,
    has_versions,
    load,
)
from gui.services.work_files.projects import is_work
from gui.state.session import Session
from gui.state.values import Notice
from gui.style.sentences import SHORT_COMMIT

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.models.sources.source import Source


class Opening:
    """Opens sources, with progress in the session; superseded downloads are cancelled.

    Parameters
    ----------
    on_opened
        Called with the request and the loaded model.
    on_error
        Called with an error, a description of what failed, and the source.

    Attributes
    ----------
    shown
        The request behind the shown model.
    wanted
        The last request, whether it is in progress, failed, or shown; None if there is none.
    waiting
        The request of a training that has no step yet; None if there is none.
    may_open
        Called before a source is opened, with its name or that of its project, and with a function
        that opens it; returns False if the shown model stays, perhaps until that function is
        called.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        fetching: Fetching,
        on_opened: Callable[[OpenRequest, Opened], None],
        on_error: Callable[[Exception, str, Source | None], None],
    ) -> None:
        self._session, self._jobs, self._fetching = session, jobs, fetching
        self._on_opened, self._on_error = on_opened, on_error
        self.may_open: Callable[[str, Callable[[], None]], bool] = lambda *_: True
        self.shown: OpenRequest | None = None
        self.failed: OpenRequest | None = None
        self.wanted: OpenRequest | None = None
        self.waiting: OpenRequest | None = None
        self._looking = False  # Whether a step of that is being looked for
        self._following = False  # Whether a later step is being opened
        self._progress: TransferProgress | None = None
        self._notice: Notice | None = None  # As the last opening began

    def open(
        self, wanted: OpenRequest, *, instead: Source | None = None, project: str = ""
    ) -> None:
        """Open a source, perhaps that of a project, by the name of its file.

        If that fails, ``instead`` is opened; the failure is still reported.
        """
        # A model that is opened again replaces nothing.
        begin = partial(self._begin, wanted, instead)
        if wanted.again or self.may_open(project or wanted.source.full_name, begin):
            begin()

    def _begin(self, wanted: OpenRequest, instead: Source | None) -> None:
        self._jobs.cancel("first")
        self._stop_waiting()
        self._notice = self._session.notice
        self._start(wanted, instead)

    def clear_notice(self) -> None:
        """Remove the notice from before the last opening.

        Called once the opening takes long or has succeeded, since each change of the notice
        triggers a new layout of the view.
        """
        if self._session.notice is self._notice:
            self._session.notice = None

    def read_first(
        self, source: Source, read: Callable[[], T], on_read: Callable[[T], None], what: str
    ) -> None:
        """Read on a thread what is needed before a source is opened, such as a project.

        Another opening replaces it. ``what`` describes a failure.
        """
        session = self._session

        def deliver(result: T) -> None:
            session.change(opening=None)
            on_read(result)

        def fail(error: Exception) -> None:
            session.change(opening=None)
            self._on_error(error, what, None)

        self._jobs.start(
            "first",
            Job(
                read,
                deliver,
                fail,
                lambda: session.change(opening=source, status=f"Opening {source.name}…"),
                stop=lambda: None,
            ),
        )

    def open_first(
        self, last: str, positions: tuple[int, int] | None, open_work: Callable[[Source], None]
    ) -> None:
        """Open the last source, or else the best local model; ``open_work`` opens a project."""

        def on_result(sources: tuple[Source | None, Source | None]) -> None:
            source, instead = sources
            if source is not None and is_work(source.text):
                open_work(source)
            elif source is not None:
                self.open(OpenRequest(source, None, positions, if_there=True), instead=instead)

        self._jobs.start(
            "first",
            Job(
                lambda: first_source(last),
                on_result,
                lambda error: self._on_error(error, "The list of models could not be read", None),
                stop=lambda: None,
            ),
        )

    def take(self, wanted: OpenRequest) -> None:
        """Record the request of the shown model, whether it was opened here or elsewhere."""
        self.shown = self.wanted = replace(
            wanted,
            whole=False,
            fresh=False,
            again=False,
            clip=False,
            later=False,
            if_there=False,
            unasked=(),
        )

    def retry(self, *, whole: bool = False, table: str | None = None) -> None:
        """Retry the last failed opening at the user's request, which allows looking models up.

        ``whole`` agrees to a whole download; ``table`` is the chosen table.
        """
        failed = self.failed
        if failed is not None:
            there = failed.if_there and table is None
            whole, table = whole or failed.whole, table or failed.table
            again = replace(failed, whole=whole, table=table, if_there=there, unasked=())
            self.open(again)

    def forget_table(self) -> None:
        """Open the shown source with its default table."""
        if self.shown is not None:
            self.open(replace(self.shown, table=None, positions=None))

    def open_again(self) -> None:
        """Open the shown source again, because its files have changed; the range is kept."""
        if self.shown is not None:
            self.open(replace(self.shown, positions=self._session.positions, again=True, clip=True))

    def follow(self, on_error: Callable[[Exception], None]) -> None:
        """Open a later step of the shown model's training, in the background.

        Nothing changes if this fails, or if something else is shown by then; nor while one is being
        opened already.
        """
        session, shown, model = self._session, self.shown, self._session.model
        if shown is None or model is None or session.dragging or self._following:
            return
        self._following = True
        view = session.positions, session.components
        wanted = replace(shown, positions=session.positions, clip=True, later=True)

        def fail(error: Exception) -> None:
            self._following = False
            on_error(error)

        def show(opened: Opened) -> None:
            self._following = False
            same_view = view == (session.positions, session.components)
            if session.model is model and same_view and not session.dragging:
                same_shape = opened.model.stored_W_pos.shape == model.stored_W_pos.shape
                request = wanted if same_shape else replace(wanted, later=False, again=True)
                self._on_opened(replace(request, table=opened.table), opened)

        fetch = self._fetch(wanted)
        self._jobs.start(
            "follow", Job(fetch, show, fail, on_progress=self._on_progress, stop=fetch.stop)
        )

    def look_for_first_step(self) -> None:
        """Try again to open a training that had no step, unless that is in progress."""
        wanted = self.waiting
        if wanted is None or self._looking:
            return
        self._looking = True
        self._start_job(wanted, lambda error: self._fail(error, wanted, None), counted=False)

    def cancel(self) -> None:
        """Cancel the opening; the open model stays."""
        self._stop_waiting()
        for slot in ("first", "open"):
            self._jobs.cancel(slot)
        self._session.change(opening=None, transfer=None, status="Opening cancelled")

    def switch_side(self) -> None:
        """Open the other table of a model that has two, the decoder's or the encoder's."""
        model = self._session.model
        if model is not None and model.sides:
            other = next(side for side in model.sides if side != model.side)
            self.open(OpenRequest(model.source, other))

    def check_for_update(self) -> None:
        """Ask the Hub for the open model's current commit, and open it if it has changed."""
        session, shown = self._session, self.shown
        if session.model is None or shown is None or not has_versions(session.model):
            return
        if session.offline:
            session.notice = Notice(
                "Cannot check for a newer version: Helixscope is offline.",
                "Turn off “Work offline” in the File menu and check again.",
            )
            return
        self.open(replace(shown, positions=session.positions, fresh=True))

    def _start(self, wanted: OpenRequest, instead: Source | None = None) -> None:
        session = self._session
        verb = "Checking for a newer version of" if wanted.fresh else "Opening"
        status = f"{verb} {wanted.source.name}…"
        self._progress, self.wanted = None, wanted

        def announce() -> None:
            self.clear_notice()
            session.change(opening=wanted.source, status=status, transfer=self._progress)

        if session.opening:
            announce()  # replaces the opening that is cancelled now
        self._start_job(wanted, lambda error: self._fail(error, wanted, instead), announce)

    def _start_job(
        self,
        wanted: OpenRequest,
        on_error: Callable[[Exception], None],
        on_slow: Callable[[], None] | None = None,
        *,
        counted: bool = True,
    ) -> None:
        fetch = self._fetch(wanted)
        self._jobs.start(
            "open",
            Job(
                fetch,
                lambda opened: self._show(replace(wanted, table=opened.table), opened),
                on_error,
                on_slow,
                on_progress=self._on_progress,
                stop=fetch.stop,
                counted=counted,
            ),
        )

    def _fetch(self, wanted: OpenRequest) -> Fetch[Opened]:
        """Return the work of loading a model for the session's view."""
        session, network = self._session, self._fetching.network
        look = InitialView(
            session.components, session.norms_centred, session.first_range, session.tables
        )
        return Fetch(lambda transfer: load(wanted, look, lambda: network(transfer, wanted)))

    def _on_progress(self, progress: TransferProgress) -> None:
        self._progress = progress
        if self._session.opening:  # only once it has been announced
            self._session.transfer = progress

    def _show(self, wanted: OpenRequest, opened: Opened) -> None:
        self._stop_waiting()
        session, before, commit = self._session, self._session.model, opened.model.commit
        name = wanted.source.name
        old = "" if before is None or not wanted.fresh else before.commit or ""
        if old and old == commit:
            status = f"{name} is up to date: commit {old[:SHORT_COMMIT]}"
            session.change(opening=None, transfer=None, status=status)
            self.clear_notice()
            return
        self._on_opened(wanted, opened)
        if old and commit and session.notice is None:
            session.notice = Notice(
                f"Updated {name} to the newer commit {commit[:SHORT_COMMIT]}; it was "
                f"{old[:SHORT_COMMIT]}."
            )

    def _fail(self, error: Exception, wanted: OpenRequest, instead: Source | None) -> None:
        self._stop_waiting()
        name = wanted.source.full_name
        if isinstance(error, NoStepYet) and instead is None:
            self.waiting = wanted
            status = f"Waiting for the first step of {name}…"
            self._session.change(opening=wanted.source, transfer=None, status=status)
            return
        self._session.change(opening=None, transfer=None)
        self.failed = wanted
        self._on_error(error, f"{name} could not be opened", wanted.source)
        if instead is not None:
            self._start(OpenRequest(instead))

    def _stop_waiting(self) -> None:
        self.waiting, self._looking = None, False
