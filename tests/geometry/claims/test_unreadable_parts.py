"""A weight that cannot be read: its sections of a report are missing with the reason, no others."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file

from geometry.checkpoints.errors import FileChanged, SourceError, TensorUnavailable
from geometry.claims.report import report
from geometry.claims.scalar_results import scalar_results
from geometry.models.sources.opening import open_model
from geometry.survey.populations import Entry
from geometry.survey.rows import Access, RowSettings, measure_entry
from tests.degenerate_tables import leaves
from tests.marks import slow_but

SIZES = {
    "gpt2": {"n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 4, "vocab_size": 40},
    "opt": {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
            "ffn_dim": 32, "max_position_embeddings": 32, "word_embed_proj_dim": 16},
    "bert": {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
             "intermediate_size": 32, "max_position_embeddings": 32},
    "llama": {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32,
              "num_attention_heads": 4, "max_position_embeddings": 32},
}  # fmt: skip
DAMAGES = {
    "int8": lambda t: torch.ones_like(t, dtype=torch.int8),
    "packed": lambda t: torch.zeros((t.numel() // 2, 1), dtype=torch.uint8),
    "more rows": lambda t: torch.ones((t.shape[0] + 1, *t.shape[1:])),
    "another width": lambda t: torch.ones([n + 3 for n in t.shape]),
    "one axis": lambda t: torch.ones(t.numel() + 1),
    "three axes": lambda t: torch.ones((2, 3, *t.shape)),
    "empty": lambda t: torch.zeros((0, *t.shape[1:])),
    "not finite": lambda t: torch.full_like(t, float("nan")),
    "absent": lambda t: None,
}
QUERIES = {"gpt2": "h.0.attn.c_attn.weight", "opt": "decoder.layers.0.self_attn.q_proj.weight",
           "bert": "encoder.layer.0.attention.self.query.weight",
           "llama": "layers.0.self_attn.q_proj.weight"}  # fmt: skip
OF_QUERIES = {"overlaps.W_Q_P", "overlaps.W_Q_E", "kernels"}
#: Sections that are missing without a tensor, beside that of queries.
OTHERS = {
    ("gpt2", "h.0.attn.c_proj.weight"): {"overlaps.W_O_P", "overlaps.W_O_E"},
    ("gpt2", "h.0.mlp.c_fc.weight"): {"overlaps.W_in_P", "overlaps.W_in_E"},
    ("gpt2", "h.0.ln_1.bias"): {"kernels"},
    ("gpt2", "h.0.mlp.c_proj.weight"): set(),
    ("opt", "decoder.layers.0.self_attn.v_proj.weight"): {"overlaps.W_V_P", "overlaps.W_V_E"},
    ("opt", "decoder.layers.0.self_attn.k_proj.bias"): {"kernels"},
    ("opt", "decoder.final_layer_norm.weight"): set(),
    ("bert", "embeddings.LayerNorm.weight"): {"kernels"},
    ("bert", "embeddings.token_type_embeddings.weight"): {"layernorm"},
    ("bert", "embeddings.word_embeddings.weight"): {
        "spectrum.E", "spectrum.stable_rank.E", "spectrum.energy_top30.E", "capture", "layernorm",
        "overlaps.E_P", "overlaps.P_E", *(f"overlaps.W_{w}_E" for w in ("Q", "K", "V", "O", "in")),
    },
    ("llama", "layers.0.self_attn.k_proj.weight"): {"scheme.use"},
    ("llama", "embed_tokens.weight"): set(),
}  # fmt: skip


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Tensors, folder and numbers of each model, as it was written."""
    made = {}

    def get(kind):
        if kind not in made:
            config = transformers.AutoConfig.for_model(kind, **SIZES[kind])
            torch.manual_seed(0)
            tensors = transformers.AutoModel.from_config(config).state_dict()
            tensors = {k: t.contiguous() for k, t in tensors.items() if t.is_floating_point()}
            folder = tmp_path_factory.mktemp(kind)
            (folder / "config.json").write_text(json.dumps(config.to_dict()))
            save_file(tensors, folder / "model.safetensors")
            made[kind] = tensors, folder, report(open_model(folder), nulls=False)
        return made[kind]

    return get


@pytest.fixture
def damaged(healthy, tmp_path):
    """Write a model again with one tensor damaged; its folder, and what the healthy one has."""

    def write(kind, name, damage):
        tensors, folder, found = healthy(kind)
        now = {**tensors, name: DAMAGES[damage](tensors[name])}
        save_file({k: t for k, t in now.items() if t is not None}, tmp_path / "model.safetensors")
        (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
        return tmp_path, found

    return write


def check(folder, found, expected):
    """Only the expected sections are missing, with a reason, and all else is equal."""
    said = report(open_model(folder), nulls=False)
    json.dumps(said, allow_nan=False)
    assert set(said["missing"]) - set(found["missing"]) == expected
    assert all(said["missing"].values())
    before, now = dict(leaves(found)), dict(leaves(said))
    for name, value in before.items():
        of_it = any(name == one or name.startswith(f"{one}.") for one in expected)
        if not of_it and not name.startswith(("missing", "claims", "model.")):
            np.testing.assert_equal(now[name], value, name)
    for was, claim in zip(found["claims"], said["claims"], strict=True):
        assert claim["id"] == was["id"]
        assert claim["value"] == was["value"] or claim["outcome"] == "cannot tell"
    return said


@pytest.mark.parametrize("damage", slow_but(["int8", "more rows", "one axis", "absent"], DAMAGES))
@pytest.mark.parametrize("kind", QUERIES)
def test_queries_of_every_kind_of_damage(kind, damage, damaged):
    folder, found = damaged(kind, QUERIES[kind], damage)
    expected = {"gpt2": OF_QUERIES | {one.replace("Q", w) for w in "KV" for one in OF_QUERIES},
                "llama": {"scheme.use"}}.get(kind, OF_QUERIES)  # fmt: skip
    said = check(folder, found, expected)
    reason = next(said["missing"][name] for name in expected)
    words = {"int8": "quantised (I8)", "packed": "quantised (U8)"}
    assert words.get(damage, "") in reason
    model = open_model(folder)
    if kind != "llama":
        with pytest.raises(TensorUnavailable):
            model.weight("W_Q")
        # Of numbers that are not finite the index does not tell.
        assert ("W_Q" in model.missing) == (damage != "not finite")


@pytest.mark.parametrize(("kind", "name"), OTHERS)
def test_every_other_part(kind, name, damaged):
    folder, found = damaged(kind, name, "int8")
    check(folder, found, OTHERS[kind, name])


def test_embeddings_that_are_not_finite(damaged):
    name = "embeddings.word_embeddings.weight"
    folder, found = damaged("bert", name, "not finite")
    said = check(folder, found, OTHERS["bert", name])
    assert "NaN" in said["missing"]["capture"]


@pytest.mark.parametrize("damage", ["int8", "another width", "not finite"])
def test_single_numbers_and_rows_of_a_survey_need_no_weights(damage, damaged, healthy):
    folder, _ = damaged("gpt2", QUERIES["gpt2"], damage)
    of_healthy = open_model(healthy("gpt2")[1])
    values = [[one.value for one in scalar_results(m)] for m in (of_healthy, open_model(folder))]
    np.testing.assert_equal(values[0], values[1])
    row = measure_entry(Entry(str(folder), "group"), RowSettings(), Access()).row
    assert row["error"] is None


def test_a_quantised_table_is_called_so(damaged):
    folder, _ = damaged("gpt2", "wpe.weight", "packed")
    with pytest.raises(SourceError, match=r"^wpe\.weight is quantised \(U8\)\.$") as raised:
        open_model(folder)
    assert "unquantised" in raised.value.advice


def test_a_weight_in_the_parts_of_a_quantiser_is_called_so(damaged, healthy):
    folder, _ = damaged("opt", QUERIES["opt"], "absent")
    tensors = {k: t for k, t in healthy("opt")[0].items() if k != QUERIES["opt"]}
    packed = QUERIES["opt"].replace("weight", "qweight")
    save_file({**tensors, packed: torch.ones((2, 16), dtype=torch.int32)},
              folder / "model.safetensors")  # fmt: skip
    model = open_model(folder)
    assert model.missing["W_Q"] == f"{packed} is quantised (I32)"
    with pytest.raises(TensorUnavailable, match=r"quantised \(I32\)"):
        model.weight("W_Q")


def test_a_file_that_changed_is_no_missing_part(damaged):
    folder, _ = damaged("gpt2", QUERIES["gpt2"], "int8")
    model = open_model(folder)
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(FileChanged):
        report(model, nulls=False)


def test_keys_of_a_head_do_not_need_queries(damaged):
    from geometry.models.residual_stream import ResidualStream, Subject

    folder, _ = damaged("bert", QUERIES["bert"], "int8")
    key = Subject("W_K", head=1)
    assert ResidualStream(open_model(folder)).matrix(key).shape == (4, 16)
