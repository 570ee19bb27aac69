"""The application in a process of its own, for scripts of tests."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication

from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt
from gui.window.settings.settings import Settings


def start(settings: str, *arguments: Any, **how: Any) -> Application:
    """Start the application with a file of settings, and wait until its model is shown."""
    application = Application(prepare_qt(), Settings(Path(settings)), *arguments, **how)
    settle(application)
    return application


@contextmanager
def killed(code: str, *arguments: object) -> Iterator[str]:
    """Run a script, and kill its process at the end; the first line that it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield child.stdout.readline()
        finally:
            child.kill()


def settle(application: Application) -> None:
    """Wait until a model is open and all is idle."""
    while application.session.model is None or not application.idle:
        QApplication.processEvents()
