"""Models that know positions by lags: each against its own module in transformers."""

import json

import numpy as np
import pytest

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError, TensorUnavailable
from geometry.claims.report import report
from geometry.models.lags import SHOWN_LAGS
from geometry.models.sources import open_source
from tests.geometry.saved_models import saved

T5 = {"d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 4, "vocab_size": 30,
      "relative_attention_num_buckets": 16, "relative_attention_max_distance": 24}  # fmt: skip
BERT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
        "intermediate_size": 16, "vocab_size": 30, "max_position_embeddings": 20,
        "pad_token_id": 1}  # fmt: skip


@pytest.mark.parametrize("kind", ["t5", "mt5", "umt5", "switch_transformers"])
def test_bias_by_lag_of_both_parts_as_the_module_adds_it(kind, tmp_path):
    more = {"num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 0}
    own = saved(kind, tmp_path, **T5, **(more if kind == "switch_transformers" else {}))
    for side in ("encoder", "decoder"):
        model = open_source(tmp_path, table=side)
        attention = getattr(own, side).block[0].layer[0].SelfAttention
        n = 40
        bias = attention.compute_bias(n, n)[0].detach().numpy()  # heads, queries, keys
        for row in range(model.lags.count):
            lag = model.lags.first + row
            if abs(lag) < n:
                i, j = (lag, 0) if lag >= 0 else (0, -lag)
                np.testing.assert_array_equal(model.W_pos[row], bias[:, i, j])
        assert model.sides == ("encoder", "decoder")
        assert (model.side, model.n_heads, model.causal) == (side, 4, side == "decoder")
        assert model.lags.first == (-24 if side == "encoder" else 0)
        assert model.lags.first + model.lags.count - 1 == 24
        assert not model.computed
        assert "adds a bias by distance" in model.no_table


def test_mpnet_has_one_bias_for_all_layers(tmp_path):
    own = saved("mpnet", tmp_path, **BERT)
    model = open_source(tmp_path)
    table = own.encoder.relative_attention_bias.weight.detach().numpy()
    np.testing.assert_array_equal(model.W_pos[model.lags.count // 2], table[0])


@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_relative_embeddings_are_a_table_over_lags(kind, tmp_path):
    own = saved(kind, tmp_path, **BERT, relative_attention=True, pos_att_type=["p2c", "c2p"],
                position_buckets=8 if kind == "deberta-v2" else -1)  # fmt: skip
    model = open_source(tmp_path)
    table = own.encoder.rel_embeddings.weight.detach().numpy()
    np.testing.assert_array_equal(model.W_pos, table)
    assert model.no_table == ""
    what = "bucket" if kind == "deberta-v2" else "lag"
    assert model.place_of(0) == f"{what} \N{MINUS SIGN}{len(table) // 2}, ahead"
    assert model.place_of(len(table) // 2 + 3) == f"{what} 3"
    scheme = report(model, nulls=False)["scheme"]
    assert scheme["kind"] == "relative table"
    assert scheme[f"{what}s"] == [len(table) // 2 - row for row in range(len(table))]


@pytest.mark.parametrize(("config", "first"), [
    ({"model_type": "bloom", "n_head": 4}, 2**-2), ({"model_type": "mpt", "n_heads": 8}, 2**-1),
    ({"model_type": "falcon", "alibi": True, "num_attention_heads": 2}, 2**-4),
    ({"model_type": "bert", "position_embedding_type": "alibi", "num_attention_heads": 2}, 2**-4),
])  # fmt: skip
def test_alibi_is_computed_from_the_number_of_heads(written, config, first):
    model = open_source(written({"x.weight": np.eye(4, dtype="f4")}, config))
    slopes = model.lags.slopes
    assert slopes[0] == pytest.approx(first)
    np.testing.assert_allclose(model.W_pos, -np.outer(np.arange(SHOWN_LAGS), slopes))
    assert model.computed
    assert model.place_of(7) == "lag 7"
    found = json.loads(json.dumps(report(model)))
    assert found["scheme"] == {"kind": "alibi", "slopes": list(slopes)}
    assert found["pca"] is None
    assert "lowers attention scores" in found["missing"]["pca"]
    with pytest.raises(TensorUnavailable, match="inside attention"):
        model.weight("W_Q")


def test_a_bias_wider_than_any_model_s_is_refused(written):
    name = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    with pytest.raises(NoPositionalEmbeddings):
        open_source(written({name: np.ones((4, 3000), "f2")}, {"model_type": "t5"}))
    odd = {"encoder.rel_embeddings.weight": np.ones(8, "f4")}
    with pytest.raises(NoPositionalEmbeddings):
        open_source(written(odd, {"model_type": "deberta"}))


def test_a_report_has_the_bias_by_head(tmp_path):
    saved("t5", tmp_path, **T5)
    model = open_source(tmp_path, table="decoder")
    scheme = report(model)["scheme"]
    assert (scheme["kind"], scheme["stack"]) == ("relative", "decoder")
    assert scheme["lags"] == [-lag for lag in range(25)]
    np.testing.assert_array_equal(scheme["bias"], model.W_pos.T)


@pytest.mark.parametrize("heads", [None, 0, -3, 10**9, "8"])
def test_numbers_of_heads_that_cannot_be(written, heads):
    config = {"model_type": "bloom", "n_head": heads}
    with pytest.raises(SourceError, match="heads, which cannot be"):
        open_source(written({"x.weight": np.eye(4, dtype="f4")}, config))


@pytest.mark.parametrize("change", [
    {"relative_attention_max_distance": -1}, {"relative_attention_max_distance": 10**9},
    {"relative_attention_max_distance": 3},
])  # fmt: skip
def test_distances_that_cannot_be_are_refused(written, change):
    tensors = {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight":
               np.ones((16, 2), "f4")}  # fmt: skip
    with pytest.raises(NoPositionalEmbeddings, match="t5 stores no positional embeddings"):
        open_source(written(tensors, {"model_type": "t5", **change}))
