"""A result panel on the screen, answered at once or when the test says so."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import Scope, View
from gui.panels.table import PANELS
from gui.plots.plot import PlotWidget
from gui.services.jobs.jobs import Jobs
from gui.state.session import Session
from gui.style.theme import LIGHT, Theme
from gui.testing.stage import PanelStage, hover
from gui.testing.stage import drag as drag
from tests.gui.dialogs import answer_file
from tests.gui.on_screen import trigger
from tests.gui.open_models import begin_anew

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
FRESH = Session()
WISHES = (
    "dragging", "components", "selection", "hover", "prompt", "tokens", "norms_centred",
    "norms_quantity", "norms_after", "norms_relative", "hidden_curves", "snapshot", "basis",
    "colormap", "gathered", "prompt_run", "prompt_running", "prompt_run_failed", "notice", "status",
)  # fmt: skip
"""Fields of the session that tests of panels change."""


class ResultStage(PanelStage):
    """A panel, wired as the window wires it.

    Parameters
    ----------
    qtbot
        Takes the panel away after the test; None if :meth:`close` does.
    panel
        Its name, or its spec.
    jobs
        What answers; at once by default.
    """

    def __init__(
        self,
        qtbot: Any,
        panel: str | AnyPanel,
        jobs: Jobs | None = None,
        *,
        theme: Theme = LIGHT,
        size: tuple[int, int] = (900, 240),
        show: bool = True,
    ) -> None:
        spec = PANELS[panel].spec if isinstance(panel, str) else panel
        super().__init__(spec, jobs, theme=theme, size=size, show=show)
        if qtbot is not None:
            qtbot.addWidget(self.panel, before_close_func=self._release)
        self._size, self._at_first = size, self.panel.choices
        self._model: Any = None
        self._source: Path | str = ""

    def again(
        self,
        source: Path | str,
        positions: tuple[int, int] | None = None,
        table: str | None = None,
    ) -> None:
        """Show a source in the panel as at first, whatever a test did with both."""
        panel, session = self.panel, self.session
        begin_anew(self.controller)
        session.change(**{name: getattr(FRESH, name) for name in WISHES})
        if session.model is None or session.model is not self._model or source != self._source:
            panel._set_choices(self._at_first)
            self.open(source, positions, table)
            self._source, self._model = source, session.model
            self._opened = session.positions, panel.choices
        session.positions, choices = self._opened
        panel._set_choices(choices)
        self.intents.clear()
        panel.set_in_front(True)
        if panel.theme is not LIGHT:
            panel.set_theme(LIGHT)
        panel.resize(*self._size)
        panel.show()
        hover(panel, QPoint(1, 1))
        # Plots of other pages, which were exchanged.
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        for plot in panel.findChildren(PlotWidget):
            plot.view.show_all()
            QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))

    def choose(self, text: str) -> None:
        """Choose an action of the panel's menu."""
        trigger(self.panel.menu(), text)

    def save(self, monkeypatch: Any, what: str, path: Path) -> Path:
        """Choose an action that asks for a file, and answer with a path."""
        answer_file(monkeypatch, path)
        self.choose(what)
        return path

    def python(self) -> str:
        """Return what "Copy as Python" puts on the clipboard."""
        self.choose("Copy as Python")
        return QApplication.clipboard().text()


def named(panel: Any, name: str) -> Any:
    """Return the widget of a panel with an accessible name."""
    (found,) = [one for one in panel.findChildren(QWidget) if one.accessibleName() == name]
    return found


def shape_view(shape: Any, name: str = "") -> Any:
    """Return a view of a shape that was found without a panel."""
    scope = Scope(
        SimpleNamespace(name="gpt2", rows=None, of_positions=True),
        shape.positions,
        shape.components,
    )
    choices = PANELS["shape"].spec.defaults
    return View(scope, replace(choices, curve=name), None, shape, LIGHT, "gpt2")


def enter(field: Any, text: str) -> None:
    """Type a text into a field, in place of what is there, and press Enter."""
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()


def choose(box: Any, value: Any) -> None:
    """Go to an entry of a drop-down list with the arrow keys, by its data, or by its text."""
    wanted = box.findData(value) if box.findData(value) >= 0 else box.findText(value)
    assert wanted >= 0
    box.setFocus()
    while (left := wanted - box.currentIndex()) != 0:
        QTest.keyClick(box, Qt.Key.Key_Down if left > 0 else Qt.Key.Key_Up)
        QApplication.processEvents()
        assert abs(wanted - box.currentIndex()) < abs(left)


def click_row(
    table: Any,
    key: int,
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    """Click a row of a table, by its key."""
    table.show_row(key)
    row = [row.position for row in table.rows].index(key)
    point = table.visualRect(table.model().index(row, 0)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, modifiers, point)


def double_click(widget: QWidget, point: QPoint) -> None:
    """Double-click a point of a widget; through its window, which then holds no button down."""
    window = widget.window()
    none = Qt.KeyboardModifier.NoModifier
    QTest.mouseDClick(
        window.windowHandle(), Qt.MouseButton.LeftButton, none, widget.mapTo(window, point)
    )
    QApplication.processEvents()
