"""The input, queries and keys of one layer's attention."""

from __future__ import annotations

import math

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.block_norm import BlockNorm
from geometry.models.layers import FULL, Layers
from geometry.models.matrices import WeightName, orient_bias
from geometry.models.parts import does_not_fit, read_part
from geometry.models.stack import Stack
from geometry.pca.components import Array


class AttentionLayer:
    """The self-attention of one layer: norms, maps, biases, scale and window before its softmax.

    Parameters
    ----------
    layers
        The checkpoint's layers.
    layer
        From 0.

    Raises
    ------
    TensorUnavailable
        There is no such layer.
    """

    def __init__(self, layers: Layers, layer: int = 0) -> None:
        self.layer = layer
        self._layers, self._store = layers, layers.store
        self._config = layers.architecture.config
        self._stack: Stack = layers.stack(layer)

    @property
    def n_heads(self) -> int:
        """Number of query heads.

        Raises
        ------
        TensorUnavailable
            The configuration lacks it.
        """
        heads = self._layers.n_heads
        if heads is None or heads < 1:
            raise TensorUnavailable(
                "The number of heads is not known.",
                "Put the model's config.json in the same folder.",
            )
        return heads

    def scale(self, d_head: int) -> float:
        """Return the factor of the scores q·k before the softmax."""
        unscaled = self._stack.attention_scale == "1"
        if unscaled or self._config.get("scale_attn_weights") is False:
            scale = 1.0
        else:
            scale = 1 / math.sqrt(d_head)
        by_layer = self._config.get("scale_attn_by_inverse_layer_idx") is True
        return scale / (self.layer + 1) if by_layer else scale

    @property
    def window(self) -> tuple[int, int] | None:
        """How far back and ahead a position attends; None if unlimited.

        BigBird's random blocks are not a window: its attention counts as full, as in its module for
        all but long texts.
        """
        if self._stack.window == "some layers":
            kinds = self._config.get("attention_layers")
            size = self._config.get("window_size", 256)
            near = isinstance(kinds, list) and kinds[self.layer : self.layer + 1] == ["local"]
            return (size - 1, 0) if near and type(size) is int and size > 0 else None
        if self._stack.window == "all layers":
            size = self._config.get("attention_window", 512)
            if isinstance(size, list):
                size = size[self.layer] if self.layer < len(size) else None
            return (size // 2, size // 2) if type(size) is int and size > 0 else None
        return None

    # ---- from embeddings to the input of queries and keys --------------------------------------

    def norms(self) -> tuple[BlockNorm | None, BlockNorm | None]:
        """Return the LayerNorm over the sum of embeddings, and the one right before this attention.

        Where the two are the same, as before BERT's first layer, it is the former.

        Raises
        ------
        TensorUnavailable
            The checkpoint lacks one.
        """
        stack = self._stack
        after_blocks = "before}" in stack.attention_norm
        own = "" if after_blocks and self.layer == 0 else stack.attention_norm
        wanted = True
        if stack.sum_norm_if is not None:
            setting, default = stack.sum_norm_if
            wanted = self._config.get(setting, default) is True
        first = self._norm(stack.sum_norm if wanted else "", self._layers.d_model)
        return first, self._norm(own, self._layers.width)

    def _norm(self, suffix: str, width: int | None) -> BlockNorm | None:
        if not suffix:
            return None
        setting, epsilon = self._stack.epsilon
        given = self._config.get(setting) if setting else None
        if isinstance(given, float | int) and not isinstance(given, bool):
            epsilon = float(given)
        centred = not self._stack.root_mean_square
        if self._config.get("layer_norm_elementwise_affine") is False:
            return BlockNorm(None, None, epsilon, centred)
        name = self._layers.name_of(suffix, self.layer).removesuffix("weight")
        # BERT's first checkpoints were converted from TensorFlow, with its names.
        gain = self._vector(width, name + "weight", name + "gamma")
        with_bias = centred and self._config.get("bias") is not False
        bias = self._vector(width, name + "bias", name + "beta") if with_bias else None
        return BlockNorm(gain, bias, epsilon, centred)

    def enter(self, rows: Array) -> Array:
        """Map (n, d_embedding) rows to the layers' size, as the family does with positions.

        Raises
        ------
        TensorUnavailable
            The map cannot be read, or does not fit the rows.
        """
        matrix = self._layers.embedding_map("positions")
        if matrix is not None:
            name = self._layers.name_of(self._stack.map_in, self.layer)
            bias = name.removesuffix("weight") + "bias"
            if matrix.shape[1] != rows.shape[1]:
                raise does_not_fit(name, matrix.shape, f"{rows.shape[1]} columns")
            rows = rows @ matrix.T
            if bias in self._store.tensors:
                rows = rows + self._vector(len(matrix), bias)
        return rows

    # ---- queries and keys ----------------------------------------------------------------------

    def projection(self, name: WeightName) -> tuple[Array, Array | None]:
        """Read W_Q or W_K, (d_out, d_hidden), and its bias, (d_out,), or None.

        Raises
        ------
        TensorUnavailable
            The checkpoint lacks a tensor of its family.
        """
        weight = self._layers.weight(name, self.layer)
        settings = ("bias", "enable_bias", "use_bias")
        without = any(self._config.get(setting) is False for setting in settings)
        if without or name in self._stack.without_bias:
            return weight, None
        tensor = self._layers.tensor(name, self.layer).removesuffix("weight") + "bias"
        stored = self._vector(None, tensor)
        bias = orient_bias(stored, self._stack, name, self._layers.n_heads, weight.shape[1])
        if bias.shape != weight.shape[:1]:
            raise does_not_fit(tensor, stored.shape, f"{weight.shape[0]} numbers for {name}")
        return weight, bias

    def _vector(self, size: int | None, *names: str) -> Array:
        """Read the vector that has one of these names; of any size if that is None."""
        for name in names:
            if name in self._store.tensors:
                vector: Array = read_part(self._store, name, 1).astype(np.float64)
                if size not in (None, len(vector)):
                    raise does_not_fit(name, vector.shape, f"{size} numbers")
                return vector
        raise TensorUnavailable(f"{names[0]} is not in this checkpoint.", FULL)
