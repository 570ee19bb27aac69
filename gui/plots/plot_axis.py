"""The axes of plots, with readable ticks that never overlap."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import pyqtgraph as pg
from PySide6.QtGui import QColor, QFont, QPicture
from PySide6.QtWidgets import QApplication

from gui.style.theme import LIGHT, SMALL, Theme, format_number, format_position, format_power

Side: TypeAlias = Literal["bottom", "left"]
TICK_GAP = {"bottom": 72, "left": 26}
"""Minimum distance between ticks in pixels, more than a label's size."""
TICK_LENGTH, LINE = 4, 14
"""Length of a tick, and line height of small text, in pixels."""


class PlotAxis(pg.AxisItem):
    """An axis with a title and ticks at round numbers.

    Parameters
    ----------
    title
        Quantity and unit.
    whole
        Whether ticks are at integers only.
    """

    picture: QPicture | None  # pyqtgraph's cache of the drawn ticks
    _text_size, _line = 0, LINE  # read by pyqtgraph's constructor

    def __init__(self, side: Side, title: str, *, whole: bool = False) -> None:
        super().__init__(side)
        self.title = title
        self.whole = whole
        self.tile = 1
        """Size of a tile, if ticks number tiles."""
        self._length: float | None = None
        self.enableAutoSIPrefix(False)
        self._set_fonts(LIGHT)
        # Space for ticks may grow but not shrink, so that the plot does not move while zooming.
        self.setStyle(
            tickLength=TICK_LENGTH,
            tickTextOffset=2,
            maxTickLevel=0,
            autoReduceTextSpace=False,
            hideOverlappingLabels=False,
        )

    def set_theme(self, theme: Theme) -> None:
        """Set the colours, and the size of texts."""
        if theme.text_size != self._text_size:
            self._set_fonts(theme)
        self.setPen(pg.mkPen(theme.line))
        self.setTickPen(pg.mkPen(theme.line))
        self.setTextPen(pg.mkPen(theme.muted))
        self.set_title(self.title, theme)

    def _set_fonts(self, theme: Theme) -> None:
        self._text_size = theme.text_size
        self._line = theme.px(LINE)
        if self.orientation == "bottom":
            self.setHeight(TICK_LENGTH + 2 * self._line)
        font = QFont(QApplication.font())
        font.setPixelSize(theme.px(SMALL))
        self.label.setFont(font)
        self.setStyle(tickFont=font)

    def set_title(self, title: str, theme: Theme) -> None:
        """Set the title."""
        self.title = title
        drawn = self.picture
        room = (self.minimumSize(), self.maximumSize())
        color = QColor(theme.muted)
        if self.label.defaultTextColor() != color:  # otherwise it would be laid out twice
            self.label.setDefaultTextColor(color)
        self.setLabel(title)
        if room == (self.minimumSize(), self.maximumSize()):
            self.picture = drawn  # the ticks have not changed
        if self._length is not None:
            self.hide_title_unless(self._length)

    def _updateLabel(self) -> None:
        """Set the title as plain text: pyqtgraph would parse HTML on each change."""
        self.label.setPlainText(self.labelText)
        self._adjustSize()
        self.picture = None
        self.update()

    def hide_title_unless(self, length: float) -> None:
        """Hide the title if it is longer than ``length``, in pixels."""
        self._length = length
        fits = self.label.boundingRect().width() <= length
        if fits != self.label.isVisible():
            self.showLabel(fits)

    # ---- called by pyqtgraph for drawing ----

    def tickSpacing(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, float]]:
        """Return the distance of ticks: 1, 2 or 5 times a power of ten."""
        middle = (self.tile - 1) / 2
        minVal, maxVal = (minVal - middle) / self.tile, (maxVal - middle) / self.tile
        min_step = (maxVal - minVal) * TICK_GAP[self.orientation] / size
        if not min_step > 0:
            return []
        power = 10.0 ** math.floor(math.log10(min_step))
        steps = (power * factor for factor in (1, 2, 5, 10))
        step = next(step for step in steps if step >= min_step * (1 - 1e-9))
        if math.floor(maxVal / step) * step < minVal:  # room for one tick: show a value
            step = max(power * times for times in (0.5, 1, 2, 5) if power * times < step)
        return [((max(step, 1.0) if self.whole else step) * self.tile, middle)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the numbers at the ticks, with decimals according to their distance."""
        digits = max(0, -math.floor(math.log10(spacing * scale) + 1e-9))
        if self.whole:
            middle = (self.tile - 1) / 2
            return [format_position((value * scale - middle) / self.tile) for value in values]
        return [format_number(value * scale, digits) for value in values]

    def resizeEvent(self, event: object = None) -> None:
        super().resizeEvent(event)
        # Without the empty line that pyqtgraph leaves between ticks and title.
        if self.orientation == "bottom" and self.label is not None:
            self.label.setY(TICK_LENGTH + self._line - 4)


MAX_POWER = 4
"""Largest absolute power of ten that a logarithmic axis writes in full."""
_GAP = {"bottom": 40, "left": 22}
"""Minimum distance between ticks in pixels; labels are short."""


class LogAxis(PlotAxis):
    """A :class:`PlotAxis` whose values are decimal logarithms of its labels."""

    def tickValues(
        self, minVal: float, maxVal: float, size: float
    ) -> list[tuple[float, list[float]]]:
        """Return the ticks: 1, 2 and 5 times powers of ten, only powers, or some of them."""
        low, high = sorted((minVal, maxVal))
        if not high > low:
            return []
        decade = size / (high - low)
        gap = _GAP.get(self.orientation, TICK_GAP[self.orientation])
        first, last = math.floor(low), math.ceil(high)
        step = max(1, math.ceil(gap / decade))
        powers = [p for p in range(first, last + 1) if p % step == 0]
        between = (1, 2, 5) if decade * math.log10(2) >= gap else (1,)
        ticks = [power + math.log10(times) for power in powers for times in between]
        return [(float(step), [tick for tick in ticks if low <= tick <= high])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return plain numbers, or powers of ten if any number is long."""
        powers = [math.floor(value + 1e-9) for value in values]
        if all(-MAX_POWER <= power <= MAX_POWER for power in powers):
            return [
                format_number(_times(value, power) * 10.0**power, max(0, -power))
                for value, power in zip(values, powers, strict=True)
            ]
        parts = [
            (_times(value, power), format_power(power))
            for value, power in zip(values, powers, strict=True)
        ]
        return [raised if times == 1 else f"{times}·{raised}" for times, raised in parts]


def _times(logarithm: float, power: int) -> int:
    """Return the multiple of a power of ten that a number is: 1, 2 or 5."""
    return round(10 ** (logarithm - power))
