"""A simple curve fitted to points: its parameters and values."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array, about_mean, read_only
from geometry.pca.unit import in_table_unit

ShapeName = Literal["line", "circle", "helix", "drifting_helix"]

HELICES: tuple[ShapeName, ...] = ("helix", "drifting_helix")

#: Number of free parameters: for a circle its plane, centre, radius, frequency and phase; etc.
FREE: dict[ShapeName, int] = {"line": 6, "circle": 8, "helix": 9, "drifting_helix": 10}


@result
class ShapeFit:
    """A curve fitted to points.

    With s_i = i − (m − 1)/2, p_i ≈ centre + (radius + drift · s_i) · (cos(ω s_i) · u +
    sin(ω s_i) · v) + climb · s_i · axis; u, v, axis are the rows of ``frame``.

    Attributes
    ----------
    name
        Which curve.
    r2
        1 − SSE/SST.
    score
        R² out of sample: blocks of consecutive points are left out in turn, and the fit to the
        others, found from that to all, predicts them. NaN for fewer than eight points.
    values : (m, 3) float64
        The curve at every point's index.
    centre : (3,) float64
        The curve at the middle of the range.
    frame : (3, 3) float64
        Orthonormal rows u, v, axis; for a line, only the axis is meaningful.
    radius, drift
        Radius at the middle, and its change per position; 0 for a line.
    omega
        Radians per position; 0 for a line.
    climb
        Along the axis, per position; 0 for a circle.
    """

    name: ShapeName
    r2: float
    score: float
    values: Array
    centre: Array
    frame: Array
    radius: float
    drift: float
    omega: float
    climb: float

    @property
    def turns(self) -> float:
        """Turns from the first point to the last."""
        return self.omega * (len(self.values) - 1) / (2 * np.pi)

    @property
    def climb_per_turn(self) -> float:
        """Climb during one turn; 0 for a curve without turns."""
        return 2 * np.pi * self.climb / self.omega if self.omega else 0.0

    def times(self, unit: float) -> ShapeFit:
        """Return the fit to points that are so many times as large."""
        if unit == 1.0:
            return self
        return replace(
            self,
            values=in_table_unit(self.values, unit),
            centre=in_table_unit(self.centre, unit),
            radius=self.radius * unit,
            drift=self.drift * unit,
            climb=self.climb * unit,
        )

    def at(self, i: npt.ArrayLike) -> Array:
        """Return the curve at any indices, counted from the first point: (len(i), 3).

        Indices may lie between two points, before the first or after the last.
        """
        s = np.asarray(i, dtype=np.float64) - (len(self.values) - 1) / 2
        return curve_at(s, self.centre, self.frame, self.radius, self.drift, self.omega, self.climb)

    def distances(self, points: npt.ArrayLike) -> Array:
        """Return the distance of each fitted point from the curve at its index, (m,).

        Their squares sum to the fit's SSE.
        """
        apart = np.asarray(points, dtype=np.float64) - self.values
        found: Array = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return found


def steps(m: int) -> Array:
    """Return the indices of m points, counted from the middle."""
    return np.arange(m, dtype=np.float64) - (m - 1) / 2


def curve_at(
    s: Array, centre: Array, frame: Array, radius: float, drift: float, omega: float, climb: float
) -> Array:
    """Return centre + (radius + drift·s)·(cos(ω s)·u + sin(ω s)·v) + climb·s·axis."""
    u, v, axis = frame
    around = np.outer(np.cos(omega * s), u) + np.outer(np.sin(omega * s), v)
    curve: Array = centre + (radius + drift * s)[:, None] * around + climb * s[:, None] * axis
    return curve


def closed(
    name: ShapeName,
    points: Array,
    centre: Array,
    frame: Array,
    radius: float = 0.0,
    drift: float = 0.0,
    omega: float = 0.0,
    climb: float = 0.0,
) -> ShapeFit:
    """Return the fit with these parameters."""
    values = curve_at(steps(len(points)), centre, frame, radius, drift, omega, climb)
    sse = float(((points - values) ** 2).sum())
    sst = float((about_mean(points) ** 2).sum())
    read_only(values, centre, frame)
    return ShapeFit(
        name,
        1.0 - sse / sst if sst > 0.0 else 0.0,
        np.nan,
        values,
        centre,
        frame,
        float(radius),
        float(drift),
        float(omega),
        float(climb),
    )
