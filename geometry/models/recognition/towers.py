"""The parts of a checkpoint with positions: by its configuration, or by names alone.

No tensor is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from geometry.checkpoints.config import first_int, flag
from geometry.checkpoints.stores import TensorInfo
from geometry.models.families.left_out import LEFT_OUT
from geometry.models.families.model_types import BESIDE, FAMILIES, PARTS, turned_stack
from geometry.models.families.stack import INSIDE, Stack
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.gguf_settings import (
    GGUF,
    HEADS,
    POSITIONS,
    STACKS,
    converting,
    of_file,
)
from geometry.models.recognition.names_and_shapes import (
    Index,
    Match,
    class_rows,
    endings,
    recognise,
)
from geometry.models.recognition.without_table import (
    ALIBI,
    RELATIVE,
    RELATIVE_IN_TWO,
    RELATIVE_TABLE,
    ROTARY,
    WITHOUT_TABLE,
    inside_attention,
    why_no_table,
)
from geometry.models.schemes.alibi import find_alibi
from geometry.models.schemes.lags import Lags, find_lags, find_windows
from geometry.models.schemes.relative_tables import find_relative_tables
from geometry.models.schemes.rotary import read_rotary

MOST_FIRST = 3
"""Rows before position 0 that families with a padding token have at most."""

LAGS: Mapping[str, Callable[[Index, Mapping[str, Any]], Iterable[Lags]]] = {
    ALIBI: lambda index, config: [find_alibi(index, config)],
    RELATIVE: find_lags,
    RELATIVE_TABLE: find_relative_tables,
    RELATIVE_IN_TWO: find_windows,
}
"""What finds the lags of a model, by the reason why it has no table."""

NOT_USED = "its table"
"""How the reason begins of a model whose table is stored and not added."""

PLACES = {"text_config": "text_model.", "vision_config": "vision_model.",
          "image_config": "image_model.", "backbone_config": "backbone."}  # fmt: skip
"""What the names of a part's tensors have in common, by the key of its configuration."""


def towers_of(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers with a table, best first, and the reason if there are none."""
    kind = config.get("model_type")
    if GGUF in config:
        if POSITIONS not in index:
            with converting():
                return _without_table(index, config)
        return [Architecture(str(kind), STACKS.get(str(kind)), "", POSITIONS, config)], ""
    if isinstance(kind, str) and kind in LEFT_OUT:
        return [], WITHOUT_TABLE.get(kind, "")
    if not isinstance(kind, str) or not kind:
        return _without_family(index, config)
    if kind in PARTS:
        return _parts(index, config, PARTS[kind])
    if kind in FAMILIES:
        if inside_attention(index, config):
            return _without_table(index, config)
        return _tables(index, config, kind, FAMILIES[kind])
    part, own = config.get("text_config"), first_int(config, ("hidden_size",))
    if isinstance(part, dict) and part.get("model_type") and own is None:
        found, reason = _parts(index, config, ("text_config",))  # of one for pictures and text
        return found + _pictures(index, config), reason
    inside, reason = _without_table(index, config)
    if inside and inside[0].turned is None and not inside[0].table:
        # None of the family's tensors is here: the configuration may be of another model.
        tables = recognised(index, config)
        if tables and tables[0].stack is not None and not tables[0].stack.patches:
            return _in_doubt(tables, why_no_table(index, config)), ""
    return inside, reason


def _in_doubt(tables: list[Architecture], why: str) -> list[Architecture]:
    """Return tables of a checkpoint whose settings or names are those of another scheme."""
    note = f"By its settings or other names {why}; {tables[0].table} is shown."
    return [replace(tables[0], notes=(*tables[0].notes, note)), *tables[1:]]


def _without_family(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers of a checkpoint without a ``model_type``: tables, and what acts inside."""
    tables, why = recognised(index, config), why_no_table(index, config)
    if tables and why not in ("", RELATIVE):
        return _in_doubt(tables, why), ""
    inside, reason = _without_table(index, config) if why else ([], "")
    # A bias of attention scores may stand beside a table, as in MPNet.
    return tables + inside, reason


def _without_table(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return what there is to see of a model without a table, or the reason why it has none."""
    reason = why_no_table(index, config)
    kind = config.get("model_type")
    family = kind if isinstance(kind, str) else None
    if reason in LAGS:
        towers, other = _by_lag(index, config, reason), ""
        if reason != ALIBI and kind in BESIDE:
            more, other = _tables(index, config, str(kind), (BESIDE[str(kind)],))
            towers += more
        return towers, "" if towers else other or reason
    if reason != ROTARY:
        return [], reason
    rotary = read_rotary(config)
    if GGUF in config:
        rotary = replace(rotary, note=of_file(rotary.note))
    stack = replace(INSIDE, causal=rotary.causal)
    turned = None
    rows = HEADS if GGUF in config else (turned_stack(family).for_config(config),)
    for heads in rows if rotary.alike else ():
        suffix = heads.query.format(layer=0)
        if names := endings(index, suffix):
            root = names[0].removesuffix(suffix)
            turned = Architecture(family, heads, root, "", config)
            break
    notes = () if turned is None else _query_norms(index)
    return [Architecture(family, stack, "", "", config, notes, rotary=rotary, turned=turned)], ""


def _by_lag(index: Index, config: Mapping[str, Any], reason: str) -> list[Architecture]:
    """Return what a model has for each lag or offset, as towers."""
    kind = config.get("model_type")
    family = kind if isinstance(kind, str) else None
    towers = []
    for one in LAGS[reason](index, config):
        stack = replace(INSIDE, side=one.side, causal=one.side == "decoder")
        table = "" if one.kind == "alibi" else one.tensor
        towers.append(Architecture(family, stack, "", table, config, lags=one, net=one.net))
    return towers


def _tables(
    index: Index, config: Mapping[str, Any], kind: str, stacks: Iterable[Stack]
) -> tuple[list[Architecture], str]:
    """Return the towers of a family with a table, and why there are none, if that is known."""
    towers, reason = [], ""
    for stack in stacks:
        tower = match_row(index, config, kind, stack)
        if tower is not None and stack.used_if and not flag_of(config, stack.used_if):
            reason = f"{NOT_USED} {tower.table} is stored, and {stack.used_if[0]} is not true"
        elif tower is not None:
            towers.append(tower)
    if kind == "mpnet":
        towers += _by_lag(index, config, RELATIVE)
    return towers, reason


def flag_of(config: Mapping[str, Any], setting: tuple[str, bool]) -> bool:
    """Return whether a setting is true, given as its key and usual value."""
    key, default = setting
    return flag(config, key, default=default)


def rows_of_family(config: Mapping[str, Any]) -> tuple[Stack, ...]:
    """Return the rows of a configuration's family, also of tables that it may not add."""
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return ()
    return (*FAMILIES.get(kind, ()), *filter(None, (BESIDE.get(kind),)))


def _parts(
    index: Index, config: Mapping[str, Any], keys: tuple[str, ...]
) -> tuple[list[Architecture], str]:
    found: list[Architecture] = []
    reasons: list[str] = []
    for key in keys:
        part = config.get(key)
        part = part if isinstance(part, dict) else {}
        word = PLACES.get(key, f"{key}.")
        inside = tuple(name for name in index if f".{word}" in f".{name}")
        # In many models for pictures the text's tensors have no such part in their names.
        others = tuple(index) if key in ("text_config", "vlm_config") else ()
        if key == "vision_config":
            others = tuple(name for name in index if "vision" in name)
        names = _Subset(index, inside or others)
        kind = str(config.get("model_type")).replace("-", "_")
        other = f"{kind}_{key.removesuffix('_config')}_model" if key.endswith("_config") else None
        settings = {"model_type": other, **part}
        towers, reason = towers_of(names, settings)
        found += towers
        reasons.append(reason)
    return found, "" if found else reasons[0]


def _pictures(index: Index, config: Mapping[str, Any]) -> list[Architecture]:
    """Return the tower for pictures of a model that reads text as well, if it has a table."""
    part = config.get("vision_config")
    kind = part.get("model_type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in FAMILIES or not FAMILIES[kind][0].patches:
        return []
    return _parts(index, config, ("vision_config",))[0]


class _Subset(Mapping[str, TensorInfo]):
    """Some tensors of an index whose shapes may be read lazily."""

    def __init__(self, index: Index, names: tuple[str, ...]) -> None:
        self._index = index
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> TensorInfo:
        if name not in self._names:
            raise KeyError(name)
        return self._index[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def match_row(
    index: Index, config: Mapping[str, Any], family: str, stack: Stack
) -> Architecture | None:
    """Find a row of the family table in the index; None if its table is missing."""
    stack = stack.for_config(config)
    if stack.positions:
        for name in endings(index, stack.positions, vision=stack.side == "vision"):
            return Architecture(family, stack, name.removesuffix(stack.positions), name, config)
    if stack.computed is None:
        return None
    for suffix in (stack.query.format(layer=0), *stack.tokens):
        for name in endings(index, suffix):
            return Architecture(family, stack, name.removesuffix(suffix), "", config)
    return None


def recognised(
    index: Index, config: Mapping[str, Any], table: str | None = None
) -> list[Architecture]:
    """Return the towers of a checkpoint without a ``model_type``, by the names of its tensors."""
    towers: list[Architecture] = []
    for families in recognise(index, config, table):
        for match in families[0]:
            other = (one for family in families for one in family if one.table == match.table)
            towers.append(_of_match(index, config, match, list(other)))
    if len(towers) < 2:
        return towers
    rest = ", ".join(tower.table for tower in towers[1:])
    note = f"The checkpoint has two parts with positions: the other table is {rest}."
    return [replace(towers[0], notes=(*towers[0].notes, note)), *towers[1:]]


_QUERY_NORMS = re.compile(r"(^|[._])(q_?norm|q_?ln|q_layernorm|qk_?norm|query_norm)([._]|$)")
"""Parts of the names of norms that queries and keys pass in some models."""


def _of_match(
    index: Index, config: Mapping[str, Any], match: Match, matches: list[Match]
) -> Architecture:
    """Return the location of a table, with all readings where families differ in position 0."""
    readings: dict[int, Architecture] = {}
    for one in (match, *matches):
        notes = _assumptions(one, matches, config)
        place = Architecture(one.kind, one.stack, one.root, one.table, config, notes)
        for reading in _readings(place, index):
            readings.setdefault(reading.row_of_position_0, reading)
    norms = _query_norms(index)
    readings = {
        first: replace(place, notes=(*place.notes, *norms)) for first, place in readings.items()
    }
    places = tuple(readings.values())
    return replace(places[0], readings=places) if len(places) > 1 else places[0]


def _query_norms(index: Index) -> tuple[str, ...]:
    """Return a sentence about norms of queries and keys, if there are any."""
    if not any(_QUERY_NORMS.search(name) for name in index):
        return ()
    return ("Its queries and keys pass norms, which are not part of what is shown of attention.",)


def _readings(place: Architecture, index: Index) -> Iterator[Architecture]:
    """Yield a location of a known family with each row that may be position 0."""
    stack = place.stack
    assert stack is not None
    if stack.rows_after is not None:
        last = index[place.root + stack.marks[-1]]
        yield replace(place, config={**place.config, stack.rows_after[0]: last.shape[-2]})
    elif stack.patches:
        own = place.row_of_position_0
        patches = None if place.picture is None else math.prod(place.picture)
        counted = class_rows(index, place.table, patches)
        # A family with class rows but without class tokens is in doubt.
        for first in counted if counted != (0,) else sorted({0, own}):
            yield place if first == own else replace(place, cut=slice(first, None))
    elif stack.row_of_position_0 is None and "pad_token_id" not in place.config:
        for padding in dict.fromkeys((stack.padding, *range(MOST_FIRST - 1))):
            yield replace(place, config={**place.config, "pad_token_id": padding})
    else:
        yield place


def _assumptions(match: Match, matches: list[Match], config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is assumed of a family that is known by names only."""
    own = config.get("model_type")
    why = "No model_type in a config.json" if not own else f"The architecture {own!r} is unknown"
    note = f"{why}: assumed to be {match.kind} from its tensor names"
    if others := [one.kind for one in matches if one.kind != match.kind]:
        note += f", shared by {', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
    keys = dict.fromkeys(key for one in (match, *matches) for key in one.stack.settings)
    if any(one.stack.fused != match.stack.fused for one in matches):
        keys["multi_query"] = None
    if any(one.stack.causal != match.stack.causal for one in matches):
        keys[f"is_causal = {str(match.stack.causal).lower()}"] = None
    assumed = [key for key in keys if key not in config]
    return (f"{note}; usual settings assumed: {', '.join(assumed)}." if assumed else f"{note}.",)
