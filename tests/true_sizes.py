"""GPT-2 checkpoints whose tables of positions have their true sizes, in files of true layouts.

The safetensors files are as large as the real ones, but sparse: only P's bytes take room. What is
asked of a Hub that serves them is what would be asked of the real one.
"""

import json
import math
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.small_models import gpt2_layer

#: Layers and width; a head has 64 of that.
SHAPES = {
    "openai-community/gpt2": (12, 768),
    "openai-community/gpt2-medium": (24, 1024),
    "openai-community/gpt2-large": (36, 1280),
    "openai-community/gpt2-xl": (48, 1600),
    "stanford-crfm/alias-gpt2-small-x21": (12, 768),
}
N_POSITIONS, D_VOCAB = 1024, 50257


def true_positions(name: str) -> np.ndarray:
    """P of a model: (1024, width) float32."""
    width = SHAPES[name][1]
    return np.random.default_rng(width).standard_normal((N_POSITIONS, width), dtype=np.float32)


def write_true_size(folder: Path, name: str) -> dict[str, Path]:
    """Write a checkpoint of the kind that its organisation publishes; its files by name."""
    if name.startswith("openai"):
        write_gpt2(folder, *SHAPES[name], true_positions(name))
    else:
        write_config(folder, 1, SHAPES[name][1])
        _write_bin(folder / "pytorch_model.bin", name)
    return {path.name: path for path in sorted(folder.iterdir())}


def write_config(folder: Path, layers: int, width: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_positions": N_POSITIONS,
        "n_ctx": N_POSITIONS, "n_embd": width, "n_layer": layers, "n_head": width // 64,
        "vocab_size": D_VOCAB,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")


def write_gpt2(
    folder: Path, layers: int, width: int, positions: np.ndarray, *, noise: np.ndarray | None = None
) -> None:
    """Write a GPT-2 with these positions; everything else is a hole, or filled with noise."""
    write_config(folder, layers, width)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end, sizes = 0, {name: 4 * math.prod(shape) for name, shape in tensors(layers, width)}
    for name, shape in tensors(layers, width):
        begin, end = end, end + sizes[name]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, size in sizes.items():
            if name == "wpe.weight":
                file.write(positions.tobytes())
            elif noise is None:
                file.seek(size, 1)
            else:
                for start in range(0, size, noise.nbytes):
                    file.write(noise.data.cast("B")[: size - start])
        file.truncate(8 + len(text) + end)


def tensors(layers: int, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes in the order of OpenAI's files: by name."""
    block = {"attn.bias": (1, 1, N_POSITIONS, N_POSITIONS), **gpt2_layer(width)}
    for layer in sorted(range(layers), key=str):
        for part, shape in sorted(block.items()):
            yield f"h.{layer}.{part}", shape
    yield "ln_f.bias", (width,)
    yield "ln_f.weight", (width,)
    yield "wpe.weight", (N_POSITIONS, width)
    yield "wte.weight", (D_VOCAB, width)


def _write_bin(path: Path, name: str) -> None:
    """Write what torch.save of version 1 wrote: no byte order, no format version.

    Only some of its tensors: it cannot be sparse.
    """
    import torch

    width = SHAPES[name][1]
    zeros = {"wte.weight": (2_000, width), "h.0.attn.c_attn.weight": (width, 3 * width)}
    tensors = {tensor: torch.zeros(shape) for tensor, shape in zeros.items()}
    tensors["wpe.weight"] = torch.from_numpy(true_positions(name))
    torch.save({f"transformer.{tensor}": value for tensor, value in tensors.items()}, path)
    with zipfile.ZipFile(path) as made:
        records = {entry: made.read(entry) for entry in made.namelist()}
    with zipfile.ZipFile(path, "w") as old:
        for entry, data in records.items():
            if entry.endswith(("/data.pkl", "/version")) or "/data/" in entry:
                old.writestr(entry, data)
