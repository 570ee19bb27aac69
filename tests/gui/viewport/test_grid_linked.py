"""What views side by side share, through real events: selection, and how they are looked at."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.gui.viewport_mouse import LEFT, drag

SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def grid(application, qtbot):
    """The grid of a window that is active, with a table of 200 positions open."""
    application.window.activateWindow()
    qtbot.waitUntil(application.window.isActiveWindow)
    return application.window.grid


@pytest.fixture
def beside(application, wait_until_idle, write_table, helix):
    """Show tables of so many positions beside the open one; their cells, when they are painted."""

    def add(*lengths):
        sources = [write_table(helix(n, 16, seed=n), f"table-{n}") for n in lengths]
        keys = [application.controller.comparing.add(str(source)) for source in sources]
        wait_until_idle(application)
        return [application.window.grid.cells[key] for key in keys]

    return add


def pickable(viewport, *, near):
    """A position near the wanted one whose point no other hides."""
    first, last = viewport.session.positions
    candidates = sorted(range(first, last + 1), key=lambda p: abs(p - near))
    return next(p for p in candidates if viewport.position_at(viewport.pixel_of(p)) == p)


def click(viewport, position, keys=Qt.KeyboardModifier.NoModifier):
    QTest.mouseClick(viewport.interactor, LEFT, keys, viewport.pixel_of(position))


@pytest.mark.parametrize("in_open", [True, False])
def test_shift_adds_to_what_only_a_longer_table_has(grid, beside, qtbot, in_open):
    small, large = beside(120, 300)
    beyond = pickable(large.viewport, near=280)
    click(large.viewport, beyond)
    viewport = grid.main if in_open else small.viewport
    added = pickable(viewport, near=60)
    click(viewport, added, SHIFT)
    assert large.session.selection == (beyond, added)
    assert grid.main.session.selection == small.session.selection == (added,)
    # Drawn around all that is in sight there: what is not stays selected.
    viewport.marquee.arm("box")
    corner = QPoint(viewport.interactor.width() - 2, viewport.interactor.height() - 2)
    drag(qtbot, viewport, QPoint(1, 1), corner, keys=SHIFT)
    assert len(viewport.session.selection) > 50
    assert large.session.selection == (beyond, *viewport.session.selection)
    click(viewport, added)
    assert large.session.selection == (added,)


def test_escape_clears_what_only_a_longer_table_has(application, grid, beside):
    (large,) = beside(300)
    click(large.viewport, pickable(large.viewport, near=280))
    assert large.session.selection
    QTest.keyClick(grid.main.interactor, Qt.Key.Key_Escape)
    assert large.session.selection == ()


# ---- how they are looked at --------------------------------------------------------------


def look_of(viewport):
    outlook = viewport.camera.outlook
    return np.concatenate([outlook.direction, outlook.up, outlook.shift, [outlook.nearness]])


def pose(viewport):
    return np.array([viewport.camera.place.pose.position, viewport.camera.place.pose.focal_point])


def wheel(viewport):
    middle = viewport.interactor.rect().center()
    event = QWheelEvent(
        QPointF(middle), QPointF(viewport.interactor.mapToGlobal(middle)), QPoint(),
        QPoint(0, 120), Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(viewport.interactor, event)


@pytest.mark.parametrize("in_open", [True, False])
def test_a_zoom_stays_whichever_range_is_shown_next(
    application, grid, beside, wait_until_idle, in_open
):
    (one,) = beside(120)
    QTest.mouseClick(grid.bar.ranges, LEFT)
    for _ in range(8):
        wheel(grid.main if in_open else one.viewport)
        wait_until_idle(application)
    before = [pose(viewport) for viewport in grid.viewports]
    application.controller.request_positions(1, 110)
    wait_until_idle(application)
    for viewport, was in zip(grid.viewports, before, strict=True):
        assert viewport.session.curve.pca.positions == (1, 110)
        np.testing.assert_allclose(pose(viewport), was)
    # Framed again, the next range is brought into sight in all views.
    one.viewport.camera.frame()
    wait_until_idle(application)
    before = [pose(viewport) for viewport in grid.viewports]
    application.controller.request_positions(50, 53)
    wait_until_idle(application)
    for viewport, was in zip(grid.viewports, before, strict=True):
        assert np.abs(pose(viewport) - was).max() > 0.1


def test_one_that_came_unlinked_looks_as_the_others_once_they_are(
    application, grid, beside, qtbot, wait_until_idle
):
    beside(120)
    QTest.mouseClick(grid.bar.cameras, LEFT)
    middle = grid.main.interactor.rect().center()
    drag(qtbot, grid.main, middle, middle + QPoint(60, 25))
    (late,) = beside(300)
    own = look_of(late.viewport)
    assert np.abs(own - look_of(grid.main)).max() > 0.05
    QTest.mouseClick(grid.bar.cameras, LEFT)
    wait_until_idle(application)
    np.testing.assert_allclose(look_of(late.viewport), look_of(grid.main), atol=1e-6)
    # And it is one of them: turned, it turns them.
    middle = late.viewport.interactor.rect().center()
    drag(qtbot, late.viewport, middle, middle + QPoint(-50, 30))
    wait_until_idle(application)
    turned = look_of(late.viewport)
    assert np.abs(turned - own).max() > 0.05
    for viewport in grid.viewports:
        np.testing.assert_allclose(look_of(viewport), turned, atol=1e-6)
