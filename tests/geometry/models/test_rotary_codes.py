"""Rotary models of codes without ``config.json``, by their own settings and published names."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geometry.models.pair_use import pair_use
from geometry.models.sources.opening import open_model

D, HEADS, KEY_HEADS, WIDTH = 64, 4, 2, 16


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def of_meta(freqs: bool) -> dict[str, torch.Tensor]:
    """Llama as Meta publishes it: model.py of meta-llama/llama and llama-models."""
    layer = "layers.0."
    state = {
        "tok_embeddings.weight": random(20, D), "norm.weight": random(D),
        "output.weight": random(20, D), f"{layer}attention.wq.weight": random(D, D),
        f"{layer}attention.wk.weight": random(KEY_HEADS * WIDTH, D),
        f"{layer}attention.wv.weight": random(KEY_HEADS * WIDTH, D),
        f"{layer}attention.wo.weight": random(D, D),
        f"{layer}feed_forward.w1.weight": random(96, D), f"{layer}attention_norm.weight": random(D),
        f"{layer}feed_forward.w2.weight": random(D, 96), f"{layer}ffn_norm.weight": random(D),
        f"{layer}feed_forward.w3.weight": random(96, D),
    }  # fmt: skip
    if freqs:
        state["rope.freqs"] = 1 / 10_000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
    return state


def of_litgpt(fused: str) -> dict[str, torch.Tensor]:
    layer = "transformer.h.0."
    return {
        "lm_head.weight": random(20, D), "transformer.wte.weight": random(20, D),
        f"{layer}norm_1.weight": random(D), f"{layer}attn.{fused}.weight": random(3 * D, D),
        f"{layer}attn.proj.weight": random(D, D), f"{layer}norm_2.weight": random(D),
        f"{layer}mlp.fc_1.weight": random(96, D), f"{layer}mlp.fc_2.weight": random(96, D),
        f"{layer}mlp.proj.weight": random(D, 96), "transformer.ln_f.weight": random(D),
    }  # fmt: skip


def of_nanochat() -> dict[str, torch.Tensor]:
    layer = "transformer.h.0."
    return {
        "transformer.wte.weight": random(20, D), "lm_head.weight": random(20, D),
        f"{layer}attn.c_q.weight": random(D, D),
        f"{layer}attn.c_k.weight": random(KEY_HEADS * WIDTH, D),
        f"{layer}attn.c_v.weight": random(KEY_HEADS * WIDTH, D),
        f"{layer}attn.c_proj.weight": random(D, D), f"{layer}mlp.c_fc.weight": random(4 * D, D),
        f"{layer}mlp.c_proj.weight": random(D, 4 * D),
    }  # fmt: skip


LLAMA = {"dim": D, "n_layers": 1, "n_heads": HEADS, "n_kv_heads": KEY_HEADS, "vocab_size": 20,
         "multiple_of": 32, "norm_eps": 1e-5}  # fmt: skip
LITGPT = {"block_size": 48, "n_embd": D, "n_head": HEADS, "n_layer": 1, "rope_base": 50_000,
          "rotary_percentage": 0.5, "norm_class_name": "RMSNorm"}  # fmt: skip
NANOCHAT = {"sequence_len": 48, "n_layer": 1, "n_head": HEADS, "n_kv_head": KEY_HEADS, "n_embd": D,
            "vocab_size": 20}  # fmt: skip


@pytest.mark.parametrize(
    ("state", "weights", "beside", "settings", "base", "n_pairs", "adjacent"),
    [
        (of_meta(freqs=False), "consolidated.00.pth", "params.json",
         {**LLAMA, "rope_theta": 500_000.0}, 500_000.0, 8, True),
        (of_meta(freqs=True), "consolidated.00.pth", "params.json", LLAMA, 10_000.0, 8, True),
        (of_litgpt("qkv"), "lit_model.pth", "model_config.yaml", LITGPT, 50_000.0, 4, False),
        (of_litgpt("attn"), "lit_model.pth", "model_config.yaml", LITGPT, 50_000.0, 4, False),
        (of_nanochat(), "model_000100.pt", "meta_000100.json",
         {"step": 100, "model_config": NANOCHAT}, 10_000.0, 8, False),
    ],
    ids=["Llama 3", "Llama 2", "litGPT", "litGPT before 0.5", "nanochat"],
)  # fmt: skip
def test_rates_and_pairs_are_those_of_the_settings(
    state: dict[str, torch.Tensor], weights: str, beside: str, settings: dict[str, Any],
    base: float, n_pairs: int, adjacent: bool, tmp_path: Path,
) -> None:  # fmt: skip
    torch.save(state, tmp_path / weights)
    (tmp_path / beside).write_text(json.dumps(settings))  # which is YAML too
    model = open_model(tmp_path)
    rotary = model.rotary
    assert rotary is not None
    assert (model.scheme, rotary.n_pairs, rotary.context) == (
        "rotary", n_pairs, None if "dim" in settings else 48
    )  # fmt: skip
    turned = 2 * n_pairs
    np.testing.assert_allclose(rotary.rates, base ** -(np.arange(0, turned, 2) / turned))
    queries, keys = (queries_and_keys(state)[n].double().numpy() for n in (0, 1))
    use = pair_use(model).use
    assert use.shape == (HEADS, n_pairs)
    first, second = (0, 1) if adjacent else (0, n_pairs)
    own = np.linalg.norm(queries[0][[first, second]]) * np.linalg.norm(keys[0][[first, second]])
    np.testing.assert_allclose(use[0, 0], own)


def queries_and_keys(state: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of each head, (heads, entries, D), as each code takes them apart."""
    for name, tensor in state.items():
        if name.endswith("attn.qkv.weight"):
            q, k, _ = tensor.split(D)
            return q.view(HEADS, WIDTH, D), k.view(HEADS, WIDTH, D)
        if name.endswith("attn.attn.weight"):  # a group for each head: its query, key and value
            groups = tensor.view(HEADS, 3, WIDTH, D)
            return groups[:, 0], groups[:, 1]
        if name.endswith(("wq.weight", "c_q.weight")):
            other = name.replace("wq", "wk").replace("c_q", "c_k")
            return tensor.view(HEADS, WIDTH, D), state[other].view(KEY_HEADS, WIDTH, D)
    raise AssertionError


def scaled_as_published(rates: np.ndarray, factor: float, high: float) -> np.ndarray:
    """apply_scaling of meta-llama/llama-models, pair by pair."""
    scaled = []
    for rate in rates:
        length, low = 2 * np.pi / rate, 1.0
        smooth = (8192 / length - low) / (high - low)
        scaled.append(rate if length < 8192 / high else rate / factor if length > 8192 / low
                      else (1 - smooth) * rate / factor + smooth * rate)  # fmt: skip
    return np.array(scaled)


LONG = {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_seq_len": 8192}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "settings", "factor", "high"),
    [
        ("Meta", {"use_scaled_rope": True}, 8.0, 4.0),
        ("Meta", {"use_scaled_rope": True, "rope_scaling_factor": 16, "rope_high_freq_factor": 2},
         16.0, 2.0),
        ("Meta", {"use_scaled_rope": False}, 1.0, 4.0),
        ("litGPT", {"rope_adjustments": LONG}, 32.0, 4.0),
    ],
)  # fmt: skip
def test_rates_are_scaled_for_longer_texts(code, settings, factor, high, tmp_path):
    state, weights, beside, own = {
        "Meta": (of_meta(freqs=False), "consolidated.00.pth", "params.json", LLAMA),
        "litGPT": (of_litgpt("qkv"), "lit_model.pth", "model_config.yaml", LITGPT),
    }[code]
    torch.save(state, tmp_path / weights)
    base = {"rope_theta" if code == "Meta" else "rope_base": 500_000.0}
    (tmp_path / beside).write_text(json.dumps({**own, **base, **settings}))
    rotary = open_model(tmp_path).rotary
    turned = 2 * rotary.n_pairs
    rates = 500_000.0 ** -(np.arange(0, turned, 2) / turned)
    np.testing.assert_allclose(rotary.rates, scaled_as_published(rates, factor, high))
    assert "not used" not in rotary.note


def test_positions_that_are_divided(tmp_path):
    torch.save(of_litgpt("qkv"), tmp_path / "lit_model.pth")
    settings = json.dumps({**LITGPT, "rope_condense_ratio": 8})
    (tmp_path / "model_config.yaml").write_text(settings)
    rotary = open_model(tmp_path).rotary
    np.testing.assert_allclose(rotary.rates, 50_000.0 ** -(np.arange(0, 8, 2) / 8) / 8)
