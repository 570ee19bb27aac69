"""Actors of lines and points, which have their own colours in any light and are not picked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyvista as pv
from vtkmodules.vtkCommonMath import vtkMatrix4x4


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
