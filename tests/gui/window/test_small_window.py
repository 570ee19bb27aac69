"""The window on small screens and in tiling desktops: nothing is cut, or painted over another."""

from itertools import combinations

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QScrollBar,
    QTabBar,
    QWidget,
)

from gui.panels.compare.table import CompareTable
from gui.panels.table import PANELS
from gui.widgets.label import ElidedLabel
from gui.window.arrangement.focus_navigation import in_front
from gui.window.arrangement.workspaces import WORKSPACES

FIELDS = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit)
CONTROLS = (*FIELDS, QAbstractScrollArea, QLabel, QTabBar, QDockWidget)
SMALL = QSize(800, 560)
HALF = QSize(640, 720)


def place(widget, window):
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


def seen(window):
    """Controls that are seen, but for those that Qt puts over others itself."""
    behind = [dock for dock in window.docks.values() if not in_front(dock)]
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, CONTROLS) or isinstance(widget, QScrollBar):
            continue
        if widget.isWindow() or not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        arrow = isinstance(widget.parentWidget(), QTabBar)
        if not arrow and not any(dock.isAncestorOf(widget) for dock in behind):
            yield widget


def is_cut(widget, window):
    """Whether a control is beyond what it is in; below it only where that does not scroll."""
    mine, inner = place(widget, window), widget.parentWidget()
    while inner is not None and inner is not window:
        room, outer = place(inner, window), inner.parentWidget()
        if isinstance(outer, QAbstractScrollArea) and outer.viewport() is inner:
            beyond = mine.left() < room.left() or mine.right() > room.right()
            return beyond and outer.horizontalScrollBar().maximum() == 0
        if not room.contains(mine):
            return True
        inner = outer
    return not window.rect().contains(mine)


def is_pressed_together(widget):
    """Whether a control is lower than its text, or a text that is not elided narrower."""
    if not isinstance(widget, QAbstractButton | QAbstractSpinBox | QLabel):
        return False
    if isinstance(widget, QLabel) and widget.wordWrap():
        return False
    whole = isinstance(widget, QLabel | QCheckBox) and not isinstance(widget, ElidedLabel)
    narrow = whole and widget.width() < widget.minimumSizeHint().width() - 1
    return narrow or (bool(widget.text()) and widget.height() < widget.fontMetrics().height())


def named(widget):
    text = getattr(widget, "text", str)()
    return f"{type(widget).__name__} {widget.objectName() or widget.accessibleName() or text}"


def faults(window):
    """What is cut, pressed together or over another."""
    controls = list(seen(window))
    found = [f"cut: {named(widget)}" for widget in controls if is_cut(widget, window)]
    found += [f"pressed: {named(one)}" for one in controls if is_pressed_together(one)]
    bars = [window.menuBar(), window.toolbar, window.status_bar, window.centralWidget()]
    docks = [one for one in window.docks.values() if in_front(one) and not one.isFloating()]
    groups = {}
    for widget in controls:
        # This one lays its fixed columns over itself.
        if not isinstance(widget.parentWidget(), CompareTable):
            groups.setdefault(widget.parentWidget(), []).append(widget)
    for group in ([one for one in (*bars, *docks) if one.isVisible()], *groups.values()):
        for one, other in combinations(group, 2):
            if one.geometry().intersects(other.geometry()):
                found.append(f"over another: {named(one)}, {named(other)}")
    return found


@pytest.fixture
def small(window, settle, qtbot):
    """The window in a size, as first arranged in it."""

    def resized(size):
        window.resize(size)
        settle()
        window.arrange()
        qtbot.waitUntil(lambda: window.minimumWidth() <= size.width())
        window.resize(size)
        settle()
        assert window.size() == size
        return window

    window.workspaces.restore("explore", {})
    yield resized
    window.workspaces.choose("explore")


@pytest.mark.parametrize(
    "size",
    [
        SMALL,
        *(pytest.param(QSize(*one), marks=pytest.mark.slow) for one in [(1024, 560), (1280, 760)]),
    ],
)
def test_nothing_is_cut_or_over_another_in_any_workspace(small, settle, qtbot, size):
    window = small(size)

    def sound():
        assert faults(window) == [], name

    for name in WORKSPACES:
        window.workspaces.choose(name)
        settle()
        qtbot.waitUntil(sound)
    window.workspaces.choose("explore")
    for name in ("view", "inspector", "prompt"):
        window.bring(name)
        settle()
        qtbot.waitUntil(sound)


def test_it_needs_no_more_than_its_screen(window, settle, monkeypatch):
    window.workspaces.restore("explore", {})
    window.resize(1280, 800)
    settle()
    assert window.layout().minimumSize().width() > 800
    monkeypatch.setattr(QScreen, "availableGeometry", lambda self: QRect(0, 0, 800, 560))
    window.side_columns.fit()
    assert window.minimumWidth() <= 800
    monkeypatch.undo()
    window.side_columns.fit()


@pytest.mark.slow
@pytest.mark.parametrize("workspace", ["analyse", "explore"])
@pytest.mark.parametrize("size", [SMALL, HALF])
def test_no_panel_is_cut_in_a_small_window(small, qtbot, size, workspace):
    window = small(size)

    def sound():
        # Not until all is computed: there has to be room for whatever a panel shows.
        assert window.built_panels[name].is_settled
        assert faults(window) == [], name

    window.workspaces.choose(workspace)
    for name in PANELS:
        window.bring(name)
        qtbot.waitUntil(sound)
