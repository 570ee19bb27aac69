"""The legend of curves drawn over each other: a strip of each one's colours, and its name."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyvista as pv

from gui.scene.hud import MIN_FONT_SIZE, Box, Flat, Text2D
from gui.state.colors import legible, lookup_table
from gui.style.theme import GRID

WIDTH, HEIGHT, STEPS = 28, 6, 28
"""Of a strip, in logical pixels, and its number of colours."""
LINE = 1.6
"""Height of a line, as a multiple of the font's size."""


class CurveLegend:
    """A line for each curve, from the upper left corner."""

    def __init__(self, renderer: pv.Renderer) -> None:
        self._renderer = renderer
        self._entries: tuple[tuple[str, str], ...] = ()
        self._lines: list[tuple[_Strip, Text2D]] = []
        self._color, self._background, self._size = "#000000", "#ffffff", MIN_FONT_SIZE

    def style(self, color: str, size: int, background: str) -> None:
        """Set the colour and size of the names, and the colour behind them."""
        self._color, self._background, self._size = color, background, size
        for _, text in self._lines:
            text.style(color, size)
        self._color_strips()

    def show(self, entries: tuple[tuple[str, str], ...]) -> None:
        """Set name and colour map of each curve; none to hide the legend."""
        if entries == self._entries:
            return
        self._entries = entries
        while len(self._lines) < len(entries):
            self._lines.append((_Strip(self._renderer), Text2D(self._renderer)))
            self._lines[-1][1].style(self._color, self._size)
        for number, (strip, text) in enumerate(self._lines):
            if number < len(entries):
                text.write(entries[number][0])
            else:
                strip.actor.SetVisibility(False)
                text.hide()
        self._color_strips()

    def _color_strips(self) -> None:
        for (strip, _), (_, colormap) in zip(self._lines, self._entries, strict=False):
            strip.show(legible(lookup_table(colormap), self._background))

    def height(self, scale: float) -> float:
        """Return the height of all lines in pixels; 0 if it is hidden."""
        return len(self._entries) * LINE * self._size * scale

    def place(self, left: float, top: float, right: float, scale: float, dpi: int) -> list[Box]:
        """Place it between two pixels from the left; return the pixels that it covers."""
        boxes = []
        for number, (strip, text) in enumerate(self._lines[: len(self._entries)]):
            middle = top - (number + 0.5) * LINE * self._size * scale
            strip.place(left, middle, scale)
            beside = left + (WIDTH + GRID) * scale
            text.place(beside, middle, middle=True)
            text.fit(max(right - beside, scale), dpi)
            box = text.box(dpi)
            boxes.append((left, min(box[1], middle), box[2], box[3]))
        return boxes


class _Strip(Flat):
    """A short horizontal strip of a colour map."""

    def __init__(self, renderer: pv.Renderer) -> None:
        super().__init__(renderer)
        self._at: tuple[float, ...] | None = None

    def show(self, table: np.ndarray) -> None:
        """Show a lookup table of (256, 4) uint8 colours."""
        self.color_steps(table, STEPS)
        self.actor.SetVisibility(True)

    def place(self, left: float, middle: float, scale: float) -> None:
        """Put it at a pixel: its left edge and its middle."""
        if self._at == (left, middle, scale):
            return
        self._at = (left, middle, scale)
        edges = (left + np.linspace(0, WIDTH * scale, STEPS + 1)).tolist()
        low, high = middle - HEIGHT / 2 * scale, middle + HEIGHT / 2 * scale
        boxes = [(start, low, end, high) for start, end in pairwise(edges)]
        self.set_boxes(np.array(boxes), in_steps=True)
