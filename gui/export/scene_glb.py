"""The scene as binary glTF, for programs that show, light or print 3D models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyvista as pv

from gui.export.scene_guides import guide_bodies
from gui.scene.actors import polyline_cells
from gui.scene.guide_lines import LIT_SIZES, lit_levels
from gui.scene.scene_state import net
from gui.state.camera import side_on
from gui.state.colors import point_colors
from gui.state.values import POINT_SIZE
from gui.style.theme import LIGHT, Theme

if TYPE_CHECKING:
    import trimesh

    from gui.scene.scene_state import SceneState
    from gui.state.values import CurveLook

TUBE, BALL, THIN = 1 / 900, 1 / 260, 1 / 1500
"""Radii of the curve, its points and guides, as shares of the shown curve's longest extent, about
as thick as in the window.
"""
TUBE_SIDES, BALL_SIDES = 8, 8
FEW = 20_000
"""More points get no balls, which would take hundreds of megabytes."""


def scene_glb(state: SceneState, theme: Theme = LIGHT) -> bytes:
    """Return the scene as binary glTF 2.0: a tube and balls in the colours of the window.

    glTF's own lines and points have no thickness, and most programs omit them: so both are
    surfaces, the nodes "curve" and "positions", and so are the guides of panels, "guides" and
    "lit". The longest extent is 1 (metre). Caption and legend are in the scene's extras. Line and
    points are as thick as in the window, and solid: few programs sort what can be seen through.
    As the format has it, +Y is upwards and +Z towards the viewer, those of the view from the side;
    colours are linear.

    Parameters
    ----------
    state
        The scene, without positions outside its range, marks and texts.
    theme
        Theme for whose background colours are made legible.
    """
    import trimesh

    first, last = state.positions
    colors = point_colors(state.scale, theme.viewport)[first : last + 1]
    points = state.displayed_range
    centre, longest = points.mean(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    points = (points - centre) / longest
    said = {"caption": "\n".join(state.caption)}
    if state.legend:
        said["legend"] = "\n".join(f"{colormap}: {name}" for name, colormap in state.legend)
    scene = trimesh.Scene(metadata=said)
    look = state.look
    if len(points) > 1 and look.curve_parts != "points":
        scene.add_geometry(_curve(points, colors, state), "curve", "curve")
    if len(points) <= FEW and look.curve_parts != "line":
        balls = _balls(points, colors, BALL * look.point_share)
        scene.add_geometry(balls, "positions", "positions")
    for name, body in _guides(state, theme, centre, longest).items():
        scene.add_geometry(body, name, name)
    turn = np.eye(4)
    direction, up = side_on(points)
    turn[:3, :3] = np.cross(up, direction), up, direction
    scene.apply_transform(turn)
    data: bytes = scene.export(file_type="glb", tree_postprocessor=_without_metal)
    return data


def _without_metal(tree: dict[str, Any]) -> None:
    """Give all bodies a dull material: without any they are metal, dark in many programs."""
    dull = {"metallicFactor": 0.0, "roughnessFactor": 1.0}
    tree["materials"] = [{"pbrMetallicRoughness": dull}]
    for mesh in tree["meshes"]:
        for primitive in mesh["primitives"]:
            primitive["material"] = 0


def _linear(colors: np.ndarray) -> np.ndarray:
    """Return sRGB colours as linear ones, both uint8; the last column, opacity, stays.

    See IEC 61966-2-1.
    """
    srgb = colors[:, :3] / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return np.hstack([np.round(255 * linear).astype(np.uint8), colors[:, 3:]])


def _guides(
    state: SceneState, theme: Theme, centre: np.ndarray, longest: float
) -> dict[str, trimesh.Trimesh]:
    """Return the guides of panels: "guides", and highlighted positions as larger balls, "lit"."""
    found = {}
    drawn, clouds = guide_bodies(state, theme)
    # VTK finds no direction for a line of zero length.
    lines = [
        ((line - centre) / longest, colors) for line, colors in drawn if np.ptp(line, axis=0).any()
    ]
    bodies = [_thin_tubes(lines)] if lines else []
    bodies += [_balls((cloud - centre) / longest, colors, BALL / 2) for cloud, colors in clouds]
    if bodies:
        found["guides"] = _joined(bodies)
    colors, placed = point_colors(state.scale, theme.viewport), state.displayed
    lit = [
        _balls(
            (placed[at] - centre) / longest,
            colors[at],
            BALL * state.look.point_share * size / POINT_SIZE,
        )
        for guide in state.guides
        for at, size in zip(lit_levels(guide), LIT_SIZES, strict=True)
        if len(at)
    ]
    return {**found, "lit": _joined(lit)} if lit else found


def _thin_tubes(
    lines: Sequence[tuple[np.ndarray, np.ndarray]], radius: float = THIN
) -> trimesh.Trimesh:
    """Return tubes along polylines, with the colours of their points."""
    data = pv.PolyData()
    data.points = np.concatenate([line for line, _ in lines])
    data.lines = polyline_cells([len(line) for line, _ in lines])
    data["color"] = np.concatenate([colors for _, colors in lines])
    return _mesh(data.tube(radius=radius, n_sides=TUBE_SIDES, capping=True))


def _joined(bodies: Sequence[trimesh.Trimesh]) -> trimesh.Trimesh:
    import trimesh

    return trimesh.util.concatenate(bodies)


def _curve(points: np.ndarray, colors: np.ndarray, state: SceneState) -> trimesh.Trimesh:
    """Return the line through the range's points, or the net of a picture's patches."""
    if not state.columns:
        return _tube(points, colors, state.look)
    edges = net(len(state.coordinates), state.columns, state.positions)[0] - state.positions[0]
    apart = [edge for edge in edges if np.ptp(points[edge], axis=0).any()]
    if not apart:
        return _balls(points[:1], colors[:1], BALL * state.look.point_share)
    lines = [(points[edge], colors[edge]) for edge in apart]
    return _thin_tubes(lines, TUBE * state.look.line_share)


def _tube(points: np.ndarray, colors: np.ndarray, look: CurveLook) -> trimesh.Trimesh:
    # VTK finds no direction for a tube between equal points.
    apart = np.concatenate([[True], np.any(np.diff(points, axis=0) != 0.0, axis=1)])
    if apart.sum() < 2:
        return _balls(points[:1], colors[:1], BALL * look.point_share)
    line = pv.lines_from_points(points[apart])
    line["color"] = colors[apart]
    return _mesh(line.tube(radius=TUBE * look.line_share, n_sides=TUBE_SIDES, capping=True))


def _balls(points: np.ndarray, colors: np.ndarray, radius: float) -> trimesh.Trimesh:
    cloud = pv.PolyData(points)
    cloud["color"] = colors
    ball = pv.Sphere(radius=radius, theta_resolution=BALL_SIDES, phi_resolution=BALL_SIDES)
    return _mesh(cloud.glyph(geom=ball, orient=False, scale=False))


def _mesh(surface: pv.PolyData) -> trimesh.Trimesh:
    import trimesh

    surface = surface.triangulate()
    return trimesh.Trimesh(
        surface.points,
        surface.faces.reshape(-1, 4)[:, 1:],
        vertex_colors=_linear(np.asarray(surface["color"], dtype=np.uint8)),
        process=False,
    )
