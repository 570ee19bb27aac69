"""The places of the window and its docks, as plain values that can be saved and restored.

Qt's own bytes are never read from a file: Qt does not check them, and a single changed byte can end
the process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, get_args

from PySide6.QtCore import QEvent, QPointF, QRect, Qt
from PySide6.QtGui import QCursor, QGuiApplication, QMouseEvent, QRegion
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QWidget

from gui.panels.table import PLUGINS
from gui.state.layout import (
    LARGEST,
    Area,
    Floating,
    Layout,
    Node,
    Rectangle,
    Size,
    Tabs,
    WindowPlace,
    along,
    docks_in,
    in_window,
    nested,
    settled,
)
from gui.style.theme import GRID
from gui.window.arrangement.docks import BOTTOM, DOCKS, LEFT, RIGHT, is_docked, share, tab_bars

if TYPE_CHECKING:
    from gui.window.host import HostWindow

AREAS: Mapping[Area, Qt.DockWidgetArea] = {
    "left": LEFT,
    "right": RIGHT,
    "top": Qt.DockWidgetArea.TopDockWidgetArea,
    "bottom": BOTTOM,
}
_NAMES = {area: name for name, area in AREAS.items()}
_ORIENTATIONS = {"row": Qt.Orientation.Horizontal, "column": Qt.Orientation.Vertical}
NARROW = frozenset(dock.name for dock in DOCKS if dock.area != BOTTOM)
"""Docks of controls, whose columns have the same width in any window."""
TITLE_BAR = 5 * GRID
"""Estimated height of the window manager's title bar, which is not known yet."""


def take_place(window: QMainWindow) -> WindowPlace:
    """Return the place of a window on the screen."""
    normal = window.normalGeometry()
    if window.isFullScreen():
        return WindowPlace(_bounded(normal), "full screen")
    if window.isMaximized():
        return WindowPlace(_bounded(normal), "maximised")
    return WindowPlace(_bounded(window.geometry()))


def put(window: QMainWindow, place: WindowPlace) -> None:
    """Put a window in a place, moved onto the screens if necessary."""
    window.setGeometry(_on_screen(place.rectangle, window))
    if place.state == "full screen":
        window.setWindowState(Qt.WindowState.WindowFullScreen)
    elif place.state == "maximised":
        window.setWindowState(Qt.WindowState.WindowMaximized)


def take_layout(window: HostWindow) -> Layout:
    """Return the places of a window's docks."""
    docks = window.docks
    hidden: dict[str, Area] = {}
    floating: dict[str, Floating] = {}
    shown: dict[Area, list[str]] = {area: [] for area in get_args(Area)}
    for name, dock in docks.items():
        area = _NAMES.get(window.dockWidgetArea(dock))
        if area is None:
            continue
        if dock.isFloating():
            floating[name] = Floating(area, _bounded(dock.geometry()), dock.isHidden())
        elif dock.isHidden():
            hidden[name] = area
        else:
            shown[area].append(name)
    areas: dict[Area, Node] = {}
    for area, names in shown.items():
        if names:
            areas[area] = nested(_groups(window, names), along(area))
    return Layout(areas, hidden, floating, _size_of(window))


def _size_of(window: QMainWindow) -> Size:
    _, _, width, height = _bounded(window.rect())
    return width, height


def _groups(window: HostWindow, names: list[str]) -> list[tuple[Tabs, Rectangle]]:
    """Return the groups of docks that are tabs of each other, with their rectangles."""
    bars = tab_bars(window)
    titles = {window.docks[name].windowTitle(): name for name in names}
    groups, remaining = [], list(names)
    while remaining:
        first = remaining[0]
        tabbed = {dock.objectName() for dock in window.tabifiedDockWidgets(window.docks[first])}
        group = [name for name in remaining if name == first or name in tabbed]
        remaining = [name for name in remaining if name not in group]
        tabs, room = Tabs(tuple(group), group[0]), QRect()
        for bar in bars:
            order = [titles.get(bar.tabText(at), "") for at in range(bar.count())]
            if len(group) > 1 and set(order) == set(group):
                tabs, room = Tabs(tuple(order), order[bar.currentIndex()]), bar.geometry()
        groups.append((tabs, _bounded(room.united(window.docks[tabs.front].geometry()))))
    return groups


def drop_dragged_dock() -> None:
    """End the drag of a dock, before the layout changes.

    During a drag, Qt keeps pointers into the layout.
    """
    dragged = QWidget.mouseGrabber()
    if isinstance(dragged, QDockWidget):
        at = QPointF(QCursor.pos())
        release = QMouseEvent(
            QEvent.Type.MouseButtonRelease,
            dragged.mapFromGlobal(at),
            at,
            Qt.MouseButton.LeftButton,
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(dragged, release)


def apply_layout(window: HostWindow, layout: Layout) -> None:
    """Put a window's docks in their places; docks that the layout lacks are in their initial ones.

    Result panels that it lacks are closed if it has others: they came after it was stored. Those of
    plugins, which were installed since, are tabs beside others that are not closed.

    Docks are placed while they are hidden, and the front one of tabs is shown first, so that only
    visible panels are built.
    """
    drop_dragged_dock()
    docks = window.docks
    named = {*layout.hidden, *layout.floating, *chain(*map(docks_in, layout.areas.values()))}
    results = {dock.name for dock in DOCKS if dock.area == BOTTOM}
    if results & named - set(layout.hidden):
        results -= {dock.name for dock in DOCKS if dock.group == PLUGINS}
    closed = {dock.name for dock in DOCKS if dock.closed} | (results if results & named else set())
    away = {*layout.hidden, *(closed - named), *layout.floating}
    layout = settled(layout, {dock.name: _NAMES[dock.area] for dock in DOCKS}, ("bottom",))
    updates = window.updatesEnabled()
    window.setUpdatesEnabled(False)
    try:
        for dock in docks.values():
            if dock.isFloating():
                dock.setFloating(False)
            window.removeDockWidget(dock)
        for area, node in layout.areas.items():
            window.addDockWidget(AREAS[area], docks[_first(node)])
            _grow(window, node)
        for name, floats in layout.floating.items():
            docks[name].setFloating(True)
            # Qt would not enable the updates of what has become a window meanwhile.
            docks[name].setUpdatesEnabled(updates)
            docks[name].setGeometry(_on_screen(floats.rectangle, docks[name]))
            docks[name].setVisible(not floats.hidden)
        for node in layout.areas.values():
            for tabs in _leaves(node):
                _show([name for name in tabs.docks if name not in away], tabs.front, docks)
        window.results.tabs.settle()  # sets title bars, which take room
        _lay_out(window)
        for node in layout.areas.values():
            for tabs in _leaves(node):
                if tabs.front not in away:
                    docks[tabs.front].raise_()
        resize_docks(window, layout)
    finally:
        window.setUpdatesEnabled(updates)


def _first(node: Node) -> str:
    return next(docks_in(node))


def _leaves(node: Node) -> list[Tabs]:
    return [node] if isinstance(node, Tabs) else [*chain(*map(_leaves, node.parts))]


def _grow(window: HostWindow, node: Node) -> None:
    """Put all docks of a node beside its first one, which is in place already."""
    docks = window.docks
    if isinstance(node, Tabs):
        for before, name in pairwise(node.docks):
            window.tabifyDockWidget(docks[before], docks[name])
        return
    # First all parts: a dock with tabs cannot be split any more.
    for part, following in pairwise(node.parts):
        orientation = _ORIENTATIONS[node.direction]
        window.splitDockWidget(docks[_first(part)], docks[_first(following)], orientation)
    for part in node.parts:
        _grow(window, part)


def _show(names: list[str], front: str, docks: Mapping[str, QDockWidget]) -> None:
    """Show docks that share a place."""
    for name in sorted(names, key=lambda name: name != front):
        docks[name].show()
    if front in names:
        docks[front].raise_()


def _lay_out(window: QMainWindow) -> None:
    layout = window.layout()
    assert layout is not None
    layout.activate()


def resize_docks(window: HostWindow, layout: Layout) -> None:
    """Set the docks' shares of the window.

    Called again when panels are built, whose minimum sizes change the docks.
    """
    docks = window.docks
    layout = in_window(layout, _size_of(window), NARROW)
    _lay_out(window)
    shown = {name for name, dock in docks.items() if is_docked(dock)}
    for area, node in layout.areas.items():
        fronts = _fronts(node, shown)
        if fronts and node.size:
            across = along(area) == "column"
            orientation = Qt.Orientation.Horizontal if across else Qt.Orientation.Vertical
            share(window, {docks[fronts[0]]: node.size}, orientation)
        _resize_parts(window, node, shown)


def _resize_parts(window: HostWindow, node: Node, shown: Collection[str]) -> None:
    """Set the sizes of a node's parts, from the outside to the inside."""
    if isinstance(node, Tabs):
        return
    sizes = {}
    for part in node.parts:
        fronts = _fronts(part, shown)
        if fronts and part.size:
            sizes[window.docks[fronts[0]]] = part.size
    share(window, sizes, _ORIENTATIONS[node.direction])
    for part in node.parts:
        _resize_parts(window, part, shown)


def _fronts(node: Node, shown: Collection[str]) -> list[str]:
    """Return one shown dock of each place: the front one, if it is shown."""
    fronts = []
    for tabs in _leaves(node):
        visible = [name for name in tabs.docks if name in shown]
        if visible:
            fronts.append(tabs.front if tabs.front in visible else visible[0])
    return fronts


def _bounded(rectangle: QRect) -> Rectangle:
    """Return a rectangle with the bounds of saved ones."""
    left, top = (max(-LARGEST, min(at, LARGEST)) for at in (rectangle.x(), rectangle.y()))
    width, height = (max(1, min(n, LARGEST)) for n in (rectangle.width(), rectangle.height()))
    return left, top, width, height


def _on_screen(rectangle: Rectangle, window: QWidget) -> QRect:
    """Return the rectangle of a window, moved into the screens.

    If it is not within them, it is moved to the screen with most of it, below a title bar.
    """
    moved = QRect(*rectangle)
    moved.setSize(moved.size().expandedTo(window.minimumSizeHint()))
    rooms = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    outside = QRegion(moved)
    for room in rooms:
        outside -= QRegion(room)
    if outside.isEmpty():
        return moved
    parts = [room.intersected(moved).size() for room in rooms]
    areas = [size.width() * size.height() for size in parts]
    room = rooms[areas.index(max(areas))]  # the first one is the primary screen
    room.setTop(room.top() + TITLE_BAR)
    moved.setSize(moved.size().boundedTo(room.size()))
    moved.moveLeft(max(room.left(), min(moved.left(), room.right() + 1 - moved.width())))
    moved.moveTop(max(room.top(), min(moved.top(), room.bottom() + 1 - moved.height())))
    return moved
