"""Checkpoints without a configuration, of which names do not tell the row of position 0."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

NAME = "embeddings.position_embeddings.weight"
CHOICE = f"{NAME}[2:]"
N_ROWS = 42


def write_bare(path: Path, seed: int = 0) -> str:
    """Write a file named like BERT's and RoBERTa's, with 42 rows of a helix; return its path."""
    random = np.random.default_rng(seed)
    i = np.arange(N_ROWS)[:, None]
    curve = np.hstack([np.cos(i / 4), np.sin(i / 4), i / 20]) @ random.normal(size=(3, 16))
    tensors = {
        NAME: curve + random.normal(size=curve.shape) / 100,
        "embeddings.word_embeddings.weight": random.normal(size=(90, 16)),
        "encoder.layer.0.attention.self.query.weight": np.eye(16),
    }
    save_file({name: table.astype(np.float32) for name, table in tensors.items()}, path)
    return str(path)
