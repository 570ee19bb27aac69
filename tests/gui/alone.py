"""The application in a process of its own, for scripts of tests."""

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


def settle(application: Application) -> None:
    """Wait until a model is open and all is idle."""
    while application.session.model is None or not application.idle:
        QApplication.processEvents()
