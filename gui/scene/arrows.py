"""Three arrows in a corner of the scene that show the components' directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gui.scene.hud import Box, Lines2D, Text2D, moved, union
from gui.style.theme import SMALL

if TYPE_CHECKING:
    import pyvista as pv

LENGTH, HEAD = 30.0, 5.0
"""Length of an arrow parallel to the screen, and of its head, in logical pixels."""
LABEL_GAP = 3.0
"""Gap between an arrow's tip and its label, in logical pixels."""
REACH = (66.0, 48.0)
"""Half the width and height of the arrows' backing, in logical pixels, with the smallest font."""
TOUCH = 12.0
"""An arrow's end is under the mouse up to this distance, in logical pixels."""
SHORTEST = 8.0
"""An arrow that appears shorter (logical pixels) points at the viewer or away: it has no head."""


class ComponentArrows:
    """Arrows and their labels, placed in pixels before each frame.

    Attributes
    ----------
    hovered
        The arrow whose end is highlighted: 0 to 2, or None.
    reach
        Half the width and height of their backing, in logical pixels.
    """

    def __init__(self, renderer: pv.Renderer) -> None:
        self._lines, self._highlighted = Lines2D(renderer), Lines2D(renderer)
        self.labels = [Text2D(renderer) for _ in range(3)]
        for text in self.labels:
            text.place(0, 0, "centre", middle=True)
        self.hovered: int | None = None
        self.reach = REACH
        self._colors, self._size = ("#000000", "#000000"), SMALL
        self._tips = np.zeros((0, 2))
        self._boxes: list[Box] = []
        self._area: Box = (0.0, 0.0, 0.0, 0.0)
        self._touch = 0.0
        # What is drawn, and how the labels are styled: most frames change neither.
        self._drawn: tuple[object, ...] | None = None
        self._styled: list[tuple[str, int]] = []

    def style(self, color: str, highlight: str, width: float) -> None:
        """Set the colour of the arrows, that of a hovered one, and their width in pixels."""
        self._drawn = None
        self._lines.style(color, width)
        self._highlighted.style(highlight, 2 * width)

    def style_labels(self, color: str, highlight: str, size: int) -> None:
        """Set the labels' colour, that of a hovered one, and their logical size."""
        self._drawn = None
        self._colors, self._size = (color, highlight), size
        self.reach = (REACH[0] * size / SMALL, REACH[1] * size / SMALL)

    def hide(self) -> None:
        """Hide arrows and labels."""
        self._tips, self._boxes = np.zeros((0, 2)), []
        self._area, self._drawn = (0.0, 0.0, 0.0, 0.0), None
        for lines in (self._lines, self._highlighted):
            lines.draw([])
        for text in self.labels:
            text.hide()

    def box(self) -> Box:
        """Return the pixels of the backing; of no extent while hidden."""
        return self._area

    def label_boxes(self) -> list[Box]:
        """Return the pixels of the labels; none while hidden."""
        return list(self._boxes)

    def end_at(self, x: float, y: float) -> int | None:
        """Return the arrow whose end or label is at a pixel, or None."""
        away = np.hypot(*(self._tips - (x, y)).T)
        for i in np.argsort(away):
            left, bottom, right, top = self._boxes[i]
            if away[i] <= self._touch or (left <= x <= right and bottom <= y <= top):
                return int(i)
        return None

    def draw(
        self,
        axes: np.ndarray,
        words: Sequence[str],
        origin: np.ndarray,
        scale: float,
        dpi: int,
        *,
        length: float = LENGTH,
    ) -> None:
        """Draw the arrows around a pixel.

        Parameters
        ----------
        axes
            (3, 3) columns: the shown components as the camera sees them, x to the right, y up.
        origin
            (2,) where they begin, in pixels.
        scale, dpi
            Pixels per logical pixel; resolution of the texts.
        length
            Length of an arrow parallel to the screen, in logical pixels.
        """
        wanted = (axes.tolist(), list(words), origin.tolist(), scale, dpi, length, self.hovered)
        if wanted == self._drawn:
            return
        self._drawn = wanted
        tips = axes[:2].T * length * scale
        arrows: list[list[np.ndarray]] = []
        directions: list[np.ndarray] = []
        for tip, shown in zip(tips, np.hypot(*tips.T), strict=True):
            lines = [np.array([origin, origin + tip])]
            along = tip / max(float(shown), 1e-9)
            if shown > SHORTEST * scale:
                across = np.array([-along[1], along[0]])
                head = np.array([across / 2 - along, (0, 0), -across / 2 - along])
                lines.append(origin + tip + HEAD * scale * head)
            else:
                # It points at the viewer: its label goes where the other arrows are not.
                along = -tips.sum(axis=0) / max(float(np.hypot(*tips.sum(axis=0))), 1e-9)
            arrows.append(lines)
            directions.append(along)
        self._tips, self._touch = origin + tips, TOUCH * scale
        lit = self.hovered
        self._lines.draw([line for i, lines in enumerate(arrows) if i != lit for line in lines])
        self._highlighted.draw([] if lit is None else arrows[lit])
        styles = [(self._colors[i == lit], self._size) for i in range(3)]
        if styles != self._styled:
            self._styled = styles
            for text, style in zip(self.labels, styles, strict=True):
                text.style(*style)
        self._place(words, self._tips, directions, scale, dpi)
        reach = np.array(self.reach) * scale * length / LENGTH
        (left, bottom), (right, top) = (origin - reach).tolist(), (origin + reach).tolist()
        self._area = union([(left, bottom, right, top), *self._boxes])

    def _place(
        self,
        words: Sequence[str],
        tips: np.ndarray,
        directions: Sequence[np.ndarray],
        scale: float,
        dpi: int,
    ) -> None:
        """Place the labels beyond the tips, from the lowest to the highest."""
        raised: list[Box] = []
        self._boxes = [(0.0, 0.0, 0.0, 0.0)] * 3
        middles = []
        for i, text in enumerate(self.labels):
            text.write(words[i])
            left, bottom, right, top = text.extent(dpi)
            # The label's nearer edge is at the gap from the tip, whatever the arrow's direction.
            half = np.array([right - left, top - bottom]) / 2
            reach = float(np.abs(directions[i]) @ half) + LABEL_GAP * scale
            middles.append(tips[i] + reach * directions[i])
        for i in sorted(range(3), key=lambda i: float(middles[i][1])):
            across, height = middles[i]
            extent = self.labels[i].extent(dpi)
            box = moved(extent, round(across), round(height))
            # Labels of nearly coincident arrows would overlap.
            for other in raised:
                if box[0] < other[2] and other[0] < box[2] and box[1] < other[3] + 2:
                    height += max(other[3] + 2 - box[1], 0)
                    box = moved(extent, round(across), round(height))
            self.labels[i].place(across, height, "centre", middle=True)
            raised.append(box)
            self._boxes[i] = box
