"""A line plot alone, driven as a user drives it."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QApplication

from gui.plots.line_plot import LinePlot
from gui.style.theme import LIGHT

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
N = 400


def show_plot(qtbot):
    """Show a plot of a wave."""
    made = LinePlot(LIGHT, "position (tokens)", "norm (units of P)")
    qtbot.addWidget(made)
    made.resize(900, 220)
    made.set_values(3 + np.sin(np.arange(N) / 40), (0.0, 5.0))
    with qtbot.waitExposed(made):
        made.show()
    QApplication.processEvents()
    return made


def at(plot, position, value=None):
    """Return where a position is drawn, in pixels of the plot."""
    value = plot.values[position] if value is None else value
    return plot.view.mapViewToScene(QPointF(position, value)).toPoint()


def span(plot, axis=0):
    low, high = plot.view.spans()[axis]
    return high - low
