"""Fits of simple curves to the shown components: line, circle, helix, helix of drifting radius.

All fits are least squares over the range's points p_i in three components, i counted from the
middle of the range. For a given frequency ω the best circle or helix is an orthogonal Procrustes
problem, so every frequency is tried, and the phase has no local minima; only the best few are then
refined.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from geometry.measures.shape_fit import FREE, ShapeFit, ShapeName, closed, curve_at, steps
from geometry.pca.components import Array

__all__ = ["ShapeFit", "ShapeName", "Shapes", "fit_shapes"]

#: Frequencies tried per turn, starting with a quarter turn, and how many of the best are refined.
PER_TURN = 4
CANDIDATES = 4

#: Alternations for all frequencies, then the number of frequencies kept, and their further
#: alternations.
FIRST_ALTERNATIONS = 2
LEFT = 64
ALTERNATIONS = 10

#: Criteria for a helix as `best`: its R², its margin over line and circle, and its turns.
CLEAR_R2, CLEAR_MARGIN, CLEAR_TURNS = 0.8, 0.1, 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Shapes:
    """All fits, and the one that describes the points, which may be "none"."""

    fits: Mapping[ShapeName, ShapeFit]
    best: Literal["line", "circle", "helix", "drifting_helix", "none"]


def fit_shapes(coordinates: npt.ArrayLike) -> Shapes:
    """Fit line, circle, helix and drifting helix, and choose one.

    Parameters
    ----------
    coordinates : (m, 3)
        The range's rows in the shown components, in order; at least 4 of them.

    Returns
    -------
    Shapes
        ``best`` is a helix only if the better of the two has R² ≥ 0.8, beats line and circle by at
        least 0.1 and makes at least one turn; BIC chooses between the two. Otherwise BIC chooses
        among line and circle with R² ≥ 0.8, or it is "none".

    Raises
    ------
    ValueError
        When there are fewer than 4 points, or not of three coordinates.
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise ValueError(f"expected at least 4 points (m, 3), got {points.shape}")
    line, circle, helix = _line(points), _turning(points, "circle"), _turning(points, "helix")
    drifting = _refined(points, "drifting_helix", helix)
    fits: dict[ShapeName, ShapeFit] = {
        "line": line, "circle": circle, "helix": helix, "drifting_helix": drifting,
    }  # fmt: skip
    return Shapes(fits, _best(fits))


def _best(
    fits: Mapping[ShapeName, ShapeFit],
) -> Literal["line", "circle", "helix", "drifting_helix", "none"]:
    simple = [fits["line"], fits["circle"]]
    helices = [fits["helix"], fits["drifting_helix"]]
    better = max(helices, key=lambda fit: fit.r2)
    margin = better.r2 - max(fit.r2 for fit in simple)
    if better.r2 >= CLEAR_R2 and margin >= CLEAR_MARGIN and better.turns >= CLEAR_TURNS:
        return min(helices, key=lambda fit: fit.bic).name
    good = [fit for fit in simple if fit.r2 >= CLEAR_R2]
    return min(good, key=lambda fit: fit.bic).name if good else "none"


def _line(points: Array) -> ShapeFit:
    s = steps(len(points))
    centre: Array = points.mean(axis=0)
    slope: Array = s @ (points - centre) / (s @ s)
    climb = float(np.linalg.norm(slope))
    axis = slope / climb if climb > 0.0 else np.array([0.0, 0.0, 1.0])
    frame = np.linalg.svd(axis[None])[2][[1, 2, 0]]
    frame[2] = axis
    return closed("line", points, centre, frame, climb=climb)


def _turning(points: Array, name: ShapeName) -> ShapeFit:
    """Fit a circle or helix: every frequency by orientation alone, then refine the best ones."""
    m = len(points)
    s = steps(m)
    omegas = 2 * np.pi / PER_TURN * np.arange(1, PER_TURN * (m - 1) / 2) / (m - 1)
    centred = points - points.mean(axis=0)
    # Products of the points with each of the curve's coordinates, for every frequency.
    waves = np.conj(np.fft.rfft(centred, n=PER_TURN * (m - 1), axis=0)[1 : len(omegas) + 1])
    waves *= np.exp(-0.5j * (m - 1) * omegas)[:, None]  # counted from the middle of the range
    M = np.stack([waves.real, waves.imag, np.broadcast_to(s @ centred, (len(omegas), 3))], axis=2)
    # The cosines' sum in closed form; the sines sum to zero.
    size_e = m - (np.sin(m * omegas / 2) / np.sin(omegas / 2)) ** 2 / m
    size_s = float(s @ s)
    total = float((centred**2).sum())
    climbs = name == "helix"
    radius = np.sqrt(total * (2 / 3 if climbs else 1.0) / np.maximum(size_e, 1e-12))
    climb = np.full(len(omegas), np.sqrt(total / 3 / size_s) if climbs else 0.0)
    frames = np.empty_like(M)

    def alternate(f: slice | npt.NDArray[np.intp], times: int) -> Array:
        """Alternate between orientation and size at some frequencies; return the SSE of each."""
        sums = M[f]
        for _ in range(times):
            sizes = np.stack([radius[f], radius[f], climb[f]], axis=1)
            U, _, Vh = np.linalg.svd(sums * sizes[:, None, :])
            frames[f] = np.swapaxes(U @ Vh, 1, 2)  # rows u, v, axis
            along = np.einsum("fij,fji->fi", frames[f], sums)
            radius[f] = (along[:, 0] + along[:, 1]) / np.maximum(size_e[f], 1e-12)
            if climbs:
                climb[f] = along[:, 2] / size_s
        sse: Array = total - size_e * radius**2 - size_s * climb**2
        return sse

    left = np.argsort(alternate(slice(None), FIRST_ALTERNATIONS), kind="stable")[:LEFT]
    sse = alternate(left, ALTERNATIONS)
    fits = [
        _refined(
            points,
            name,
            closed(
                name, points, points.mean(axis=0), frames[f], float(radius[f]),
                omega=float(omegas[f]), climb=float(climb[f]),
            ),
        )
        for f in _lowest(sse)
    ]  # fmt: skip
    return max(fits, key=lambda fit: fit.r2)


def _lowest(sse: Array) -> list[int]:
    """Return the lowest local minima among the frequencies."""
    padded = np.concatenate([[np.inf], sse, [np.inf]])
    minima = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:]))
    return [int(f) for f in minima[np.argsort(sse[minima], kind="stable")[:CANDIDATES]]]


def _refined(points: Array, name: ShapeName, start: ShapeFit) -> ShapeFit:
    """Refine all free parameters by least squares."""
    m = len(points)
    s = steps(m)
    scale = float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum() / m)) or 1.0
    handed = np.diag([1.0, 1.0, np.sign(np.linalg.det(start.frame))])
    half = max((m - 1) / 2, 1.0)

    def unpack(x: Array) -> tuple[Array, Array, float, float, float, float]:
        turned = handed @ Rotation.from_rotvec(x[3:6]).as_matrix()
        centre = start.centre + scale * x[:3]
        climb = scale * x[8] / half if name != "circle" else 0.0
        drift = scale * x[9] / half if name == "drifting_helix" else 0.0
        return centre, turned @ rotation, scale * x[6], drift, x[7] / half, climb

    rotation = handed @ start.frame

    def residuals(x: Array) -> Array:
        difference: Array = curve_at(s, *unpack(x)) - points
        return difference.ravel()

    def jacobian(x: Array) -> Array:
        _, frame, radius, drift, omega, climb = unpack(x)
        cosine, sine, reach = np.cos(omega * s), np.sin(omega * s), radius + drift * s
        around = np.outer(cosine, frame[0]) + np.outer(sine, frame[1])
        ahead = np.outer(cosine, frame[1]) - np.outer(sine, frame[0])
        columns = np.empty((len(x), m, 3))
        columns[:3] = scale * np.eye(3)[:, None]
        columns[3:6] = _turned(x[3:6], np.stack([reach * cosine, reach * sine, climb * s]), handed)
        columns[3:6] = columns[3:6] @ rotation
        columns[6] = scale * around
        columns[7] = (reach * s / half)[:, None] * ahead
        if name != "circle":
            columns[8] = np.outer(scale * s / half, frame[2])
        if name == "drifting_helix":
            columns[9] = (scale * s / half)[:, None] * around
        derivatives: Array = columns.reshape(len(x), -1).T
        return derivatives

    x0 = np.zeros(FREE[name])
    x0[6], x0[7] = start.radius / scale, start.omega * half
    if name != "circle":
        x0[8] = start.climb * half / scale
    # MINPACK's method takes a fifth of the others' time, which decompose at every step.
    found = least_squares(residuals, x0, jacobian, method="lm", x_scale="jac", max_nfev=60).x
    centre, frame, radius, drift, omega, climb = unpack(found)
    # Of a curve's equivalent descriptions, use the one with positive radius and frequency.
    if radius < 0.0:
        radius, drift, frame = -radius, -drift, frame * np.array([[-1.0], [-1.0], [1.0]])
    if omega < 0.0:
        omega, frame = -omega, frame * np.array([[1.0], [-1.0], [1.0]])
    if climb < 0.0:
        climb, frame = -climb, frame * np.array([[1.0], [1.0], [-1.0]])
    return closed(name, points, centre, frame, radius, drift, omega, climb)


def _turned(vector: Array, local: Array, handed: Array) -> Array:
    """Differentiate ``local.T @ handed @ R`` by the rotation vector of R: (3, m, 3).

    With y the rows of ``local.T @ handed``, the row y·R is R(−v)·y, whose derivative by v is
    R(−v)·[y]ₓ·J(−v), J being the right Jacobian of the rotations.
    """
    angle = float(np.linalg.norm(vector))
    cross = np.cross(np.eye(3), vector).T  # [−v]ₓ
    small = angle < 1e-4
    first = 0.5 if small else (1.0 - np.cos(angle)) / angle**2
    second = 1.0 / 6.0 if small else (angle - np.sin(angle)) / angle**3
    right = np.eye(3) - first * cross + second * cross @ cross
    y = local.T @ handed
    turned: Array = np.cross(y[None], right.T[:, None]) @ Rotation.from_rotvec(vector).as_matrix()
    return turned
