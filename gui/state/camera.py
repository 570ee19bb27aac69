"""Camera poses: named views, framing, and interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

VIEW_ANGLE = 30.0
"""Vertical field of view of the perspective camera, in degrees."""
MARGIN = 1.15
"""Margin factor around a framed curve; 1 would touch the edges."""


def _direction(elevation: float, azimuth: float) -> tuple[float, float, float]:
    up, around = np.radians(elevation), np.radians(azimuth)
    return (
        float(np.cos(up) * np.cos(around)),
        float(np.cos(up) * np.sin(around)),
        float(np.sin(up)),
    )


VIEWS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    # name: (direction from which the camera looks, up), along the three shown axes
    "article": (_direction(20, 45), (0.0, 0.0, 1.0)),
    "isometric": (_direction(np.degrees(np.arctan(np.sqrt(0.5))), 45), (0.0, 0.0, 1.0)),
    "xy": ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
    "xz": ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0)),
    "yz": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
}
"""The named views. ``article`` is that of the helix article: elevation 20°, azimuth 45°."""


T = TypeVar("T", float, np.ndarray)
Point = tuple[float, float, float]


class Camera(Protocol):
    """The part of a VTK camera that is used."""

    def GetPosition(self) -> Point: ...
    def GetFocalPoint(self) -> Point: ...
    def GetViewUp(self) -> Point: ...
    def GetParallelScale(self) -> float: ...
    def SetPosition(self, x: float, y: float, z: float) -> None: ...
    def SetFocalPoint(self, x: float, y: float, z: float) -> None: ...
    def SetViewUp(self, x: float, y: float, z: float) -> None: ...
    def SetParallelScale(self, scale: float) -> None: ...


@dataclass(frozen=True, eq=False, slots=True)
class CameraPose:
    """The position and orientation of the camera."""

    # (3,) world coordinates; ``up`` has length 1.
    position: np.ndarray
    focal_point: np.ndarray
    up: np.ndarray
    parallel_scale: float  # Half the height of the view in world units, for parallel projection

    @classmethod
    def of(cls, camera: Camera) -> CameraPose:
        """Read the pose of a VTK camera."""
        return cls(
            np.array(camera.GetPosition()),
            np.array(camera.GetFocalPoint()),
            np.array(camera.GetViewUp()),
            float(camera.GetParallelScale()),
        )

    def apply(self, camera: Camera) -> None:
        """Put a VTK camera there."""
        camera.SetPosition(*self.position)
        camera.SetFocalPoint(*self.focal_point)
        camera.SetViewUp(*self.up)
        camera.SetParallelScale(self.parallel_scale)

    def towards(self, other: CameraPose, fraction: float) -> CameraPose:
        """Interpolate to another pose, in distance and direction separately."""
        focal = _mix(self.focal_point, other.focal_point, fraction)
        start, end = self.position - self.focal_point, other.position - other.focal_point
        distance = _mix(float(np.linalg.norm(start)), float(np.linalg.norm(end)), fraction)
        direction = _mix_directions(start, end, self.up, fraction)
        up = _mix_directions(self.up, other.up, direction, fraction)
        up = up - (up @ direction) * direction
        length = float(np.linalg.norm(up))
        if length < 1e-6:
            up, length = other.up, 1.0
        return CameraPose(
            focal + distance * direction,
            focal,
            up / length,
            _mix(self.parallel_scale, other.parallel_scale, fraction),
        )


def where(camera: Camera) -> tuple[float, ...]:
    """Return a VTK camera's pose as numbers, equal for equal poses."""
    return (
        *camera.GetPosition(),
        *camera.GetFocalPoint(),
        *camera.GetViewUp(),
        camera.GetParallelScale(),
    )


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A camera pose, and whether it follows the curve when that outgrows the view."""

    pose: CameraPose
    follows: bool


def framed(points: np.ndarray, direction: np.ndarray, up: np.ndarray, aspect: float) -> CameraPose:
    """Place the camera so that all points are in view.

    Parameters
    ----------
    points
        (m, 3) world coordinates.
    direction
        (3,) from the focal point towards the camera; any length but zero.
    up
        (3,) upward direction on the screen.
    aspect
        Width of the viewport over its height.

    Returns
    -------
    CameraPose
        The focal point is the centre of the points' bounding box.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    centre = (low + high) / 2
    radius = float(np.linalg.norm(points - centre, axis=1).max())
    radius = max(radius, 1e-6 * max(1.0, float(np.abs(points).max()))) * MARGIN
    # The bounding sphere has to fit the narrower of the two fields of view.
    half_angle = np.radians(VIEW_ANGLE / 2)
    narrow = np.arctan(np.tan(half_angle) * min(1.0, aspect))
    direction = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    return CameraPose(
        centre + direction * radius / np.sin(narrow),
        centre,
        np.asarray(up, dtype=float) / np.linalg.norm(up),
        radius / min(1.0, aspect),
    )


@dataclass(frozen=True, eq=False, slots=True)
class Outlook:
    """A camera's view relative to its curve, so that it can be applied to curves of other sizes."""

    # (3,) of length 1: from the focal point towards the camera; upward direction on the screen.
    direction: np.ndarray
    up: np.ndarray
    # Ratio of the distance of a camera that frames the curve to its own, and the corresponding
    # magnification in parallel projection.
    nearness: float
    magnification: float
    # (3,) from the middle of the curve to the focal point, in units of the distance of a camera
    # that frames the curve.
    shift: np.ndarray

    @classmethod
    def of(cls, pose: CameraPose, points: np.ndarray, aspect: float) -> Outlook:
        """Return a camera's view relative to points; see :func:`framed` for the arguments."""
        way = pose.position - pose.focal_point
        whole = framed(points, way, pose.up, aspect)
        distance, reach = np.linalg.norm(way), np.linalg.norm(whole.position - whole.focal_point)
        return cls(
            way / distance,
            pose.up,
            float(reach / distance),
            whole.parallel_scale / pose.parallel_scale,
            (pose.focal_point - whole.focal_point) / reach,
        )

    def at(self, points: np.ndarray, aspect: float) -> CameraPose:
        """Return the pose of a camera with this view of points."""
        whole = framed(points, self.direction, self.up, aspect)
        reach = float(np.linalg.norm(whole.position - whole.focal_point))
        focal = whole.focal_point + reach * self.shift
        return CameraPose(
            focal + self.direction * reach / self.nearness,
            focal,
            whole.up,
            whole.parallel_scale / self.magnification,
        )


def view_pose(view: str, points: np.ndarray, turn: np.ndarray, aspect: float) -> CameraPose:
    """Frame points in one of the named views, along the shown axes.

    Parameters
    ----------
    view
        A key of :data:`VIEWS`.
    points
        (m, 3) the shown points, already turned.
    turn
        (3, 3) display transform of the axes.
    aspect
        Width of the viewport over its height.

    Raises
    ------
    KeyError
        If there is no such view.
    """
    direction, up = VIEWS[view]
    return framed(points, turn @ np.array(direction), turn @ np.array(up), aspect)


def _mix(start: T, end: T, fraction: float) -> T:
    mixed: T = start + fraction * (end - start)
    return mixed


def _mix_directions(
    start: np.ndarray, end: np.ndarray, axis: np.ndarray, fraction: float
) -> np.ndarray:
    """Interpolate along the great circle between directions (around ``axis`` if opposite)."""
    a: np.ndarray = start / np.linalg.norm(start)
    b: np.ndarray = end / np.linalg.norm(end)
    angle = np.arccos(np.clip(a @ b, -1.0, 1.0))
    if angle < 1e-6:
        return b
    side = b - (a @ b) * a
    if np.linalg.norm(side) < 1e-6:
        side = np.cross(axis, a)
    side = side / np.linalg.norm(side)
    mixed: np.ndarray = np.cos(fraction * angle) * a + np.sin(fraction * angle) * side
    return mixed
