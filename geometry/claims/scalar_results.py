"""Single numbers that summarise a position table, for comparing several models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.checkpoints.memo import cached_property
from geometry.checkpoints.result import ResultTuple
from geometry.checkpoints.transfer import Cancelled
from geometry.claims import claim_lookback, claim_measures
from geometry.claims.claim import CannotTell, check_positions, too_few
from geometry.claims.measurements import Measurements, Scope
from geometry.evidence.bootstrap import FEWEST as FEWEST_RESAMPLED
from geometry.evidence.bootstrap import Intervals
from geometry.evidence.null import Outcome
from geometry.evidence.turning_share import turning_in
from geometry.measures.roughness import FEWEST, SHORT_PERIOD, Roughness, roughness
from geometry.measures.shape import Shapes, fit_shapes, shape_intervals
from geometry.measures.shape_fit import HELICES, ShapeFit
from geometry.measures.spectra import TOP, Spectrum, spectrum
from geometry.models.model import PositionalModel
from geometry.pca.components import Array
from geometry.pca.curve import why_fewer
from geometry.pca.pca import fit_pca

Value = float | int | str
Kind = Literal["count", "share", "number", "text"]
"""Format of a value: integer, percent, with decimals, unchanged."""
Of = Literal["model", "range", "components"]
"""What a value depends on: all stored rows, the range, or the range in three of its components."""

WEIGHED = {
    "variance_3": "pca.three",
    "norm_cv": "norms.stable",
    "lookback_r2": "lookback.everywhere",
}
"""Quantities that are the numbers of claims with a null distribution, and the claims' names."""

MAX_PERIOD = 2
"""Times the range: of a longer one the range has less than half."""

VERDICTS = {
    "line": "line",
    "arc": "arc",
    "circle": "circle",
    "helix": "helix",
    "drifting_helix": "drifting helix",
    "none": "none of these",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """One of the numbers.

    Attributes
    ----------
    key
        Its name in files.
    title
        Its name in a table: a word or two.
    of
        What it depends on.
    meaning
        Its definition, as a sentence.
    measure
        Computes it; raises HelixscopeError with the reason if it cannot.
    kind
        Its format.
    unit
        Unit of the displayed value; "" for none.
    decimals
        Number of decimals of a share or a number.
    """

    key: str
    title: str
    of: Of
    meaning: str
    measure: Callable[[_Table], Value]
    kind: Kind = "number"
    unit: str = ""
    decimals: int = 2


_count = partial(Quantity, kind="count")
_share = partial(Quantity, kind="share", unit="%")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A quantity of one table: its value, or None, and ``why``."""

    quantity: Quantity
    value: Value | None
    why: str = ""


def scalar_results(
    model: PositionalModel,
    positions: tuple[int, int] | None = None,
    components: tuple[int, ...] = (1, 2, 3),
    *,
    check: Callable[[], None] | None = None,
) -> tuple[Scalar, ...]:
    """Measure all the single numbers of a model's position table.

    Parameters
    ----------
    model
        The open model; only its position table is read.
    positions
        Inclusive range, for quantities that depend on it; those of
        :attr:`PositionalModel.usual_positions` if None.
    components
        Three principal components of the range, from 1, for the curve's shape.
    check
        Called between two quantities; may raise to stop.

    Returns
    -------
    tuple of Scalar
        In the order of :data:`QUANTITIES`. None for those that a short range or a small table does
        not have.

    Raises
    ------
    RangeError
        When the range leaves the table.
    """
    return _measure_all(_Table(model, positions, components, check), check)


def weighed_scalars(
    model: PositionalModel,
    positions: tuple[int, int] | None = None,
    components: tuple[int, ...] = (1, 2, 3),
    *,
    nulls: bool = False,
) -> tuple[tuple[Scalar, ...], Mapping[str, Outcome]]:
    """Measure all the single numbers, and weigh those that can be beside random curves.

    Parameters
    ----------
    model, positions, components
        As in :func:`scalar_results`.
    nulls
        Draw the null distributions, which takes seconds; else only the turning share is weighed,
        whose distribution is known.

    Returns
    -------
    scalars
        As :func:`scalar_results` returns them.
    outcomes
        By keys of quantities: of the turning share, whether the positions turn more evenly than
        random smooth curves; of the others, that of the claim in :data:`WEIGHED`, corrected for
        their number.

    Raises
    ------
    RangeError
        When the range leaves the table.
    """
    table = _Table(model, positions, components)
    scalars = _measure_all(table, None)
    outcomes: dict[str, Outcome] = {"turning_share": table.turning_outcome()}
    if nulls:
        from geometry.claims.claims import CLAIMS
        from geometry.claims.ledger import check_together

        by_id = {claim.id: claim for claim in CLAIMS}
        claims = {key: by_id[claim] for key, claim in WEIGHED.items()}
        if table.measured.shown != model.usual_positions:
            del claims["variance_3"]  # the claim is about all positions
        verdicts = check_together(tuple(claims.values()), table.measured)
        outcomes |= {
            key: verdict.outcome or "cannot tell"
            for key, verdict in zip(claims, verdicts, strict=True)
        }
    return scalars, outcomes


def _measure_all(table: _Table, check: Callable[[], None] | None) -> tuple[Scalar, ...]:
    found = []
    for quantity in QUANTITIES:
        if check is not None:
            check()
        found.append(_measured(quantity, table))
    return ResultTuple(found)


def _measured(quantity: Quantity, table: _Table) -> Scalar:
    try:
        # 0/0 is undefined, and reported so.
        with np.errstate(divide="ignore", invalid="ignore"):
            value = quantity.measure(table)
    except (Cancelled, FileChanged):
        raise
    except HelixscopeError as error:
        return Scalar(quantity, None, str(error))
    if not isinstance(value, str) and not np.isfinite(value):
        return Scalar(quantity, None, "not defined for this table")
    return Scalar(quantity, value)


class _Table:
    """Intermediate results shared by several quantities, each computed once."""

    def __init__(
        self,
        model: PositionalModel,
        positions: tuple[int, int] | None,
        components: tuple[int, ...],
        check: Callable[[], None] | None = None,
    ) -> None:
        self.measured = Measurements(model, Scope(positions))
        self.model, self.components, self._check = model, components, check

    @cached_property
    def spectrum(self) -> Spectrum:
        """Singular values of all stored rows, uncentred."""
        return spectrum(self.model.W_pos)

    @cached_property
    def coordinates(self) -> Array:
        """(m, 3) the range's rows in the three components."""
        pca, most = self.measured.pca, max(self.components)
        if most > len(pca.components):
            pca = fit_pca(self.model.W_pos, self.measured.positions, most)
        if most > len(pca.components) or not pca.rank:
            raise CannotTell(why_fewer(pca))
        return pca.project(self.measured.rows)[:, [number - 1 for number in self.components]]

    @cached_property
    def shapes(self) -> Shapes:
        """The simple curves fitted to these."""
        check_positions(len(self.coordinates), FEWEST)
        evidence = turning_in(self.measured.rows, self.coordinates, self.components)
        return fit_shapes(self.coordinates, evidence)

    @cached_property
    def intervals(self) -> Intervals:
        """Intervals of the curve that describes the points."""
        found = shape_intervals(self.measured.rows, self.shapes, self.components, check=self._check)
        if found is None:
            raise CannotTell(f"fewer than {FEWEST_RESAMPLED} positions cannot be resampled")
        return found

    def end(self, of: str, side: int) -> float:
        """Return one end of an interval; of the turns, radius and R² only if there is a helix."""
        if of != "b":
            _ = self.helix
        ends: tuple[float, float] | None = getattr(self.intervals, of)
        if ends is None:
            raise CannotTell("no helix describes the positions")
        return ends[side]

    @property
    def helix(self) -> ShapeFit:
        """The helix that describes the points."""
        found = self.shapes.described
        if found is None or found.name not in HELICES:
            raise CannotTell("no helix describes the positions")
        return found

    @cached_property
    def roughness(self) -> Roughness:
        """Smoothness of the curve in the three components."""
        return _rough(self.coordinates)

    def turning_angle(self) -> float:
        """Median angle between neighbouring steps."""
        if np.isnan(self.roughness.turning_angles).all():
            raise CannotTell("no two neighbouring steps have a length")
        return self.roughness.turning_angle

    def variance(self, count: int) -> float:
        """Variance share of the range's first components."""
        self._check_varying()
        return float(self.measured.pca.explained_variance_ratio[:count].sum())

    def _check_varying(self) -> None:
        """Raise CannotTell if all rows of the range are equal."""
        pca = self.measured.pca
        if not pca.rank:
            raise CannotTell(why_fewer(pca))

    def residual(self) -> float:
        """Median off-subspace residual of the first three components."""
        self._check_varying()
        return float(np.median(self.measured.residual))

    def turning(self) -> float:
        """Balanced turning share, see :mod:`geometry.evidence.turning_share`."""
        evidence = self.shapes.evidence
        assert evidence is not None
        return evidence.b

    def turning_outcome(self) -> Outcome:
        """Whether the positions turn more evenly than random smooth curves."""
        try:
            evidence = self.shapes.evidence
        except HelixscopeError:  # there are too few of them, or of their components
            return "cannot tell"
        return "cannot tell" if evidence is None else evidence.outcome

    def period(self) -> float:
        """Tokens per turn, from the rotation that looks back."""
        if self.measured.look_back is None:
            raise too_few(self.measured)
        turning = self.measured.turning
        if turning is None or not turning.slope > 0.0:
            raise CannotTell("no rotation fits")
        period = float(2 * np.pi / turning.slope)
        if period > MAX_PERIOD * len(self.measured.rows):
            raise CannotTell("they turn by less than half a turn")
        return period


def _rough(points: Array) -> Roughness:
    check_positions(len(points), FEWEST)
    if not np.ptp(points, axis=0).any():
        raise CannotTell("all rows of the range are equal")
    return roughness(points)


def _interval(key: str, title: str, of: str, meaning: str, **options: Any) -> tuple[Quantity, ...]:
    """Return the ends of the interval of a quantity, as two quantities."""
    return tuple(
        Quantity(
            f"{key}_{end}",
            f"{title}, {end}",
            "components",
            f"The {end} end of the 95 % interval of {meaning}, by resampling the rows’ departures "
            "from the curve that they follow.",
            partial(_Table.end, of=of, side=side),
            **options,
        )
        for side, end in enumerate(("low", "high"))
    )


QUANTITIES: tuple[Quantity, ...] = (
    _count(
        "n_positions",
        "Positions",
        "model",
        "Rows of the table.",
        lambda t: t.model.n_positions,
    ),
    _count(
        "d_model",
        "Width",
        "model",
        "Entries of each row, d_model.",
        lambda t: t.model.d_model,
        unit="entries",
    ),
    _share(
        "variance_3",
        "3 PCs",
        "range",
        "Share of the variance of the range’s first three principal components, centred.",
        lambda t: t.variance(3),
        decimals=1,
    ),
    _share(
        "variance_6",
        "6 PCs",
        "range",
        "Share of the variance of the range’s first six principal components, centred.",
        lambda t: t.variance(6),
        decimals=1,
    ),
    _share(
        "residual",
        "Residual",
        "range",
        "The share of a row’s length, after subtracting the range’s mean, outside the first "
        "three components: the median over the range.",
        _Table.residual,
        decimals=1,
    ),
    Quantity(
        "stable_rank",
        "Stable rank",
        "model",
        "‖P‖²/σ₁², the squared Frobenius norm over the largest squared singular value of all "
        "rows, uncentred: an effective number of directions.",
        lambda t: t.spectrum.stable_rank,
    ),
    Quantity(
        "effective_rank",
        "Effective rank",
        "model",
        "exp(−Σ p ln p) with p = σ/Σσ, over the singular values of all rows, uncentred: 1 for"
        " one direction, n for n equally strong ones.",
        lambda t: t.spectrum.effective_rank,
        decimals=1,
    ),
    Quantity(
        "participation",
        "Participation",
        "model",
        "(Σσ²)²/Σσ⁴ over the singular values of all rows, uncentred: n for n equally strong"
        " directions.",
        lambda t: t.spectrum.participation_ratio,
    ),
    _share(
        "energy_30",
        f"Energy of {TOP}",
        "model",
        f"Share of Σσ² in the first {TOP} singular directions, uncentred.",
        lambda t: claim_measures.energy(t.spectrum),
    ),
    Quantity(
        "verdict",
        "Curve",
        "components",
        "The curve (line, arc, circle, helix or drifting helix) that describes the positions "
        "in the shown components, by the rule of the Shape panel.",
        lambda t: VERDICTS[t.shapes.best],
        kind="text",
    ),
    Quantity(
        "turning_share",
        "Turning share",
        "components",
        "B, the balanced turning share: twice the variance along the smaller axis of an even"
        " turning, over all variance.",
        _Table.turning,
        decimals=3,
    ),
    Quantity(
        "helix_r2",
        "Helix R²",
        "components",
        "1 − SSE/SST of the helix in the shown components.",
        lambda t: t.helix.r2,
        decimals=3,
    ),
    Quantity(
        "turns",
        "Turns",
        "components",
        "Turns of that helix from the first to the last shown position.",
        lambda t: t.helix.turns,
    ),
    Quantity(
        "radius",
        "Radius",
        "components",
        "Radius of that helix at the middle of the range.",
        lambda t: t.helix.radius,
        unit="units of P",
        decimals=3,
    ),
    Quantity(
        "drift",
        "Drift",
        "components",
        "Change of its radius from the first to the last shown position.",
        lambda t: t.helix.drift * (len(t.helix.values) - 1),
        unit="units of P",
        decimals=3,
    ),
    Quantity(
        "climb",
        "Climb",
        "components",
        "Climb of that helix along its axis per turn, in units of P.",
        lambda t: t.helix.climb_per_turn,
        unit="units / turn",
        decimals=3,
    ),
    Quantity(
        "norm_mean",
        "Norm",
        "model",
        "Mean length of the rows from position 100 to the last but one; of all in a table that"
        " is too short for that.",
        lambda t: t.measured.norms.mean,
        unit="units of P",
        decimals=3,
    ),
    _share(
        "norm_cv",
        "Norm CV",
        "model",
        "Coefficient of variation of these lengths: standard deviation over mean.",
        lambda t: claim_measures.variation(t.measured.norms),
        decimals=1,
    ),
    _count(
        "outliers",
        "Outliers",
        "model",
        "Positions whose length differs from the median of their eight neighbours’ by more"
        " than 0.3 in natural logarithm, or whose distance from the mean row does by more than"
        " 0.4.",
        lambda t: len(t.measured.norms.outliers),
    ),
    Quantity(
        "turning_angle",
        "Turning angle",
        "components",
        "Median angle between the step to a position and the step from it, in the shown "
        "components. About 120° for independent random points.",
        _Table.turning_angle,
        unit="°",
        decimals=1,
    ),
    _share(
        "high_frequency",
        "Roughness",
        "components",
        f"Share of the curve’s energy in waves shorter than {SHORT_PERIOD} positions, in the "
        "shown components. 75 % for white noise.",
        lambda t: t.roughness.high_frequency_energy,
        decimals=4,
    ),
    _share(
        "high_frequency_rows",
        "Row roughness",
        "range",
        "The same for whole rows, in all dimensions.",
        lambda t: _rough(t.measured.rows).high_frequency_energy,
        decimals=4,
    ),
    Quantity(
        "loops",
        "Loops",
        "components",
        "Number of loops in the shown components: the frequency below which half of the "
        "energy lies after subtracting a straight ramp, in turns over the range. Defined for "
        "any curve.",
        lambda t: t.roughness.loops,
    ),
    Quantity(
        "period",
        "Period",
        "range",
        "Tokens per turn, from how the angle of the rotation that looks back N tokens in the "
        "first three components grows with N.",
        _Table.period,
        unit="tokens / turn",
        decimals=0,
    ),
    Quantity(
        "lookback_r2",
        "Look back R²",
        "range",
        f"R² of the rotation and shift that look {claim_lookback.LAG} tokens back in the first"
        " three components, fitted on the first half of the range, scored on the second.",
        lambda t: claim_lookback.everywhere(t.measured),
        decimals=3,
    ),
    Quantity(
        "position_mae",
        "Position error",
        "model",
        "Mean absolute error of a linear map that reads a row’s position, fitted to other "
        "rows among the first 512, in five splits into fifths (Wang and Chen 2020).",
        lambda t: t.measured.position_probe.error,
        unit="positions",
    ),
    Quantity(
        "lowest_cosine",
        "Lowest cosine",
        "range",
        "The lowest mean cosine of rows by lag, up to three quarters of the range.",
        lambda t: claim_measures.lowest_cosine(t.measured),
    ),
    *_interval("turning_share", "Turning share", "b", "the turning share", decimals=3),
    *_interval("helix_r2", "Helix R²", "r2", "R² of the helix", decimals=3),
    *_interval("turns", "Turns", "turns", "the helix’s turns"),
    *_interval("radius", "Radius", "radius", "the helix’s radius", unit="units of P", decimals=3),
)
"""In the order of a table's columns."""
INTERVALS = ("turning_share", "helix_r2", "turns", "radius")
"""Quantities with an interval: its ends are further quantities, with ``_low`` and ``_high``."""
