"""The overlaps panel, driven as a user drives it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


def choose(box, text):
    """Choose from a drop-down list with the keyboard, as one who types what it says."""
    box.setFocus()
    wanted = box.findText(text)
    assert wanted >= 0
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(wanted):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentText() == text


def enter(spin, text):
    """Type into a spin box."""
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, text)
    QTest.keyClick(spin, Qt.Key.Key_Return)


def move(widget, point):
    """Move the mouse there; through the window, because a widget's move is only asked of X."""
    window = widget.window()
    QTest.mouseMove(window.windowHandle(), widget.mapTo(window, point))


def pair_of(panel):
    """The heatmap of a pair, with its bar."""
    return panel.content.pair.painted[0]


def figure_of(panel):
    """The cells of a figure, with their bar."""
    return panel.content.figure


def view_of(panel):
    """The choice between a pair and the figures."""
    return panel.controls.widgets["view"]


def cell(panel, i, j):
    return pair_of(panel).widget.point_of(i, j).toPoint()


def caption(panel):
    return panel.header.caption.text()
