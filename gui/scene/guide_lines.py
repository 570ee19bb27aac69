"""Guides in the scene: thin grey lines and points, and highlighted positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyvista as pv

from gui.scene.actors import add_actor, polyline_cells, user_matrix
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


class GuideLines:
    """Draws guides under the display transform, reusing meshes of unchanged size.

    ``table`` is that of the curve's colours, also for highlighted positions.
    """

    def __init__(self, plotter: pv.BasePlotter, table: pv.LookupTable) -> None:
        self._lines = Batch(plotter, "guide lines", "wireframe")
        self._pale = Batch(plotter, "guide pale lines", "wireframe")
        self._dashes = Batch(plotter, "guide dashes", "wireframe")
        self._segments = Batch(plotter, "guide segments", "wireframe")
        self._points = Batch(plotter, "guide points", "points")
        self._matched = Batch(plotter, "guide matched points", "points")
        self._matched.color_by(table)
        self._table, self._own_table = table, pv.LookupTable(values=lookup_table("jet"))
        self._own_lines = Batch(plotter, "guide lines of own colours", "wireframe")
        self._own_points = Batch(plotter, "guide points of own colours", "points")
        for batch in (self._own_lines, self._own_points):
            batch.color_by(self._own_table)
        self._lit = [Batch(plotter, f"guide lit {i}", "points") for i in range(len(LIT_SIZES))]
        for batch in self._lit:
            batch.color_by(table)
        self._shown: tuple[Guide, ...] = ()
        self._point_scale = 1.0
        thin = (self._lines, self._pale, self._dashes, self._segments)
        own = (self._own_lines, self._own_points)
        self._all = (*thin, self._points, self._matched, *own, *self._lit)

    def style(self, theme: Theme, scale: float, point_share: float = 1.0) -> None:
        """Set the theme, the pixels per logical pixel, and the points' size against the default."""
        self._lines.style(theme.text, LINE_WIDTH * scale)
        self._pale.style(theme.faint, scale)
        self._dashes.style(theme.muted, scale)
        self._segments.style(theme.muted, scale)
        self._points.style(theme.muted, POINT_SIZE * scale)
        self._point_scale = point_share * scale
        self._matched.style(theme.text, self._matched_size)
        self._own_lines.style(theme.text, LINE_WIDTH * scale)
        self._own_points.style(theme.text, MATCHED_SIZE * point_share * scale)
        for batch, size in zip(self._lit, LIT_SIZES, strict=True):
            batch.style(theme.text, size * point_share * scale)

    def show(self, guides: tuple[Guide, ...], coordinates: np.ndarray, values: np.ndarray) -> None:
        """Draw guides, or none.

        ``values`` (n_positions,) give the colours.
        """
        if guides != self._shown:
            self._shown = guides
            self._show_lines(guides)
            self._matched.actor.prop.point_size = self._matched_size
        _show_colored(self._matched, _beads([g for g in guides if not g.colormap]), values)
        self._show_own([guide for guide in guides if guide.colormap], values)
        lit = [lit_levels(guide) for guide in guides]
        for level, batch in enumerate(self._lit):
            at = np.concatenate([np.zeros(0, np.intp), *(found[level] for found in lit)])
            batch.show([coordinates[at]] if len(at) else [], values[at])

    @property
    def _matched_size(self) -> float:
        stands_in = any(guide.ghost for guide in self._shown)
        return (GHOST_SIZE if stands_in else MATCHED_SIZE) * self._point_scale

    def _show_own(self, guides: Sequence[Guide], values: np.ndarray) -> None:
        """Draw guides in colours of their own, which span the same values as the curve's."""
        lines = [(line, g.along) for g in guides if g.along is not None for line in g.lines]
        _show_colored(self._own_lines, lines, values)
        _show_colored(self._own_points, _beads(guides), values)
        for guide in guides:
            self._own_table.values = lookup_table(guide.colormap)
            self._own_table.scalar_range = self._table.scalar_range
            self._own_table.nan_color = self._table.nan_color
            self._own_lines.actor.prop.opacity = PALE if guide.pale else 1.0

    def _show_lines(self, guides: tuple[Guide, ...]) -> None:
        grey = [guide for guide in guides if not guide.colormap]
        self._lines.show([line for guide in grey if not guide.pale for line in guide.lines])
        self._pale.show([line for guide in grey if guide.pale for line in guide.lines])
        self._dashes.show([dash for guide in guides for dash in dashes_of(guide)])
        self._segments.show([s for g in guides if g.segments is not None for s in g.segments])
        self._points.show([g.points for g in guides if g.points is not None and g.matched is None])

    def turn(self, turn: np.ndarray) -> None:
        """Set the display transform."""
        matrix = user_matrix(turn)
        for batch in self._all:
            batch.actor.SetUserMatrix(matrix)


class Batch:
    """Polylines or points of one colour and width: one actor."""

    def __init__(self, plotter: pv.BasePlotter, name: str, style: str) -> None:
        self._data = pv.PolyData()
        self._sizes: tuple[int, ...] = ()
        self._as_points = style == "points"
        self.actor = add_actor(plotter, name, style, self._data)
        self.actor.mapper.SetScalarVisibility(False)

    def color_by(self, table: pv.LookupTable) -> None:
        """Colour each point by its value, with a lookup table."""
        mapper = self.actor.mapper
        mapper.SetLookupTable(table)
        mapper.SetUseLookupTableScalarRange(True)
        mapper.SetScalarModeToUsePointData()
        mapper.SetScalarVisibility(True)

    def style(self, color: str, width: float) -> None:
        """Set the colour (``#rrggbb``), and the width of lines or size of points in pixels."""
        self.actor.prop.color = color
        self.actor.prop.line_width = self.actor.prop.point_size = width

    def show(self, parts: Sequence[np.ndarray], values: np.ndarray | None = None) -> None:
        """Draw polylines or points of (m, 3) each, optionally coloured by values."""
        self.actor.SetVisibility(bool(len(parts)))
        if not len(parts):
            return
        points = np.concatenate(parts).astype(np.float32)
        sizes = tuple(len(part) for part in parts)
        if sizes == self._sizes:
            self._data.points[:] = points
            self._data.GetPoints().Modified()
        else:
            self._sizes = sizes
            self._data.DeepCopy(pv.PolyData())
            self._data.points = points
            none = np.zeros(0, dtype=np.int64)
            self._data.verts = polyline_cells(sizes) if self._as_points else none
            self._data.lines = none if self._as_points else polyline_cells(sizes)
        if values is not None:
            self._data.point_data["value"] = values
            self._data.point_data.active_scalars_name = "value"


def _beads(guides: Sequence[Guide]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the points that have the colours of positions, and these positions."""
    parts = [(guide.points, guide.matched) for guide in guides]
    return [(points, at) for points, at in parts if points is not None and at is not None]


def _show_colored(
    batch: Batch, parts: Sequence[tuple[np.ndarray, np.ndarray]], values: np.ndarray
) -> None:
    """Draw parts, each with the positions that give it their values."""
    found = np.concatenate([values[at] for _, at in parts]) if parts else None
    batch.show([points for points, _ in parts], found)


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
