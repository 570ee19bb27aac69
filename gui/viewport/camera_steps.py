"""Poses a step away from where the camera is: what keys turn and move. Knows no toolkit."""

from __future__ import annotations

import numpy as np

from gui.state.camera import VIEW_ANGLE, CameraPose, framed

STEP_DEGREES, STEP_SHARE = 5.0, 0.05
"""How far a key turns what is seen, and how much of the view's height it moves it."""
NEAREST_SHARE = 0.05
"""Points close together are seen from no nearer than this part of the whole curve's distance."""


def turned(pose: CameraPose, right: int = 0, up: int = 0, roll: int = 0) -> CameraPose:
    """Return the pose from which what is looked at seems turned.

    Parameters
    ----------
    pose
        Where the camera is.
    right, up
        Steps that the near side goes to the right, and upwards, on the screen.
    roll
        Steps that all turns clockwise on the screen.
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
    """Return the pose from which all seems moved by steps on the screen.

    Parameters
    ----------
    pose
        Where the camera is.
    right, up
        How many steps.
    parallel
        Whether the projection is parallel, and the height of the view not that at the focal point.
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
    """Return the pose that has points in its middle, seen from the same direction.

    Parameters
    ----------
    pose
        Where the camera is.
    points : (m, 3)
        One point is seen from as far as before, several from where all are in sight.
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
    """Turn a vector around an axis of length 1, counterclockwise for whom it points at."""
    angle = np.radians(STEP_DEGREES * steps)
    turned: np.ndarray = (
        np.cos(angle) * vector
        + np.sin(angle) * np.cross(axis, vector)
        + (1 - np.cos(angle)) * (axis @ vector) * axis
    )
    return turned
