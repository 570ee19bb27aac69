"""The application: session, controller and window, wired to each other."""

from __future__ import annotations

import ctypes
import logging
import sys
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from geometry.checkpoints import plugins
from geometry.models.sources.source import Source
from gui.commands.garbage import GarbageCollector
from gui.commands.qt_start import DesktopApplication, dress, theme_of
from gui.commands.terminal import complain, joined
from gui.services.controller import Controller
from gui.services.jobs.jobs import gui_first
from gui.services.jobs.qt_jobs import QtJobs
from gui.services.notices import is_offline_by_environment
from gui.services.surveys import is_survey
from gui.state.values import Notice, sizes_on_screen
from gui.style.listening import Listening
from gui.style.theme import Theme, ThemeChoice
from gui.viewport.opengl import missing_opengl
from gui.window.main_window import MainWindow
from gui.window.parts import build_parts
from gui.window.settings.page import SettingsPage
from gui.window.settings.settings import Settings
from gui.window.work.ask_to_save import SaveQuestion
from gui.window.work.unsaved_work import SLOT as UNSAVED
from gui.window.work.unsaved_work import LeftOver, UnsavedWork, left_over, quarantine

log = logging.getLogger(__name__)

PATIENCE_MS = 100
"""How long the window may stay empty while the first model is loading."""
WATCH_MS = 1000
"""Time between two looks for later steps of trainings: two of them are shown within 3 s."""
NO_FRAME_S = 5
"""How long what follows the first frame waits for it."""
NO_FRAME = Notice(
    "The display has not shown a frame of the 3D view yet.",
    "Wake the screen, or show the window. If that does not help: on Linux LIBGL_ALWAYS_SOFTWARE=1 "
    "draws without the graphics driver.",
)
KEEP_PATIENCE_MS = 5_000
"""How long the end of the session, or of the display, waits until unsaved work is written."""
TURN_S = 5e-4
"""How long a thread keeps the interpreter's lock while others wait for it, a tenth of Python's own:
each step of a computation waits so long for a busy GUI thread, and that thread for a busy one."""
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Options of ``mallopt``, from ``malloc.h``: the size of large blocks, and the number of heaps."""
LARGE_BYTES = 1 << 17
"""Blocks of this size and more are allocated outside the heap, as initially in glibc: most results,
and the tables of all but the smallest models. An allocation takes up to 0.1 ms more.
"""


class PluginFaults(QObject):
    """Brings the faults of plugins, which threads find, to the GUI thread."""

    found = Signal(object)


class Application(QObject):
    """One window with its session, wired to a running QApplication.

    Parameters
    ----------
    source, positions
        What to open first; None for the last source, or the best local model.
    beside, table
        Models to compare with it; the table to open, of each of these that has it.
    window
        The empty window in the settings' theme, if it exists already.
    offline
        Whether to start offline, regardless of the settings.
    safely
        Whether the last start failed: possible causes are left out, which a notice reports.
    pictured
        Whether the window opens for a picture only: its source is opened in any case.
    greets
        Whether this is the first start: the first curve turns slowly once around, with sizes of
        lines and points that suit the screen.
    """

    ready = Signal()  # The first frame, the panels and the first model, if any, are shown

    def __init__(
        self,
        qt: QApplication,
        settings: Settings,
        source: str | Source | None = None,
        positions: tuple[int, int] | None = None,
        *,
        window: MainWindow | None = None,
        beside: tuple[str | Source, ...] = (),
        table: str | None = None,
        offline: bool = False,
        safely: bool = False,
        greets: bool = False,
        pictured: bool = False,
    ) -> None:
        super().__init__()
        _share_one_heap()
        sys.setswitchinterval(TURN_S)
        self._garbage = GarbageCollector(self)
        self._qt, self.settings = qt, settings
        self._closed = self._interrupted = False
        self._pictured = pictured
        self.session = settings.new_session()
        self.session.offline |= offline or is_offline_by_environment()
        if greets:
            sizes = sizes_on_screen(qt.primaryScreen().geometry().height())
            self.session.line_width, self.session.point_size = sizes
        self.jobs = QtJobs(self.session, self)
        self.controller = Controller(self.session, self.jobs, cache_limit=settings.cache_limit)
        # The model loads while the window is being built.
        self._beside, self._table = beside, table
        self._notices = [settings.quarantine_damaged()]
        self._faults = PluginFaults(self)
        self._faults.found.connect(self._on_plugin_fault, Qt.ConnectionType.QueuedConnection)
        plugins.listen(self._faults.found.emit)
        first = None if source is None else Source.of_any(source)
        left, survey = None, first if first is not None and is_survey(first.text) else None
        if survey is not None:  # shown beside the model that would be shown without it
            first = None
        opens = first is not None or pictured or not safely
        if opens:
            left = self._open_first(first, positions, table)
        if safely:
            self._notices.append(self._left_out(all_of_it=not opens))
        self.theme = self._theme()
        if window is None:
            dress(qt, self.theme)
            window = MainWindow(settings, self.theme, restore=not safely)
        self.window = window
        build_parts(window, self.session, self.controller, self.choose_theme)
        again = first is None or first.id == settings.last_source
        if opens and left is None and again and settings.camera is not None:
            window.viewport.camera.begin_at(settings.camera)
        self._notices.append(self.window.keys.damaged)
        self.question = SaveQuestion(self.window)
        self._page = SettingsPage(self.window, self.jobs, self.choose_text_size)
        self._unsaved = UnsavedWork(settings.unsaved, self.window.work, self.jobs, left, self)
        self.ready.connect(self._unsaved.keep_restored)
        # Not all that ends a process lets it save: see run_window.py.
        self._unsaved.timer.timeout.connect(self._keep_settings)
        if survey is not None:
            self.ready.connect(lambda: self.window.surveys.open(survey.text))
        if greets:
            self.ready.connect(self.window.viewport.camera.go_round)
        self.window.set_theme(self.theme)
        self.window.check_theme(settings.theme)
        qt.styleHints().colorSchemeChanged.connect(self._on_system_scheme_changed)
        if isinstance(qt, DesktopApplication):
            qt.fileOpened.connect(self.controller.open)
        # If the model has loaded by now, as is usual, the first frame has the curve.
        self.session.events.shown.connect(self._show_beside)
        self._begin_start()
        for slot in ("first", "open"):  # a project is read first
            self.jobs.deliver(slot, PATIENCE_MS)
        self.window.show()
        if missing_opengl():
            self._continue_without_frame()

    def _open_first(
        self, source: Source | None, positions: tuple[int, int] | None, table: str | None
    ) -> LeftOver | None:
        """Open what the window shows first; return it if it is unsaved work, otherwise None."""
        damaged: list[Path] = []
        left = left_over(self.settings.unsaved, damaged) if source is None else None
        if left is not None:
            self.controller.reopening.show(left.work)
        else:
            self.controller.open_first(
                source,
                self.settings.last_source,
                positions,
                table=table,
                if_there=bool(self._beside),
            )
        if damaged:
            kept = ", ".join(str(file) for file in damaged)
            text = "The unsaved work of the last session is damaged and cannot be restored."
            self._notices.append(Notice(text, f"It is kept as {kept}."))
        return left

    def _left_out(self, *, all_of_it: bool) -> Notice | None:
        """Return a notice of what a start after a failed one leaves out; None if nothing."""
        settings, parts, advice = self.settings, [], ""
        if settings.layout is not None:
            parts.append("the arrangement of the window")
        if all_of_it:
            if settings.last_source:
                parts.append("the last model")
            unsaved = quarantine(settings.unsaved)
            if unsaved:
                parts.append("unsaved work")
                kept = unsaved[0] if len(unsaved) == 1 else unsaved[0].parent
                advice = f"The unsaved work is kept in {kept}; open it with File › Open project…"
        if not parts:
            return None
        what = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
        return Notice(f"The last start failed, so this start omits {what}.", advice)

    # ---- the end of the start ------------------------------------------------------------

    def _begin_start(self) -> None:
        self._framed = self._painted = self._ready = self._seen = False
        # Counted by the event loop, not from the start, which may take long.
        self._unseen_s = 0
        self._seconds = QTimer(self, interval=1000)
        self._seconds.timeout.connect(self._on_second)
        self._seconds.start()
        self._listening = Listening()
        self._watch = QTimer(self, interval=WATCH_MS)
        self._watch.timeout.connect(self.controller.watch)
        # Delayed: a job ends before its result is shown or the next job begins.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._check_ready)
        self._listening.to(self.session.events.jobs, self._on_jobs_changed)
        viewport, queued = self.window.viewport, Qt.ConnectionType.QueuedConnection
        # After the window's own slot, which builds the panels.
        viewport.firstFrame.connect(self._on_first_frame, queued)
        viewport.firstPainted.connect(self._on_first_painted, queued)

    def _on_jobs_changed(self) -> None:
        self._soon.start()

    def _on_second(self) -> None:
        self._unseen_s += 1
        hidden = self.window.isVisible() and not self.window.viewport.isVisible()
        if hidden or self._unseen_s == NO_FRAME_S:  # hidden: another view fills the grid
            if not hidden and not self._pictured:
                self.session.notice = NO_FRAME
                complain(joined(NO_FRAME.text, NO_FRAME.advice))
            self._continue_without_frame()

    def _continue_without_frame(self) -> None:
        """Continue the start without a first frame."""
        self._painted = True
        self.window.build_panels()
        self._continue_start()

    def _on_first_frame(self) -> None:
        self._seconds.stop()
        self._seen = True
        if self.session.notice is NO_FRAME:
            self.session.notice = None
        self._continue_start()

    def _continue_start(self) -> None:
        if self._framed or self._closed:
            return
        self._framed = True
        self._soon.start()
        self._garbage.start()
        self._watch.start()
        # Not earlier: its imports would delay the first frame.
        self.controller.refresh_models()
        self.controller.look_for_recent()

    def _on_first_painted(self) -> None:
        self._painted = True
        self._soon.start()

    def _check_ready(self) -> None:
        """Emit ``ready`` once, with the notices of the start."""
        session = self.session
        none = session.model is None and session.jobs == 0
        if self._ready or not self._framed or not (self._painted or none):
            return
        self._end_start()
        if any(self._notices):
            notices = [*filter(None, (session.notice, *self._notices))]
            session.notice = replace(
                notices[0],
                text=" ".join(notice.text for notice in notices),
                advice=" ".join(notice.advice for notice in notices if notice.advice),
            )
        self.ready.emit()

    def _on_plugin_fault(self, fault: plugins.Fault) -> None:
        """Show what is wrong with a plugin, beside any other notice, at the end of the start."""
        log.error("%s\n%s", fault.text, fault.details)
        notice, shown = Notice(fault.text, fault.advice, fault.details), self.session.notice
        if not self._ready:
            self._notices.append(notice)
        elif shown is None:
            self.session.notice = notice
        else:
            self.session.notice = replace(shown, text=f"{shown.text} {notice.text}")

    def _end_start(self) -> None:
        self._soon.stop()
        self._seconds.stop()
        self._listening.stop()
        self._ready = True

    def _show_beside(self) -> None:
        beside, self._beside = self._beside, ()
        if beside:  # otherwise the space bar would press the grid bar's first button
            self.window.viewport.interactor.setFocus()
        for source in beside:
            self.controller.comparing.add_source(source, table=self._table)
        self.question.given = tuple(model.key for model in self.session.open_models)

    def ask_before_losing_work(self) -> None:
        """Ask the user, from now on, before closing the window or opening other work loses changes.

        Not called for a picture of the window or in tests.
        """
        self.window.may_close = self._may_close
        self.controller.opening.may_open = self.question.before_opening
        self._qt.commitDataRequest.connect(self._on_session_ending)

    def _may_close(self) -> bool:
        return self._interrupted or self.question.before_closing()

    def interrupt(self) -> None:
        """Ask no further questions: unsaved work is kept for the next start."""
        self._interrupted = True

    def _on_session_ending(self) -> None:
        """Keep everything, as the desktop may end the process at once."""
        self.interrupt()
        self._unsaved.keep()
        self._keep_settings()
        self.jobs.wait_for(UNSAVED, KEEP_PATIENCE_MS)

    def keep_without_display(self) -> None:
        """Keep the work and settings, as closing the window would, when there is no display."""
        if not self._closed:
            self._unsaved.close(leave=bool(self.question.text))
            self._keep_settings()
            self.jobs.wait_for(UNSAVED, KEEP_PATIENCE_MS)

    def _keep_settings(self) -> None:
        if self._ready:  # earlier, the arrangement is not restored yet
            self.window.keep_settings()

    def choose_theme(self, choice: ThemeChoice) -> None:
        """Apply and store the user's choice of theme."""
        self.settings.theme = choice
        self._dress_anew()

    def choose_text_size(self, size: int) -> None:
        """Apply and store the user's size of text, to which the side columns are scaled."""
        factor, columns = size / self.settings.text_size, self.window.side_columns
        widths = {dock: round(factor * width) for dock, width in columns.widths.items()}
        self.settings.text_size = size
        self._dress_anew()
        columns.set_widths(widths)

    def _dress_anew(self) -> None:
        theme = self._theme()
        if theme != self.theme:
            self.theme = theme
            with gui_first():
                dress(self._qt, theme)
                self.window.set_theme(theme)
        self.window.check_theme(self.settings.theme)

    def close(self) -> None:
        """Close the window and stop all work; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._watch.stop()
        self._end_start()
        self._qt.styleHints().colorSchemeChanged.disconnect(self._on_system_scheme_changed)
        if isinstance(self._qt, DesktopApplication):
            self._qt.fileOpened.disconnect(self.controller.open)
        self.session.events.shown.disconnect(self._show_beside)
        self._page.release()
        self.window.lesson_player.leave()  # what it has set is not part of the work
        self._unsaved.close(leave=self._interrupted and bool(self.question.text))
        self.window.may_close = lambda: True
        self.window.close()
        self.jobs.shut_down()
        self.controller.close()
        self._garbage.release()
        plugins.listen(None)

    @property
    def idle(self) -> bool:
        """Whether nothing is running and everything is painted."""
        if not self._framed or self.session.jobs or self.window.pictures.busy:
            return False
        if not all(p.is_settled for p in self.window.built_panels.values()):
            return False
        # While the display shows no frames, the views never become idle.
        shows = self._seen and self.window.windowHandle().isExposed()
        return self.session.model is None or not shows or self.window.grid.idle

    def _theme(self) -> Theme:
        return theme_of(self._qt, self.settings.theme, self.settings.text_size)

    def _on_system_scheme_changed(self) -> None:
        if self.settings.theme == "system":
            self.choose_theme("system")


def _share_one_heap() -> None:
    """Let all threads allocate from one heap, and large blocks outside, if the C library is glibc.

    By default each thread has its own heap, which becomes fragmented: over hours, the window takes
    more and more memory. So it does by large blocks, up to 32 MB, which glibc allocates in the heap
    once a block of their size has been freed.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(M_ARENA_MAX, 1)
            mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
