"""What is in memory, opened as a model: modules and state dicts of torch, arrays, data frames.

See :mod:`geometry.checkpoints.live_store` for what is read of them, and when.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from geometry.checkpoints.adapted_store import MERGE, PREFIX, SAVED
from geometry.checkpoints.column_files import NumberRows, PositionColumn, entry_columns
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.live_store import (
    LiveStore,
    is_array,
    is_module,
    modules_of,
    tensors_of,
)
from geometry.checkpoints.quantised import dequantised
from geometry.checkpoints.stored_settings import KEYS, settings_in
from geometry.checkpoints.stores import TensorStore
from geometry.models.model import PositionalModel
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.choice import choice_of
from geometry.models.recognition.spellings import as_in_torch
from geometry.models.sources.adapted import open_adapted
from geometry.models.sources.computed import OneTable
from geometry.models.sources.labelled_rows import rows_of
from geometry.models.sources.opening import place_of, with_note
from geometry.models.sources.source import Source

MAX_DEPTH = 6
"""Levels of settings that are read."""
_WRAPPED = "_original_component."
"""What TransformerLens puts into the names of the tensors that it wraps."""
_SHARDED = "_fsdp_wrapped_module."
"""What FSDP puts into the names of the tensors that it wraps."""


@dataclass(frozen=True, eq=False, slots=True)
class Content:
    """What a model in memory is made of.

    Attributes
    ----------
    store
        Its tensors, under their own names; with its settings, if they are no configuration.
    config
        The configuration of transformers; empty for other models.
    choice
        The table and family that were chosen, as one text; None for none.
    table
        Of rows alone, the name of their tensor; "" for a model.
    columns
        The labels of rows that are no positions; None for positions.
    note
        A sentence for the model's warnings; "" for none.
    """

    store: TensorStore
    config: Mapping[str, Any] = field(default_factory=dict)
    choice: str | None = None
    table: str = ""
    columns: tuple[PositionColumn, ...] | None = None
    note: str = ""


_CONTENTS: WeakKeyDictionary[PositionalModel, Content] = WeakKeyDictionary()


def content_of(model: PositionalModel) -> Content | None:
    """Return what a model in memory was made of; None for others, and those with an adapter."""
    return _CONTENTS.get(model)


def open_content(content: Content, source: Source) -> PositionalModel:
    """Open a model by what it is made of.

    Raises
    ------
    SourceError
        It has no usable table.
    """
    store, notes = content.store, [content.note]
    if content.columns is not None:
        place = Architecture(table=content.table, rows=rows_of(content.columns))
    elif content.table:
        store = as_in_torch(store)
        place = replace(place_of(store, {}, content.choice), notes=())
    else:
        store, note = dequantised(store, content.config)
        store = as_in_torch(store)
        place = place_of(store, content.config, content.choice)
        notes.insert(0, note)
    for note in notes:
        place = with_note(place, note)
    model = PositionalModel(store, place, source=source, name=source.name)
    _CONTENTS[model] = content
    return model


def open_live(
    thing: Any,
    *,
    name: str = "",
    table: str | None = None,
    family: str | None = None,
    first_rows: int | None = None,
) -> PositionalModel:
    """Open a module or state dict of torch, an array, a tensor, or a data frame.

    Parameters
    ----------
    thing
        A module, a dictionary of tensors or arrays as ``torch.load`` returns it, rows (n, d) as an
        array or tensor, or a data frame of pandas, whose columns are read as those of a table in a
        file, see :func:`geometry.checkpoints.column_files.read_rows`, and whose index, unless it
        counts the rows, is another label.
    name
        For captions; that of its class if empty.
    table, family, first_rows
        As of :func:`geometry.models.sources.opening.open_model`.

    Raises
    ------
    SourceError
        It is none of these, or has no usable table.
    """
    try:
        return _open(thing, name, choice_of(table, family, first_rows))
    except HelixscopeError:
        raise
    # Whatever a class of the user raises.
    except Exception as error:
        raise SourceError(
            f"{type(thing).__name__} could not be read: {error}.",
            "Open its state dict, or an array of rows.",
        ) from error


def _open(thing: Any, name: str, choice: str | None) -> PositionalModel:
    name = name or type(thing).__name__
    source = Source.in_memory(name)
    if is_module(thing):
        return _of_module(_inside(thing), source, choice)
    if _is_frame(thing):
        rows = _rows_of_frame(thing)
        table = OneTable(name, rows.values)
        return open_content(Content(table, table=name, columns=tuple(rows.columns)), source)
    if isinstance(thing, Mapping):
        plain = _plain(thing)
        settings = settings_in(plain) if isinstance(plain, dict) else {}
        modules = filter(is_module, thing.values())
        settings = settings or next(filter(None, map(_settings_of, modules)), {})
        return _of_tensors(dict(_entries(thing)), settings, source, choice)
    if is_array(thing) or isinstance(thing, list | tuple):
        rows_alone = Content(LiveStore({name: _rows(thing)}), choice=choice, table=name)
        return open_content(rows_alone, source)
    own = getattr(thing, "__dict__", {})
    parts = [key for key in (own if isinstance(own, dict) else ()) if is_module(own[key])]
    raise SourceError(
        f"An object of type {type(thing).__name__} cannot be opened.",
        f"Open its {parts[0]}."
        if parts
        else "Open a module, a state dict, an array or tensor of rows, a data frame, or a source.",
    )


def _of_module(module: Any, source: Source, choice: str | None) -> PositionalModel:
    """Open a module; with an adapter of PEFT, as the model that it changes."""
    tensors = {key.replace(_WRAPPED, ""): value for key, value in tensors_of(module)}
    if any(_SHARDED in name for name in tensors):
        raise SourceError(
            f"{source.name} is sharded by FSDP: no process has all its numbers.",
            "Save its full state dict, and open the file.",
        )
    settings = _settings_of(module)
    parts = [vars(one) for _, one in modules_of(module)] if "peft" in sys.modules else []
    adapters = next((own["peft_config"] for own in parts if own.get("peft_config")), None)
    if adapters is None:
        return _of_tensors(tensors, settings, source, choice)
    (name, config), *more = adapters.items()
    adapter = _plain(config) or {}
    changed = any(own.get("merged_adapters") or own.get("_disable_adapters") for own in parts)
    if more or changed or adapter.get("peft_type") != "LORA":
        raise SourceError(
            f"{source.name} has adapters other than one of LoRA that is active and not merged.",
            MERGE,
        )
    of_adapter = re.compile(rf"(\.(?:lora_\w+|modules_to_save))\.{re.escape(name)}(?=\.|$)")
    own = {key: of_adapter.sub(r"\1", key) for key in tensors if of_adapter.search(key)}
    base = {SAVED.sub("", key.removeprefix(PREFIX)): tensors[key] for key in tensors.keys() - own}
    model = _of_tensors(base, settings, source, choice)
    store = LiveStore({own[key]: tensors[key] for key in own})
    return open_adapted(store, adapter, model, source, source.name)


def _of_tensors(
    tensors: Mapping[str, Any], settings: Mapping[str, Any], source: Source, choice: str | None
) -> PositionalModel:
    if not tensors:
        raise SourceError(f"{source.name} has no tensors.", "Open a model with weights.")
    config = settings if settings.get("model_type") else {}
    live = LiveStore(tensors, {} if config else settings)
    return open_content(Content(live, config, choice), source)


def _inside(module: Any) -> Any:
    """Return the module that another wraps: of TransformerLens's bridge the original one."""
    parts = {**vars(module), **vars(module).get("_modules", {})}
    if not is_module(original := parts.get("original_model")):
        return module
    if parts.get("_weights_processed"):
        raise SourceError(
            f"The weights of this {type(module).__name__} were processed, some of them in copies.",
            "Open it before its weights are processed, as in the compatibility mode.",
        )
    return original


def _settings_of(module: Any) -> dict[str, Any]:
    """Return the settings of a module, or of the first one in it that has some."""
    for _, one in modules_of(module):
        own = vars(one)
        if hasattr(type(own.get("config")), "to_dict"):  # of transformers, under their own names
            found = _plain(own["config"])
        elif "pretrained_cfg" in own:  # of timm
            given = _plain(own["pretrained_cfg"])
            found = {"architecture": given.get("architecture"), "pretrained_cfg": given}
        else:
            groups = {key: _plain(own.get(key, own.get(f"_{key}"))) for key in KEYS}
            found = settings_in(groups)
        if found:
            return dict(found)
    return {}


def _plain(value: Any, depth: int = 0) -> Any:
    """Return settings as plain values: attributes of objects, without code, and tensors left out.

    Values of other kinds become None.
    """
    value = value.value if isinstance(value, Enum) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth > MAX_DEPTH or is_module(value) or is_array(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in value]
    own = {key: one for key, one in getattr(value, "__dict__", {}).items() if key[:1] != "_"}
    kind = getattr(type(value), "model_type", "")
    named = {"model_type": kind} if isinstance(kind, str) and kind else {}
    return {**named, **{key: _plain(one, depth + 1) for key, one in own.items()}} or None


def _entries(content: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> Iterator[Any]:
    """Yield the tensors and arrays of nested dictionaries by their dotted names."""
    for key, value in content.items():
        if is_module(value):
            yield from ((f"{prefix}{key}.{name}", one) for name, one in tensors_of(value))
        elif is_array(value):
            yield f"{prefix}{key}", value
        elif isinstance(value, Mapping) and depth < MAX_DEPTH:
            yield from _entries(value, f"{prefix}{key}.", depth + 1)


def _rows(thing: Any) -> Any:
    """Return a list, an array with masked numbers or one of long doubles as one of doubles."""
    if is_array(thing) and not isinstance(thing, np.ma.MaskedArray):
        return thing.astype(float) if getattr(thing, "dtype", None) == np.longdouble else thing
    try:
        return np.ma.filled(np.ma.asarray(thing, dtype=np.float64), np.nan)
    except (TypeError, ValueError) as error:
        raise SourceError(
            f"This {type(thing).__name__} is not of rows of numbers, all of one length.",
            "Open one of its items, or an array of rows.",
        ) from error


def _is_frame(value: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _rows_of_frame(frame: Any) -> NumberRows:
    """Return the rows of a data frame, its labels and its index."""
    counted = type(frame.index).__name__ == "RangeIndex"
    if not counted:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    numbers = np.full(frame.shape, np.nan)
    for at in range(len(names)):
        column = frame.iloc[:, at]
        if column.dtype.kind in "fiu":
            numbers[:, at] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    offered = ~np.isnan(numbers)
    offered[:, : 0 if counted else frame.index.nlevels] = False
    entries = entry_columns(names, offered)
    values = np.ascontiguousarray(numbers[:, entries])
    if not entries or not np.isfinite(values).all():
        raise SourceError(
            "The data frame has no columns of numbers, or missing ones among them.",
            "Leave out what has no numbers.",
        )
    columns = tuple(
        PositionColumn(names[at], "", tuple(map(_cell, frame.iloc[:, at].tolist())))
        for at in range(len(names))
        if at not in entries
    )
    return NumberRows(values, columns)


def _cell(value: Any) -> float | str | None:
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return float(value) if np.isfinite(value) else None
    return None if value is None else str(value)
