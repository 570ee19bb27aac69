"""Actors of lines and points, which have their own colours in any light and are not picked.

The sphere and the paths of positions are two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv
from vtkmodules.vtkCommonMath import vtkMatrix4x4

if TYPE_CHECKING:
    from geometry.measures.sphere import SphereSection
    from gui.scene.scene_state import Ways

SEGMENTS, MERIDIANS, PARALLELS = 96, 6, 5
"""Segments per circle, number of meridian circles, number of parallels between the poles."""
PALEST = 0.2
"""Share of its colour at the beginning of a path."""


def add_actor(plotter: pv.BasePlotter, name: str, style: str, mesh: pv.PolyData) -> pv.Actor:
    """Add a hidden actor that draws a mesh, which may be empty, as "wireframe" or "points"."""
    actor = plotter.add_mesh(
        pv.PolyData(np.zeros((1, 3))),
        name=name,
        style=style,
        lighting=False,
        render_points_as_spheres=style == "points",
        pickable=False,
        reset_camera=False,
        render=False,
        show_scalar_bar=False,
    )
    actor.mapper.SetInputDataObject(mesh)
    actor.SetVisibility(False)
    return actor


def user_matrix(turn: np.ndarray, shift: np.ndarray | float = 0.0) -> vtkMatrix4x4:
    """Return an actor's matrix of a (3, 3) transform, and a shift after it."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, shift
    return pv.vtkmatrix_from_array(matrix)


def polyline_cells(sizes: Sequence[int]) -> np.ndarray:
    """Return VTK's cells of consecutive polylines with these numbers of points."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    cells = [
        np.concatenate([[size], np.arange(start, start + size)])
        for start, size in zip(starts, sizes, strict=True)
    ]
    return np.concatenate(cells)


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


class WireSphere(Batch):
    """Circles of longitude and latitude on the surface of a sphere, thin and pale."""

    def __init__(self, plotter: pv.BasePlotter) -> None:
        super().__init__(plotter, "sphere", "wireframe")
        self.show(unit_circles())

    def place(self, section: SphereSection | None, turn: np.ndarray) -> None:
        """Draw a surface under a display transform, or none."""
        drawn = section is not None and section.axes is not None
        self.actor.SetVisibility(drawn)
        if section is not None and section.axes is not None:
            self.actor.SetUserMatrix(user_matrix(turn @ section.axes, turn @ section.centre))


def unit_circles() -> list[np.ndarray]:
    """Return meridians and parallels of the unit sphere, (m, 3) each; poles on the third axis."""
    around = np.linspace(0.0, 2 * np.pi, SEGMENTS + 1)
    cos, sin = np.cos(around), np.sin(around)
    circles = [
        np.column_stack([sin * np.cos(longitude), sin * np.sin(longitude), cos])
        for longitude in np.linspace(0.0, np.pi, MERIDIANS, endpoint=False)
    ]
    for latitude in np.linspace(-np.pi / 2, np.pi / 2, PARALLELS + 2)[1:-1]:
        height = np.full_like(cos, np.sin(latitude))
        circles.append(np.column_stack([np.cos(latitude) * cos, np.cos(latitude) * sin, height]))
    return circles


class Trails(Batch):
    """A thin line for the path of each position: fading into the past, pale into the future."""

    def __init__(self, plotter: pv.BasePlotter) -> None:
        super().__init__(plotter, "trails", "wireframe")
        mapper = self.actor.mapper
        mapper.SetScalarModeToUsePointData()
        mapper.SetColorModeToDirectScalars()
        mapper.SetScalarVisibility(True)
        self.colors = ("#000000", "#808080", "#ffffff")
        """Of past, future and background, ``#rrggbb``."""

    def place(self, ways: Ways | None, turn: np.ndarray) -> None:
        """Draw paths under a display transform, or none."""
        if ways is None or not ways.points.size:
            self.show([])
            return
        count, n = ways.points.shape[:2]
        self.show(list(ways.points), np.tile(self._shades(n, ways.at), (count, 1)))
        self.actor.SetUserMatrix(user_matrix(turn))

    def _shades(self, n: int, at: int) -> np.ndarray:
        """(n, 3) uint8 colours along a path."""
        past, future, ground = (np.array(pv.Color(color).int_rgb) for color in self.colors)
        share = np.linspace(PALEST, 1.0, at + 1)[:, None]
        shades = np.tile(future, (n, 1)).astype(np.float64)
        shades[: at + 1] = ground + share * (past - ground)
        return np.round(shades).astype(np.uint8)
