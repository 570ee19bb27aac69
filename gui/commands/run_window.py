"""The window's run, from opening to closing.

The empty window is shown before VTK, pyvista and most of the application are imported, which takes
much longer.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from PySide6.QtCore import (
    QCoreApplication,
    QDeadlineTimer,
    QEventLoop,
    QLibraryInfo,
    QObject,
    QSocketNotifier,
    QThread,
    QTimer,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import shortened
from geometry.checkpoints.plugins import OURS, plugin_at_fault
from gui.commands.display import DisplayError, qt_on_display
from gui.commands.ends import Ends
from gui.commands.log import start_log
from gui.commands.qt_start import dress, theme_of
from gui.commands.start_mark import StartMark
from gui.commands.terminal import complain, joined, libraries_silenced, note, sentence
from gui.scene.opengl import HELP
from gui.state.values import Notice
from gui.style.system_libraries import check_plugin
from gui.viewport.central_widget import NATIVE_CHILD_ON
from gui.viewport.opengl import missing_opengl
from gui.window.main_window import MainWindow
from gui.window.settings.settings import Settings, settings_path

if TYPE_CHECKING:
    from geometry.models.sources.source import Source
    from gui.commands.application import Application
    from gui.commands.shown_window import ScriptEnd
    from gui.state.session import Session

log = logging.getLogger(__name__)
EXPOSED_MS = 100
"""How long to wait for the empty window, which may appear late."""


def run_window(
    source: Source | None = None,
    positions: tuple[int, int] | None = None,
    picture: Path | None = None,
    *,
    beside: tuple[Source, ...] = (),
    table: str | None = None,
    offline: bool = False,
    script: ScriptEnd | None = None,
) -> int:
    """Open the window and run until it is closed.

    Parameters
    ----------
    source
        What to open; None for the last source, or the best local model.
    picture
        File for a picture of the whole window, saved once everything is painted; then the window is
        closed.
    table
        The table of the source and of those beside it, if they have it.
    script
        What says which sources are opened, and drives the window; None without a script.

    Returns
    -------
    int
        The exit status.
    """
    start_log()
    check_plugin(Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)))
    settings = Settings(settings_path())
    mark = StartMark(settings.folder)
    # A signal itself does nothing, as it may come at any time, also within Qt.
    with Ends(lambda: None) as ends:
        status = _run(
            settings, mark, ends, source, positions, picture, beside, table, offline, script
        )
    mark.remove()  # not if an error or a crash ended the start
    return status if ends.status is None else ends.status


def _run(
    settings: Settings,
    mark: StartMark,
    ends: Ends,
    source: Source | None,
    positions: tuple[int, int] | None,
    picture: Path | None,
    beside: tuple[Source, ...],
    table: str | None,
    offline: bool,
    script: ScriptEnd | None,
) -> int:
    try:
        qt = qt_on_display()
    except DisplayError as error:
        if script is None:
            complain(sentence(error))
        else:
            script.fail(error)
        return 1
    safely = mark.set()
    theme = theme_of(qt, settings.theme, settings.text_size)
    dress(qt, theme)
    window = MainWindow(settings, theme, restore=not safely)
    if QGuiApplication.platformName() == NATIVE_CHILD_ON:
        # Elsewhere Qt would hide the window and show another one for the OpenGL in it.
        _show_empty(window)
    with libraries_silenced():
        missing = missing_opengl()
    if missing:
        complain(joined(missing, HELP))
        if picture is not None:
            return 1
    from gui.commands.application import Application

    if script is not None:
        try:
            source, positions, beside = script.sources()
        except HelixscopeError as error:
            script.fail(error)
            return 1
    application = Application(
        qt,
        settings,
        source,
        positions,
        window=window,
        beside=beside,
        table=table,
        offline=offline,
        safely=safely,
        greets=settings.at_first_start and picture is None,
        pictured=picture is not None,
    )
    application.ready.connect(mark.remove)
    if script is not None:
        script.drive(application)
    # What was imported stays: searching it in full collections would cost several frames.
    application.window.viewport.firstFrame.connect(gc.freeze)
    hook = sys.excepthook
    sys.excepthook = lambda kind, error, trace: _report(application.session, kind, error, trace)
    wakeup, x_server_end = _Wakeup(application), _XServerEnd(application, mark)
    shutter = _Shutter(application, picture) if picture is not None else None
    if shutter is None:
        application.ask_before_losing_work()
    if ends.status is None and qt.exec():
        x_server_end.end()  # Qt has noticed it
    if ends.status is not None:
        application.interrupt()
    status = 0 if shutter is None or shutter.saved else 1
    notice = application.session.notice
    if notice is not None and shutter is not None and (status or safely):
        complain(joined(notice.text, notice.advice))
    wakeup.release()
    if script is not None:
        script.release()
    application.close()
    sys.excepthook = hook
    return status


def _show_empty(window: MainWindow) -> None:
    """Show a window, and wait until it has been painted."""
    window.show()
    patience = QDeadlineTimer(EXPOSED_MS)
    while not window.windowHandle().isExposed() and not patience.hasExpired():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
        QThread.msleep(1)


class _XServerEnd:
    """Handles the end of the X server, after which Xlib ends the process.

    The end of a Wayland compositor ends the process within Qt, without a callback: the next start
    restores what is kept every few seconds.
    """

    def __init__(self, application: Application, mark: StartMark) -> None:
        self._application, self._mark = application, mark
        self._handler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.end)
        if QGuiApplication.platformName() == "xcb":
            ctypes.CDLL("libX11.so.6").XSetIOErrorHandler(self._handler)

    def end(self, _: object = None) -> NoReturn:
        """End the process in as orderly a manner as is possible without a display."""
        try:
            self._application.keep_without_display()
            self._mark.remove()
        finally:
            os._exit(1)  # nothing on the display can be closed any more


class _Wakeup(QObject):
    """Ends Qt's event loops on a signal, including those of dialogs and menus.

    Python handles signals only between bytecode instructions, and an idle Qt runs none: so a
    signal also makes a socket readable, which wakes Qt up.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno())
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)

    def _on_signal(self) -> None:
        self._reader.recv(64)
        QCoreApplication.exit()

    def release(self) -> None:
        """Stop waking Qt up."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(-1)
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
    if (plugin := plugin_at_fault(error)) is not None:  # with one notice, however often it is drawn
        plugin.fail("failed", error)
        return
    text = shortened(f"Something went wrong: {kind.__name__}: {error}")
    session.notice = Notice(text, OURS, details)
