"""Dialogs for the options and the progress of films."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QLayout,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from gui.export.save_result import BACKGROUNDS, lay_out_options
from gui.export.turntable import About, Turn
from gui.style.theme import GRID, format_count
from gui.widgets.boxes import in_a_row, vbox
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

FASTEST, SLOWEST = 50.0, 0.5
"""Bounds of snapshots per second; GIF supports no higher rate."""
_FORMATS = (
    ("mp4", "MP4", "H.264, for slides, web pages and players; small and sharp"),
    ("gif", "GIF", "Plays anywhere in a loop; 256 colours"),
)
_HEIGHTS = tuple(
    (str(n), f"{n} pixels", "Height of the film; the width follows that of the 3D view")
    for n in (480, 720, 1080)
)


@dataclass(frozen=True, slots=True)
class FilmOptions:
    """Options of a film."""

    kind: str = "mp4"  # "mp4" or "gif"
    height: int = 720  # In pixels; the width follows the viewport's
    fps: float = 6.0
    background: str = "theme"  # "theme", or "white" with the light theme's colours

    def size(self, viewport: QSize) -> tuple[int, int]:
        """Return width and height in pixels, both even, for a viewport of this size."""
        width = self.height * viewport.width() / max(1, viewport.height())
        return max(2, 2 * round(width / 2)), self.height


class FilmForm(QDialog):
    """Asks for format, size and background; base of the dialogs for films.

    Subclasses create ``fps`` and their other fields, lay them out, and define :meth:`frames`.
    """

    fps: QDoubleSpinBox

    def __init__(self, title: str, options: FilmOptions, viewport: QSize, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self._viewport = viewport
        self.kind = Segmented(_FORMATS, "Format")
        self.height_ = Segmented(_HEIGHTS, "Size")
        self.background = Segmented(BACKGROUNDS, "Background")
        self.kind.show_value(options.kind)
        self.height_.show_value(str(options.height))
        self.background.show_value(options.background)
        self._said = label(role="small")
        self.height_.chosen.connect(self._say)

    def options(self) -> FilmOptions:
        """Return the chosen options."""
        return FilmOptions(
            self.kind.value(),
            int(self.height_.value()),
            self.fps.value(),
            self.background.value(),
        )

    def frames(self) -> int:
        """Return the number of frames."""
        raise NotImplementedError

    def _say(self) -> None:
        width, height = self.options().size(self._viewport)
        count = self.frames()
        frames = f"{format_count(count)} frame{'' if count == 1 else 's'}"
        self._said.setText(f"{frames} of {format_count(width)} × {format_count(height)} pixels")

    def _lay_out(self, more: Sequence[tuple[str, QWidget | QLayout]]) -> None:
        """Add named rows below those common to all films."""
        common = (("Format", self.kind), ("Size", self.height_), ("Background", self.background))
        lay_out_options(self, (*common, *more, ("", self._said)))


class FilmDialog(FilmForm):
    """Asks for the options of a timeline's film; speed and duration are linked."""

    def __init__(
        self, options: FilmOptions, viewport: QSize, n_snapshots: int, parent: QWidget
    ) -> None:
        super().__init__("Save time-lapse", options, viewport, parent)
        self._n = n_snapshots
        self.fps = number("Steps per second", SLOWEST, FASTEST)
        self.seconds = number("Seconds", n_snapshots / FASTEST, n_snapshots / SLOWEST)
        self.fps.setToolTip(wrapped("Number of training steps shown per second"))
        self.seconds.setToolTip(wrapped("Length of the film, showing every step once"))
        speed = in_a_row(self.fps, "steps per second,", self.seconds, "seconds")
        self._lay_out((("Speed", speed),))
        self.fps.valueChanged.connect(self._on_fps)
        self.seconds.valueChanged.connect(self._on_seconds)
        self.fps.setValue(options.fps)
        self._on_fps(options.fps)

    def frames(self) -> int:
        return self._n

    def _on_fps(self, fps: float) -> None:
        _show(self.seconds, self._n / fps)
        self._say()

    def _on_seconds(self, seconds: float) -> None:
        _show(self.fps, self._n / seconds)
        self._say()


class FilmProgress(QDialog):
    """Progress of a film; closing it cancels the film. It does not block the window."""

    def __init__(self, title: str, name: str, frames: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setModal(False)
        self._name = name
        self.text = label()
        self.text.setMinimumWidth(40 * GRID)
        self.bar = QProgressBar()
        self.bar.setRange(0, frames)
        self.bar.setValue(0)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Frames drawn")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.rejected.connect(self.reject)
        margins = 2 * GRID
        layout = vbox(self.text, self.bar, buttons, parent=self, spacing=GRID, margins=margins)
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetFixedSize)
        self._show()

    def show_one_more(self) -> None:
        """Count another frame as drawn."""
        self.bar.setValue(self.bar.value() + 1)
        self._show()

    def _show(self) -> None:
        drawn, frames = self.bar.value(), self.bar.maximum()
        writing = f"Writing {self._name}…"
        self.text.setText(
            writing if drawn == frames else f"{self._name}: {drawn} of {frames} frames"
        )


def number(name: str, low: float, high: float) -> QDoubleSpinBox:
    """Create a field for a number."""
    made = QDoubleSpinBox()
    made.setDecimals(2 if low < 0.1 else 1)
    made.setRange(low, high)
    made.setAccessibleName(name)
    made.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    made.setFixedWidth(8 * GRID)
    return made


def _show(field: QDoubleSpinBox, value: float) -> None:
    """Show a number without a signal."""
    with QSignalBlocker(field):
        field.setValue(value)


_VIEWS = (
    ("one", "The open model", "Only its view, with its caption"),
    ("all", "All side by side", "Every view with its name; all rotate together"),
)
_UPRIGHT = ("up", "Upright", "About the vertical direction of the screen")


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
        self.about = Segmented((_UPRIGHT, *axes), "Rotate about")
        self.about.show_value(turn.about)
        self.seconds, self.fps = number("Seconds", 1, 60), number("Frames per second", 5, 50)
        self.seconds.setToolTip(wrapped("Duration of one full turn"))
        self.fps.setToolTip(wrapped("More frames make the film smoother and the file larger"))
        self.seconds.setValue(turn.seconds)
        self.fps.setValue(options.fps)
        speed = in_a_row(self.seconds, "seconds per turn,", self.fps, "frames per second")
        several = (("Views", self.views),) if grid is not None else ()
        self._lay_out((*several, ("Rotate about", self.about), ("Speed", speed)))
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
