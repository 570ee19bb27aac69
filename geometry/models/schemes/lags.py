"""Models with positions inside attention, by the lag of query and key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from geometry.checkpoints.config import first_int, pair, unusable
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import FloatArray, TensorInfo, TensorStore
from geometry.measures.block_norm import BlockNorm
from geometry.measures.lag_bias import bucket_of
from geometry.models.families.stack import Side
from geometry.models.schemes.rotary import RIGHT
from geometry.pca.components import Array

MAX_HEADS = 2_000
"""Maximum heads of a layer in a configuration: ten times those of any model."""
FARTHEST = 128
"""Default distance from which T5 has a single bucket."""
MAX_FARTHEST = 4096
"""Maximum of this distance in a configuration: four times that of any model."""
MAX_WINDOW = 128
"""Maximum rows or columns of a window of patches: twice those of any model."""
MORE = 3
"""Rows of BEiT's table for the class token, after those of the offsets."""
BIAS = "relative_attention_bias.weight"
TABLE = "relative_position_bias_table"
NETWORKS = ("continuous_position_bias_mlp.2.weight", "cpb_mlp.2.weight")
"""Last matrix of Swin 2's bias network, in transformers, and in its own code and timm."""
_OF_T5 = re.compile(rf"^((.*\.)?(\w*SelfAttention|attention|encoder|decoder)\.)?{re.escape(BIAS)}$")
_OF_MPNET = 32
"""Buckets of MPNet's code, which does not read its configuration."""


@dataclass(frozen=True, slots=True)
class LagNorm:
    """The LayerNorm applied to stored vectors before use.

    Attributes
    ----------
    gain, bias
        Names of its tensors.
    epsilon
        Added to the variance.
    """

    gain: str
    bias: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class Lags:
    """Biases or vectors of a model by lag.

    Attributes
    ----------
    kind
        "alibi": a slope of each head, by formula; "relative": a learned bias of each head, by
        buckets of lags; "relative table": a learned vector for each lag, as in DeBERTa.
    first
        The lag of the first row; lags increase by one from row to row.
    count
        Number of rows.
    slopes
        Slopes of ALiBi's heads; empty for other kinds.
    tensor
        Tensor of the bias or the vectors; for ALiBi that of stored slopes, or "".
    side
        The part of the model.
    farthest
        Distance from which there is a single bucket.
    buckets
        Whether the rows are buckets of lags, not lags, as in DeBERTa v2 and v3.
    window
        Rows and columns of the windows of patches in a model for pictures, whose rows here are
        offsets in two directions; None for a text.
    tensors
        Tensors of such a bias in all blocks with this window, which are shown together; or tensors
        of vectors or a bias by lag in all layers, of which one is shown.
    n_buckets
        Number of rows of the stored bias in use; 0 for all.
    norm
        LayerNorm applied to the stored vectors before use; None for none.
    stored
        Whether the slopes are stored in the checkpoint, and not those of the formula.
    note
        A sentence for the model's warnings, or "".
    scale
        Offsets in rows and columns at which the input of Swin 2's bias network is 8; None for a
        stored bias.
    """

    kind: Literal["alibi", "relative", "relative table"]
    first: int
    count: int
    slopes: tuple[float, ...] = ()
    tensor: str = ""
    side: Side = "decoder"
    farthest: int = FARTHEST
    buckets: bool = False
    window: tuple[int, int] | None = None
    tensors: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    n_buckets: int = 0
    norm: LagNorm | None = None
    stored: bool = False
    note: str = ""

    @property
    def net(self) -> tuple[int, int] | None:
        """Rows and columns of offsets in two directions; None for lags in a text."""
        return None if self.window is None else (2 * self.window[0] - 1, 2 * self.window[1] - 1)

    @property
    def why(self) -> str:
        """Why there is no table of positions; "" if the rows are one, of lags."""
        return {
            "alibi": "this model lowers attention scores by distance: it has no table",
            "relative": "this model adds a bias by distance to attention scores, which is no table",
        }.get(self.kind, "")

    def _words_of_window(self, window: tuple[int, int]) -> str:
        down, across = (size - 1 for size in window)
        many = len(self.tensors)
        each = f"head of {many} blocks" if many > 1 else "head"
        return (
            f"relative bias, offsets to {down} rows and {across} columns, a column for each {each}"
        )

    @property
    def words(self) -> str:
        """Description of the rows, for a caption."""
        if self.window is not None:
            return self._words_of_window(self.window)
        last = self.first + self.count - 1
        if self.kind == "alibi":
            return f"ALiBi, lags 0 to {last}, a column for each head"
        unit = "buckets" if self.buckets else "lags"
        of = "relative embeddings" if self.kind == "relative table" else "relative bias"
        each = "" if self.kind == "relative table" else ", a column for each head"
        return f"{of}, {unit} {self.first} to {last}{each}".replace("-", "\N{MINUS SIGN}")

    @property
    def notes(self) -> list[str]:
        """Further information, as sentences."""
        notes = [self.note] if self.note else []
        remaining = [name for name in self.tensors if name != self.tensor]
        if remaining and self.window is None:
            notes.append(
                f"Each layer has its own: shown is {self.tensor}. Another one opens if it is "
                f"chosen as the table, such as {remaining[-1]}."
            )
        return notes

    def place_of(self, row: int) -> str:
        """Return the lag of a row, "lag 3"; "lag −3, ahead" for a key after the query.

        For a picture, the offset of the query's patch from the key's: "offset 2 rows, −1 columns".
        """
        if self.net is not None and self.window is not None:
            down, across = (
                at - size + 1
                for at, size in zip(divmod(row, self.net[1]), self.window, strict=True)
            )
            text = f"offset {down} rows, {across} columns"
            return text.replace("-", "\N{MINUS SIGN}")
        lag, unit = self.first + row, "bucket" if self.buckets else "lag"
        return f"{unit} {lag}" if lag >= 0 else f"{unit} \N{MINUS SIGN}{-lag}, ahead"

    def table(self, store: TensorStore) -> FloatArray:
        """Return the rows: (count, n_heads) or (count, d)."""
        lags = np.arange(self.first, self.first + self.count)
        if self.kind == "alibi":
            falling: Array = -lags[:, None] * np.asarray(self.slopes)
            return falling
        if self.net is not None:
            return np.concatenate([self._of_block(store, name) for name in self.tensors], axis=1)
        stored = store.read(self.tensor)
        if self.kind == "relative table":
            return stored if self.norm is None else self._normed(store, stored, self.norm)
        n_buckets = self.n_buckets or len(stored)
        return stored[bucket_of(lags, n_buckets, self.farthest, both_ways=self.first < 0)]

    def _normed(self, store: TensorStore, stored: FloatArray, norm: LagNorm) -> FloatArray:
        gain, bias = (store.read(name).astype(np.float64) for name in (norm.gain, norm.bias))
        if gain.shape != stored.shape[1:] or bias.shape != stored.shape[1:]:
            raise SourceError(
                f"{norm.gain} and {norm.bias} should have shape {stored.shape[1:]} as the rows of "
                f"{self.tensor}, got {gain.shape} and {bias.shape}.",
                RIGHT,
            )
        return BlockNorm(gain, bias, norm.epsilon)(stored)

    def _of_block(self, store: TensorStore, name: str) -> FloatArray:
        """Return a block's bias by offset: (count, n_heads)."""
        if self.scale is None:
            return store.read(name)[: self.count]  # BEiT has three more, for the class token
        assert self.window is not None
        first, bias, last = (store.read(part) for part in _network(name))
        return continuous_bias(self.window, self.scale, (first, bias, last))


def find_windows(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> list[Lags]:
    """Return the biases by offset of a model for pictures; empty if none is known.

    Only blocks with the largest window are included.

    Raises
    ------
    SourceError
        Its configuration contradicts its tables.
    """
    names = in_order(index)
    tables = [name for name in names if name.endswith(TABLE) and len(index[name].shape) == 2]
    if tables:
        rows = max(index[name].shape[0] for name in tables)
        window = _window_of(tables[0], rows, config)
        same = tuple(name for name in tables if index[name].shape[0] == rows)
        return [_of_picture(window, same)]
    networks = [name for name in names if name.endswith(NETWORKS)]
    for name in networks:
        _check_network(index, name)
    size = pair(config, "window_size")
    if size is None or not networks:
        return []
    picture, patch = pair(config, "image_size"), pair(config, "patch_size")
    before = config.get("pretrained_window_sizes") or []
    if not isinstance(before, list) or any(type(side) is not int for side in before):
        raise unusable("pretrained_window_sizes", before, "a whole number for each stage")
    shown: list[str] = []
    window, scale = (0, 0), (0.0, 0.0)
    for name in networks:
        # Each stage of Swin 2 halves the picture, which limits the window; those of Swin2SR, whose
        # blocks have other names, do not.
        match = re.search(r"layers\.(\d{1,15})\.blocks\.", name)
        own, over = size, 0
        if match is not None:
            stage = min(int(match[1]), 64)
            if picture is not None and patch is not None:
                there = [max(p // q >> stage, 1) for p, q in zip(picture, patch, strict=True)]
                own = min(size[0], there[0]), min(size[1], there[1])
            over = before[stage] if stage < len(before) and before[stage] > 1 else 0
        wide = float((over or own[0]) - 1), float((over or own[1]) - 1)
        if own > window or not shown:
            window, scale, shown = own, wide, []
        if (own, wide) == (window, scale):
            shown.append(name)
    if not all(1 < side <= MAX_WINDOW for side in window):
        return []
    return [replace(_of_picture(window, tuple(shown)), scale=scale)]


def _network(last: str) -> tuple[str, str, str]:
    """Return the tensors of Swin 2's network, given the name of the last."""
    root = last.removesuffix("2.weight")
    return f"{root}0.weight", f"{root}0.bias", last


def _check_network(index: Mapping[str, TensorInfo], last: str) -> None:
    names = _network(last)
    shapes = [index[name].shape if name in index else () for name in names]
    hidden = shapes[0][:1]
    if shapes[:2] != [(*hidden, 2), hidden] or len(shapes[2]) != 2 or shapes[2][1:] != hidden:
        raise SourceError(
            f"{', '.join(names)} should have the shapes (n, 2), (n,) and (heads, n), got "
            f"{', '.join(map(str, shapes))}.",
            RIGHT,
        )


def _of_picture(window: tuple[int, int], tensors: tuple[str, ...]) -> Lags:
    count = (2 * window[0] - 1) * (2 * window[1] - 1)
    return Lags(
        "relative", 0, count, tensor=tensors[0], side="encoder", window=window, tensors=tensors
    )


def _window_of(name: str, rows: int, config: Mapping[str, Any]) -> tuple[int, int]:
    """Return rows and columns of the window of a table.

    By the configuration's window, or its picture's patches, otherwise assuming a square.

    Raises
    ------
    SourceError
        The number of rows fits no window, or not the configuration's.
    """
    size = pair(config, "window_size")
    picture, patch = pair(config, "image_size"), pair(config, "patch_size")
    if "window_size" not in config and picture is not None and patch is not None:
        size = picture[0] // patch[0], picture[1] // patch[1]
    for more in (0, MORE):  # none, or the three of BEiT's class token
        side = math.isqrt(max(rows - more, 0))
        down, across = size or ((side + 1) // 2, (side + 1) // 2)
        offsets = (2 * down - 1) * (2 * across - 1)
        if min(down, across) > 1 and offsets + more == rows and down * across <= MAX_WINDOW**2:
            return down, across
    if size is None:
        raise SourceError(f"{name} has {rows} rows, which no window of patches needs.", RIGHT)
    down, across = size
    raise SourceError(
        f"{name} has {rows} rows; by config.json its windows are of {down} × {across} patches, "
        f"which need {(2 * down - 1) * (2 * across - 1)}.",
        RIGHT,
    )


def continuous_bias(
    window: tuple[int, int], scale: tuple[float, float], weights: tuple[FloatArray, ...]
) -> FloatArray:
    """Return the bias of Swin 2's network for each offset.

    Parameters
    ----------
    window
        Rows and columns of the windows of patches.
    scale
        Offsets at which the input is 8, before its logarithm.
    weights
        Weights of the network: (hidden, 2), (hidden,) and (n_heads, hidden).

    Returns
    -------
    ((2 rows − 1)(2 columns − 1), n_heads) float32
        16 times a logistic function.

    References
    ----------
    Liu et al., "Swin Transformer V2: Scaling up capacity and resolution", 2022, section 3.3.
    """
    first, bias, last = weights
    sides = [
        8.0 * np.arange(1 - size, size) / (wide or 1.0)
        for size, wide in zip(window, scale, strict=True)
    ]
    offsets = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
    inputs = np.sign(offsets) * np.log2(np.abs(offsets) + 1.0) / np.log2(8.0)
    hidden = np.maximum(inputs @ first.T.astype(np.float64) + bias, 0.0)
    result: FloatArray = (16.0 / (1.0 + np.exp(-(hidden @ last.T)))).astype(np.float32)
    return result


def find_lags(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> list[Lags]:
    """Return the biases by lag of T5 and similar models, encoder first; empty if there are none.

    Raises
    ------
    SourceError
        Their number contradicts the configuration.
    """
    of_mpnet = config.get("model_type") == "mpnet"
    far = None if of_mpnet else first_int(config, ("relative_attention_max_distance",))
    farthest, biases, note = FARTHEST if far is None else far, [], ""
    if far is None and not config.get("model_type"):
        note = f"Usual settings assumed: relative_attention_max_distance = {farthest}."
    for side in ("encoder", "decoder"):
        own = in_order(name for name in index if _side_of(name) == side)
        if own:
            rows = _buckets(index, own[0], config)
            used = _OF_MPNET if of_mpnet else rows
            exact = used // 4 if side == "encoder" else used // 2
            if not exact < farthest <= MAX_FARTHEST or used > rows:
                raise SourceError(
                    f"A relative bias of {rows} buckets cannot reach to a distance of {farthest}: "
                    f"expected one from {exact + 1} to {MAX_FARTHEST}.",
                    RIGHT,
                )
            first, count = (-farthest, 2 * farthest + 1) if side == "encoder" else (0, farthest + 1)
            biases.append(
                Lags(
                    "relative",
                    first,
                    count,
                    tensor=own[0],
                    side=side,
                    farthest=farthest,
                    n_buckets=used,
                    tensors=own,
                    note=note,
                )
            )
    return biases


def _buckets(index: Mapping[str, TensorInfo], name: str, config: Mapping[str, Any]) -> int:
    """Return the number of buckets of a stored bias.

    Raises
    ------
    SourceError
        The shape is not that of a bias, or of this configuration.
    """
    shape = index[name].shape
    n_buckets = first_int(config, ("relative_attention_num_buckets",))
    sound = len(shape) == 2 and shape[0] >= 4 and 0 < shape[1] <= MAX_HEADS
    if sound and (n_buckets is None or shape[0] == n_buckets):
        return shape[0]
    expected = "buckets" if n_buckets is None else n_buckets
    raise SourceError(
        f"{name} should have shape ({expected}, heads) by config.json, with at least 4 buckets and "
        f"at most {MAX_HEADS:,} heads, got {shape}.",
        RIGHT,
    )


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return tensors' names sorted by their numbers, layer 2 before layer 10."""
    return tuple(sorted(names, key=lambda name: [int(n) for n in re.findall(r"\d{1,15}", name)]))


def _side_of(name: str) -> Literal["", "encoder", "decoder"]:
    """Return the part of the model whose bias a tensor is; "" if it is not one of T5's kind."""
    # T5's first checkpoints have a bias between decoder and encoder, which is not used. Those of
    # other codes, such as WavLM's and x-transformers', have buckets or factors of their own.
    if not _OF_T5.search(name):
        return ""
    return "decoder" if "decoder" in name else "encoder"
