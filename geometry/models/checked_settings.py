"""Validation, on opening, of settings that are used later."""

from __future__ import annotations

from geometry.checkpoints.config import flag
from geometry.models.attention_layer import (
    epsilon_of,
    kinds_of_layers,
    local_window,
    window_of_layer,
)
from geometry.models.families.names import names_in
from geometry.models.layers import GAINS_LESS_1, Layers

FLAGS = names_in("""
    bias enable_bias is_decoder layer_norm_elementwise_affine scale_attn_by_inverse_layer_idx
    scale_attn_weights scale_embedding tie_word_embeddings token_dropout use_bias
""")
"""Boolean settings."""


def check_settings(layers: Layers) -> None:
    """Check the settings of a tower's tokens, layers and norms.

    Raises
    ------
    SourceError
        A setting is invalid, which would end a report or a panel later.
    """
    place, config = layers.architecture, layers.architecture.config
    if not config:
        return
    for key in ("vocab_size", "type_vocab_size", "num_hidden_groups"):
        place.setting(key)
    _ = layers.count, layers.n_heads, layers.width, layers.neurons, layers.d_head
    for key in (*FLAGS, GAINS_LESS_1):
        flag(config, key)
    if place.stack is None:
        return
    epsilon_of(place.stack, config)
    if place.stack.sum_norm_if is not None:
        flag(config, place.stack.sum_norm_if[0])
    if place.stack.window == "some layers":
        local_window(config)
        kinds_of_layers(config, layers.count or 0)
    elif place.stack.window == "all layers":
        for layer in range(layers.count or 0):
            window_of_layer(config, layer)
