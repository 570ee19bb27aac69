"""Models with a learned vector for each lag of query and key: a table over lags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry.checkpoints.config import first_int, flag, unusable
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import TensorInfo
from geometry.models.schemes.lags import LagNorm, Lags, in_order
from geometry.models.schemes.rotary import RIGHT

DISTANCES = "attention.self.distance_embedding.weight"
"""Tensor of BERT-like models with a ``position_embedding_type`` of :data:`RELATIVE_KEYS`."""
RELATIVE_KEYS = ("relative_key", "relative_key_query")
EMBEDDINGS = "encoder.rel_embeddings.weight"
"""Tensor of DeBERTa."""


def find_relative_tables(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> list[Lags]:
    """Return the vectors by lag of BERT with relative keys, or of DeBERTa; empty if there are none.

    Raises
    ------
    SourceError
        Their number contradicts the configuration.
    """
    distances = in_order(
        name for name in index if name.endswith(f".{DISTANCES}") and "crossattention" not in name
    )
    if distances:
        return [_by_distance(index, config, distances)]
    names = [name for name in index if name == EMBEDDINGS or name.endswith(f".{EMBEDDINGS}")]
    vectors = _of_deberta(index, config, names[0]) if names else None
    return [] if vectors is None else [vectors]


def _by_distance(
    index: Mapping[str, TensorInfo], config: Mapping[str, Any], names: tuple[str, ...]
) -> Lags:
    """Return the first layer's vectors: row lag + n − 1 for n positions."""
    longest = first_int(config, ("max_position_embeddings",))
    rows = _rows(index, names[0], None if longest is None else 2 * longest - 1)
    if rows % 2 == 0:
        raise SourceError(f"{names[0]} should have a row for lag 0 in its middle, got {rows} rows.")
    unused = [name for name in index if name.endswith("position_embeddings.weight")]
    note = f"{unused[0]} is stored, and not added to tokens." if unused else ""
    return Lags(
        "relative table",
        1 - (rows + 1) // 2,
        rows,
        tensor=names[0],
        side="encoder",
        tensors=names,
        note=note,
    )


def _of_deberta(
    index: Mapping[str, TensorInfo], config: Mapping[str, Any], name: str
) -> Lags | None:
    """Return DeBERTa's vectors: row lag + n, of lags or of buckets (versions 2 and 3)."""
    shape = index[name].shape
    if len(shape) != 2 or shape[0] < 2 or shape[0] % 2 or not shape[1]:
        return None
    if not flag(config, "relative_attention", default=True) or config.get("pos_att_type") == []:
        return None
    kind = config.get("model_type")
    buckets = first_int(config, ("position_buckets",)) if kind == "deberta-v2" else None
    of_buckets = buckets is not None and buckets > 0
    far = first_int(config, ("max_relative_positions",))
    if far is None or far < 1:
        far = first_int(config, ("max_position_embeddings",))
    span = buckets if of_buckets else far
    rows = _rows(index, name, None if span is None else 2 * span)
    notes = [] if kind else ["Usual settings assumed: its rows are lags, and not buckets of lags."]
    norm = _norm(index, config, name) if kind != "deberta" else None
    if norm is not None:
        notes.append(f"The vectors in use are those of {name} after LayerNorm ({norm.gain}).")
    return Lags(
        "relative table",
        -(rows // 2),
        rows,
        tensor=name,
        side="encoder",
        buckets=of_buckets,
        norm=norm,
        note=" ".join(notes),
    )


def _norm(index: Mapping[str, TensorInfo], config: Mapping[str, Any], name: str) -> LagNorm | None:
    """Return the LayerNorm applied to the vectors before use; None if there is none."""
    root = name.removesuffix("rel_embeddings.weight")
    gain, bias = f"{root}LayerNorm.weight", f"{root}LayerNorm.bias"
    there = gain in index and bias in index
    wanted = config.get("norm_rel_ebd")
    if wanted is None:
        wanted = "layer_norm" if there and "model_type" not in config else "none"
    if "layer_norm" not in [word.strip() for word in str(wanted).lower().split("|")]:
        return None
    if not there:
        raise SourceError(
            f"By norm_rel_ebd of config.json the vectors of {name} pass a LayerNorm, and {gain} "
            f"and {bias} are not in this checkpoint.",
            RIGHT,
        )
    epsilon = config.get("layer_norm_eps", 1e-7)
    if type(epsilon) not in (int, float) or not 0 <= epsilon < 1:
        raise unusable("layer_norm_eps", epsilon, "a number from 0 below 1")
    return LagNorm(gain, bias, float(epsilon))


def _rows(index: Mapping[str, TensorInfo], name: str, expected: int | None) -> int:
    """Return the number of rows of a table. Raises SourceError if the configuration differs."""
    shape = index[name].shape
    if len(shape) == 2 and shape[0] == (shape[0] if expected is None else expected):
        return shape[0]
    raise SourceError(
        f"{name} should have shape ({'rows' if expected is None else expected}, width) by "
        f"config.json, got {shape}.",
        RIGHT,
    )
