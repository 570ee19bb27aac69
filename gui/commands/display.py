"""Whether there is a display for the window, which is asked before Qt is: Qt would abort."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Callable
from threading import Thread

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from geometry.checkpoints.errors import HelixscopeError
from gui.commands.log import log_path
from gui.commands.qt_start import prepare_qt
from gui.commands.terminal import complain, libraries_silenced, sentence

log = logging.getLogger(__name__)

PATIENCE_S = 5.0
"""How long a display may take to answer."""
LEAST_DEPTH = 15
"""Bits of a pixel with which Qt can paint."""
HELP = (
    "Open the window in a graphical session or with xvfb-run; the commands render, report and the "
    "others need no display."
)


class DisplayError(HelixscopeError):
    """There is no display on which a window can be shown."""

    def __init__(self, what: str) -> None:
        super().__init__(what, HELP)


def qt_on_display() -> QApplication:
    """Create the QApplication.

    What Qt and the libraries of the display print meanwhile goes to the log.

    Raises
    ------
    DisplayError
        If there is no display to show a window on.
    """
    with libraries_silenced():
        if sys.platform not in ("darwin", "win32"):
            _check_servers()
        before = qInstallMessageHandler(_on_qt_message)
        try:
            qt = prepare_qt()
        finally:
            qInstallMessageHandler(before)
    screen = qt.primaryScreen()
    depth = 0 if screen is None else screen.depth()
    if depth < LEAST_DEPTH:
        raise DisplayError(
            f"The display has {depth} bits per pixel, and the window needs {LEAST_DEPTH}."
        )
    return qt


def _check_servers() -> None:
    """Raise DisplayError if none of the servers that Qt will ask answers."""
    usual = "wayland;xcb" if os.environ.get("WAYLAND_DISPLAY") else "xcb"
    asked = []
    for platform in (os.environ.get("QT_QPA_PLATFORM") or usual).split(";"):
        # As "wayland-egl" or "xcb:parameter".
        server = SERVERS.get(platform.partition(":")[0].partition("-")[0])
        if server is None:
            return  # it needs none, as "offscreen"
        variable, answers = server
        answer = _in_time(answers)
        if answer:
            return
        address = os.environ.get(variable)
        if address and answer is None:
            raise DisplayError(f"The display {address} does not answer.")
        asked += [address] if address else []
    if asked:
        raise DisplayError(f"The display {' or '.join(asked)} cannot be reached.")
    raise DisplayError("There is no display.")


def _in_time(answers: Callable[[], bool]) -> bool | None:
    """Return whether a server answers; None if it neither does nor refuses."""
    answer: list[bool] = []

    def ask() -> None:
        try:
            answer.append(answers())
        except OSError:  # a library is missing: Qt has a word for that
            answer.append(True)

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return answer[0] if answer else None


def _wayland_answers() -> bool:
    wayland = ctypes.CDLL("libwayland-client.so.0")
    wayland.wl_display_connect.restype = ctypes.c_void_p
    display = ctypes.c_void_p(wayland.wl_display_connect(None))
    if not display:
        return False
    answers = wayland.wl_display_roundtrip(display) >= 0
    wayland.wl_display_disconnect(display)
    return bool(answers)


def _x_answers() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    answers = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return answers


SERVERS = {"wayland": ("WAYLAND_DISPLAY", _wayland_answers), "xcb": ("DISPLAY", _x_answers)}
"""Platforms of Qt that need a server: the variable with its address, and whether it answers."""


def _on_qt_message(kind: QtMsgType, _: QMessageLogContext, text: str) -> None:
    log.warning("Qt: %s", text)
    if kind == QtMsgType.QtFatalMsg:  # Qt aborts as soon as this returns
        complain(sentence(DisplayError(f"Qt cannot use the display, as {log_path()} says.")))
        logging.shutdown()
        os._exit(1)
