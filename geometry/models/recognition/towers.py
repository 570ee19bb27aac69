"""The parts of a checkpoint with positions, by its configuration or by names alone.

No tensor is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from geometry.checkpoints.config import first_int, flag
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stores import TensorInfo
from geometry.models.families.code_families import TURNED_CODES
from geometry.models.families.left_out import LEFT_OUT
from geometry.models.families.model_types import BESIDE, FAMILIES, PARTS, turned_stack
from geometry.models.families.stack import INSIDE, Stack, in_layer
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.code_settings import with_usual_names
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
    by_names,
    inside_attention,
    why_no_table,
)
from geometry.models.schemes.alibi import find_alibi
from geometry.models.schemes.lags import Lags, find_lags, find_windows
from geometry.models.schemes.relative_tables import find_relative_tables
from geometry.models.schemes.rotary import read_rotary

MAX_FIRST_ROWS = 3
"""Maximum number of rows before position 0 in families with a padding token."""

LAGS: Mapping[str, Callable[[Index, Mapping[str, Any]], Iterable[Lags]]] = {
    ALIBI: lambda index, config: [find_alibi(index, config)],
    RELATIVE: find_lags,
    RELATIVE_TABLE: find_relative_tables,
    RELATIVE_IN_TWO: find_windows,
}
"""Functions that find the lags of a model, by the reason why it has no table."""

NOT_USED = "its table"
"""Beginning of the reason for a model whose table is stored and not added."""

PLACES = {
    "text_config": "text_model.",
    "vision_config": "vision_model.",
    "image_config": "image_model.",
    "backbone_config": "backbone.",
}
"""Common part of the names of a part's tensors, by the key of its configuration."""


def towers_of(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers with a table, best first, and the reason if there are none."""
    kind = config.get("model_type")
    if GGUF in config:
        return _of_gguf(index, config)
    if isinstance(kind, str) and kind in LEFT_OUT:
        return [], WITHOUT_TABLE.get(kind) or by_names(index)
    if not isinstance(kind, str) or not kind:
        return _without_family(index, config)
    if kind in PARTS:
        return _parts(index, config, PARTS[kind])
    if kind in FAMILIES:
        if inside_attention(index, config):
            return _without_table(index, config)
        towers, reason = _tables(index, config, kind, FAMILIES[kind])
        if towers or reason or not why_no_table(index, config):
            return towers, reason
        return _without_table(index, config)  # another code has this name, and another scheme
    part, own = config.get("text_config"), first_int(config, ("hidden_size",))
    if isinstance(part, dict) and part.get("model_type") and own is None:
        towers, reason = _parts(index, config, ("text_config",))  # of a model for pictures and text
        return towers + _pictures(index, config), reason
    inside, reason = _without_table(index, config)
    if inside and inside[0].turned is None and not inside[0].table:
        # None of the family's tensors is present: the configuration may be of another model.
        tables = recognised(index, config)
        if tables and tables[0].stack is not None and not tables[0].stack.patches:
            return _in_doubt(tables, why_no_table(index, config)), ""
    return inside, reason


def _of_gguf(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers of a GGUF file, or the reason why it has no table."""
    kind = str(config.get("model_type"))
    stack = STACKS.get(kind)
    table = POSITIONS if stack is None else stack.positions
    if table not in index:
        with converting():
            return _without_table(index, config)
    place = Architecture(kind, stack, "", table, config)
    if stack is None or not stack.patches:
        return [place], ""
    readings = tuple(readings_of(place, index))
    return [replace(readings[0], readings=readings) if len(readings) > 1 else readings[0]], ""


def _in_doubt(tables: list[Architecture], why: str) -> list[Architecture]:
    """Return tables of a checkpoint whose settings or names indicate another scheme."""
    note = f"By its settings or other names {why}; {tables[0].table} is shown."
    return [replace(tables[0], notes=(*tables[0].notes, note)), *tables[1:]]


def _without_family(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers of a checkpoint without a ``model_type``, with or without a table."""
    tables, why = recognised(index, config), why_no_table(index, config)
    if tables and why not in ("", RELATIVE, RELATIVE_TABLE):
        return _in_doubt(tables, why), ""
    inside, reason = _without_table(index, config) if why or not tables else ([], "")
    # There may be both: a bias of attention scores and a table, as in MPNet, or vectors by distance
    # and a table that is not added, as in BERT under relative keys.
    return inside + tables if why == RELATIVE_TABLE else tables + inside, reason


def _without_table(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers of a model without a table, or the reason why it has none."""
    reason = why_no_table(index, config)
    kind = config.get("model_type")
    family = kind if isinstance(kind, str) else None
    if reason in LAGS:
        towers, reason_beside = _by_lag(index, config, reason), ""
        if reason != ALIBI and kind in BESIDE:
            more, reason_beside = _tables(index, config, str(kind), (BESIDE[str(kind)],))
            towers += more
        return towers, "" if towers else reason_beside or reason
    if reason != ROTARY:
        return [], reason or by_names(index)
    rotary = read_rotary(config)
    if GGUF in config:
        rotary = replace(rotary, note=of_file(rotary.note))
    stack = replace(INSIDE, causal=rotary.causal)
    turned = None
    rows = HEADS if GGUF in config else (turned_stack(family).for_config(config),)
    if family is None:
        rows = (*rows, *TURNED_CODES)
    for heads in rows if rotary.alike else ():
        suffix = in_layer(heads.query, 0)
        if names := endings(index, suffix):
            root = names[0].removesuffix(suffix)
            turned = Architecture(family, heads, root, "", config)
            break
    notes = () if turned is None else _query_norms(index)
    return [Architecture(family, stack, "", "", config, notes, rotary=rotary, turned=turned)], ""


def _by_lag(index: Index, config: Mapping[str, Any], reason: str) -> list[Architecture]:
    """Return the biases or vectors of a model by lag or offset, as towers."""
    kind = config.get("model_type")
    family = kind if isinstance(kind, str) else None
    towers = []
    for lags in LAGS[reason](index, config):
        stack = replace(INSIDE, side=lags.side, causal=lags.side == "decoder")
        table = "" if lags.kind == "alibi" else lags.tensor
        towers.append(Architecture(family, stack, "", table, config, lags=lags, net=lags.net))
    return towers


def _tables(
    index: Index, config: Mapping[str, Any], kind: str, stacks: Iterable[Stack]
) -> tuple[list[Architecture], str]:
    """Return the towers of a family with a table, or the known reason why there are none."""
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
    """Return whether a setting is true, given its key and default."""
    key, default = setting
    return flag(config, key, default=default)


def rows_of_family(config: Mapping[str, Any]) -> tuple[Stack, ...]:
    """Return the rows of a configuration's family, including tables that it may not add."""
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return ()
    return (*FAMILIES.get(kind, ()), *filter(None, (BESIDE.get(kind),)))


def _parts(
    index: Index, config: Mapping[str, Any], keys: tuple[str, ...]
) -> tuple[list[Architecture], str]:
    all_towers: list[Architecture] = []
    reasons: list[str] = []
    for key in keys:
        part = config.get(key)
        part = part if isinstance(part, dict) else {}
        word = PLACES.get(key, f"{key}.")
        inside = tuple(name for name in index if f".{word}" in f".{name}")
        # In many models for pictures the names of the text's tensors have no such part.
        outside = tuple(index) if key in ("text_config", "vlm_config") else ()
        if key == "vision_config":
            outside = tuple(name for name in index if "vision" in name)
        names = _Subset(index, inside or outside)
        kind = str(config.get("model_type")).replace("-", "_")
        default_type = (
            f"{kind}_{key.removesuffix('_config')}_model" if key.endswith("_config") else None
        )
        settings = {"model_type": default_type, **part}
        towers, reason = towers_of(names, settings)
        all_towers += towers
        reasons.append(reason)
    return all_towers, "" if all_towers else reasons[0]


def _pictures(index: Index, config: Mapping[str, Any]) -> list[Architecture]:
    """Return the tower for pictures of a model that also reads text, if it has a table."""
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
    # Beside the layers of another part, token embeddings are perhaps those of that part.
    alone = not stack.layers_known or not any(".0." in name for name in index)
    for suffix in (in_layer(stack.query, 0), *(stack.tokens if alone else ())):
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
            same = [fit for family in families for fit in family if fit.table == match.table]
            towers.append(_of_match(index, config, match, same))
    if len(towers) < 2:
        return towers
    names = ", ".join(tower.table for tower in towers[1:])
    note = f"The checkpoint has two parts with positions: the other table is {names}."
    return [replace(towers[0], notes=(*towers[0].notes, note)), *towers[1:]]


_QUERY_NORMS = re.compile(r"(^|[._])(q_?norm|q_?ln|q_layernorm|qk_?norm|query_norm)([._]|$)")
"""Parts of the names of norms of queries and keys in some models."""


_DECODER = re.compile(r"(^|[._])decoder\.")
"""The word for a decoder in the names of a model whose family is usually an encoder."""


def _of_match(
    index: Index, config: Mapping[str, Any], match: Match, matches: list[Match]
) -> Architecture:
    """Return the location of a table, with all readings if families differ in position 0."""
    readings: dict[int, Architecture] = {}
    for fit in (match, *matches):
        notes = _assumptions(fit, matches, config)
        own = with_usual_names(fit.kind, fit.stack.side, config, index, fit.table)
        if not fit.stack.causal and not fit.stack.patches and _DECODER.search(fit.root):
            own = {"is_decoder": True, **own}
            notes += (f"By its name, {fit.root.rstrip('.')} attends to earlier positions only.",)
        place = Architecture(fit.kind, fit.stack, fit.root, fit.table, own, notes)
        for reading in readings_of(place, index):
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


def readings_of(place: Architecture, index: Index) -> Iterator[Architecture]:
    """Yield a location of a known family for each possible row of position 0."""
    stack = place.stack
    assert stack is not None
    if stack.rows_after is not None and stack.rows_after[0]:
        last = index[place.root + stack.marks[-1]]
        yield replace(place, config={**place.config, stack.rows_after[0]: last.shape[-2]})
    elif stack.patches:
        own = place.row_of_position_0
        patches = None if place.picture is None else math.prod(place.picture)
        counted = class_rows(index, place.table, patches)
        # Without class tokens, the class rows of a family are uncertain.
        for first in counted if counted != (0,) else sorted({0, own}):
            yield place if first == own else replace(place, cut=slice(first, None))
    elif stack.row_of_position_0 is None and "pad_token_id" not in place.config:
        for padding in dict.fromkeys((stack.padding, *range(MAX_FIRST_ROWS - 1))):
            yield replace(place, config={**place.config, "pad_token_id": padding})
    else:
        yield place


def _assumptions(match: Match, matches: list[Match], config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the assumptions about a family that is recognised only by names."""
    own = config.get("model_type")
    why = "No model_type in a config.json" if not own else f"The architecture {own!r} is unknown"
    note = f"{why}: assumed to be {match.kind} from its tensor names"
    if kinds := [fit.kind for fit in matches if fit.kind != match.kind]:
        note += f", shared by {some_of(kinds, 3)}"
    keys = dict.fromkeys(key for fit in (match, *matches) for key in fit.stack.settings)
    if any(fit.stack.fused != match.stack.fused for fit in matches):
        keys["multi_query"] = None
    if any(fit.stack.causal != match.stack.causal for fit in matches):
        keys[f"is_causal = {str(match.stack.causal).lower()}"] = None
    assumed = [key for key in keys if key not in config]
    return (f"{note}; usual settings assumed: {', '.join(assumed)}." if assumed else f"{note}.",)
