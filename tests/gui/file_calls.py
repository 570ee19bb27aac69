"""What asks the file system, on which thread: to record it, or to let a disk be slow."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import ROOT

EVENTS = {
    "open", "os.chmod", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
    "os.scandir", "os.symlink", "os.truncate", "os.utime",
}  # fmt: skip
"""What Python reports to its audit hooks, also of calls from C."""
UNREPORTED = ("stat", "lstat", "readlink", "access", "statvfs")
"""Functions of ``os`` that it does not report."""
OURS = (*map(os.path.dirname, (os.__file__, pytest.__path__[0])), sys.prefix, str(ROOT),
        "/proc", "/sys", "/dev", "/etc", "/usr", "/lib")  # fmt: skip
"""Where the program itself is with its packages, and what the system is made of."""
MAY = (
    "<frozen importlib._bootstrap_external>",
    # The settings, which are read once and written at the end, and lessons beside them.
    "gui/window/settings/settings.py", "gui/services/lessons/reader.py",
    # The user's own dialog for files looks at the same folders.
    "gui/export/save_result.py", "gui/services/save_folders.py",
)  # fmt: skip
"""Code that may ask the disk on the GUI thread."""
TESTS = str(ROOT / "tests")

_listeners: list[Callable[[str, str], None]] = []


@contextmanager
def heard(listener: Callable[[str, str], None]) -> Iterator[None]:
    """Call a listener with each call and its path, before it is made and on its thread."""
    kept = {name: getattr(os, name) for name in UNREPORTED}
    for name, function in kept.items():
        setattr(os, name, _reported(f"os.{name}", function))
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
        for name, function in kept.items():
            setattr(os, name, function)


def _reported(call: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def reported(path: Any, *args: Any, **options: Any) -> Any:
        _tell(call, path)
        return function(path, *args, **options)

    return reported


def _tell(call: str, path: object) -> None:
    if _listeners and isinstance(path, str | bytes | os.PathLike):
        text = os.path.join(os.getcwd(), os.fsdecode(path))
        for listener in tuple(_listeners):
            listener(call, text)


@sys.addaudithook
def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event in EVENTS:
        _tell(event, arguments[0])


def _stack() -> list[str]:
    """Return where the call is made, innermost first; reading no source, which would be a call."""
    frames, frame = [], sys._getframe(4)
    while frame is not None:
        frames.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return frames


class OnGuiThread:
    """Notes what this thread asks of disks, with the code that does."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self.calls: list[str] = []

    def __call__(self, call: str, path: str) -> None:
        if threading.get_ident() != self._thread or path.startswith(OURS):
            return
        stack = _stack()
        of_project = (frame for frame in stack if frame.startswith(str(ROOT)))
        if next(of_project, TESTS).startswith(TESTS):  # the test's own
            return
        if not any(may in frame for frame in stack for may in MAY):
            self.calls.append("\n  ".join([f"{call} {path}", *stack[:12]]))


class SlowDisk:
    """A folder on a disk that does not answer until the test lets it.

    On the GUI thread it answers at once, so that the test goes on, and notes this.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._thread = os.fspath(folder), threading.get_ident()
        self.asked, self.answers = threading.Event(), threading.Event()
        self.on_gui_thread: list[str] = []

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let it be silent within the block, and answer from then on."""
        try:
            yield
        finally:
            self.answers.set()

    def __call__(self, call: str, path: str) -> None:
        if not path.startswith(self._folder):
            return
        if threading.get_ident() == self._thread:
            self.on_gui_thread.append("\n  ".join([f"{call} {path}", *_stack()[:12]]))
        else:
            self.asked.set()
            assert self.answers.wait(60)
