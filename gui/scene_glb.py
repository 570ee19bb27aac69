"""The scene as binary glTF, for programs that show, light or print bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyvista as pv

from gui.colors import point_colors
from gui.theme import LIGHT, Theme

if TYPE_CHECKING:
    from gui.scene_state import SceneState

TUBE, BALL = 1 / 900, 1 / 260
"""Radii of the curve and of its points, as parts of the shown curve's longest extent: about as
thick as they look in the window."""
TUBE_SIDES, BALL_SIDES = 8, 8
FEW = 20_000
"""More points than this get no balls: hundreds of megabytes that nothing could show."""


def scene_glb(state: SceneState, theme: Theme = LIGHT) -> bytes:
    """Return the scene as binary glTF 2.0: a tube and balls in the colours of the window.

    glTF's own lines and points have no thickness, and most programs leave them out: so both are
    surfaces, the nodes "curve" and "positions". The longest extent is 1, as sizes are metres
    there. The caption is in the scene's extras.

    Parameters
    ----------
    state
        What is shown. Positions outside its range, marks and texts are left out.
    theme
        Of the background that colours are made legible on.
    """
    import trimesh

    first, last = state.positions
    colors = point_colors(state.scale, theme.viewport)[first : last + 1]
    points = (state.coordinates @ state.turn.T)[first : last + 1]
    points = points - points.mean(axis=0)
    points /= float(np.ptp(points, axis=0).max()) or 1.0
    scene = trimesh.Scene(metadata={"caption": "\n".join(state.caption)})
    if len(points) > 1:
        scene.add_geometry(_tube(points, colors), "curve", "curve")
    if len(points) <= FEW:
        scene.add_geometry(_balls(points, colors), "positions", "positions")
    data: bytes = scene.export(file_type="glb")
    return data


def _tube(points: np.ndarray, colors: np.ndarray) -> Any:
    # VTK finds no direction for a tube between equal points.
    apart = np.concatenate([[True], np.any(np.diff(points, axis=0) != 0.0, axis=1)])
    if apart.sum() < 2:
        return _balls(points[:1], colors[:1])
    line = pv.lines_from_points(points[apart])
    line["color"] = colors[apart]
    return _mesh(line.tube(radius=TUBE, n_sides=TUBE_SIDES, capping=True))


def _balls(points: np.ndarray, colors: np.ndarray) -> Any:
    cloud = pv.PolyData(points)
    cloud["color"] = colors
    ball = pv.Sphere(radius=BALL, theta_resolution=BALL_SIDES, phi_resolution=BALL_SIDES)
    return _mesh(cloud.glyph(geom=ball, orient=False, scale=False))


def _mesh(surface: pv.PolyData) -> Any:
    import trimesh

    surface = surface.triangulate()
    return trimesh.Trimesh(
        surface.points,
        surface.faces.reshape(-1, 4)[:, 1:],
        vertex_colors=np.asarray(surface["color"], dtype=np.uint8),
        process=False,
    )
