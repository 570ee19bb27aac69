"""Queries and keys of every family: those that its own module in transformers computes."""

import json
import operator
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.attention_layer import AttentionLayer
from geometry.models.head_projections import mean_token_norm, project_heads
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import CASES, NEO, Case, bart, bert
from tests.geometry.models.test_families import built, watched
from tests.small_models import write_small_gpt2

#: What is optional in a family, or differs with its configuration.
VARIANTS = tuple(
    replace(case, config={**case.config, **changes}, name=f"{case.id}-{'-'.join(changes)}")
    for model, changes in (
        ("EsmForMaskedLM", {"emb_layer_norm_before": True}),
        ("TrOCRForCausalLM", {"layernorm_embedding": False}),
        ("OPTForCausalLM", {"layer_norm_elementwise_affine": False}),
        ("OPTForCausalLM", {"enable_bias": False}),
        ("BigBirdForMaskedLM", {"use_bias": False}),
        ("GPT2Model", {"layer_norm_epsilon": 0.1}),
        ("BertModel", {"layer_norm_eps": 0.1}),
    )
    for case in CASES
    if case.model == model and not case.name
)


#: Cases whose first layer is fed positions alone, where there are no tokens.
OF_POSITIONS = tuple(case for case in CASES if case.query and not case.adds_more)


def alone(output: torch.Tensor | tuple) -> torch.Tensor:
    """What a part gives, without the scale that I-BERT's have."""
    return output[0] if isinstance(output, tuple) else output


def bare(case: Case) -> torch.nn.Module:
    """The case's module without tokens and token types, so that positions alone run through it."""
    module = built(case)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "token_type" in name or "conv" in name:
                parameter.zero_()
            elif name.startswith(f"{case.positions}.") and not case.computed:
                # As small as the last row of GPT-2's table: LayerNorm's epsilon is seen.
                parameter.mul_(0.01)
        if case.tokens:
            module.get_submodule(case.tokens).weight.zero_()
    return module


def in_use(rows: torch.Tensor) -> torch.Tensor:
    """The rows of positions 0 to 8; some modules put positions first, and pad them."""
    return rows.reshape(-1, rows.shape[-1])[:9]


def taken_apart(module: torch.nn.Module, case: Case, given: dict[str, torch.Tensor]) -> list:
    """Queries and keys of the first layer as (2 heads, 9 positions, entries)."""
    if case.query != case.key:
        flat = [in_use(given[case.place(name, 0)]) for name in (case.query, case.key)]
    else:
        fused = in_use(given[case.place(case.query, 0)])
        if not case.model.startswith("GPTBigCode"):
            flat = list(fused.split(16, dim=-1))[:2]
        elif module.config.multi_query:
            queries, key, _ = fused.split((16, 8, 8), dim=-1)
            flat = [queries, torch.cat((key, key), dim=-1)]
        else:
            by_head = fused.reshape(9, 2, 24)
            flat = [by_head[:, :, :8].reshape(9, 16), by_head[:, :, 8:16].reshape(9, 16)]
    return [part.reshape(9, 2, -1).swapaxes(0, 1).double().numpy() for part in flat]


@pytest.mark.slow
@pytest.mark.parametrize("case", [*OF_POSITIONS, *VARIANTS], ids=operator.attrgetter("id"))
def test_queries_and_keys_are_the_modules(case, tmp_path):
    module = bare(case)
    module.save_pretrained(tmp_path)
    expected = taken_apart(module, case, watched(module).given)
    model = open_model(tmp_path, table=case.table)
    found = project_heads(model)
    assert found.layer == 0
    assert found.causal == case.causal
    for ours, theirs in zip((found.queries, found.keys), expected, strict=True):
        assert ours.shape[:2] == (2, case.n_positions)
        np.testing.assert_allclose(ours[:, :9], theirs, atol=1e-4 * np.abs(theirs).max())
        assert np.ptp(theirs, axis=1).max() > 1e-3  # not the biases alone
    some = project_heads(model, rows=model.W_pos[3:5], dtype=np.float32)
    assert some.keys.dtype == np.float32
    np.testing.assert_allclose(some.keys, found.keys[:, 3:5], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case for case in OF_POSITIONS if "albert" not in case.layer],
    ids=operator.attrgetter("id"),
)
def test_deeper_layers_read_what_entered_the_first(case, tmp_path):
    """The module's own second norm and queries, of what was fed to its first layer."""
    module = bare(case)
    module.save_pretrained(tmp_path)
    seen = watched(module)
    first, second = (case.place(case.query, layer) for layer in range(2))
    entered = seen.fed[first]
    own = AttentionLayer(open_model(tmp_path, table=case.table).layers).norms()[1]
    if own is not None:
        entered = seen.norm_before(first)[1]
    with torch.no_grad():
        x = alone(seen.norm_before(second)[0](entered))
        queries = alone(module.get_submodule(second)(x))
    found = project_heads(open_model(tmp_path, table=case.table), 1)
    flat = found.queries[:, :9].swapaxes(0, 1).reshape(9, -1)
    theirs = in_use(queries).double().numpy()
    if case.model == "GPTBigCodeForCausalLM" and not module.config.multi_query:
        theirs = theirs.reshape(9, 2, 24)[:, :, :8].reshape(9, 16)
    np.testing.assert_allclose(flat, theirs[:, : flat.shape[1]], atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize(
    ("name", "config", "layer", "scale"),
    [
        ("GPT2", {"scale_attn_weights": False}, 0, 1.0),
        ("GPT2", {"scale_attn_by_inverse_layer_idx": True}, 1, 8**-0.5 / 2),
        ("GPT2", {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}, 1, 0.5),
        ("ImageGPT", {"scale_attn_by_inverse_layer_idx": True}, 1, 8**-0.5 / 2),
        ("GPTBigCode", {"scale_attn_weights": False}, 0, 1.0),
    ],
)
def test_scale_as_configured(name, config, layer, scale, tmp_path):
    settings = getattr(transformers, f"{name}Config")(
        n_embd=16, n_layer=2, n_head=2, n_positions=12, vocab_size=40, **config
    )
    getattr(transformers, f"{name}Model")(settings).save_pretrained(tmp_path)
    assert project_heads(open_model(tmp_path), layer).scale == pytest.approx(scale)


def test_windows_are_the_modules(tmp_path):
    config = transformers.GPTNeoConfig(**NEO, window_size=3, bos_token_id=0, eos_token_id=0)
    module = transformers.GPTNeoModel(config)
    module.save_pretrained(tmp_path)
    model = open_model(tmp_path)
    assert project_heads(model, 1).scale == 1
    assert project_heads(model, 0).window is None
    assert project_heads(model, 1).window == (2, 0)
    i, j = np.indices((12, 12))
    allowed = module.h[1].attn.attention.bias[0, 0].numpy()
    np.testing.assert_array_equal(allowed, (i - j >= 0) & (i - j <= 2))


@pytest.mark.parametrize(
    ("settings", "near"),
    [
        ({}, [False, True]),
        ({"attention_types": [[["local"], 1], [["global"], 1]]}, [True, False]),
        ({"attention_types": [[["local", "global"], 5]]}, [True, False]),
        ({"attention_layers": ["local", "local"]}, [True, True]),
    ],
)
def test_windows_of_a_file_without_a_list_of_layers(settings, near, tmp_path):
    config = transformers.GPTNeoConfig(**NEO, bos_token_id=0, eos_token_id=0)
    transformers.GPTNeoModel(config).save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    stored = json.loads(file.read_text())
    del stored["attention_types"], stored["attention_layers"]
    file.write_text(json.dumps(stored | settings))
    model = open_model(tmp_path)
    assert [project_heads(model, layer).window is not None for layer in (0, 1)] == near


def test_windows_of_both_sides(tmp_path):
    for folder, case in enumerate((
        bert("LongformerModel", "", attention_window=[4, 6]),
        bart("LEDModel", "encoder", "encoder", root="", attention_window=4),
    )):  # fmt: skip
        built(case).save_pretrained(tmp_path / str(folder))
    longformer = open_model(tmp_path / "0")
    assert [project_heads(longformer, layer).window for layer in (0, 1)] == [(2, 2), (3, 3)]
    encoder, decoder = (open_model(tmp_path / "1", table=side) for side in ("encoder", "decoder"))
    assert project_heads(encoder).window == (2, 2)
    assert project_heads(decoder).window is None


def test_content_widens_the_denominator(tmp_path):
    case = next(case for case in CASES if case.model == "BertModel")
    built(case).save_pretrained(tmp_path)
    model = open_model(tmp_path)
    tokens = model.W_E.astype(np.float64) + model.token_type
    tokens -= tokens.mean(axis=1, keepdims=True)
    e = np.linalg.norm(tokens, axis=1).mean()
    assert mean_token_norm(model) == pytest.approx(e)

    plain, filled = project_heads(model), project_heads(model, content=True)
    rows = model.W_pos - model.W_pos.mean(axis=1, keepdims=True)
    squares = (rows**2).sum(axis=1)
    share = np.sqrt(squares / (squares + e**2))[:, None]
    # LayerNorm's bias and that of the queries are not scaled: those of a row of zeros.
    still = project_heads(model, rows=np.zeros((1, 16))).queries
    expected = still + share * (plain.queries - still)
    np.testing.assert_allclose(filled.queries, expected, atol=1e-9)


def test_what_gpt2_has_and_what_cannot_be_had_is_said(tmp_path, gpt2_folder, open_array):
    model = open_model(gpt2_folder)
    found = project_heads(model)
    assert found.queries.shape == found.keys.shape == (12, 1024, 64)
    assert found.scale == pytest.approx(1 / 8)
    assert not found.queries.flags.writeable
    with pytest.raises(TensorUnavailable, match=r"h\.3\..* is not in this checkpoint"):
        project_heads(model, 3)
    with pytest.raises(TensorUnavailable, match="no token embeddings"):
        project_heads(model, content=True)
    with pytest.raises(TensorUnavailable, match="only a position table"):
        project_heads(open_array(np.eye(5, 4)))
    for index, (kind, words) in enumerate(
        (("OpenAIGPTLMHeadModel", "no LayerNorm comes"), ("MBartForConditional", "two LayerNorms"))
    ):
        case = next(case for case in CASES if case.model.startswith(kind))
        built(case).save_pretrained(tmp_path / str(index))
        with pytest.raises(TensorUnavailable, match=words):
            project_heads(open_model(tmp_path / str(index)), content=True)


def test_heads_that_do_not_fit_are_refused(tmp_path):
    folder = write_small_gpt2(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "n_head": 5}), "utf-8")
    with pytest.raises(TensorUnavailable, match="16 dimensions of queries do not fit 5 heads"):
        project_heads(open_model(folder))
