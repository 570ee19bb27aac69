"""A view whose size changes with the layout around it, by the gestures that change it."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.state.values import Notice
from gui.window.arrangement.dock_tabs import GroupBar
from tests.gui.viewport_mouse import LEFT, NONE, drag, pose, wheel

CTRL = Qt.KeyboardModifier.ControlModifier


def title(window):
    """Maximise a side panel, or bring the others back."""
    QTest.mouseDClick(window.docks["models"].titleBarWidget(), LEFT, NONE, QPoint(40, 8))


def tab(window):
    """Maximise a panel below, or bring the others back."""
    bars = [bar for bar in window.findChildren(GroupBar) if bar.isVisible()]
    tabs = next(bar.tabs for bar in bars if not bar.tabs.property("closed"))
    QTest.mouseDClick(tabs, LEFT, NONE, tabs.tabRect(0).center())


def workspace(window):
    """Go to Analyse, or back to Explore."""
    there = window.workspaces.current == "analyse"
    QTest.keyClick(window.focusWidget() or window, Qt.Key.Key_1 if there else Qt.Key.Key_2, CTRL)


def panels(window):
    """Hide the panels below, or bring them back."""
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_J, CTRL)


def notice(window):
    """Show a notice of many lines, or take it away."""
    shown = window.session.notice is not None
    window.session.notice = None if shown else Notice("error", "It failed.\n" * 5, "Try again.")


def size(window):
    """Make the window much smaller, or as large as before."""
    window.resize(*((900, 620) if window.width() > 1000 else (1280, 800)))


GESTURES = [title, tab, workspace, panels, notice, size]


@pytest.fixture
def arranged(window, viewport, settle):
    window.activateWindow()
    window.workspaces.choose("explore")
    window.arrange()
    window.resize(1280, 800)
    window.results.tabs.open("shape")
    settle()
    viewport.interactor.setFocus()
    yield window
    window.session.notice = None
    window.workspaces.choose("explore")


def press_f(viewport, settle):
    viewport.interactor.setFocus()
    QTest.keyClick(viewport.interactor, Qt.Key.Key_F)
    settle()


@pytest.fixture
def calm(viewport, settle):
    """Wait until the view rests; a hidden one is never drawn."""

    def wait():
        settle() if viewport.isVisible() else QApplication.processEvents()

    return wait


def look(viewport):
    """The view's size and pose."""
    return viewport.interactor.size().toTuple(), pose(viewport)


@pytest.mark.slow
@pytest.mark.parametrize("change", GESTURES)
def test_a_framed_view_is_framed_in_every_size(arranged, viewport, settle, calm, change):
    press_f(viewport, settle)
    compared, sizes = 0, {look(viewport)[0]}
    for _ in range(6):
        change(arranged)
        calm()
        if viewport.isVisible():
            size, shown = look(viewport)
            sizes.add(size)
            press_f(viewport, settle)
            if look(viewport)[0] == size:  # or panels have found their sizes only now
                np.testing.assert_allclose(shown, pose(viewport), rtol=0, atol=1e-5)
                compared += 1
    assert compared >= 2
    assert len(sizes) > 1 or change in (title, tab)


@pytest.mark.slow
@pytest.mark.parametrize("change", GESTURES)
def test_moved_view_keeps_its_pose(arranged, viewport, settle, calm, qtbot, change):
    middle = viewport.interactor.rect().center()
    drag(qtbot, viewport, middle, middle + QPoint(60, 25))
    drag(qtbot, viewport, middle, middle + QPoint(20, -10), keys=Qt.KeyboardModifier.ShiftModifier)
    wheel(viewport)
    settle()
    size, shown = look(viewport)
    seen = {size: shown}
    again = 0
    for _ in range(8):
        change(arranged)
        calm()
        if viewport.isVisible():
            size, shown = look(viewport)
            again += size in seen
            np.testing.assert_allclose(shown, seen.setdefault(size, shown), rtol=0, atol=1e-5)
    assert again >= 2
