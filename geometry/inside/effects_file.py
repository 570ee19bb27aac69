"""The file of the effects of changes, as ``helixscope intervene --out`` writes it."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, convert

from geometry.checkpoints.config import MAX_JSON, parse_json
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import open_regular, reading_file
from geometry.checkpoints.whole_files import write_json
from geometry.inside.intervene import Effect, Effects
from geometry.inside.settings import InsideError
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
        **({} if effects.layer is None else {"layer": effects.layer}),
        "changes": [
            {
                "name": effect.name,
                "delta": _or_null(effect.delta),
                "low": _or_null(effect.low),
                "high": _or_null(effect.high),
                **({"why_null": effect.why} if effect.why else {}),
                **({"attention": effect.attention} if effect.attention else {}),
                **({"by_window": effect.by_window} if effect.by_window else {}),
            }
            for effect in effects.effects
        ],
    }
    write_json(content, path, HelixscopeError, indent=1)


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
class _Change:
    name: str
    delta: _Number | None = None
    low: _Number | None = None
    high: _Number | None = None
    why_null: str = ""
    by_window: tuple[_Number, ...] = ()

    def effect(self) -> Effect:
        numbers = [math.nan if self.why_null else n for n in (self.delta, self.low, self.high)]
        delta, low, high = convert(numbers, list[float])
        return Effect(self.name, delta, low, high, self.why_null, by_window=self.by_window)


@dataclass(frozen=True, slots=True)
class _File:
    windows: _Count
    baseline: _Number | None
    changes: tuple[_Change, ...]
    layer: _Count | None = None
    fingerprint: str = ""


def _effects(content: Mapping[str, Any]) -> Effects:
    """Return effects. Raises ValueError for JSON of another form."""
    file = convert(content, _File)
    if not all(len(change.by_window) in (0, file.windows) for change in file.changes):
        raise ValueError
    effects = tuple(change.effect() for change in file.changes)
    return Effects(file.baseline, effects, file.windows, file.layer, file.fingerprint)
