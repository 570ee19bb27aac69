"""Paths of positions through a training, in the scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyvista as pv

from gui.scene.actors import add_actor, polyline_cells, user_matrix

PALEST = 0.2
"""Share of its colour at the beginning of a path."""


@dataclass(frozen=True, eq=False, slots=True)
class Ways:
    """Paths of positions through the snapshots, and the current snapshot."""

    points: np.ndarray  # (k, n, 3): coordinates of k positions at n snapshots
    at: int  # The snapshot, from 0


class Trails:
    """A thin line for each position: fading into the past, pale into the future."""

    def __init__(self, plotter: pv.BasePlotter) -> None:
        self._data = pv.PolyData()
        self._actor = add_actor(plotter, "trails", "wireframe", self._data)
        mapper = self._actor.mapper
        mapper.SetScalarModeToUsePointData()
        mapper.SetColorModeToDirectScalars()
        mapper.SetScalarVisibility(True)
        self._colors = ("#000000", "#808080", "#ffffff")

    def style(self, past: str, future: str, background: str, width: float) -> None:
        """Set the colours (``#rrggbb``) of past and future, and the width in pixels."""
        self._colors = (past, future, background)
        self._actor.prop.line_width = width

    def show(self, ways: Ways | None, turn: np.ndarray) -> None:
        """Draw paths under a display transform, or none."""
        self._actor.SetVisibility(ways is not None and ways.points.size > 0)
        if ways is None or not ways.points.size:
            return
        count, n = ways.points.shape[:2]
        if self._data.n_points != count * n:
            self._data.DeepCopy(pv.PolyData())
        self._data.points = np.ascontiguousarray(ways.points.reshape(-1, 3), np.float32)
        self._data.lines = polyline_cells([n] * count)
        self._data.verts = np.zeros(0, dtype=np.int64)
        self._data.point_data["color"] = np.tile(self._shades(n, ways.at), (count, 1))
        self._data.point_data.active_scalars_name = "color"
        self._actor.SetUserMatrix(user_matrix(turn))

    def _shades(self, n: int, at: int) -> np.ndarray:
        """(n, 3) uint8 colours along a path."""
        past, future, ground = (np.array(pv.Color(color).int_rgb) for color in self._colors)
        share = np.linspace(PALEST, 1.0, at + 1)[:, None]
        shades = np.tile(future, (n, 1)).astype(np.float64)
        shades[: at + 1] = ground + share * (past - ground)
        return np.round(shades).astype(np.uint8)
