"""What a test may leave behind: top-level widgets, threads of a pool, timers that run."""

import gc
import sys
import threading
import traceback
from dataclasses import dataclass
from typing import Self

import shiboken6
from PySide6.QtCore import QAbstractAnimation, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget


@dataclass(frozen=True)
class Remains:
    """What is there at one moment."""

    windows: frozenset[QWidget]
    threads: frozenset[threading.Thread]
    timers: frozenset[QObject]

    @classmethod
    def of(cls, app: QApplication) -> Self:
        return cls(
            frozenset(app.topLevelWidgets()), frozenset(pool_threads()), frozenset(_moving())
        )

    def described(self, since: "Remains") -> dict[str, list[str]]:
        """What has come since an earlier moment, and for a thread, what it is doing."""
        left = {
            "threads": [_doing(one) for one in self.threads - since.threads],
            "timers": [f"{one!r} of {one.parent()!r}" for one in self.timers - since.timers],
            "windows": [_named(one) for one in self.windows - since.windows],
        }
        return {what: which for what, which in left.items() if which}


def pool_threads() -> list[threading.Thread]:
    """The threads of the application's jobs."""
    return [one for one in threading.enumerate() if one.name.startswith("helixscope")]


def _moving() -> set[QObject]:
    """Return the timers and animations made in Python that run now."""
    running = QAbstractAnimation.State.Running
    found = set()
    for item in gc.get_objects():
        if not isinstance(item, QTimer | QAbstractAnimation) or not shiboken6.isValid(item):
            continue
        if item.isActive() if isinstance(item, QTimer) else item.state() == running:
            found.add(item)
    return found


def _doing(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return thread.name + "\n" + "".join(traceback.format_stack(frame) if frame else ["ended"])


def _named(widget: QWidget) -> str:
    inside = ", ".join(type(child).__name__ for child in widget.children()[:6])
    return f"{widget.metaObject().className()} with {inside or 'nothing'} in it"
