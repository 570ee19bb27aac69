"""The input, queries and keys of one layer's attention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from geometry.checkpoints.config import first_int, flag, positive, unusable
from geometry.measures.block_norm import BlockNorm
from geometry.models.families.code_families import CODES
from geometry.models.families.stack import Stack
from geometry.models.layers import Layers, bias_of, vector_names
from geometry.models.matrices import WeightName, orient_bias
from geometry.models.parts import does_not_fit
from geometry.pca.components import Array


def epsilon_of(stack: Stack, config: Mapping[str, Any]) -> float:
    """Return the epsilon of a family's LayerNorm. Raises SourceError if it is not a number."""
    setting, usual = stack.epsilon
    given = config.get(setting) if setting else None
    return usual if given is None else positive(setting, given)


def local_window(config: Mapping[str, Any]) -> int:
    """Return the window of a local layer of GPT-Neo. Raises SourceError if it is invalid."""
    return first_int(config, ("window_size",), minimum=1) or 256


def kinds_of_layers(config: Mapping[str, Any], n_layers: int) -> list[str]:
    """Return "local" or "global" for each layer of GPT-Neo. Raises SourceError if invalid."""
    kinds, key = config.get("attention_layers"), "attention_layers"
    if kinds is None:
        kinds, key = config.get("attention_types"), "attention_types"
        if kinds is None:
            return [("global", "local")[layer % 2] for layer in range(n_layers)]
        try:  # pairs of kinds and their number of repetitions
            kinds = [k for some, n in kinds for _ in range(min(n, n_layers)) for k in some]
        except (TypeError, ValueError):
            kinds = None
    enough = isinstance(kinds, list) and len(kinds) >= n_layers
    if kinds is None or not enough or any(kind not in ("global", "local") for kind in kinds):
        raise unusable(key, config[key], "“global” or “local” for each layer")
    return list(kinds)


def window_of_layer(config: Mapping[str, Any], layer: int) -> int:
    """Return the width of Longformer's window in a layer. Raises SourceError if there is none."""
    given = config.get("attention_window")
    given = 512 if given is None else given
    size = given[layer] if isinstance(given, list) and layer < len(given) else given
    if type(size) is not int or size < 1:
        raise unusable("attention_window", given, "a whole number above 0 for each layer")
    return size


class AttentionLayer:
    """The self-attention of a layer: norms, maps, biases, scale and window before its softmax.

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
        self._layers = layers
        self._config = layers.architecture.config
        self._stack: Stack = layers.stack(layer)

    def scale(self, d_head: int) -> float:
        """Return the factor of the scores q·k before the softmax."""
        unscaled = self._stack.attention_scale == "1"
        if unscaled or not flag(self._config, "scale_attn_weights", default=True):
            scale = 1.0
        else:
            scale = 1 / math.sqrt(d_head)
        by_layer = flag(self._config, "scale_attn_by_inverse_layer_idx")
        return scale / (self.layer + 1) if by_layer else scale

    @property
    def window(self) -> tuple[int, int] | None:
        """Number of earlier and later positions that a position attends to; None if unlimited.

        BigBird's random blocks are not a window: its attention counts as full, as in its module
        except for long texts.
        """
        if self._stack.window == "some layers":
            kinds = kinds_of_layers(self._config, self.layer + 1)
            near = kinds[self.layer] == "local"
            return (local_window(self._config) - 1, 0) if near else None
        if self._stack.window == "all layers":
            half = window_of_layer(self._config, self.layer) // 2
            return half, half
        return None

    # ---- from embeddings to the input of queries and keys --------------------------------------

    def norms(self) -> tuple[BlockNorm | None, BlockNorm | None]:
        """Return the LayerNorm over the sum of embeddings, and that directly before this attention.

        If the two are the same, as before BERT's first layer, it is the former.

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
            wanted = flag(self._config, setting, default=default)
        wanted = wanted and self._has(self._layers.name_of(stack.sum_norm, self.layer))
        first = self._norm(stack.sum_norm if wanted else "", self._layers.d_model)
        return first, self._norm(own, self._layers.width)

    def _norm(self, suffix: str, width: int | None) -> BlockNorm | None:
        if not suffix:
            return None
        self._layers.check_norms(self._stack)
        epsilon = epsilon_of(self._stack, self._config)
        kind = str(self._config.get("normalization_type", ""))  # of TransformerLens
        centred = not (self._stack.root_mean_square or kind.startswith("RMS"))
        if not flag(self._config, "layer_norm_elementwise_affine", default=True):
            return BlockNorm(None, None, epsilon, centred)
        name = self._layers.name_of(suffix, self.layer)
        if self._layers.folded(suffix, self.layer):
            return BlockNorm(None, None, epsilon, centred) if self._layers.has_norms else None
        gain = self._layers.gain(name, width)
        bias = None
        if centred and flag(self._config, "bias", default=True) and self._has(bias_of(name)):
            bias = self._layers.vector(bias_of(name), width)
        return BlockNorm(gain, bias, epsilon, centred)

    def _has(self, name: str) -> bool:
        """Return whether there is a bias or norm: codes other than transformers may lack it.

        A model without a ``model_type`` may be of another code, whatever family it is read as.
        """
        stored = self._layers.store.tensors
        own = self._layers.architecture.family not in CODES and self._config.get("model_type")
        return bool(own) or any(other in stored for other in vector_names(name))

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
            bias = bias_of(name)
            if matrix.shape[1] != rows.shape[1]:
                raise does_not_fit(name, matrix.shape, f"{rows.shape[1]} columns")
            rows = rows @ matrix.T
            if bias in self._layers.store.tensors:
                rows = rows + self._layers.vector(bias, len(matrix))
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
        without = not all(
            flag(self._config, key, default=True) for key in ("bias", "enable_bias", "use_bias")
        )
        if without or name in self._stack.without_bias:
            return weight, None
        matrix = self._layers.tensor(name, self.layer)
        tensor = bias_of(matrix)
        if not self._has(tensor):
            own = f"{matrix.removesuffix('qkv.weight')}{name[-1].lower()}_bias"  # of timm's EVA
            separate = own in self._layers.store.tensors
            return weight, self._layers.vector(own, len(weight)) if separate else None
        stored = self._layers.vector(tensor)
        bias = orient_bias(stored, self._stack, name, self._layers.n_heads, weight.shape[1])
        if bias.shape != weight.shape[:1]:
            raise does_not_fit(tensor, stored.shape, f"{weight.shape[0]} numbers for {name}")
        return weight, bias
