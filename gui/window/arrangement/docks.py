"""The table of the window's panels, with names and places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QStyle,
    QStyleOption,
    QStylePainter,
    QTabBar,
    QToolButton,
    QWidget,
)

from gui.panels.table import GROUPS, PLUGINS, PanelEntry
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.tooltips import wrapped

LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
MARGINS = (GRID, GRID // 2, GRID // 2, 0)
"""Margins of a title bar: left, top, right, bottom."""
FLOAT_OFFSET = 4 * GRID
"""Offset of a panel when it begins to float."""


def title_button(sign: str, tip: str, slot: Callable[[], object]) -> QToolButton:
    """Return a small button of a title bar, without focus: the menus have its command, too."""
    button = QToolButton()
    button.setText(sign)
    button.setToolTip(wrapped(tip))
    button.setAccessibleName(tip)
    button.setProperty("role", "title button")
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    button.clicked.connect(slot)
    return button


class EdgedDock(QDockWidget):
    """A dock with an edge while it floats, which Qt does not draw around a title bar of ours."""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.isFloating():
            painter = QStylePainter(self)
            option = QStyleOption()
            option.initFrom(self)
            painter.drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option)


class DockTitle(QWidget):
    """The title bar of a dock: its name, and buttons to float and close.

    A double-click maximises the dock.
    """

    maximizeRequested = Signal()

    def __init__(self, title: str, dock: QDockWidget) -> None:
        super().__init__(dock)
        self._collapsed = False
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(*MARGINS)
        self._row.setSpacing(0)
        name = label(title.upper(), "heading")
        self._row.addWidget(name, 1)
        self._parts: list[QWidget] = [name]
        for sign, tip, slot in (
            ("↗", f"Move {title} to its own window, or dock it again", self._toggle_floating),
            ("✕", f"Close {title}; reopen it from the Panels menu", dock.close),
        ):
            button = title_button(sign, tip, slot)
            self._row.addWidget(button)
            self._parts.append(button)
        self._dock = dock
        dock.topLevelChanged.connect(self._on_floated)

    def set_collapsed(self, collapsed: bool) -> None:
        """Hide the content if a tab shows the same, or show it again."""
        if collapsed == self._collapsed:
            return
        self._collapsed = collapsed
        self.setVisible(not collapsed)
        # Qt reserves room for a hidden title bar, but only as much as its content needs.
        for part in self._parts:
            part.setVisible(not collapsed)
        self._row.setContentsMargins(*((0, 0, 0, 0) if collapsed else MARGINS))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.maximizeRequested.emit()

    def _toggle_floating(self) -> None:
        self._dock.setFloating(not self._dock.isFloating())

    def _on_floated(self, floating: bool) -> None:
        dock, window = self._dock, self._dock.parentWidget()
        # Qt does not look again for the rule of the edge.
        dock.style().unpolish(dock)
        dock.style().polish(dock)
        if floating and not QApplication.mouseButtons() and isinstance(window, QMainWindow):
            move_away(dock, window.dockWidgetArea(dock))


def move_away(dock: QDockWidget, area: Qt.DockWidgetArea) -> None:
    """Move a panel that begins to float off its place, beside a side column, within the screen."""
    beside = {LEFT: dock.width() + GRID, RIGHT: -dock.width() - GRID}
    place = dock.geometry().translated(beside.get(area, FLOAT_OFFSET), FLOAT_OFFSET)
    screen = dock.screen().availableGeometry()
    place.moveRight(min(place.right(), screen.right()))
    place.moveBottom(min(place.bottom(), screen.bottom()))
    place.moveLeft(max(place.left(), screen.left()))
    place.moveTop(max(place.top(), screen.top()))
    dock.move(place.topLeft())


@dataclass(frozen=True, slots=True)
class Dock:
    """A panel and its initial place."""

    name: str  # Key of the panel, also in a saved layout
    title: str
    area: Qt.DockWidgetArea  # Initial dock area
    make: Callable[[Session, Theme], Panel]  # Builds the panel, and imports its module
    # Whether the panel is built when it first becomes visible, instead of after the first frame.
    lazy: bool = False
    closed: bool = False  # Whether it is initially closed
    group: str = ""  # Of result panels, the title of their group
    key: str = ""  # The digit that brings the panel or its group to the front


def _result(entry: PanelEntry) -> Callable[[Session, Theme], Panel]:
    """Return a factory of a result panel."""

    def make(session: Session, theme: Theme) -> Panel:
        from gui.panels.kit.panel import ResultPanel

        return ResultPanel(entry.spec, session, theme)

    return make


def _side(path: str) -> Callable[[Session, Theme], Panel]:
    """Return a factory of a side panel, by "module:class" below :mod:`gui.side_panels`."""
    module, _, name = path.partition(":")

    def make(session: Session, theme: Theme) -> Panel:
        panel: Panel = getattr(import_module(f"gui.side_panels.{module}"), name)(session, theme)
        return panel

    return make


def _results() -> Iterator[Dock]:
    """Yield the docks of result panels; the first of each built-in group has its key."""
    for digit, (group, entries) in enumerate(GROUPS.items(), start=1):
        for entry in entries:
            key = str(digit) if entry is entries[0] and group != PLUGINS else ""
            yield Dock(
                entry.name, entry.title, BOTTOM, _result(entry), lazy=True, group=group, key=key
            )


DOCKS = (
    Dock("models", "Model", LEFT, _side("models.models:ModelPanel")),
    Dock("positions", "Positions", LEFT, _side("positions:PositionsPanel"), key="8"),
    Dock("view", "View", LEFT, _side("view:ViewPanel"), key="9"),
    Dock("inspector", "Inspector", RIGHT, _side("inspector:InspectorPanel")),
    Dock("prompt", "Prompt", RIGHT, _side("prompt:PromptPanel")),
    Dock("lesson", "Lesson", RIGHT, _side("lesson:LessonPanel"), lazy=True, closed=True),
    Dock(
        "bookmarks", "Bookmarks", RIGHT, _side("bookmarks:BookmarksPanel"), lazy=True, closed=True
    ),
    *_results(),
)
"""All docks, in the order of the menu."""
KEYS = {dock.key: dock for dock in DOCKS if dock.key}
"""The dock of each digit."""


def tab_bars(window: QMainWindow) -> list[QTabBar]:
    """Return Qt's tab bars of docks that share a place.

    Not by ``findChildren``: PySide then keeps a Python object of each bar, even after Qt has
    deleted it, which happens with each change of the arrangement.
    """
    return [child for child in window.children() if isinstance(child, QTabBar)]


def is_docked(dock: QDockWidget) -> bool:
    """Return whether a dock is shown in the window, perhaps behind another tab."""
    return not (dock.isHidden() or dock.isFloating())


def share(
    window: QMainWindow, sizes: Mapping[QDockWidget, int], orientation: Qt.Orientation
) -> None:
    """Set the sizes of docks in pixels, as far as there is room.

    Docks that are temporarily not in the window are skipped.
    """
    docked = {
        dock: size
        for dock, size in sizes.items()
        if window.dockWidgetArea(dock) is not Qt.DockWidgetArea.NoDockWidgetArea
    }
    window.resizeDocks(list(docked), list(docked.values()), orientation)
