"""The window's layout for a lesson, and its restoration."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QDockWidget

from gui.state.values import Fields
from gui.window.docks import RIGHT

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.camera import Place
    from gui.window.host import HostWindow

BESIDE = ("inspector", "prompt")
"""Panels that may be below the lesson in its column."""
WIDTH, LEAST, BELOW = 336, 240, {"inspector": 208, "prompt": 152}
"""Width of the lesson's column, minimum height of the lesson, and heights of the panel below it, in
pixels.
"""
ALWAYS = (
    "components", "color_component", "color_by", "outside", "sphere", "prompt", "norms_quantity",
)  # fmt: skip
OF_MODEL = ("positions", "selection", "snapshot")
"""Session fields set by a lesson that are restored only for the same model."""


@dataclass(frozen=True, eq=False, slots=True)
class Before:
    """The state of the window before a lesson."""

    layout: QByteArray  # Layout of its docks, with those in front
    fields: Fields  # Fields of the session
    model: PositionalModel | None
    place: Place  # The camera's place

    @classmethod
    def of(cls, window: HostWindow) -> Before:
        """Record the state of a window."""
        session = window.session
        fields = {name: getattr(session, name) for name in (*ALWAYS, *OF_MODEL)}
        kept = MappingProxyType(fields)
        return cls(window.saveState(), kept, session.model, window.viewport.camera.place)

    def give_back(self, window: HostWindow) -> None:
        """Restore the window; fields of a model only if it is still open."""
        same = self.model is window.session.model
        names = (*ALWAYS, *(OF_MODEL if same else ()))
        window.session.want(**{name: self.fields[name] for name in names})
        window.restoreState(self.layout)
        if same:
            window.viewport.camera.return_to(self.place)


def make_room(window: HostWindow, lesson: QDockWidget) -> None:
    """Place the lesson at the top of the right column, wide enough for its lines."""
    if lesson.isFloating():
        lesson.setFloating(False)
    window.addDockWidget(RIGHT, lesson)
    lesson.show()
    for name in BESIDE:
        dock = window.docks[name]
        if not dock.isFloating():
            window.splitDockWidget(lesson, dock, Qt.Orientation.Vertical)
        dock.hide()
    window.resizeDocks([lesson], [WIDTH], Qt.Orientation.Horizontal)


def show_beside(window: HostWindow, lesson: QDockWidget, beside: str) -> None:
    """Show one of the panels below the lesson, or none."""
    for name in BESIDE:
        dock = window.docks[name]
        if dock.isHidden() is (name == beside):
            dock.setVisible(name == beside)
            if name == beside:
                room = [max(lesson.height() - BELOW[name], LEAST), BELOW[name]]
                window.resizeDocks([lesson, dock], room, Qt.Orientation.Vertical)
