"""Check that there is a display for the window, before Qt does, which would abort."""

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
"""How long to wait for a display to answer."""
MIN_DEPTH = 15
"""Bits per pixel with which Qt can paint."""
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
    if depth < MIN_DEPTH:
        raise DisplayError(
            f"The display has {depth} bits per pixel, and the window needs {MIN_DEPTH}."
        )
    return qt


def _check_servers() -> None:
    """Raise DisplayError if none of the servers that Qt will try answers."""
    usual = "wayland;xcb" if os.environ.get("WAYLAND_DISPLAY") else "xcb"
    addresses = []
    for platform in (os.environ.get("QT_QPA_PLATFORM") or usual).split(";"):
        # As "wayland-egl" or "xcb:parameter".
        server = SERVERS.get(platform.partition(":")[0].partition("-")[0])
        if server is None:
            return  # no server is needed, as for "offscreen"
        variable, answers = server
        answer = _answers_in_time(answers)
        if answer:
            return
        address = os.environ.get(variable)
        if address and answer is None:
            raise DisplayError(f"The display {address} does not answer.")
        addresses += [address] if address else []
    if addresses:
        raise DisplayError(f"The display {' or '.join(addresses)} cannot be reached.")
    raise DisplayError("There is no display.")


def _answers_in_time(answers: Callable[[], bool]) -> bool | None:
    """Return whether a server answers; None after a timeout."""
    answer: list[bool] = []

    def ask() -> None:
        try:
            answer.append(answers())
        except OSError:  # a library is missing, which Qt reports
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
"""Qt platforms that need a server: the variable with its address, and a check that it answers."""


def _on_qt_message(kind: QtMsgType, _: QMessageLogContext, text: str) -> None:
    log.warning("Qt: %s", text)
    if kind == QtMsgType.QtFatalMsg:  # Qt aborts as soon as this returns
        what = f"Qt cannot use the display; the reason is in {log_path()}."
        complain(sentence(DisplayError(what)))
        logging.shutdown()
        os._exit(1)
