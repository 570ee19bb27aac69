"""Columns of docks beside the viewport; their panels scroll if the window is too low."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QDockWidget

from gui.window.arrangement.dock_panel import DockPanel
from gui.window.arrangement.docks import (
    BOTTOM,
    DOCKS,
    LEFT,
    RIGHT,
    DockTitle,
    is_docked,
    share,
    tab_bars,
)
from gui.window.host import HostWindow

MIN_SIZE = QSize(600, 480)
"""Minimum size of the window in logical pixels; larger if panels are wider."""
SIDE = tuple(dock.name for dock in DOCKS if dock.area != BOTTOM)
"""The docks of panels that are initially beside the viewport."""


class SideColumns(QObject):
    """Lets the panels of a column scroll while the window is too low for all of it.

    A window narrower than its minimum width, as on a small screen or in a tiling desktop, hides one
    column: the right one, or the left one when a panel in the right one is shown.
    """

    def __init__(self, window: HostWindow) -> None:
        super().__init__(window)
        self._window = window
        self._hidden: list[QDockWidget] = []
        self._width = 0  # Of the folded column
        self._shown: set[QDockWidget] = set()
        layout = window.layout()
        assert layout is not None
        layout.setSizeConstraint(layout.SizeConstraint.SetNoConstraint)
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self.fit)
        window.installEventFilter(self)

    def stop(self) -> None:
        """Stop all changes, because the window is closing; show the hidden column."""
        self._soon.stop()
        self._window.removeEventFilter(self)
        self._show_column()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._soon.start()
        return super().eventFilter(watched, event)

    def fit(self) -> None:
        """Set whether panels scroll, and hide or show a column, for the window's size."""
        window = self._window
        bars = (window.menuBar(), window.toolbar, window.status_bar)
        room = window.height() - sum(bar.height() for bar in bars if bar.isVisible())
        for bar in tab_bars(window):
            bar.setAccessibleName("Panels of this place")
            if not bar.usesScrollButtons():  # setting them again would cause a new layout
                bar.setElideMode(Qt.TextElideMode.ElideNone)
                bar.setUsesScrollButtons(True)
        for name in SIDE:
            self._show_title(window.docks[name])
        for area in (LEFT, RIGHT):
            docks = {n: dock for n, dock in window.docks.items() if self._is_in(dock, area)}
            low = sum(map(self._needed, docks.values())) > room
            for name, dock in docks.items():
                panel = dock.widget()
                if name in SIDE and isinstance(panel, DockPanel):
                    panel.set_scrolls(low)
        layout = window.layout()
        assert layout is not None
        min_width = max(MIN_SIZE.width(), layout.minimumSize().width())
        widest = window.screen().availableGeometry().width()
        stays = min_width > widest or window.minimumWidth() == min_width
        if window.width() < min_width and stays:
            self._hide_column()  # the window cannot become wider, or did not
        elif self._hidden and window.width() >= min_width + self._width:
            self._show_column()
        # A Wayland compositor ends a window that is larger than its screen when it fills that.
        window.setMinimumSize(min(min_width, widest), MIN_SIZE.height())
        self._shown = {dock for area in (LEFT, RIGHT) for dock in self._column(area)}

    @property
    def widths(self) -> dict[QDockWidget, int]:
        """The widths of the columns, each by one of its docks."""
        columns = filter(None, map(self._column, (LEFT, RIGHT)))
        return {docks[0]: docks[0].width() for docks in columns}

    def set_widths(self, widths: Mapping[QDockWidget, int]) -> None:
        """Set :attr:`widths`, once a change of the style has reached the panels."""
        QTimer.singleShot(0, self, lambda: share(self._window, widths, Qt.Orientation.Horizontal))

    def _hide_column(self) -> None:
        for area in (RIGHT, LEFT):
            docks = self._column(area)
            if docks and self._shown.issuperset(docks):
                self._hidden, self._width = docks, docks[0].width()
                for dock in docks:
                    dock.hide()
                return

    def _column(self, area: Qt.DockWidgetArea) -> list[QDockWidget]:
        """Return the docks of a column that are not hidden, except result panels."""
        docks = [self._window.docks[name] for name in SIDE]
        return [d for d in docks if is_docked(d) and self._window.dockWidgetArea(d) == area]

    def _show_column(self) -> None:
        for dock in self._hidden:
            dock.show()
        self._hidden = []

    def _show_title(self, dock: QDockWidget) -> None:
        """Show a dock's title bar, unless its tab shows the same."""
        tabs = [tab for tab in self._window.tabifiedDockWidgets(dock) if not tab.isHidden()]
        title = dock.titleBarWidget()
        assert isinstance(title, DockTitle)
        title.set_collapsed(bool(tabs) and not dock.isFloating())

    def _is_in(self, dock: QDockWidget, area: Qt.DockWidgetArea) -> bool:
        """Return whether a dock takes height in a column: of tabs, only the front one."""
        docked = self._window.dockWidgetArea(dock) == area and not dock.isFloating()
        return docked and dock.isVisible() and not dock.visibleRegion().isEmpty()

    def _needed(self, dock: QDockWidget) -> int:
        """Return the minimum height of a dock without scrolling, with its tabs."""
        panel, height = dock.widget(), dock.minimumSizeHint().height()
        if isinstance(panel, DockPanel):
            height += panel.needed.height() - panel.minimumSizeHint().height()
        if self._window.tabifiedDockWidgets(dock):
            bars = tab_bars(self._window)
            height += max((bar.height() for bar in bars if bar.isVisible()), default=0)
        return height
