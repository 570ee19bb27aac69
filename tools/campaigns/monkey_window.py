"""The window under the monkey's hands, in a process of its own: gestures, and what is watched.

Orders come as lines of JSON on the standard input, and their outcomes go out on what was the
standard output; whatever the process prints itself goes into a file, which is watched.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import logging
import os
import resource
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QEventLoop,
    QObject,
    Qt,
    QTimer,
    QUrl,
    Slot,
    qInstallMessageHandler,
    qWarning,
)
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QDockWidget, QGraphicsView

from gui.commands.application import Application
from gui.commands.log import log_path, start_log
from gui.commands.qt_start import prepare_qt
from gui.commands.run_window import _report
from gui.window.arrangement.docks import DOCKS
from gui.window.settings.settings import Settings, settings_path
from tools.campaigns.monkey_hands import Hands, widgets_in

STILL_S, LOOK_S = 1.5, 0.25
"""After this time without an event, what all threads do is written down; how often it is looked."""
PATIENCE_S = 90.0
"""How long jobs may go on after everything was given up, on a machine with other work."""
HARMLESS = (
    # Qt, where there is no window manager, no session bus, no sound.
    "This plugin supports grabbing the mouse only for popup windows",
    "This plugin does not support",
    "qt.qpa.theme.gnome",
    "QFont::",
    "XDG_RUNTIME_DIR",
    "Could not connect to",
    "libEGL warning",
    "MESA",
    # Of a compositor without a seat, as weston without a screen: there is no mouse.
    "no wl_seats available",
    "Setting cursor position requires",
    "Failed to create grabbing popup",
    # The monkey ends each drag of text at once, also one that has not arrived anywhere.
    "drag leave received before drag enter",
    # The monkey's own clicks beside a window: QTest warns about the place.
    "occurs outside target window",
    # `QTest.keyClick` for a shortcut that does something while it is not the active window.
    "QApplication::setActiveWindow",
)
"""What may be printed: it comes from the machine, or from the monkey's own way to click."""
PRINTED = "printed.txt"
KINDS = "objects.jsonl"
"""Python objects by class, one line for each measurement: what grows when there are more."""


def _delayed_s() -> float:
    """Return the seconds in which this thread could have worked and had no processor."""
    counts = Path("/proc/thread-self/schedstat")  # not of every kernel
    return int(counts.read_text("utf-8").split()[1]) / 1e9 if counts.exists() else 0.0


def _pages_read() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_majflt


class _MallInfo(ctypes.Structure):
    """What ``mallinfo2`` of glibc returns."""

    _names = (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )  # fmt: skip
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def _allocated_mb() -> float:
    """Return what is allocated, without what is free in the heap's holes; 0 without glibc."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0.0
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return (info.uordblks + info.hblkhd) / 2**20


def _stacks() -> list[list[str]]:
    """Return what each thread does, the innermost call first.

    As long as a frame is held, so are its painters; so none is, once another thread may go on.
    """
    found = []
    for frame in sys._current_frames().values():
        calls = []
        while frame is not None:
            calls.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        found.append(calls)
    return [[f"{file}:{line} {name}" for file, line, name in calls] for calls in found]


class Watch(QObject):
    """What must not happen while a gesture is made, and how long the event loop stood still."""

    def __init__(self, printed: Path, dumped: TextIO) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._dumped, self._watching = dumped, False
        self._printed, self._printed_to, self._logged_to = printed, 0, 0
        self._beat_at, self._delayed_s = time.perf_counter(), _delayed_s()
        self.longest_s = self._worked_from_s = 0.0
        self._read_from = 0
        self._beats = QTimer(self, interval=10)
        self._beats.setTimerType(Qt.TimerType.PreciseTimer)
        self._beats.timeout.connect(self.beat)
        self._beats.start()
        threading.Thread(target=self._look_on, daemon=True).start()
        threading.excepthook = lambda args: self._raised("a thread", args.exc_value)
        sys.unraisablehook = lambda args: self._raised("a destructor", args.exc_value)
        qInstallMessageHandler(self._on_qt_message)

    def follow(self, application: Application) -> None:
        """Note uncaught errors, which the window shows as a notice."""

        def report(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            self._raised("the window", error)
            _report(application.session, kind, error, trace)

        def look() -> None:
            notice = application.session.notice
            if notice is not None and "error in Helixscope" in notice.advice:
                self.faults.append(f"notice: {notice.text}\n{notice.details}")

        sys.excepthook = report
        application.session.events.notice.connect(look)

    def begin(self) -> None:
        """Begin to measure a gesture."""
        self.faults.clear()
        self._dumped.seek(0)
        self._dumped.truncate()
        self._beat_at, self._delayed_s = time.perf_counter(), _delayed_s()
        self._watching = True
        self.longest_s = 0.0
        self._worked_from_s, self._read_from = time.thread_time(), _pages_read()

    @property
    def worked_s(self) -> float:
        """Seconds of work of this thread since the beginning, without what others took."""
        return time.thread_time() - self._worked_from_s

    @property
    def pages_read(self) -> int:
        """Pages of code and data that were read from the disk since then, while it waited."""
        return _pages_read() - self._read_from

    @Slot()
    def beat(self) -> None:
        now, delayed_s = time.perf_counter(), _delayed_s()
        without = (now - self._beat_at) - (delayed_s - self._delayed_s)
        self.longest_s = max(self.longest_s, without)
        self._beat_at, self._delayed_s = now, delayed_s

    def _look_on(self) -> None:
        """Write down, once for each time that the event loop stands still, what all threads do.

        By a thread and not by faulthandler, which reads the frames of threads as they run, and
        crashed.
        """
        written_at = 0.0
        while True:
            time.sleep(LOOK_S)
            at, still_s = self._beat_at, time.perf_counter() - self._beat_at
            if self._watching and at != written_at and still_s > STILL_S:
                written_at = at
                print(f"no event for {still_s:.1f} s", file=self._dumped)
                for stack in _stacks():
                    print(*(f"  {line}" for line in stack), sep="\n", file=self._dumped)
                    print(file=self._dumped)
                self._dumped.flush()

    def end(self) -> list[str]:
        """Return the faults since the beginning."""
        self.beat()
        self._watching = False
        sys.stderr.flush()
        lines = self._new_lines(self._printed, "_printed_to")
        if bad := [line for line in lines if line.strip() and not _is_harmless(line)]:
            self.faults.append("printed: " + "\n".join(bad[-60:]))
        logged = "\n".join(self._new_lines(log_path(), "_logged_to"))
        if " CRITICAL " in logged or "could not be answered" in logged:
            self.faults.append(f"logged: {logged[-4000:]}")
        return list(dict.fromkeys(self.faults))

    def _raised(self, where: str, error: BaseException | None) -> None:
        text = "".join(traceback.format_exception(error)) if error is not None else ""
        self.faults.append(f"exception in {where}: {text}")

    def _on_qt_message(self, kind: Any, _context: Any, message: str | None) -> None:
        if not _is_harmless(message or ""):
            self.faults.append(f"Qt: {kind}: {message}")

    def _new_lines(self, path: Path, counter: str) -> list[str]:
        if not path.exists():
            return []
        if path.stat().st_size < getattr(self, counter):  # a new log was begun
            setattr(self, counter, 0)
        with path.open("rb") as file:
            file.seek(getattr(self, counter))
            new = file.read()
            setattr(self, counter, file.tell())
        return new.decode("utf-8", "replace").splitlines()


def _is_harmless(line: str) -> bool:
    return any(known in line for known in HARMLESS)


def _raise() -> None:
    raise ZeroDivisionError("provoked")


def _warn() -> None:
    qWarning("QObject: provoked")


def _print() -> None:
    os.write(2, b"ERROR: provoked by a library\n")


def _stand_still() -> None:
    time.sleep(1.2 * STILL_S)


PROVOKED = {"exception": _raise, "warning": _warn, "print": _print, "freeze": _stand_still}
"""Faults on order, to see that they are seen."""


class Links(QObject):
    """Takes the links that would be opened in a browser."""

    @Slot(QUrl)
    def take(self, url: QUrl) -> None: ...


class HeldDocks(QObject):
    """Keeps docks where they are under a mouse.

    On Wayland Qt asks the compositor for their drags, and crashes if that has no mouse, as a
    headless one.
    """

    def eventFilter(self, dock: QObject, event: QEvent) -> bool:
        return event.type() == QEvent.Type.MouseMove


class Child:
    """The application, its hands and its watch, obeying orders."""

    def __init__(self, folder: Path, journal: TextIO, dumped: TextIO, begun: bool) -> None:
        start_log()
        logging.captureWarnings(True)
        self._kinds = folder / KINDS
        self._qt = prepare_qt()
        self._qt.setQuitOnLastWindowClosed(False)
        QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
        self._links = Links()
        for scheme in ("http", "https", "file", "mailto"):
            QDesktopServices.setUrlHandler(scheme, self._links, "take")
        self.watch = Watch(folder / PRINTED, dumped)
        settings = Settings(settings_path())
        # A second window begins with what the first one left behind.
        self.application = Application(
            self._qt, settings, None if begun else "sample", offline=True
        )
        self._held = HeldDocks()
        if self._qt.platformName() == "wayland":
            for dock in self.application.window.docks.values():
                dock.installEventFilter(self._held)
        self.watch.follow(self.application)
        self._journal = journal
        self.hands = Hands(self.application, folder, journal)

    @property
    def _is_open(self) -> bool:
        return self.application.window.isVisible()

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do what is ordered, and return its outcome."""
        self.watch.begin()
        start = time.perf_counter()
        outcome: dict[str, Any] = {}
        name = "close"
        if "bits" in order:
            name = self.hands.do(order["number"], order["bits"])
            self._until_idle()
        elif "provoke" in order:
            QTimer.singleShot(0, PROVOKED[order["provoke"]])
            self._until_idle()
        elif "measure" in order:
            name = "measure"
            outcome["measured"] = self.measured(warm=bool(order["measure"]))
        else:
            self._close()
        outcome |= {"name": name, "took_s": time.perf_counter() - start, "open": self._is_open}
        # What a gesture sets off is seen only after it, and with some others on top of it.
        for _ in self._for_a_while(order.get("pause_s", 0.0)):
            pass
        outcome["faults"] = self.watch.end()
        outcome["longest_s"], outcome["worked_s"] = self.watch.longest_s, self.watch.worked_s
        outcome["pages_read"] = self.watch.pages_read
        if self.hands.stuck:
            outcome["faults"].append(f"dialog: {self.hands.stuck} does not close")
            self.hands.stuck = ""
        return outcome

    def measured(self, *, warm: bool) -> dict[str, float]:
        """Show what was shown at first, and return what the process holds by then."""
        window, controller = self.application.window, self.application.controller
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        for other in QApplication.topLevelWidgets():
            if other is not window and other.isVisible() and not isinstance(other, QDockWidget):
                other.close()
        if warm:  # all that is built once is there
            for dock in DOCKS:
                if dock.name != "lesson":
                    window.focus_on(dock.name)
                    self._until_idle()
        while controller.cancel():
            pass
        window.lesson_player.leave()
        window.commands.by_name["spin"].setChecked(False)
        window.viewport.camera.set_spinning(False)
        controller.comparing.clear()
        window.commands.by_name["reset_layout"].trigger()
        if not window.isFullScreen():  # as the last one may have been
            window.resize(1300, 820)
        controller.open("sample")
        self._until_idle()
        session = self.application.session
        for _ in self._for_a_while(PATIENCE_S):
            if self.application.idle and not session.opening:
                break
        else:
            threads = [thread.name for thread in threading.enumerate()]
            self.watch.faults.append(f"job: {session.jobs} jobs do not end: {threads}")
        for changes in (window.undo._done, window.undo._undone):
            changes.clear()  # they keep models that were closed
        for bookmark in session.bookmarks:
            window.bookmarks.bookmarks.remove(bookmark.key)
        window.undo.on_changed()
        QApplication.clipboard().clear()  # of a copied picture, which may be large
        for _ in range(3):
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what is free, but kept for later, is no growth
        # Each plot of the window has a hidden top-level widget, which Qt asks for distances.
        plots = sum(isinstance(one, QGraphicsView) for one in widgets_in(window))
        tops = Counter(
            f"{one.metaObject().className()} {one.objectName() or one.windowTitle()}".strip()
            for one in QApplication.topLevelWidgets()
        )
        self._journal.write(f"windows: {dict(tops)}\n")
        classes = map(type, gc.get_objects())
        kinds = Counter(f"{one.__module__}.{one.__qualname__}" for one in classes)
        with self._kinds.open("a", encoding="utf-8") as file:
            file.write(json.dumps(kinds) + "\n")
        status = Path("/proc/self/status").read_text("utf-8")
        rss = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return {
            "MB": int(rss.split()[1]) / 1024,
            "allocated": _allocated_mb(),
            "files": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
            "objects": len(gc.get_objects()),
            "windows": len(QApplication.topLevelWidgets()) - plots,
            "widgets": len(QApplication.allWidgets()),
        }

    def _close(self) -> None:
        self.application.window.close()
        self._until_idle()
        self.application.close()

    def _until_idle(self) -> None:
        """Handle events until a timer of no time comes to its turn, behind all of them."""
        done: list[int] = []
        QTimer.singleShot(0, lambda: done.append(1))
        while not done:
            QCoreApplication.processEvents()

    def _for_a_while(self, seconds: float) -> Iterator[None]:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            # Not QTest.qWait, which holds the interpreter's lock while it waits: jobs would starve.
            loop = QEventLoop()
            QTimer.singleShot(5, loop.quit)
            loop.exec()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            yield


def main() -> None:
    """Obey the orders of the campaign until there are no more."""
    folder, begun = Path(sys.argv[1]), sys.argv[2] == "again"
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    to = os.open(folder / PRINTED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(to, stream)
    dumped = (folder / "faulthandler.txt").open("w", encoding="utf-8")
    faulthandler.enable(dumped)
    # A crash in C++ leaves no Python frames: a core file says more, where the system writes one.
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    journal = (folder / "journal.txt").open("a", encoding="utf-8")
    child = Child(folder, journal, dumped, begun)
    out.write(json.dumps({"faults": []}) + "\n")
    out.flush()
    for line in sys.stdin:
        order = json.loads(line)
        out.write(json.dumps(child.obey(order)) + "\n")
        out.flush()
        if "close" in order:
            break


if __name__ == "__main__":
    main()
