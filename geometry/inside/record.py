"""``positions.safetensors`` and ``positions.json``: the results of a run.

Tensors: ``half_a``, ``half_b`` float32 [n_layers + 1, length, d_model], the mean of the residual
stream at each position over each half of the texts; ``windows`` int64 [2], their number;
``special`` int64, the positions of special tokens; ``share``, ``share_noise``, ``halves_cosine``,
``energy``, ``probe_error``, ``probe_chance`` and, where it was measured, ``random_share`` float64
[n_layers + 1], as in ``positions.json``.
Metadata: ``format``, ``version``, ``name``, ``source``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import convert

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import read_json
from geometry.checkpoints.result import result
from geometry.checkpoints.whole_files import write_bytes, writing
from geometry.inside.counted import Counter, angles_between, random_angles
from geometry.inside.layers import LayerPositions, position_means
from geometry.inside.mixing import Mixing
from geometry.inside.published import CONDITIONS, QUANTITIES, SOURCE, Compared
from geometry.inside.settings import InsideError
from geometry.inside.sums import Sums
from geometry.models.sources.layer_tables import (
    AMOUNTS,
    DESCRIPTION,
    FILE_NAME,
    FORMAT,
    MEASURED,
    VERSION,
)
from geometry.pca.components import Array

_BY_LAYER = ("share", "halves_cosine", "norms_cv")


def write_tensors(
    folder: Path,
    sums: Sums,
    special: Sequence[int],
    layers: Sequence[LayerPositions],
    random_weights: Sequence[LayerPositions],
    metadata: Mapping[str, str],
) -> None:
    """Write the positions of each layer.

    Raises InsideError: the file cannot be written.
    """
    from safetensors.numpy import save

    means = [position_means(sums, layer) for layer in range(sums.n_layers)]
    tensors: dict[str, npt.NDArray[Any]] = {
        "half_a": np.stack([a for a, _, _ in means]).astype(np.float32),
        "half_b": np.stack([b for _, b, _ in means]).astype(np.float32),
        "windows": sums.windows,
        "special": np.asarray(special, np.int64),
    }
    for name in (*MEASURED, *AMOUNTS):
        tensors[name] = np.array([getattr(layer, name) for layer in layers])
    if random_weights:
        tensors["random_share"] = np.array([layer.share for layer in random_weights])
    attributes = {"format": FORMAT, "version": VERSION, **metadata}
    with writing(folder / FILE_NAME, InsideError):
        write_bytes(save(tensors, metadata=attributes), folder / FILE_NAME)


@result
class Control:
    """The layers of a network without what it has learned.

    Attributes
    ----------
    kind
        "random" or "shuffled", see :func:`geometry.inside.network.load_network`.
    seed
        Of its weights.
    layers
        Its positions.
    """

    kind: str
    seed: int
    layers: tuple[LayerPositions, ...]

    def as_json(self) -> dict[str, Any]:
        """Return its entry in ``positions.json``."""
        return {"kind": self.kind, "seed": self.seed, "layers": layers_as_json(self.layers)}


def control_of_json(entry: Mapping[str, Any]) -> Control:
    """Read an entry that :meth:`Control.as_json` has written."""
    layers = tuple(_measured(layer, LayerPositions) for layer in entry["layers"])
    return Control(str(entry["kind"]), int(entry["seed"]), layers)


def layers_as_json(layers: Sequence[LayerPositions | Mixing]) -> list[dict[str, Any]]:
    """Return measurements of each layer, or of pairs in a layer; NaN and infinity become null."""
    return [_numbers(asdict(layer)) for layer in layers]


def published_as_json(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """Return published numbers with ours; NaN and infinity become null."""
    origin = {"source": SOURCE, "conditions": CONDITIONS}
    return [origin | _numbers(asdict(number)) for number in compared]


def _numbers(measured: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in measured.items()
    }


def counters_as_json(
    names: Sequence[str], layers: Sequence[Sequence[Counter]], d_model: int
) -> dict[str, Any]:
    """Return each counter's measurements by layer, with its angles to the others.

    A counter that is too rare in the texts has no values.
    """
    entries: dict[str, Any] = {
        name: {"values": [], "tokens": [], **{key: [] for key in _BY_LAYER}, "angles": {}}
        for name in names
    }
    for counters in layers:
        for counter in counters:
            entry = entries[counter.name]
            entry["values"] = counter.halves.rows.tolist()
            entry["tokens"] = counter.tokens.tolist()
            for name in _BY_LAYER:
                entry[name].append(getattr(counter, name))
        for pair, degrees in angles_between(counters).items():
            for name, other in (pair, pair[::-1]):
                entries[name]["angles"].setdefault(other, []).append(degrees.tolist())
    sizes = {
        counter.name: counter.directions.shape[1] for counters in layers[:1] for counter in counters
    }
    for name, entry in entries.items():
        entry["chance_of_smallest_angle"] = {
            other: random_angles(d_model, (sizes[name], sizes[other])) for other in entry["angles"]
        }
    return entries


@result
class CounterByLayer:
    """A counter's measurements in each layer; see :class:`geometry.inside.counted.Counter`.

    Attributes
    ----------
    name
        Of the counter.
    share, halves_cosine, norms_cv : (n_layers,) float64
        As of a counter in a layer.
    angles
        To each other counter: (n_layers,) the smallest principal angle of their leading directions,
        in degrees.
    chance
        For each of these, the 5th and 95th percentile of random subspaces' smallest angle.
    """

    name: str
    share: Array
    halves_cosine: Array
    norms_cv: Array
    angles: Mapping[str, Array]
    chance: Mapping[str, tuple[float, float]]


@result
class Description:
    """The measurements that a run has written.

    Attributes
    ----------
    layers
        Measurements of each layer's positions.
    counters
        Measurements of counters, without those too rare in the texts.
    published
        Published numbers with ours; empty if there are none.
    controls
        The same network without what it has learned; empty if it was not measured.
    """

    layers: tuple[LayerPositions, ...]
    counters: tuple[CounterByLayer, ...]
    published: tuple[Compared, ...]
    controls: tuple[Control, ...]


def read_description(folder: Path, n_layers: int) -> Description:
    """Read the measurements that a run has written.

    Parameters
    ----------
    folder
        Of the run.
    n_layers
        Of its residual stream.

    Raises
    ------
    HelixscopeError
        The description is missing, damaged, or of another number of layers.
    """
    path = folder / DESCRIPTION
    with reading(str(path), "Measure the positions again.", error=InsideError):
        content = read_json(path)
        layers = tuple(_measured(entry, LayerPositions) for entry in content["layers"])
        if len(layers) != n_layers:
            raise InsideError(f"{path} describes {len(layers)} layers of {n_layers}.")
        counters = tuple(
            _counter(name, entry, n_layers)
            for name, entry in content["counters"].items()
            if len(entry["share"]) == n_layers
        )
        published = tuple(_compared(entry, n_layers) for entry in content["published"])
        controls = tuple(control_of_json(entry) for entry in content.get("controls", ()))
        if any(len(control.layers) != n_layers for control in controls):
            raise InsideError(f"{path} has controls of another number of layers.")
        return Description(layers, counters, published, controls)


def _measured(entry: Mapping[str, Any], kind: Any) -> Any:
    """Return measurements as a dataclass; null is NaN."""
    missing = {
        f.name: math.nan for f in fields(kind) if f.type == "float" and entry.get(f.name, 0) is None
    }
    return convert({**entry, **missing}, kind)


def _compared(entry: Mapping[str, Any], n_layers: int) -> Compared:
    compared: Compared = _measured(entry, Compared)
    quantity, layer = compared.quantity, compared.layer
    if quantity not in QUANTITIES or not 0 <= layer < n_layers:
        raise InsideError(f"There is no {quantity!r} of layer {layer} to compare.")
    return compared


def _counter(name: str, entry: Mapping[str, Any], n_layers: int) -> CounterByLayer:
    share, cosine, cv = (np.array(entry[key], np.float64) for key in _BY_LAYER)
    angles = {
        str(other): np.array([min(of_layer) for of_layer in degrees], np.float64)
        for other, degrees in entry["angles"].items()
        if len(degrees) == n_layers
    }
    stored = entry["chance_of_smallest_angle"]
    chance = {other: (float(stored[other]["p5"]), float(stored[other]["p95"])) for other in angles}
    for values in (share, cosine, cv, *angles.values()):
        if values.shape != (n_layers,) or not np.isfinite(values).all():
            raise InsideError(f"The counter {name!r} has numbers that no run writes.")
    return CounterByLayer(str(name), share, cosine, cv, angles, chance)
