"""The question of the compare panel: scalars of the open and the compared models.

And how far each model's shape is from that of the open one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.memo import Recent
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.scalar_results import Quantity, Scalar, scalar_results
from geometry.evidence.null import Outcome
from geometry.evidence.shape_distance import ShapeDistance, shape_distance
from geometry.measures.roughness import FEWEST
from geometry.pca.pca import fit_pca
from gui.panels.kit.views import Shown
from gui.services.questions import Progress, QuestionContext

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

_of_two = partial(Quantity, of="range", measure=lambda _: math.nan, unit="°", decimals=1)
DISTANCES = (
    _of_two(
        "shape_distance",
        "Shape distance",
        meaning="The angle between this table and that of the open model, over the positions that "
        "both show, each moved, turned, reflected and scaled onto the other: 0 for one shape, 90 "
        "for nothing in common.",
    ),
    _of_two(
        "shape_distance_low",
        "Shape distance, low",
        meaning="The lower end of the 95 % interval of this angle, if both tables turn evenly.",
    ),
    _of_two(
        "shape_distance_high",
        "Shape distance, high",
        meaning="The upper end of the 95 % interval of this angle, if both tables turn evenly.",
    ),
    _of_two(
        "shape_noise",
        "Shape noise",
        meaning="The angle between two draws of the open model’s curve with departures like its "
        "own: what noise alone gives.",
    ),
)
"""What is measured of a model and the open one."""
NO_CURVE = "the interval is known only of two curves that turn evenly"
OPEN, LATER = "it is the open model", "not measured yet"
SHORT = "no two positions are shown in both"
MAX_KEPT = 512
READING, FAILED = "it is still loading", "it could not be opened"


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredRow:
    """The scalars of a row: None while they are computed, or with the reason in ``why``.

    ``outcomes`` are those of the quantities that are weighed beside random curves, by their keys.
    """

    row: Shown
    scalars: tuple[Scalar, ...] | None = None
    why: str = ""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)

    def value(self, key: str) -> float | str | None:
        """Return the value of a quantity, by its key; None if it has no value."""
        return next((s.value for s in self.scalars or () if s.quantity.key == key), None)

    def outcome(self, scalar: Scalar) -> Outcome | None:
        """Return the outcome of a quantity; None if it is not weighed, or has no value."""
        return None if scalar.value is None else self.outcomes.get(scalar.quantity.key)


def distances(found: ShapeDistance | None, why: str = NO_CURVE) -> tuple[Scalar, ...]:
    """Return a distance as scalars, with the reason of those that have no value."""
    if found is None:
        return tuple(Scalar(quantity, None, why) for quantity in DISTANCES)
    values = (found.degrees, *(found.interval or (None, None)), found.same_curve)
    return tuple(
        Scalar(quantity, value, "" if value is not None else why)
        for quantity, value in zip(DISTANCES, values, strict=True)
    )


def of_one(scalars: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Return the scalars of a row, without its distance so far."""
    return (*scalars, *distances(None, LATER))


def with_distance(
    line: MeasuredRow,
    reference: MeasuredRow,
    kept: Recent,
    check: Callable[[], None] | None = None,
    *,
    known: bool = False,
) -> MeasuredRow:
    """Return a measured row with the distance of its shape from that of the open model.

    With ``known`` nothing is computed: the row is as before if its distance is not kept.
    """
    model, other = line.row.open_model, reference.row.open_model
    if line.scalars is None or model is None or other is None:
        return line
    starts, ends = zip(line.row.positions, reference.row.positions, strict=True)
    first, last = max(starts), min(ends)
    if line.row.key == reference.row.key:
        found = distances(None, OPEN)
    elif last <= first:
        found = distances(None, SHORT)
    else:
        key = ("distance", other.fingerprint, model.fingerprint, first, last)
        if known and kept.get(key) is None:
            return line
        rows = slice(first, last + 1)
        try:
            between = kept(
                key, lambda: shape_distance(other.W_pos[rows], model.W_pos[rows], check=check)
            )
            found = distances(between)
        except ValueError as error:  # one does not vary
            found = distances(None, str(error))
    return replace(line, scalars=(*line.scalars[: -len(DISTANCES)], *found))


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """The rows, in the order of the views."""

    lines: tuple[MeasuredRow, ...]


def turning_outcome(model: PositionalModel, row: Shown) -> Outcome:
    """Return whether the shown positions turn more evenly than random smooth curves do."""
    from geometry.evidence.turning_share import turning_in

    (first, last), last_component = row.positions, max(row.components)
    rows = model.W_pos[first : last + 1]
    pca = fit_pca(model.W_pos, row.positions, last_component)
    if len(rows) < FEWEST or last_component > len(pca.components):
        return "cannot tell"
    shown = [number - 1 for number in row.components]
    return turning_in(rows, pca.project(rows)[:, shown], row.components).outcome


KEPT = Recent(MAX_KEPT)
"""Results for models that were compared before."""


@dataclass(frozen=True, slots=True)
class ComparisonOf:
    """Scalars of several models."""

    rows: tuple[Shown, ...]  # All open models
    # Cache shared with other questions
    kept: Recent = field(default_factory=lambda: Recent(MAX_KEPT), compare=False, repr=False)

    def steps(self, context: QuestionContext) -> Iterator[Progress | Comparison]:
        """Measure one model after another, with partial results; known rows come first."""
        lines = [self._known(row) for row in self.rows]
        (reference,) = (line for line in lines if line.row.current)
        lines = [with_distance(line, reference, self.kept, known=True) for line in lines]
        pending = [at for at, line in enumerate(lines) if line.scalars is None]
        for done, at in enumerate(pending):
            row = self.rows[at]
            message = f"Measuring {row.name}"
            yield Progress(done / len(pending), message, Comparison(tuple(lines)))
            lines[at] = self._line(row, context)
        for at, line in enumerate(lines):
            message = f"Comparing the shape of {line.row.name}"
            yield Progress(at / len(lines), message, Comparison(tuple(lines)))
            lines[at] = with_distance(line, reference, self.kept, context.raise_if_cancelled)
        yield Comparison(tuple(lines))

    def _known(self, row: Shown) -> MeasuredRow:
        model = row.open_model
        if model is None:
            return MeasuredRow(row)
        key = (model.fingerprint, row.positions, row.components)
        scalars, turning = self.kept.get(key), self.kept.get(("turning", *key))
        if scalars is None or turning is None:
            return MeasuredRow(row)
        return MeasuredRow(row, of_one(scalars), outcomes={"turning_share": turning})

    def _line(self, row: Shown, context: QuestionContext) -> MeasuredRow:
        model = row.open_model
        if model is None:
            return MeasuredRow(row, why=FAILED if row.failed else READING)

        def find() -> tuple[Scalar, ...]:
            return scalar_results(
                model, row.positions, row.components, check=context.raise_if_cancelled
            )

        try:
            key = (model.fingerprint, row.positions, row.components)
            scalars = self.kept(key, find)
            context.raise_if_cancelled()
            turning = self.kept(("turning", *key), lambda: turning_outcome(model, row))
            return MeasuredRow(row, of_one(scalars), outcomes={"turning_share": turning})
        except Cancelled:
            raise
        except HelixscopeError as error:
            return MeasuredRow(row, why=str(error))
