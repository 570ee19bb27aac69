"""Fits of simple curves to the shown components: line, circle, helix, helix of drifting radius.

All fits are least squares over the range's points p_i in three components, i counted from the
middle of the range. For a given frequency ω the best circle or helix is an orthogonal Procrustes
problem, so every frequency is tried, and the phase has no local minima; only the best few are then
refined.

A good fit is no evidence: a short helix fits the components of any smooth curve. Whether there is
one is decided by the balanced turning share; the fits describe it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import leastsq

from geometry.checkpoints.memo import Recent
from geometry.checkpoints.result import result
from geometry.evidence.bootstrap import Intervals, intervals
from geometry.evidence.turning_share import FEWEST, WIDTH, TurningShare, turning_share
from geometry.measures.shape_fit import FREE, ShapeFit, ShapeName, closed, curve_at, steps
from geometry.pca.components import Array, read_only
from geometry.pca.unit import in_unit

__all__ = ["Best", "ShapeFit", "ShapeName", "Shapes", "fit_shapes", "shape_intervals"]

Best = Literal["line", "arc", "circle", "helix", "drifting_helix", "none"]
"""The curve that describes the positions; an arc is less than one turn of a circle."""

#: Frequencies tried per turn, starting with a quarter turn, and how many of the best are refined.
PER_TURN = 4
CANDIDATES = 4

#: Alternations for all frequencies, then the number of frequencies kept, and their further
#: alternations.
FIRST_ALTERNATIONS = 2
LEFT = 64
ALTERNATIONS = 10

#: Points whose fits are kept, and the most of them at once: at most 20 MB.
REMEMBERED_POINTS, REMEMBERED = 1024, 200
_remembered = Recent(REMEMBERED)

#: R² from which a line or an arc describes the points.
CLEAR_R2 = 0.8

#: A further parameter earns its place if it takes away this share of the error out of sample.
EARNED = 0.05

#: Blocks of points that are left out in turn, and the most points and tries of these fits.
FOLDS = 8
MAX_POINTS = 512
FOLD_TRIES = 20

#: Relative changes of the error, the parameters and the gradient at which a fit ends.
TOLERANCE = 1e-8

#: No parameter, relative to the points' size and number, is so large: such a try is refused.
FAR = 1e8

#: The matrices of the products e₁×, e₂×, e₃×, each as a row.
CROSS = np.array(
    [[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0]],
    float,
)

#: Radians below which the series of sine and cosine are exact.
SMALL_ANGLE = 1e-4


@result
class Shapes:
    """All fits, the evidence for turning, and the curve that describes the points.

    Attributes
    ----------
    fits
        Line, circle, helix and drifting helix.
    evidence
        The balanced turning share; None for fewer than eight points.
    best
        Its name; "none" if none of them describes the points, or they make fewer than 1.5 turns,
        which any smooth curve may do.
    """

    fits: Mapping[ShapeName, ShapeFit]
    evidence: TurningShare | None
    best: Best

    @property
    def described(self) -> ShapeFit | None:
        """The fit of the curve that describes the points; None if none does."""
        if self.best == "none":
            return None
        return self.fits["circle" if self.best == "arc" else self.best]

    @property
    def turning(self) -> ShapeFit | None:
        """The circle or helix that describes the points; None for an arc, a line or none."""
        return None if self.best in ("line", "arc") else self.described


def fit_shapes(
    coordinates: npt.ArrayLike,
    evidence: TurningShare | None = None,
    *,
    check: Callable[[], None] | None = None,
) -> Shapes:
    """Fit line, circle, helix and drifting helix, and find which of them describes the points.

    Parameters
    ----------
    coordinates : (m, 3)
        The range's rows in the shown components, in order; at least 4 of them.
    evidence
        The balanced turning share of whole rows; by default of the coordinates, as if they were
        all there is.
    check
        Called between two steps of the fits; may raise to stop.

    Returns
    -------
    Shapes
        ``best`` is a helix or a circle only if the evidence is remarkable, and a drifting helix
        only if the drift takes away at least 5 % of the error out of sample. Otherwise it is a
        line, or an arc of less than one turn, with R² ≥ 0.8, the arc only if it predicts better in
        the same way; or "none".

    Raises
    ------
    ValueError
        When there are fewer than 4 points, or not of three coordinates.
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise ValueError(f"expected at least 4 points (m, 3), got {points.shape}")
    if evidence is None and len(points) >= FEWEST:
        evidence = turning_share(points, columns=WIDTH)
    check = check or _nothing
    if len(points) <= REMEMBERED_POINTS:
        # The panels, the table of models, the ledger and the lessons ask for the same range.
        fits = _remembered(points.tobytes(), lambda: _all_fits(points, check))
    else:
        fits = _all_fits(points, check)
    return Shapes(fits, evidence, _best(fits, evidence))


def shape_intervals(
    rows: npt.ArrayLike,
    shapes: Shapes,
    components: tuple[int, ...] = (1, 2, 3),
    *,
    check: Callable[[], None] | None = None,
) -> Intervals | None:
    """Return the intervals of the curve that describes some rows.

    Parameters
    ----------
    rows : (m, d)
        Consecutive rows of a position table.
    shapes
        The curves fitted to them.
    components
        The three principal components in which they were fitted, from 1.
    check
        Called between draws; may raise to stop.

    Returns
    -------
    Intervals
        None for fewer than 32 rows, and for rows without these components.
    """
    if shapes.evidence is None:
        return None
    return intervals(rows, shapes.evidence, shapes.turning, components=components, check=check)


def _nothing() -> None: ...


def _all_fits(points: Array, check: Callable[[], None]) -> Mapping[ShapeName, ShapeFit]:
    """Return the four fits; their arrays are read-only."""
    points, unit = in_unit(points)
    line = _line(points)
    circle, helix = _turning(points, "circle", check), _turning(points, "helix", check)
    drifting = _refined(points, "drifting_helix", helix)
    fits: dict[ShapeName, ShapeFit] = {}
    for fit in (line, circle, helix, drifting):
        scored = replace(fit, score=_score(points, fit, check)).times(unit)
        read_only(scored.values, scored.centre, scored.frame)
        fits[fit.name] = scored
    return MappingProxyType(fits)


def _best(fits: Mapping[ShapeName, ShapeFit], evidence: TurningShare | None) -> Best:
    if evidence is not None and evidence.remarkable:
        if evidence.kind == "circle":
            return "circle"
        return "drifting_helix" if _earns(fits["helix"], fits["drifting_helix"]) else "helix"
    line, circle = fits["line"], fits["circle"]
    if circle.r2 >= CLEAR_R2 and circle.turns < 1.0 and _earns(line, circle):
        return "arc"
    return "line" if line.r2 >= CLEAR_R2 else "none"


def _earns(simple: ShapeFit, further: ShapeFit) -> bool:
    """Return whether the further curve predicts better, by more than rounding."""
    least = 1e-12
    return 1.0 - further.score + least < (1.0 - EARNED) * (1.0 - simple.score)


def _score(points: Array, fit: ShapeFit, check: Callable[[], None]) -> float:
    """Return R² out of sample, leaving out blocks of consecutive points in turn; NaN of too few."""
    m = len(points)
    total = float(np.square(points - points.mean(axis=0)).sum())
    if m < FEWEST or total == 0.0:
        return np.nan
    folds = min(FOLDS, m // 2)
    thin = np.unique(np.linspace(0, m - 1, min(m, MAX_POINTS)).round().astype(np.intp))
    sse = 0.0
    for block in np.array_split(np.arange(m), folds):
        check()
        kept = thin[(thin < block[0]) | (thin > block[-1])]
        if fit.name == "line":
            predicted = _line(points, kept)
        else:
            predicted = _refined(points, fit.name, fit, kept, FOLD_TRIES)
        sse += float(np.square(points[block] - predicted.values[block]).sum())
    return 1.0 - sse / total


def _line(points: Array, kept: npt.NDArray[np.intp] | slice = slice(None)) -> ShapeFit:
    s, fitted = steps(len(points))[kept], points[kept]
    middle = s.mean()
    slope: Array = (s - middle) @ (fitted - fitted.mean(axis=0)) / np.square(s - middle).sum()
    centre: Array = fitted.mean(axis=0) - middle * slope
    climb = float(np.linalg.norm(slope))
    axis = slope / climb if climb > 0.0 else np.array([0.0, 0.0, 1.0])
    frame = np.linalg.svd(axis[None])[2][[1, 2, 0]]
    frame[2] = axis
    return closed("line", points, centre, frame, climb=climb)


def _turning(points: Array, name: ShapeName, check: Callable[[], None]) -> ShapeFit:
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
            check()
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
    fits = []
    for f in _lowest(sse):
        check()
        start = closed(
            name,
            points,
            points.mean(axis=0),
            frames[f],
            float(radius[f]),
            omega=float(omegas[f]),
            climb=float(climb[f]),
        )
        fits.append(_refined(points, name, start))
    return max(fits, key=lambda fit: fit.r2)


def _lowest(sse: Array) -> list[int]:
    """Return the lowest local minima among the frequencies."""
    padded = np.concatenate([[np.inf], sse, [np.inf]])
    minima = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:]))
    return [int(f) for f in minima[np.argsort(sse[minima], kind="stable")[:CANDIDATES]]]


def _refined(
    points: Array,
    name: ShapeName,
    start: ShapeFit,
    kept: npt.NDArray[np.intp] | slice = slice(None),
    most: int = 60,
) -> ShapeFit:
    """Refine all free parameters by least squares over some of the points, in so many tries."""
    m = len(points)
    s, fitted = steps(m)[kept], points[kept]
    scale = float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum() / m)) or 1.0
    handed = np.diag([1.0, 1.0, np.sign(np.linalg.det(start.frame))])
    half = max((m - 1) / 2, 1.0)

    def unpack(x: Array) -> tuple[Array, Array, float, float, float, float]:
        turned = handed @ rotation_of(x[3:6])
        centre = start.centre + scale * x[:3]
        climb = scale * x[8] / half if name != "circle" else 0.0
        drift = scale * x[9] / half if name == "drifting_helix" else 0.0
        return centre, turned @ rotation, scale * x[6], drift, x[7] / half, climb

    rotation = handed @ start.frame

    def residuals(x: Array) -> Array:
        if np.abs(x).max() > FAR:
            return np.full(3 * len(s), FAR * scale)
        difference: Array = curve_at(s, *unpack(x)) - fitted
        return difference.ravel()

    def jacobian(x: Array) -> Array:
        _, frame, radius, drift, omega, climb = unpack(x)
        unit = np.empty((3, len(s)))
        np.cos(omega * s, out=unit[0])
        np.sin(omega * s, out=unit[1])
        unit[2] = climb * s
        reach = radius + drift * s
        around = unit[:2].T @ frame[:2]
        ahead = unit[:2].T @ np.stack([frame[1], -frame[0]])
        unit[:2] *= reach
        rows = np.empty((len(x), len(s), 3))
        rows[:3] = scale * np.eye(3)[:, None]
        np.matmul(unit.T, handed @ rotation_derivatives(x[3:6]) @ rotation, out=rows[3:6])
        rows[6] = scale * around
        rows[7] = (reach * s / half)[:, None] * ahead
        if name != "circle":
            rows[8] = (scale * s / half)[:, None] * frame[2]
        if name == "drifting_helix":
            rows[9] = (scale * s / half)[:, None] * around
        return rows.reshape(len(x), -1)

    x0 = np.zeros(FREE[name])
    x0[6], x0[7] = start.radius / scale, start.omega * half
    if name != "circle":
        x0[8] = start.climb * half / scale
    # MINPACK's own function takes half of the time of `least_squares`, with the same steps. With
    # `full_output` it does not warn when the tries are used up.
    # It computes covariances too, which may be infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        found = leastsq(
            residuals,
            x0,
            Dfun=jacobian,
            col_deriv=True,
            full_output=True,
            ftol=TOLERANCE,
            xtol=TOLERANCE,
            gtol=TOLERANCE,
            maxfev=most,
        )[0]
    centre, frame, radius, drift, omega, climb = unpack(found)
    # Of a curve's equivalent descriptions, use the one with positive radius and frequency.
    if radius < 0.0:
        radius, drift, frame = -radius, -drift, frame * np.array([[-1.0], [-1.0], [1.0]])
    if omega < 0.0:
        omega, frame = -omega, frame * np.array([[1.0], [-1.0], [1.0]])
    if climb < 0.0:
        climb, frame = -climb, frame * np.array([[1.0], [1.0], [-1.0]])
    return closed(name, points, centre, frame, radius, drift, omega, climb)


def rotation_of(vector: Array) -> Array:
    """Return the matrix that turns by a rotation vector, by Rodrigues' formula."""
    angle = math.sqrt(float(vector @ vector))
    cross = (vector @ CROSS).reshape(3, 3)
    first = math.sin(angle) / angle if angle > SMALL_ANGLE else 1.0 - angle**2 / 6
    second = (1.0 - math.cos(angle)) / angle**2 if angle > SMALL_ANGLE else 0.5
    matrix: Array = np.eye(3) + first * cross + second * cross @ cross
    return matrix


def rotation_derivatives(vector: Array) -> Array:
    """Return the derivatives of :func:`rotation_of` by the vector's components, (3, 3, 3).

    A row y·R is R(−v)·y, whose derivative by v is R(−v)·[y]ₓ·J(−v), J being the right Jacobian of
    the rotations.
    """
    angle = math.sqrt(float(vector @ vector))
    cross = -(vector @ CROSS).reshape(3, 3)
    small = angle <= SMALL_ANGLE
    first = 0.5 if small else (1.0 - math.cos(angle)) / angle**2
    second = 1.0 / 6.0 if small else (angle - math.sin(angle)) / angle**3
    right = np.eye(3) - first * cross + second * cross @ cross
    derivatives: Array = (right.T @ CROSS).reshape(3, 3, 3) @ rotation_of(vector)
    return derivatives
