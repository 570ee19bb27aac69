"""Rotary models as they open: what is drawn of them, what is missing, and what a report says."""

import json

import numpy as np
import pytest

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError, TensorUnavailable
from geometry.claims.report import report
from geometry.measures.rotary import lag_kernel, turning
from geometry.models.matrices import MAX_ROTARY_POSITIONS
from geometry.models.sources.opening import open_model
from tests.small_models import llama_config

CONFIG = llama_config(vocab_size=99, rope_theta=500000.0)
WEIGHTS = {"model.layers.0.self_attn.q_proj.weight": np.eye(64, dtype="f4")}


@pytest.fixture
def rotary(written):
    def open_it(**changes):
        return open_model(written(WEIGHTS, {**CONFIG, **changes}))

    return open_it


def test_its_table_is_the_turning_of_its_pairs(rotary):
    model = rotary()
    assert (model.family, model.table) == ("llama", "rotary turning")
    assert model.computed
    assert model.no_table
    assert model.causal
    np.testing.assert_array_equal(model.W_pos, turning(model.rotary.rates, 256))
    assert model.W_pos.shape == (256, 16)
    assert (model.n_layers, model.n_heads, model.d_vocab) == (3, 4, 99)
    kernel = model.W_pos @ model.W_pos[0]
    np.testing.assert_allclose(kernel, lag_kernel(model.rotary.rates, range(256)), atol=1e-12)
    assert not model.warnings


def test_what_is_not_added_is_missing_with_a_reason(rotary):
    model = rotary()
    assert set(model.missing) == {"W_E", "W_Q", "W_K", "W_V", "W_O", "W_in"}
    assert all("act inside attention" in why for why in model.missing.values())
    with pytest.raises(TensorUnavailable, match="Its positions act inside attention"):
        model.weight("W_Q", 0)
    with pytest.raises(TensorUnavailable, match="act inside attention"):
        _ = model.W_E


def test_long_contexts_are_cut_and_said(rotary):
    model = rotary(max_position_embeddings=131072)
    assert model.n_positions == MAX_ROTARY_POSITIONS
    assert model.warnings == ("The first 4,096 of 131,072 positions are shown.",)


def test_layers_that_do_not_turn_are_named(rotary):
    model = rotary(model_type="smollm3", num_hidden_layers=36, no_rope_layer_interval=4)
    assert model.warnings == ("Some layers do not turn queries and keys: 3, 7, 11, 15, 19, 23, ….",)


@pytest.mark.parametrize("kind", ["modernbert", "nomic_bert"])
def test_encoders_attend_to_all(rotary, kind):
    assert not rotary(model_type=kind).causal


def test_the_text_part_of_a_model_for_pictures(written):
    part = {**CONFIG, "model_type": "qwen2", "max_position_embeddings": 128}
    model = open_model(written(WEIGHTS, {"model_type": "llava", "text_config": part}))
    assert (model.family, model.n_positions) == ("qwen2", 128)


def test_an_unknown_family_with_rotary_settings_opens(rotary):
    assert rotary(model_type="brandnew").rotary.base == 500000.0


def test_without_a_configuration_it_says_what_is_missing(written):
    names = {"layers.0.attention.rotary_emb.inv_freq": np.ones(8, "f4")}
    with pytest.raises(SourceError, match="size of a head is not in") as error:
        open_model(written(names, {}))
    assert "config.json" in error.value.advice


def test_falcon_with_alibi_is_no_rotary_model(rotary):
    model = rotary(model_type="falcon", alibi=True)
    assert model.rotary is None
    assert model.lags.kind == "alibi"


def test_a_report_describes_the_scheme_and_has_no_table(rotary):
    model = rotary(rope_scaling={"rope_type": "linear", "factor": 4.0})
    found = json.loads(json.dumps(report(model)))
    scheme = found["scheme"]
    assert (scheme["kind"], scheme["base"], scheme["d_head"]) == ("rotary", 500000.0, 16)
    assert (scheme["n_pairs"], scheme["pairing"], scheme["scaling"]) == (8, "halves", "linear")
    np.testing.assert_allclose(scheme["inv_freq"], 500000.0 ** (-np.arange(8) / 8) / 4)
    assert scheme["by_layer_type"] is None
    assert scheme["layers_without"] == []
    for section in ("pca", "norms", "spectrum", "shape", "kernels"):
        assert found[section] is None
        assert "turns queries and keys" in found["missing"][section]
    outcomes = {one["outcome"] for one in found["claims"] if one["id"] != ""}
    assert outcomes <= {"not applicable", "cannot tell"}
    assert found["model"]["n_positions"] == 256


def test_a_report_of_a_table_says_that_it_is_learned():
    assert report(open_model("sample"), nulls=False)["scheme"] == {"kind": "learned"}


@pytest.mark.parametrize("changes", [
    {"model_type": "granitemoehybrid"},
    {"model_type": "granitemoehybrid", "position_embedding_type": "nope"},
    {"model_type": "olmo_hybrid", "rope_theta": None},
    {"model_type": "olmo_hybrid", "rope_theta": None, "rope_parameters": {"rope_theta": None}},
    {"model_type": "brandnew", "position_embedding_type": "nope"},
    {"model_type": "brandnew", "pos_emb_type": "none"},
])  # fmt: skip
def test_a_model_without_positions_is_refused(rotary, changes):
    with pytest.raises(NoPositionalEmbeddings, match="its attention has no positions"):
        rotary(**changes)


def test_hybrid_models_that_turn_are_read(rotary):
    assert not rotary(model_type="granitemoehybrid", position_embedding_type="rope").warnings
    assert rotary(model_type="olmo_hybrid").rotary.base == 500_000.0


@pytest.mark.parametrize("key", ["position_embedding_type", "pos_emb_type"])
@pytest.mark.parametrize("kind", ["nope", "learned_absolute"])
def test_a_kind_of_positions_that_does_not_turn_is_said(rotary, key, kind):
    if key == "position_embedding_type":
        assert not rotary(**{key: "rope"}).warnings
    assert any(key in said and kind in said for said in rotary(**{key: kind}).warnings)
