"""Camera poses one step away, for the keys that rotate and move."""

from __future__ import annotations

import numpy as np

from gui.state.camera import VIEW_ANGLE, CameraPose, framed

STEP_DEGREES, STEP_SHARE = 5.0, 0.05
"""Rotation of a key press in degrees, and movement as a share of the view's height."""
NEAREST_SHARE = 0.05
"""Minimum distance to close points, as a share of that to the whole curve."""


def turned(pose: CameraPose, right: int = 0, up: int = 0, roll: int = 0) -> CameraPose:
    """Return the pose from which the scene appears rotated.

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
        offset, level = _rotated(offset, axis, steps), _rotated(level, axis, steps)
    return CameraPose(pose.focal_point + offset, pose.focal_point, level, pose.parallel_scale)


def moved(pose: CameraPose, right: int, up: int, *, parallel: bool = False) -> CameraPose:
    """Return the pose from which the scene appears shifted on the screen.

    In parallel projection, the view's height is not that at the focal point.
    """
    ahead = pose.focal_point - pose.position
    distance = float(np.linalg.norm(ahead))
    across = np.cross(ahead, pose.up)
    across = across / np.linalg.norm(across)
    above = np.cross(across, ahead / distance)
    height = pose.parallel_scale if parallel else distance * np.tan(np.radians(VIEW_ANGLE / 2))
    shift = -2 * STEP_SHARE * height * (right * across + up * above)
    return CameraPose(pose.position + shift, pose.focal_point + shift, pose.up, pose.parallel_scale)


def focused(pose: CameraPose, points: np.ndarray, whole: np.ndarray, aspect: float) -> CameraPose:
    """Return the pose with points in the middle, from the same direction.

    Parameters
    ----------
    points : (m, 3)
        The points; the distance is kept for one, and fits all for several.
    whole : (n, 3)
        The curve they are on.
    aspect
        Width of the view over its height.
    """
    way = pose.position - pose.focal_point
    if len(points) == 1:
        return CameraPose(points[0] + way, points[0], pose.up, pose.parallel_scale)
    near, far = (framed(some, way, pose.up, aspect) for some in (points, whole))
    reach, least = (float(np.linalg.norm(at.position - at.focal_point)) for at in (near, far))
    back = max(1.0, NEAREST_SHARE * least / reach)
    return CameraPose(
        near.focal_point + back * (near.position - near.focal_point),
        near.focal_point,
        near.up,
        back * near.parallel_scale,
    )


def _rotated(vector: np.ndarray, axis: np.ndarray, steps: int) -> np.ndarray:
    """Rotate a vector around a unit axis, counterclockwise as seen against the axis."""
    angle = np.radians(STEP_DEGREES * steps)
    turned: np.ndarray = (
        np.cos(angle) * vector
        + np.sin(angle) * np.cross(axis, vector)
        + (1 - np.cos(angle)) * (axis @ vector) * axis
    )
    return turned
