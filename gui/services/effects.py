"""The question of effects: a table that can be changed, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.errors import (
    FileChanged,
    HelixscopeError,
    RangeError,
    TensorUnavailable,
)
from geometry.inside import intervene
from geometry.inside.interventions import (
    LEAST_POSITIONS,
    MOST_COMPONENTS,
    USUAL,
    Table,
    helix_factors,
)
from geometry.inside.worker import run_in_subprocess
from geometry.models.sources.layer_tables import LayerStore
from gui.services.questions import Progress, QuestionContext

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from geometry.pca.components import Array


@dataclass(frozen=True, slots=True)
class EffectsRun:
    """Settings of a measurement.

    Attributes
    ----------
    texts
        "sample", a text file, or a folder.
    length, windows
        Tokens of a window, and the number of windows.
    heads
        Whether to measure how each head's attention changes.
    more
        Changes beside the usual ones.
    attempt
        Counts the user's requests, so that a failed measurement is tried again.
    """

    texts: str
    length: int
    windows: int
    heads: bool = False
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
    delta, low, high, why, attention, by_window
        As in :class:`geometry.inside.intervene.Effect`.
    """

    delta: float
    low: float
    high: float
    why: str = ""
    attention: tuple[tuple[float, ...], ...] = ()
    by_window: tuple[float, ...] = ()


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
        By the change's name; of the windows done so far.
    baseline
        Loss in nats per token without a change; None for an encoder.
    windows
        Number of windows done.
    layer
        Of the residual stream, where pos is changed; None for the table of positions.
    failure
        Why the measurement failed, with advice; else "".
    """

    table: Table
    run: EffectsRun | None = None
    found: Mapping[str, Measured] = field(default_factory=dict)
    baseline: float | None = None
    windows: int = 0
    layer: int | None = None
    failure: str = ""

    @property
    def most(self) -> int:
        """The largest number of components to keep."""
        return min(MOST_COMPONENTS, len(self.shares) - 1)

    @property
    def shares(self) -> Array:
        """(k + 1,): the share of the table's variance in its first components, from none on."""
        energies = np.square(self.table.components()[1]).sum(axis=0)
        total = float(energies.sum()) or 1.0
        return np.concatenate([[0.0], np.cumsum(energies) / total])

    def without_table(self) -> intervene.Effects:
        """Return what was measured, for claims about it."""
        effects = tuple(
            intervene.Effect(name, one.delta, one.low, one.high, one.why, by_window=one.by_window)
            for name, one in self.found.items()
        )
        return intervene.Effects(self.baseline, effects, self.windows, self.layer)


@dataclass(frozen=True, slots=True)
class EffectsOf:
    """The changes of the open model's table, and the effects that a measurement finds."""

    length: int
    run: EffectsRun | None

    def steps(self, about: QuestionContext) -> Iterator[Progress | Effects]:
        """Yield the :class:`Effects`; first without any, then as they are measured."""
        model = about.model
        if why := model.no_table:
            raise TensorUnavailable(f"No positions can be changed: {why}.")
        if model.n_positions < LEAST_POSITIONS:
            raise RangeError(
                f"Changes need at least {LEAST_POSITIONS} positions; there are {model.n_positions}."
            )
        nothing = about.cache(("changes", self.length), lambda: _unmeasured(model, self.length))
        if self.run is None:
            yield nothing
            return
        # With a helix of one's own, only that is missing.
        known: dict[str, Measured] = about.cache(
            ("effects", replace(self.run, more=(), attempt=0)), dict
        )
        yield from _measure(model, nothing, self.run, known)


def _unmeasured(model: PositionalModel, length: int) -> Effects:
    layer = model.store.layer if isinstance(model.store, LayerStore) else None
    table = intervene.table_of(model, length)
    table.components()  # kept, so that a slider does not wait for them
    return Effects(table, layer=layer)


def _measure(
    model: PositionalModel, nothing: Effects, run: EffectsRun, known: dict[str, Measured]
) -> Iterator[Progress | Effects]:
    store, so_far = model.store, replace(nothing, run=run, found=dict(known))
    telling = run_in_subprocess(
        "effects",
        source=store.tables.source if isinstance(store, LayerStore) else model.source,
        table=model.table_choice,
        layer=model.source if isinstance(store, LayerStore) else None,
        fingerprint=model.fingerprint,
        texts=run.texts,
        changes=[name for name in run.changes if name not in known],
        length=run.length,
        texts_at_most=run.windows,
        attention=run.heads,
    )
    try:
        with closing(telling):
            while True:
                told = next(telling)
                if told.found is not None:
                    so_far = _with(so_far, told.found)
                yield Progress(told.done / max(told.total, 1), named(told.what), so_far)
    except StopIteration as end:
        so_far = _with(so_far, end.value)
        known.update(so_far.found)
        yield so_far
    except FileChanged:
        raise
    except HelixscopeError as error:
        yield replace(so_far, failure=f"{error} {error.advice}".strip())


def _with(so_far: Effects, result: Mapping[str, Any]) -> Effects:
    """Return the effects with a result, as JSON has it."""
    found = dict(so_far.found)
    for one in result["effects"]:
        attention = tuple(map(tuple, one["attention"]))
        numbers = (one["delta"], one["low"], one["high"])
        by_window = tuple(one["by_window"])
        found[one["name"]] = Measured(*numbers, one["why"], attention, by_window)
    return replace(so_far, found=found, baseline=result["baseline"], windows=result["windows"])


# ---- words -----------------------------------------------------------------------------------

_NAMES = {
    "top 0": "no positions: their mean everywhere",
    "top 1": "only the first component",
    "fitted helix": "the fitted helix, and nothing else",
    "equal norms": "all rows of equal norm",
    "scrambled norms": "norms varying by a third",
    "random turn": "turned by a random rotation",
    "into E": "turned into the tokens’ directions",
    "stretched": "stretched to twice the length",
    "without position 0": "position 0 like position 1",
}


def named(change: str) -> str:
    """Describe a change in words."""
    if change in _NAMES:
        return _NAMES[change]
    number = kept(change)
    if number is not None:
        return f"only the first {number} components"
    what, _, rest = change.partition(" ")
    if what == "without":
        return f"without components {rest.replace('-', '–')}"
    if what == "blocks":
        return f"{change.partition('of ')[2]} neighbours averaged"
    if what == "shift":
        return f"{rest} position{'' if rest == '1' else 's'} later"
    factors = helix_factors(change)
    if factors is not None:
        return "the fitted helix, {:g} × radius, {:g} × pitch".format(*factors)
    return change


def kept(change: str) -> int | None:
    """Return how many components a change keeps; None if that is not what it does."""
    name, _, number = change.partition(" ")
    return int(number) if name == "top" else None
