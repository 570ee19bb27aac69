"""Dialog for the options of a turntable film."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

from gui.export.film_dialog import FilmForm, FilmOptions, in_a_row, number
from gui.export.turntable import About, Turn
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

_VIEWS = (
    ("one", "The open model", "Its view alone, with its caption"),
    ("all", "All side by side", "Every view, under its name; all turn alike"),
)
_UPRIGHT = ("up", "Upright", "About what is up on the screen now")


class TurntableDialog(FilmForm):
    """Asks for the options of a turntable.

    ``grid`` is the size of the whole grid if there are several views, otherwise None.
    """

    def __init__(
        self,
        options: FilmOptions,
        turn: Turn,
        viewport: QSize,
        grid: QSize | None,
        components: tuple[int, ...],
        parent: QWidget,
    ) -> None:
        super().__init__("Save turntable", options, viewport, parent)
        self._sizes = {"one": viewport, "all": grid or viewport}
        self.views = Segmented(_VIEWS, "Views")
        self.views.chosen.connect(self._on_views)
        axes = [
            (axis, f"PC {k}", f"About the {axis} axis, component {k}")
            for axis, k in zip("xyz", components, strict=True)
        ]
        self.about = Segmented((_UPRIGHT, *axes), "Turn about")
        self.about.show_value(turn.about)
        self.seconds, self.fps = number("Seconds", 1, 60), number("Frames a second", 5, 50)
        self.seconds.setToolTip(wrapped("How long one turn takes; then it begins again"))
        self.fps.setToolTip(wrapped("The more, the smoother, and the larger the file"))
        self.seconds.setValue(turn.seconds)
        self.fps.setValue(options.fps)
        speed = in_a_row(self.seconds, "seconds a turn,", self.fps, "frames a second")
        several = (("Views", self.views),) if grid is not None else ()
        self._lay_out((*several, ("Turn about", self.about), ("Speed", speed)))
        for field in (self.seconds, self.fps):
            field.valueChanged.connect(self._say)
        self.views.show_value("one" if grid is None else "all")
        self._on_views()

    def turn(self) -> Turn:
        """Return the chosen axis and speed."""
        return Turn(cast(About, self.about.value()), self.seconds.value())

    def frames(self) -> int:
        return self.turn().frames(self.fps.value())

    @property
    def all_views(self) -> bool:
        """Whether to include all views."""
        return self.views.value() == "all"

    def _on_views(self) -> None:
        self._viewport = self._sizes[self.views.value()]
        self._say()
