"""Labels beside points, each with a leader line, placed without overlaps or omitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gui.scene.hud import Box, Lines2D, Plates2D, Text2D, padded

if TYPE_CHECKING:
    import pyvista as pv

MAX_LABELS = 32
GAPS = (12.0, 30.0, 52.0)
"""Gaps between a point and its label, in logical pixels: wider ones where there is no room."""
CELL = 6.0
"""Size of the cells in which a curve's points are counted, in logical pixels."""
MAX_COUNTED, MAX_BETWEEN = 4096, 8
"""Points of a curve that are counted, of a longer one every second, third …; most on each line."""


class PointLabels:
    """A pool of texts that are placed beside points for each frame.

    ``leaders`` draws the lines from the points to their labels, and ``plates`` their backings.
    """

    def __init__(self, renderer: pv.Renderer, leaders: Lines2D, plates: Plates2D) -> None:
        self.leaders, self.plates = leaders, plates
        self.texts = [Text2D(renderer) for _ in range(MAX_LABELS)]

    def style(self, color: str, size: int, background: str) -> None:
        """Set the colour of the texts, their size in logical pixels, and the colour behind."""
        for text in self.texts:
            text.style(color, size)
        self.plates.style(background)

    def hide(self) -> None:
        """Hide all of them."""
        for text in self.texts:
            text.hide()
        self.leaders.draw([])
        self.plates.draw([])

    def place(
        self,
        wanted: Sequence[str],
        anchors: np.ndarray,
        size: tuple[int, int],
        taken: Sequence[Box],
        scale: float,
        dpi: int,
        *,
        curve: np.ndarray,
        firm: int,
        clear: float = 0.0,
    ) -> None:
        """Place labels beside their points and off the curve, as many as there is room for.

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
        curve
            (m, 2) pixels of the curve's points, and of other lines behind rows of NaN.
        firm
            So many of the labels may cover the curve and cross others' lines where they have to;
            of the others, those that would are left out.
        clear
            Pixels around a point that they keep free beside the usual gap.
        """
        if not wanted:
            self.hide()
            return
        boxes, covered = list(taken), Coverage(curve, size, CELL * scale)
        leaders: list[np.ndarray] = []
        for rank, (words, (x, y)) in enumerate(zip(wanted, anchors, strict=True)):
            if len(leaders) == MAX_LABELS:
                break
            if not (0 <= x < size[0] and 0 <= y < size[1]):
                continue
            text = self.texts[len(leaders)]
            text.write(words)
            left, bottom, right, top = text.extent(dpi)
            room = (right - left, top - bottom)
            gaps = (clear + gap * scale for gap in GAPS)
            places = (b for gap in gaps for b in _places(x, y, *room, gap))
            free = [b for b in places if _fits(b, boxes, size)]
            if rank >= firm:
                free = _untangled(x, y, free, leaders, boxes[len(taken) :], scale)
            # Of what may be left out, the backing counts: it shall not cover the curve either.
            box, count = covered.freest(free, scale if rank >= firm else 0.0)
            if box is None or (rank >= firm and count):
                continue
            text.place(box[0] - left, box[1] - bottom)
            boxes.append(padded(box, scale))
            leaders.append(_leader(x, y, box))
        for text in self.texts[len(leaders) :]:
            text.hide()
        self.leaders.draw(leaders)
        self.plates.draw(boxes[len(taken) :])


class Coverage:
    """Counts a curve's points within boxes, at the same cost for any number of them.

    Parameters
    ----------
    curve
        (m, 2) pixels of the points, hardly more than :data:`MAX_COUNTED`; those on the lines
        between them count as well. A row of NaN ends a line.
    size, cell
        The view's size, and that of the cells to which boxes are rounded, in pixels.
    """

    def __init__(self, curve: np.ndarray, size: tuple[int, int], cell: float) -> None:
        self._cell = cell
        self._shape = (int(size[0] / cell) + 1, int(size[1] / cell) + 1)
        between = min(max(1, MAX_COUNTED // max(1, len(curve))), MAX_BETWEEN)
        shares = np.arange(between)[:, None, None] / between
        along = (curve[:-1] + shares * (curve[1:] - curve[:-1])).reshape(-1, 2)
        along = np.concatenate([along, curve[-1:]])
        seen = ((along >= 0) & (along < size)).all(axis=1)
        at = (along[seen] / cell).astype(np.intp)
        counts = np.bincount(at[:, 0] * self._shape[1] + at[:, 1], minlength=np.prod(self._shape))
        # Entry (i, j) is the number of points in the cells before column i and below row j.
        self._below = np.zeros((self._shape[0] + 1, self._shape[1] + 1), dtype=np.intp)
        self._below[1:, 1:] = counts.reshape(self._shape).cumsum(axis=0).cumsum(axis=1)

    def count(self, box: Box) -> int:
        """Return the number of points in a box, as far as it is in the view."""
        left, bottom = (max(0, int(side / self._cell)) for side in box[:2])
        right, top = (
            min(int(side / self._cell), cells - 1)
            for side, cells in zip(box[2:], self._shape, strict=True)
        )
        below, right, top = self._below, right + 1, top + 1
        return int(
            below[right, top] - below[left, top] - below[right, bottom] + below[left, bottom]
        )

    def freest(self, boxes: Iterable[Box], scale: float) -> tuple[Box | None, int]:
        """Return the first box whose backing covers the fewest points, and their number.

        ``scale`` is as for :func:`gui.scene.hud.padded`; 0 for boxes without backings.
        """
        best, least = None, 0
        for box in boxes:
            count = self.count(padded(box, scale))
            if best is None or count < least:
                best, least = box, count
                if not count:
                    break
        return best, least


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


def _untangled(
    x: float,
    y: float,
    boxes: Sequence[Box],
    leaders: Sequence[np.ndarray],
    others: Sequence[Box],
    scale: float,
) -> list[Box]:
    """Return the boxes whose leaders cross no other leader and no label, and that lie on none."""
    if not boxes or not leaders:
        return list(boxes)
    own, theirs = np.array([_leader(x, y, box) for box in boxes]), np.array(leaders)
    # What crosses a box and ends outside crosses a diagonal of it.
    tangled = _cross(own, np.concatenate([theirs, _diagonals(others)])).any(axis=1)
    backings = _diagonals([padded(box, scale) for box in boxes])
    on = _cross(backings, theirs).any(axis=1).reshape(len(boxes), 2).any(axis=1)
    return [boxes[int(at)] for at in np.flatnonzero(~tangled & ~on)]


def _diagonals(boxes: Sequence[Box]) -> np.ndarray:
    """Return the (2 n, 2, 2) ends of the diagonals of n boxes."""
    left, bottom, right, top = np.array(boxes).T
    ends = [[left, bottom], [right, top], [left, top], [right, bottom]]
    return np.array(ends).transpose(2, 0, 1).reshape(-1, 2, 2)


def _cross(lines: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the (n, m) truth of whether each of n lines crosses each of m others."""
    (a, b), (c, d) = lines.transpose(1, 0, 2)[:, :, None], others.transpose(1, 0, 2)[:, None]

    def side(start: np.ndarray, end: np.ndarray, point: np.ndarray) -> np.ndarray:
        along, to = end - start, point - start
        return along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0]

    apart = side(a, b, c) * side(a, b, d) < 0
    return apart & (side(c, d, a) * side(c, d, b) < 0)


def _fits(box: Box, taken: list[Box], size: tuple[int, int]) -> bool:
    inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
    return inside and not any(
        box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken
    )
