"""A window in which somebody works: a process for the campaign that kills it.

It prints a line of JSON when it shows the model, with the number of the last change that it has
restored, and one for each change. ``look`` closes it then; ``work`` goes on until it is killed.
"""

from __future__ import annotations

import json
import random
import sys
import time

from PySide6.QtCore import QTimer

from gui.commands.application import Application
from gui.commands.log import start_log
from gui.commands.qt_start import prepare_qt
from gui.window.settings.settings import Settings, settings_path

EACH_MS = 50
"""Time between two changes."""


class Worker:
    """Changes the range and the prompt, again and again."""

    def __init__(self, application: Application, seed: int, *, works: bool) -> None:
        self._application, self._works = application, works
        self._random = random.Random(seed)
        self._number: int | None = None
        self._timer = QTimer(interval=EACH_MS)
        self._timer.timeout.connect(self._tick)
        application.ready.connect(self._timer.start)

    def _tick(self) -> None:
        session = self._application.session
        if session.model is None or session.curve is None or session.opening:
            return
        if self._number is None:
            restored = int(session.prompt) if session.prompt.isdigit() else None
            self._number = restored or 0
            _print({"restored": restored})
            if not self._works:
                self._timer.stop()
                self._application.window.close()
            return
        self._number += 1
        self._application.controller.request_positions(1, self._random.randrange(20, 100))
        session.prompt = str(self._number)
        _print({"number": self._number, "time": time.monotonic()})


def _print(what: dict[str, float | int | None]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(what: str, seed: int) -> None:
    """Run the window until it is closed or killed."""
    start_log()
    qt = prepare_qt()
    application = Application(qt, Settings(settings_path()))
    worker = Worker(application, seed, works=what == "work")
    qt.exec()
    application.close()
    del worker


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
