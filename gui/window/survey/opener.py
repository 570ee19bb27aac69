"""Opens surveys, and updates a running one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import as_named
from geometry.models.sources.source import Source
from gui.services.foreign_hosts import check_hosts
from gui.services.loading import remember_survey, remember_table
from gui.state.values import Notice
from gui.window.dialogs import show_in_front

if TYPE_CHECKING:
    from geometry.survey.read import Survey
    from gui.window.arrangement.side_by_side import SideBySide
    from gui.window.host import HostWindow
    from gui.window.survey.window import SurveyWindow

log = logging.getLogger(__name__)
LOOK_MS = 1000
"""Interval between checks of the files of a running survey."""
KINDS = "Surveys (*.parquet);;All files (*)"
SLOT, CURVES, TABLES, KIND = "survey", "survey curves", "survey tables", "survey"
FAILED = "The survey could not be opened"


class SurveyOpener:
    """The window of a survey, created and imported on first use."""

    def __init__(self, window: HostWindow, side_by_side: SideBySide) -> None:
        self._window, self._side_by_side = window, side_by_side
        self.shown: SurveyWindow | None = None
        self._timer = QTimer(window, interval=LOOK_MS, singleShot=True)
        self._timer.timeout.connect(self.look)

    def ask(self) -> None:
        """Ask for the file of a survey, and open it."""
        if file := self._window.ask_file("Open a survey", KIND, KINDS):
            self.open(file)

    def open(self, source: str) -> None:
        """Read a survey, and show it instead of the current one."""
        path = Path(source).expanduser()

        def read() -> Survey:
            from geometry.survey.read import read_survey, survey_path

            return read_survey(survey_path(path.absolute()))

        self._timer.stop()
        self._window.controller.in_background(SLOT, read, self._show, FAILED)

    def look(self) -> None:
        """Read new rows, if there are any."""
        if self.shown is None or not self.shown.isVisible():
            return
        from geometry.survey.read import read_survey, stamp_of

        shown = self.shown.survey

        def read() -> Survey | HelixscopeError | None:
            if stamp_of(shown.path) == shown.stamp:
                return None
            try:
                return read_survey(shown.path)
            except HelixscopeError as error:  # shown in the survey's window
                log.warning("%s could not be read", shown.path, exc_info=True)
                return error

        # With ``stop`` the job has its own thread: a network disk may not answer.
        self._window.controller.in_background(SLOT, read, self._update, FAILED, stop=lambda: None)

    def set_theme(self) -> None:
        """Set the colours of the main window."""
        if self.shown is not None:
            self.shown.set_theme(self._window.viewport.scene.theme)

    def close(self) -> None:
        """Close it with the main window."""
        self._timer.stop()
        for slot in (SLOT, CURVES, TABLES):
            self._window.controller.jobs.cancel(slot)
        if self.shown is not None:
            self.shown.close()

    def _show(self, survey: Survey) -> None:
        from gui.export.save_result import ResultSaver
        from gui.window.survey.window import SurveyWindow

        remember_survey(self._window.session, str(survey.path))
        before = self.shown
        if before is not None and before.survey.path == survey.path:
            before.show_survey(survey)
        else:
            window = SurveyWindow(
                survey,
                self._window.viewport.scene.theme,
                ResultSaver(self._window.controller),
                self._window,
            )
            window.openRequested.connect(self._open_checkpoint)
            window.besideRequested.connect(self._show_checkpoints)
            window.curvesRequested.connect(partial(self._read_curves, window))
            window.activated.connect(self.look)
            self.shown = window
            if before is not None:
                window.setGeometry(before.geometry())
                before.close()
                before.deleteLater()
        shown = self.shown
        assert shown is not None
        show_in_front(shown)
        self._wait(survey)

    def _open_checkpoint(self, source: str) -> None:
        if self._may_access((source,)):
            self._with_tables((source,), lambda found: self._window.controller.open(found[0]))

    def _show_checkpoints(self, sources: tuple[str, ...]) -> None:
        if self._may_access(sources):
            show = partial(self._side_by_side.show_several, "checkpoints of a survey")
            self._with_tables(sources, show)

    def _may_access(self, sources: tuple[str, ...]) -> bool:
        """Return whether paths in the survey may be accessed; otherwise show a notice."""
        session = self._window.session
        file = "" if self.shown is None else str(self.shown.survey.path)
        try:
            check_hosts(session, sources, file)
        except HelixscopeError as error:
            session.notice = Notice(str(error), error.advice)
            return False
        return True

    def _with_tables(
        self, sources: tuple[str, ...], open_them: Callable[[list[Source]], None]
    ) -> None:
        """Open checkpoints with the tables measured by the survey."""
        from geometry.models.sources.locating import located

        named = [Source.parse(as_named(source)) for source in sources]
        if self.shown is None:
            open_them(named)
            return
        columns = self.shown.survey.columns
        all_sources, failed = columns["source"].values, columns["error"].known
        tables = columns["table"].values if "table" in columns else [None] * len(all_sources)
        rows = zip(all_sources, tables, failed, strict=True)
        measured = {source: table for source, table, why in rows if source in sources and not why}

        def use(found: list[Source]) -> None:
            show_in_front(self._window)
            for name, source in zip(sources, found, strict=True):
                if name in measured:
                    remember_table(self._window.session, source, measured[name] or None)
            open_them(found)

        self._window.controller.in_background(
            TABLES,
            lambda: list(map(located, named)),
            use,
            "The checkpoints could not be opened",
            stop=lambda: None,
        )

    def _read_curves(self, window: SurveyWindow, sources: tuple[str, ...]) -> None:
        from geometry.survey.curves import read_curves

        survey = window.survey
        self._window.controller.in_background(
            CURVES,
            lambda: read_curves(survey, sources),
            window.show_curves,
            "The curves could not be read",
            on_failed=lambda: window.show_curves({}),
            stop=lambda: None,
        )

    def _update(self, outcome: Survey | HelixscopeError | None) -> None:
        if self.shown is None:
            return
        if isinstance(outcome, HelixscopeError):
            self.shown.show_message(" ".join(filter(None, (str(outcome), outcome.advice))))
        elif outcome is not None:
            self.shown.show_survey(outcome)
        self._wait(self.shown.survey)

    def _wait(self, survey: Survey) -> None:
        """Check again soon while a survey runs; otherwise when the window is activated."""
        if survey.total is not None:
            self._timer.start()
