"""The controls of the panel "Line or helix": what the curves have in common."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from gui.panels.experiment_question import MOST_POSITIONS, Settings
from gui.style.theme import GRID, Theme
from gui.widgets.real_slider import RealSlider, Scale

WIDTH = 30 * GRID
FIELDS = (
    ("n_positions", "Positions", Scale(16, MOST_POSITIONS, 0, 0),
     "How many positions the curve has"),
    ("turns", "Turns", Scale(0.25, 60, 2, 0),
     "How many turns circle and helix make, from the first position to the last"),
    ("climb", "Climb", Scale(0, 1, 3),
     "Share of each step that the helix makes along its axis: 0 is a circle, 1 a line"),
    ("token_norm", "Token", Scale(0, 100, 2, 3),
     "Length of the token embedding that is added to every position before LayerNorm, in units of"
     " the embedding; 0 for positions alone"),
    ("offset", "Offset", Scale(0, 100, 2, 3),
     "How far the origin is from the middle of each curve, at right angles to it, in units of the"
     " embedding: LayerNorm looks from there"),
    ("spacing", "Spacing", Scale(0.001, 100, 4, 0),
     "Distance between neighbours, in units of the embedding, the same on all three curves"),
    ("noise", "Noise", Scale(0, 3, 2, 2),
     "Length of a random step by which each position is off its curve, as a share of the spacing"),
    ("lag", "Look back", Scale(1, MOST_POSITIONS // 2, 0, 0),
     "How many tokens one rotation and shift has to look back"),
)  # fmt: skip
"""Name, label, scale and explanation of each; the first ones are seen without scrolling."""


class ExperimentForm(QScrollArea):
    """A slider with a field for each number.

    Parameters
    ----------
    theme
        Colours.
    """

    changed = Signal(object)
    """The :class:`Settings` that the user wants."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._settings: Settings | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFixedWidth(WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, GRID // 2, 0)
        column.setSpacing(GRID // 2)
        self.sliders: dict[str, RealSlider] = {}
        for name, text, scale, tip in FIELDS:
            self.sliders[name] = slider = RealSlider(text, scale, tip, theme)
            slider.changed.connect(partial(self._on_changed, name))
            column.addWidget(slider)
        column.addStretch(1)
        self.setWidget(page)

    def show_settings(self, settings: Settings) -> None:
        """Show other settings without telling anybody."""
        self._settings = settings
        for name, slider in self.sliders.items():
            slider.show_value(_value(settings, name))

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        for slider in self.sliders.values():
            slider.set_theme(theme)

    def _on_changed(self, name: str, value: float) -> None:
        if self._settings is None:
            return
        # What is not touched keeps more digits than its field shows.
        self._settings = self._settings.with_(**{name: value})
        self.changed.emit(self._settings)


def _value(settings: Settings, name: str) -> float:
    owner = settings if name in ("token_norm", "lag") else settings.curve
    return float(getattr(owner, name))
