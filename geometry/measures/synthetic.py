"""Synthetic lines, circles and helices with equal distances between neighbours.

Line and circle are the two ends of one family: a helix makes part of each step along its axis and
the rest around it; a line makes all of it along the axis, a circle none. "A line is just a helix
that doesn't curve."
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from geometry.pca.components import Array

if TYPE_CHECKING:
    from geometry.measures.shape_fit import ShapeFit

CurveKind = Literal["line", "circle", "helix"]
KINDS: tuple[CurveKind, ...] = ("line", "circle", "helix")

#: Around the axis (two), along it, and away from the origin.
DIRECTIONS = 4
#: Minimum dimensions: these directions, one for a token, and the mean that LayerNorm removes.
MIN_DIMENSIONS = DIRECTIONS + 2
MIN_POSITIONS = 4
MIN_TURNS = 0.01
#: Size limit of a table in numbers: 256 MiB.
MAX_NUMBERS = 2**25

#: Names of a curve's parameters in a source.
SOURCE_FIELDS = {
    "n": "n_positions",
    "d": "d_model",
    "spacing": "spacing",
    "turns": "turns",
    "climb": "climb",
    "offset": "offset",
    "noise": "noise",
    "seed": "seed",
}
WHOLE = ("n_positions", "d_model", "seed")
#: Number of directions of the noise, including the curve's: enough that it is nearly orthogonal to
#: everything, and few enough to compute and measure a curve while a slider moves.
NOISE_DIRECTIONS = 64


@dataclass(frozen=True, slots=True)
class SyntheticCurve:
    """A curve of positions.

    With s_i = i − (n − 1)/2, counted from the middle, position i is at

    ``radius · (cos(ω s_i) · u + sin(ω s_i) · v) + rise · s_i · axis + offset · w``

    with u, v, axis and w orthonormal, and orthogonal to (1, …, 1), which LayerNorm removes.

    Attributes
    ----------
    kind
        "line", "circle" or "helix".
    n_positions, d_model
        Shape of its table.
    spacing
        Distance between neighbours, before noise.
    turns
        From the first position to the last, at most half a turn per step; a line has none.
    climb
        Share of a helix's spacing along its axis, 0 to 1.
    offset
        Distance of the origin from the curve's centre, at right angles to the curve.
    noise
        Root mean square distance of each row from the curve, in spacings.
    seed
        Of the noise, and of the directions in :meth:`table`.

    Raises
    ------
    ValueError
        When one of these is out of bounds.
    """

    kind: CurveKind
    n_positions: int = 1024
    d_model: int = 768
    spacing: float = 0.1
    turns: float = 2.0
    climb: float = 0.5
    offset: float = 0.0
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        half = (self.n_positions - 1) / 2
        for name, value, low, high in (
            ("n_positions", self.n_positions, MIN_POSITIONS, np.inf),
            ("d_model", self.d_model, MIN_DIMENSIONS, np.inf),
            ("spacing", self.spacing, np.finfo(np.float32).tiny, np.finfo(np.float32).max),
            ("turns", self.turns, MIN_TURNS, half),
            ("climb", self.climb, 0.0, 1.0),
            ("offset", self.offset, 0.0, np.finfo(np.float32).max),
            ("noise", self.noise, 0.0, np.finfo(np.float32).max),
            ("seed", self.seed, 0, np.inf),
        ):
            if not low <= value <= high:
                raise ValueError(f"expected {name} between {low:g} and {high:g}, got {value:g}")

    @property
    def omega(self) -> float:
        """Radians around the axis from each position to the next; 0 for a line."""
        if self.kind == "line":
            return 0.0
        return float(2 * np.pi * self.turns / (self.n_positions - 1))

    @property
    def rise(self) -> float:
        """Distance along the axis from each position to the next."""
        return self.spacing * {"line": 1.0, "circle": 0.0, "helix": self.climb}[self.kind]

    @property
    def radius(self) -> float:
        """Distance from the axis; 0 for a line."""
        if self.kind == "line":
            return 0.0
        chord = np.sqrt(max(self.spacing**2 - self.rise**2, 0.0))
        return float(chord / (2 * np.sin(self.omega / 2)))

    def mean_square(self, n_positions: npt.ArrayLike | None = None) -> Array:
        """Return the mean of ‖p_i‖², which weight decay penalises, in closed form.

        Parameters
        ----------
        n_positions
            Number of positions, with the same angle and rise per step, so that a longer curve makes
            more turns. The curve's own if None.

        Returns
        -------
        float64, of the same shape: ``radius² + rise² · (n² − 1)/12 + offset² + (noise · spacing)²``
        """
        n = np.asarray(self.n_positions if n_positions is None else n_positions, dtype=np.float64)
        apart = self.radius**2 + self.offset**2 + (self.noise * self.spacing) ** 2
        return np.asarray(apart + self.rise**2 * (n**2 - 1) / 12)

    @property
    def source(self) -> str:
        """The source by which `geometry.models.sources.opening.open_model` opens the table."""
        fields = (f"{short}={getattr(self, name)!r}" for short, name in SOURCE_FIELDS.items())
        return f"synthetic:{self.kind}," + ",".join(fields)

    @property
    def name(self) -> str:
        """Name for captions."""
        many = "" if self.turns == 1 else "s"
        turns = "" if self.kind == "line" else f", {self.turns:.3g} turn{many}"
        return f"synthetic {self.kind}{turns}"

    def of_kind(self, kind: CurveKind) -> SyntheticCurve:
        """Return the curve of another kind with the same spacing and turns."""
        return replace(self, kind=kind)

    def coordinates(self) -> Array:
        """Return the rows in an orthonormal basis of their span.

        Returns
        -------
        (n_positions, m) float64
            Along u, v, axis and w, m = 4; with noise m = :data:`NOISE_DIRECTIONS`, or all
            dimensions of a narrower table.
        """
        n = self.n_positions
        s = np.arange(n) - (n - 1) / 2
        noisy = min(self.d_model - 1, NOISE_DIRECTIONS)
        rows = np.zeros((n, noisy if self.noise else DIRECTIONS))
        rows[:, 0] = self.radius * np.cos(self.omega * s)
        rows[:, 1] = self.radius * np.sin(self.omega * s)
        rows[:, 2] = self.rise * s
        rows[:, 3] = self.offset
        if self.noise:
            size = self.noise * self.spacing / np.sqrt(rows.shape[1])
            rows += size * np.random.default_rng(self.seed).standard_normal(rows.shape)
        return rows

    def table(self) -> Array:
        """Return the rows in random directions of d_model dimensions: (n_positions, d_model)."""
        rows = self.coordinates()
        return rows @ mean_free_directions(rows.shape[1], self.d_model, self.seed)


def parse_curve(text: str) -> SyntheticCurve:
    """Parse a curve's source without "synthetic:", such as ``helix,n=1024,turns=1.85``.

    Omitted parameters have the defaults of :class:`SyntheticCurve`.

    Raises
    ------
    ValueError
        It is not a valid curve.
    """
    kind, *parts = (part.strip() for part in text.split(","))
    if kind not in KINDS:
        raise ValueError(f"a curve is one of {', '.join(KINDS)}, not {kind!r}")
    numbers: dict[str, Any] = {}
    for part in parts:
        short, equals, value = (word.strip() for word in part.partition("="))
        name = SOURCE_FIELDS.get(short)
        if name is None or not equals or name in numbers:
            known = ", ".join(SOURCE_FIELDS)
            raise ValueError(
                f"expected numbers such as turns=2, once each of {known}, not {part!r}"
            )
        try:
            numbers[name] = int(value) if name in WHOLE else float(value)
        except ValueError:
            raise ValueError(f"{short} is not a number: {value!r}") from None
    curve = SyntheticCurve(kind, **numbers)
    if curve.n_positions * curve.d_model > MAX_NUMBERS:
        raise ValueError(f"it would have more than {MAX_NUMBERS:,} numbers")
    return curve


def mean_free_directions(count: int, d_model: int, seed: int = 0) -> Array:
    """Draw random orthonormal directions orthogonal to (1, …, 1).

    Returns
    -------
    (count, d_model) float64
    """
    drawn = np.random.default_rng(seed).standard_normal((d_model, count))
    drawn -= drawn.mean(axis=0)
    return np.linalg.qr(drawn)[0].T


def curve_like(rows: npt.ArrayLike, helix: ShapeFit | None = None) -> SyntheticCurve:
    """Return a synthetic helix with the size of a model's own curve.

    Parameters
    ----------
    rows : (n, d)
        A range of a table; at least 4 rows.
    helix
        The helix fitted to them, which gives turns, climb and spacing; without it, two turns, half
        of each step along the axis, and the rows' median step.

    Returns
    -------
    SyntheticCurve
        With n positions, the distance of the rows' mean from the origin as offset, and no noise. At
        least as many dimensions as a curve needs.
    """
    table = np.asarray(rows, dtype=np.float64)
    n_positions, d_model = table.shape
    made = SyntheticCurve(
        "helix",
        n_positions,
        max(d_model, MIN_DIMENSIONS),
        spacing=float(np.median(np.linalg.norm(np.diff(table, axis=0), axis=1))) or 1.0,
        turns=min(2.0, (n_positions - 1) / 2),
        offset=float(np.linalg.norm(table.mean(axis=0))),
    )
    if helix is None or not helix.omega:
        return made
    around = 2 * helix.radius * np.sin(min(helix.omega, np.pi) / 2)
    spacing = float(np.hypot(around, helix.climb))
    if not spacing:
        return made
    turns = min(max(helix.turns, MIN_TURNS), (n_positions - 1) / 2)
    return replace(made, spacing=spacing, turns=turns, climb=min(helix.climb / spacing, 1.0))
