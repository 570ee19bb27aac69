"""Guides in the scene: thin grey lines and points, and highlighted positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyvista as pv

from gui.scene.actors import Batch, user_matrix
from gui.state.colors import lookup_table
from gui.state.guides import Guide
from gui.style.theme import Theme

LINE_WIDTH, POINT_SIZE, MATCHED_SIZE, GHOST_SIZE = 1.5, 4.0, 6.0, 8.0
"""In logical pixels; the last is of points that stand in for the curve's, and so are larger."""
DASHES, DASH_SHARE, DASH_POINTS = 28, 0.6, 4
"""For a line as long as a guide's size: number of dashes, their share of it, points on each."""
MIN_DASHES = 3
PALE = 0.4
"""Opacity of a pale line in colours of its own."""
LIT_SIZES = (9.0, 11.0, 13.0, 16.0, 19.0)
"""Sizes of highlighted positions in logical pixels, by equal steps of their weight."""
MIN_WEIGHT = 0.02
"""Positions of less weight are not highlighted."""


class Look(NamedTuple):
    """How parts of a kind are drawn."""

    style: str  # "wireframe" or "points"
    width: float  # Of lines, or size of points, in logical pixels
    tone: str = ""  # Name of the theme's colour; "" for the colours of positions


LOOKS = {
    "lines": Look("wireframe", LINE_WIDTH, "text"),
    "pale lines": Look("wireframe", 1.0, "faint"),
    "dashes": Look("wireframe", 1.0, "muted"),
    "segments": Look("wireframe", 1.0, "muted"),
    "points": Look("points", POINT_SIZE, "muted"),
    "colored lines": Look("wireframe", LINE_WIDTH),
    "matched points": Look("points", MATCHED_SIZE),
    "colored points": Look("points", MATCHED_SIZE),
}
"""The kinds of parts of guides."""


@dataclass(frozen=True, eq=False, slots=True)
class GuidePart:
    """A polyline, or points, of a guide, for all that draw it."""

    kind: str  # One of :data:`LOOKS`
    points: np.ndarray  # (m, 3)
    at: np.ndarray | None = None  # (m,): positions whose colours they have; None for the kind's own

    @property
    def is_line(self) -> bool:
        """Whether its points are joined."""
        return LOOKS[self.kind].style == "wireframe"


def guide_parts(guide: Guide) -> Iterator[GuidePart]:
    """Yield what a guide draws, but for texts and highlighted positions."""
    for line in guide.lines:
        if guide.colormap and guide.along is not None:
            yield GuidePart("colored lines", line, guide.along)
        else:
            yield GuidePart("pale lines" if guide.pale else "lines", line)
    for dash in dashes_of(guide):
        yield GuidePart("dashes", dash)
    for segment in () if guide.segments is None else guide.segments:
        yield GuidePart("segments", segment)
    if guide.points is not None and len(guide.points):
        kind = "colored points" if guide.colormap else "matched points"
        yield GuidePart("points" if guide.matched is None else kind, guide.points, guide.matched)


class GuideLines:
    """Draws guides under the display transform, reusing meshes of unchanged size.

    ``table`` is that of the curve's colours, also for highlighted positions.
    """

    def __init__(self, plotter: pv.BasePlotter, table: pv.LookupTable) -> None:
        self._table, self._own_table = table, pv.LookupTable(values=lookup_table("jet"))
        self._batches = {
            kind: Batch(plotter, f"guide {kind}", look.style) for kind, look in LOOKS.items()
        }
        self._lit = [Batch(plotter, f"guide lit {i}", "points") for i in range(len(LIT_SIZES))]
        for batch in (self._batches["matched points"], *self._lit):
            batch.color_by(table)
        for batch in (self._batches["colored lines"], self._batches["colored points"]):
            batch.color_by(self._own_table)
        self._shown: tuple[Guide, ...] = ()
        self._parts: list[GuidePart] = []
        self._point_scale = 1.0

    def style(self, theme: Theme, scale: float, point_share: float = 1.0) -> None:
        """Set the theme, the pixels per logical pixel, and the points' size against the default."""
        self._point_scale = point_share * scale
        for kind, (style, width, tone) in LOOKS.items():
            sized = self._point_scale if style == "points" and not tone else scale
            self._batches[kind].style(getattr(theme, tone or "text"), width * sized)
        self._size_matched()
        for batch, size in zip(self._lit, LIT_SIZES, strict=True):
            batch.style(theme.text, size * self._point_scale)

    def show(self, guides: tuple[Guide, ...], coordinates: np.ndarray, values: np.ndarray) -> None:
        """Draw guides, or none.

        ``values`` (n_positions,) give the colours.
        """
        changed = guides != self._shown
        if changed:
            self._shown = guides
            self._parts = [part for guide in guides for part in guide_parts(guide)]
            self._size_matched()
        for kind, batch in self._batches.items():
            if changed or not LOOKS[kind].tone:
                parts = [part for part in self._parts if part.kind == kind]
                own = [values[part.at] for part in parts if part.at is not None]
                batch.show([part.points for part in parts], np.concatenate(own) if own else None)
        for guide in guides:
            if guide.colormap:  # of its own, which spans the same values as the curve's
                self._own_table.values = lookup_table(guide.colormap)
                self._own_table.scalar_range = self._table.scalar_range
                self._own_table.nan_color = self._table.nan_color
                own_lines = self._batches["colored lines"]
                own_lines.actor.prop.opacity = PALE if guide.pale else 1.0
        lit = [lit_levels(guide) for guide in guides]
        for level, batch in enumerate(self._lit):
            at = np.concatenate([np.zeros(0, np.intp), *(found[level] for found in lit)])
            batch.show([coordinates[at]] if len(at) else [], values[at])

    def _size_matched(self) -> None:
        stands_in = any(guide.ghost for guide in self._shown)
        size = (GHOST_SIZE if stands_in else MATCHED_SIZE) * self._point_scale
        self._batches["matched points"].actor.prop.point_size = size

    def turn(self, turn: np.ndarray) -> None:
        """Set the display transform."""
        matrix = user_matrix(turn)
        for batch in (*self._batches.values(), *self._lit):
            batch.actor.SetUserMatrix(matrix)


def dashes_of(guide: Guide) -> list[np.ndarray]:
    """Return the dashes of all dashed lines, of similar length, each (points, 3)."""
    if not guide.dashed:
        return []
    drawn = np.concatenate([*guide.lines, *guide.dashed])
    size = float(np.linalg.norm(np.ptp(drawn, axis=0))) or 1.0
    found: list[np.ndarray] = []
    for line in guide.dashed:
        share = float(_along(line)[-1]) / size
        found.extend(dashes(line, max(MIN_DASHES, round(DASHES * share))))
    return found


def dashes(line: np.ndarray, count: int = DASHES) -> np.ndarray:
    """Return the dashes of a polyline, of equal length: (count, points, 3)."""
    along = _along(line)
    # The last dash ends where the line does.
    starts = np.arange(count) / (count - 1 + DASH_SHARE)
    within = np.linspace(0.0, DASH_SHARE, DASH_POINTS) / (count - 1 + DASH_SHARE)
    at = along[-1] * (starts[:, None] + within)
    return np.stack([np.interp(at, along, line[:, axis]) for axis in range(3)], axis=-1)


def _along(line: np.ndarray) -> np.ndarray:
    """Return the arc length from a polyline's beginning to each point."""
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def lit_levels(guide: Guide) -> list[np.ndarray]:
    """Return the highlighted positions, for each of the sizes."""
    if guide.positions is None or guide.weights is None:
        return [np.zeros(0, np.intp)] * len(LIT_SIZES)
    count = len(LIT_SIZES)
    level = np.clip(np.ceil(guide.weights * count).astype(np.intp) - 1, 0, count - 1)
    level[guide.weights < MIN_WEIGHT] = -1
    return [np.asarray(guide.positions, np.intp)[level == i] for i in range(count)]
