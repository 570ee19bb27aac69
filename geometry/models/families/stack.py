"""A row of the family table: a tower of layers, and the names of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from geometry.checkpoints.config import flag
from geometry.measures.sinusoids import Sinusoid
from geometry.models.families.names import by_name, names_in

Fused = Literal["side by side", "in thirds", "by head", "multi-query"]
"""Layout of W_Q, W_K and W_V in a fused matrix, along its output axis; "in thirds": side by side,
and heads together may be larger or smaller than the states."""

Scale = Literal["1/sqrt(d_head)", "1"]
"""Default factor of attention scores, if the configuration has none."""

Side = Literal["decoder", "encoder", "text", "vision"]
"""The part of a model that a stack is."""

Resizing = Literal[
    "",
    "bicubic",
    "bicubic, antialiased",
    "bilinear",
    "bilinear, antialiased",
    "bilinear, corners aligned",
    "bilinear, cut",
    "nearest",
    "buckets",
    "steps",
    "tiled",
]
"""How a family resizes its table of patches for a picture of another size; "" if its code does not.
"buckets": the row at the fraction of the side before a patch; "steps": the same with the patch's
share rounded first; "cut": cropped from a square, at its upper left corner; "tiled": repeated."""

Window = Literal["some layers", "all layers"]
"""The layers that attend only to near positions."""
_WINDOW_SETTINGS: dict[Window | None, tuple[str, ...]] = {
    "some layers": ("attention_layers", "window_size"),
    "all layers": ("attention_window",),
}
_OF_LAYERS = names_in("query key value out fan_out attention_norm mlp_norm embedding_norm sum_norm")
"""Fields with the name of a tensor of a layer, or of a LayerNorm before the first one."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A row of the family table.

    Attributes
    ----------
    positions
        Suffix of P; "" if a family never stores it.
    tokens
        Suffixes of E; the first one present is used.
    no_tokens
        The reason if ``tokens`` is empty.
    query, key, value, out, fan_out
        Suffixes of W_Q, W_K, W_V, W_O and W_in of a layer; ``{layer}`` is its number, ``{twice}``
        and ``{twice_after}`` that of its attention and of its MLP where these are numbered
        together, ``{thrice}`` and ``{thrice_after}`` where attention to another part of the model
        is numbered between them, ``{group}`` ALBERT's shared group. With ``fused``, ``query`` names
        the matrix with W_Q, W_K and W_V. All are "" if only the table of a family is read.
    attention_norm, mlp_norm
        The LayerNorm before the attention and the MLP ("" for none); ``{before}`` is the previous
        layer.
    folds
        Whether gains and biases of norms may have been folded into the matrices behind them, so
        that a norm without them is not stored.
    norms_unknown
        Why it is not known what these do; "" where it is known.
    embedding_norm
        The LayerNorm before the first layer, if LayerNorm comes after each block; "" for none, or
        if a map to the hidden size comes between.
    sum_norm
        The LayerNorm over the sum of embeddings, even if a map follows it;
        ``sum_norm_if`` is the setting that must be true for it, and its default.
    epsilon
        The setting of LayerNorm's epsilon ("" for none), and its default.
    root_mean_square
        Whether LayerNorm is RMSNorm, without centring and bias.
    without_bias
        The weights of queries and keys without a bias; all others have one.
    window
        How the configuration describes layers that attend only to near positions; None for none.
    conv1d
        Whether matrices are stored (in, out) as in GPT-2, not (out, in) as in ``nn.Linear``.
    row_of_position_0
        Row of P for position 0; None for padding_idx + 1.
    padding
        padding_idx, if the configuration has none; -1 if it is unknown whether there is any.
    rows_before, rows_after
        The setting with the number of rows before position 0, or after the last position ("" for
        none), and its default; None if the configuration does not have it.
    computed
        Formula of a fixed sinusoid, used if the table is not stored; None for learned tables.
    patches
        Whether the rows after the first ones, of class tokens, are the patches of a picture, row by
        row.
    used_if
        The setting that must be true for the table to be added, and its default; None if it is
        always added.
    resizing
        How the table of patches is resized for pictures of another size.
    alone
        Whether there is only a table, without tokens and layers.
    inside
        Whether the positions act inside attention, and not in the residual stream.
    map_in
        The matrix from embedding size to hidden size, if they differ; ``map_positions``: whether
        positions pass through it too.
    divided
        Whether positions are divided by √d_model before they are added.
    scaled_tokens
        Whether token embeddings are multiplied by √d_model before positions are added, if the
        configuration lacks ``scale_embedding``; None if the family has no such setting.
    begin
        Whether to prepend the beginning-of-text token, which the tokenizer does not.
    marks
        Suffixes of other tensors of every checkpoint of the family, by which it is recognised
        without a configuration. A leading star marks a tensor that no other family has, anywhere in
        the checkpoint; a leading "!" one that this family never has.
    variants
        A setting of the configuration, its value, and the row to use in that case.
    """

    positions: str
    tokens: tuple[str, ...]
    query: str = ""
    key: str = ""
    value: str = ""
    out: str = ""
    fan_out: str = ""
    attention_norm: str = ""
    mlp_norm: str = ""
    folds: bool = False
    norms_unknown: str = ""
    embedding_norm: str = ""
    sum_norm: str = ""
    sum_norm_if: tuple[str, bool] | None = None
    epsilon: tuple[str, float] = ("", 1e-5)
    root_mean_square: bool = False
    without_bias: tuple[str, ...] = ()
    window: Window | None = None
    side: Side = "decoder"
    causal: bool = True
    conv1d: bool = False
    fused: Fused | None = None
    row_of_position_0: int | None = 0
    padding: int = 1
    rows_before: tuple[str, int] | None = None
    rows_after: tuple[str, int] | None = None
    computed: Sinusoid | None = None
    patches: bool = False
    used_if: tuple[str, bool] | None = None
    resizing: Resizing = ""
    alone: bool = False
    inside: bool = False
    attention_scale: Scale = "1/sqrt(d_head)"
    map_in: str = ""
    map_positions: bool = False
    divided: bool = False
    scaled_tokens: bool | None = None
    begin: bool = False
    no_tokens: str = "this part of the model reads no tokens"
    marks: tuple[str, ...] = ()
    variants: tuple[tuple[str, bool | str, Stack], ...] = ()

    @property
    def layers_known(self) -> bool:
        """Whether the names of the layers' tensors are known, not only that of the table."""
        return bool(self.query)

    def for_config(self, config: Mapping[str, Any]) -> Stack:
        """Return the row for this configuration."""
        for setting, value, row in self.variants:
            if isinstance(value, bool):
                fits = flag(config, setting, default=not value) is value
            else:
                fits = config.get(setting) == value
            if fits:
                return row
        return self

    @property
    def settings(self) -> tuple[str, ...]:
        """Settings of a configuration for which this row has default values."""
        own = [self.epsilon[0], *(setting for setting, _, _ in self.variants)]
        own += [setting[0] for setting in (self.sum_norm_if, self.rows_before) if setting]
        own += ["scale_embedding"] * (self.scaled_tokens is not None)
        own += ["pad_token_id"] * (self.row_of_position_0 is None)
        own += _WINDOW_SETTINGS.get(self.window, ())
        return tuple(setting for setting in own if setting)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of the names of the first layer's tensors, norms, maps and marks."""
        own = [getattr(self, field) for field in (*_OF_LAYERS, "map_in")]
        own += [mark for mark in self.marks if not mark.startswith("!")]
        named = dict.fromkeys(filter(None, own))
        return tuple(in_layer(suffix, 0, before=0) for suffix in named)


def in_layer(suffix: str, layer: int, **others: int) -> str:
    """Return the suffix of a tensor in a layer; ``others`` replace further numbers in it."""
    numbers = {"before": layer - 1, "twice": 2 * layer, "twice_after": 2 * layer + 1, "group": 0}
    numbers |= {"thrice": 3 * layer, "thrice_after": 3 * layer + 2, "group_before": 0}
    return suffix.format(layer=layer, **{**numbers, **others})


def only_table(row: Stack, **changes: Any) -> Stack:
    """Return a row without the names of its layers, for families with other layers."""
    bare: dict[str, Any] = {**dict.fromkeys(_OF_LAYERS, ""), "fused": None, "marks": ()}
    return replace(row, **{**bare, **changes})


def families(
    rows: Mapping[str, Stack | tuple[Stack, ...]],
) -> Mapping[str, tuple[Stack, ...]]:
    """Return the stacks of each name; see :func:`geometry.models.families.names.by_name`."""
    return by_name({key: row if isinstance(row, tuple) else (row,) for key, row in rows.items()})


TABLE_ALONE = "of this family only the table of positions is read, and not its layers"
"""Reason why a family of which only the table is read has no matrices."""

ALONE = Stack(positions="", tokens=(), causal=False, alone=True)
"""The row of a computed table without a model."""
INSIDE = replace(ALONE, causal=True, inside=True)
"""The row of a model whose positions act only inside attention: rotary ones, biases by lag."""
NOT_ADDED = "its positions act inside attention, and are not added to the residual stream"
