"""How rotary models turn: each family's configuration against its own module in transformers."""

import importlib
import json

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

from geometry.checkpoints.errors import SourceError
from geometry.measures.rotary import turn
from geometry.models.families.left_out import LEFT_OUT
from geometry.models.families.model_types import FAMILIES
from geometry.models.families.names import names_in
from geometry.models.recognition.finding import find_architecture
from geometry.models.schemes.rotary import Rotary, read_rotary
from geometry.models.schemes.rotary_families import ROTARY_FAMILIES

SIZES = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 8,
    "intermediate_size": 64, "vocab_size": 99, "max_position_embeddings": 512, "pad_token_id": 0,
}  # fmt: skip
GPTJ = {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 99,
        "bos_token_id": 1, "eos_token_id": 1}  # fmt: skip
EXPERTS = {"num_experts": 2, "num_local_experts": 2, "n_routed_experts": 2,
           "num_experts_per_tok": 1, "moe_intermediate_size": 32}  # fmt: skip
LATENT = {"qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "kv_lora_rank": 16,
          "q_lora_rank": 16, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
          "original_max_position_embeddings": 64}  # fmt: skip

SINGLE = 5e-6
"""Of the modules' rates, in single precision; differences lose some more."""
CASES = {
    # As files of the Hub have them, with the names of their time; test_rotary_settings.py draws
    # settings of every family.
    "llama, the first": {"model_type": "llama"},
    "llama 2": {"model_type": "llama", "rope_theta": 10000.0, "rope_scaling": None},
    "llama 3.2": {"model_type": "llama", "rope_theta": 5e5, "head_dim": 32, "rope_scaling": LLAMA3},
    "llama, linear": {"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 2.5}},
    "llama, dynamic": {"model_type": "llama", "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "qwen3": {"model_type": "qwen3", "rope_theta": 1e6, "head_dim": 32},
    "gemma3_text": {
        "model_type": "gemma3_text", "head_dim": 32, "rope_theta": 1e6,
        "rope_local_base_freq": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    },
    "phi": {"model_type": "phi", "partial_rotary_factor": 0.5},
    "phi3, long": {
        "model_type": "phi3", "original_max_position_embeddings": 128,
        "rope_scaling": {
            "type": "longrope", "short_factor": [1.0 + 0.1 * i for i in range(8)],
            "long_factor": [2.0 + i for i in range(8)],
        },
    },
    "pythia": {"model_type": "gpt_neox", "rotary_pct": 0.25, "rotary_emb_base": 10000},
    "stablelm": {"model_type": "stablelm", "partial_rotary_factor": 0.5},
    "cohere": {"model_type": "cohere"},
    "cohere2": {"model_type": "cohere2", "sliding_window": 64, "sliding_window_pattern": 4},
    "glm4": {"model_type": "glm4", "head_dim": 16},
    "smollm3": {"model_type": "smollm3"},
    "helium": {"model_type": "helium", "head_dim": 16},
    "exaone4": {"model_type": "exaone4", "sliding_window": 64, "sliding_window_pattern": 4},
    "ernie4_5": {"model_type": "ernie4_5", "head_dim": 16},
    "deepseek_v3": {
        "model_type": "deepseek_v3", **LATENT, **EXPERTS, "n_shared_experts": 1,
        "rope_scaling": {
            "type": "yarn", "factor": 4, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
            "mscale_all_dim": 0.5, "original_max_position_embeddings": 128,
        },
    },
    "gpt_oss": {
        "model_type": "gpt_oss", "head_dim": 16, "rope_theta": 150000, **EXPERTS,
        "rope_scaling": {
            "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "truncate": False, "original_max_position_embeddings": 128,
        },
    },
    "modernbert": {
        "model_type": "modernbert", "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
    },
    "hunyuan_v1_dense": {
        "model_type": "hunyuan_v1_dense", "head_dim": 16,
        "rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 1000.0},
    },
}  # fmt: skip


def config_of(name: str) -> dict:
    return {**SIZES, **CASES[name]}


def own_module(config: dict) -> tuple[torch.nn.Module, torch.nn.Module]:
    """Return transformers' model of a configuration, and the part of it that turns."""
    kind = config["model_type"]
    rest = {key: value for key, value in config.items() if key != "model_type"}
    model = AutoModel.from_config(AutoConfig.for_model(kind, **json.loads(json.dumps(rest))))
    parts = (part for part in model.modules() if type(part).__name__.endswith("RotaryEmbedding"))
    return model, next(parts)


def rates_in(part: torch.nn.Module, kind: str = "full_attention") -> np.ndarray:
    rates = getattr(part, f"{kind}_inv_freq", None)
    return (part.inv_freq if rates is None else rates).double().numpy()


def factor_in(part: torch.nn.Module) -> float:
    found = getattr(part, "full_attention_attention_scaling", None)
    return float(part.attention_scaling if found is None else found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_the_module(name):
    config = config_of(name)
    found = read_rotary(config)
    _, part = own_module(config)
    np.testing.assert_allclose(found.rates, rates_in(part), rtol=SINGLE)
    assert found.factor == pytest.approx(factor_in(part), rel=1e-6)
    assert not found.note
    for kind, (_, rates) in found.by_layer_type.items():
        np.testing.assert_allclose(rates, rates_in(part, kind), rtol=SINGLE)
    assert bool(found.by_layer_type) == hasattr(part, "sliding_attention_inv_freq")


@pytest.mark.parametrize(
    "given",
    [
        {"model_type": "gemma3_text", "sliding_window_pattern": 3},
        {"model_type": "modernbert", "global_attn_every_n_layers": 4},
        {"model_type": "gemma3_text", "layer_types": ["sliding_attention", "full_attention"] * 5},
    ],
    ids=["pattern", "every", "list"],
)
def test_each_layer_has_the_rates_of_its_kind(given):
    kind, n_layers = given["model_type"], 10
    own = CONFIG_MAPPING[kind](**given, num_hidden_layers=n_layers)
    found = read_rotary({**config_of(kind), **given, "num_hidden_layers": n_layers})
    assert list(found.layer_types) == own.layer_types
    assert len({*found.layer_types}) == 2
    for layer, name in enumerate(own.layer_types):
        assert found.type_of(layer) == name
        assert found.rates_at(layer) is found.by_layer_type[name][1]
    assert found.type_of(n_layers) == ""
    assert found.rates_at(n_layers) is found.rates


#: Types whose module has no rates to compare with: a table, tested above, or none of its own; or
#: others than its configuration says (MiniMax-M3 turns whole heads despite ``rotary_dim``); or no
#: configuration by default.
NO_RATES = names_in("codegen cohere_compass_text gemma4_assistant gptj minimax_m3_vl_text roformer")


@pytest.mark.slow
def test_rates_of_every_type_by_its_defaults():
    compared, wrong = 0, {}
    for kind in CONFIG_MAPPING_NAMES:
        if kind in NO_RATES or kind in LEFT_OUT or kind in FAMILIES:
            continue
        own = CONFIG_MAPPING[kind]()
        config = {"model_type": kind, **json.loads(json.dumps(own.to_dict(), default=str))}
        try:
            found = find_architecture({}, config, None)
        except SourceError:
            continue
        if found.rotary is None or found.family != kind:
            continue
        name = type(own).__module__.replace("configuration_", "modeling_")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue  # it uses that of another type
        rates = found.rotary.rates
        theirs = [one for part in vars(module).values() for one in rates_of_class(part, own)]
        near = [one for one in theirs if one.shape == rates.shape
                and np.allclose(np.sort(one), np.sort(rates), rtol=SINGLE)]  # fmt: skip
        compared += 1
        if not near:
            wrong[kind] = rates[:2], [one[:2] for one in theirs]
    assert not wrong
    assert compared > 150


def rates_of_class(part, config):
    """What a class of a module turns by with a configuration; empty if it is no such class."""
    if not (isinstance(part, type) and part.__name__.endswith("RotaryEmbedding")):
        return []
    try:
        buffers = dict(part(config).named_buffers())
    except (KeyError, ValueError, AttributeError, TypeError):
        return []  # of another part of the model
    # Entries that do not turn, as in Gemma 4, have a rate of zero.
    rates = [one.double().numpy() for name, one in buffers.items() if name.endswith("inv_freq")]
    return [one[one > 0] for one in rates if one.ndim == 1]


@pytest.mark.parametrize("name", [
    "llama 3.2", "pythia", "phi", "cohere", "glm4", "helium", "ernie4_5", "deepseek_v3", "gpt_oss",
    "gemma3_text", "modernbert", "qwen3", "stablelm",
])  # fmt: skip
def test_pairs_are_turned_as_the_module_does(name):
    config = config_of(name)
    found = read_rotary(config)
    model, part = own_module(config)
    module = importlib.import_module(type(model).__module__)
    positions = torch.arange(0, 60, 7)[None]
    kinds = ("full_attention",) if found.by_layer_type else ()
    cos, sin = part(torch.zeros(1, 1), positions, *kinds)
    if name == "deepseek_v3":
        apply = module.apply_rotary_pos_emb_interleave
    else:
        apply = module.apply_rotary_pos_emb
    width = 2 * found.n_pairs
    queries = torch.randn(
        1, 1, positions.shape[1], width, generator=torch.Generator().manual_seed(0)
    )
    if cos.shape[-1] != width:  # gpt_oss has each cosine once
        assert cos.shape[-1] == found.n_pairs
    turned, _ = apply(queries, queries, cos, sin)
    ours = found.factor * turn(
        queries[0, 0].double().numpy(),
        positions[0].numpy()[:, None] * found.rates,
        interleaved=found.pairing == "interleaved",
    )
    expected = turned[0, 0].double().numpy()
    if name == "deepseek_v3":  # which brings the entries of each half together as well
        expected = expected.reshape(-1, 2, found.n_pairs).swapaxes(1, 2).reshape(-1, width)
    np.testing.assert_allclose(ours, expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["gptj", "codegen"])
def test_gptj_and_codegen_turn_by_a_table(kind):
    config = {"model_type": kind, **GPTJ, "rotary_dim": 8}
    found = read_rotary(config)
    model = AutoModel.from_config(AutoConfig.for_model(**config))
    attention = model.h[0].attn
    table = attention.embed_positions.double().numpy()
    half = table.shape[1] // 2
    angles = np.arange(len(table))[:, None] * found.rates
    np.testing.assert_allclose(table[:, :half], np.sin(angles), atol=2e-5)
    np.testing.assert_allclose(table[:, half:], np.cos(angles), atol=2e-5)
    module = importlib.import_module(type(model).__module__)
    keys = torch.randn(1, 5, 1, 2 * half, generator=torch.Generator().manual_seed(0))
    sin, cos = (part[None, :5] for part in torch.split(attention.embed_positions, half, dim=-1))
    turned = module.apply_rotary_pos_emb(keys, sin, cos)[0, :, 0]
    ours = turn(keys[0, :, 0].numpy(), angles[:5], interleaved=found.pairing == "interleaved")
    np.testing.assert_allclose(ours, turned, atol=1e-5)


def test_esm_and_roformer_have_the_usual_rates():
    esm = read_rotary({"model_type": "esm", "position_embedding_type": "rotary", **SIZES})
    model = AutoModel.from_config(
        AutoConfig.for_model("esm", position_embedding_type="rotary", **SIZES)
    )
    part = next(p for p in model.modules() if type(p).__name__.endswith("RotaryEmbedding"))
    np.testing.assert_allclose(esm.rates, rates_in(part), rtol=SINGLE)

    roformer = read_rotary({"model_type": "roformer", **SIZES})
    model = AutoModel.from_config(AutoConfig.for_model("roformer", **SIZES))
    table = model.encoder.embed_positions.weight.double().numpy()
    angles = np.arange(len(table))[:, None] * roformer.rates
    np.testing.assert_allclose(table, np.hstack([np.sin(angles), np.cos(angles)]), atol=2e-5)


@pytest.mark.parametrize("name", ["smollm3", "cohere2", "exaone4", "llama 2"])
def test_layers_that_do_not_turn(name):
    config = config_of(name)
    found = read_rotary(config)
    own = AutoConfig.for_model(**config)
    if name == "smollm3":
        expected = [i for i, turns in enumerate(own.no_rope_layers) if not turns]
    elif name == "llama 2":
        expected = []
    else:
        expected = [i for i, kind in enumerate(own.layer_types) if kind == "full_attention"]
    assert list(found.layers_without) == expected
    assert bool(expected) == (name != "llama 2")


def test_every_default_base_of_transformers_is_known():
    """One that changes there would be shown with a wrong turning."""
    wrong = {}
    for kind in ROTARY_FAMILIES:
        own = CONFIG_MAPPING[kind]
        theta = own.default_theta if hasattr(own, "default_theta") else 10_000.0
        ours = ROTARY_FAMILIES[kind]
        if isinstance(theta, dict):
            expected = theta["global"], theta["local"]
            given = ours.base, ours.sliding_base
        else:
            expected, given = (float(theta),), (ours.base,)
        if expected != given:
            wrong[kind] = expected, given
    assert not wrong


@pytest.mark.parametrize(("change", "says"), [
    ({"hidden_size": None}, "The size of a head is not in config.json"),
    ({"num_attention_heads": 7}, "7 heads for 64 dimensions"),
    ({"head_dim": 1}, "heads of 1 entries"),
    ({"head_dim": 10**9}, "heads of 1000000000 entries"),
    ({"model_type": "phi", "partial_rotary_factor": 1.5}, "turns 24 of the 16 entries"),
    ({"rope_theta": 0.5}, "0.5 as the base"),
    ({"max_position_embeddings": -1}, "-1 positions"),
])  # fmt: skip
def test_a_configuration_that_contradicts_itself_is_named(change, says):
    with pytest.raises(SourceError, match=says) as error:
        read_rotary({**SIZES, "model_type": "llama", **change})
    assert len(str(error.value)) <= 200
    assert "config.json" in error.value.advice


@pytest.mark.parametrize("scaling", [
    {"type": "new"}, {"type": "linear"}, {"type": "linear", "factor": -2},
    {"type": "linear", "factor": "2"}, {"type": "yarn"}, {"rope_type": "llama3", "factor": 8.0},
    {"type": "longrope", "short_factor": [1.0], "factor": 2}, {"type": ["linear"]},
    {"rope_type": "llama3", **LLAMA3, "high_freq_factor": 1.0},
])  # fmt: skip
def test_a_scaling_that_is_not_understood_is_left_out_and_said(scaling):
    config = {**SIZES, "model_type": "llama", "rope_scaling": scaling}
    found = read_rotary(config)
    plain = read_rotary({**SIZES, "model_type": "llama"})
    np.testing.assert_array_equal(found.rates, plain.rates)
    assert isinstance(found, Rotary)
    if isinstance(scaling.get("type", ""), str):
        assert "not understood" in found.note
