"""Small checkpoints: of given tensors, and of random ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from safetensors.numpy import save_file


def write_model(
    folder: Path,
    config: Mapping[str, object],
    tensors: Mapping[str, np.ndarray],
    dtype: DTypeLike = np.float32,
) -> Path:
    """Write a configuration and tensors of a dtype into a folder, made if need be; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    arrays = {name: np.ascontiguousarray(array, dtype) for name, array in tensors.items()}
    save_file(arrays, folder / "model.safetensors")
    return folder


def gpt2_config(n_positions: int, d_model: int, **more: object) -> dict[str, object]:
    """The configuration of a GPT-2."""
    return {"model_type": "gpt2", "n_positions": n_positions, "n_embd": d_model, **more}


def gpt2_block(d: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors of a GPT-2's block, by name."""
    parts: dict[str, tuple[int, ...]] = {
        "ln_1": (d,),
        "attn.c_attn": (d, 3 * d),
        "attn.c_proj": (d, d),
        "ln_2": (d,),
        "mlp.c_fc": (d, 4 * d),
        "mlp.c_proj": (4 * d, d),
    }
    shapes = {}
    for part, shape in parts.items():
        shapes |= {f"{part}.weight": shape, f"{part}.bias": shape[-1:]}
    return shapes


def write_small_gpt2(
    folder: Path, *, d_model: int = 16, n_positions: int = 64, n_layers: int = 2, tokens: int = 90
) -> Path:
    """Write a GPT-2 of random numbers in a folder: P, E (unless ``tokens`` is 0), two layers.

    It promises one layer more than it has.
    """
    rng = np.random.default_rng(7)
    tensors = {"wpe.weight": rng.normal(size=(n_positions, d_model)) * 0.8 ** np.arange(d_model)}
    if tokens:
        tensors["wte.weight"] = rng.normal(size=(tokens, d_model))
    for layer in range(n_layers):
        for name, shape in (
            ("attn.c_attn", (d_model, 3 * d_model)),
            ("attn.c_proj", (d_model, d_model)),
            ("mlp.c_fc", (d_model, 4 * d_model)),
        ):
            tensors[f"h.{layer}.{name}.weight"] = rng.normal(size=shape)
        biases = np.random.default_rng(layer).normal(size=3 * d_model)
        tensors[f"h.{layer}.attn.c_attn.bias"] = biases
        for norm in ("ln_1", "ln_2"):
            tensors[f"h.{layer}.{norm}.weight"] = rng.uniform(0.5, 1.5, d_model)
            tensors[f"h.{layer}.{norm}.bias"] = rng.normal(size=d_model)
    config = gpt2_config(
        n_positions, d_model, n_head=2, n_layer=n_layers + 1, vocab_size=tokens or 90
    )
    return write_model(folder, config, tensors)


def write_small_llama(
    folder: Path, *, n_positions: int = 64, n_layers: int = 2, d_head: int = 16, **config: Any
) -> Path:
    """Write a rotary model of random queries and keys in a folder, of two heads in each layer."""
    rng, width = np.random.default_rng(7), 2 * d_head
    tensors = {
        f"model.layers.{layer}.self_attn.{name}_proj.weight": rng.normal(size=(width, width))
        for layer in range(n_layers)
        for name in "qk"
    }
    settings = {"model_type": "llama", "hidden_size": width, "num_attention_heads": 2,
                "num_hidden_layers": n_layers, "max_position_embeddings": n_positions,
                "vocab_size": 90, **config}  # fmt: skip
    return write_model(folder, settings, tensors)
