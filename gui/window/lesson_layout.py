"""How the window is laid out for a lesson, and how it was before."""

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
"""The panels of the lesson's column; one of them is below it."""
WIDTH, LEAST, BELOW = 336, 240, {"inspector": 208, "prompt": 152}
"""Of the column while there is a lesson; the lesson's least height, the height of what is below it;
in pixels."""
ALWAYS = (
    "components", "color_component", "color_by", "outside", "sphere", "prompt", "norms_quantity",
)  # fmt: skip
OF_MODEL = ("positions", "selection", "snapshot")
"""Fields of the session that a lesson sets, and gives back: always, or to the same model only."""


@dataclass(frozen=True, eq=False, slots=True)
class Before:
    """How the window was before a lesson.

    Attributes
    ----------
    layout
        Of its docks, with those in front.
    fields
        Of the session.
    model
        That was open.
    place
        Of the camera.
    """

    layout: QByteArray
    fields: Fields
    model: PositionalModel | None
    place: Place

    @classmethod
    def of(cls, window: HostWindow) -> Before:
        """Remember how a window is."""
        session = window.session
        fields = {name: getattr(session, name) for name in (*ALWAYS, *OF_MODEL)}
        kept = MappingProxyType(fields)
        return cls(window.saveState(), kept, session.model, window.viewport.camera.place)

    def give_back(self, window: HostWindow) -> None:
        """Make the window as it was; of another model it shows what it shows."""
        same = self.model is window.session.model
        names = (*ALWAYS, *(OF_MODEL if same else ()))
        window.session.want(**{name: self.fields[name] for name in names})
        window.restoreState(self.layout)
        if same:
            window.viewport.camera.return_to(self.place)


def make_room(window: HostWindow, lesson: QDockWidget) -> None:
    """Put the lesson on top of the right column, as wide as its lines need."""
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
    """Show one of the panels of the lesson's column below it, or none."""
    for name in BESIDE:
        dock = window.docks[name]
        if dock.isHidden() is (name == beside):
            dock.setVisible(name == beside)
            if name == beside:
                room = [max(lesson.height() - BELOW[name], LEAST), BELOW[name]]
                window.resizeDocks([lesson, dock], room, Qt.Orientation.Vertical)
