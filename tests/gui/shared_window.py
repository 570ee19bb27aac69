"""One window for the tests of a module: each of them finds it as it is after a start."""

import gc
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication

from gui.commands.application import Application
from gui.export.save_picture import PictureOptions
from gui.state.session import VIEW_FIELDS
from gui.window.arrangement.docks import DOCKS
from gui.window.settings.settings import Settings

FIELDS = (VIEW_FIELDS - {"positions"}) | {"recent", "lesson", "bookmarks", "columns"}
"""Of the session; the range comes with the model."""

FRONT = "norms"
"""The panel in front of those below the viewport."""
COLLECTED = 6
"""After so many windows their memory is freed, which takes a second."""
_closed = count(1)


def _clear(settings: Settings) -> None:
    settings._values.clear()
    settings._file.unlink(missing_ok=True)


class SharedWindow:
    """Starts the application with a model, and brings it back to how it was then.

    Parameters
    ----------
    qt
        The QApplication.
    model, settings
        The folder of what it opens; its file of settings.
    """

    def __init__(self, qt: QApplication, model: Path, settings: Path) -> None:
        self._qt, self._model, self._settings = qt, model, settings
        self._palette = qt.palette()
        self._application: Application | None = None
        self._layout = QByteArray()

    def get(self, wait: Callable[[Application], None]) -> Application:
        """Return the application as after its start, painted; ``wait`` waits until one is idle."""
        made = self._application
        if made is None or not self._can_be_reset(made):
            self.close()
            settings = Settings(self._settings)
            _clear(settings)
            made = Application(self._qt, settings, str(self._model))
            self._application = made
            wait(made)
            made.window.results.tabs.open(FRONT)
            wait(made)
            self._layout = made.window.saveState()
            self._size = made.window.size()
            self._focus = made.window.focusWidget()
            self._place = made.window.viewport.camera.place
            self._fields = {name: getattr(made.session, name) for name in FIELDS}
        else:
            self._reset(made, wait)
        return made

    def close(self) -> None:
        """Close the window, if there is one."""
        made, self._application = self._application, None
        if made is not None and shiboken6.isValid(made):
            made.close()
            made.window.deleteLater()
            made.deleteLater()
            # Windows that are gone need not be styled anew.
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            self._qt.setStyleSheet("")
            self._qt.setPalette(self._palette)
            # The collections of garbage leave out what was there before a test: a window, too.
            if next(_closed) % COLLECTED == 0:
                gc.unfreeze()
                gc.collect()
                gc.freeze()

    @staticmethod
    def _can_be_reset(made: Application) -> bool:
        """Not if a test closed it; nor do Qt's tab bars come back as they were from floating."""
        if not shiboken6.isValid(made) or not made.window.isVisible():
            return False
        return not any(dock.isFloating() for dock in made.window.docks.values())

    def _reset(self, made: Application, wait: Callable[[Application], None]) -> None:
        window, controller, session = made.window, made.controller, made.session
        for other in self._qt.topLevelWidgets():
            if other is not window and other.isVisible():
                other.close()
        while controller.cancel():
            pass
        window.lesson_player.leave()
        window.turntables._chosen = window.films._options = None
        window.pictures._options = PictureOptions()
        window.viewport.marquee.arm(None)
        window.commands.by_name["spin"].setChecked(False)
        window.viewport.camera.set_spinning(False)
        controller.hub_search.search("")
        window.grid.show_alone(None)
        controller.comparing.clear()
        _clear(made.settings)
        if made.theme.name != "light":
            made.choose_theme("system")
        window.workspaces.maximized.restore()
        window.workspaces.restore("explore", {})
        window.show_toolbar(True)
        if window.isFullScreen():
            window.commands.by_name["full_screen"].trigger()
        window.resize(self._size)
        if window.saveState() != self._layout:
            window.restoreState(self._layout)
            window.layout().activate()
            window.results.tabs.settle()
        window.docks[FRONT].raise_()
        QCoreApplication.processEvents()
        self._forget_panels(window)
        session.change(**self._fields, notice=None)

        def look_as_at_first() -> None:
            window.viewport.camera._moves.halt()
            window.viewport.camera.begin_at(self._place)
            window.viewport.interactor.update()

        session.events.shown.connect(look_as_at_first)
        controller.open(str(self._model))
        (self._focus or window).setFocus(Qt.FocusReason.OtherFocusReason)
        wait(made)
        session.events.shown.disconnect(look_as_at_first)
        window.undo.clear()

    @staticmethod
    def _forget_panels(window: Any) -> None:
        """Build panels anew, when they are seen; now the one in front."""
        for name in (dock.name for dock in DOCKS if dock.lazy):
            panel = window.built_panels.pop(name, None)
            if panel is not None:
                panel.release()
                window.docks[name].setWidget(None)
                panel.deleteLater()
        window.bookmarks._panel = None
        window.results.need(FRONT)
