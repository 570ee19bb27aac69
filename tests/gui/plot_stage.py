"""A plot over positions alone, driven as a user drives it."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtWidgets import QApplication

from gui.plots.position_curves import PositionCurves
from gui.plots.spec import Curve
from gui.style.theme import LIGHT

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
N = 400


def show_plot(qtbot):
    """Show a plot of a wave."""
    made = PositionCurves(LIGHT, "position (tokens)", "norm (units of P)")
    qtbot.addWidget(made)
    made.resize(900, 220)
    draw(made, 3 + np.sin(np.arange(N) / 40), (0.0, 5.0))
    with qtbot.waitExposed(made):
        made.show()
    QApplication.processEvents()
    return made


def draw(plot, values, y):
    """Draw values by position."""
    margin = 0.015 * len(values)
    curve = Curve(np.arange(float(len(values))), values, LIGHT.muted)
    plot.set_curves([curve], (-margin, len(values) - 1 + margin), y)


def label_geometry(plot):
    """Where the hover label stands in the plot; empty when there is none."""
    return QRectF() if plot._label.isHidden() else QRectF(plot._label.geometry())


def hover(plot, position, text):
    """Hover a position."""
    plot.set_hover((0, position), text)


def at(plot, position, value=None):
    """Return where a position is drawn, in pixels of the plot."""
    value = plot.curves[0].y[position] if value is None else value
    return plot.view.mapViewToScene(QPointF(position, value)).toPoint()


def span(plot, axis=0):
    low, high = plot.view.spans()[axis]
    return high - low
