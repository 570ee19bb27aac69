"""Camera poses one step away, for the keys that rotate and move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gui.state.camera import VIEW_ANGLE, CameraPose, framed

STEP_DEGREES, STEP_SHARE = 5.0, 0.05
"""Rotation of a key press in degrees, and movement as a share of the view's height."""
NEAREST_SHARE = 0.05
"""Minimum distance to points, as a share of that to the whole curve."""


def turned(pose: CameraPose, right: int = 0, up: int = 0, roll: int = 0) -> CameraPose:
    """Return the pose after rotating the scene.

    Parameters
    ----------
    right, up
        Steps of the near side to the right and upwards on the screen.
    roll
        Steps of clockwise rotation on the screen.
    """
    offset = pose.position - pose.focal_point
    ahead = -offset / np.linalg.norm(offset)
    level = pose.up - (pose.up @ ahead) * ahead
    level = level / np.linalg.norm(level)
    across = np.cross(ahead, level)
    for axis, steps in ((level, -right), (across, up), (ahead, -roll)):
        angle = np.radians(STEP_DEGREES * steps)
        offset, level = rotated(offset, axis, angle), rotated(level, axis, angle)
    return replace(pose, position=pose.focal_point + offset, up=level)


def moved(pose: CameraPose, right: int, up: int, *, parallel: bool = False) -> CameraPose:
    """Return the pose after shifting the scene on the screen.

    In parallel projection, the view's height does not depend on the distance.
    """
    ahead = pose.focal_point - pose.position
    distance = float(np.linalg.norm(ahead))
    across = np.cross(ahead, pose.up)
    across = across / np.linalg.norm(across)
    above = np.cross(across, ahead / distance)
    height = pose.parallel_scale if parallel else distance * np.tan(np.radians(VIEW_ANGLE / 2))
    shift = -2 * STEP_SHARE * height * (right * across + up * above)
    return replace(pose, position=pose.position + shift, focal_point=pose.focal_point + shift)


def focused(pose: CameraPose, points: np.ndarray, whole: np.ndarray, aspect: float) -> CameraPose:
    """Return the pose with points in the middle, from the same direction.

    Parameters
    ----------
    points : (m, 3)
        The points; for one the distance is kept, for several it is such that all fit.
    whole : (n, 3)
        The whole curve.
    aspect
        Width of the view over its height.
    """
    offset = pose.position - pose.focal_point
    if len(points) == 1:
        return replace(pose, position=points[0] + offset, focal_point=points[0])
    near, far = (framed(part, offset, pose.up, aspect) for part in (points, whole))
    distance, whole_distance = (
        float(np.linalg.norm(at.position - at.focal_point)) for at in (near, far)
    )
    back = max(1.0, NEAREST_SHARE * whole_distance / distance)
    position = near.focal_point + back * (near.position - near.focal_point)
    return replace(near, position=position, parallel_scale=back * near.parallel_scale)


def rotated(vector: np.ndarray, axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotate a vector around a unit axis by radians, counterclockwise as seen against the axis."""
    found: np.ndarray = (
        np.cos(angle) * vector
        + np.sin(angle) * np.cross(axis, vector)
        + (1 - np.cos(angle)) * (axis @ vector) * axis
    )
    return found
