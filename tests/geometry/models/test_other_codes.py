"""Checkpoints of other training codes than transformers: nanoGPT's layout, copies, chosen rows."""

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from geometry.checkpoints.errors import SourceError
from geometry.claims.report import report
from geometry.models.attention_layer import AttentionLayer
from geometry.models.notes import FILE_NAME
from geometry.models.recognition.candidates import UnknownRows
from geometry.models.sources.opening import UnknownArchitecture, open_model
from tests import small_models
from tests.geometry.family_cases import BART, PROPHET, SPECIAL, VISION, WHISPER

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "resources" / "sample"
LINEAR = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
N, D, HEADS = 16, 8, 2


def of_nanogpt(folder: Path, prefix: str = "_orig_mod.") -> dict[str, Any]:
    """A GPT-2 of transformers as nanoGPT saves it: matrices of nn.Linear, and model_args."""
    config = json.loads((folder / "config.json").read_text())
    state = {}
    for name, values in load_file(folder / "model.safetensors").items():
        own = name.removeprefix("transformer.")
        stored = torch.from_numpy(values.T.copy() if own.endswith(LINEAR) else values)
        state[f"{prefix}{'' if own.startswith('lm_head') else 'transformer.'}{own}"] = stored
    args = {"n_layer": config["n_layer"], "n_head": config["n_head"], "n_embd": config["n_embd"],
            "block_size": config["n_positions"], "vocab_size": config["vocab_size"], "bias": True,
            "dropout": 0.0}  # fmt: skip
    return {"model": state, "model_args": args, "iter_num": 5, "best_val_loss": 3.2}


@pytest.fixture
def gpt2(tmp_path) -> Path:
    """A small GPT-2 of transformers."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_positions=N, n_embd=D, n_layer=2, n_head=HEADS, vocab_size=20,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    model.save_pretrained(tmp_path / "gpt2")
    return tmp_path / "gpt2"


def saved(content: Any, path: Path) -> Path:
    torch.save(content, path)
    return path


def test_nanogpts_matrices_and_heads(gpt2, tmp_path):
    whole, model = open_model(gpt2), open_model(saved(of_nanogpt(gpt2), tmp_path / "ckpt.pt"))
    assert (model.n_heads, model.n_layers, model.d_vocab) == (HEADS, 2, 20)
    for layer in range(2):
        for name in ("W_Q", "W_K", "W_V", "W_O", "W_in"):
            np.testing.assert_array_equal(model.weight(name, layer), whole.weight(name, layer))
    np.testing.assert_array_equal(model.W_E, whole.W_E)
    assert any("nn.Linear" in warning for warning in model.warnings)


def test_shapes_win_over_a_configuration_beside_them(gpt2, tmp_path):
    """nanoGPT's matrices with a config.json of transformers, as a careless conversion has them."""
    state = {name: tensor.numpy() for name, tensor in of_nanogpt(gpt2, "")["model"].items()}
    folder = tmp_path / "converted"
    folder.mkdir()
    save_file({name: np.ascontiguousarray(one) for name, one in state.items()},
              folder / "model.safetensors")  # fmt: skip
    (folder / "config.json").write_text((gpt2 / "config.json").read_text())
    whole, model = open_model(gpt2), open_model(folder)
    for name in ("W_Q", "W_O", "W_in"):
        np.testing.assert_array_equal(model.weight(name, 1), whole.weight(name, 1))
    assert any("nn.Linear" in warning for warning in model.warnings)
    assert not whole.warnings


def test_without_settings_the_heads_are_not_known(gpt2, tmp_path):
    model = open_model(saved(of_nanogpt(gpt2)["model"], tmp_path / "gpt.pt"))
    assert model.n_heads is None
    np.testing.assert_array_equal(model.weight("W_Q"), open_model(gpt2).weight("W_Q"))
    assert any("usual settings assumed" in warning for warning in model.warnings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"n_embd": 2 * D}, "counts"), ({"block_size": 99}, "counts"), ({"n_head": 3}, "3 heads")],
)
def test_settings_that_contradict_the_shapes_are_said(settings, words, gpt2, tmp_path):
    content = of_nanogpt(gpt2)
    content["model_args"] |= settings
    model = open_model(saved(content, tmp_path / "ckpt.pt"))
    np.testing.assert_array_equal(model.W_pos, open_model(gpt2).W_pos)
    assert any(words in warning for warning in model.warnings)
    assert model.n_heads == (None if "n_head" in settings else HEADS)


def test_biases_that_nanogpt_leaves_out(gpt2, tmp_path):
    content = of_nanogpt(gpt2)
    content["model_args"]["bias"] = False
    content["model"] = {
        name: tensor for name, tensor in content["model"].items() if not name.endswith("bias")
    }
    made = report(open_model(saved(content, tmp_path / "ckpt.pt")), nulls=False)
    assert made["kernels"] is not None


def test_without_settings_stored_biases_tell(gpt2, tmp_path):
    state = {name: tensor for name, tensor in of_nanogpt(gpt2)["model"].items()
             if not name.endswith("bias")}  # fmt: skip
    model = open_model(saved(state, tmp_path / "ckpt.pt"))
    _, norm = AttentionLayer(model.layers).norms()
    assert norm is not None
    assert (norm.gain is None, norm.bias) == (False, None)


def differing(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The paths at which two reports differ, numbers by more than 1e-6."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in {**one, **other}:
            yield from differing(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from differing(*pair, f"{path}.{i}")
    elif isinstance(one, float) and isinstance(other, float):
        if one != pytest.approx(other, rel=1e-6, abs=1e-6, nan_ok=True):
            yield path
    elif one != other and not isinstance(one, str):
        yield path


@pytest.mark.slow
@pytest.mark.parametrize("source", ["gpt2", "sample"])
def test_every_number_of_the_report_is_that_of_the_other_layout(source, request, tmp_path):
    folder = request.getfixturevalue("gpt2_folder") if source == "gpt2" else SAMPLE
    copy = saved(of_nanogpt(folder), tmp_path / "ckpt.pt")
    if (folder / FILE_NAME).is_file():
        shutil.copy(folder / FILE_NAME, tmp_path)
    one, other = (report(open_model(path), nulls=False) for path in (folder, copy))
    # Only the whole folder of the bundled model has its training.
    untrained = [i for i, claim in enumerate(other["claims"]) if claim["value"] is None]
    for made in (one, other):
        made["claims"] = [c for i, c in enumerate(made["claims"]) if i not in untrained]
        made["layernorm"] and made["layernorm"]["max_abs_cosine"].pop("token")
        del made["model"]["warnings"]
    assert len(untrained) < len(one["claims"])
    assert list(differing(one, other)) == []


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("ema", "model"), "model"),
        (("teacher", "student"), "student"),
        (("model_ema", "state_dict"), "state_dict"),
        (("swa_model", "module"), "module"),
        (("momentum_encoder", "encoder_q"), "encoder_q"),
        (("step_100", "step_2000", "step_300"), "step_2000"),
        (("ema",), "ema"),
    ],
)
def test_the_model_is_shown_and_not_its_average(names, shown, gpt2, tmp_path):
    state = of_nanogpt(gpt2, "")["model"]
    copies = {name: {key: tensor * (i + 1) for key, tensor in state.items()}
              for i, name in enumerate(names)}  # fmt: skip
    model = open_model(saved(copies, tmp_path / "run.pt"))
    table = state["transformer.wpe.weight"].numpy() * (names.index(shown) + 1)
    np.testing.assert_array_equal(model.W_pos, table)
    np.testing.assert_array_equal(
        model.weight("W_O"),
        state["transformer.h.0.attn.c_proj.weight"].numpy() * (names.index(shown) + 1),
    )
    others = [name for name in names if name != shown]
    assert all(any(name in warning for warning in model.warnings) for name in others)


def test_another_copy_can_be_chosen(gpt2, tmp_path):
    state = of_nanogpt(gpt2, "")["model"]
    path = saved({"model": state, "ema": {k: v / 2 for k, v in state.items()}}, tmp_path / "x.pt")
    model = open_model(path, table="ema.transformer.wpe.weight")
    np.testing.assert_array_equal(model.W_pos, state["transformer.wpe.weight"].numpy() / 2)
    fused = state["transformer.h.1.attn.c_attn.weight"].numpy() / 2
    np.testing.assert_array_equal(model.weight("W_K", 1), fused[D : 2 * D])


def test_chosen_rows(written):
    table = np.arange(40, dtype="f4").reshape(10, 4)
    folder = written({"encoder.where": table, "other": np.ones((4, 4), "f4")}, {"model_type": "x"})
    for rows, expected in (("[2:]", table[2:]), ("[1:-3]", table[1:-3]), ("[:6]", table[:6])):
        model = open_model(folder, table=f"encoder.where{rows}")
        np.testing.assert_array_equal(model.W_pos, expected)
        assert model.table == "encoder.where"
    with pytest.raises(SourceError, match="no positions"):
        open_model(folder, table="encoder.where[10:]")
    with pytest.raises(SourceError, match="no tensor"):
        open_model(folder, table="encoder.where[a:]")


def test_a_name_that_ends_like_rows_is_a_name(written):
    table = np.arange(40, dtype="f4").reshape(10, 4)
    folder = written({"t[2:]": table, "t": table + 1}, {"model_type": "x"})
    np.testing.assert_array_equal(open_model(folder, table="t[2:]").W_pos, table)


def bert(n: int = 12) -> dict[str, np.ndarray]:
    """What BERT and RoBERTa have in common."""
    rng = np.random.default_rng(0)
    layer = "encoder.layer.0."
    shapes = {
        "embeddings.position_embeddings.weight": (n, 4),
        "embeddings.word_embeddings.weight": (9, 4),
        **{f"{layer}attention.self.{part}.weight": (4, 4) for part in ("query", "key", "value")},
        f"{layer}attention.output.dense.weight": (4, 4),
        f"{layer}intermediate.dense.weight": (8, 4),
    }
    return {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}


def test_rows_that_neither_names_nor_numbers_tell_are_asked_for(written):
    tensors = bert()
    folder = written(tensors, {})
    with pytest.raises(UnknownRows) as raised:
        open_model(folder)
    (candidate,) = raised.value.candidates
    assert {0, 2} <= set(raised.value.first_rows)
    assert "first_rows=2" in raised.value.advice
    table = tensors[candidate.name]
    for first in raised.value.first_rows:
        model = open_model(folder, table=f"{candidate.name}[{first}:]")
        np.testing.assert_array_equal(model.W_pos, table[first:])
        np.testing.assert_array_equal(model.W_E, tensors["embeddings.word_embeddings.weight"])
        assert model.weight("W_in").shape == (8, 4)
    with pytest.raises(UnknownRows):  # the choice of the table alone does not tell either
        open_model(folder, table=candidate.name)


def test_a_round_table_without_a_row_of_zeros_has_no_padding(written):
    tensors = bert(64)
    model = open_model(written(tensors, {}))
    assert model.family == "bert"
    np.testing.assert_array_equal(model.W_pos, tensors["embeddings.position_embeddings.weight"])
    assert any("padding" in note for note in model.warnings)


@pytest.mark.parametrize("padding", [0, 1])
def test_a_row_of_zeros_is_that_of_padding(padding, written):
    """Rows of padding are made as zeros, and have no gradient."""
    tensors = bert()
    tensors["embeddings.position_embeddings.weight"][padding] = 0
    model = open_model(written(tensors, {}))
    table = tensors["embeddings.position_embeddings.weight"]
    np.testing.assert_array_equal(model.W_pos, table[padding + 1 :])


@pytest.mark.parametrize(
    ("evidence", "first"),
    [
        ({"architectures": ["BertForMaskedLM"]}, 0),
        ({"architectures": ["RobertaModel"], "pad_token_id": 1}, 2),
        ({"architectures": ["RobertaModel"], "pad_token_id": 0}, 1),
    ],
)
def test_the_class_in_an_old_configuration_tells(evidence, first, written):
    tensors = bert()
    model = open_model(written(tensors, evidence))
    table = tensors["embeddings.position_embeddings.weight"]
    np.testing.assert_array_equal(model.W_pos, table[first:])


@pytest.mark.parametrize("name", ["pos_embed", "visual.positional_embedding", "vit.grid.pos"])
@pytest.mark.parametrize("tokens", [("cls_token",), ("cls_token", "dist_token"), ()])
def test_class_tokens_beside_a_chosen_table_have_its_first_rows(name, tokens, written):
    place = name.rpartition(".")[0]
    table = np.arange(36 + 4 * len(tokens), dtype="f4").reshape(1, -1, 4)
    stored = {name: table, "head.weight": np.ones((4, 4), "f4")}
    stored |= {f"{place}.{token}".lstrip("."): np.ones((1, 1, 4), "f4") for token in tokens}
    model = open_model(written(stored, {}), table=name)
    np.testing.assert_array_equal(model.W_pos, table[0, len(tokens) :])
    assert model.grid == ((3, 3) if tokens else None)


def test_class_tokens_that_do_not_fit_the_patches_are_asked_about(written):
    stored = {"pos_embed": np.ones((1, 13, 4), "f4"), "cls_token": np.ones((1, 1, 4), "f4")}
    with pytest.raises(UnknownRows) as raised:
        open_model(written(stored, {}), table="pos_embed")
    assert raised.value.first_rows == (0, 1)


def test_a_buffer_with_an_axis_for_the_batch_in_the_middle(written):
    table = np.arange(24, dtype="f4").reshape(6, 1, 4)
    folder = written({"encoder.weight": np.ones((5, 4), "f4"), "pos_encoder.pe": table}, {})
    with pytest.raises(UnknownArchitecture) as raised:
        open_model(folder)
    assert raised.value.candidates[0].name == "pos_encoder.pe"
    model = open_model(folder, table="pos_encoder.pe")
    np.testing.assert_array_equal(model.W_pos, table[:, 0])


def test_a_configuration_that_contradicts_a_chosen_table_is_noted(written):
    table = np.arange(48, dtype="f4").reshape(12, 4)
    folder = written({"transformer.wpe.weight": table},
                     {"model_type": "gpt2", "n_positions": 6, "n_embd": 4})  # fmt: skip
    with pytest.raises(SourceError, match="should have shape"):
        open_model(folder)
    model = open_model(folder, table="transformer.wpe.weight")
    np.testing.assert_array_equal(model.W_pos, table)
    assert any("counts" in warning for warning in model.warnings)


def test_both_sides_of_a_model_without_a_configuration(tmp_path):
    import transformers

    torch.manual_seed(0)
    size = {**BART, **SPECIAL, "decoder_start_token_id": 2}
    own = transformers.MBartModel(transformers.MBartConfig(**size))
    own.save_pretrained(tmp_path)
    (tmp_path / "config.json").unlink()
    model = open_model(tmp_path)
    assert model.sides == ("decoder", "encoder")
    assert any("encoder.embed_positions" in warning for warning in model.warnings)
    np.testing.assert_array_equal(
        model.W_pos, own.decoder.embed_positions.weight.detach().numpy()[2:]
    )
    encoder = open_model(tmp_path, table="encoder")
    np.testing.assert_array_equal(
        encoder.W_pos, own.encoder.embed_positions.weight.detach().numpy()[2:]
    )


def test_whisper_by_transformers_is_known_by_its_names(tmp_path):
    import transformers

    torch.manual_seed(0)
    size = {**WHISPER, **SPECIAL}
    config = transformers.WhisperConfig(**size, suppress_tokens=None, begin_suppress_tokens=None)
    own = transformers.WhisperModel(config)
    own.save_pretrained(tmp_path)
    (tmp_path / "config.json").unlink()
    for side, part in (("decoder", own.decoder), ("encoder", own.encoder)):
        model = open_model(tmp_path, table=side)
        np.testing.assert_array_equal(model.W_pos, part.embed_positions.weight.detach().numpy())
        assert (model.family, model.causal) == ("whisper", side == "decoder")


TEXT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 30,
        "intermediate_size": 24, "max_position_embeddings": 64}  # fmt: skip
PICTURES = {**VISION, "image_size": 12}
SAM = {"vision_config": {**PICTURES, "output_channels": 8, "mlp_dim": 16}}
UNNAMED = {
    "fnet": TEXT,
    "squeezebert": {**TEXT, "embedding_size": 16},
    "imagegpt": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 12, "vocab_size": 30},
    "prophetnet": PROPHET["config"],
    "lxmert": {**{key: value for key, value in TEXT.items() if key != "num_hidden_layers"},
               "l_layers": 2, "x_layers": 1, "r_layers": 3},
    "bros": TEXT,
    "flava": {"text_config": TEXT, "image_config": PICTURES, "multimodal_config": PICTURES},
    "sam": SAM,
}  # fmt: skip


@pytest.mark.parametrize("kind", UNNAMED)
def test_a_family_is_read_alike_without_its_configuration(kind, tmp_path):
    small_models.saved(kind, tmp_path, **UNNAMED[kind])
    weights = load_file(tmp_path / "model.safetensors")
    for name, values in weights.items():  # as torch begins with padding, and LXMERT's module
        if name.endswith("position_embeddings.weight") and kind in ("lxmert", "prophetnet"):
            values[0] = 0.0
    save_file(weights, tmp_path / "model.safetensors")
    known = open_model(tmp_path)
    (tmp_path / "config.json").unlink()
    model = open_model(tmp_path)
    np.testing.assert_array_equal(model.W_pos, known.W_pos)
    for what in ("scheme", "causal", "side", "sides", "prefix_rows", "grid"):
        assert getattr(model, what) == getattr(known, what), what
    assert not any("rotates" in warning for warning in model.warnings)
    if kind == "imagegpt":
        assert [norm and norm.centred for norm in AttentionLayer(model.layers).norms()] == [
            None,
            False,
        ]
    if kind == "lxmert":
        assert known.n_layers == 2


def test_pictures_of_blip_beside_its_text(tmp_path):
    import transformers

    text = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 30,
            "intermediate_size": 24, "max_position_embeddings": 64, "encoder_hidden_size": 16,
            "bos_token_id": 0, "pad_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}  # fmt: skip
    own = transformers.BlipModel(
        transformers.BlipConfig(text_config=text, vision_config={**VISION, "image_size": 12})
    )
    own.save_pretrained(tmp_path)
    (tmp_path / "config.json").unlink()
    table = torch.randn(1, 10, 16)
    weights = load_file(tmp_path / "model.safetensors")
    weights["vision_model.embeddings.position_embedding"] = table.numpy()
    save_file(weights, tmp_path / "model.safetensors")
    model = open_model(tmp_path, table="vision")
    np.testing.assert_array_equal(model.W_pos, table[0, 1:])
    assert model.grid == (3, 3)


def test_no_checkpoint_of_many_codes_is_shown_wrong(gpt2_folder):
    """What is refused, or lacks a part, may be; what is shown has the right numbers."""
    check = gpt2_folder.parent / "codes" / "check.py"
    if not check.is_file():
        pytest.skip("the checkpoints of other codes are not beside that of GPT-2")
    run = subprocess.run(
        [sys.executable, str(check)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counts = ast.literal_eval(run.stdout.splitlines()[-1])
    assert not counts.keys() & {"WRONG", "OPENED", "TRACEBACK"}, run.stdout
    assert counts["right"] > 40


@pytest.mark.parametrize("settings", [{"rope_theta": 10_000.0}, {"alibi": True}])
def test_settings_of_another_scheme_hide_no_table(settings, gpt2, tmp_path):
    content = of_nanogpt(gpt2)
    content["model_args"] |= settings
    model = open_model(saved(content, tmp_path / "ckpt.pt"))
    np.testing.assert_array_equal(model.W_pos, open_model(gpt2).W_pos)
    assert any("transformer.wpe.weight is shown" in warning for warning in model.warnings)


def test_a_configuration_of_another_family_hides_no_table(gpt2, tmp_path):
    (gpt2 / "config.json").write_text(
        json.dumps({"model_type": "llama", "hidden_size": D, "num_attention_heads": HEADS})
    )
    model = open_model(gpt2)
    assert model.scheme == "learned"
    assert any("is shown" in warning for warning in model.warnings)


@pytest.mark.parametrize(
    "settings", [{"n_head": "two"}, {"rope_theta": 5e5, "dim": 64}, {"vocab_size": "gpt2"}]
)
def test_settings_beside_that_are_of_something_else_are_passed_over(settings, gpt2, tmp_path):
    path = saved(of_nanogpt(gpt2)["model"], tmp_path / "ckpt.pt")
    path.with_name("params.json").write_text(json.dumps(settings))
    model = open_model(path)
    np.testing.assert_array_equal(model.W_pos, open_model(gpt2).W_pos)
    assert model.n_heads is None
    assert any("params.json" in warning for warning in model.warnings)


@pytest.mark.parametrize("prefix", ["", "audio_tower.", "encoder."])
def test_an_encoder_that_is_saved_alone_is_asked_about(prefix, tmp_path):
    import transformers

    torch.manual_seed(0)
    size = {**WHISPER, **SPECIAL}
    config = transformers.WhisperConfig(**size, suppress_tokens=None, begin_suppress_tokens=None)
    encoder = transformers.WhisperModel(config).encoder
    tensors = {f"{prefix}{name}": np.random.default_rng(0).normal(size=tensor.shape).astype("f4")
               for name, tensor in encoder.state_dict().items()}  # fmt: skip
    save_file(tensors, tmp_path / "model.safetensors")
    table = f"{prefix}embed_positions.weight"
    try:
        model = open_model(tmp_path)
    except UnknownRows as question:
        first_rows = question.first_rows
    else:
        first_rows = (model.prefix_rows,)
    assert 0 in first_rows
    model = open_model(tmp_path, table=f"{table}[0:]")
    np.testing.assert_array_equal(model.W_pos, tensors[table])
    assert not model.causal


def of_open_clip(root: str) -> dict[str, np.ndarray]:
    """A tower of open_clip, with a class token and 3 × 3 patches."""
    block = f"{root}transformer.resblocks.0."
    ones = {name: np.ones(8, "f4") for name in (f"{block}ln_1.weight", f"{block}ln_2.weight")}
    return {
        f"{root}positional_embedding": np.arange(80, dtype="f4").reshape(10, 8),
        f"{root}class_embedding": np.ones(8, "f4"), f"{root}conv1.weight": np.ones((8, 3, 4, 4)),
        f"{block}attn.in_proj_weight": np.ones((24, 8), "f4"), **ones,
        f"{block}attn.out_proj.weight": np.ones((8, 8), "f4"),
        f"{block}mlp.c_fc.weight": np.ones((32, 8), "f4"),
    }  # fmt: skip


@pytest.mark.parametrize("text", [False, True])
def test_the_pictures_side_of_open_clip_beside_another_librarys_text(text, written):
    texts = {f"text.transformer.{name}": array for name, array in bert().items()} if text else {}
    model = open_model(written({**of_open_clip("visual."), **texts}, {}), table="vision" if text
                       else None)  # fmt: skip
    assert model.W_pos.shape == (9, 8)
    assert (model.grid, model.causal) == ((3, 3), False)


def test_a_matrix_that_is_alone_is_said_to_be_taken_for_the_table(tmp_path):
    save_file({"lm_head.weight": np.ones((6, 4), "f4")}, tmp_path / "model.safetensors")
    assert any("lm_head.weight" in warning for warning in open_model(tmp_path).warnings)


@pytest.mark.parametrize(("unscaled", "scale"), [(True, 1.0), (False, np.sqrt(8))])
def test_fairseqs_setting_of_the_scale_of_tokens(unscaled, scale, tmp_path):
    layer = "decoder.layers.0."
    state = {
        "decoder.embed_positions.weight": torch.ones(12, 8),
        "decoder.embed_tokens.weight": torch.ones(9, 8),
        f"{layer}fc1.weight": torch.ones(32, 8),
        f"{layer}self_attn_layer_norm.weight": torch.ones(8),
        **{f"{layer}self_attn.{name}_proj.weight": torch.ones(8, 8) for name in "qkv"},
    }
    state["decoder.layer_norm.weight"] = torch.ones(8)
    state["decoder.embed_positions.weight"][1] = 0.0
    args = {"decoder_attention_heads": 2, "no_scale_embedding": unscaled}
    model = open_model(saved({"args": args, "model": state}, tmp_path / "checkpoint_best.pt"))
    assert (model.n_heads, model.token_scale) == (2, scale)


def test_the_classifier_of_a_convolutional_network_is_no_table(written):
    layers = {f"layer{n}.conv.weight": np.ones((4, 4, 3, 3), "f4") for n in range(8)}
    with pytest.raises(UnknownArchitecture):
        open_model(written({"fc.weight": np.ones((6, 4), "f4"), **layers}, {}))


def test_a_table_with_its_dimensions_first_is_none(written):
    tensors = {"trunk.pos_embed": np.ones((1, 24, 3, 3), "f4"), "x.weight": np.ones((4, 4), "f4")}
    folder = written(tensors, {})
    with pytest.raises(SourceError, match="cannot be a position table"):
        open_model(folder, table="trunk.pos_embed")
    by_patch = np.arange(9 * 24, dtype="f4").reshape(1, 3, 3, 24)
    folder = written({**tensors, "trunk.pos_embed": by_patch}, {})
    model = open_model(folder, table="trunk.pos_embed")
    np.testing.assert_array_equal(model.W_pos, by_patch.reshape(9, 24))


@pytest.mark.parametrize("n_rows", [289, 193])
def test_class_rows_that_squares_do_not_tell_are_asked_about(n_rows, written):
    """A class token before 12 × 24 patches, which are 17² together; 1 + 16 × 12 without one."""
    tensors = {
        "pos_embed": np.ones((1, n_rows, 8), "f4"),
        "blocks.0.attn.qkv.weight": np.ones((24, 8), "f4"),
        "patch_embed.proj.weight": np.ones((8, 3, 4, 4), "f4"),
        **({"cls_token": np.ones((1, 1, 8), "f4")} if n_rows == 289 else {}),
    }
    with pytest.raises(UnknownRows) as raised:
        open_model(written(tensors, {}))
    assert raised.value.first_rows == (0, 1)
