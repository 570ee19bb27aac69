"""Selecting and hovering in the norms panel, by mouse and keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.model import TokenizedPrompt
from gui.state.session import Session
from gui.style.theme import DARK, LIGHT
from tests.gui.norms_alone import LEFT, N, at, open_table, show_alone, table

NONE = Qt.KeyboardModifier.NoModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def panel(qtbot, session):
    return show_alone(qtbot, session)


@pytest.fixture
def linked(panel, session):
    """A panel with a table, whose wishes come true as the controller makes them."""
    open_table(session, table())
    panel.selectionRequested.connect(lambda wanted: setattr(session, "selection", wanted))
    panel.hoverRequested.connect(lambda wanted: setattr(session, "hover", wanted))
    QApplication.processEvents()
    return panel


def click(panel, position, modifier=NONE, value=None):
    QTest.mouseClick(panel.plot.viewport(), LEFT, modifier, at(panel, position, value))


def move(panel, point):
    """Move the mouse there; through the window, because a widget's move is only asked of X."""
    window = panel.window()
    QTest.mouseMove(window.windowHandle(), panel.plot.viewport().mapTo(window, point))


# Selecting.


def test_click_shift_click_and_control_shift_click(linked, session):
    click(linked, 150)
    assert session.selection == (150,)
    click(linked, 160, SHIFT)
    assert session.selection == (150, 160)
    click(linked, 150, SHIFT)
    assert session.selection == (160,)
    click(linked, 163, SHIFT | CONTROL)
    assert session.selection == (160, 161, 162, 163)
    click(linked, 20)
    assert session.selection == (20,)


def test_drag_with_shift_selects_a_range_and_plain_drag_nothing(linked, session):
    window = linked.window().windowHandle()

    def drag(start, end, modifier):
        first, last = (linked.plot.viewport().mapTo(linked.window(), p) for p in (start, end))
        QTest.mousePress(window, LEFT, modifier, first)
        QTest.mouseMove(window, (first + last) / 2)
        QTest.mouseMove(window, last)
        QTest.mouseRelease(window, LEFT, modifier, last)

    drag(at(linked, 100), at(linked, 90), SHIFT)
    assert session.selection == tuple(range(100, 89, -1))
    linked.plot.view.zoom_x(0.5)
    before = linked.plot.view.spans()
    drag(at(linked, 120), at(linked, 160), NONE)
    assert session.selection == tuple(range(100, 89, -1))
    assert linked.plot.view.spans() != before


def test_double_click_resets_the_view_and_keeps_the_selection(linked, session):
    session.selection = (7, 8)
    linked.plot.view.zoom_x(0.2)
    home_width = N - 1
    asked = []
    linked.selectionRequested.connect(asked.append)
    window = linked.window()
    point = linked.plot.viewport().mapTo(window, at(linked, 150))
    QTest.mouseDClick(window.windowHandle(), LEFT, NONE, point)
    assert asked == [(150,), (7, 8)]
    assert session.selection == (7, 8)
    low, high = linked.plot.view.spans()[0]
    assert high - low > home_width


def test_arrow_keys_walk_and_stop_at_the_ends(linked, session):
    plot = linked.plot
    plot.setFocus()
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert session.selection == (1,)
    QTest.keyClick(plot, Qt.Key.Key_Right)
    QTest.keyClick(plot, Qt.Key.Key_Right, SHIFT)
    assert session.selection == (2, 3)
    session.selection = (0,)
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert session.selection == (0,)
    session.selection = (N - 1,)
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert session.selection == (N - 1,)


def test_walking_keeps_the_position_in_sight(linked, session):
    plot = linked.plot
    plot.view.setRange(xRange=(100, 120), padding=0)
    session.selection = (119,)
    for _ in range(5):
        QTest.keyClick(plot, Qt.Key.Key_Right)
    low, high = plot.view.spans()[0]
    assert session.selection == (124,)
    assert low < 124 < high
    assert high - low == pytest.approx(20)


# Hover.


def test_hover_is_told_and_described(linked, session):
    session.tokens = TokenizedPrompt(
        ids=(50256, 15496, 616), texts=("<|endoftext|>", "Hello", " my"), truncated=0
    )
    move(linked, at(linked, 2))
    assert session.hover == 2
    norm = f"norm {session.norms.values[2]:.3f}"
    assert linked.plot.hover_text() == f"position 2 · {norm} · ·my"
    move(linked, at(linked, 200))
    assert session.hover == 200
    assert linked.plot.hover_text().endswith(f"norm {session.norms.values[200]:.3f}")
    move(linked, QPoint(2, 60))
    assert session.hover is None
    assert linked.plot.hover_text() == ""


def test_hover_and_selection_from_elsewhere_are_shown(panel, session):
    open_table(session, table())
    session.hover = 77
    session.selection = (30, 40)
    image = panel.plot.grab().toImage()
    assert panel.plot.hover_text().startswith("position 77")
    assert image.pixelColor(at(panel, 77)).name() == LIGHT.hover
    assert image.pixelColor(at(panel, 30)).name() == LIGHT.accent
    assert image.pixelColor(at(panel, 40)).name() == LIGHT.accent
    session.hover = N + 10
    assert panel.plot.hover_text() == ""


def test_theme_reaches_the_plot(panel, session):
    open_table(session, table())
    panel.set_theme(DARK)
    image = panel.plot.grab().toImage()
    assert image.pixelColor(at(panel, 150, 8)).name() == DARK.viewport
    assert image.pixelColor(QPoint(1, 1)).name() == DARK.panel
