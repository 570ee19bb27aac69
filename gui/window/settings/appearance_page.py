"""Settings of the appearance, and of the initial range of a model."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.state.session import Session
from gui.state.values import FirstRange
from gui.style.theme import COLORMAPS, GRID, TEXT, TEXT_SIZES
from gui.widgets.boxes import grid
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped
from gui.window.settings.settings import Settings

SIZES = dict(zip(TEXT_SIZES, ("Small", "Normal", "Large", "Larger"), strict=True))
LAST_MAP = "Last used"
MAP_TIP = "Colour map at every start; the View panel changes it until the window is closed"
THEMES = (
    ("system", "System", "The desktop's light or dark theme"),
    ("light", "Light", "Dark text on light panels"),
    ("dark", "Dark", "Light text on dark panels"),
)
RANGES = (
    ("typical", "No outliers", "Without position 0, and without outliers at either end"),
    ("from 1", "1–last", "Without position 0, which is an outlier in many models"),
    ("all", "All", "All positions"),
)


class AppearancePage(QWidget):
    """Theme, size of text, colour map and first range; changes take effect at once."""

    themeRequested = Signal(str)
    textSizeRequested = Signal(int)

    def __init__(self, settings: Settings, session: Session) -> None:
        super().__init__()
        self._settings, self._session = settings, session
        self.theme = Segmented(THEMES, "Theme")
        self.text_size = Segmented(
            tuple((str(size), SIZES[size], f"Text of {size} pixels") for size in TEXT_SIZES),
            "Size of text",
        )
        self.colormap = DropDown()
        self.colormap.addItem(LAST_MAP, "")
        for name in COLORMAPS:
            self.colormap.add_colormap(name, name)
        self.colormap.setAccessibleName("Colour map at start")
        self.colormap.setToolTip(wrapped(MAP_TIP))
        self.range = Segmented(RANGES, "Initial range of a model")
        self._arrange()
        self.theme.chosen.connect(self.themeRequested)
        self.text_size.chosen.connect(lambda size: self.textSizeRequested.emit(int(size)))
        self.colormap.activated.connect(lambda at: self._choose_map(self.colormap.itemData(at)))
        self.range.chosen.connect(self._choose_range)
        self.refresh()

    def refresh(self) -> None:
        """Show the stored values."""
        settings = self._settings
        self.theme.show_value(settings.theme)
        self.text_size.show_value(str(settings.text_size))
        self.colormap.setCurrentIndex(self.colormap.findData(settings.colormap))
        self.range.show_value(settings.first_range)

    def reset(self) -> None:
        """Reset all settings of this page to their defaults."""
        self._choose_map("")
        self._choose_range("typical")
        if self._settings.text_size != TEXT:
            self.textSizeRequested.emit(TEXT)
        if self._settings.theme != "system":
            self.themeRequested.emit("system")
        self.refresh()

    def _choose_map(self, name: str) -> None:
        self._settings.colormap = name
        if name:
            self._session.want(colormap=name)

    def _choose_range(self, value: str) -> None:
        wanted = cast(FirstRange, value)
        self._settings.first_range = wanted
        self._session.want(first_range=wanted)

    def _arrange(self) -> None:
        form = grid(self, GRID, GRID // 2)
        form.setColumnMinimumWidth(2, GRID)
        form.setColumnStretch(5, 1)
        controls = (
            ("Theme", self.theme),
            ("Size of text", self.text_size),
            ("Colour map at start", self.colormap),
            ("Initial range", self.range),
        )
        for number, (text, control) in enumerate(controls):
            row, column = number // 2, 3 * (number % 2)
            name = label(text, "muted")
            name.setBuddy(control)
            form.addWidget(name, row, column)
            control.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            form.addWidget(control, row, column + 1, Qt.AlignmentFlag.AlignLeft)
