"""One tab for each group of panels, over Qt's tabs of single docks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import shiboken6
from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QMouseEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QTabBar,
    QToolButton,
    QWidget,
)

from gui.panels.table import GROUPS, PANELS
from gui.services.jobs.jobs import gui_first
from gui.style.theme import GRID
from gui.widgets.label import without_keys
from gui.window.arrangement.docks import DockTitle, is_docked, share, tab_bars, title_button

CLOSER = 12
"""Pixels by which a tab is narrower if there is little room, as in the style sheet."""
BUTTONS = {
    "maximize": ("□", "Maximise this panel, or bring back the others"),
    "float": ("↗", "Show this panel in a window of its own"),
    "close": ("✕", "Close this panel; reopen it from the Panels menu"),
    "all": ("▾", "Hide the result panels"),
}
"""Buttons beside the tabs: what they request, their signs and tips."""
SPARED = frozenset({"float", "close"})
"""Buttons that are hidden first if there is little room."""
FIRST_SHARE, FIRST_SHARE_BESIDE = 0.36, 0.5
"""Initial share of the window's height for panels below the viewport, and of its width for panels
beside it."""
FIRST_HEIGHT, MAX_SHARE = 324, 0.44
"""Minimum initial height of panels below the viewport, in logical pixels, and its maximum share of
a low window's height."""


class DockTabs(QObject):
    """Shows the docks of a place as tabs of their groups, and hides their title bars.

    Qt has a tab for each dock, too many for a row. A bar of groups covers them; the panels of a
    group are chosen in their headers. While all panels are hidden, a bar in the central widget
    opens them again.

    The docks have collapsible title bars.

    Attributes
    ----------
    closed_bar
        The bar of the central widget.
    maximize
        Called with a dock to maximise or restore.
    restore_maximized
        Called before panels are hidden or shown, to restore what a maximised panel hides.
    """

    def __init__(self, window: QMainWindow, docks: Mapping[str, QDockWidget]) -> None:
        super().__init__(window)
        self._window, self._docks = window, docks
        self.maximize: Callable[[QDockWidget], None] = lambda dock: None
        self.restore_maximized: Callable[[], None] = lambda: None
        self._latest: dict[str, str] = {}  # The dock that was in front last, by group
        self._bars: dict[QTabBar, GroupBar] = {}  # By Qt's bar, its parent
        self._open = True
        self._closed: tuple[str, ...] = ()
        # Of the window's height below the viewport, or width beside it, when panels were hidden
        self._shares: dict[Qt.Orientation, float] = {}
        self.closed_bar = GroupBar(self._latest, closed=True)
        self.closed_bar.hide()
        self.closed_bar.requested.connect(self._carry_out)
        # Qt creates and fills tab bars after the signal of a moved dock.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self.update)
        # Beside the viewport, panels keep their share of the window's width.
        self._share_beside = FIRST_SHARE_BESIDE
        self._settled_width = 0
        self._resized = QTimer(self, interval=0, singleShot=True)
        self._resized.timeout.connect(self._keep_share)
        window.installEventFilter(self)
        for dock in docks.values():
            dock.installEventFilter(self)
            dock.topLevelChanged.connect(self._on_floated)
            dock.visibilityChanged.connect(self._soon.start)
            dock.dockLocationChanged.connect(self._soon.start)

    def stop(self) -> None:
        """Stop all changes, because the window is closing."""
        self._soon.stop()
        self._resized.stop()
        self._window.removeEventFilter(self)
        for dock in self._docks.values():
            dock.removeEventFilter(self)
            dock.topLevelChanged.disconnect(self._on_floated)
            for signal in (dock.visibilityChanged, dock.dockLocationChanged):
                signal.disconnect(self._soon.start)
        for bar in self._bars:
            if shiboken6.isValid(bar):
                bar.removeEventFilter(self)

    # ---- all panels at once ----

    @property
    def is_open(self) -> bool:
        """Whether any of the panels is in the window."""
        return any(map(is_docked, self._docks.values()))

    def close(self) -> None:
        """Hide all docked panels."""
        self.restore_maximized()
        self._closed = tuple(name for name, dock in self._docks.items() if is_docked(dock))
        for dock in self._docks.values():
            if not dock.isFloating() and not dock.visibleRegion().isEmpty():
                orientation, place = self._orientation(dock), _place_of(self._window, dock)
                size, room = place.size(), self._window.size()
                self._shares[orientation] = _along(orientation, size) / _along(orientation, room)
        for name in self._closed:
            self._docks[name].hide()
        self.update()

    def open(self, front: str = "") -> None:
        """Show the hidden panels again, one of them in front."""
        names = self._closed or tuple(
            name for name, dock in self._docks.items() if not dock.isFloating()
        )
        # The first panel shown is built.
        front = front or self._latest.get("", names[0] if names else "")
        layout = self._window.layout()
        assert layout is not None
        with gui_first():
            for name in sorted(names, key=lambda name: name != front):
                self._docks[name].show()
            layout.activate()  # otherwise a window that is not visible yet raises no tab
        if front in self._docks:
            self._docks[front].show()
            self._docks[front].raise_()
        self.settle()
        if front in self._docks:
            orientation = self._orientation(self._docks[front])
            room = _along(orientation, self._window.size())
            below = orientation is Qt.Orientation.Vertical
            first = first_height(room) if below else FIRST_SHARE_BESIDE * room
            size = self._shares[orientation] * room if orientation in self._shares else first
            share(self._window, {self._docks[front]: round(size)}, orientation)

    def _orientation(self, dock: QDockWidget) -> Qt.Orientation:
        """Return the orientation in which a dock shares the window with the viewport."""
        beside = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)
        if self._window.dockWidgetArea(dock) in beside:
            return Qt.Orientation.Horizontal
        return Qt.Orientation.Vertical

    def reset_shares(self) -> None:
        """Open the panels with their initial height or width."""
        self._shares.clear()

    def show(self, name: str) -> None:
        """Show a dock in front."""
        dock = self._dock(name)
        if dock.isHidden():
            self.restore_maximized()
        if name in self._docks and not (self.is_open or dock.isFloating()):
            self.open(name)
        dock.show()
        dock.raise_()
        self._store_front(name)

    def _store_front(self, name: str) -> None:
        self._latest[group_of(name)] = self._latest[""] = name

    def settle(self) -> None:
        """Accept the docks' current state, which a layout has set."""
        self._closed = ()
        self._open = self.is_open
        self.update()

    def toggle(self) -> None:
        """Hide the panels, or show them again, also if a maximised panel hides them."""
        if self.is_open:
            self.close()
            return
        self.restore_maximized()
        if not self.is_open:
            self.open()

    # ---- tabs ----

    def latest(self, group: str) -> str:
        """Return the dock of a group that was last in front; "" for none."""
        return self._latest.get(group, "")

    def update(self) -> None:
        """Show title bars of docks without tabs, and the tabs of the others."""
        if self.is_open and not self._open:  # one was shown, so the others are shown, too
            shown = next(n for n, dock in self._docks.items() if not dock.isHidden())
            self.restore_maximized()
            self.show(shown) if self._open else self.open(shown)
            return
        self._open = self.is_open
        for dock in self._docks.values():
            tabbed = bool(self._window.tabifiedDockWidgets(dock)) and not dock.isFloating()
            title = dock.titleBarWidget()
            if isinstance(title, DockTitle):
                title.set_collapsed(tabbed)
        self._bars = {bar: cover for bar, cover in self._bars.items() if shiboken6.isValid(bar)}
        for bar in tab_bars(self._window):
            self._cover(bar)
        self.closed_bar.show_docks({n: d.windowTitle() for n, d in self._docks.items()}, "")
        self.closed_bar.setVisible(not self._open)

    def _cover(self, bar: QTabBar) -> None:
        """Cover one of Qt's bars with the groups of its docks, if it has any of these docks."""
        titles = {dock.windowTitle(): name for name, dock in self._docks.items()}
        tabs = [bar.tabText(at) for at in range(bar.count())]
        if not any(title in titles for title in tabs):
            if bar in self._bars:
                self._bars[bar].hide()
            return
        if bar not in self._bars:
            bar.setUsesScrollButtons(True)
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setDrawBase(False)
            bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            bar.installEventFilter(self)
            bar.currentChanged.connect(self._soon.start)
            self._bars[bar] = GroupBar(self._latest, bar)
            self._bars[bar].requested.connect(self._carry_out)
        names = {titles.get(title, title): title for title in tabs}
        front = list(names)[bar.currentIndex()]
        if bar.isVisible():
            self._store_front(front)
        self._bars[bar].show_docks(names, front)
        self._fit(bar)
        self._bars[bar].show()
        self._bars[bar].raise_()

    def _carry_out(self, request: str, name: str) -> None:
        """Carry out a request of a bar, about a dock if it is not about all of them."""
        match request:
            case "all":
                self.toggle()
            case "show":
                self.show(name)
            case "maximize":
                self.maximize(self._dock(name))
            case "float":
                self._dock(name).setFloating(True)
            case "close":
                self._dock(name).close()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QTabBar):
            if event.type() == QEvent.Type.Resize:
                self._fit(watched)
            elif event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
                self._soon.start()
        elif isinstance(event, QResizeEvent):
            if isinstance(watched, QDockWidget):
                self._store_share(watched)
            elif self._window.width() != self._settled_width:
                self._resized.start()
        return super().eventFilter(watched, event)

    def _store_share(self, dock: QDockWidget) -> None:
        """Store a dock's share of the window, unless the window is being resized."""
        width = self._window.width()
        beside = self._orientation(dock) is Qt.Orientation.Horizontal
        if is_docked(dock) and width == self._settled_width and beside:
            self._share_beside = dock.width() / width

    def _keep_share(self) -> None:
        # The front panel at a side of the viewport; there is none if panels are below it.
        front = next(filter(self._is_beside, self._docks.values()), None)
        layout = self._window.layout()
        if front is not None and layout is not None:
            layout.activate()  # otherwise sizes are outdated
            width = round(self._share_beside * self._window.width())
            share(self._window, {front: width}, Qt.Orientation.Horizontal)
        self._settled_width = self._window.width()

    def _is_beside(self, dock: QDockWidget) -> bool:
        visible = is_docked(dock) and not dock.visibleRegion().isEmpty()
        return visible and self._orientation(dock) is Qt.Orientation.Horizontal

    def _fit(self, bar: QTabBar) -> None:
        self._bars[bar].setGeometry(bar.rect())

    def _dock(self, name: str) -> QDockWidget:
        """Return a dock by its name; other docks, dropped among the panels, by their titles."""
        if name in self._docks:
            return self._docks[name]
        docks = self._window.findChildren(QDockWidget)
        return next(dock for dock in docks if dock.windowTitle() == name)

    def _on_floated(self, floating: bool) -> None:
        if not floating:
            dock = self.sender()
            if isinstance(dock, QDockWidget):
                dock.raise_()  # otherwise it would be behind the new front tab
        self._soon.start()


def first_height(window: int) -> int:
    """Return the initial height of panels below the viewport, for a window's height."""
    return round(min(max(FIRST_SHARE * window, FIRST_HEIGHT), MAX_SHARE * window))


def group_of(dock: str) -> str:
    """Return the title of a dock's group; a dock without a group is its own group."""
    return PANELS[dock].group if dock in PANELS else dock


class GroupBar(QWidget):
    """A tab for each group of docks, and buttons for the dock in front.

    A click shows the dock of a group that was last in front. A double-click maximises it; beside
    the tabs, it maximises the dock in front. The middle button closes it. The tab's menu has all
    docks of the group.

    Parameters
    ----------
    latest
        The dock of each group that was last in front, by the group's title.
    parent
        Qt's tab bar, which this covers.
    closed
        Whether the panels are hidden; then no tab is the current one.
    """

    requested = Signal(str, str)
    """To show, maximize, float or close a dock; or "all", to hide all or show them again."""

    def __init__(
        self, latest: Mapping[str, str], parent: QWidget | None = None, *, closed: bool = False
    ) -> None:
        super().__init__(parent)
        self._latest = latest
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._titles: dict[str, str] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._front = ""
        self.tabs = _Tabs()
        self.tabs.setProperty("closed", closed)
        self.tabs.setAccessibleName("Groups of panels")
        self.tabs.requested.connect(lambda what, at: self.requested.emit(what, self._shown_by(at)))
        self.tabs.menuRequested.connect(self._show_menu)
        self.tabs.barDoubleClicked.connect(self._on_bar_double_clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, GRID, 1)  # the bar's line is below the tabs
        row.setSpacing(0)
        row.addWidget(self.tabs, 1)
        self.buttons: dict[str, QToolButton] = {}
        buttons = {"all": ("▴", "Show the result panels")} if closed else BUTTONS
        for name, (sign, tip) in buttons.items():
            self.buttons[name] = title_button(sign, tip, partial(self._request, name))
            row.addWidget(self.buttons[name])

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()  # Qt's bar below would change the dock in front

    def show_docks(self, titles: Mapping[str, str], front: str) -> None:
        """Show the groups of docks; ``titles`` are by the docks' names."""
        groups: dict[str, tuple[str, ...]] = {}
        for name in titles:
            groups[group_of(name)] = (*groups.get(group_of(name), ()), name)
        order = dict.fromkeys((*(title for title in GROUPS if title in groups), *groups))
        groups = {title: groups[title] for title in order}
        self._titles, self._groups, self._front = dict(titles), groups, front
        self.tabs.show_tabs(list(groups), group_of(front) if front else "")
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Hide buttons that the tabs' menu has, too, if there is no room for all tabs."""
        buttons = sum(button.sizeHint().width() for button in self.buttons.values())
        fits = self.tabs.needed + buttons + GRID <= self.width()
        for name in SPARED & self.buttons.keys():
            self.buttons[name].setVisible(fits)

    def _on_bar_double_clicked(self) -> None:
        """Maximise the panel in front, or open the panels, as on a window's title bar."""
        self._request("maximize" if self._front else "all")

    def _request(self, what: str, _checked: bool = False) -> None:
        self.requested.emit(what, self._front)

    def _shown_by(self, at: int) -> str:
        """Return the dock that a click on a tab shows."""
        title, names = list(self._groups.items())[at]
        return self._latest[title] if self._latest.get(title) in names else names[0]

    def _show_menu(self, at: int, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        for name in list(self._groups.values())[at]:
            action = menu.addAction(without_keys(self._titles[name]))
            action.triggered.connect(lambda _=False, name=name: self.requested.emit("show", name))
            action.setCheckable(True)
            action.setChecked(name == self._front)
        menu.addSeparator()
        for title, what in (("Maximise", "maximize"), ("Float", "float"), ("Close", "close")):
            menu.addAction(title, partial(self.requested.emit, what, self._shown_by(at)))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(event.globalPos())


class _Tabs(QTabBar):
    """A tab bar whose tabs are chosen by a click or a key; other gestures emit signals."""

    requested = Signal(str, int)
    """To show, maximize or close the dock of a tab."""
    menuRequested = Signal(int, QContextMenuEvent)
    barDoubleClicked = Signal()
    """A double-click beside the tabs."""

    def __init__(self) -> None:
        super().__init__()
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.tabBarClicked.connect(self._on_pressed)
        # By a key; a click has come before.
        self.currentChanged.connect(lambda at: self.requested.emit("show", at))

    def show_tabs(self, titles: Sequence[str], current: str) -> None:
        """Show tabs without a signal."""
        self.blockSignals(True)
        if [self.tabText(at) for at in range(self.count())] != list(titles):
            while self.count():
                self.removeTab(self.count() - 1)
            for title in titles:
                self.addTab(title)
            self._fit()
        if current in titles:
            self.setCurrentIndex(list(titles).index(current))
        self.blockSignals(False)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @property
    def needed(self) -> int:
        """The minimum width in which all tabs are visible."""
        width = sum(self.tabSizeHint(at).width() for at in range(self.count()))
        return width - (0 if self.property("close") else CLOSER * self.count())

    def _fit(self) -> None:
        """Move the tabs closer together if there is little room."""
        now = bool(self.property("close"))
        close = self.needed + CLOSER * self.count() > self.width()
        if close != now:
            self.setProperty("close", close)
            self.style().unpolish(self)
            self.style().polish(self)
            # This updates its tabs' places, too.
            QApplication.sendEvent(self, QEvent(QEvent.Type.StyleChange))

    def _on_pressed(self, at: int) -> None:
        if at == self.currentIndex():  # for other tabs, currentChanged is emitted
            self.requested.emit("show", at)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at = self.tabAt(event.position().toPoint())
        if event.button() is Qt.MouseButton.MiddleButton and at >= 0:
            self.requested.emit("close", at)
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = self.tabAt(event.position().toPoint())
        if event.button() is Qt.MouseButton.LeftButton:
            self.requested.emit("maximize", at) if at >= 0 else self.barDoubleClicked.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()  # Qt would change tabs, and so build one panel after another

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = self.tabAt(event.pos())
        if at >= 0:
            self.menuRequested.emit(at, event)


def _along(orientation: Qt.Orientation, size: QSize) -> int:
    return size.width() if orientation is Qt.Orientation.Horizontal else size.height()


def _place_of(window: QMainWindow, dock: QDockWidget) -> QRect:
    """Return the place of a docked panel in the window, including the tab bar of that place."""
    place = dock.geometry()
    if window.tabifiedDockWidgets(dock):
        for bar in tab_bars(window):
            titles = [bar.tabText(at) for at in range(bar.count())]
            if bar.isVisible() and dock.windowTitle() in titles:
                place = place.united(bar.geometry())
    return place
