"""The use of pairs by heads: against its definition, for each layout of queries and keys."""

import copy

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.rotary import lag_kernel, turn
from geometry.models.pair_use import pair_use
from geometry.models.sources.opening import open_model
from tests.small_models import saved

SIZES = {
    "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 32, "vocab_size": 50, "max_position_embeddings": 64, "pad_token_id": 0,
}  # fmt: skip
GPTJ = {"n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 64, "vocab_size": 50,
        "rotary_dim": 4, "bos_token_id": 1, "eos_token_id": 1}  # fmt: skip
KINDS = {
    "llama": SIZES,
    "qwen2": SIZES,
    "cohere": SIZES,
    "gemma": {**SIZES, "head_dim": 16},
    "glm": {**SIZES, "head_dim": 8},
    "gpt_neox": {**SIZES, "rotary_pct": 0.5},
    "persimmon": SIZES,
    "falcon": {**SIZES, "multi_query": True, "new_decoder_architecture": False},
    "phi": SIZES,
    "phi3": {**SIZES, "num_key_value_heads": 4},
    "modernbert": {**SIZES, "max_position_embeddings": 64},
    "gptj": GPTJ,
    "roformer": SIZES,
}  # fmt: skip


def queries_and_keys(model, kind, x):
    """Return what a module's own projections make of inputs, by head, before they are turned."""
    with torch.no_grad():
        layer = model.encoder.layer[0] if kind == "roformer" else None
        if layer is not None:
            own = layer.attention.self
            q, k = own.query(x) - own.query.bias, own.key(x) - own.key.bias
        elif kind == "gptj":
            own = model.h[0].attn
            q, k = own.q_proj(x), own.k_proj(x)
        elif kind in ("gpt_neox", "persimmon", "falcon", "phi3", "modernbert"):
            block = model.h[0] if kind == "falcon" else model.layers[0]
            own = getattr(block, {"gpt_neox": "attention", "falcon": "self_attention",
                                  "modernbert": "attn"}.get(kind, "self_attn"))  # fmt: skip
            name = {"phi3": "qkv_proj", "modernbert": "Wqkv"}.get(kind, "query_key_value")
            together = x @ getattr(own, name).weight.T
            d = 8
            if kind in ("gpt_neox", "persimmon"):
                q, k, _ = together.reshape(len(x), 4, 3, d).unbind(2)
                return q.double().numpy(), k.double().numpy()
            if kind == "falcon":
                q, k, _ = together.split((32, d, d), dim=1)
            else:
                q, k, _ = together.split(32, dim=1)
        else:
            own = model.layers[0].self_attn
            q, k = x @ own.q_proj.weight.T, x @ own.k_proj.weight.T
    d = q.shape[1] // 4
    return q.reshape(len(x), -1, d).double().numpy(), k.reshape(len(x), -1, d).double().numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_products_of_queries_and_keys_are_within_the_use_of_their_pairs(kind, tmp_path):
    own = saved(kind, tmp_path, **copy.deepcopy(KINDS[kind]))
    model = open_model(tmp_path)
    found, rotary = pair_use(model), model.rotary
    n = rotary.n_pairs
    assert found.use.shape == (4, n)
    np.testing.assert_allclose(found.share.sum(axis=1), 1.0)
    # Each of the inputs' unit vectors: the sum of squares is the matrices' own.
    q, k = queries_and_keys(own, kind, torch.eye(32))
    k = np.repeat(k, 4 // k.shape[1], axis=1)
    if rotary.pairing == "halves":
        parts = [np.stack([one[..., :n], one[..., n : 2 * n]]) for one in (q, k)]
    else:
        parts = [np.stack([one[..., 0 : 2 * n : 2], one[..., 1 : 2 * n : 2]]) for one in (q, k)]
    norms = [np.sqrt(np.square(one).sum(axis=(0, 1))) for one in parts]
    np.testing.assert_allclose(found.use, norms[0] * norms[1], rtol=1e-5)


def test_a_turned_product_is_the_kernel_of_its_pairs():
    """Of a query and the same key, at every distance."""
    rng = np.random.default_rng(0)
    vector, rates = rng.standard_normal(10), np.array([1.0, 0.3, 0.02])
    for interleaved in (False, True):
        pairs = vector[:6].reshape(3, 2) if interleaved else vector[:6].reshape(2, 3).T
        weights = np.square(pairs).sum(axis=1)
        rest = np.square(vector[6:]).sum()
        for i, j in ((0, 0), (5, 2), (40, 1)):
            query = turn(vector, i * rates, interleaved=interleaved)
            key = turn(vector, j * rates, interleaved=interleaved)
            assert query @ key == pytest.approx(lag_kernel(rates, [i - j], weights)[0] + rest)


def test_proportional_pairs_are_half_a_head_apart(written):
    group = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1e6}
    config = {**SIZES, "model_type": "lfm3", "head_dim": 8, "rope_parameters": group}
    rows = np.zeros((4, 8, 32), "f4")
    rows[:, [0, 5], 0] = 1.0
    names = [f"model.layers.0.self_attn.{name}.weight" for name in ("q_proj", "k_proj")]
    model = open_model(written(dict.fromkeys(names, rows.reshape(32, 32)), config))
    np.testing.assert_allclose(pair_use(model).use, np.ones((4, 2)))


def test_norms_of_queries_and_keys_are_said(tmp_path):
    for kind, normed in (("qwen3", True), ("qwen2", False)):
        saved(kind, tmp_path / kind, **SIZES)
        warnings = open_model(tmp_path / kind).warnings
        assert any("pass norms" in warning for warning in warnings) == normed


def test_models_without_turning_or_without_known_names_say_so(written):
    with pytest.raises(TensorUnavailable, match="does not turn"):
        pair_use(open_model("sample"))
    config = {"model_type": "brandnew", "rope_theta": 1e4, **SIZES}
    model = open_model(written({"mix.weight": np.eye(4, dtype="f4")}, config))
    with pytest.raises(TensorUnavailable, match="no queries and keys that are known"):
        pair_use(model)


def test_sizes_that_do_not_fit_are_named(written):
    config = {"model_type": "llama", **SIZES}
    names = ("q_proj", "k_proj")
    tensors = {f"layers.0.self_attn.{name}.weight": np.ones((24, 32), "f4") for name in names}
    with pytest.raises(TensorUnavailable, match="3 heads of queries"):
        pair_use(open_model(written(tensors, config)))
    tensors = {name: np.ones((20, 32), "f4") for name in tensors}
    with pytest.raises(TensorUnavailable, match="20 rows"):
        pair_use(open_model(written(tensors, config)))
