"""A setting that is there and cannot be used is refused or named, and never the default."""

import math

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.measures.rotary import turning_rates
from geometry.models.families.names import names_in
from geometry.models.schemes.rotary import read_rotary
from geometry.models.schemes.rotary_settings import BASES, LOCAL_BASES, SHARES, WIDTHS
from geometry.models.sources.opening import open_model
from tests.geometry.checkpoints.formats.test_gguf_store import write
from tests.geometry.models.test_gguf_models import EYE
from tests.geometry.models.test_gguf_models import LLAMA as LLAMA_FILE
from tests.small_models import llama_config

LLAMA = llama_config(num_hidden_layers=2, max_position_embeddings=512)
NO_NUMBERS = ["500000.0", "", True, math.nan, math.inf, -2.0, 0, [2.0], {"a": 1}, 10**400]
NO_COUNTS = ["64", True, 64.0, 2.5, math.nan, [64, 64], {"a": 1}]
SCALINGS = {
    "linear": ("factor",),
    "dynamic": ("factor", "alpha"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "yarn": ("factor", "beta_fast", "beta_slow", "attention_factor", "truncate"),
    "longrope": ("factor", "short_factor", "long_factor", "attention_factor"),
}
SOUND = {"factor": 4.0, "alpha": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": 1.1, "truncate": True,
         "short_factor": [1.5] * 8, "long_factor": [2.5] * 8,
         "original_max_position_embeddings": 64}  # fmt: skip


def names_it(config, key):
    """Whether reading a configuration names a key, in its refusal or in a note."""
    try:
        return key in read_rotary(config).note
    except SourceError as error:
        return key in str(error) and len(str(error)) <= 200 and bool(error.advice)


@pytest.mark.parametrize("key", [*BASES, *LOCAL_BASES, *SHARES, "rope_ratio"])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_a_number(key, value):
    assert names_it({**LLAMA, key: value}, key)


COUNTS = names_in("""
    hidden_size num_attention_heads head_dim max_position_embeddings num_hidden_layers
    qk_rope_head_dim no_rope_layer_interval
""")


@pytest.mark.parametrize("key", [*WIDTHS, *COUNTS])
@pytest.mark.parametrize("value", NO_COUNTS, ids=repr)
def test_a_whole_number(key, value):
    assert names_it({**LLAMA, key: value}, key)


@pytest.mark.parametrize("key", ["rope_interleave", "rotary_emb_interleaved", "use_dynamic_ntk"])
@pytest.mark.parametrize("value", ["true", 2, 0.5, [], {"a": 1}], ids=repr)
def test_true_or_false(key, value):
    assert names_it({**LLAMA, key: value}, key)


@pytest.mark.parametrize("key", ["rope_parameters", "rope_scaling"])
@pytest.mark.parametrize("value", ["linear", True, 4.0, [1.0]], ids=repr)
def test_a_group(key, value):
    assert names_it({**LLAMA, key: value}, key)


@pytest.mark.parametrize("key", ["no_rope_layers", "layer_rope_theta"])
@pytest.mark.parametrize("value", ["all", 3, True, {"a": 1}], ids=repr)
def test_a_list_with_an_entry_for_each_layer(key, value):
    assert names_it({**LLAMA, key: value}, key)


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind, keys in SCALINGS.items() for key in keys]
)
@pytest.mark.parametrize("value", ["4", math.nan, -2.0, [2.0], {"a": 1}, 10**400], ids=repr)
@pytest.mark.parametrize("group", ["rope_parameters", "rope_scaling"])
def test_a_constant_of_a_scaling(group, kind, key, value):
    scaling = {"rope_type": kind, **{name: SOUND[name] for name in SCALINGS[kind]}}
    scaling["original_max_position_embeddings"] = 64
    family = {**LLAMA, "model_type": "hunyuan_v1_dense" if kind == "dynamic" else "llama"}
    assert not read_rotary({**family, group: scaling}).note
    config = {**family, group: {**scaling, key: value}}
    assert names_it(config, key)
    np.testing.assert_array_equal(read_rotary(config).rates, turning_rates(10_000.0, 16))


@pytest.mark.parametrize(
    ("kind", "key"),
    [("linear", "factor"), ("llama3", "factor"), ("llama3", "low_freq_factor"),
     ("llama3", "high_freq_factor"), ("longrope", "short_factor")],
)  # fmt: skip
def test_a_constant_that_is_missing(kind, key):
    scaling = {"rope_type": kind, **{name: SOUND[name] for name in SCALINGS[kind]}}
    del scaling[key]
    assert key in read_rotary({**LLAMA, "rope_scaling": scaling}).note


@pytest.mark.parametrize("inside", [
    {"rope_type": "linear", "factor": "2"}, {"rope_theta": "1e6"}, {"partial_rotary_factor": True},
])  # fmt: skip
def test_of_each_kind_of_layer(inside):
    kinds = {"full_attention": {"rope_theta": 1e6}, "sliding_attention": inside}
    key = list(inside)[-1]
    config = {**LLAMA, "model_type": "gemma4_text", "head_dim": 16, "rope_parameters": kinds}
    assert names_it(config, f"sliding_attention.{key}")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rope_new_trick": 3.0}, "rope_new_trick"),
        ({"rotary_emb_scale_base": 512}, "rotary_emb_scale_base"),
        ({"use_xpos": True}, "use_xpos"),
        ({"ntk_alpha": 2}, "ntk_alpha"),
        ({"rope_scaling": {"rope_type": "default", "factor": 4.0}}, "rope_scaling.factor"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0, "new": 1}}, "rope_scaling.new"),
        ({"rope_scaling": {"type": "newest", "factor": 2.0}}, "newest"),
        ({"rope_theta": 1e6, "rotary_emb_base": 5e5}, "rotary_emb_base"),
        ({"rope_theta": 1e6, "rope_parameters": {"rope_theta": 5e5}}, "1000000"),
        ({"rope_theta": 1e6, "rope_parameters": {"rope_theta": 1e6 + 1}}, "1000001 and 1000000"),
        ({"use_rope": False}, "use_rope"),
        ({"use_nope": True}, "use_nope"),
        ({"use_alibi": True}, "use_alibi"),
        ({"nope_layer_interval": 2}, "nope_layer_interval"),
        ({"pos_emb_type": "alibi"}, "pos_emb_type"),
        ({"position_scale": 4.0}, "position_scale"),
        ({"interpolation_factor": 8}, "interpolation_factor"),
        ({"position_interpolation": 4}, "position_interpolation"),
    ],
)
def test_what_is_not_used_is_named(settings, named):
    assert named in read_rotary({**LLAMA, **settings}).note


@pytest.mark.parametrize(("settings", "pairs", "named"), [
    ({"model_type": "phi", "partial_rotary_factor": 0.25,
      "rope_parameters": {"partial_rotary_factor": 0.5}}, 4, "0.5 and 0.25"),
    ({"model_type": "brandnew", "rotary_dim": 8, "rotary_pct": 0.25}, 4, "8 entries"),
    ({"model_type": "brandnew", "rotary_dim": 4, "rotary_pct": 0.25}, 2, ""),
])  # fmt: skip
def test_shares_and_widths_that_contradict_each_other_are_named(settings, pairs, named):
    found = read_rotary({**LLAMA, **settings})
    assert found.n_pairs == pairs
    assert named in found.note
    assert bool(named) == ("is used" in found.note)


def test_notes_stand_once_and_bases_of_layers_apart():
    bases = [5e5 + i for i in range(6)]
    config = {**LLAMA, "model_type": "granite_swa", "num_hidden_layers": 6, "rope_theta": 1e4}
    found = read_rotary({**config, "layer_rope_theta": bases})
    assert [base for base, _ in found.by_layer_type.values()] == bases
    assert not found.note
    new = {"rope_type": "newest", "factor": 2.0}
    kinds = {"full_attention": new, "sliding_attention": new}
    config = {**LLAMA, "model_type": "lfm3", "rope_parameters": kinds}
    assert read_rotary(config).note.count("The scaling “newest”") == 1


def test_what_is_used_or_without_effect_is_not():
    settings = {"rope_theta": 1e6, "rotary_emb_base": 1e6, "use_rope": True, "properties": 3,
                "rope_scaling": None, "use_xpos": False, "rope_local_base_freq": None,
                "rope_parameters": {"rope_type": "default", "mrope_section": [2]}}  # fmt: skip
    assert not read_rotary({**LLAMA, **settings}).note


def test_a_family_that_was_not_compared_is_named():
    note = read_rotary({**LLAMA, "model_type": "brandnew"}).note
    assert "sual settings assumed" in note
    assert "brandnew" in note


GPT2 = {"model_type": "gpt2", "n_embd": 4, "n_positions": 8, "n_layer": 1, "n_head": 2}
TABLE = {"wpe.weight": np.arange(32, dtype=np.float32).reshape(8, 4)}


SIZES = names_in("""
    n_embd n_positions n_layer n_head vocab_size n_inner head_dim num_hidden_groups type_vocab_size
""")


@pytest.mark.parametrize("key", SIZES)
@pytest.mark.parametrize("value", ["8", True, 8.0, math.nan, {"a": 1}], ids=repr)
def test_sizes(written, key, value):
    with pytest.raises(SourceError, match=key):
        open_model(written(TABLE, {**GPT2, key: value}))


@pytest.mark.parametrize("key", ["layer_norm_epsilon"])
@pytest.mark.parametrize("value", ["1e-5", True, -1.0, [1e-5]], ids=repr)
def test_epsilon(written, key, value):
    with pytest.raises(SourceError, match=key):
        open_model(written(TABLE, {**GPT2, key: value}))


@pytest.mark.parametrize("key", ["scale_attn_weights", "tie_word_embeddings", "is_decoder", "bias"])
@pytest.mark.parametrize("value", ["false", 2, [False]], ids=repr)
def test_switches(written, key, value):
    with pytest.raises(SourceError, match=key):
        open_model(written(TABLE, {**GPT2, key: value}))


@pytest.mark.parametrize(("heads", "expected"), [([2, 2], 2), ([2, 4], None)])
def test_numbers_of_heads_by_layer(written, heads, expected):
    assert open_model(written(TABLE, {**GPT2, "n_head": heads})).n_heads == expected


def test_a_model_without_layers_has_no_layout(written):
    query = {"h.0.attn.c_attn.weight": np.ones((12, 4), np.float32)}
    model = open_model(written({**TABLE, **query}, {**GPT2, "n_layer": 0}))
    assert model.n_layers == 0
    assert not any("matrices" in note for note in model.warnings)


@pytest.mark.parametrize("settings", [
    {"attention_layers": "local"}, {"attention_layers": ["global"]},
    {"attention_layers": ["global", "near"]}, {"attention_types": [["global", "local"], 1]},
    {"attention_types": [[["global"], "2"]]}, {"attention_types": 2},
], ids=repr)  # fmt: skip
def test_kinds_of_layers(written, settings):
    neo = {"model_type": "gpt_neo", "hidden_size": 4, "num_layers": 2, "num_heads": 2}
    with pytest.raises(SourceError, match=next(iter(settings))):
        open_model(written(TABLE, {**neo, **settings}))


@pytest.mark.parametrize("window", ["64", 0, True, [64, "64"]], ids=repr)
def test_windows(written, window):
    table = {"embeddings.position_embeddings.weight": np.ones((10, 4), np.float32)}
    config = {"model_type": "longformer", "num_hidden_layers": 2, "attention_window": window}
    with pytest.raises(SourceError, match="attention_window"):
        open_model(written(table, config))


@pytest.mark.parametrize("size", ["32", 0, [1, 2, 3], True], ids=repr)
def test_sizes_of_pictures(written, size):
    table = {"embeddings.position_embeddings": np.ones((1, 10, 4), np.float32)}
    config = {"model_type": "vit", "hidden_size": 4, "image_size": size}
    model = open_model(written(table, config))
    assert any("image_size" in warning for warning in model.warnings)


def open_gguf(path, settings, arch="llama", **tensors):
    """Open a GGUF file with some settings in the place of others."""
    given = dict(LLAMA_FILE) | settings
    named = [(key.replace("llama.", f"{arch}."), value) for key, value in given.items()]
    return open_model(write(path / "m.gguf", {"token_embd.weight": EYE, **tensors}, named, arch))


@pytest.mark.parametrize(("key", "value"), [
    ("llama.context_length", "128"), ("llama.embedding_length", 32.5),
    ("llama.block_count", True), ("llama.attention.head_count", "4"),
    ("llama.rope.freq_base", "500000"), ("llama.rope.freq_base", -1.0),
    ("llama.rope.dimension_count", "8"), ("llama.rope.scaling.factor", "4"),
    ("llama.rope.scaling.factor", -4.0), ("llama.rope.scale_linear", "4"),
    ("llama.rope.scaling.type", 3), ("llama.rope.scaling.attn_factor", "1"),
    ("llama.rope.freq_base_swa", "1e4"), ("llama.attention.sliding_window", "64"),
    ("llama.attention.causal", "no"), ("llama.vocab_size", "32"),
])  # fmt: skip
def test_settings_of_gguf(tmp_path, key, value):
    with pytest.raises(SourceError, match=key) as error:
        open_gguf(tmp_path, {key: value})
    assert "llama.cpp" in error.value.advice


@pytest.mark.parametrize(("key", "value"), [
    ("llama.rope.new_trick", 3.0), ("llama.rope.scaling.alpha", 2.0),
    ("llama.rope.scaling.yarn_ext_factor", 0.5), ("llama.rope.dimension_count_swa", 4),
])  # fmt: skip
def test_settings_of_gguf_that_are_not_used_are_named(tmp_path, key, value):
    model = open_gguf(tmp_path, {key: value})
    assert any(key in warning for warning in model.warnings)


@pytest.mark.parametrize("tensors", [{}, {"rope_freqs.weight": np.ones(4, np.float32)}])
def test_a_scaling_of_gguf_that_nobody_knows_is_named(tmp_path, tensors):
    model = open_gguf(tmp_path, {"llama.rope.scaling.type": "newest"}, **tensors)
    assert any("newest" in warning for warning in model.warnings)


@pytest.mark.parametrize("settings", [
    {"llama.rope.scaling.factor": 4.0}, {"llama.rope.scale_linear": 4.0},
    {"llama.rope.scaling.factor": 4.0, "llama.rope.scaling.type": "linear"},
])  # fmt: skip
def test_a_factor_of_gguf_is_linear_unless_it_says_otherwise(tmp_path, settings):
    model = open_gguf(tmp_path, settings)
    np.testing.assert_allclose(model.rotary.rates, turning_rates(5e5, 8) / 4)
    assert not model.warnings


def test_yarn_of_gguf(tmp_path):
    yarn = {"type": "yarn", "factor": 4.0, "original_context_length": 64, "yarn_beta_fast": 16.0,
            "yarn_beta_slow": 2.0, "attn_factor": 1.5}  # fmt: skip
    model = open_gguf(tmp_path, {f"llama.rope.scaling.{key}": one for key, one in yarn.items()})
    same = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64,
            "beta_fast": 16.0, "beta_slow": 2.0}  # fmt: skip
    expected = read_rotary({**LLAMA, "head_dim": 8, "rope_theta": 5e5, "rope_scaling": same})
    np.testing.assert_allclose(model.rotary.rates, expected.rates)
    assert model.rotary.factor == pytest.approx(1.5 * expected.factor)
    assert not model.warnings


@pytest.mark.parametrize("arch", ["llama", "phi3"])
def test_factors_of_gguf_for_longer_texts_are_said(tmp_path, arch):
    tensors = {"rope_factors_short.weight": np.full(4, 2.0, np.float32),
               "rope_factors_long.weight": np.full(4, 3.0, np.float32)}  # fmt: skip
    settings = {"llama.rope.scaling.original_context_length": 64,
                "llama.rope.scaling.attn_factor": 1.25}  # fmt: skip
    model = open_gguf(tmp_path, settings, arch, **tensors)
    np.testing.assert_allclose(model.rotary.rates, turning_rates(5e5, 8) / 2)
    assert model.rotary.factor == 1.25
    assert any("up to 64 positions" in warning for warning in model.warnings)


FACTORS = np.array([1.0, 2.0, 4.0, 8.0], np.float32)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("kind", "before"), [("none", 1.0), ("linear", 4.0), ("yarn", 4.0)])
def test_factors_of_gguf_apply_with_any_scaling(tmp_path, kind, before, stored):
    scaling = {"type": kind, "factor": 4.0, "original_context_length": 64, "attn_factor": 1.5}
    tensors = {"rope_freqs.weight": FACTORS} if stored else {}
    settings = {f"llama.rope.scaling.{key}": one for key, one in scaling.items()}
    rotary = open_gguf(tmp_path, settings, **tensors).rotary
    rates, factor = turning_rates(5e5, 8) / before, 1.0
    if kind == "yarn":
        same = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
        alone = read_rotary({**LLAMA, "head_dim": 8, "rope_theta": 5e5, "rope_scaling": same})
        rates, factor = alone.rates, alone.factor
    np.testing.assert_allclose(rotary.rates, rates / (FACTORS if stored else 1.0))
    assert rotary.factor == pytest.approx(1.5 * factor)


def test_near_layers_of_gguf(tmp_path):
    settings = {"llama.rope.freq_base_swa": 1e4, "llama.block_count": 4,
                "llama.attention.sliding_window": 64,
                "llama.attention.sliding_window_pattern": [True, True, False, True]}  # fmt: skip
    rotary = open_gguf(tmp_path, settings, "gemma3").rotary
    near, far = turning_rates(1e4, 8), turning_rates(5e5, 8)
    for layer, rates in enumerate((near, near, far, near)):
        np.testing.assert_allclose(rotary.rates_at(layer), rates)


def test_llama_files_pair_neighbours_by_default(tmp_path):
    path = write(tmp_path / "m.gguf", {"token_embd.weight": EYE}, LLAMA_FILE[:4])
    assert open_model(path).rotary.pairing == "interleaved"


def test_heads_of_gguf_that_differ_are_no_number(tmp_path):
    settings = {"llama.attention.head_count": [4, 8], "llama.attention.key_length": 8}
    assert open_gguf(tmp_path, settings).n_heads is None
    del settings["llama.attention.key_length"]
    assert open_gguf(tmp_path, settings).rotary.d_head == 8
    settings["llama.attention.head_count"] = [4, 4]
    assert open_gguf(tmp_path, settings).n_heads == 4


@pytest.mark.parametrize(("arch", "settings"), [
    ("llama", {"llama.rope.dimension_count": 64}), ("llama", {"llama.rope.freq_base": 0.5}),
    ("llama", {"llama.attention.head_count": 3}), ("bloom", {"llama.attention.head_count": 0}),
])  # fmt: skip
def test_errors_of_gguf_do_not_speak_of_another_file(tmp_path, arch, settings):
    with pytest.raises(SourceError) as error:
        open_gguf(tmp_path, settings, arch)
    assert "config.json" not in str(error.value) + error.value.advice


def test_an_unknown_architecture_of_gguf_is_said(tmp_path):
    model = open_gguf(tmp_path, {}, "brandnew")
    assert any("sual settings assumed" in warning for warning in model.warnings)
