"""The application: creates session, controller and window, and runs them."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, QSocketNotifier, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QIcon, QPalette, QSurfaceFormat
from PySide6.QtWidgets import QApplication
from pyvistaqt.rwi import _default_format as vtk_surface_format

from gui.commands.log import start_log
from gui.commands.start_mark import StartMark
from gui.commands.terminal import complain, joined, note
from gui.services.controller import Controller
from gui.services.jobs.qt_jobs import QtJobs
from gui.services.notices import is_offline_by_environment
from gui.state.session import Session
from gui.state.values import Notice
from gui.style.listening import Listening
from gui.style.theme import ICONS, TEXT, THEMES, Theme, ThemeChoice, stylesheet
from gui.widgets.roles import install_roles
from gui.window.ask_to_save import SaveQuestion
from gui.window.main_window import MainWindow
from gui.window.settings.page import SettingsPage
from gui.window.settings.settings import Settings, settings_path
from gui.window.unsaved_work import LeftOver, UnsavedWork, left_over, put_aside

log = logging.getLogger(__name__)
PATIENCE_MS = 100
"""How long the window may stay hidden while the first model is loading."""
ICON = ICONS / "helixscope.svg"
M_ARENA_MAX = -8
"""The number of ``mallopt``'s option for the most heaps, in glibc's ``malloc.h``."""


class Application(QObject):
    """One window with its session, wired to a running QApplication.

    Parameters
    ----------
    source, positions
        What to open first; None for the last source, or the best local model.
    offline
        Whether to start offline, regardless of the settings.
    safely
        Whether the last start failed: what may have been the cause is left out, which a notice
        reports.
    greets
        Whether the first curve turns slowly once around.
    """

    ready = Signal()  # The first frame, the panels and the first model are there, or none opens

    def __init__(
        self,
        qt: QApplication,
        settings: Settings,
        source: str | None = None,
        positions: tuple[int, int] | None = None,
        *,
        beside: tuple[str, ...] = (),
        offline: bool = False,
        safely: bool = False,
        greets: bool = False,
    ) -> None:
        super().__init__()
        _share_one_heap()
        self._qt, self.settings = qt, settings
        self._closed = self._interrupted = False
        self.session = settings.new_session()
        self.session.offline |= offline or is_offline_by_environment()
        self.jobs = QtJobs(self.session, self)
        self.controller = Controller(self.session, self.jobs, cache_limit=settings.cache_limit)
        # The model loads while the window is being built.
        self._notices = [settings.put_damaged_aside()]
        left = None
        if source is not None or not safely:
            left = self._open_first(source, positions)
        if safely:
            self._notices.append(self._left_out(source))
        self.theme = self._resolve(settings.theme)
        _dress(qt, self.theme)
        self.window = MainWindow(
            self.session, self.controller, settings, self.theme, self.choose_theme,
            restore=not safely,
        )  # fmt: skip
        self._notices.append(self.window.keys.damaged)
        self.question = SaveQuestion(self.window)
        self._page = SettingsPage(self.window, self.jobs, self.choose_text_size)
        self._unsaved = UnsavedWork(settings.unsaved, self.window.work, left, self)
        self.ready.connect(self._unsaved.keep_restored)
        if greets:
            self.ready.connect(self.window.viewport.camera.go_round)
        self.window.set_theme(self.theme, settings.theme)
        qt.styleHints().colorSchemeChanged.connect(self._on_system_scheme_changed)
        # If the model has loaded by now, as is usual, the first frame has the curve.
        self._beside = beside
        self.session.events.shown.connect(self._show_beside)
        self._begin_watch()
        self.jobs.deliver("open", PATIENCE_MS)
        self.window.show()
        self.controller.refresh_models()

    def _open_first(self, source: str | None, positions: tuple[int, int] | None) -> LeftOver | None:
        """Open what the window shows first; return the unsaved work, if that is it."""
        damaged: list[Path] = []
        left = left_over(self.settings.unsaved, damaged) if source is None else None
        if left is not None:
            self.controller.resume(left.work)
        else:
            self.controller.open_first(source, self.settings.last_source, positions)
        if damaged:
            kept = ", ".join(str(file) for file in damaged)
            text = "The unsaved work of the last session is damaged and cannot be restored."
            self._notices.append(Notice(text, f"It is kept as {kept}."))
        return left

    def _left_out(self, source: str | None) -> Notice | None:
        """Return what a start after a failed one leaves out; None if there is nothing."""
        settings, parts, advice = self.settings, [], ""
        if settings.layout is not None:
            parts.append("the arrangement of the window")
        if source is None:
            if settings.last_source:
                parts.append("the last model")
            unsaved = put_aside(settings.unsaved)
            if unsaved:
                parts.append("unsaved work")
                kept = unsaved[0] if len(unsaved) == 1 else unsaved[0].parent
                advice = f"The unsaved work is kept in {kept}; open it with File › Open project…"
        if not parts:
            return None
        what = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
        return Notice(f"The last start failed, so this start omits {what}.", advice)

    # ---- the end of the start ------------------------------------------------------------

    def _begin_watch(self) -> None:
        self._framed = self._painted = self._ready = False
        self._watching = Listening()
        # Delayed, as a job is counted no more before its result is shown or another one begins.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._look)
        self._watching.to(self.session.events.jobs, self._on_jobs_changed)
        viewport, queued = self.window.viewport, Qt.ConnectionType.QueuedConnection
        # After the window's own slot, which builds the panels.
        viewport.firstFrame.connect(self._on_first_frame, queued)
        viewport.firstPainted.connect(self._on_first_painted, queued)

    def _on_jobs_changed(self) -> None:
        self._soon.start()

    def _on_first_frame(self) -> None:
        self._framed = True
        self._soon.start()

    def _on_first_painted(self) -> None:
        self._painted = True
        self._soon.start()

    def _look(self) -> None:
        """Emit ``ready`` once, with the notices of the start."""
        session = self.session
        none = session.model is None and session.jobs == 0
        if self._ready or not self._framed or not (self._painted or none):
            return
        self._end_watch()
        if any(self._notices):
            notices = [*filter(None, (session.notice, *self._notices))]
            session.notice = replace(
                notices[0],
                text=" ".join(one.text for one in notices),
                advice=" ".join(one.advice for one in notices if one.advice),
            )
        self.ready.emit()

    def _end_watch(self) -> None:
        self._soon.stop()
        self._watching.stop()
        self._ready = True

    def _show_beside(self) -> None:
        beside, self._beside = self._beside, ()
        if beside:  # otherwise the space bar would press the grid bar's first button
            self.window.viewport.interactor.setFocus()
        for source in beside:
            self.controller.comparing.add(source)
        self.question.given = tuple(one.key for one in self.session.compared)

    def ask_before_losing_work(self) -> None:
        """From now on ask the user before closing the window or opening other work loses changes.

        Without this, as for a picture of the window or in tests, nothing is asked.
        """
        self.window.may_close = self._may_close
        self.controller.ask_before_opening(self.question.before_opening)
        # The desktop ends the session: what is shown is kept for the next start.
        self._qt.commitDataRequest.connect(self._unsaved.keep)

    def _may_close(self) -> bool:
        return self._qt.isSavingSession() or self.question.before_closing()

    def interrupt(self) -> None:
        """Close the window without a question; changes of work stay for the next start."""
        self._interrupted = True
        self.window.may_close = lambda: True
        self.window.close()

    def choose_theme(self, choice: ThemeChoice) -> None:
        """Apply and store the user's choice of theme."""
        self.settings.theme = choice
        self._dress_anew()

    def choose_text_size(self, size: int) -> None:
        """Apply and store the user's choice of the size of text."""
        self.settings.text_size = size
        self._dress_anew()

    def _dress_anew(self) -> None:
        choice = self.settings.theme
        self.theme = self._resolve(choice)
        _dress(self._qt, self.theme)
        self.window.set_theme(self.theme, choice)

    def close(self) -> None:
        """Close the window and stop all work; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._end_watch()
        self._qt.styleHints().colorSchemeChanged.disconnect(self._on_system_scheme_changed)
        self.session.events.shown.disconnect(self._show_beside)
        self._page.release()
        self._unsaved.close(interrupted=self._interrupted)
        self.window.may_close = lambda: True
        self.window.close()
        self.jobs.shut_down()
        self.controller.close()

    @property
    def idle(self) -> bool:
        """Whether nothing is running and everything is painted."""
        return self.session.jobs == 0 and (self.session.model is None or self.window.grid.idle)

    def _resolve(self, choice: ThemeChoice) -> Theme:
        name = str(choice)
        if choice == "system":
            dark = self._qt.styleHints().colorScheme() == Qt.ColorScheme.Dark
            name = "dark" if dark else "light"
        return replace(THEMES[name], text_size=self.settings.text_size)

    def _on_system_scheme_changed(self) -> None:
        if self.settings.theme == "system":
            self.choose_theme("system")


def _share_one_heap() -> None:
    """Let all threads allocate from one heap, where the C library is glibc.

    By default each thread has a heap of its own, and what it frees stays there in fragments: a
    window in use for hours then takes more and more memory.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(M_ARENA_MAX, 1)


def prepare_qt() -> QApplication:
    """Create the QApplication with the surface format that VTK needs.

    The format must be set before the first top-level window exists.
    """
    QSurfaceFormat.setDefaultFormat(vtk_surface_format())
    # The central widget is a native window, but its siblings are not.
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontCreateNativeWidgetSiblings)
    qt = QApplication.instance()
    if not isinstance(qt, QApplication):
        qt = QApplication(sys.argv[:1])
    qt.setApplicationName("Helixscope")
    qt.setDesktopFileName("helixscope")
    qt.setStyle("Fusion")
    install_roles()
    if ICON.exists():
        qt.setWindowIcon(QIcon(str(ICON)))
    return qt


def run_window(
    source: str | None = None,
    positions: tuple[int, int] | None = None,
    picture: Path | None = None,
    *,
    beside: tuple[str, ...] = (),
    offline: bool = False,
) -> int:
    """Open the window and run until it is closed.

    Parameters
    ----------
    source
        What to open; None for the last source, or the best local model.
    picture
        File for a picture of the whole window, saved once everything is painted; then the window is
        closed.

    Returns
    -------
    int
        The exit status.
    """
    start_log()
    settings = Settings(settings_path())
    mark = StartMark(settings.folder)
    try:
        status = _run(settings, mark, source, positions, picture, beside, offline)
    except KeyboardInterrupt:
        status = 130
    mark.remove()  # not if an error or a signal ended the start
    return status


def _run(
    settings: Settings,
    mark: StartMark,
    source: str | None,
    positions: tuple[int, int] | None,
    picture: Path | None,
    beside: tuple[str, ...],
    offline: bool,
) -> int:
    safely = mark.set()
    qt = prepare_qt()
    application = Application(
        qt, settings, source, positions, beside=beside, offline=offline, safely=safely,
        greets=settings.at_first_start and picture is None,
    )  # fmt: skip
    application.ready.connect(mark.remove)
    application.window.viewport.firstFrame.connect(_collect_garbage_again)
    hook = sys.excepthook
    sys.excepthook = lambda kind, error, trace: _report(application.session, kind, error, trace)
    interrupt = _Interrupt(application)
    shutter = _Shutter(application, picture) if picture is not None else None
    if shutter is None:
        application.ask_before_losing_work()
    qt.exec()
    status = 0 if shutter is None or shutter.saved else 1
    if status and application.session.notice is not None:
        notice = application.session.notice
        complain(joined(notice.text, notice.advice))
    interrupt.release()
    application.close()
    sys.excepthook = hook
    return status


class _Interrupt(QObject):
    """Closes the window on Ctrl+C in the terminal.

    Python handles signals only between bytecode instructions, and an idle Qt runs none: so the
    signal also makes a socket readable, which wakes Qt up.
    """

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._handler = signal.signal(signal.SIGINT, lambda *_: application.interrupt())
        signal.set_wakeup_fd(self._writer.fileno())
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(lambda: self._reader.recv(64))

    def release(self) -> None:
        """Restore the previous signal handler."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, self._handler)
        self._reader.close()
        self._writer.close()


class _Shutter(QObject):
    """Saves a picture of the whole window once everything is painted, and closes it."""

    def __init__(self, application: Application, out: Path) -> None:
        super().__init__(application)
        self.saved = False
        self._application, self._out = application, out
        self._timer = QTimer(self, interval=50)
        self._timer.timeout.connect(self._release)
        self._timer.start()

    def _release(self) -> None:
        if not self._application.idle:
            return
        self._timer.stop()
        model, notice = self._application.session.model, self._application.session.notice
        if model is None and notice is not None and not notice.candidates:
            self._application.window.close()  # no picture if the opening failed
            return
        try:
            self.saved = self._application.window.pictures.save_window(self._out)
        finally:
            self._application.window.close()


def _dress(qt: QApplication, theme: Theme) -> None:
    palette = QPalette()
    for roles, color in (
        (("Window", "Button", "ToolTipBase", "AlternateBase"), theme.panel),
        (("Base",), theme.field),
        (("WindowText", "Text", "ButtonText", "ToolTipText", "BrightText"), theme.text),
        (("PlaceholderText",), theme.muted),
        (("Highlight",), theme.line),
        (("HighlightedText",), theme.text),
        (("Link", "Accent"), theme.accent),
        (("Mid", "Midlight", "Dark"), theme.line),
    ):
        for role in roles:
            palette.setColor(QPalette.ColorRole[role], QColor(color))
    qt.setPalette(palette)
    # Not by the style sheet: a rule for all widgets would double the time it takes to apply.
    font = qt.font()
    font.setPixelSize(theme.px(TEXT))
    qt.setFont(font)
    qt.setStyleSheet(stylesheet(theme))


def _collect_garbage_again() -> None:
    # Imported objects stay: scanning them in full collections would cost several frames.
    gc.freeze()
    gc.enable()


def _report(
    session: Session,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Show and log an unexpected error; the window stays open."""
    log.critical("uncaught", exc_info=(kind, error, trace))
    details = "".join(traceback.format_exception(kind, error, trace))
    if os.environ.get("HELIXSCOPE_DEBUG"):
        note(details)
    session.notice = Notice(
        f"Something went wrong: {kind.__name__}: {error}",
        "This is an error in Helixscope; please report it with the details.",
        details,
    )
