"""The file of the effects of changes, as ``helixscope intervene --out`` writes it."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, convert

from geometry.checkpoints.config import MAX_JSON, parse_json
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import open_regular, reading_file
from geometry.checkpoints.whole_files import write_json
from geometry.inside.effects import Control, Effect, Effects
from geometry.inside.settings import InsideError
from geometry.inside.windows import Corpus
from geometry.models.model import PositionalModel

AGAIN = "Measure the model again with `helixscope intervene`."


def write_effects(path: Path, effects: Effects) -> None:
    """Write effects as JSON; impossible ones are null.

    Raises HelixscopeError: the file cannot be written.
    """
    content = {
        "fingerprint": effects.fingerprint,
        "baseline": effects.baseline,
        "windows": effects.windows,
        **_given(layer=effects.layer, seed=effects.seed, corpus=effects.corpus),
        **_given(files=effects.files, intervals=_resampled(effects)),
        "changes": [_change(effect) for effect in effects.effects],
    }
    write_json(content, path, HelixscopeError, indent=1)


def _resampled(effects: Effects) -> str:
    """Return what intervals are over."""
    if not effects.files:
        return ""
    return "files" if effects.resampling.by_file else "windows"


def _change(effect: Effect) -> dict[str, Any]:
    nearest = effect.nearest
    return {
        "name": effect.name,
        **_numbers(effect),
        **_given(why_null=effect.why, length=effect.length, draws=effect.draws),
        **({} if nearest is None else {"control": _control(nearest)}),
        **({} if nearest is None else {"difference": _difference(nearest)}),
        **_given(controls=[_control(one, whole=True) for one in effect.controls]),
        **_given(attention=effect.attention, by_window=effect.by_window),
    }


def _control(control: Control, *, whole: bool = False) -> dict[str, Any]:
    content = {"name": control.name, **_numbers(control), "seeds": control.draws}
    if not whole:
        return content
    more = _given(attention=control.attention, by_window=control.by_window)
    return {**content, "difference": _difference(control), **more}


def _difference(control: Control) -> dict[str, float | None]:
    return dict(zip(("value", "low", "high"), map(_or_null, control.difference), strict=True))


def _numbers(of: Effect | Control) -> dict[str, float | None]:
    numbers = {name: _or_null(getattr(of, name)) for name in ("delta", "low", "high")}
    return {**numbers, **_given(displacement=of.displacement)}


def _given(**values: Any) -> dict[str, Any]:
    """Return what is given: neither None nor empty."""
    return {
        name: asdict(value) if isinstance(value, Corpus) else value
        for name, value in values.items()
        if value is not None and value not in ("", (), [])
    }


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def read_effects(path: Path, model: PositionalModel) -> Effects:
    """Read the effects of changes of a model's positions, without the attention of heads.

    Raises HelixscopeError: the file cannot be read, holds no effects, or holds those of another
    model.
    """
    with reading_file(path, AGAIN), open_regular(path) as file:
        content = file.read(MAX_JSON + 1)
    parsed = parse_json(path.name, content)
    try:
        effects = _effects(parsed)
    except ValueError as error:
        raise InsideError(
            f"{path.name} does not hold the effects of changes of positions.", AGAIN
        ) from error
    if not effects.fingerprint:
        raise InsideError(f"{path.name} does not tell which model was changed.", AGAIN)
    if effects.fingerprint != model.fingerprint:
        raise InsideError(f"{path.name} has the effects of another model than {model.name}.", AGAIN)
    return effects


_Number = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
_Count = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class _Difference:
    value: _Number | None = None
    low: _Number | None = None
    high: _Number | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    name: str
    delta: _Number | None = None
    low: _Number | None = None
    high: _Number | None = None
    displacement: _Number | None = None
    by_window: tuple[_Number, ...] = ()


@dataclass(frozen=True, slots=True)
class _Control(_Measured):
    seeds: _Count = 1
    difference: _Difference = _Difference()

    def control(self) -> Control:
        beyond = self.difference
        return Control(
            self.name,
            _or_nan(self.delta),
            _or_nan(self.low),
            _or_nan(self.high),
            (_or_nan(beyond.value), _or_nan(beyond.low), _or_nan(beyond.high)),
            self.displacement,
            self.seeds,
            by_window=self.by_window,
        )


@dataclass(frozen=True, slots=True)
class _Change(_Measured):
    why_null: str = ""
    draws: _Count = 1
    length: _Count | None = None
    controls: tuple[_Control, ...] = ()

    def effect(self) -> Effect:
        if not self.why_null and None in (self.delta, self.low, self.high):
            raise ValueError
        return Effect(
            self.name,
            _or_nan(self.delta),
            _or_nan(self.low),
            _or_nan(self.high),
            self.why_null,
            (),
            self.by_window,
            self.displacement,
            self.draws,
            self.length,
            tuple(one.control() for one in self.controls),
        )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


@dataclass(frozen=True, slots=True)
class _File:
    windows: _Count
    baseline: _Number | None
    changes: tuple[_Change, ...]
    layer: _Count | None = None
    fingerprint: str = ""
    files: tuple[str, ...] = ()
    corpus: Corpus | None = None
    seed: _Count | None = None


def _effects(content: Mapping[str, Any]) -> Effects:
    """Return effects. Raises ValueError for JSON of another form."""
    file = convert(content, _File)
    measured = [one for change in file.changes for one in (change, *change.controls)]
    counts = {len(file.files), *(len(one.by_window) for one in measured)}
    if not counts <= {0, file.windows}:
        raise ValueError
    return Effects(
        file.baseline,
        tuple(change.effect() for change in file.changes),
        file.windows,
        file.layer,
        file.fingerprint,
        file.files,
        file.corpus,
        file.seed,
    )
