"""A logarithmic axis: ticks at powers of ten, and between them where there is room."""

from __future__ import annotations

import math

from gui.plots.plot_axis import TICK_GAP, PlotAxis
from gui.style.theme import format_number, format_power

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
        """Return plain numbers, or powers of ten where these are long."""
        return [_number(value) for value in values]


def _number(logarithm: float) -> str:
    power = math.floor(logarithm + 1e-9)
    times = round(10 ** (logarithm - power))
    if -3 <= power <= 4:
        return format_number(times * 10.0**power, max(0, -power))
    raised = format_power(power)
    return raised if times == 1 else f"{times}·{raised}"
