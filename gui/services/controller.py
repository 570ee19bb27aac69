"""The controller: the services that answer a session, put together.

Intents are method calls and changes of :class:`gui.state.session.ViewState`; results are changes of
:class:`gui.state.session.Documents` and :class:`gui.state.session.Results`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import FileChanged
from geometry.models.sources.source import Source
from gui.scene.shown_range import inside
from gui.services.alignment import CurveAligner
from gui.services.answers import Answers
from gui.services.changed_files import ChangedFiles
from gui.services.checkpoint_download import CheckpointDownload
from gui.services.comparing import Comparing
from gui.services.describing import Describing
from gui.services.fetching import Fetching
from gui.services.hub_search import HubSearch
from gui.services.jobs.jobs import Job, Jobs, P, T
from gui.services.loading import (
    Opened,
    OpenRequest,
    list_models,
    not_there,
    remember,
    remember_table,
)
from gui.services.notices import UNSET, is_offline_by_environment, notice_of
from gui.services.prompt_running import PromptRunning
from gui.services.prompting import Prompting
from gui.services.session_model import NO_FIELDS, LoadedModel, SessionModel
from gui.services.surveys import is_survey
from gui.services.timeline import TimelineFollower
from gui.services.work_files.projects import is_work
from gui.services.work_files.reopening import Reopening
from gui.state.guides import Guide, with_guide
from gui.state.session import Session
from gui.state.values import ColorBy, Fields, Notice
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn

log = logging.getLogger(__name__)


class Controller:
    """Answers the user's intents.

    Parameters
    ----------
    cache_limit
        Size limit of the cache in bytes; its default if None.
    """

    def __init__(self, session: Session, jobs: Jobs, *, cache_limit: int | None = None) -> None:
        self.session = session
        self.jobs = jobs
        self.fetching = Fetching(session, cache_limit)
        self._current = SessionModel(session, jobs, self.fetching, self._on_opened, self._fail)
        self.opening = self._current.opening
        self.prompting = Prompting(session, jobs, self._fail)
        self.prompt_running = PromptRunning(session, jobs, self._fail)
        self.comparing = Comparing(
            self._current,
            jobs,
            self.fetching,
            self._show_loaded,
            lambda: self.changed_files.look(),
        )
        self.changed_files = ChangedFiles(
            session,
            jobs,
            self.comparing.open_again,
            self.comparing.follow,
            lambda: self.answers.busy,
        )
        self.answers = Answers(session, jobs, on_changed=self.changed_files.look)
        self._timeline = TimelineFollower(session)
        self._describing = Describing(session, jobs)
        self.hub_search = HubSearch(session, jobs, self.fetching, self._fail)
        self.reopening = Reopening(session, self.opening, self.comparing)
        # Set by the window, which shows surveys in a separate window.
        self.open_survey: Callable[[str], None] = lambda _: None
        self._aligner = CurveAligner(session, jobs)
        self.gatherer = CheckpointDownload(session, jobs, self.fetching)
        events = session.events
        self._listening = Listening()
        for signal, slot in (
            (events.prompt, self.prompting.tokenize),
            (events.offline, self._on_offline_changed),
        ):
            self._listening.to(signal, slot)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        self.changed_files.close()
        self.prompt_running.close()
        self.answers.close()
        self._timeline.close()
        self._describing.close()
        self.comparing.close()
        self._aligner.close()
        self.gatherer.close()
        self._current.close()
        self.fetching.close()

    # ---- opening -----------------------------------------------------------------------

    def open(
        self,
        source: str | Source,
        *,
        table: str | None = None,
        positions: tuple[int, int] | None = None,
        whole: bool = False,
        fresh: bool = False,
        if_there: bool = False,
    ) -> None:
        """Open a source; the open model stays until the new one has loaded, or if it fails.

        Parameters
        ----------
        source
            Folder, file, or a model's id on the Hub, perhaps with "@revision"; or saved work, which
            has its own table and range; or the file of a survey, which opens in its own window.
        table
            As for :func:`geometry.models.sources.opening.open_model`; if None, the table last
            chosen for this source, if it still exists; "" for its default.
        positions
            Range to show first; 1 to the last position if None.
        whole
            Whether the user agreed to the download of a whole file.
        fresh
            Whether to ask the Hub for the revision's current commit, although one is cached.
        if_there
            Whether to open the source with its default table if it has no such table.
        """
        source, table = Source.of_any(source).apart(table)
        if is_work(source.text):
            self.reopening.open(source)
        elif is_survey(source.text):
            self.open_survey(source.text)
        else:
            if_there |= table is None
            unasked = (source,) if source.linked else ()
            self.opening.open(
                OpenRequest(
                    source,
                    table or None,
                    positions,
                    whole,
                    fresh,
                    if_there=if_there,
                    unasked=unasked,
                )
            )

    def chosen_before(self, notice: Notice) -> str:
        """Return the choice with which the source of a notice could not be opened; "" for none."""
        failed = self.comparing.failed(notice.source) if notice.beside else self.opening.failed
        return "" if failed is None else failed.table or ""

    def choose_table(self, notice: Notice, table: str) -> None:
        """Open the source of a notice with the table that the user has chosen for it."""
        if notice.beside:
            self.comparing.choose_table(notice.source, table)
        else:
            self.opening.retry(table=table)

    def open_first(
        self,
        source: str | Source | None,
        last: str = "",
        positions: tuple[int, int] | None = None,
        *,
        table: str | None = None,
        if_there: bool = False,
    ) -> None:
        """Open the first model of a window.

        Parameters
        ----------
        source
            The requested source; opened in any case.
        last
            The source that was open when the window was last closed; "" at the first start. The
            network is used only if that is a model no longer cached. If it cannot be opened, or at
            the first start, the best local model is opened, if there is any.
        positions
            Range to show first.
        table, if_there
            Of ``source``, as for :meth:`open`.
        """
        if source is not None:
            self.open(source, table=table, positions=positions, if_there=if_there)
        else:
            self.opening.open_first(last, positions, self.reopening.open)

    def retry(self, *, whole: bool = False) -> None:
        """Retry the failed action of the notice, or open the changed model again.

        ``whole`` agrees to the whole download.
        """
        notice, self.session.notice = self.session.notice, None
        if notice is not None and notice.again is not None:
            self.changed_files.open_again(notice.again)
        elif notice is not None and notice.beside:
            self.comparing.retry()
        elif notice is not None and notice.source is None:
            self.prompting.tokenize()
        else:
            self.opening.retry(whole=whole)

    def cancel(self) -> bool:
        """Cancel the work in progress: an opening, a tokenizer, a gathering, a run, an answer.

        Returns False if there is nothing to cancel.
        """
        if self.session.opening is not None:
            self.opening.cancel()
        elif self.prompting.fetching:
            self.prompting.cancel()
        else:
            return (
                self.gatherer.cancel()
                or self.prompt_running.cancel()
                or self.answers.cancel_newest()
            )
        return True

    def watch(self) -> None:
        """Look for later steps of open trainings, and for the first one of one that has begun.

        Called every second.
        """
        self.opening.look_for_first_step()
        self.changed_files.watch()

    def refresh_models(self) -> None:
        """Read the catalogue again, with the models that are on this machine."""
        self.jobs.start(
            "models",
            Job(
                list_models,
                lambda rows: setattr(self.session, "models", rows),
                lambda error: self._fail(error, "The list of models could not be read"),
            ),
        )

    def look_for_recent(self) -> None:
        """Check which recent sources exist, on a thread, as a disk may not respond."""
        session = self.session
        sources, surveys = session.recent, session.surveys
        self.jobs.start(
            "recent",
            Job(
                lambda: not_there(sources, surveys),
                lambda missing: setattr(session, "missing", missing),
                lambda error: log.error("The recent sources were not found", exc_info=error),
                stop=lambda: None,
            ),
        )

    def _on_opened(self, wanted: OpenRequest, opened: Opened) -> None:
        name = self.comparing.name_apart(opened.model, self.session.current_key)
        if wanted.later:
            self._show_later(wanted, opened, name)
            return
        with self.comparing.step(f"opening {name}"):
            work_file = self.session.work_file if wanted.again else ""
            listed = self.comparing.in_place(opened.model.source, name)
            self._show(wanted, opened, more={"work_file": work_file, **listed})

    def _show_later(self, wanted: OpenRequest, opened: Opened, name: str) -> None:
        """Show a later step of the current model's training; its notes replace the former's."""
        session, before = self.session, self.session.model
        assert before is not None
        listed = self.comparing.in_place(opened.model.source, name)["open_models"]
        self._current.show(wanted, opened, more={"open_models": listed})
        notice = session.notice
        changed = notice is not None and notice.again is before  # its file, which was reported
        if changed or notice == Notice(" ".join(before.warnings)):
            notes = " ".join(opened.model.warnings)
            session.notice = Notice(notes) if notes else None

    def _show_loaded(self, loaded: LoadedModel, first: Fields) -> None:
        """Show a model that was shown before or beside the current one, and cancel any opening."""
        self.opening.cancel()
        components = {"components": loaded.opened.curve.components}
        self._show(loaded.wanted, loaded.opened, first, components)

    def _show(
        self,
        wanted: OpenRequest,
        opened: Opened,
        first: Fields = NO_FIELDS,
        more: Fields = NO_FIELDS,
    ) -> None:
        session, model = self.session, opened.model
        self._current.show(wanted, opened, first, more)
        remember(session, model.source)
        table = None if wanted.table in model.sides else wanted.table
        remember_table(session, model.source, table)
        if model.warnings:
            session.notice = Notice(" ".join(model.warnings))
        else:
            self.opening.clear_notice()
        self.prompting.tokenize()
        self.reopening.on_shown(wanted)
        session.shown += 1
        if model.commit is not None:  # may have been downloaded and cached by now
            self.refresh_models()

    def _on_offline_changed(self, offline: bool) -> None:
        session = self.session
        if offline:
            if session.transfer is not None:
                self.cancel()
        elif is_offline_by_environment():
            session.offline = True
            session.notice = Notice("HF_HUB_OFFLINE is set, so no request may leave.", UNSET)
        elif session.tokens is None:
            self.prompting.tokenize()

    # ---- range and colours ---------------------------------------------------------------

    def request_positions(self, first: int, last: int) -> None:
        """Show a range, clipped to the table."""
        if self.session.model is not None:
            self.session.positions = inside((first, last), self.session.model.n_positions)

    def color_by(self, quantity: ColorBy, component: int) -> None:
        """Colour the curve by a quantity; ``component`` (1-based) is used for "component"."""
        self.session.color_component = component
        self.session.color_by = quantity

    def color_by_file(self, path: Path) -> None:
        """Colour the curve by a column of the user's own table: its first one of numbers."""
        from geometry.checkpoints.column_files import read_columns

        self.in_background(
            "columns",
            partial(read_columns, path),
            self._on_columns,
            f"{path.name} could not be used",
        )

    def color_by_column(self, column: PositionColumn) -> None:
        """Colour the curve by a column that has been read."""
        self.session.change(color_column=column, color_by="column")

    def _on_columns(self, columns: tuple[PositionColumn, ...]) -> None:
        from geometry.checkpoints.column_files import column_named

        self.session.columns = columns
        column = column_named(columns, None)
        self.color_by_column(column)
        model, known = self.session.model, sum(v is not None for v in column.values)
        if model is not None:
            inside = sum(v is not None for v in column.values[: model.n_positions])
            self.session.status = (
                f"“{column.name}” of {column.file} has {known} values, {inside} of them for the "
                f"{model.n_positions} positions here"
            )

    # ---- selection, prompt -------------------------------------------------------------

    def select(self, positions: tuple[int, ...]) -> None:
        """Select positions of the table; the last one becomes the current one."""
        if self.session.model is None:
            return
        n = self.session.model.n_positions
        # Of duplicates the last one is kept, so that the last position stays the current one.
        last_first = dict.fromkeys(p for p in reversed(positions) if 0 <= p < n)
        self.session.selection = tuple(last_first)[::-1]

    def hover(self, position: int | None) -> None:
        """Highlight the position under the mouse in all views; None for none."""
        self.session.hover = position

    def walk(self, step: int) -> None:
        """Move the current position along the curve, within the table."""
        if self.session.model is None:
            return
        first, end = self.session.positions[0], self.session.model.n_positions - 1
        current = self.session.current
        target = first if current is None else min(max(current + step, 0), end)
        self.select((target,))

    def show_guide(self, slot: str, guide: Guide | None) -> None:
        """Draw a panel's guide beside the curve, replacing its previous one."""
        self.session.guides = with_guide(self.session.guides, slot, guide)

    def in_background(
        self,
        slot: str,
        function: Callable[..., T],
        on_result: Callable[[T], None],
        what: str,
        *,
        on_progress: Callable[[P], None] | None = None,
        on_failed: Callable[[], None] = lambda: None,
        stop: Callable[[], None] | None = None,
    ) -> None:
        """Run a function for a panel on a thread, such as writing a figure.

        Parameters
        ----------
        slot
            Slot of the job; a new job replaces the last one.
        what
            Description of what failed if it raises.
        on_progress, stop
            As in :meth:`gui.services.jobs.jobs.Jobs.start`. Jobs without ``stop`` are finished even
            if the window is closed meanwhile.
        on_failed
            Called before the failure is reported.
        """

        def on_error(error: Exception) -> None:
            on_failed()
            self._fail(error, what)

        self.jobs.start(
            slot,
            Job(
                function,
                on_result,
                on_error,
                on_progress=on_progress,
                stop=stop,
                finish=stop is None,
            ),
        )

    def save(
        self, path: Path, write: Callable[[], None], what: str, beside: Iterable[Path] = ()
    ) -> None:
        """Write a file, and others beside it, on a thread; ``what`` describes a failure."""
        names = ", ".join(file.name for file in beside)

        def done(_: None) -> None:
            self.session.status = f"Saved {path}" + (f", and beside it {names}" if names else "")

        self.in_background(f"save {path}", write, done, what)

    # ---- errors ------------------------------------------------------------------------

    def _fail(self, error: Exception, what: str, source: Source | None = None) -> None:
        """Report a failed job in one plain sentence; the traceback goes to the log."""
        log.error("%s", what, exc_info=error)
        if self.session.opening is None:
            self.session.status = "Ready"
        if isinstance(error, FileChanged) and source is None:
            self.changed_files.look(error)
        else:
            self.session.notice = notice_of(error, what, source)
