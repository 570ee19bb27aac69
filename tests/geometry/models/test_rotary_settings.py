"""Settings of rotary positions drawn at random, against the code of each family."""

import importlib
import inspect
import json
import random
from functools import cache

import numpy as np
import pytest
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from geometry.checkpoints.errors import SourceError
from geometry.measures.rotary import turn
from geometry.models.families.names import by_name, names_in
from geometry.models.schemes.alibi import find_alibi
from geometry.models.schemes.rotary import read_rotary
from geometry.models.schemes.rotary_families import ROTARY_FAMILIES, WITH_OWN_CODE

SINGLE = 2e-5
"""Of the modules' rates, in single precision; differences lose some more."""
DRAWS = 10
#: Modules that turn by a table, which test_rotary.py compares.
BY_TABLE = {"gptj", "codegen", "roformer", "esm"}
#: What transformers raises for settings that are not those of a family.
UNFIT = (
    ArithmeticError, AttributeError, LookupError, RuntimeError, StrictDataclassError, TypeError,
    ValueError,
)  # fmt: skip
OTHER_PARTS = ("Vision", "Audio", "DiT", "SaProt")
#: What a configuration of a family needs before it can be made.
NEEDS = {
    "bamba": {"mamba_n_heads": 1}, "granitemoehybrid": {"mamba_n_heads": 1},
    "phi3": {"pad_token_id": 0}, "phi4_multimodal": {"pad_token_id": 0},
    "zamba2": {"layer_types": ["linear_attention"] * 6, "use_mem_rope": True},
}  # fmt: skip


@cache
def classes_of(kind):
    """What turns in transformers' module of a family."""
    try:
        made_by = CONFIG_MAPPING[kind].__module__
        module = importlib.import_module(made_by.replace("configuration_", "modeling_"))
    except ModuleNotFoundError:  # it uses that of another family
        model = getattr(transformers, MODEL_MAPPING_NAMES[kind])
        module = importlib.import_module(model.__module__)
    every = {n: part for n, part in vars(module).items() if n.endswith("RotaryEmbedding")}
    own = [part for n, part in every.items() if not any(word in n for word in OTHER_PARTS)]
    return own or list(every.values())


def drawn(kind, rng):
    """Settings as a config.json has them, with the names of its family and time."""
    width, heads = rng.choice([8, 16, 24, 32, 64]), rng.choice([2, 4])
    context = rng.choice([256, 1000, 4096])
    settings = {
        "hidden_size": heads * width, "num_attention_heads": heads, "num_key_value_heads": heads,
        "num_hidden_layers": 6, "max_position_embeddings": context, "vocab_size": 99,
        **NEEDS.get(kind, {}),
    }  # fmt: skip
    if rng.random() < 0.5:
        settings["head_dim"] = width
    if kind == "zamba2":
        settings["attention_head_dim"] = width
    if "qk_rope_head_dim" in vars(CONFIG_MAPPING[kind]):
        settings |= {"qk_rope_head_dim": width, "qk_nope_head_dim": width, "head_dim": width}
    own = ROTARY_FAMILIES[kind]
    local, shared = bool(own.sliding_base), kind.startswith("gpt_neox")
    theta = {}
    if rng.random() < 0.7:
        name = "rotary_emb_base" if shared else "rope_theta"
        name = "global_rope_theta" if "modernbert" in kind else name
        theta[name] = round(10 ** rng.uniform(3.2, 7), 1)
    if local and rng.random() < 0.5 and kind != "olmo3":
        name = "local_rope_theta" if "modernbert" in kind else "rope_local_base_freq"
        theta[name] = round(10 ** rng.uniform(3.2, 7), 1)
    share = 1.0
    source = "".join(map(inspect.getsource, classes_of(kind)))
    if "partial_rotary_factor" in source and rng.random() < 0.6 and kind != "bamba":
        share = rng.choice([0.25, 0.4, 0.5, 0.75])
        theta["rotary_pct" if shared else "partial_rotary_factor"] = share
    scaling = {} if "only `default`" in source else drawn_scaling(rng, kind, width, share)
    if kind == "phimoe" and scaling:
        scaling |= {"short_mscale": 1.1, "long_mscale": 1.2}
    if kind in ("phi3", "phi4_multimodal") and scaling:
        settings["original_max_position_embeddings"] = scaling["original_max_position_embeddings"]
    if own.needs != "kinds" and (own.needs or (not local and not shared and rng.random() < 0.5)):
        settings["rope_parameters"] = {**theta, **(scaling or {"rope_type": "default"})}
    elif own.needs != "kinds":
        settings |= {**theta, **({"rope_scaling": scaling} if scaling else {})}
    return settings


def drawn_scaling(rng, family, width, share):
    """A scaling of any kind, or none."""
    kinds = ["", "", "linear", "dynamic", "llama3", "yarn", "longrope"]
    if family.startswith("phi") and family != "phi":  # they know no other one
        kinds = ["", "longrope"]
    kind = rng.choice(kinds if share == 1.0 else kinds[:-1])
    if not kind:
        return {}
    scaling = {"rope_type": kind, "factor": rng.choice([1.5, 4.0, 32])}
    if kind in ("llama3", "yarn", "longrope"):
        scaling["original_max_position_embeddings"] = rng.choice([64, 128])
    if kind == "llama3":
        scaling |= {"low_freq_factor": rng.choice([0.5, 1.0]), "high_freq_factor": 4.0}
    if kind == "yarn":
        some = {"beta_fast": 16.0, "beta_slow": 2.0, "attention_factor": 1.2,
                "mscale": 0.7, "mscale_all_dim": 1.0}  # fmt: skip
        scaling |= {key: value for key, value in some.items() if rng.random() < 0.4}
    if kind == "longrope":
        for name in ("short_factor", "long_factor"):
            scaling[name] = [rng.uniform(1, 9) for _ in range(width // 2)]
        if rng.random() < 0.5:
            del scaling["factor"]
    return scaling


def rates_in(part, kind):
    """What a module turns by in a kind of layer; None if it has no such kind."""
    rates = getattr(part, f"{kind}_inv_freq" if kind else "inv_freq", None)
    return None if rates is None else rates[rates > 0].double().numpy()


def assert_alike(found, part, kind):
    main = next(iter(found.by_layer_type), "")
    expected = rates_in(part, main)
    if expected is None:
        expected = rates_in(part, "")
    if expected is None:
        expected = rates_in(part, "full_attention")
    np.testing.assert_allclose(found.rates, expected, rtol=SINGLE, err_msg=kind)
    names = (f"{main}_attention_scaling", "attention_scaling", "full_attention_attention_scaling")
    factor = next(getattr(part, name) for name in names if hasattr(part, name))
    if kind == "phimoe" and found.scaling != "none":
        factor = 1.1
    assert found.factor == pytest.approx(float(factor), rel=1e-5)
    for name, (_, rates) in found.by_layer_type.items():
        theirs = rates_in(part, name)
        if theirs is not None:  # else no layer is of this kind
            np.testing.assert_allclose(rates, theirs, rtol=SINGLE, err_msg=f"{kind}, {name}")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [kind for kind in ROTARY_FAMILIES if kind not in BY_TABLE])
def test_any_settings_are_read_as_the_family_reads_them(kind):
    rng, compared = random.Random(kind), 0
    for _ in range(DRAWS):
        settings = drawn(kind, rng)
        try:
            own = CONFIG_MAPPING[kind](**json.loads(json.dumps(settings)))
            part = classes_of(kind)[0](own)
        except UNFIT:
            continue
        saved = json.loads(json.dumps(own.to_dict(), default=str))
        for config in [saved] if ROTARY_FAMILIES[kind].needs else [settings, saved]:
            found = read_rotary({"model_type": kind, **config})
            assert_alike(found, part, kind)
            assert not found.note
            compared += 1
    assert compared >= 4


@cache
def turning_of(kind):
    """The module of a family, and what turns in it, by settings that any family takes."""
    rng = random.Random(0)
    for _ in range(40):
        settings = drawn(kind, rng)
        try:
            part = classes_of(kind)[0](CONFIG_MAPPING[kind](**settings))
        except UNFIT:
            continue
        if hasattr(part, "inv_freq"):
            return importlib.import_module(type(part).__module__), part, settings
    return None


def turned_by_module(module, part, queries, positions):
    """Queries as a module turns them, and which entries it brings together first."""
    cos, sin = part(torch.zeros(1, 1), positions[None])
    for name in ("apply_rotary_pos_emb_interleave", "apply_rotary_pos_emb"):
        if apply := getattr(module, name, None):
            turned = apply(queries, queries, cos, sin)[0]
            return turned[0, 0].double().numpy(), name.endswith("interleave")
    return None


#: Those whose modules have no such function, or one with other arguments, or an axis each for time,
#: rows and columns.
OTHERWISE = set(
    names_in("""
    deepseek_v2 gemma3n_text glm4v_moe_text glm4v_text glm_image_text glm_ocr_text hunyuan_vl_text
    llama4_text paddleocr_vl_text qwen2_5_omni_talker qwen2_5_omni_text qwen2_5_vl_text
    qwen2_vl_text
""")
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [kind for kind in ROTARY_FAMILIES if kind not in BY_TABLE | OTHERWISE]
)
def test_pairs_are_those_of_the_family(kind):
    found = turning_of(kind)
    if found is None:
        pytest.skip("each kind of layer has a turning of its own")
    module, part, settings = found
    ours = read_rotary({"model_type": kind, **settings})
    width, positions = 2 * ours.n_pairs, torch.arange(0, 60, 7)
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(1, 1, len(positions), width, generator=generator)
    theirs, sorted_first = turned_by_module(module, part, queries, positions)
    angles = positions.numpy()[:, None] * ours.rates
    expected = ours.factor * turn(
        queries[0, 0].double().numpy(), angles if kind != "nanochat" else -angles,
        interleaved=ours.pairing == "interleaved",
    )  # fmt: skip
    if sorted_first:  # entries of each half together
        theirs = theirs.reshape(-1, 2, ours.n_pairs).swapaxes(1, 2).reshape(-1, width)
    np.testing.assert_allclose(theirs, expected, atol=2e-4)


#: Families without a module in transformers: how their code names the base, and the share of a head
#: that it turns or the number of its entries; "" for what it fixes.
OWN_CODE = by_name(
    {
        "RefinedWeb RefinedWebModel baichuan codeshell": ("", "", 1.0),
        "Yi aquila deepseek exaone hf_olmo internlm2 minicpm xverse": ("rope_theta", "", 1.0),
        "chatglm": ("rope_ratio", "", 0.5),
        "internlm": ("rotary", "", 1.0),
        "mixformer-sequential phi-msft": ("", "rotary_dim", 1.0),
        "mpt": ("attn_config", "", 1.0),
        "openelm": ("rope_freq_constant", "", 1.0),
        "qwen": ("rotary_emb_base", "rotary_pct", 1.0),
        "stablelm_epoch": ("rope_theta", "rope_pct", 0.25),
    }
)


def test_each_family_with_own_code_is_compared():
    assert set(OWN_CODE) == set(WITH_OWN_CODE)


@pytest.mark.parametrize("kind", OWN_CODE)
@pytest.mark.parametrize("seed", range(4))
def test_families_with_own_code(kind, seed):
    rng = random.Random(seed)
    named, by, share = OWN_CODE[kind]
    d_head, base = rng.choice([32, 64, 128]), 10_000.0
    settings = {"hidden_size": 4 * d_head, "num_attention_heads": 4, "num_layers": 2}
    if kind == "openelm":
        settings = {"model_dim": 4 * d_head, "head_dim": d_head, "num_query_heads": [4, 8]}
    if named:
        base = float(rng.randint(2_000, 9_000_000))
        value = {
            "rope_ratio": base / 10_000, "rotary": {"base": base, "type": "dynamic"},
            "attn_config": {"rope": True, "rope_theta": base, "rope_impl": "dail",
                            "rope_dail_config": {"type": "original", "xpos_scale_base": 512}},
        }.get(named, base)  # fmt: skip
        settings[named] = value
    width = int(share * d_head)
    if by:
        width = d_head // rng.choice([1, 2, 4])
        settings[by] = width if by == "rotary_dim" else width / d_head
    found = read_rotary({"model_type": kind, **settings})
    np.testing.assert_allclose(found.rates, base ** (-np.arange(0, width, 2) / width))
    assert found.pairing == ("interleaved" if kind == "chatglm" else "halves")
    assert not found.note or (kind == "chatglm" and "ChatGLM2-32K" in found.note)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["afmoe", "cohere2", "exaone4", "exaone_moe", "flint", "kolibri1"])
def test_families_of_which_only_layers_of_sliding_attention_turn(kind):
    sizes = {"num_hidden_layers": 11, "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16}
    own = CONFIG_MAPPING[kind](**sizes, sliding_window=32)
    saved = json.loads(json.dumps(own.to_dict(), default=str))
    expected = [i for i, one in enumerate(own.layer_types) if one == "full_attention"]
    for config in (saved, {"model_type": kind, **sizes}):
        assert list(read_rotary(config).layers_without) == expected
    listed = {"layer_types": ["full_attention"] * 2, "num_hidden_layers": 2, "sliding_window": None}
    config = {"model_type": kind, **sizes, **listed}
    if kind in ("cohere2", "flint"):
        with pytest.raises(SourceError, match="no layer turns"):
            read_rotary(config)
    else:
        expected = (0, 1) if kind == "afmoe" else ()
        assert read_rotary(config).layers_without == expected


SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}


@pytest.mark.parametrize("settings", [
    {"partial_rotary_factor": 0.5}, {"rope_parameters": {"partial_rotary_factor": 0.5}},
    {"rotary_pct": 0.5}, {"rotary_dim": 8}, {"rope_ratio": 50}, {"rotary_emb_base": 5e5},
    {"rope_scaling": {"type": "dynamic", "factor": 2.0, "alpha": 1000.0}},
    {"rope_local_base_freq": 1e3}, {"no_rope_layers": [1, 0]}, {"qk_rope_head_dim": 8},
    {"rope_interleave": True}, {"use_dynamic_ntk": True}, {"kv_channels": 32},
    {"head_size": 32}, {"attention_head_dim": 32}, {"layer_rope_theta": [0, 1e6]},
    {"use_bidirectional_attention": True},
])  # fmt: skip
def test_settings_of_other_families_are_said_and_not_used(settings):
    found = read_rotary({"model_type": "llama", **SMALL, **settings})
    np.testing.assert_array_equal(found.rates, 10_000.0 ** (-np.arange(0, 16, 2) / 16))
    assert (found.pairing, found.layers_without, found.causal) == ("halves", (), True)
    assert not found.by_layer_type
    assert "The code of llama models does not read" in found.note


@pytest.mark.parametrize(
    "kind",
    names_in("codegen gpt_neox gpt_neox_japanese gptj modernbert modernbert-decoder roformer"),
)
def test_a_base_that_the_code_does_not_read(kind):
    config = {"model_type": kind, **SMALL, "rotary_dim": 8}
    found, usual = read_rotary({**config, "rope_theta": 123_457.0}), read_rotary(config)
    np.testing.assert_array_equal(found.rates, usual.rates)
    assert "rope_theta" in found.note
    assert "rope_theta" not in read_rotary({**config, "rope_theta": usual.base}).note


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "settings"), [
    ("axk2", {}), ("gpt_neox", {"rope_theta": 123_457.0, "partial_rotary_factor": 0.5}),
    ("gpt_neox", {"rope_theta": 1e5, "rope_parameters": {"rope_theta": 5e5}}),
    ("esm", {"rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    ("gemma3_text", {"local_rope_theta": 123.0}), ("olmo3", {"rope_local_base_freq": 123.0}),
    ("deepseek_ocr2_text", {"head_dim": 32}), ("modernbert", {"rope_theta": 123_457.0}),
])  # fmt: skip
def test_settings_that_the_code_does_not_read(kind, settings):
    config = {**SMALL, "num_hidden_layers": 6, **settings}
    part = classes_of(kind)[0](CONFIG_MAPPING[kind].from_dict(json.loads(json.dumps(config))))
    found = read_rotary({"model_type": kind, **config})
    assert_alike(found, part, kind)
    assert bool(found.note) == bool(settings)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "nested"), [("llama", False), ("mistral", False), ("lfm3", True)])
@pytest.mark.parametrize("scaling", ["llama3", "yarn", "longrope"])
@pytest.mark.parametrize("inside", [None, 32])
def test_a_length_before_scaling_outside_of_its_group(kind, nested, scaling, inside):
    before = {} if inside is None else {"original_max_position_embeddings": inside}
    group = {"rope_type": scaling, "factor": 4.0, "rope_theta": 1e4, **before}
    if scaling == "llama3":
        group |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    elif scaling == "longrope":
        group |= {"short_factor": [2.0] * 8, "long_factor": [3.0] * 8}
    config = {**SMALL, "head_dim": 16, "num_hidden_layers": 6, "max_position_embeddings": 64,
              "original_max_position_embeddings": 16, "rope_parameters": group}  # fmt: skip
    if nested:
        config["rope_parameters"] = {"full_attention": group, "sliding_attention": group}
    part = classes_of(kind)[0](CONFIG_MAPPING[kind].from_dict(json.loads(json.dumps(config))))
    found = read_rotary({"model_type": kind, **config})
    assert_alike(found, part, kind)
    conflict = nested or inside is not None
    assert ("original_max_position_embeddings" in found.note) == conflict


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["phi3", "phi4_multimodal"])
@pytest.mark.parametrize("inside", [{}, {"original_max_position_embeddings": 32}])
def test_a_length_before_scaling_that_the_family_has(kind, inside):
    group = {"rope_type": "longrope", "short_factor": [2.0] * 8, "long_factor": [3.0] * 8, **inside}
    config = {**SMALL, **NEEDS[kind], "max_position_embeddings": 8192, "rope_parameters": group}
    part = classes_of(kind)[0](CONFIG_MAPPING[kind].from_dict(json.loads(json.dumps(config))))
    found = read_rotary({"model_type": kind, **config})
    assert_alike(found, part, kind)
    assert found.until == 4096


TWO = {"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["lfm3", "gemma3_text", "olmo3", "ultrabert", "modernbert"])
@pytest.mark.parametrize("base", [{}, {"rope_theta": 5e4}])
@pytest.mark.parametrize("local", [{}, {"rope_local_base_freq": 777.0}])
def test_a_group_without_a_base_has_that_of_the_family(kind, base, local):
    config = {**SMALL, "num_hidden_layers": 6, "head_dim": 16, "rope_parameters": TWO, **base}
    config |= local if kind == "gemma3_text" else {}
    part = classes_of(kind)[0](CONFIG_MAPPING[kind].from_dict(json.loads(json.dumps(config))))
    assert_alike(read_rotary({"model_type": kind, **config}), part, kind)


def test_a_sliding_group_reads_the_base_outside_of_it():
    kinds = {"full_attention": None, "sliding_attention": {"rope_type": "default"}}
    found = read_rotary({"model_type": "cohere2", **SMALL, "num_hidden_layers": 4,
                         "rope_parameters": kinds, "rope_theta": 1e5})  # fmt: skip
    assert (found.base, found.note) == (1e5, "")


@pytest.mark.parametrize(("settings", "named"), [
    ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}, "1.139"),
    ({"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.5,
      "original_max_position_embeddings": 64}, "1.5"),
    ({"rope_type": "linear", "factor": 4.0}, "linear"),
])  # fmt: skip
def test_a_scaling_of_sliding_layers_alone_is_said(settings, named):
    kinds = {**TWO, "sliding_attention": settings}
    found = read_rotary({"model_type": "gemma3_text", **SMALL, "num_hidden_layers": 6,
                         "rope_parameters": kinds})  # fmt: skip
    assert (found.scaling, found.factor) == ("none", 1.0)
    assert "sliding_attention" in found.note
    assert named in found.note


@pytest.mark.parametrize(("kind", "value", "causal"), [
    ("gemma3_text", True, False), ("gemma3_text", False, True), ("gemma2", True, False),
    ("gemma", True, False), ("gemma4_text", "all", False), ("gemma4_text", "vision", True),
    ("gemma3n_text", True, True), ("brandnew", True, False),
])  # fmt: skip
def test_attention_in_both_directions(kind, value, causal):
    config = {"model_type": kind, **SMALL, "use_bidirectional_attention": value}
    assert read_rotary(config).causal is causal


@pytest.mark.parametrize(("kind", "settings", "n_pairs"), [
    ("phi", {"partial_rotary_factor": 0.25}, 2), ("gpt_neox", {"rotary_pct": 0.5}, 4),
    ("gptj", {"rotary_dim": 8}, 4), ("nomic_bert", {"rotary_emb_fraction": 0.5}, 4),
    ("brandnew", {"rotary_pct": 0.5}, 4), ("llama", {"partial_rotary_factor": 1.0}, 8),
    ("llama", {"rope_theta": 5e5, "rotary_emb_base": 5e5}, 8), ("qwen", {"rotary_pct": 0.5}, 4),
])  # fmt: skip
def test_settings_of_the_family_are_used(kind, settings, n_pairs):
    found = read_rotary({"model_type": kind, **SMALL, **settings})
    assert found.n_pairs == n_pairs
    assert "does not read" not in found.note


def test_a_setting_that_a_code_may_read_is_said():
    found = read_rotary({"model_type": "deepseek", **SMALL, "rotary_pct": 0.5})
    assert "not known whether the code of deepseek models reads rotary_pct" in found.note
    ratio = read_rotary({"model_type": "baichuan", **SMALL, "rope_ratio": 50})
    assert (ratio.base, "rope_ratio" in ratio.note) == (10_000.0, True)


def test_chatglms_ratio_has_two_readings():
    config = {"model_type": "chatglm", **SMALL, "kv_channels": 16}
    found = read_rotary({**config, "rope_ratio": 50})
    assert found.base == 500_000.0
    assert found.note.count("ChatGLM2-32K divides positions by it") == 1
    assert not read_rotary({**config, "rope_ratio": 1}).note


def test_qwens_rates_grow_from_the_length_of_its_training():
    config = {"model_type": "qwen", **SMALL, "max_position_embeddings": 8192, "seq_length": 2048,
              "use_dynamic_ntk": True}  # fmt: skip
    found = read_rotary(config)
    assert (found.scaling, found.until, found.context) == ("dynamic", 2048, 8192)
    assert any("up to 2,048 positions" in note for note in found.notes(4096))


@pytest.mark.parametrize("kind", ["falcon", "RefinedWeb", "RefinedWebModel"])
def test_falcons_slopes_are_divided_with_its_scores(kind):
    config = {"model_type": kind, **SMALL, "n_head": 4, "alibi": True}
    np.testing.assert_allclose(find_alibi({}, config).slopes, 0.25 ** np.arange(1, 5) / 4)
