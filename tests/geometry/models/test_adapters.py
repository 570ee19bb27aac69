"""Adapters open as the model that they change: PEFT's own arithmetic, or its formula."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.hub.faults import BaseAway
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from tests.small_models import gpt2_config, write_model

N, D, R = 12, 8, 2
RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


LAYER = {
    "attn.c_attn.weight": numbers(D, 3 * D),
    "attn.c_proj.weight": numbers(D, D),
    "mlp.c_fc.weight": numbers(D, 4 * D),
}
BASE = {
    "wpe.weight": numbers(N, D),
    "wte.weight": numbers(20, D),
    **{f"h.{n}.{name}": matrix for n in range(2) for name, matrix in LAYER.items()},
}
A, B = numbers(R, D), numbers(3 * D, R)
PREFIX = "base_model.model.transformer."
LORA = {f"{PREFIX}h.1.attn.c_attn.lora_{name}.weight": x for name, x in (("A", A), ("B", B))}


def write_base(folder: Path) -> Path:
    return write_model(folder, {**gpt2_config(N, D), "n_layer": 2, "n_head": 2}, BASE, dtype=None)


def write_adapter(folder: Path, tensors: dict, base: str, **settings: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    told = {"peft_type": "LORA", "base_model_name_or_path": base, "lora_alpha": 6, "r": R}
    told |= {"fan_in_fan_out": True, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(told))
    return folder


@pytest.fixture
def base(tmp_path) -> Path:
    return write_base(tmp_path / "base")


def fused(model: PositionalModel, layer: int) -> np.ndarray:
    return np.concatenate([model.weight(name, layer) for name in ("W_Q", "W_K", "W_V")])


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, 3),
        ({"use_rslora": True}, 6 / np.sqrt(2)),
        ({"alpha_pattern": {"h.1.attn.c_attn": 10}}, 5),
        ({"alpha_pattern": {"c_proj": 10, "^transformer.h.1.attn.c_attn": 2}}, 1),
        ({"fan_in_fan_out": False}, 3),  # which the shape contradicts
    ],
)
@pytest.mark.parametrize("opened", ["folder", "file"])
def test_a_lora_matrix_is_added(settings, scale, opened, base, tmp_path):
    adapter = write_adapter(tmp_path / "adapter", LORA, str(base), **settings)
    model = open_model(adapter if opened == "folder" else adapter / "adapter_model.safetensors")
    plain = open_model(base)
    np.testing.assert_array_equal(model.W_pos, plain.W_pos)
    np.testing.assert_array_equal(model.W_E, plain.W_E)
    np.testing.assert_array_equal(fused(model, 0), fused(plain, 0))
    expected = BASE["h.1.attn.c_attn.weight"].T + scale * B @ A
    np.testing.assert_allclose(fused(model, 1), expected, rtol=1e-5, atol=1e-5)
    assert model.family == plain.family
    assert any("base" in note and "model's" in note for note in model.warnings)
    assert not any("lora" in name for name in model.store.tensors)


def test_a_square_matrix_is_turned_as_the_settings_have_it(base, tmp_path):
    a, b = numbers(R, D), numbers(D, R)
    names = [f"{PREFIX}h.0.attn.c_proj.lora_{name}.weight" for name in "AB"]
    for turned in (True, False):
        adapter = write_adapter(
            tmp_path / str(turned), dict(zip(names, (a, b), strict=True)), str(base),
            fan_in_fan_out=turned,
        )  # fmt: skip
        change = 3 * b @ a if turned else (3 * b @ a).T
        expected = BASE["h.0.attn.c_proj.weight"].T + change
        np.testing.assert_allclose(open_model(adapter).weight("W_O"), expected, 1e-5, 1e-5)


@pytest.mark.parametrize("rows", [N, N + 4])
@pytest.mark.parametrize("name", ["wpe.weight", "wpe.modules_to_save.default.weight"])
def test_a_saved_table_is_shown_in_place_of_the_models(rows, name, base, tmp_path):
    table = numbers(rows, D)
    adapter = write_adapter(tmp_path / "adapter", LORA | {PREFIX + name: table}, str(base))
    model = open_model(adapter)
    np.testing.assert_array_equal(model.W_pos, table)
    np.testing.assert_array_equal(model.W_E, open_model(base).W_E)
    assert any("trained" in note for note in model.warnings)


def test_an_adapter_of_the_table_itself(base, tmp_path):
    a, b = numbers(R, N), numbers(D, R)
    tensors = {f"{PREFIX}wpe.lora_embedding_A": a, f"{PREFIX}wpe.lora_embedding_B": b}
    model = open_model(write_adapter(tmp_path / "adapter", tensors, str(base)))
    np.testing.assert_allclose(model.W_pos, BASE["wpe.weight"] + 3 * (b @ a).T, 1e-5, 1e-5)


@pytest.mark.parametrize("place", ["../base", "base", "/elsewhere/models/base"])
def test_the_model_is_found_beside_the_adapter(place, base, tmp_path):
    adapter = write_adapter(tmp_path / "adapter", LORA, place)
    np.testing.assert_array_equal(open_model(adapter).W_pos, BASE["wpe.weight"])


@pytest.mark.parametrize("place", ["/elsewhere/else", "owner/nowhere", "", "\\\\host\\share", "."])
def test_without_its_model_it_is_named(place, base, tmp_path):
    adapter = write_adapter(tmp_path / "adapter", LORA, place)
    with pytest.raises(SourceError, match="adapter of"):
        open_model(adapter)


def test_an_adapter_of_an_adapter(base, tmp_path):
    inner = write_adapter(tmp_path / "inner", LORA, str(tmp_path / "outer"))
    outer = write_adapter(tmp_path / "outer", LORA, str(inner))
    for folder in (inner, outer):
        with pytest.raises(SourceError, match="adapter itself"):
            open_model(folder)


def test_a_model_of_the_hub_cache(base, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    snapshot = cache / "models--own--tiny" / "snapshots" / "c" / "config.json"
    snapshot.parent.mkdir(parents=True)
    for path in base.iterdir():
        (snapshot.parent / path.name).write_bytes(path.read_bytes())
    (cache / "models--own--tiny" / "refs").mkdir()
    (cache / "models--own--tiny" / "refs" / "main").write_text("c")
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    model = open_model(write_adapter(tmp_path / "adapter", LORA, "own/tiny"))
    np.testing.assert_array_equal(model.W_pos, BASE["wpe.weight"])


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        ({}, {"lora_alpha": "six"}),
        ({}, {"lora_alpha": None}),
        ({}, {"alpha_pattern": {"(a+)+$": 1}}),
        ({"A": numbers(R, D + 1)}, {}),
        ({"B": numbers(3 * D, R + 1)}, {}),
        ({"A": numbers(R, D, 1, 1)}, {}),
    ],
)
def test_a_change_that_does_not_fit_leaves_the_rest(change, settings, base, tmp_path):
    tensors = {f"{PREFIX}h.1.attn.c_attn.lora_{key}.weight": x
               for key, x in ({"A": A, "B": B} | change).items()}  # fmt: skip
    model = open_model(write_adapter(tmp_path / "adapter", tensors, str(base), **settings))
    np.testing.assert_array_equal(model.W_pos, BASE["wpe.weight"])
    np.testing.assert_array_equal(fused(model, 0), fused(open_model(base), 0))
    with pytest.raises(TensorUnavailable):
        model.weight("W_Q", 1)


@pytest.mark.parametrize("kind", ["IA3", "ADALORA", None, 3])
def test_other_adapters_are_not_added_and_named(kind, base, tmp_path):
    model = open_model(write_adapter(tmp_path / "adapter", LORA, str(base), peft_type=kind))
    np.testing.assert_array_equal(fused(model, 1), fused(open_model(base), 1))
    assert any("not used" in note for note in model.warnings)


def test_a_folder_of_adapters_is_a_training(base, tmp_path):
    from geometry.history.here import history_here

    tables = {step: numbers(N, D) for step in (5, 100, 20)}
    for step, table in tables.items():
        tensors = LORA | {f"{PREFIX}wpe.weight": table}
        write_adapter(tmp_path / "run" / f"checkpoint-{step}", tensors, str(base))
    history = history_here(open_model(tmp_path / "run"))
    assert history.steps.tolist() == [5, 20, 100]
    np.testing.assert_array_equal(history.table(1), tables[20])


def gpt2() -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_positions=N, n_embd=D, n_layer=2, n_head=2, vocab_size=20))


def opt() -> torch.nn.Module:
    from transformers import OPTConfig, OPTForCausalLM

    return OPTForCausalLM(
        OPTConfig(max_position_embeddings=N, hidden_size=D, word_embed_proj_dim=D, ffn_dim=16,
                  num_hidden_layers=2, num_attention_heads=2, vocab_size=20)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (gpt2, {"target_modules": ["c_attn", "c_proj"], "fan_in_fan_out": True}),
        (gpt2, {"target_modules": ["c_attn", "wpe"], "modules_to_save": ["wte"]}),
        (gpt2, {"target_modules": ["c_attn"], "modules_to_save": ["wpe"], "use_rslora": True}),
        (gpt2, {"target_modules": ["c_attn"], "use_dora": True, "fan_in_fan_out": True}),
        (opt, {"target_modules": ["q_proj", "v_proj", "fc1"], "use_dora": True}),
        (opt, {"target_modules": ["q_proj", "k_proj", "out_proj"],
               "alpha_pattern": {"q_proj": 3}, "rank_pattern": {"k_proj": 4}}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_a_merged_model_has_the_same_matrices(make, settings, tmp_path):
    peft = pytest.importorskip("peft", reason="compares with PEFT's merge_and_unload")
    torch.manual_seed(0)
    make().save_pretrained(tmp_path / "base")
    model = type(make()).from_pretrained(tmp_path / "base")
    model = peft.get_peft_model(model, peft.LoraConfig(r=2, lora_alpha=6, **settings))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "adapter")
    model.merge_and_unload().save_pretrained(tmp_path / "merged")
    ours, theirs = open_model(tmp_path / "adapter"), open_model(tmp_path / "merged")
    np.testing.assert_allclose(ours.W_pos, theirs.W_pos, atol=1e-6)
    np.testing.assert_allclose(ours.W_E, theirs.W_E, atol=1e-6)
    for layer in range(2):
        for name in ("W_Q", "W_K", "W_V", "W_O", "W_in"):
            np.testing.assert_allclose(
                ours.weight(name, layer), theirs.weight(name, layer), atol=1e-6
            )
    assert not any("not used" in note for note in ours.warnings)


def serve_base(hub, base: Path) -> None:
    hub.add("own/tiny", {path.name: path for path in base.iterdir()})


@pytest.mark.parametrize("on_hub", [False, True])
def test_a_model_on_the_hub_is_downloaded_with_consent(
    on_hub, base, tmp_path, opened, loopback_hub
):
    adapter = write_adapter(tmp_path / "adapter", LORA, "own/tiny", fan_in_fan_out=True)
    serve_base(loopback_hub, base)
    source = str(adapter)
    if on_hub:
        source = "own/adapter"
        loopback_hub.add(source, {path.name: path for path in adapter.iterdir()})
    with pytest.raises(BaseAway, match="own/tiny") as error:
        opened(source)
    assert error.value.nbytes is None
    assert not any("own/tiny" in request.path for request in loopback_hub.requests)
    model = opened(source, whole=True)
    np.testing.assert_array_equal(model.W_pos, BASE["wpe.weight"])
    own = {name for name in LORA if on_hub}
    lora = sum(LORA[name].nbytes for name in own)
    assert model.store.bytes_to_fetch("h.1.attn.c_attn.weight") == 4 * 3 * D * D + lora
    expected = BASE["h.1.attn.c_attn.weight"].T + 3 * B @ A
    np.testing.assert_allclose(fused(model, 1), expected, rtol=1e-5, atol=1e-5)
    assert (model.commit is not None) == on_hub
    with loopback_hub.unasked():  # what was agreed to is here now
        np.testing.assert_array_equal(opened(source).W_pos, model.W_pos)


def test_what_an_adapter_on_the_hub_names_is_not_looked_for_here(
    base, tmp_path, opened, loopback_hub, monkeypatch
):
    adapter = write_adapter(tmp_path / "adapter", LORA, "own/tiny")
    loopback_hub.add("own/adapter", {path.name: path for path in adapter.iterdir()})
    (tmp_path / "own").mkdir()
    base.rename(tmp_path / "own" / "tiny")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BaseAway):
        opened("own/adapter")
    other = write_adapter(tmp_path / "other", LORA, str(tmp_path / "own" / "tiny"))
    loopback_hub.add("own/other", {path.name: path for path in other.iterdir()})
    with pytest.raises(SourceError, match="adapter of"):
        opened("own/other", whole=True)


def test_adapters_of_each_other_on_the_hub(tmp_path, opened, loopback_hub):
    for name, of in (("a", "b"), ("b", "a")):
        folder = write_adapter(tmp_path / name, LORA, f"own/{of}")
        loopback_hub.add(f"own/{name}", {path.name: path for path in folder.iterdir()})
    with pytest.raises(SourceError, match="adapter itself"):
        opened("own/a", whole=True)


def test_an_adapters_table_opens_without_its_model(tmp_path, opened):
    table = numbers(N, D)
    adapter = write_adapter(tmp_path / "adapter", LORA | {f"{PREFIX}wpe.weight": table}, "own/tiny")
    np.testing.assert_array_equal(opened(str(adapter)).W_pos, table)
