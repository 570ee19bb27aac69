"""Three arrows in a corner of the scene that show the components' directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gui.scene.hud import Align, Box, Lines2D, Text2D

if TYPE_CHECKING:
    import pyvista as pv

LENGTH = 40.0
"""Length of an arrow parallel to the screen, in logical pixels."""


class ComponentArrows:
    """Arrows and their labels, placed in pixels before each frame."""

    def __init__(self, renderer: pv.Renderer) -> None:
        self._lines = Lines2D(renderer)
        self.labels = [Text2D(renderer) for _ in range(3)]

    def style(self, color: str, width: float) -> None:
        """Set the colour of the arrows and their width in pixels."""
        self._lines.style(color, width)

    def style_labels(self, color: str, size: int) -> None:
        """Set the colour of the labels and their size in logical pixels."""
        for text in self.labels:
            text.style(color, size)

    def hide(self) -> None:
        """Hide arrows and labels."""
        self._lines.draw([])
        for text in self.labels:
            text.hide()

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
        tips = axes[:2].T * length * scale
        polylines: list[np.ndarray] = []
        places: list[tuple[np.ndarray, Align]] = []
        for tip, shown in zip(tips, np.hypot(*tips.T), strict=True):
            polylines.append(np.array([origin, origin + tip]))
            along = tip / max(float(shown), 1e-9)
            if shown > 8 * scale:
                across = np.array([-along[1], along[0]])
                head = np.array([across / 2 - along, (0, 0), -across / 2 - along])
                polylines.append(origin + tip + 5 * scale * head)
            else:
                # It points at the viewer: its label goes where the other arrows are not.
                along = -tips.sum(axis=0) / max(float(np.hypot(*tips.sum(axis=0))), 1e-9)
            places.append((origin + tip + 10 * scale * along, _side(along[0])))
        self._lines.draw(polylines)
        self._place(words, places, dpi)

    def _place(
        self, words: Sequence[str], places: Sequence[tuple[np.ndarray, Align]], dpi: int
    ) -> None:
        """Place the labels, from the lowest to the highest."""
        raised: list[Box] = []
        for i in sorted(range(3), key=lambda i: places[i][0][1]):
            (left, height), side = places[i]
            text = self.labels[i]
            text.write(words[i])
            text.place(left, height, side, middle=True)
            box = text.box(dpi)
            # Labels of nearly coincident arrows would overlap.
            for other in raised:
                if box[0] < other[2] and other[0] < box[2] and box[1] < other[3] + 2:
                    height += max(other[3] + 2 - box[1], 0)
                    text.place(left, height, side, middle=True)
                    box = text.box(dpi)
            raised.append(box)


def _side(x: float) -> Align:
    return "left" if x > 0.3 else "right" if x < -0.3 else "centre"
