"""Checkpoints in the shape of GPT-2 small and GPT-2 XL, made for the benchmarks."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_pca import read_table
from safetensors.numpy import save_file

from tests import true_sizes


class Shape(NamedTuple):
    """Size of a GPT-2."""

    name: str
    n_layer: int
    d_model: int


SMALL = Shape("gpt2-small", 12, 768)
XL = Shape("gpt2-xl", 48, 1600)


def write_gpt2(folder: Path, shape: Shape, *, sparse: bool) -> Path:
    """Write a checkpoint folder with all tensors of the original, its positions GPT-2 small's.

    A sparse one has a hole in the file for everything else, which takes no room on the disk: for
    what is opened by us and never loaded in full. Else all weights are random.
    """
    noise = 0.02 * np.random.default_rng(1).standard_normal(1 << 22).astype(np.float32)
    true_sizes.write_gpt2(
        folder / shape.name, shape.n_layer, shape.d_model, _positions(shape.d_model),
        noise=None if sparse else noise,
    )  # fmt: skip
    return folder / shape.name


def write_tensors(folder: Path, tensors: dict[str, np.ndarray]) -> None:
    """Write the positions and some more tensors of a GPT-2 small, in single precision."""
    true_sizes.write_config(folder, SMALL.n_layer, SMALL.d_model)
    tensors = {"wpe.weight": read_table()[1], **tensors}
    arrays = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    save_file(arrays, folder / "model.safetensors")


def _positions(d_model: int) -> np.ndarray:
    """Positions of GPT-2's shape, in a wider space where the model is wider."""
    _, table = read_table()
    if d_model > table.shape[1]:
        random = np.random.default_rng(2)
        basis = np.linalg.qr(random.standard_normal((d_model, table.shape[1])))[0]
        table = table @ basis.T + 0.002 * random.standard_normal((len(table), d_model))
    return np.ascontiguousarray(table, dtype=np.float32)
