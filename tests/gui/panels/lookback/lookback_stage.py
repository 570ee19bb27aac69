"""What tests of the look-back panel share."""

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtTest import QTest

from tests.gui.result_stage import named


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


def plots(panel):
    """Return both plots."""
    return [named(panel, name) for name in ("R²", "Angle")]


def cursors(panel):
    """Return where the cursors of both plots are, as far as they are shown."""
    return [plot.cursor_place().x() for plot in plots(panel) if plot.cursor_place()]


def part(panel, name):
    """Return what one of the plots shows, as data."""
    return next(one for one in panel.spec.plots(panel.view()) if one.name == name)


def curves(panel, name):
    """Return the open model's curves in one of the plots, by their names."""
    return {curve.label: curve for curve in part(panel, name).curves if curve.label}


def head_table(panel):
    """Return the list of heads."""
    return named(panel, "All heads of the first layer")


def readings(panel, name):
    """Return what the row over a plot says."""
    found = [
        one for one in panel.content.painted if getattr(one, "widget", None) is named(panel, name)
    ]
    return found[0].readings.text()
