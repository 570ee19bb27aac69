"""Tabs of docks that share an area, with the buttons of a title bar."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QMouseEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QTabBar,
    QToolButton,
    QWidget,
)

from gui.style.theme import GRID
from gui.widgets.tooltips import wrapped
from gui.window.docks import DockTitle

_ENDINGS = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide)

_WATCHED = "helixscope watched"


class DockTabs(QObject):
    """Hides the title bars of docks that are tabs, and shows their buttons beside the tabs.

    A double-click floats a tab, the middle button closes it, and its menu offers both.

    The docks have collapsible title bars.
    """

    def __init__(self, window: QMainWindow, docks: Mapping[str, QDockWidget]) -> None:
        super().__init__(window)
        self._window, self._docks = window, docks
        self.buttons = _Buttons(window)
        self.buttons.floated.clicked.connect(lambda: self._float(self._front()))
        self.buttons.closed.clicked.connect(lambda: self._close(self._front()))
        # Qt creates and fills tab bars after the signal of a moved dock.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self.update)
        for dock in docks.values():
            dock.topLevelChanged.connect(self._on_floated)
            dock.visibilityChanged.connect(self._soon.start)
            dock.dockLocationChanged.connect(self._soon.start)

    def stop(self) -> None:
        """Stop all changes, because the window is closing."""
        self._soon.stop()
        for dock in self._docks.values():
            dock.topLevelChanged.disconnect(self._on_floated)
            for signal in (dock.visibilityChanged, dock.dockLocationChanged):
                signal.disconnect(self._soon.start)
        for bar in self._bars():
            bar.removeEventFilter(self)

    def update(self) -> None:
        """Show title bars of docks without tab, and place the buttons."""
        for dock in self._docks.values():
            tabbed = bool(self._window.tabifiedDockWidgets(dock)) and not dock.isFloating()
            title = dock.titleBarWidget()
            if isinstance(title, DockTitle):
                title.set_collapsed(tabbed)
        for bar in self._bars():
            if bar.property(_WATCHED) is None:
                bar.setProperty(_WATCHED, True)
                bar.setUsesScrollButtons(True)
                bar.setElideMode(Qt.TextElideMode.ElideNone)
                bar.setDrawBase(False)
                bar.installEventFilter(self)
                bar.currentChanged.connect(self._soon.start)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _ENDINGS:
            self._soon.start()
        elif isinstance(watched, QTabBar) and isinstance(event, QMouseEvent):
            if self._on_mouse(watched, event):
                return True
        elif isinstance(watched, QTabBar) and isinstance(event, QContextMenuEvent):
            self._show_menu(watched, event.pos())
            return True
        return super().eventFilter(watched, event)

    def _on_mouse(self, bar: QTabBar, event: QMouseEvent) -> bool:
        """Float or close the dock of a tab; return whether the event did that."""
        released = event.type() == QEvent.Type.MouseButtonRelease
        if event.type() == QEvent.Type.MouseButtonDblClick:
            self._float(self._dock_at(bar, event.position().toPoint()))
        elif released and event.button() is Qt.MouseButton.MiddleButton:
            self._close(self._dock_at(bar, event.position().toPoint()))
        else:
            return False
        return True

    def _on_floated(self, floating: bool) -> None:
        if not floating:
            dock = self.sender()
            if isinstance(dock, QDockWidget):
                dock.raise_()  # otherwise it would be behind the new front tab
        self._soon.start()

    def _bars(self) -> list[QTabBar]:
        # Searched each time, because Qt creates and deletes them.
        return self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)

    def _bar(self) -> QTabBar | None:
        """Return the tab bar at the bottom, if one is in use."""
        mine = {dock.windowTitle() for dock in self._docks.values()}
        for bar in self._bars():
            titles = {bar.tabText(i) for i in range(bar.count())}
            if bar.isVisible() and titles & mine:
                return bar
        return None

    def _front(self) -> QDockWidget | None:
        bar = self._bar()
        return None if bar is None else self._titled(bar.tabText(bar.currentIndex()))

    def _dock_at(self, bar: QTabBar, point: QPoint) -> QDockWidget | None:
        return self._titled(bar.tabText(bar.tabAt(point)))

    def _titled(self, title: str) -> QDockWidget | None:
        return next((d for d in self._docks.values() if d.windowTitle() == title), None)

    def _float(self, dock: QDockWidget | None) -> None:
        if dock is not None:
            dock.setFloating(True)

    def _close(self, dock: QDockWidget | None) -> None:
        if dock is not None:
            dock.close()

    def _show_menu(self, bar: QTabBar, at: QPoint) -> None:
        dock = self._dock_at(bar, at)
        if dock is None:
            return
        menu = QMenu(bar)
        menu.addAction("Float", lambda: self._float(dock))
        menu.addAction("Close", lambda: self._close(dock))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(bar.mapToGlobal(at))

    def _place(self) -> None:
        """Place the buttons at the right end of the tab bar, if there is room."""
        bar = self._bar()
        if bar is None:
            self.buttons.hide()
            return
        size, end = self.buttons.sizeHint(), bar.tabRect(bar.count() - 1).right()
        if end + size.width() > bar.width():
            self.buttons.hide()
            return
        corner = bar.geometry().topRight() - QPoint(size.width() - 1, 0)
        self.buttons.setGeometry(corner.x(), corner.y(), size.width(), bar.height())
        self.buttons.show()
        self.buttons.raise_()


class _Buttons(QWidget):
    """Float and close buttons, as in a title bar."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, GRID, 0)
        row.setSpacing(0)
        self.floated, self.closed = QToolButton(), QToolButton()
        for button, sign, tip in (
            (self.floated, "↗", "Move this panel to its own window"),
            (self.closed, "✕", "Close this panel; reopen it from the Panels menu"),
        ):
            button.setText(sign)
            button.setToolTip(wrapped(tip))
            button.setAccessibleName(tip)
            button.setProperty("role", "title button")
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(button)
        self.hide()
