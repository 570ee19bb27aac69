"""A wireframe sphere in the scene."""

from __future__ import annotations

import numpy as np
import pyvista as pv

from geometry.measures.sphere import SphereSection
from gui.scene.actors import add_actor, polyline_cells, user_matrix

SEGMENTS, MERIDIANS, PARALLELS = 96, 6, 5
"""Segments per circle, number of meridian circles, number of parallels between the poles."""


class WireSphere:
    """Circles of longitude and latitude on the surface, thin and pale."""

    def __init__(self, plotter: pv.BasePlotter) -> None:
        self._actor = add_actor(plotter, "sphere", "wireframe", unit_circles())

    def style(self, color: str, width: float) -> None:
        """Set the colour (``#rrggbb``) and the width of the lines in pixels."""
        self._actor.prop.color = color
        self._actor.prop.line_width = width

    def show(self, section: SphereSection | None, turn: np.ndarray) -> None:
        """Draw a surface under a display transform, or none."""
        if section is None or section.axes is None:
            self._actor.SetVisibility(False)
            return
        self._actor.SetUserMatrix(user_matrix(turn @ section.axes, turn @ section.centre))
        self._actor.SetVisibility(True)


def unit_circles() -> pv.PolyData:
    """Return meridians and parallels of the unit sphere, their poles on the third axis."""
    around = np.linspace(0.0, 2 * np.pi, SEGMENTS + 1)
    cos, sin = np.cos(around), np.sin(around)
    circles = [
        np.column_stack([sin * np.cos(longitude), sin * np.sin(longitude), cos])
        for longitude in np.linspace(0.0, np.pi, MERIDIANS, endpoint=False)
    ]
    for latitude in np.linspace(-np.pi / 2, np.pi / 2, PARALLELS + 2)[1:-1]:
        height = np.full_like(cos, np.sin(latitude))
        circles.append(np.column_stack([np.cos(latitude) * cos, np.cos(latitude) * sin, height]))
    made = pv.PolyData(np.concatenate(circles).astype(np.float32))
    made.lines = polyline_cells([SEGMENTS + 1] * len(circles))
    made.verts = np.zeros(0, dtype=np.int64)
    return made
