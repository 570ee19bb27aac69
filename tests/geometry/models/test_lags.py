"""Models that know positions by lags: each against its own module in transformers."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError, TensorUnavailable
from geometry.claims.report import report
from geometry.measures.kernels import attention_map, head_kernels
from geometry.measures.lag_bias import alibi_slopes
from geometry.models.bias_heads import bias_heads, offset_attention
from geometry.models.schemes.alibi import SHOWN_LAGS
from geometry.models.sources.opening import open_model
from tests.small_models import saved

T5 = {"d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 4, "vocab_size": 30,
      "relative_attention_num_buckets": 16, "relative_attention_max_distance": 24}  # fmt: skip
MPNET = "encoder.relative_attention_bias.weight"
BERT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
        "intermediate_size": 16, "vocab_size": 30, "max_position_embeddings": 20,
        "pad_token_id": 1}  # fmt: skip


@pytest.mark.parametrize("kind", ["t5", "mt5", "umt5", "switch_transformers"])
def test_bias_by_lag_of_both_parts_as_the_module_adds_it(kind, tmp_path):
    more = {"num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 0}
    own = saved(kind, tmp_path, **T5, **(more if kind == "switch_transformers" else {}))
    for side in ("encoder", "decoder"):
        model = open_model(tmp_path, table=side)
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


def test_without_a_configuration_the_distance_of_the_last_bucket_is_assumed(tmp_path):
    saved("t5", tmp_path, **{**T5, "relative_attention_max_distance": 128})
    known = open_model(tmp_path)
    (tmp_path / "config.json").unlink()
    model = open_model(tmp_path)
    np.testing.assert_array_equal(model.W_pos, known.W_pos)
    notes = ["relative_attention_max_distance" in str(one.warnings) for one in (known, model)]
    assert notes == [False, True]


def test_mpnet_has_a_table_and_one_bias_for_all_layers(tmp_path):
    own = saved("mpnet", tmp_path, **BERT)
    table, bias = open_model(tmp_path), open_model(tmp_path, table=MPNET)
    assert (table.scheme, table.n_positions, table.prefix_rows) == ("learned", 18, 2)
    rows = own.embeddings.position_embeddings.weight.detach().numpy()
    np.testing.assert_array_equal(table.W_pos, rows[2:])
    added = own.encoder.compute_position_bias(torch.zeros(1, 20, 4))[0].detach().numpy()
    for lag in range(-19, 20):
        i, j = max(lag, 0), max(-lag, 0)
        np.testing.assert_array_equal(bias.W_pos[lag - bias.lags.first], added[:, i, j])
    assert any(MPNET in note for note in table.warnings)
    (tmp_path / "config.json").unlink()
    assert (open_model(tmp_path).family, open_model(tmp_path).prefix_rows) == ("mpnet", 2)
    assert any("embeddings.position_embeddings.weight" in note for note in bias.warnings)


@pytest.mark.parametrize(("config", "first"), [
    ({"model_type": "bloom", "n_head": 4}, 2**-2), ({"model_type": "mpt", "n_heads": 8}, 2**-1),
    ({"model_type": "falcon", "alibi": True, "num_attention_heads": 2, "hidden_size": 8}, 2**-5),
    ({"model_type": "bert", "position_embedding_type": "alibi", "num_attention_heads": 2}, 2**-4),
])  # fmt: skip
def test_alibi_is_computed_from_the_number_of_heads(written, config, first):
    model = open_model(written({"x.weight": np.eye(4, dtype="f4")}, config))
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
    with pytest.raises(SourceError, match=r"at most 2,000 heads, got \(4, 3000\)"):
        open_model(written({name: np.ones((4, 3000), "f2")}, {"model_type": "t5"}))
    odd = {"encoder.rel_embeddings.weight": np.ones(8, "f4")}
    with pytest.raises(NoPositionalEmbeddings):
        open_model(written(odd, {"model_type": "deberta"}))


def test_a_report_has_the_bias_by_head(tmp_path):
    saved("t5", tmp_path, **T5)
    model = open_model(tmp_path, table="decoder")
    scheme = report(model)["scheme"]
    assert (scheme["kind"], scheme["stack"]) == ("relative", "decoder")
    assert scheme["lags"] == [-lag for lag in range(25)]
    np.testing.assert_array_equal(scheme["bias"], model.W_pos.T)


@pytest.mark.parametrize("heads", [None, 0, -3, 10**9])
def test_numbers_of_heads_that_cannot_be(written, heads):
    config = {"model_type": "bloom", "n_head": heads}
    with pytest.raises(SourceError, match="heads, which cannot be"):
        open_model(written({"x.weight": np.eye(4, dtype="f4")}, config))


@pytest.mark.parametrize("change", [
    {"relative_attention_max_distance": -1}, {"relative_attention_max_distance": 10**9},
    {"relative_attention_max_distance": 3},
])  # fmt: skip
def test_distances_that_cannot_be_are_refused(written, change):
    tensors = {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight":
               np.ones((16, 2), "f4")}  # fmt: skip
    with pytest.raises(SourceError, match="cannot reach to a distance of"):
        open_model(written(tensors, {"model_type": "t5", **change}))


def test_a_bias_of_other_buckets_than_the_configuration_has_is_refused(written):
    tensors = {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight":
               np.ones((16, 2), "f4")}  # fmt: skip
    with pytest.raises(SourceError, match=r"should have shape \(32, heads\).*got \(16, 2\)"):
        open_model(written(tensors, {"model_type": "t5", "relative_attention_num_buckets": 32}))


def test_another_layer_of_umt5_opens_by_its_tensor(tmp_path):
    own = saved("umt5", tmp_path, **T5)
    first = open_model(tmp_path)
    name = "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"
    assert any(name in note for note in first.warnings)
    second = open_model(tmp_path, table=name)
    stored = own.encoder.block[1].layer[0].SelfAttention.relative_attention_bias.weight
    np.testing.assert_array_equal(second.W_pos[24], stored[0].detach().numpy())  # lag 0
    assert (second.scheme, second.table) == ("relative", name)


def test_old_cross_attention_bias_is_no_layer(written):
    block = "decoder.block.0.layer.{}.relative_attention_bias.weight"
    tensors = {block.format("1.EncDecAttention"): np.ones((8, 2), "f4"),
               block.format("0.SelfAttention"): np.zeros((8, 2), "f4")}  # fmt: skip
    model = open_model(written(tensors, {"model_type": "t5"}))
    assert model.table == block.format("0.SelfAttention")
    assert not [note for note in model.warnings if "layer has its own" in note]


SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [1, 2], "num_heads": [2, 4],
        "window_size": 4}  # fmt: skip
BEIT = {"image_size": [24, 32], "patch_size": 8, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 16, "out_indices": [1]}  # fmt: skip


def check_offsets(model, blocks, index):
    """Compare a model's columns with the bias of its blocks: (heads, queries, keys) each."""
    (down, across), column = model.lags.window, 0
    assert model.grid == (2 * down - 1, 2 * across - 1)
    rows = np.asarray(index)
    patches = np.indices((down, across)).reshape(2, -1).T
    offsets = patches[:, None] - patches[None] + (down - 1, across - 1)
    np.testing.assert_array_equal(rows, offsets[..., 0] * model.grid[1] + offsets[..., 1])
    for bias in blocks:
        for head in bias:
            found = np.asarray(model.W_pos)[rows, column]
            np.testing.assert_allclose(found, head, rtol=2e-5, atol=2e-5)
            column += 1
    assert column == model.d_model
    assert (model.scheme, model.computed, model.of_text) == ("relative", False, False)
    assert "adds a bias by distance" in model.no_table
    assert model.place_of(0) == f"offset −{down - 1} rows, −{across - 1} columns"
    assert model.place_of(model.n_positions - 1) == f"offset {down - 1} rows, {across - 1} columns"
    apart = {one.name: np.array(one.values, dtype=float) for one in model.columns}
    assert list(apart) == ["Rows apart", "Columns apart", "Distance"]
    here = int(rows[0, 0])  # a patch from itself
    assert [values[here] for values in apart.values()] == [0, 0, 0]
    assert apart["Rows apart"][int(rows[-1, 0])] == down - 1
    described = report(model)["scheme"]
    assert described["window"] == [down, across]
    assert described["offsets"][0] == [down - 1, across - 1]
    np.testing.assert_array_equal(np.array(described["bias"]).T, model.W_pos)


def randomised(own):
    """Give biases that begin at zero other values."""
    import torch

    torch.manual_seed(1)
    for name, parameter in own.named_parameters():
        if "relative_position_bias_table" in name or "continuous_position_bias" in name:
            torch.nn.init.normal_(parameter)
    return own


@pytest.mark.parametrize(
    ("more", "blocks"),
    [
        ({}, 3),
        ({"pretrained_window_sizes": [6, 6]}, 3),
        ({"window_size": 16}, 1),  # in the second stage the picture is smaller than that
    ],
)
@pytest.mark.parametrize("kind", ["swinv2", "swin2sr"])
def test_bias_by_offset_of_swin_2_is_made_by_a_network(kind, more, blocks, tmp_path):
    import torch

    sizes = {**SWIN, **more, **({"upscale": 2} if kind == "swin2sr" else {})}
    own = randomised(saved(kind, tmp_path, **sizes))
    own.save_pretrained(tmp_path)
    model, biases = open_model(tmp_path), []
    for one in own.modules():
        if not hasattr(one, "continuous_position_bias_mlp"):
            continue
        with torch.no_grad():
            made = one.continuous_position_bias_mlp(one.relative_coords_table)
        index = one.relative_position_index.numpy()
        if index.max() + 1 == model.n_positions:
            table = 16 * torch.sigmoid(made.view(-1, made.shape[-1])).numpy()
            biases.append((table.T[:, index], index))
    assert len(biases) == (3 if kind == "swin2sr" else blocks)
    check_offsets(model, [bias for bias, _ in biases], biases[0][1])


MLP = "layers.0.blocks.0.attention.self.continuous_position_bias_mlp."
NETWORK = {f"{MLP}0.weight": (8, 2), f"{MLP}0.bias": (8,), f"{MLP}2.weight": (2, 8)}


@pytest.mark.parametrize(
    "change",
    [
        *({name: None} for name in list(NETWORK)[:2]),
        {f"{MLP}0.weight": (8, 3)}, {f"{MLP}0.bias": (9,)}, {f"{MLP}2.weight": (2, 9)},
        {f"{MLP}2.weight": (8,)}, {f"{MLP}0.weight": ()},
    ],
    ids=repr,
)  # fmt: skip
def test_a_network_that_is_none_is_refused(change, written):
    shapes = {name: shape for name, shape in {**NETWORK, **change}.items() if shape is not None}
    tensors = {name: np.ones(shape, "f4") for name, shape in shapes.items()}
    config = {"model_type": "swinv2", "window_size": 4}
    with pytest.raises(SourceError, match="should have the shapes"):
        open_model(written(tensors, config))


@pytest.mark.parametrize("sizes", [["x", {}], 4, [2.5], [True], "44"], ids=repr)
def test_pretrained_windows_that_are_no_numbers(sizes, written):
    tensors = {name: np.ones(shape, "f4") for name, shape in NETWORK.items()}
    config = {"model_type": "swinv2", "window_size": 4, "pretrained_window_sizes": sizes}
    with pytest.raises(SourceError, match="pretrained_window_sizes"):
        open_model(written(tensors, config))


def test_names_with_numbers_of_any_length(written):
    long = f"encoder.block.{'1' * 5000}.layer.0.SelfAttention.relative_attention_bias.weight"
    tensors = {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": (32, 2),
               long: (32, 2)}  # fmt: skip
    folder = written({name: np.ones(shape, "f4") for name, shape in tensors.items()},
                     {"model_type": "t5"})  # fmt: skip
    assert open_model(folder).n_positions > 1


def test_beit_may_have_a_table_instead(tmp_path):
    own = saved("beit", tmp_path, **BEIT, use_absolute_position_embeddings=True)
    model = open_model(tmp_path)
    table = own.embeddings.position_embeddings.detach().numpy()[0]
    np.testing.assert_array_equal(model.W_pos, table[1:])
    assert (model.scheme, model.grid, model.n_heads) == ("grid", (3, 4), 4)
    queries = own.state_dict()["layers.1.attention.q_proj.weight"].numpy()
    assert np.isin(np.abs(queries), np.abs(model.weight("W_Q", 1))).all()


def test_a_picture_model_without_its_bias_says_so(tmp_path):
    saved("beit", tmp_path, **BEIT)
    with pytest.raises(NoPositionalEmbeddings, match="bias by offset in two directions"):
        open_model(tmp_path)


@pytest.mark.parametrize(
    ("changed", "table", "said"),
    [
        ({"window_size": "large"}, 49, "the text “large” as window_size"),
        ({"window_size": [4, 4]}, 49, ""),
        ({"window_size": 7}, 49, "has 49 rows; .* of 7 × 7 patches, which need 169"),
        ({"window_size": None}, 48, "has 48 rows, which no window of patches needs"),
        ({}, 10, "has 10 rows; .* of 4 × 4 patches, which need 49"),
        ({"window_size": 10**6}, 49, "which need 3999996000001"),
    ],
)
def test_a_window_that_contradicts_the_table_is_named(changed, table, said, tmp_path):
    from safetensors.numpy import load_file, save_file

    saved("swin", tmp_path, **SWIN)
    tensors = load_file(tmp_path / "model.safetensors")
    cut = {name: np.ascontiguousarray(value[:table] if name.endswith("bias_table") else value)
           for name, value in tensors.items()}  # fmt: skip
    save_file(cut, tmp_path / "model.safetensors")
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **changed}))
    if not said:
        assert open_model(tmp_path).lags.window == (4, 4)
        return
    with pytest.raises(SourceError, match=said):
        open_model(tmp_path)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_products_of_bias_heads_are_the_bias_that_the_module_adds(side, tmp_path):
    own = saved("t5", tmp_path, **T5)
    heads = bias_heads(open_model(tmp_path, table=side))
    n = heads.queries.shape[1]
    assert (n, heads.causal) == (25, side == "decoder")
    attention = getattr(own, side).block[0].layer[0].SelfAttention
    bias = attention.compute_bias(n, n)[0].detach().numpy()
    scores = heads.queries @ heads.keys.swapaxes(1, 2)
    seen = np.tril(np.ones((n, n), bool)) if heads.causal else np.ones((n, n), bool)
    np.testing.assert_array_equal(scores[:, seen], bias[:, seen])


def test_attention_by_alibi_is_a_geometric_series(written):
    model = open_model(
        written({"x.weight": np.eye(4, dtype="f4")}, {"model_type": "bloom", "n_head": 4})
    )
    heads = bias_heads(model)
    found = head_kernels(heads, (0, heads.queries.shape[1] - 1))
    for head, slope in enumerate(model.lags.slopes):
        row = attention_map(heads, head, (300, 300))
        assert row.shape == (1, 1)
        expected = 1.0 / np.exp(-slope * np.arange(301)).sum()
        assert row[0, 0] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(found.by_lag_alone, 1.0, atol=1e-6)
    assert (np.diff(found.mean_lag) > 0).all()  # slopes fall


def test_bias_heads_are_of_biases_by_lag_alone(tmp_path, written):
    saved("deberta", tmp_path / "deberta", **BERT, relative_attention=True,
          pos_att_type=["p2c", "c2p"])  # fmt: skip
    with pytest.raises(TensorUnavailable, match="adds no bias by lag"):
        bias_heads(open_model(tmp_path / "deberta"))
    table = {"a.relative_position_bias_table": np.ones((9, 2), "f4")}
    window = open_model(written(table, {"model_type": "swin", "window_size": 2}))
    with pytest.raises(TensorUnavailable, match="offsets in two directions"):
        bias_heads(window)
    bias, attention = offset_attention(window)
    assert bias.shape == attention.shape == (2, 3, 3)
    np.testing.assert_allclose(attention, 1 / 9)
    with pytest.raises(TensorUnavailable, match="no bias by offset"):
        offset_attention(open_model(tmp_path / "deberta"))


@given(st.integers(1, 200))
def test_slopes_are_different_and_below_one(n_heads):
    slopes = alibi_slopes(n_heads)
    assert len(set(slopes.tolist())) == n_heads
    assert ((slopes > 0) & (slopes < 1)).all()


def test_biases_by_offset_are_known_by_their_names(written):
    table = np.arange(50, dtype="f4").reshape(25, 2)
    tables = {f"layers.0.blocks.{n}.attn.relative_position_bias_table": table + n
              for n in range(2)}  # fmt: skip
    layer = {"layers.0.blocks.0.attn.qkv.weight": np.ones((12, 4), "f4")}
    here = open_model(written({**tables, **layer}, {}))  # as by timm, without a configuration
    known = open_model(written(tables, {"model_type": "swin", "window_size": 3}))
    np.testing.assert_array_equal(here.W_pos, known.W_pos)
    assert (here.scheme, here.grid) == (known.scheme, known.grid)
