"""The question of effects: a table that can be changed, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.errors import (
    FileChanged,
    HelixscopeError,
    RangeError,
    TensorUnavailable,
)
from geometry.inside.effects import Effect, Effects
from geometry.inside.intervene import table_of
from geometry.inside.interventions import (
    MAX_COMPONENTS,
    MIN_POSITIONS,
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
    """Settings of a measurement."""

    texts: str  # "sample", a text file, or a folder
    # Tokens of a window, and the number of windows
    length: int
    windows: int
    heads: bool = False  # Whether to measure how each head's attention changes
    more: tuple[str, ...] = ()  # Changes beside the usual ones
    attempt: int = 0  # Counts the user's requests, so that a failed measurement is tried again

    @property
    def changes(self) -> tuple[str, ...]:
        """All changes, by name."""
        return (*USUAL, *(name for name in self.more if name not in USUAL))


@dataclass(frozen=True, eq=False, slots=True)
class EffectsResult:
    """A table that can be changed, and what is known of the effects."""

    table: Table  # The model's
    effects: Effects  # Of the windows done so far; none before a measurement
    run: EffectsRun | None = None  # What was measured; None before a measurement
    failure: str = ""  # Why the measurement failed, with advice; else ""

    @property
    def most(self) -> int:
        """The largest number of components to keep."""
        return min(MAX_COMPONENTS, len(self.shares) - 1)

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

    def steps(self, about: QuestionContext) -> Iterator[Progress | EffectsResult]:
        """Yield the :class:`EffectsResult`; first without any, then as they are measured."""
        model = about.model
        if why := model.no_table:
            raise TensorUnavailable(f"No positions can be changed: {why}.")
        if model.n_positions < MIN_POSITIONS:
            raise RangeError(
                f"Changes need at least {MIN_POSITIONS} positions; there are {model.n_positions}."
            )
        nothing = about.cache(("changes", self.length), lambda: _unmeasured(model, self.length))
        if self.run is None:
            yield nothing
            return
        # With a helix of one's own, only that is missing.
        known: dict[str, Effect] = about.cache(
            ("effects", replace(self.run, more=(), attempt=0)), dict
        )
        yield from _measure(model, nothing, self.run, known)


def _unmeasured(model: PositionalModel, length: int) -> EffectsResult:
    layer = model.store.layer if isinstance(model.store, LayerStore) else None
    table = table_of(model, length)
    table.components()  # kept, so that a slider does not wait for them
    return EffectsResult(table, Effects(None, (), 0, layer))


def _measure(
    model: PositionalModel, nothing: EffectsResult, run: EffectsRun, known: dict[str, Effect]
) -> Iterator[Progress | EffectsResult]:
    effects = replace(nothing.effects, effects=tuple(known.values()))
    store, so_far = model.store, replace(nothing, run=run, effects=effects)
    telling = run_in_subprocess(
        "effects",
        source=store.tables.source if isinstance(store, LayerStore) else model.source.text,
        table=model.table_choice,
        layer=model.source.text if isinstance(store, LayerStore) else None,
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
        known.update((effect.name, effect) for effect in so_far.effects.effects)
        yield so_far
    except FileChanged:
        raise
    except HelixscopeError as error:
        yield replace(so_far, failure=f"{error} {error.advice}".strip())


def _with(so_far: EffectsResult, content: Mapping[str, Any]) -> EffectsResult:
    """Return the result with further effects, as JSON has them."""
    more = Effects.from_json(content)
    by_name = {effect.name: effect for effect in (*so_far.effects.effects, *more.effects)}
    return replace(so_far, effects=replace(more, effects=tuple(by_name.values())))


# ---- words -----------------------------------------------------------------------------------

_NAMES = {
    "top 0": "no positions: their mean everywhere",
    "top 1": "only the first component",
    "fitted helix": "the fitted helix, and nothing else",
    "polynomial as close": "a polynomial as close as the helix",
    "cosines as close": "cosines as close as the helix",
    "random directions": "as far, in random directions",
    "same directions": "as far, in the same directions",
    "same directions by row": "as far, each row by itself",
    "norms kept": "as far, norms kept",
    "norms kept by row": "as far, norms kept, each row by itself",
    "equal norms": "all rows of equal norm",
    "scrambled norms": "norms varying by a third",
    "smooth norms": "norms varying as much, smoothly",
    "random turn": "turned by a random rotation",
    "into E": "turned into the tokens’ directions",
    "stretched": "stretched to twice the length",
    "without position 0": "position 0 like position 1",
}


def named(change: str) -> str:
    """Describe a change or a control in words."""
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
    if what == "polynomial":
        return f"a polynomial of degree {rest}"
    if what == "cosines":
        return f"cosines of up to {rest} half periods"
    if what == "shift":
        return f"{rest} position{'' if rest == '1' else 's'} later"
    factors = helix_factors(change)
    if factors is not None:
        return "the fitted helix, {:g} × radius, {:g} × pitch".format(*factors)
    return change


def over(effects: Effects) -> str:
    """Return what intervals are over."""
    if not effects.files:
        return "texts"
    n = effects.resampling.n_files
    files = f"{n} file{'s' * (n != 1)}"
    return files if effects.resampling.by_file else f"windows of {files}, too few to resample"


def kept(change: str) -> int | None:
    """Return how many components a change keeps; None if that is not what it does."""
    name, _, number = change.partition(" ")
    return int(number) if name == "top" else None
