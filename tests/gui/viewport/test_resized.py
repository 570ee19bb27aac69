"""A view whose size changes with the layout around it, by the gestures that change it."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gui.state.values import Notice
from gui.window.dock_tabs import GroupBar
from tests.gui.viewport_mouse import drag, wheel

CTRL, NONE = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier
LEFT = Qt.MouseButton.LeftButton


def pose(viewport):
    camera = viewport.interactor.camera
    return np.array([camera.GetPosition(), camera.GetFocalPoint(), camera.GetViewUp()])


def title(window):
    """Maximise a side panel, or bring the others back."""
    QTest.mouseDClick(window.docks["models"].titleBarWidget(), LEFT, NONE, QPoint(40, 8))


def tab(window):
    """Maximise a panel below, or bring the others back."""
    bars = [bar for bar in window.findChildren(GroupBar) if bar.isVisible()]
    (tabs,) = (bar.tabs for bar in bars if not bar.tabs.property("closed"))
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


@pytest.mark.parametrize("change", GESTURES)
def test_a_framed_view_is_framed_in_every_size(arranged, viewport, settle, change):
    press_f(viewport, settle)
    before = pose(viewport)
    sizes = {viewport.interactor.size().toTuple()}
    for _ in range(4):
        change(arranged)
        settle()
        sizes.add(viewport.interactor.size().toTuple())
        if viewport.isVisible():
            shown = pose(viewport)
            assert viewport.camera.well_framed()
            press_f(viewport, settle)
            np.testing.assert_allclose(shown, pose(viewport), rtol=0, atol=1e-5)
    np.testing.assert_allclose(pose(viewport), before, rtol=0, atol=1e-5)
    assert len(sizes) > 1 or change in (title, tab)


@pytest.mark.parametrize("change", GESTURES)
def test_a_moved_view_comes_back_to_its_pose_with_its_size(
    arranged, viewport, settle, qtbot, change
):
    middle = viewport.interactor.rect().center()
    drag(qtbot, viewport, middle, middle + QPoint(60, 25))
    drag(qtbot, viewport, middle, middle + QPoint(20, -10), keys=Qt.KeyboardModifier.ShiftModifier)
    wheel(viewport)
    settle()
    before = pose(viewport)
    for _ in range(6):
        change(arranged)
        settle()
    np.testing.assert_allclose(pose(viewport), before, rtol=0, atol=1e-5)
