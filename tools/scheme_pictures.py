"""The pictures of the guide's page about ways to know a position, one of each.

Rotary positions are pictured of SmolLM2-135M, rows in another order of all-MiniLM-L6-v2, a table
that is extended of GPT-2. ALiBi's slopes and MAE's grid follow from a formula, so that they are
those of the models, without their weights. The biases of T5 and Swin and the embeddings of DeBERTa
are made up here: the guide says so.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from gui.commands.application import Application
from tools.picturing import opened, picture_window, settle

SIZE = (1200, 760)
T5_BIAS = "{}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
SWIN_BIAS = "encoder.layers.0.blocks.0.attention.self.relative_position_bias_table"


def picture_schemes(qt: Any, gpt2: str, minilm: str, smollm2: str, folder: Path) -> None:
    """Take a picture of the window for each way to know a position.

    Parameters
    ----------
    qt
        The Qt application.
    gpt2, minilm, smollm2
        What to open.
    folder
        Where the pictures go, as ``scheme-….png``.
    """
    with tempfile.TemporaryDirectory() as place:
        made = write_models(Path(place))
        for name, source, panel, choices in (
            ("rotary", smollm2, "rotary", {}),
            ("alibi", made["bloom"], "kernels", {}),
            ("relative-bias", made["t5"], "kernels", {}),
            ("offsets", made["swin"], "kernels", {}),
            ("relative-embeddings", made["deberta"], "similarity", {}),
            ("patches", made["vit_mae"], "similarity", {}),
            ("rows", f"tokens:years,{minilm}", "fourier", {"directions": (1, 2, 3)}),
            ("extended", gpt2, "extend", {}),
        ):
            with opened(qt, source) as application:
                _arrange(application, panel, choices)
                if name == "rows":
                    application.session.change(color_by="period", color_period=10.0)
                    settle(application)
                picture_window(application, folder / f"scheme-{name}.png")
        with opened(qt, "sample") as application:
            application.window.resize(*SIZE)
            application.controller.open(made["mamba"])
            settle(application)
            picture_window(application, folder / "scheme-none.png")


def _arrange(application: Application, panel: str, choices: Mapping[str, Any]) -> None:
    application.window.resize(*SIZE)
    application.window.workspaces.choose("analyse")
    application.window.bring(panel)
    settle(application)
    if choices:
        application.window.panels[panel].configure(**choices)
    settle(application)
    application.window.viewport.camera.frame()
    settle(application)


def write_models(folder: Path) -> dict[str, str]:
    """Write checkpoints with only what a scheme is read from; return their folders by type."""
    rng = np.random.default_rng(0)
    buckets, heads = np.arange(32), np.arange(8)
    # A bucket that each head looks at, by its distance; encoder's keys ahead have a second half.
    near = -0.12 * np.abs(buckets[:, None] % 16 - 1.5 * heads)
    rows, columns = (axis.ravel() for axis in np.mgrid[-6:7, -6:7])
    angles = 2 * np.pi * heads[:3] / 3
    shifts = 2.0 * np.stack([np.cos(angles), np.sin(angles)])
    spots = -0.5 * np.hypot(rows[:, None] - shifts[0], columns[:, None] - shifts[1])
    lags = np.arange(-128, 128)[:, None] / 128
    waves = np.sin(np.pi * lags * np.arange(1, 65) / 8 + rng.uniform(0, 2 * np.pi, 64))
    vectors = waves / np.arange(1, 65) + 0.02 * rng.standard_normal((256, 64))
    models: dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]] = {
        "bloom": ({"n_head": 16, "hidden_size": 1024}, {"x.weight": np.eye(4)}),
        "t5": (
            {"num_heads": 8, "d_model": 512, "relative_attention_num_buckets": 32},
            {T5_BIAS.format("encoder"): near, T5_BIAS.format("decoder"): near},
        ),
        "swin": (
            {"window_size": 7, "num_heads": [3], "depths": [1], "embed_dim": 96, "image_size": 224,
             "patch_size": 4},
            {SWIN_BIAS: spots},
        ),
        "deberta": (
            {"relative_attention": True, "hidden_size": 64, "num_attention_heads": 4,
             "max_position_embeddings": 128},
            {"encoder.rel_embeddings.weight": vectors},
        ),
        "vit_mae": (
            {"image_size": 224, "patch_size": 16, "hidden_size": 192, "num_attention_heads": 3},
            {"vit.embeddings.position_embeddings": np.vstack([np.zeros(192), _grid(14, 192)])},
        ),
        "mamba": ({"hidden_size": 64}, {"backbone.embeddings.weight": np.ones((32, 64))}),
    }  # fmt: skip
    for kind, (config, tensors) in models.items():
        (folder / kind).mkdir()
        (folder / kind / "config.json").write_text(json.dumps({"model_type": kind, **config}))
        stored = {name: np.ascontiguousarray(one, "f4") for name, one in tensors.items()}
        save_file(stored, folder / kind / "model.safetensors")
    return {kind: str(folder / kind) for kind in models}


def _grid(side: int, width: int) -> np.ndarray:
    """Return MAE's fixed sines and cosines of a square of patches: (side², width)."""
    rates = 10000.0 ** -(np.arange(width // 4) / (width // 4))
    rows, columns = (axis.ravel()[:, None] * rates for axis in np.mgrid[:side, :side])
    return np.hstack([np.sin(columns), np.cos(columns), np.sin(rows), np.cos(rows)])
