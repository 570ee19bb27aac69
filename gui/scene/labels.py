"""Labels beside points, each with a leader line, placed without overlaps or omitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gui.scene.hud import Box, Lines2D, Text2D

if TYPE_CHECKING:
    import pyvista as pv

MAX_LABELS = 32
GAP = 12.0
"""Gap between a point and its label, in logical pixels."""


class PointLabels:
    """A pool of texts that are placed beside points for each frame.

    ``leaders`` draws the lines from the points to their labels.
    """

    def __init__(self, renderer: pv.Renderer, leaders: Lines2D) -> None:
        self.leaders = leaders
        self.texts = [Text2D(renderer) for _ in range(MAX_LABELS)]

    def style(self, color: str, size: int, background: str) -> None:
        """Set the colour of the texts, their size in logical pixels, and the colour behind."""
        for text in self.texts:
            text.style(color, size, background=background)

    def hide(self) -> None:
        """Hide all of them."""
        for text in self.texts:
            text.hide()
        self.leaders.draw([])

    def place(
        self,
        wanted: Sequence[str],
        anchors: np.ndarray,
        size: tuple[int, int],
        taken: Sequence[Box],
        scale: float,
        dpi: int,
    ) -> None:
        """Place labels beside their points, as many as there is room for.

        Parameters
        ----------
        wanted
            The texts, the most important first.
        anchors
            (len(wanted), 2) pixels of their points.
        taken
            Boxes they must not cover.
        scale, dpi
            Pixels per logical pixel; the render window's resolution.
        """
        self.hide()
        boxes = list(taken)
        leaders: list[np.ndarray] = []
        for words, (x, y) in zip(wanted, anchors, strict=True):
            if len(leaders) == MAX_LABELS:
                break
            if not (0 <= x < size[0] and 0 <= y < size[1]):
                continue
            text = self.texts[len(leaders)]
            text.write(words)
            text.place(0, 0)
            left, bottom, right, top = text.box(dpi)
            places = _places(x, y, right - left, top - bottom, GAP * scale)
            box = next((b for b in places if _fits(b, boxes, size)), None)
            if box is None:
                text.hide()
                continue
            text.place(box[0] - left, box[1] - bottom)
            boxes.append(box)
            leaders.append(_leader(x, y, box))
        self.leaders.draw(leaders)


def _places(x: float, y: float, width: float, height: float, gap: float) -> list[Box]:
    """Return places for a label around its point, best first: right, above, below, left."""
    corners = (
        (x + gap, y - height / 2),
        (x + gap / 2, y + gap),
        (x + gap / 2, y - gap - height),
        (x - gap - width, y - height / 2),
        (x - gap / 2 - width, y + gap),
        (x - gap / 2 - width, y - gap - height),
    )
    # Texts are placed on whole pixels.
    whole = [(float(np.ceil(left)), float(np.ceil(bottom))) for left, bottom in corners]
    return [(left, bottom, left + width, bottom + height) for left, bottom in whole]


def _leader(x: float, y: float, box: Box) -> np.ndarray:
    """Return the line from a point to the nearest point of its label."""
    return np.array([[x, y], [np.clip(x, box[0], box[2]), np.clip(y, box[1], box[3])]])


def _fits(box: Box, taken: list[Box], size: tuple[int, int]) -> bool:
    inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
    return inside and not any(
        box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken
    )
