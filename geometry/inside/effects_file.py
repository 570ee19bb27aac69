"""The file of the effects of changes, as ``helixscope intervene --out`` writes it."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.config import MAX_JSON, parse_json
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import open_regular, reading_file
from geometry.checkpoints.whole_files import whole_file, writing
from geometry.inside.intervene import Effect, Effects
from geometry.inside.settings import InsideError
from geometry.models.model import PositionalModel

AGAIN = "Measure the model again with `helixscope intervene`."


def write_effects(path: Path, effects: Effects) -> None:
    """Write effects as JSON; impossible ones are null.

    Raises
    ------
    HelixscopeError
        The file cannot be written.
    """
    content = {
        "fingerprint": effects.fingerprint,
        "baseline": effects.baseline,
        "windows": effects.windows,
        **({} if effects.layer is None else {"layer": effects.layer}),
        "changes": [
            {
                "name": effect.name,
                **{
                    name: None if math.isnan(value) else value
                    for name, value in (
                        ("delta", effect.delta),
                        ("low", effect.low),
                        ("high", effect.high),
                    )
                },
                **({"why_null": effect.why} if effect.why else {}),
                **({"attention": effect.attention} if effect.attention else {}),
                **({"by_window": effect.by_window} if effect.by_window else {}),
            }
            for effect in effects.effects
        ],
    }
    with writing(path, HelixscopeError), whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def read_effects(path: Path, model: PositionalModel) -> Effects:
    """Read the effects of changes of a model's positions, without the attention of heads.

    Raises
    ------
    HelixscopeError
        The file cannot be read, holds no effects, or holds those of another model.
    """
    with reading_file(path, AGAIN), open_regular(path) as file:
        content = file.read(MAX_JSON + 1)
    parsed = parse_json(path.name, content)
    try:
        effects = _effects(parsed)
    except (KeyError, TypeError, ValueError) as error:
        raise InsideError(
            f"{path.name} does not hold the effects of changes of positions.", AGAIN
        ) from error
    if not effects.fingerprint:
        raise InsideError(f"{path.name} does not tell which model was changed.", AGAIN)
    if effects.fingerprint != model.fingerprint:
        raise InsideError(f"{path.name} has the effects of another model than {model.name}.", AGAIN)
    return effects


def _effects(content: Mapping[str, Any]) -> Effects:
    """Return effects. Raises KeyError, TypeError or ValueError for JSON of another form."""
    windows, baseline, layer = content["windows"], content["baseline"], content.get("layer")
    whole = [windows] if layer is None else [windows, layer]
    if not all(type(count) is int and count >= 0 for count in whole):
        raise ValueError
    effects = tuple(_effect(change, windows) for change in content["changes"])
    loss = None if baseline is None else _number(baseline)
    return Effects(loss, effects, windows, layer, _text(content.get("fingerprint", "")))


def _effect(entry: object, windows: int) -> Effect:
    if not isinstance(entry, dict):
        raise TypeError
    by_window = tuple(map(_number, entry.get("by_window", ())))
    if len(by_window) not in (0, windows):
        raise ValueError
    why = _text(entry.get("why_null", ""))
    delta, low, high = (
        float("nan") if why else _number(entry[name]) for name in ("delta", "low", "high")
    )
    return Effect(_text(entry["name"]), delta, low, high, why, by_window=by_window)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
