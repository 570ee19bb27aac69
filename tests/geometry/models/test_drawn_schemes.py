"""Settings drawn at random: slopes, biases and sinusoids against the models' own modules."""

import json
import random

import numpy as np
import pytest
import torch
from transformers import AutoConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as build_falcon_alibi
from transformers.models.longt5.modeling_longt5 import (
    LongT5Attention,
    LongT5LocalAttention,
    LongT5TransientGlobalAttention,
)
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.mt5.modeling_mt5 import MT5Attention
from transformers.models.pop2piano.modeling_pop2piano import Pop2PianoAttention
from transformers.models.switch_transformers.modeling_switch_transformers import (
    SwitchTransformersAttention,
)
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.umt5.modeling_umt5 import UMT5Attention

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import TensorInfo
from geometry.claims.report import report
from geometry.models.recognition.candidates import UnknownArchitecture
from geometry.models.schemes.alibi import compared, find_alibi
from geometry.models.sources.opening import open_model
from tests.geometry.models.test_lags import check_offsets, randomised
from tests.small_models import saved

SEEDS = range(8)
ANY = {"x.weight": np.eye(4, dtype="f4")}


def alibi_of(kind, draw):
    """Draw a configuration of a family, and compute the slopes of its own module."""
    heads = draw.choice([1, 2, 3, 6, 8, 12, 16, 25, 71, 112, draw.randint(1, 128)])
    mask = torch.ones(1, 2)
    if kind == "bloom":
        own = build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1]
        return {"model_type": kind, draw.choice(["n_head", "num_attention_heads"]): heads}, own
    if kind == "falcon":
        width = draw.choice([4, 8, 20])
        own = build_falcon_alibi(mask, heads, torch.float32)[:, 0, 1] / width**0.5
        return {"model_type": kind, "alibi": True, "num_attention_heads": heads,
                "hidden_size": heads * width}, own  # fmt: skip
    most = draw.choice([8, 4, 16, draw.uniform(0.5, 20)])
    own = -build_mpt_alibi_tensor(heads, 2, most)[:, 0, 0]
    attention = {"alibi": True, "alibi_bias_max": most}
    return {"model_type": kind, "n_heads": heads, "attn_config": attention}, own


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["bloom", "falcon", "mpt"])
def test_slopes_of_drawn_settings(kind, seed, written):
    config, own = alibi_of(kind, random.Random(seed))
    model = open_model(written(ANY, config))
    # Falcon's module rounds its slopes to bfloat16.
    rounding = 4e-3 if kind == "falcon" else 1e-5
    np.testing.assert_allclose(model.lags.slopes, own.numpy(), rtol=rounding)
    np.testing.assert_allclose(model.W_pos[7], -7 * np.array(model.lags.slopes))
    assert (model.scheme, model.computed) == ("alibi", True)


def bias(slopes, n, how):
    """Arrange slopes as checkpoints store them: alone, by key, or by query and key."""
    slopes = np.asarray(slopes, "f4")
    keys = np.arange(n)
    return {
        "alone": slopes,
        "with axes": slopes[None, :, None, None],
        "by key": slopes[None, :, None, None] * keys,
        "less than the last": slopes[:, None, None] * (keys - n + 1),
        "both ways": -slopes[None, :, None, None] * np.abs(keys[:, None] - keys),
        "halves": (-slopes[None, :, None, None] * np.abs(keys[:, None] - keys)).astype("f2"),
    }[how]


HOW = ["alone", "with axes", "by key", "less than the last", "both ways", "halves"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ["alibi", "encoder.alibi", "h.0.attn.slopes", "x.alibi_slopes"])
def test_stored_slopes_are_compared_and_shown_where_they_differ(name, how, written):
    config = {"model_type": "bert", "position_embedding_type": "alibi", "num_attention_heads": 4,
              "hidden_size": 8}  # fmt: skip
    formula = open_model(written(ANY, config)).lags.slopes
    same = open_model(written({**ANY, name: bias(formula, 9, how)}, config))
    assert (same.lags.slopes, same.computed, same.warnings) == (formula, True, ())
    trained = np.array([0.9, 0.25, 0.11, 0.02])
    model = open_model(written({**ANY, name: bias(trained, 9, how)}, config))
    np.testing.assert_allclose(model.lags.slopes, trained, rtol=5e-3)
    np.testing.assert_allclose(model.W_pos[5], -5 * trained, rtol=5e-3)
    assert (model.scheme, model.computed) == ("alibi", False)
    assert any(name in note for note in model.warnings)
    assert report(model)["scheme"]["slopes"] == list(model.lags.slopes)


def test_slopes_of_each_layer_open_by_their_names(written):
    first, second = np.array([0.9, 0.2], "f4"), np.array([0.8, 0.1], "f4")
    tensors = {"h.0.attn.slopes": first, "h.1.attn.slopes": second}
    folder = written(tensors, {"model_type": "bloom", "n_head": 2})
    model = open_model(folder)
    np.testing.assert_allclose(model.lags.slopes, first)
    assert any("h.1.attn.slopes" in note for note in model.warnings)
    np.testing.assert_allclose(open_model(folder, table="h.1.attn.slopes").lags.slopes, second)


def test_a_stored_bias_that_is_no_slope_is_refused(written):
    tensors = {"alibi": np.random.default_rng(0).standard_normal((1, 4, 1, 9)).astype("f4")}
    with pytest.raises(SourceError, match="alibi should be a slope times the distance"):
        open_model(written(tensors, {"model_type": "bloom", "n_head": 4}))


@pytest.mark.parametrize("shape", [(9, 4), (1, 9, 4), (1, 9, 9, 4)])
def test_a_stored_bias_with_heads_last_is_refused(shape, written):
    tensors = {"alibi_bias": np.ones(shape, "f4")}
    with pytest.raises(SourceError, match="alibi_bias should be a slope times the distance"):
        open_model(written(tensors, {"model_type": "bloom", "n_head": 4}))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("shape", [(4,), (1, 4, 1, 9)])
def test_stored_slopes_that_are_no_numbers_are_refused_by_name(value, shape, written):
    tensors = {"h.0.alibi": np.full(shape, value, "f4")}
    with pytest.raises(SourceError, match=r"h\.0\.alibi"):
        open_model(written(tensors, {"model_type": "bloom", "n_head": 4}))


class HubStore:
    """A store of which each tensor has to be downloaded; "h.0" to "h.3" have slopes."""

    def __init__(self):
        names = [f"h.{i}.slopes" for i in range(4)]
        self.tensors = {name: TensorInfo(name, (4,), "F32", 16) for name in names}
        self.fetched = []

    def bytes_to_fetch(self, *names):
        return 16

    def read(self, name):
        self.fetched.append(name)
        return np.array([0.9, 0.2, 0.1, 0.05], "f4")


def test_of_a_model_on_the_hub_only_the_first_slopes_are_downloaded():
    store = HubStore()
    lags = compared(find_alibi(store.tensors, {"model_type": "bloom", "n_head": 4}), store)
    assert (lags.stored, store.fetched) == (True, ["h.0.slopes"])


@pytest.mark.parametrize("kind", ["jais", "btlm", "gpt_bigcode"])
def test_decoders_with_alibi_are_causal(kind, written):
    config = {"model_type": kind, "position_embedding_type": "alibi", "n_head": 4}
    model = open_model(written(ANY, config))
    assert (model.causal, model.lags.note) == (True, "")
    scaling = {"alibi_scaling": {"type": "linear", "factor": 2.0}}
    model = open_model(written(ANY, {**config, **scaling}))
    assert any("alibi_scaling" in note for note in model.warnings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alibi": "false"}, "as alibi, "),
        ({"attn_config": {"alibi": 2}}, "as alibi, "),
        ({"attn_config": {"alibi_bias_max": "8"}}, "as alibi_bias_max, "),
        ({"attn_config": {"alibi_bias_max": float("nan")}}, "as alibi_bias_max, "),
        ({"attn_config": {"alibi_bias_max": True}}, "as alibi_bias_max, "),
    ],
)
def test_settings_of_alibi_that_cannot_be_used_are_named(change, words, written):
    with pytest.raises(SourceError, match=words):
        open_model(written(ANY, {"model_type": "mpt", "n_heads": 4, **change}))


def test_mpt_without_alibi_is_not_taken_for_it(written):
    tensors = {"transformer.wpe.weight": np.ones((6, 4), "f4"), **ANY}
    config = {"model_type": "mpt", "n_heads": 4, "attn_config": {"alibi": False}}
    with pytest.raises(UnknownArchitecture) as error:
        open_model(written(tensors, config))
    assert error.value.candidates[0].name == "transformer.wpe.weight"


ATTENTION = {
    "t5": T5Attention, "mt5": MT5Attention, "umt5": UMT5Attention, "longt5": LongT5Attention,
    "longt5-local": LongT5LocalAttention, "longt5-global": LongT5TransientGlobalAttention,
    "switch_transformers": SwitchTransformersAttention, "pop2piano": Pop2PianoAttention,
}  # fmt: skip
PLACE = {"longt5-local": "LocalSelfAttention", "longt5-global": "TransientGlobalSelfAttention"}


def own_bias(attention, buckets, farthest, lags, both_ways):
    """Return the bias of each lag, as the module looks it up: (lags, heads)."""
    bucket = attention._relative_position_bucket
    given = torch.from_numpy(-lags)
    if isinstance(attention, UMT5Attention):
        rows = bucket(given)
    else:
        rows = bucket(given, both_ways, buckets, farthest)
    return attention.relative_attention_bias(rows).detach().numpy()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ATTENTION)
def test_biases_of_drawn_settings_by_lag(kind, seed, written):
    draw, side = random.Random(seed), ("encoder", "decoder")[seed % 2]
    if kind in PLACE:  # which decoders do not have
        side = "encoder"
    buckets = 4 * draw.randint(1, 12)
    farthest = draw.randint(buckets // 2 + 1, 200)
    settings = {"d_model": 8, "d_kv": 2, "num_heads": draw.randint(1, 6), "vocab_size": 9,
                "d_ff": 8, "relative_attention_num_buckets": buckets,
                "relative_attention_max_distance": farthest, "num_layers": 1}  # fmt: skip
    config = AutoConfig.for_model(kind.partition("-")[0], **settings)
    config.is_decoder = side == "decoder"
    torch.manual_seed(seed)
    attention = ATTENTION[kind](config, has_relative_attention_bias=True)
    stored = attention.relative_attention_bias.weight
    torch.nn.init.normal_(stored)
    name = PLACE.get(kind, "SelfAttention")
    tensors = {f"{side}.block.0.layer.0.{name}.relative_attention_bias.weight":
               stored.detach().numpy()}  # fmt: skip
    model = open_model(written(tensors, config.to_dict()))
    lags = model.lags.first + np.arange(model.lags.count)
    expected = own_bias(attention, buckets, farthest, lags, side == "encoder")
    np.testing.assert_array_equal(model.W_pos, expected)
    assert (model.lags.side, model.causal) == (side, side == "decoder")
    # Beyond the last lag there is one bucket.
    far = np.array([-5, 1]) * (10 * farthest)
    beyond = own_bias(attention, buckets, farthest, far, side == "encoder")
    np.testing.assert_array_equal(model.W_pos[-1], beyond[1])
    if side == "encoder":
        np.testing.assert_array_equal(model.W_pos[0], beyond[0])


@pytest.mark.parametrize("buckets", [32, 48])
@pytest.mark.parametrize("distance", [None, 20])
def test_mpnet_bias_ignores_other_settings(buckets, distance, written):
    config = AutoConfig.for_model("mpnet", hidden_size=8, num_hidden_layers=1, vocab_size=9,
                                  num_attention_heads=2, intermediate_size=8,
                                  relative_attention_num_buckets=buckets)  # fmt: skip
    encoder = MPNetEncoder(config)
    torch.nn.init.normal_(encoder.relative_attention_bias.weight)
    table = encoder.relative_attention_bias.weight.detach().numpy()
    tensors = {"encoder.relative_attention_bias.weight": table}
    settings = {**config.to_dict(), "relative_attention_max_distance": distance}
    model = open_model(written(tensors, settings))
    added = encoder.compute_position_bias(torch.zeros(1, 300, 8))[0].detach().numpy()
    for lag in range(-128, 129):
        i, j = max(lag, 0), max(-lag, 0)
        np.testing.assert_array_equal(model.W_pos[lag - model.lags.first], added[:, i, j])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["swin", "donut-swin", "maskformer-swin"])
def test_windows_of_drawn_sizes(kind, seed, tmp_path):
    draw = random.Random(seed)
    window, depth = draw.randint(2, 6), draw.randint(1, 3)
    patch = draw.choice([1, 2, 4])
    own = randomised(saved(kind, tmp_path, image_size=4 * window * patch, patch_size=patch,
                           embed_dim=8, depths=[depth, 1], num_heads=[draw.choice([1, 2, 4]), 2],
                           window_size=window))  # fmt: skip
    own.save_pretrained(tmp_path)
    found = [one for one in own.modules() if hasattr(one, "relative_position_bias_table")]
    index = found[0].relative_position_index.reshape(window**2, window**2).numpy()
    tables = [one.relative_position_bias_table.detach().numpy() for one in found]
    assert len(tables) == depth + 1
    model = open_model(tmp_path)
    check_offsets(model, [table.T[:, index] for table in tables], index)
    assert model.lags.words.endswith(f"a column for each head of {depth + 1} blocks")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["beit", "data2vec-vision"])
def test_windows_of_drawn_pictures_in_beit(kind, seed, tmp_path):
    draw = random.Random(seed)
    rows, columns = draw.randint(2, 5), draw.randint(2, 5)
    flag = draw.choice(["use_shared_relative_position_bias", "use_relative_position_bias"])
    own = randomised(saved(kind, tmp_path, image_size=[8 * rows, 8 * columns], patch_size=8,
                           hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                           intermediate_size=16, out_indices=[1], **{flag: True}))  # fmt: skip
    own.save_pretrained(tmp_path)
    found = [one for one in own.modules() if hasattr(one, "relative_position_bias_table")]
    index = found[0].generate_relative_position_index((rows, columns)).numpy()[1:, 1:]
    tables = [one.relative_position_bias_table.detach().numpy() for one in found]
    assert len(tables) == (1 if "shared" in flag else 2)
    check_offsets(open_model(tmp_path), [table.T[:, index] for table in tables], index)


@pytest.mark.parametrize("kind", ["beit", "swin"])
def test_a_table_beside_the_bias_is_named_and_opens_if_it_is_added(kind, tmp_path):
    sizes = {"image_size": 16, "patch_size": 4, "num_attention_heads": 2, "hidden_size": 16,
             "num_hidden_layers": 1, "intermediate_size": 16, "use_relative_position_bias": True,
             "use_absolute_position_embeddings": True}  # fmt: skip
    if kind == "swin":
        sizes = {"image_size": 16, "patch_size": 4, "embed_dim": 16, "depths": [1],
                 "num_heads": [2], "window_size": 2, "use_absolute_embeddings": True}  # fmt: skip
    own = saved(kind, tmp_path, **sizes)
    first = open_model(tmp_path)
    name = "embeddings.position_embeddings"
    assert first.scheme == "relative"
    assert any(name in note for note in first.warnings)
    table = open_model(tmp_path, table=name)
    stored = own.embeddings.position_embeddings.detach().numpy()[0]
    np.testing.assert_array_equal(table.W_pos, stored[table.prefix_rows :])
    assert (table.scheme, table.grid, table.n_positions) == ("grid", (4, 4), 16)
    assert any("by offset" in note for note in table.warnings)
    config = json.loads((tmp_path / "config.json").read_text())
    unused = {key: False for key in config if key.startswith("use_absolute")}
    (tmp_path / "config.json").write_text(json.dumps({**config, **unused}))
    assert not any(name in note for note in open_model(tmp_path).warnings)
