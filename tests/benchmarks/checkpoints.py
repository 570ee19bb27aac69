"""Checkpoints in the shape of GPT-2 small and GPT-2 XL, made for the benchmarks."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_pca import read_table

VOCABULARY, POSITIONS = 50257, 1024


@dataclass(frozen=True)
class Shape:
    """Size of a GPT-2."""

    name: str
    n_layer: int
    d_model: int
    n_head: int


SMALL = Shape("gpt2-small", 12, 768, 12)
XL = Shape("gpt2-xl", 48, 1600, 25)


def write_gpt2(folder: Path, shape: Shape, *, sparse: bool) -> Path:
    """Write a checkpoint folder whose positions are GPT-2 small's (or like them).

    Parameters
    ----------
    folder
        Where to make it.
    shape
        Names and shapes of all tensors are those of the original file.
    sparse
        Leave everything but the positions a hole in the file, which takes no room on the disk:
        for one that is opened by us and never loaded in full. Else all weights are random.
    """
    folder = folder / shape.name
    folder.mkdir()
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_positions": POSITIONS,
        "n_ctx": POSITIONS, "n_embd": shape.d_model, "n_layer": shape.n_layer,
        "n_head": shape.n_head, "vocab_size": VOCABULARY,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    shapes = _tensors(shape)
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, dimensions in shapes.items():
        start, end = end, end + 4 * math.prod(dimensions)
        header[name] = {"dtype": "F32", "shape": dimensions, "data_offsets": [start, end]}
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    noise = 0.02 * np.random.default_rng(1).standard_normal(1 << 22).astype(np.float32)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(raw).to_bytes(8, "little") + raw)
        for name, dimensions in shapes.items():
            count = math.prod(dimensions)
            if name == "wpe.weight":
                file.write(_positions(shape.d_model).tobytes())
            elif sparse:
                file.seek(4 * count, os.SEEK_CUR)
            else:
                for start in range(0, count, noise.size):
                    file.write(noise[: min(noise.size, count - start)].tobytes())
        file.truncate(8 + len(raw) + end)
    return folder


def _tensors(shape: Shape) -> dict[str, list[int]]:
    d = shape.d_model
    tensors = {"wpe.weight": [POSITIONS, d], "wte.weight": [VOCABULARY, d]}
    for i in range(shape.n_layer):
        block = {
            "ln_1.weight": [d], "ln_1.bias": [d], "attn.bias": [1, 1, POSITIONS, POSITIONS],
            "attn.c_attn.weight": [d, 3 * d], "attn.c_attn.bias": [3 * d],
            "attn.c_proj.weight": [d, d], "attn.c_proj.bias": [d],
            "ln_2.weight": [d], "ln_2.bias": [d],
            "mlp.c_fc.weight": [d, 4 * d], "mlp.c_fc.bias": [4 * d],
            "mlp.c_proj.weight": [4 * d, d], "mlp.c_proj.bias": [d],
        }  # fmt: skip
        tensors |= {f"h.{i}.{name}": dimensions for name, dimensions in block.items()}
    # In the original file P lies between the other tensors and not at its beginning.
    tensors["wpe.weight"] = tensors.pop("wpe.weight")
    return tensors | {"ln_f.weight": [d], "ln_f.bias": [d]}


def _positions(d_model: int) -> np.ndarray:
    """Positions of GPT-2's shape, in a wider space where the model is wider."""
    _, table = read_table()
    if d_model > table.shape[1]:
        random = np.random.default_rng(2)
        basis = np.linalg.qr(random.standard_normal((d_model, table.shape[1])))[0]
        table = table @ basis.T + 0.002 * random.standard_normal((len(table), d_model))
    return np.ascontiguousarray(table, dtype=np.float32)
