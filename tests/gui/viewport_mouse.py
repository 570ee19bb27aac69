"""A hand on the mouse over the viewport, through real events, and from where it is seen."""

import itertools

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.viewport.viewport import Viewport
from tests.gui.on_screen import turn_wheel

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def pose(viewport: Viewport) -> np.ndarray:
    """(3, 3): the camera's position, focal point and direction upwards."""
    camera = viewport.interactor.camera
    return np.array([camera.GetPosition(), camera.GetFocalPoint(), camera.GetViewUp()])


def move(viewport: Viewport, at: QPoint, keys: Qt.KeyboardModifier) -> None:
    """Move the mouse with the left button down; QTest's mouseMove carries no buttons."""
    place, buttons = viewport.interactor.mapToGlobal(at), (Qt.MouseButton.NoButton, LEFT)
    event = QMouseEvent(QEvent.Type.MouseMove, QPointF(at), QPointF(place), *buttons, keys)
    QApplication.sendEvent(viewport.interactor, event)


def drag(qtbot: QtBot, viewport: Viewport, *path: QPoint, keys=NONE, release: bool = True) -> None:
    """Drag the left button along a path in small steps, as a hand does."""
    qtbot.mousePress(viewport.interactor, LEFT, keys, path[0])
    for start, end in itertools.pairwise(path):
        for step in range(1, 11):
            move(viewport, start + (end - start) * (step / 10), keys)
    if release:
        qtbot.mouseRelease(viewport.interactor, LEFT, keys, path[-1])


def wheel(viewport: Viewport) -> None:
    """Turn the wheel by one notch, over the middle."""
    turn_wheel(viewport.interactor, up=1)


def pickable(viewport: Viewport, *, near: int) -> int:
    """Return a position near the wanted one whose point no other hides."""
    first, last = viewport.session.positions
    candidates = sorted(range(first, last + 1), key=lambda p: abs(p - near))
    return next(p for p in candidates if viewport.position_at(viewport.pixel_of(p)) == p)
