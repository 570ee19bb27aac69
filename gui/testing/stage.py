"""A panel of results on the screen, wired as the window wires it, and answered at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gui.export.save_result import ResultSaver
from gui.panels.kit.intents import ChangeShared
from gui.panels.kit.panel import ResultPanel
from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.wiring import connect
from gui.services.answers import Answers
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs, Jobs
from gui.state.session import Session
from gui.style.theme import LIGHT, Theme


class PanelStage:
    """A panel, wired as the window wires it.

    Parameters
    ----------
    spec
        The panel's.
    jobs
        What answers; at once by default.

    Attributes
    ----------
    panel
        The widget.
    session, controller, answers
        The state that it shows, and what answers it.
    intents
        What the panel has asked others to do.
    """

    def __init__(
        self,
        spec: AnyPanel,
        jobs: Jobs | None = None,
        *,
        theme: Theme = LIGHT,
        size: tuple[int, int] = (900, 240),
        show: bool = True,
    ) -> None:
        self.session = Session()
        self.controller = Controller(self.session, InlineJobs())
        if jobs is not None:
            self.controller.answers.close()
            self.controller.answers = Answers(self.session, jobs)
        self.answers = self.controller.answers
        self.intents: list[object] = []
        self.panel: Any = ResultPanel(spec, self.session, theme, ResultSaver(self.controller))
        self.slot = spec.name
        connect(self.panel, self.controller, self._intend)
        self.panel.resize(*size)
        if show:
            self.panel.show()
            assert QTest.qWaitForWindowExposed(self.panel, 60_000)

    def open(
        self,
        source: Path | str,
        positions: tuple[int, int] | None = None,
        table: str | None = None,
    ) -> None:
        """Open a source; the panel asks about it."""
        self.controller.open(str(source), table=table, positions=positions)
        assert self.session.notice is None or not self.session.notice.details
        QApplication.processEvents()

    @property
    def answer(self) -> Any:
        """What came of the panel's question; None if it has not asked."""
        return self.session.answers.get(self.slot)

    def close(self) -> None:
        """Take the panel away."""
        self._release(self.panel)
        self.panel.close()
        self.panel.deleteLater()

    def _intend(self, wanted: object) -> None:
        self.intents.append(wanted)
        if isinstance(wanted, ChangeShared):
            setattr(self.session, wanted.field, wanted.value)

    def _release(self, panel: Any) -> None:
        panel.release()
        self.controller.close()


def hover(widget: QWidget, point: QPoint) -> None:
    """Move the mouse to a point of a widget; through its window, as X does."""
    window = widget.window()
    QTest.mouseMove(window.windowHandle(), widget.mapTo(window, point))
    QApplication.processEvents()


def drag(
    widget: QWidget,
    start: QPoint,
    end: QPoint,
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    """Drag with the left button from one point of a widget to another."""
    window = widget.window()
    handle = window.windowHandle()
    first, last = (widget.mapTo(window, point) for point in (start, end))
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, modifiers, first)
    QTest.mouseMove(handle, (first + last) / 2)
    QTest.mouseMove(handle, last)
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, modifiers, last)
    QApplication.processEvents()
