"""Rates of turning that a checkpoint stores, compared with those of its configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from geometry.checkpoints.errors import FileChanged, SourceError, TensorUnavailable
from geometry.checkpoints.stores import FLOATS, TensorStore
from geometry.models.architecture import Architecture
from geometry.models.rotary import Rotary
from geometry.models.rotary_families import COMPUTED_ANEW
from geometry.pca.components import Array

STORED = "stored"
"""The scaling of a model whose rates are those of its checkpoint."""
#: The ends of their names: of transformers' modules, and of Meta's.
ENDINGS = ("inv_freq", "rope.freqs", "freqs_cis")
#: Words in the names of rates that are not of the text.
OTHER_PARTS = ("vision", "visual", "audio", "speech", "protein")
MOST = 1024
"""Rates that a tensor can hold: twice those of any model."""
#: By how much a stored number may differ from a computed one: its rounding, and near 0 its spacing.
ROUNDING = {"F64": (1e-5, 0.0), "F32": (1e-5, 0.0), "F16": (2e-3, 1e-7), "BF16": (1e-2, 0.0)}


def with_stored_rates(store: TensorStore, place: Architecture) -> Architecture:
    """Return a model's location with the rates that are in its checkpoint.

    Where they are those of its configuration, but for rounding, nothing changes; where they are
    others, they are the model's, with a note.
    """
    rotary = place.rotary
    if rotary is None or place.family in COMPUTED_ANEW:
        return place
    compared = list(_differences(store, rotary))
    if not compared:
        return place
    name, rates = compared[0]
    if rates is None or len(rates) != rotary.n_pairs:
        found = "cannot be read" if rates is None else f"has {len(rates)} rates"
        said = (
            f"The {rotary.n_pairs} rates of config.json are shown, and not compared: {name}, in "
            f"which the checkpoint stores rates, {found}."
        )
        return replace(place, rotary=replace(rotary, note=f"{rotary.note} {said}".strip()))
    several = any(other is None or not np.array_equal(other, rates) for _, other in compared)
    said = f"The checkpoint stores other rates than config.json gives: those of {name} are shown"
    said += ", and some layers have others." if several else "."
    kinds = dict(rotary.by_layer_type)
    if kinds:
        kinds[next(iter(kinds))] = (rotary.base, rates)
    turned = replace(
        rotary,
        rates=rates,
        unscaled=rates,
        scaling=STORED,
        until=None,
        by_layer_type=MappingProxyType(kinds),
        note=f"{rotary.note} {said}".strip(),
    )
    return replace(place, rotary=turned)


def _differences(store: TensorStore, rotary: Rotary) -> Iterator[tuple[str, Array | None]]:
    """Yield the tensors whose rates are not those of the configuration; None if unreadable."""
    known = [rotary.rates, rotary.unscaled, *(rates for _, rates in rotary.by_layer_type.values())]
    ends = tuple(f".{end}" for end in ENDINGS)
    names = [name for name in store.tensors if f".{name}".endswith(ends)]
    names = [name for name in names if not any(word in name for word in OTHER_PARTS)]
    for number, name in enumerate(sorted(names, key=lambda name: (len(name), name))):
        if number and store.bytes_to_fetch(name):
            return  # of a model on the Hub only the first is downloaded
        rates = _read(store, name)
        if rates is None:
            yield name, None
            continue
        relative, absolute = ROUNDING[store.tensors[name].dtype]
        if not any(
            one.shape == rates.shape and np.allclose(rates, one, relative, absolute)
            for one in known
        ):
            yield name, rates


def _read(store: TensorStore, name: str) -> Array | None:
    """Return the rates in a tensor, without those of 0; None if they cannot be read."""
    try:
        info = store.tensors[name]
        if info.dtype not in FLOATS or not 0 < math.prod(info.shape) <= MOST:
            return None
        rates: Array = store.read(name).astype(np.float64).ravel()
    except FileChanged:
        raise
    except (SourceError, TensorUnavailable):
        return None
    rates = rates[rates != 0]
    return rates if len(rates) and np.isfinite(rates).all() and (rates > 0).all() else None
