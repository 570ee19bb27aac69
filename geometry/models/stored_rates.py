"""Rates of turning that a checkpoint stores, compared with those of its configuration."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from geometry.checkpoints.errors import FileChanged, SourceError, TensorUnavailable
from geometry.checkpoints.result import result
from geometry.checkpoints.stores import FLOATS, TensorStore
from geometry.measures.rotary import turning_rates
from geometry.models.recognition.architecture import Architecture
from geometry.models.schemes.rotary import SLIDING, Rotary
from geometry.models.schemes.rotary_families import COMPUTED_ANEW
from geometry.models.schemes.rotary_scaling import FASTEST
from geometry.pca.components import Array

STORED = "stored"
"""The scaling of a model whose rates are those of its checkpoint."""
ENDINGS = ("inv_freq", "rope.freqs", "freqs_cis", "rotary.freqs", "rotary_emb.freqs")
"""The ends of the names of stored rates, in transformers, in Meta's code and elsewhere."""
NOT_OF_TEXT = re.compile(
    r"vision|visual|audio|speech|protein|img|image|patch|picture|video|pixel|(^|[._])vit([._]|$)"
)
"""Words in the names of rates that are not of the text."""
MAX_RATES = 1024
"""Most rates in a tensor: twice those of any model."""
ROUNDING = {"F64": (1e-5, 0.0), "F32": (1e-5, 0.0), "F16": (2e-3, 1e-7), "BF16": (1e-2, 0.0)}
"""By how much a stored number may differ from a computed one: its rounding, and near 0 its
spacing."""
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?|blk)\.(\d{1,15})\.")
_UNKNOWN = "?"


@result
class _Stored:
    """Rates in a tensor.

    Attributes
    ----------
    name
        The tensor's.
    kind
        The kind of layer whose rates they are, "" where all are alike; "?" if not known.
    rates
        Rates above 0; None if they cannot be read.
    alike
        Whether they equal those of the configuration.
    """

    name: str
    kind: str
    rates: Array | None
    alike: bool


def with_stored_rates(store: TensorStore, place: Architecture) -> Architecture:
    """Return a model's location with the rates that are in its checkpoint.

    Where they equal those of its configuration, but for rounding, nothing changes. Where all rates
    stored for a kind of layer differ from it, the model gets the first of them, and a note. Where
    only those of some layers differ, or it is not known of which, it only gets the note.
    """
    rotary = place.rotary
    if rotary is None or place.family in COMPUTED_ANEW:
        return place
    stored = list(_stored(store, rotary))
    for kind in dict.fromkeys(tensor.kind for tensor in stored):
        rotary = _with_rates_of(rotary, kind, [tensor for tensor in stored if tensor.kind == kind])
    return replace(place, rotary=rotary)


def _with_rates_of(rotary: Rotary, kind: str, stored: list[_Stored]) -> Rotary:
    """Return a turning with the rates stored for a kind of layer, or a note on them."""
    different = [tensor for tensor in stored if not tensor.alike]
    if not different:
        return rotary
    name, rates = different[0].name, different[0].rates
    expected = rotary.by_layer_type[kind][1] if kind in rotary.by_layer_type else rotary.rates
    if rates is None or len(rates) != len(expected):
        problem = "cannot be read" if rates is None else f"has {len(rates)} rates"
        return _noted(
            rotary,
            f"The {len(expected)} rates of config.json are shown, and not compared: {name}, in "
            f"which the checkpoint stores rates, {problem}.",
        )
    if kind == _UNKNOWN or len(different) < len(stored):
        why = "its name does not tell of which layers"
        if kind != _UNKNOWN:
            why = "other layers have those of config.json"
        return _noted(
            rotary,
            f"The checkpoint stores other rates than config.json gives in {name}; {why}, and those "
            "of config.json are shown.",
        )
    several = any(
        tensor.rates is None or not np.array_equal(tensor.rates, rates) for tensor in different
    )
    note = f"The checkpoint stores other rates than config.json gives: those of {name} are shown"
    note += ", and some layers have others." if several else "."
    note += " The base is that of config.json."
    return _noted(_replaced(rotary, kind, rates), note)


def _noted(rotary: Rotary, note: str) -> Rotary:
    return replace(rotary, note=f"{rotary.note} {note}".strip())


def _replaced(rotary: Rotary, kind: str, rates: Array) -> Rotary:
    """Return a turning with other rates in a kind of layer."""
    kinds = dict(rotary.by_layer_type)
    if kind in kinds:
        kinds[kind] = (kinds[kind][0], rates)
        rotary = replace(rotary, by_layer_type=MappingProxyType(kinds))
    if kinds and kind != next(iter(kinds)):
        return rotary
    return replace(rotary, rates=rates, unscaled=rates, scaling=STORED, until=None)


def _stored(store: TensorStore, rotary: Rotary) -> Iterator[_Stored]:
    """Yield the tensors with rates of layers that turn."""
    ends = tuple(f".{end}" for end in ENDINGS)
    names = [name for name in store.tensors if f".{name}".endswith(ends)]
    names = [name for name in names if not NOT_OF_TEXT.search(name)]
    for number, name in enumerate(sorted(names, key=lambda name: (len(name), name))):
        if number and store.bytes_to_fetch(name):
            return  # of a model on the Hub only the first is downloaded
        kind = _kind_of(name, rotary)
        if kind is None:
            continue
        rates = _read(store, name)
        alike = rates is not None and any(
            expected.shape == rates.shape
            and np.allclose(rates, expected, *ROUNDING[store.tensors[name].dtype])
            for expected in _known(rotary, kind)
        )
        yield _Stored(name, kind, rates, alike)


def _kind_of(name: str, rotary: Rotary) -> str | None:
    """Return the kind of layer that rates are of; None for a layer that does not turn."""
    match = _LAYER.search(name)
    layer = None if match is None else int(match[1])
    if layer in rotary.layers_without:
        return None
    kinds = rotary.by_layer_type
    if not kinds:
        return ""
    if SLIDING in kinds and "local" in name:
        return SLIDING
    return (rotary.type_of(layer) if layer is not None else "") or _UNKNOWN


def _known(rotary: Rotary, kind: str) -> Iterator[Array]:
    """Yield the rates by the configuration of a kind of layer, with and without scaling."""
    kinds = rotary.by_layer_type
    if kind in ("", _UNKNOWN) or kind == next(iter(kinds)):
        yield from (rotary.rates, rotary.unscaled)
    for name, (base, rates) in kinds.items():
        if kind in (name, _UNKNOWN):
            yield from (rates, turning_rates(base, 2 * len(rates)))


def _read(store: TensorStore, name: str) -> Array | None:
    """Return the rates in a tensor, without those of 0; None if they cannot be read."""
    try:
        info = store.tensors[name]
        if info.dtype not in FLOATS or not 0 < math.prod(info.shape) <= MAX_RATES:
            return None
        rates: Array = store.read(name).astype(np.float64).ravel()
    except FileChanged:
        raise
    except (SourceError, TensorUnavailable):
        return None
    rates = rates[rates != 0]
    return rates if len(rates) and ((rates > 0) & (rates <= FASTEST)).all() else None
