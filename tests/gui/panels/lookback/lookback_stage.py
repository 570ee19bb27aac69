"""What tests of the look-back panel share."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


def press(widget, key):
    """Press a key in a widget."""
    widget.setFocus()
    QTest.keyClick(widget, key)


def lag_point(plot, lag: float) -> QPoint:
    """Return where a lag is in a plot, at half its height."""
    middle = sum(plot.view.spans()[1]) / 2
    return plot.view.mapViewToScene(QPointF(lag, middle)).toPoint()


def guide(stage):
    """Return what the panel draws in the view; None for nothing."""
    return stage.session.guides.get("lookback")


def cursors(panel):
    """Return where the cursors of both plots are, as far as they are shown."""
    return [plot.cursor_place().x() for plot in panel.plots.plots if plot.cursor_place()]
