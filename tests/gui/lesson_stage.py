"""A lesson in the real window: begun, and led through by its buttons."""

from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.commands.application import Application

LEFT = Qt.MouseButton.LeftButton
TIMEOUT_MS = 60_000
LESSON = """+++
title = "{title}"
+++

## First
```setup
positions = "10-50"
panel = "norms"
```
The norms of {{model}} are {{norm_mean}}.

### Question
Why?
### Answer
Because.

## Second
```setup
positions = "last-40-last"
components = [2, 3, 4]
color_by = "norm"
outside = "faint"
select = [0, "last"]
sphere = true
camera = "xy"
norms = "step"
prompt = "hello adam"
beside = "inspector"
panel = "spectra"
options = {{ k = 7 }}
```
Positions {{from}} to {{to}}. See [Shape](panel:shape).

## Third
```setup
needs = "history"
```
Not for every model.
"""


class LessonStage:
    """The application with a lesson.

    Parameters
    ----------
    qtbot
        Waits.
    application
        With a model open.
    """

    def __init__(self, qtbot: Any, application: Application) -> None:
        self._qtbot, self.application = qtbot, application
        self.window, self.session = application.window, application.session
        qtbot.waitUntil(lambda: bool(self.window.built_panels))

    @property
    def panel(self) -> Any:
        """The panel of lessons."""
        return self.window.built_panels["lesson"]

    @property
    def text(self) -> str:
        """What can be read of the step."""
        return str(self.panel.page.toPlainText())

    def begin(self) -> None:
        """Press F6."""
        self.press(Qt.Key.Key_F6)
        self.settle()

    def press(self, key: Qt.Key) -> None:
        """Press a key in the window, which has to be the active one for that."""
        self.window.activateWindow()
        self._qtbot.waitUntil(self.window.isActiveWindow)
        QTest.keyClick(self.window.viewport.interactor, key)

    def press_keys(self, keys: str) -> None:
        """Press a shortcut, such as Ctrl+B."""
        self.window.activateWindow()
        self._qtbot.waitUntil(self.window.isActiveWindow)
        QTest.keySequence(self.window, QKeySequence(keys))
        self.settle()

    def click(self, button: Any) -> None:
        """Click a button of the panel, and wait for what comes of it."""
        assert button.isVisible()
        assert button.isEnabled()
        QTest.mouseClick(button, LEFT)
        self.settle()

    def click_text(self, words: str) -> None:
        """Click the middle of some words of the text."""
        page = self.panel.page
        cursor = page.document().find(words)
        assert not cursor.isNull()
        found = []
        for at in (cursor.selectionStart(), cursor.selectionEnd()):
            place = QTextCursor(page.document())
            place.setPosition(at)
            found.append(page.cursorRect(place).center())
        QTest.mouseClick(page.viewport(), LEFT, pos=(found[0] + found[1]) / 2 + QPoint(0, 1))
        self.settle()

    def settle(self) -> None:
        """Wait until everything is painted, and the numbers of the step are there."""
        QApplication.processEvents()
        self._qtbot.waitUntil(self._is_settled, timeout=TIMEOUT_MS)

    def _is_settled(self) -> bool:
        session, lesson_player = self.session, self.window.lesson_player
        if session.model is None:
            return self.application.idle
        known = not lesson_player.on or "…" not in self.text
        pca = session.curve.pca
        fitted = pca.exact and pca.positions == session.positions and session.status == "Ready"
        # What a panel shows may take longer: it says so itself.
        return fitted and self.window.viewport.idle and not lesson_player._aim and known

    def in_front(self, name: str) -> bool:
        """Tell whether a panel can be seen."""
        panel = self.window.built_panels[name]
        return bool(panel.isVisible() and not panel.visibleRegion().isEmpty())
