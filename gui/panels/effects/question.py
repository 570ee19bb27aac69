"""The question of the panel of effects: a table that can be changed, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError, RangeError
from geometry.emergent.interventions import LEAST_POSITIONS, USUAL, Table
from geometry.emergent.worker import apart
from gui.services.questions import Progress, QuestionContext

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from geometry.pca.components import Array

SPARE = 16
"""Positions beyond a window by default, so that it can be shifted."""
LONGEST = 512
"""Tokens of a window by default, at most."""


@dataclass(frozen=True, slots=True)
class EffectsRun:
    """Settings of a measurement.

    Attributes
    ----------
    texts
        "sample", a text file, or a folder.
    length, windows
        Tokens of a window, and the number of windows.
    more
        Changes beside the usual ones.
    attempt
        Counts the user's requests, so that a failed measurement is tried again.
    """

    texts: str
    length: int
    windows: int
    more: tuple[str, ...] = ()
    attempt: int = 0

    @property
    def changes(self) -> tuple[str, ...]:
        """All changes, by name."""
        return (*USUAL, *(name for name in self.more if name not in USUAL))


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """What a change costs.

    Attributes
    ----------
    delta, low, high
        As in :class:`geometry.emergent.intervene.Effect`; NaN if impossible.
    why
        Why it is impossible; else "".
    """

    delta: float
    low: float
    high: float
    why: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Effects:
    """A table that can be changed, and what is known of the effects.

    Attributes
    ----------
    table
        The model's.
    run
        What was measured; None before a measurement.
    found
        By the change's name; complete once the measurement is.
    baseline
        Loss in nats per token without a change; None for an encoder, and until it is known.
    complete
        Whether all effects are there.
    failure
        Why the measurement failed, with advice; else "".
    """

    table: Table
    run: EffectsRun | None = None
    found: Mapping[str, Measured] = field(default_factory=dict)
    baseline: float | None = None
    complete: bool = False
    failure: str = ""

    @property
    def shares(self) -> Array:
        """(k + 1,): the share of the table's variance in its first components, from none on."""
        energies = np.square(self.table.components()[1]).sum(axis=0)
        total = float(energies.sum()) or 1.0
        return np.concatenate([[0.0], np.cumsum(energies) / total])


@dataclass(frozen=True, slots=True)
class EffectsOf:
    """The changes of the open model's table, and the effects that a measurement finds."""

    length: int
    run: EffectsRun | None

    def steps(self, about: QuestionContext) -> Iterator[Progress | Effects]:
        """Yield the :class:`Effects`; first without any, then as they are measured."""
        model = about.model
        if model.n_positions < LEAST_POSITIONS:
            raise RangeError(
                f"Changes need at least {LEAST_POSITIONS} positions; there are {model.n_positions}."
            )
        table = about.once(("changes", self.length), lambda: Table(model.W_pos, self.length))
        table.components()  # kept, so that a slider does not wait for them
        if self.run is None:
            yield Effects(table)
            return
        # What an interrupted measurement has found counts as well.
        known: dict[str, Measured] = about.once(("effects", _without_more(self.run)), dict)
        yield from _measure(model, table, self.run, known)


def _measure(
    model: PositionalModel, table: Table, run: EffectsRun, known: dict[str, Measured]
) -> Iterator[Progress | Effects]:
    missing = [name for name in run.changes if name not in known]
    telling = apart(
        "effects",
        source=model.source,
        fingerprint=model.fingerprint,
        texts=run.texts,
        changes=missing,
        length=run.length,
        texts_at_most=run.windows,
    )
    try:
        with closing(telling):
            while True:
                told = next(telling)
                if told.found is not None:
                    known[told.found["name"]] = _measured(told.found)
                so_far = Effects(table, run, dict(known))
                yield Progress(told.done / max(told.total, 1), told.what, so_far)
    except StopIteration as end:
        result = end.value
        yield Effects(table, run, dict(known), result["baseline"], complete=True)
    except FileChanged:
        raise
    except HelixscopeError as error:
        why = f"{error} {error.advice}".strip()
        yield Effects(table, run, dict(known), failure=why)


def _measured(found: Mapping[str, float | str]) -> Measured:
    return Measured(*(found[name] for name in ("delta", "low", "high", "why")))  # type: ignore[arg-type]


def _without_more(run: EffectsRun) -> EffectsRun:
    return EffectsRun(run.texts, run.length, run.windows)


def usual_length(n_positions: int) -> int:
    """Return the tokens of a window for a table, at first."""
    return min(max(n_positions - SPARE, LEAST_POSITIONS), LONGEST)
