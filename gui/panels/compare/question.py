"""The question of the compare panel: scalars of the open and the compared models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.memo import Recent
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.scalar_results import Scalar, scalar_results
from geometry.evidence.null import Outcome
from geometry.measures.roughness import FEWEST
from geometry.pca.pca import fit_pca
from gui.panels.kit.views import Shown
from gui.services.questions import Progress, QuestionContext

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

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
        pending = [at for at, line in enumerate(lines) if line.scalars is None]
        for done, at in enumerate(pending):
            row = self.rows[at]
            message = f"Measuring {row.name}"
            yield Progress(done / len(pending), message, Comparison(tuple(lines)))
            lines[at] = self._line(row, context)
        yield Comparison(tuple(lines))

    def _known(self, row: Shown) -> MeasuredRow:
        model = row.open_model
        if model is None:
            return MeasuredRow(row)
        key = (model.fingerprint, row.positions, row.components)
        scalars, turning = self.kept.get(key), self.kept.get(("turning", *key))
        if scalars is None or turning is None:
            return MeasuredRow(row)
        return MeasuredRow(row, scalars, outcomes={"turning_share": turning})

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
            return MeasuredRow(row, scalars, outcomes={"turning_share": turning})
        except Cancelled:
            raise
        except HelixscopeError as error:
            return MeasuredRow(row, why=str(error))
