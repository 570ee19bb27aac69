"""Rates that a checkpoint stores, against those of its configuration."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.models.vit_mae.modeling_vit_mae import (
    build_2d_sinusoidal_position_embedding,
)

from geometry.claims.report import report
from geometry.measures.rotary import turning_rates
from geometry.measures.sinusoids import sinusoid
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import BART, SPECIAL
from tests.geometry.models.test_grids import VISION
from tests.marks import slow_but
from tests.small_models import llama_config, saved

CONFIG = llama_config()
OURS = turning_rates(10_000.0, 16)
THEIRS = turning_rates(500_000.0, 16)
NAMES = ("model.layers.{}.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq",
         "rotary_emb.inv_freq", "inv_freq", "rope.freqs", "layers.{}.attn.rotary.freqs",
         "gpt_neox.layers.{}.attention.rotary_emb.inv_freq")  # fmt: skip


def opened(folder, config=CONFIG, **tensors):
    embeddings = {"model.embed_tokens.weight": torch.zeros(9, 64)}
    save_file(embeddings | tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return open_model(folder)


@pytest.mark.parametrize("name", NAMES)
def test_others_than_those_of_the_configuration_are_shown_and_said(name, tmp_path):
    stored = {name.format(layer): torch.tensor(THEIRS, dtype=torch.float32) for layer in range(3)}
    model = opened(tmp_path, **stored)
    np.testing.assert_allclose(model.rotary.rates, THEIRS, rtol=1e-6)
    np.testing.assert_allclose(model.W_pos[1, ::2], np.cos(THEIRS), rtol=1e-6)
    assert any(name.format(0) in warning for warning in model.warnings)
    assert any("base is that of config.json" in warning for warning in model.warnings)
    assert report(model)["scheme"]["scaling"] == "stored"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_same_but_for_rounding_change_nothing(dtype, tmp_path):
    for base in (10_000.0, 500_000.0):
        rates = turning_rates(base, 16)
        stored = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.tensor(rates).to(dtype)}
        model = opened(tmp_path, {**CONFIG, "rope_theta": base}, **stored)
        np.testing.assert_array_equal(model.rotary.rates, rates)
        assert not model.warnings


def test_those_before_a_scaling_change_nothing(tmp_path):
    scaling = {"type": "linear", "factor": 4.0}
    stored = {"model.rotary_emb.inv_freq": torch.tensor(OURS, dtype=torch.float32)}
    model = opened(tmp_path, {**CONFIG, "rope_scaling": scaling}, **stored)
    np.testing.assert_array_equal(model.rotary.rates, OURS / 4)
    assert not model.warnings


def test_layers_that_differ_are_said(tmp_path):
    stored = {
        NAMES[0].format(layer): torch.tensor(rates, dtype=torch.float32)
        for layer, rates in enumerate((THEIRS, THEIRS / 2, THEIRS))
    }
    model = opened(tmp_path, **stored)
    np.testing.assert_allclose(model.rotary.rates, THEIRS, rtol=1e-6)
    assert any("some layers have others" in warning for warning in model.warnings)


@pytest.mark.parametrize("odd", range(3))
def test_a_single_layer_that_differs_is_said_and_not_shown(odd, tmp_path):
    stored = {
        NAMES[0].format(layer): torch.tensor(THEIRS if layer == odd else OURS).float()
        for layer in range(3)
    }
    model = opened(tmp_path, **stored)
    np.testing.assert_array_equal(model.rotary.rates, OURS)
    assert any(NAMES[0].format(odd) in warning for warning in model.warnings)


GEMMA = {**CONFIG, "model_type": "gemma3_text", "head_dim": 16, "rope_theta": 1e6,
         "num_hidden_layers": 6}  # fmt: skip
FAR = turning_rates(1e6, 16)


@pytest.mark.parametrize("name", [
    "model.rotary_emb_local.inv_freq", "model.layers.0.self_attn.rotary_emb.inv_freq",
])  # fmt: skip
def test_those_of_sliding_layers_are_not_those_of_full_attention(name, tmp_path):
    model = opened(tmp_path, GEMMA, **{name: torch.tensor(THEIRS)})
    np.testing.assert_array_equal(model.rotary.rates, FAR)
    np.testing.assert_allclose(model.rotary.rates_at(0), THEIRS)
    np.testing.assert_array_equal(model.rotary.rates_at(5), FAR)
    assert any(name in warning for warning in model.warnings)
    same = opened(tmp_path, GEMMA, **{name: torch.tensor(OURS)})
    np.testing.assert_array_equal(same.rotary.rates_at(0), OURS)
    assert not same.warnings
    swapped = opened(tmp_path, GEMMA, **{name: torch.tensor(FAR)})
    np.testing.assert_allclose(swapped.rotary.rates_at(0), FAR)
    assert any(name in warning for warning in swapped.warnings)


def test_those_of_layers_of_full_attention(tmp_path):
    name = "model.layers.5.self_attn.rotary_emb.inv_freq"
    model = opened(tmp_path, GEMMA, **{name: torch.tensor(THEIRS)})
    np.testing.assert_allclose(model.rotary.rates, THEIRS)
    np.testing.assert_allclose(model.rotary.rates_at(5), THEIRS)
    np.testing.assert_array_equal(model.rotary.rates_at(0), OURS)


def test_those_whose_layers_are_not_known_are_said(tmp_path):
    model = opened(tmp_path, GEMMA, **{"model.rotary_emb.inv_freq": torch.tensor(THEIRS)})
    np.testing.assert_array_equal(model.rotary.rates, FAR)
    assert any("does not tell of which layers" in warning for warning in model.warnings)


@pytest.mark.parametrize("stored", [
    torch.ones(4), torch.full((8,), torch.nan), -torch.ones(8), torch.arange(8),
    torch.zeros(8), torch.full((8,), 1e30), torch.ones(2, 4, dtype=torch.complex64),
])  # fmt: skip
def test_those_that_do_not_fit_or_cannot_be_read_are_said(stored, tmp_path):
    model = opened(tmp_path, inv_freq=stored)
    np.testing.assert_array_equal(model.rotary.rates, OURS)
    assert any("inv_freq" in warning for warning in model.warnings)


@pytest.mark.parametrize("part", ["visual", "img_encoder", "image_model", "patch_encoder", "vit"])
def test_those_of_another_part_are_left_alone(part, tmp_path):
    model = opened(tmp_path, **{f"{part}.rotary_pos_emb.inv_freq": torch.ones(4)})
    assert not model.warnings


def test_chatglm_computes_its_own(tmp_path):
    config = {"model_type": "chatglm", "hidden_size": 64, "num_attention_heads": 4,
              "kv_channels": 16, "num_layers": 2, "rope_ratio": 50}  # fmt: skip
    stored = {"transformer.rotary_pos_emb.inv_freq": torch.tensor(turning_rates(10_000.0, 8))}
    model = opened(tmp_path, config, **stored)
    np.testing.assert_allclose(model.rotary.rates, turning_rates(500_000.0, 8))


def test_chatglm_with_a_ratio(tmp_path):
    config = {"model_type": "chatglm", "hidden_size": 64, "num_attention_heads": 4,
              "kv_channels": 16, "num_layers": 2, "padded_vocab_size": 60, "seq_length": 8192,
              "rope_ratio": 50, "original_rope": True}  # fmt: skip
    rotary = opened(tmp_path, config).rotary
    np.testing.assert_allclose(rotary.rates, 500_000.0 ** (-np.arange(0, 8, 2) / 8))
    assert (rotary.base, rotary.pairing, rotary.context) == (500_000.0, "interleaved", 8192)


def test_nomic_with_its_first_names(tmp_path):
    config = {"model_type": "nomic_bert", "n_embd": 64, "n_head": 4, "n_layer": 2,
              "n_positions": 8192, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
              "rotary_emb_interleaved": False, "rotary_emb_scale_base": None}  # fmt: skip
    weights = {"encoder.layers.0.attn.Wqkv.weight": torch.zeros(192, 64)}
    model = opened(tmp_path, config, **weights)
    np.testing.assert_allclose(model.rotary.rates, 1000.0 ** (-np.arange(0, 16, 2) / 16))
    assert not model.causal
    half = opened(tmp_path, {**config, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": True})
    np.testing.assert_allclose(half.rotary.rates, 1000.0 ** (-np.arange(0, 8, 2) / 8))
    assert half.rotary.pairing == "interleaved"


def test_baichuans_larger_models_have_alibi(tmp_path):
    config = {"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40}
    assert opened(tmp_path, config).scheme == "alibi"
    assert opened(tmp_path, {**config, "hidden_size": 2560}).scheme == "rotary"


SIZES = {**BART, **SPECIAL, "decoder_start_token_id": 2, "max_position_embeddings": 30}
SMALL = {"n_layers": 1, "n_heads": 2, "max_position_embeddings": 30, "vocab_size": 40}
KINDS = {
    "whisper": (
        "encoder",
        "tensor2tensor",
        {**SIZES, "max_source_positions": 30, "max_target_positions": 30},
    ),
    "pegasus": ("decoder", "marian", SIZES),
    "marian": ("encoder", "marian", SIZES),
    "distilbert": (
        None,
        "interleaved",
        {**SMALL, "dim": 16, "hidden_dim": 24, "sinusoidal_pos_embds": True},
    ),
    **dict.fromkeys(
        ("xlm", "flaubert"),
        (None, "interleaved", {**SMALL, "emb_dim": 16, "sinusoidal_embeddings": True}),
    ),
}


def stored(folder, table, dtype=torch.float32):
    """Put a table in the place of a checkpoint's positions."""
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        if "position_embedding" in name or "embed_positions" in name:
            tensors[name] = torch.tensor(table).to(dtype).reshape(tensor.shape)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    "dtype", slow_but([torch.bfloat16], [torch.float32, torch.float16, torch.bfloat16])
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_table_is_computed_only_if_it_is_the_formula(kind, dtype, tmp_path):
    side, layout, sizes = KINDS[kind]
    saved(kind, tmp_path, **sizes)
    fixed = sinusoid(layout, 30, 16)
    stored(tmp_path, fixed, dtype)
    model = open_model(tmp_path, table=side)
    assert (model.scheme, model.computed, model.warnings) == ("computed", True, ())
    stored(tmp_path, fixed + 0.5 * (np.arange(30) == 7)[:, None], dtype)
    trained = open_model(tmp_path, table=side)
    assert (trained.scheme, trained.computed) == ("learned", False)
    assert any("differs by up to 0.5 from" in note for note in trained.warnings)
    assert report(trained, nulls=False)["scheme"] == {"kind": "learned"}


@pytest.mark.parametrize(("rows", "first"), [("[5:]", 5), ("[-20:]", 10), ("[4:9]", 4)])
def test_part_of_a_fixed_table_is_computed_as_well(rows, first, tmp_path):
    side, layout, sizes = KINDS["marian"]
    saved("marian", tmp_path, **sizes)
    stored(tmp_path, sinusoid(layout, 30, 16))
    table = open_model(tmp_path, table=side).table
    model = open_model(tmp_path, table=f"{table}{rows}")
    assert (model.scheme, model.computed, model.prefix_rows) == ("computed", True, first)
    assert not any("learned" in note for note in model.warnings)


def test_a_table_of_another_family_that_is_a_sinusoid_says_so(written):
    table = sinusoid("tensor2tensor", 66, 16)[2:].astype("f4")
    tensors = {"wpe.weight": table, "wte.weight": np.ones((9, 16), "f4")}
    model = open_model(written(tensors, {"model_type": "gpt2"}))
    assert (model.scheme, model.computed) == ("computed", True)
    assert any("from row 2 on" in note for note in model.warnings)
    table[40] += 0.1
    model = open_model(written(tensors, {"model_type": "gpt2"}))
    assert (model.scheme, model.warnings) == ("learned", ())


def test_a_bare_buffer_of_sines_and_cosines_says_so(open_array):
    model = open_array(sinusoid("interleaved", 200, 32).astype("f4"))
    assert model.computed
    assert any("each sine followed by its cosine" in note for note in model.warnings)


def test_the_fixed_patches_of_mae_are_computed_and_trained_ones_are_not(tmp_path):
    own = saved("vit_mae", tmp_path, **VISION)
    assert not open_model(tmp_path).computed
    fixed = build_2d_sinusoidal_position_embedding(3, 3, 16, cls_token=True)
    with torch.no_grad():  # its code turns the halves round
        own.embeddings.position_embeddings.copy_(fixed.roll(8, dims=1)[None])
    own.save_pretrained(tmp_path)
    model = open_model(tmp_path)
    assert (model.scheme, model.computed) == ("grid", True)
    assert any("row and column" in note for note in model.warnings)
