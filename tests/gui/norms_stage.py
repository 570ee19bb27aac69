"""The norms panel answered by a controller: what its tests share."""

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.panels.norms.norms import NormsPanel
from gui.services.controller import Controller
from gui.state.session import Session
from gui.style.theme import LIGHT

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


def connect(panel: NormsPanel, session: Session, controller: Controller) -> None:
    """Let wishes come true as the window does."""

    def setter(field: str) -> Callable[[object], None]:
        return lambda value: setattr(session, field, value)

    panel.quantityRequested.connect(setter("norms_quantity"))
    panel.centredRequested.connect(setter("norms_centred"))
    panel.afterRequested.connect(setter("norms_after"))
    panel.relativeRequested.connect(setter("norms_relative"))
    panel.sphereRequested.connect(setter("sphere"))
    panel.hoverRequested.connect(setter("hover"))
    panel.selectionRequested.connect(controller.select)
    panel.overlayRequested.connect(controller.overlays.add)
    panel.overlayRemoved.connect(controller.overlays.remove)
    panel.overlayToggled.connect(controller.overlays.show)


def show_panel(qtbot: QtBot, session: Session, controller: Controller) -> NormsPanel:
    """Make a panel of the session, and show it."""
    made = NormsPanel(session, LIGHT)
    qtbot.addWidget(made, before_close_func=NormsPanel.release)
    connect(made, session, controller)
    made.resize(1100, 240)
    with qtbot.waitExposed(made):
        made.show()
    return made


def at(panel: NormsPanel, position: float, value: float | None = None) -> QPoint:
    """Return the pixel of a position, at its value or another."""
    plot = panel.plot
    value = float(plot.values[round(position)]) if value is None else value
    return plot.view.mapViewToScene(QPointF(position, value)).toPoint()


def on_line(panel: NormsPanel) -> QPoint:
    """Return a pixel of the dashed line."""
    return panel.plot.after_point().toPoint()


def drag(panel: NormsPanel, start: QPoint, *way: QPoint) -> None:
    """Drag with the left button, through the window, over some points to the last one."""
    window = panel.window().windowHandle()
    points = [panel.plot.viewport().mapTo(panel.window(), point) for point in (start, *way)]
    QTest.mouseMove(window, points[0])
    QTest.mousePress(window, LEFT, NONE, points[0])
    for point in points[1:]:
        QTest.mouseMove(window, point)
    QTest.mouseRelease(window, LEFT, NONE, points[-1])


def is_drawn_in(panel: NormsPanel, point: QPoint, color: str, background: str) -> bool:
    """Tell whether the pixels at a point have a colour, mixed with what is behind them."""
    image = panel.plot.grab().toImage()
    patch = [image.pixelColor(point + QPoint(0, dy)) for dy in range(-3, 4)]
    found = np.array([[c.red(), c.green(), c.blue()] for c in patch], float) - rgb(background)
    strongest = found[np.abs(found).sum(axis=1).argmax()]
    wanted = rgb(color) - rgb(background)
    along = strongest @ wanted / max(np.linalg.norm(strongest) * np.linalg.norm(wanted), 1e-9)
    return bool(along > 0.99 and np.linalg.norm(strongest) > 0.3 * np.linalg.norm(wanted))


def rgb(color: str) -> np.ndarray:
    """Return ``#rrggbb`` as three numbers."""
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], float)
