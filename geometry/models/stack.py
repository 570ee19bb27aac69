"""A row of the family table: one tower of layers, and where its tensors are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from geometry.measures.sinusoids import Sinusoid

#: How W_Q, W_K and W_V lie in one stored matrix, along its output axis.
Fused = Literal["side by side", "by head", "multi-query"]

#: What attention scores are multiplied by, if the configuration does not say otherwise.
Scale = Literal["1/sqrt(d_head)", "1"]

#: Which positions beside a query's own its layer reads, where these are not all.
Window = Literal["some layers", "all layers"]


@dataclass(frozen=True, slots=True)
class Stack:
    """One row of the table.

    Attributes
    ----------
    positions
        Suffix of P; "" where a family never stores it.
    tokens
        Suffixes of E; the first one present counts.
    query, key, value, out, fan_out
        W_Q, W_K, W_V, W_O and W_in of a layer; ``{layer}`` is its number, ``{group}`` ALBERT's
        shared group. With ``fused``, ``query`` names the matrix that holds all three.
    attention_norm, mlp_norm
        The LayerNorm that the attention and the MLP read from ("" for none); ``{before}`` is the
        layer before.
    embedding_norm
        What the first layer reads instead, where LayerNorm comes after each block; "" for none, or
        where a map to the hidden size comes between.
    sum_norm
        The LayerNorm over the sum of embeddings, whatever comes between it and the first layer;
        ``sum_norm_if`` is the setting that must be true for it, and its default.
    epsilon
        The setting for what LayerNorm adds to the variance ("" for none), and its default.
    root_mean_square
        LayerNorm does not centre, and adds no bias.
    without_bias
        The weights of queries and keys that no bias goes with; those of all others do.
    window
        How the configuration tells of layers that attend to near positions only.
    conv1d
        Matrices are stored (in, out) as in GPT-2, not (out, in) as in ``nn.Linear``.
    row_of_position_0
        Row of P that belongs to position 0; None for padding_idx + 1.
    computed
        A fixed sinusoid: labelled so, and computed by this formula where it is not stored.
    alone
        There is no model around the table: neither tokens nor layers.
    map_in
        The matrix from embedding size to hidden size, where they differ; ``map_positions`` tells
        whether positions pass through it too.
    scaled_tokens
        Whether token embeddings are multiplied by √d_model before positions are added, where the
        configuration's ``scale_embedding`` does not say; None where the family has no such setting.
    begin
        Put the beginning-of-text token first even though the family's tokenizer does not.
    variants
        Setting of the configuration, its value, and the row that then counts instead.
    """

    positions: str
    tokens: tuple[str, ...]
    query: str
    key: str
    value: str
    out: str
    fan_out: str
    attention_norm: str
    mlp_norm: str
    embedding_norm: str = ""
    sum_norm: str = ""
    sum_norm_if: tuple[str, bool] | None = None
    epsilon: tuple[str, float] = ("", 1e-5)
    root_mean_square: bool = False
    without_bias: tuple[str, ...] = ()
    window: Window | None = None
    side: Literal["decoder", "encoder"] = "decoder"
    causal: bool = True
    conv1d: bool = False
    fused: Fused | None = None
    row_of_position_0: int | None = 0
    computed: Sinusoid | None = None
    alone: bool = False
    attention_scale: Scale = "1/sqrt(d_head)"
    map_in: str = ""
    map_positions: bool = False
    scaled_tokens: bool | None = None
    begin: bool = False
    variants: tuple[tuple[str, bool, Stack], ...] = ()

    def for_config(self, config: Mapping[str, Any]) -> Stack:
        """Return the row that counts under this configuration."""
        for setting, value, row in self.variants:
            if config.get(setting) is value:
                return row
        return self


#: The row of a table that is computed and opened by itself.
ALONE = Stack(
    positions="", tokens=(), query="", key="", value="", out="", fan_out="", attention_norm="",
    mlp_norm="", causal=False, alone=True,
)  # fmt: skip
