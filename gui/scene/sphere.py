"""A wireframe sphere in the scene."""

from __future__ import annotations

import numpy as np
import pyvista as pv
from vtkmodules.vtkCommonMath import vtkMatrix4x4

from geometry.measures.sphere import SphereSection

SEGMENTS, MERIDIANS, PARALLELS = 96, 6, 5
"""Segments per circle, number of meridian circles, number of parallels between the poles."""


class WireSphere:
    """Circles of longitude and latitude on the surface, thin and pale."""

    def __init__(self, plotter: pv.BasePlotter) -> None:
        self._actor = plotter.add_mesh(
            unit_circles(), name="sphere", style="wireframe", lighting=False, pickable=False,
            reset_camera=False, render=False, show_scalar_bar=False,
        )  # fmt: skip

    def style(self, color: str, width: float) -> None:
        """Set the colour (``#rrggbb``) and the width of the lines in pixels."""
        self._actor.prop.color = color
        self._actor.prop.line_width = width

    def show(self, section: SphereSection | None, turn: np.ndarray) -> None:
        """Draw a surface under a display transform, or none."""
        if section is None or section.axes is None:
            self._actor.SetVisibility(False)
            return
        matrix = vtkMatrix4x4()
        placed = np.column_stack([turn @ section.axes, turn @ section.centre])
        for i, j in np.ndindex(3, 4):
            matrix.SetElement(i, j, float(placed[i, j]))
        self._actor.SetUserMatrix(matrix)
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
    starts = (SEGMENTS + 1) * np.arange(len(circles))
    cells = starts[:, None] + np.arange(SEGMENTS + 1)
    made.lines = np.column_stack([np.full(len(circles), SEGMENTS + 1), cells]).ravel()
    made.verts = np.zeros(0, dtype=np.int64)
    return made
