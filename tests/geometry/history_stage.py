"""Tiny training histories for tests: made by hand, so that what is to be found is known."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from geometry.history.history import History, in_memory
from tests.small_models import gpt2_config, write_model

N, D = 48, 12


def helix(n: int = N, d: int = D, turns: float = 3.0, seed: int = 0) -> np.ndarray:
    """A helix in three of d directions, float64 (n, d)."""
    t = np.linspace(0, 1, n)
    angle = 2 * np.pi * turns * t
    curve = np.stack([2 * (t - 0.5), 0.6 * np.cos(angle), 0.6 * np.sin(angle)], axis=1)
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, 3)))[0]
    return curve @ basis.T


def growing(steps: list[int], n: int = N, d: int = D, seed: int = 1) -> list[np.ndarray]:
    """Tables of a training: noise that decays, a helix that grows, and a last row without gradient.

    float32 (n, d) each; what is left of the noise is exp(−step / 500).
    """
    noise = 0.02 * np.random.default_rng(seed).standard_normal((n, d))
    tables = []
    for step in steps:
        left = np.exp(-step / 500)
        table = left * noise + (1 - left) * helix(n, d)
        table[-1] = left * noise[-1]
        tables.append(table.astype(np.float32))
    return tables


def history_of(steps: list[int], tables: list[np.ndarray] | None = None, **more) -> History:
    """A history in memory; that of :func:`growing` unless its tables are given."""
    return in_memory("tiny", "nowhere", steps, tables or growing(steps), **more)


def decays_of(steps: list[int]) -> np.ndarray:
    """What decay leaves in :func:`growing`."""
    return np.exp(-np.array(steps, np.float64) / 500)


def write_record(
    path: Path, at: list[int], metadata: dict | None = None, /, **tensors: np.ndarray | None
) -> Path:
    """Write ``history.safetensors`` with the tables of :func:`growing`, in half precision."""
    told = {
        "steps": np.array(at, np.int64),
        "tokens": np.array(at, np.int64) * 100,
        "losses": np.linspace(7, 3, len(at), dtype=np.float32),
        "decays": decays_of(at),
        "positions": np.array(growing(at), np.float16),
        **tensors,
    }
    told = {name: array for name, array in told.items() if array is not None}
    save_file(told, path, metadata or {"format": "helixscope-history", "version": "1"})
    return path


def write_checkpoint(folder: Path, table: np.ndarray) -> Path:
    """Write a GPT-2 of nothing but its positions."""
    return write_model(folder, gpt2_config(*table.shape), {"wpe.weight": table}, dtype=None)
