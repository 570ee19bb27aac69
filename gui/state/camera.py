"""Camera poses: named views, framing, and interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from geometry.evidence.turning_share import FEWEST, balanced_turning, ramp, turn_counts

ROUND_DEGREES, ROUND_STEP = 60.0, 5
"""Degrees over which a full turn of the camera moves away from the curve, and at its end back;
degrees between the views that it is prepared for."""
ROUND_SLACK = 1.02
"""Factor by which a curve may be larger on the screen during such a turn, into its margin."""
VIEW_ANGLE = 30.0
"""Vertical field of view of the perspective camera, in degrees."""
MARGIN = 1.15
"""Margin factor around a framed curve; 1 would touch the edges."""
EVEN = (1 - 1 / MARGIN) / 2
"""The same margin as a share of the view at each side."""
CLOSEST = 0.5
"""Minimum distance from the camera to a framed curve, in terms of the curve's depth."""
FARTHEST = 1e12
"""Maximum coordinate of a camera from a file; its inverse is the minimum distance."""
RESOLVED, SKEWED = 1e-9, 1e-6
"""Minimum distance of such a camera relative to its coordinates, which are rounded; tolerance of
the length of its upward direction, and minimum sine of the angle between that and the view."""


def _direction(elevation: float, azimuth: float) -> tuple[float, float, float]:
    up, around = np.radians(elevation), np.radians(azimuth)
    return (
        float(np.cos(up) * np.cos(around)),
        float(np.cos(up) * np.sin(around)),
        float(np.sin(up)),
    )


AXES: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    # name: (direction from which the camera looks, up), along the three shown axes
    "article": (_direction(20, 45), (0.0, 0.0, 1.0)),
    "isometric": (_direction(np.degrees(np.arctan(np.sqrt(0.5))), 45), (0.0, 0.0, 1.0)),
    "xy": ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
    "xz": ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0)),
    "yz": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
}
"""Views along the shown axes. ``article`` is that of the helix article: elevation 20°, azimuth 45°.
"""
ALONG = ("yz", "xz", "xy")
"""The views along each axis."""
SIDE = "side"
"""The view across the direction in which position climbs, see :func:`side_on`."""
VIEWS = (SIDE, *AXES)
"""The named views."""
TILT, LINE_TILT, RING_TILT = 14.0, 20.0, 35.0
"""Degrees by which the view from the side is tilted, which opens the coils; more of a curve that
does not turn, and of a ring."""
MANY_TURNS = 4.0
"""Turns from which on a coil is shown lying; with fewer turns it is upright."""
TURNING = 0.1
"""Share of the variance that turns evenly, below which a curve is viewed like a line."""
FLAT = 0.15
"""Climb relative to the radius below which a turning curve is a ring, and viewed from above."""
MAX_POINTS = 256
"""Maximum number of points from which the view from the side is computed."""


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
        """Move a VTK camera to this pose."""
        camera.SetPosition(*self.position)
        camera.SetFocalPoint(*self.focal_point)
        camera.SetViewUp(*self.up)
        camera.SetParallelScale(self.parallel_scale)

    @property
    def usable(self) -> bool:
        """Whether a curve can be seen from this pose.

        The coordinates are finite and not too large, the camera is not at its own focal point, and
        ``up`` has length 1 and is not along the view.
        """
        numbers = np.array([*self.position, *self.focal_point, *self.up, self.parallel_scale])
        largest = np.abs(numbers).max()
        if not largest <= FARTHEST:  # or it is NaN
            return False
        offset = self.position - self.focal_point
        distance = float(np.linalg.norm(offset))
        return (
            min(distance, self.parallel_scale) >= 1 / FARTHEST
            and distance >= RESOLVED * np.abs([self.position, self.focal_point]).max()
            and abs(float(np.linalg.norm(self.up)) - 1) < SKEWED
            and float(np.linalg.norm(np.cross(self.up, offset / distance))) > SKEWED
        )

    def is_near(self, other: CameraPose) -> bool:
        """Return whether another pose is the same but for rounding, such as a VTK camera's."""
        slack = 1e-6 * float(np.linalg.norm(other.position - other.focal_point))
        return (
            np.allclose(self.position, other.position, rtol=0, atol=slack)
            and np.allclose(self.focal_point, other.focal_point, rtol=0, atol=slack)
            and np.allclose(self.up, other.up, rtol=0, atol=1e-6)
            and abs(self.parallel_scale - other.parallel_scale) <= 1e-6 * other.parallel_scale
        )

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
    """A camera pose, and whether it follows the curve when that outgrows the view.

    A ``framed`` one is where the app has framed the curve, not moved by the user since.
    """

    pose: CameraPose
    follows: bool
    framed: bool = False


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
    def of_numbers(cls, numbers: Sequence[float]) -> Outlook:
        """Return the view of :attr:`numbers`. Raises ValueError: nothing can be seen by it."""
        values = np.array(numbers, dtype=np.float64)
        if values.shape != (11,) or not (np.abs(values) < 1 / SKEWED).all():
            raise ValueError("a view is 11 numbers of usual size")
        direction, up, sizes, shift = values[:3], values[3:6], values[6:8], values[8:]
        lengths = np.linalg.norm([direction, up], axis=1)
        skewed = (np.abs(lengths - 1.0) > SKEWED).any()
        if skewed or np.linalg.norm(np.cross(direction, up)) < SKEWED or sizes.min() < SKEWED:
            raise ValueError("nothing can be seen by the camera")
        return cls(direction, up, float(sizes[0]), float(sizes[1]), shift)

    @property
    def numbers(self) -> list[float]:
        """All numbers, for a file."""
        sizes = (self.nearness, self.magnification)
        return [*self.direction.tolist(), *self.up.tolist(), *sizes, *self.shift.tolist()]

    @classmethod
    def of(cls, pose: CameraPose, points: np.ndarray, aspect: float) -> Outlook:
        """Return a camera's view relative to points; see :func:`framed` for the arguments."""
        offset = pose.position - pose.focal_point
        whole = framed(points, offset, pose.up, aspect)
        distance, reach = np.linalg.norm(offset), np.linalg.norm(whole.position - whole.focal_point)
        return cls(
            offset / distance,
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


@dataclass(frozen=True, slots=True)
class Margins:
    """Shares of a view's width or height that a framed curve leaves free."""

    left: float = EVEN
    right: float = EVEN
    bottom: float = EVEN
    top: float = EVEN


EVEN_MARGINS = Margins()


def fitted(
    points: np.ndarray,
    direction: np.ndarray,
    up: np.ndarray,
    aspect: float,
    margins: Margins = EVEN_MARGINS,
) -> CameraPose:
    """Place the camera as near as possible with all points in view.

    Parameters
    ----------
    points, direction, up, aspect
        As for :func:`framed`, which frames a sphere around the points instead: its pose does not
        depend on the direction, while this one fills the view.
    margins
        The margins. The curve is in the middle of the view if there is room for it.
    """
    direction = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    up = np.asarray(up, dtype=float) / np.linalg.norm(up)
    right = np.cross(up, direction) / np.linalg.norm(np.cross(up, direction))
    axes = np.array([right, np.cross(direction, right), direction])
    low, high = points.min(axis=0), points.max(axis=0)
    x, y, z = axes @ (points - (low + high) / 2).T
    smallest = 1e-6 * max(1.0, float(np.abs(points).max()))
    sides = _sides(x, y, z, aspect, margins)
    nearest = float(z.max()) + CLOSEST * float(np.ptp(z)) + smallest
    distance = max(*(side.nearest for side in sides), nearest)
    a, b = (side.middle(distance) for side in sides)
    scale = max(sides[0].half(a) / aspect, sides[1].half(b), smallest)
    focal = (low + high) / 2 + np.array([a, b, 0.0]) @ axes
    return CameraPose(focal + distance * direction, focal, up, scale)


def _sides(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, aspect: float, margins: Margins
) -> tuple[_Side, _Side]:
    """Return where the camera may be, to the right and upwards."""
    half = np.tan(np.radians(VIEW_ANGLE / 2))
    return (
        _Side(x, z, half * aspect, 1 - 2 * margins.left, 1 - 2 * margins.right),
        _Side(y, z, half, 1 - 2 * margins.bottom, 1 - 2 * margins.top),
    )


def away(degrees: float) -> float:
    """Return how far a full turn of the camera has moved away at an angle, 0 at its ends to 1."""
    from_ends = min(degrees, 360 - degrees)
    return float(np.sin(np.pi / 2 * np.clip(from_ends / ROUND_DEGREES, 0, 1)))


def farther_around(
    points: np.ndarray, pose: CameraPose, aspect: float, margins: Margins, *, parallel: bool
) -> float:
    """Return the share of its distance by which the camera has to move away in a full turn.

    A curve that is longer than wide comes near when its end turns to the viewer.

    Parameters
    ----------
    points, aspect, margins
        As for :func:`fitted`.
    pose
        Of the camera, which turns around its focal point and upward direction.
    parallel
        Whether the view is parallel: then the share of its height.

    Returns
    -------
    float
        At least 0. Multiplied by :func:`away`, it keeps the visible points in view.
    """
    offset = pose.position - pose.focal_point
    distance = float(np.linalg.norm(offset))
    right = np.cross(pose.up, offset / distance)
    ahead = np.cross(right, pose.up)
    x, y, z = np.array([right, pose.up, ahead]) @ (points - pose.focal_point).T
    share = 0.0
    for degrees in range(ROUND_STEP, 360, ROUND_STEP):
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        sides = _sides(cosine * x - sine * z, y, sine * x + cosine * z, aspect, margins)
        if parallel:
            needed = max(sides[0].half(0) / aspect, sides[1].half(0)) / ROUND_SLACK
            needed /= pose.parallel_scale
        else:
            needed = max(side.straight(ROUND_SLACK) for side in sides) / distance
        share = max(share, (needed - 1) / away(degrees))
    return share


class _Side:
    """Where the camera may be in one direction of the screen.

    A camera at (a, c) has a point in view if −lower · (c − z) ≤ x − a ≤ upper · (c − z).

    Parameters
    ----------
    x, z
        (m,) the points, in this direction and towards the camera.
    slope
        Half the extent of the view at distance 1.
    lower, upper
        Shares of the two halves of the view that may be filled.
    """

    def __init__(
        self, x: np.ndarray, z: np.ndarray, slope: float, lower: float, upper: float
    ) -> None:
        self._x, self._shares = x, (lower, upper)
        self._z, self._lower, self._upper = z, slope * lower, slope * upper
        self._ends = float((self._lower * z - x).max()), float((x + self._upper * z).max())
        even = min(self._lower, self._upper)
        self._even = (float((x + even * z).max()) - float((even * z - x).max())) / 2
        self.nearest = sum(self._ends) / (self._lower + self._upper)

    def middle(self, distance: float) -> float:
        """Return the value of a nearest to the points' middle at a distance."""
        low, high = self._ends[1] - self._upper * distance, self._lower * distance - self._ends[0]
        return (low + high) / 2 if low >= high else min(max(self._even, low), high)

    def straight(self, slack: float) -> float:
        """Return the minimum distance of a camera at a = 0, if more of the view may be filled."""
        return max(
            float((self._z + self._x / (slack * self._upper)).max()),
            float((self._z - self._x / (slack * self._lower)).max()),
        )

    def half(self, a: float) -> float:
        """Return half the extent of a parallel view around a."""
        lower, upper = self._shares
        return max(float((self._x - a).max()) / upper, float((a - self._x).max()) / lower)


def resized(
    pose: CameraPose,
    points: np.ndarray,
    before: float,
    after: float,
    margins: tuple[Margins, Margins] = (EVEN_MARGINS, EVEN_MARGINS),
) -> CameraPose:
    """Return the pose at which points fill a view of another aspect as much as before.

    ``margins`` are those of the view before and after.
    """
    offset = pose.position - pose.focal_point
    old, new = (
        fitted(points, offset, pose.up, aspect, kept)
        for aspect, kept in zip((before, after), margins, strict=True)
    )
    nearness = float(
        np.linalg.norm(new.position - new.focal_point)
        / np.linalg.norm(old.position - old.focal_point)
    )
    focal = new.focal_point + nearness * (pose.focal_point - old.focal_point)
    return CameraPose(
        focal + offset * nearness,
        focal,
        pose.up,
        pose.parallel_scale * new.parallel_scale / old.parallel_scale,
    )


def side_on(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the direction from which a curve is seen side-on, and its upward direction.

    A line and one sine and cosine are fitted to the points. What a coil turns around is the normal
    of the plane of the sine and cosine. One of few turns stands upright, with the last position at
    the top, and is seen a little from above; one of many lies, from left to right, its end tilted
    to the viewer. A ring, which hardly climbs out of its plane, is seen from above. Of a curve that
    does not turn, the line takes the place of the normal.

    Parameters
    ----------
    points
        (m, 3) the shown points, in the order of positions.

    Returns
    -------
    direction, up
        (3,) each, of length 1.
    """
    m = len(points)
    points = points[np.linspace(0, m - 1, min(m, MAX_POINTS)).round().astype(int)]
    centred = points - points.mean(axis=0)
    climb, ring, turns = _climb(centred)
    if ring is None:
        along = _unit(climb) if climb.any() else np.array([1.0, 0.0, 0.0])
    else:
        along = _unit(np.cross(*ring))
        if abs(climb @ along) < FLAT * float(np.linalg.norm(ring, axis=1).mean()):
            above = _ahead(along)
            up = np.cross(above, _orthogonal(np.array([1.0, 0.0, 0.0]), above))
            return _rotated(above, -up, RING_TILT), _rotated(up, above, RING_TILT)
        along = along if climb @ along > 0 else -along
    across = centred - np.outer(centred @ along, along)
    wide = _ahead(_orthogonal(np.linalg.svd(across, full_matrices=False)[2][0], along))
    if ring is None or turns >= MANY_TURNS:
        return _rotated(np.cross(along, wide), along, LINE_TILT if ring is None else TILT), wide
    return _open(centred, along, wide, turns)


def _open(
    centred: np.ndarray, along: np.ndarray, wide: np.ndarray, turns: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the view of an upright coil in which no part of it is seen end-on."""
    step = max(1, round(len(centred) / (8 * turns)))
    chords = centred[step:] - centred[:-step]
    lengths = np.maximum(np.linalg.norm(chords, axis=1), 1e-300)
    aside = np.cross(wide, along)
    angles = np.radians(np.arange(0, 360, 15))
    around = np.outer(np.cos(angles), aside) + np.outer(np.sin(angles), wide)
    seen = [_rotated(direction, along, TILT) for direction in around]
    end_on = [np.percentile(np.abs(chords @ direction) / lengths, 95) for direction in seen]
    best = int(np.argmin(end_on))
    return seen[best], _rotated(along, -around[best], TILT)


def _climb(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, float]:
    """Fit a line, and one sine and cosine with their number of turns.

    The sine and cosine are None for a curve that hardly turns.
    """
    m = len(centred)
    if m < FEWEST:
        return ramp(m) @ centred if m > 1 else np.zeros(3), None, 0.0
    smaller, (turns,) = balanced_turning(centred[None], turn_counts(m))
    if 2 * smaller[0] <= TURNING * np.square(centred).sum():
        return ramp(m) @ centred, None, 0.0
    # Between the counts that were tried: a turn that does not close would tilt the line.
    _, (turns,) = balanced_turning(centred[None], turns + np.linspace(-0.1, 0.1, 21))
    t = np.linspace(-1.0, 1.0, m)
    terms = np.column_stack([t, np.cos(np.pi * turns * t), np.sin(np.pi * turns * t), np.ones(m)])
    climb, cosine, sine, _ = np.linalg.lstsq(terms, centred, rcond=None)[0]
    return climb, np.array([cosine, sine]), turns


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def _rotated(direction: np.ndarray, towards: np.ndarray, degrees: float) -> np.ndarray:
    """Rotate a direction towards another one, orthogonal to it."""
    angle = np.radians(degrees)
    rotated: np.ndarray = np.cos(angle) * direction + np.sin(angle) * towards
    return rotated


def _orthogonal(wanted: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Return the direction nearest to the wanted one that is orthogonal to another."""
    for candidate in (wanted, *np.eye(3)):
        remainder: np.ndarray = candidate - (candidate @ to) * to
        if np.linalg.norm(remainder) > 1e-3:
            return _unit(remainder)
    raise ValueError("expected a direction")


def _ahead(direction: np.ndarray) -> np.ndarray:
    """Return the direction or its opposite, whose largest coordinate is positive."""
    largest = np.abs(direction).argmax()
    return direction if direction[largest] > 0 else -direction


def view_pose(view: str, points: np.ndarray, turn: np.ndarray, aspect: float) -> CameraPose:
    """Fit points into one of the named views, see :func:`view_axes`; ``aspect``: width / height."""
    return fitted(points, *view_axes(view, points, turn), aspect)


def view_axes(view: str, points: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the direction from which the camera looks in a named view, and its upward direction.

    Parameters
    ----------
    view
        One of :data:`VIEWS`.
    points
        (m, 3) the shown points, after the display transform.
    turn
        (3, 3) display transform of the axes.

    Raises
    ------
    KeyError
        If there is no such view.
    """
    if view == SIDE:
        return side_on(points)
    direction, up = AXES[view]
    return turn @ np.array(direction), turn @ np.array(up)


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
