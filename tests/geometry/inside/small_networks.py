"""Small networks of many architectures by their sizes, planted residual streams, and runs."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file

from geometry.inside.settings import GROUPS, SIZES
from geometry.inside.sums import Accumulators, Batch, Sums
from geometry.inside.worker import WorkerProgress
from geometry.models.sources.layer_tables import FILE_NAME, FORMAT, VERSION


def sizes(names: str) -> dict[str, int]:
    """The sizes of all networks here, by an architecture's own names of them, in this order."""
    values = (64, 32, 3, 4, 40, 48)
    return dict(zip(names.split(), values, strict=False))


SMALL = sizes(
    "vocab_size hidden_size num_hidden_layers num_attention_heads max_position_embeddings "
    "intermediate_size"
)
GPT = sizes("vocab_size n_embd n_layer n_head n_positions")
ARCHITECTURES = {
    "llama": SMALL,
    "mistral": {**SMALL, "num_key_value_heads": 2},
    "qwen2": {**SMALL, "num_key_value_heads": 2},
    "gemma": {**SMALL, "head_dim": 8, "num_key_value_heads": 1},
    "gpt_neox": SMALL,
    "gptj": {**GPT, "rotary_dim": 4},
    "bloom": sizes("vocab_size hidden_size n_layer n_head"),
    "gpt2": GPT,
    "opt": {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "phi": SMALL,
    "bert": SMALL,
    "roberta": {**SMALL, "max_position_embeddings": 42},
    "distilbert": sizes("vocab_size dim n_layers n_heads max_position_embeddings hidden_dim"),
    "electra": {**SMALL, "embedding_size": 32},
    "mpnet": {**SMALL, "max_position_embeddings": 42},
    "t5": {**sizes("vocab_size d_model num_layers num_heads"), "d_kv": 8, "d_ff": 48},
    "bart": {
        **sizes(
            "vocab_size d_model encoder_layers encoder_attention_heads max_position_embeddings "
            "encoder_ffn_dim"
        ),
        "decoder_layers": 3,
        "decoder_attention_heads": 4,
        "decoder_ffn_dim": 48,
    },
}


def add_windows(sums: Sums, half: int, h: np.ndarray, labels: np.ndarray | None = None) -> None:
    """Add a layer of some windows, (batch, length, d_model), and the counters of their tokens."""
    if labels is None:
        labels = np.full((*h.shape[:2], len(SIZES)), -1, np.int16)
    groups = [GROUPS // 2 * half + (sums.n_windows // 2 + i) % (GROUPS // 2) for i in range(len(h))]
    batch = Batch(Accumulators(sums), groups, labels)
    batch.add(0, torch.from_numpy(h.astype(np.float32)))
    batch.count()


def write_run(folder: Path, name: str, layers: object, special: tuple[int, ...] = ()) -> Path:
    """Write a run of `helixscope positions` of a network, with planted positions."""
    tables = np.asarray(layers, np.float32)
    ones = np.ones(len(tables))
    tensors = {
        "half_a": tables,
        "half_b": tables,
        "windows": np.array([5, 5]),
        "special": np.array(special, np.int64),
        "share": ones,
        "share_noise": ones,
        "halves_cosine": np.arange(len(tables)) / len(tables),
    }
    about = {"format": FORMAT, "version": VERSION, "name": name, "source": ""}
    save_file(tensors, folder / FILE_NAME, metadata=about)
    return folder


def outcome(telling: Generator[WorkerProgress, None, Any]) -> tuple[list[WorkerProgress], Any]:
    """What a measurement in a subprocess reports, and its result."""
    told = []
    while True:
        try:
            told.append(next(telling))
        except StopIteration as end:
            return told, end.value
