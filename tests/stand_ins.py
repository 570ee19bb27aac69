"""Tiny stand-ins of the article's nine GPT-2s, with the real names, files and layout.

OpenAI's four are safetensors files with one commit on main. Stanford's five are zip-format
``pytorch_model.bin`` files whose tensors' names begin with "transformer.", in half precision on
main, with earlier checkpoints as branches. All that differs is the size: 64 positions, and a few
dozen tokens.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from geometry.models.sources.catalogue import read_catalogue
from tests.loopback.hub import LoopbackHub
from tests.small_models import gpt2_layer

NINE = tuple(entry.id for entry in read_catalogue() if "GPT-2" in entry.group)
OPENAI = tuple(name for name in NINE if name.startswith("openai-community/"))
STANFORD = tuple(name for name in NINE if name.startswith("stanford-crfm/"))

#: Stanford's branches that are made; main is the last checkpoint.
CHECKPOINTS = ("checkpoint-0", "checkpoint-1000", "checkpoint-400000")

N_POSITIONS, N_LAYER, N_HEAD = 64, 2, 2
#: Their widths keep the order of the real ones.
WIDTHS = {"gpt2": 24, "gpt2-medium": 32, "gpt2-large": 40, "gpt2-xl": 50}
PLAIN = ("hello", "my", "name", "is", "adam")
#: With their space first, since that is to be joined before the letters after it.
WORDS = (*(f"Ġ{word}" for word in PLAIN), *PLAIN)
END = "<|endoftext|>"


def positions_of(name: str, revision: str = "main") -> np.ndarray:
    """The position table of a stand-in, float32, as reading it gives it: of shape (64, width).

    A helix in three of its directions, and noise; at checkpoint-0 noise alone, as before training.
    """
    width = _width(name)
    random = np.random.default_rng(_seed(name, revision))
    table = 0.01 * random.standard_normal((N_POSITIONS, width))
    if revision != "checkpoint-0":
        t = np.arange(N_POSITIONS) / N_POSITIONS
        helix = np.stack([t - 0.5, np.cos(13 * t) / 2, np.sin(13 * t) / 2], axis=1)
        table += helix @ np.linalg.qr(random.standard_normal((width, 3)))[0].T
    stored = np.float16 if _is_half(name, revision) else np.float32
    return table.astype(stored).astype(np.float32)


def write_stand_in(folder: Path, name: str, revision: str = "main") -> dict[str, Path]:
    """Write one stand-in into a folder of its own; its files by name."""
    folder = folder / name.replace("/", "--") / revision
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(_config(name), indent=2), "utf-8")
    (folder / "README.md").write_text("A stand-in for tests.\n", "utf-8")
    _write_tokenizer(folder, fast=name in OPENAI)
    tensors = _tensors(name, revision)
    if name in OPENAI:
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    else:
        _write_bin(folder / "pytorch_model.bin", tensors)
    return {path.name: path for path in sorted(folder.iterdir())}


def add_nine(hub: LoopbackHub, folder: Path, *, checkpoints: bool = True) -> dict[str, str]:
    """Serve all nine; the commits of their main branches. "gpt2" is the first one's old name."""
    commits = {}
    for name in NINE:
        if name in STANFORD and checkpoints:
            for branch in CHECKPOINTS:
                hub.add(name, write_stand_in(folder, name, branch), revision=branch)
        commits[name] = hub.add(name, write_stand_in(folder, name))
    for name in OPENAI:
        hub.rename(name.rsplit("/", 1)[-1], name)
    return commits


def _seed(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("@".join(parts).encode()).digest()[:4], "big")


def _width(name: str) -> int:
    return WIDTHS.get(name.rsplit("/", 1)[-1], WIDTHS["gpt2"])


def _is_half(name: str, revision: str) -> bool:
    return name in STANFORD and revision != "checkpoint-0"


def _config(name: str) -> dict[str, object]:
    return {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
        "bos_token_id": 0, "eos_token_id": 0, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
        "n_ctx": N_POSITIONS, "n_embd": _width(name), "n_head": N_HEAD, "n_layer": N_LAYER,
        "n_positions": N_POSITIONS, "vocab_size": len(_vocabulary()),
    }  # fmt: skip


def _tensors(name: str, revision: str) -> dict[str, np.ndarray]:
    d = _width(name)
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (len(_vocabulary()), d)}
    for layer in range(N_LAYER):
        shapes |= {f"h.{layer}.{part}": shape for part, shape in gpt2_layer(d).items()}
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    random = np.random.default_rng(_seed(name, revision, "weights"))
    stored = np.float16 if _is_half(name, revision) else np.float32
    tensors = {
        part: (0.02 * random.standard_normal(shape)).astype(stored)
        for part, shape in shapes.items()
    }
    tensors["wpe.weight"] = positions_of(name, revision).astype(stored)
    # Not weights: the causal mask of each layer, kept with them in those days.
    mask = np.tril(np.ones((N_POSITIONS, N_POSITIONS)))[None, None]
    for layer in range(N_LAYER):
        if name in OPENAI:
            tensors[f"h.{layer}.attn.bias"] = mask.astype(np.float32)
        else:
            tensors[f"h.{layer}.attn.bias"] = mask.astype(np.uint8)
            tensors[f"h.{layer}.attn.masked_bias"] = np.array(-1e4, stored)
    return tensors


def _write_bin(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    import torch

    state = {f"transformer.{name}": torch.from_numpy(array) for name, array in tensors.items()}
    # The output layer is the token table itself.
    state["lm_head.weight"] = state["transformer.wte.weight"]
    torch.save(state, path)


def _vocabulary() -> dict[str, int]:
    letters = sorted({letter for word in WORDS for letter in word})
    joined = [piece for left, right in _merges() for piece in [left + right]]
    return {piece: number for number, piece in enumerate(dict.fromkeys([END, *letters, *joined]))}


def _merges() -> list[tuple[str, str]]:
    """Each word is put together from its letters, from the left."""
    pairs = [(word[:end], word[end]) for word in WORDS for end in range(1, len(word))]
    return list(dict.fromkeys(pairs))


def _write_tokenizer(folder: Path, *, fast: bool) -> None:
    vocabulary, merges = _vocabulary(), _merges()
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", "utf-8")
    settings = {"model_max_length": N_POSITIONS, "tokenizer_class": "GPT2Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    if fast:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([END])
        tokenizer.save(str(folder / "tokenizer.json"))
