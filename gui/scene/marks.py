"""Marks of a scene: rings for selection and hover, and labels beside points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gui.scene.actors import Batch
from gui.scene.hud import Box, Lines2D, Plates2D
from gui.scene.labels import MAX_COUNTED, PointLabels
from gui.state.camera import VIEW_ANGLE
from gui.state.selection import MAX_RINGS
from gui.state.values import POINT_SIZE
from gui.style.theme import LIGHT, TEXT, Theme

if TYPE_CHECKING:
    import pyvista as pv

    from gui.scene.picking import Projection
    from gui.scene.scene_state import SceneState

RING_RADIUS, RING_GAP = 8.0, 4.5
"""Smallest radius of a ring, and its least distance from the edge of its point."""
RING_WIDTH, EDGE, HALO = 2.5, 1.0, 1.5
"""Widths in logical pixels: of a ring; of its dark or light edge on either side; and of the halo in
the background's colour outside that. On any colour map, one of the three stands out.
"""
RIM_GAP, RIM = 1.0, 2.0
"""Around each of many selected points, in logical pixels: a gap, and the rim outside it."""
MIN_RIM = 0.6
"""Smaller points have thinner rims, down to this share."""
_CIRCLE = np.column_stack(
    [np.cos(np.linspace(0, 2 * np.pi, 33)), np.sin(np.linspace(0, 2 * np.pi, 33))]
)


_LINE_END = np.full((1, 3), np.nan)


class Marks:
    """Rings around the selected and the hovered points, and labels that do not collide.

    Rings have edges in the text's colour and a halo in the background's, for the accent alone would
    be lost on a curve that has a similar colour. Many rings would hide the curve: beyond
    :data:`gui.state.selection.MAX_RINGS` only the current position has one, and the others have a
    rim of the same colour, with a gap to the point.

    Attributes
    ----------
    labels
        The texts beside points.
    """

    def __init__(self, plotter: pv.BasePlotter) -> None:
        self._plotter = plotter
        # In the order in which they are drawn: no backing of a text dims a ring.
        leaders, plates = Lines2D(plotter.renderer), Plates2D(plotter.renderer)
        self._halos, self._edges, self._rings, self._hover_ring = (
            Lines2D(plotter.renderer) for _ in range(4)
        )
        self.labels = PointLabels(plotter.renderer, leaders, plates)
        self._backed, self._hidden = True, False
        self._rims: Batch | None = None
        self._gaps: Batch | None = None
        self._theme = LIGHT
        self._scale, self._gap, self._disc, self._radius = 1.0, 1.0, 1.0, 1.0

    def style(self, theme: Theme, scale: float, point_size: float) -> None:
        """Set the theme, the number of pixels per logical pixel, and the size of a point."""
        self._theme, self._scale = theme, scale
        # Sizes of the discs under a selected point.
        rim = min(max(point_size / (POINT_SIZE * scale), MIN_RIM), 1.0) * scale
        self._gap = point_size + 2 * RIM_GAP * rim
        self._disc = self._gap + 2 * RIM * rim
        self._radius = max(RING_RADIUS * scale, point_size / 2 + RING_GAP * scale)
        width = RING_WIDTH * scale
        self._rings.style(theme.accent, width)
        self._hover_ring.style(theme.hover, width)
        self._edges.style(theme.text, width + 2 * EDGE * scale)
        self._halos.style(theme.viewport, width + 2 * (EDGE + HALO) * scale)
        self.labels.style(theme.text, theme.px(TEXT - 1), theme.viewport)
        self.labels.leaders.style(theme.muted, scale)
        self._style_rims()

    def set_backed(self, backed: bool) -> None:
        """Set whether there is anything in the background's colour, which shows on no other."""
        self._backed = self.labels.plates.on = backed

    def hide(self) -> None:
        """Hide all marks."""
        if self._hidden:
            return
        self._hidden = True
        self.labels.hide()
        for lines in (self._halos, self._edges, self._rings, self._hover_ring):
            lines.draw([])
        self._show_rims([])

    def draw(
        self,
        state: SceneState,
        displayed: np.ndarray,
        written: Sequence[tuple[np.ndarray, str]],
        beside: Sequence[np.ndarray],
        projection: Projection,
        taken: list[Box],
        dpi: int,
    ) -> None:
        """Draw the marks for the next frame.

        Parameters
        ----------
        written
            Further texts with their (3,) points, which take precedence.
        beside
            Each (m, 3): other lines that labels should not cover.
        taken
            Pixels that labels must not cover.
        """
        self._hidden = False
        wanted = [p for p in state.labels if state.visible(p)]
        chosen = [p for p in state.selection if state.visible(p)]
        many = len(chosen) > MAX_RINGS
        discs = (self._disc, self._gap) if self._backed else (self._disc,)
        at = displayed[chosen]
        self._show_rims([self._behind(at, disc, projection) for disc in discs] if many else [])
        ringed = [p for p in chosen if p == state.selection[-1]] if many else chosen
        hovered = [p for p in (state.hover,) if p is not None and state.visible(p)]
        spots = [at for at, _ in written]
        marked = displayed[[*ringed, *hovered, *wanted]]
        xy, _ = projection.to_screen(np.vstack([*spots, marked]))
        spots_xy, xy = xy[: len(spots)], xy[len(spots) :]
        rings = [centre + self._radius * _CIRCLE for centre in xy]
        n_rings = len(ringed) + len(hovered)
        self._halos.draw(rings[:n_rings] if self._backed else [])
        self._edges.draw(rings[: len(ringed)])
        self._rings.draw(rings[: len(ringed)])
        self._hover_ring.draw(rings[len(ringed) : n_rings])
        anchors = np.vstack([spots_xy, xy[n_rings:]])
        texts = [*(text for _, text in written), *(state.labels[p] for p in wanted)]
        first, last = state.positions
        lines = [_thinned(displayed[first : last + 1], MAX_COUNTED)]
        for line in beside:
            lines += [_LINE_END, _thinned(line, MAX_COUNTED // len(beside))]
        current = {state.hover, *state.selection}
        self.labels.place(
            texts,
            anchors,
            projection.size,
            taken,
            self._scale,
            dpi,
            curve=projection.to_screen(np.vstack(lines))[0] if texts else anchors,
            firm=len(spots) + sum(p in current for p in wanted),
            clear=self._radius - RING_RADIUS * self._scale,
        )

    def _behind(self, points: np.ndarray, disc: float, projection: Projection) -> np.ndarray:
        """Return the points moved away from the camera, for discs of a size in pixels.

        So these are behind the curve, and larger ones behind smaller ones.
        """
        camera = self._plotter.camera
        pixels = 2 * disc / projection.size[1]
        if camera.GetParallelProjection():
            return points + pixels * camera.GetParallelScale() * np.array(
                camera.GetDirectionOfProjection()
            )
        # At this distance from the camera, a disc's size is this share of the distance.
        share = pixels * np.tan(np.radians(VIEW_ANGLE / 2))
        moved: np.ndarray = points + share * (points - np.array(camera.GetPosition()))
        return moved

    def _show_rims(self, points: Sequence[np.ndarray]) -> None:
        """Draw rims and gaps at points, (n, 3) each; none without any."""
        if self._rims is None and len(points):
            self._rims = Batch(self._plotter, "selected", "points")
            self._gaps = Batch(self._plotter, "selected gaps", "points")
            self._style_rims()
        if self._rims is not None and self._gaps is not None:
            self._rims.show(points[:1])
            self._gaps.show(points[1:])

    def _style_rims(self) -> None:
        if self._rims is not None and self._gaps is not None:
            self._rims.style(self._theme.accent, self._disc)
            self._gaps.style(self._theme.viewport, self._gap)


def _thinned(line: np.ndarray, most: int) -> np.ndarray:
    """Return every second, third … point of a line: hardly more than so many."""
    return line[:: max(1, len(line) // max(1, most))]
