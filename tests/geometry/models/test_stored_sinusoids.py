"""Families of fixed sinusoids whose checkpoints store a table: compared before it is labelled."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.models.vit_mae.modeling_vit_mae import (
    build_2d_sinusoidal_position_embedding,
)

from geometry.claims.report import report
from geometry.measures.sinusoids import sinusoid
from geometry.models.sources.opening import open_model
from tests.geometry.models.test_grids import VISION
from tests.geometry.saved_models import saved

SIZES = {"vocab_size": 40, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
         "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
         "decoder_ffn_dim": 24, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
         "decoder_start_token_id": 2}  # fmt: skip
SMALL = {"n_layers": 1, "n_heads": 2, "max_position_embeddings": 30, "vocab_size": 40}
KINDS = {
    "whisper": ("encoder", "tensor2tensor", {**SIZES, "max_source_positions": 30,
                                               "max_target_positions": 30}),
    "pegasus": ("decoder", "marian", {**SIZES, "max_position_embeddings": 30}),
    "marian": ("encoder", "marian", {**SIZES, "max_position_embeddings": 30}),
    "distilbert": (None, "interleaved", {**SMALL, "dim": 16, "hidden_dim": 24,
                                         "sinusoidal_pos_embds": True}),
    "xlm": (None, "interleaved", {**SMALL, "emb_dim": 16, "sinusoidal_embeddings": True}),
    "flaubert": (None, "interleaved", {**SMALL, "emb_dim": 16, "sinusoidal_embeddings": True}),
}  # fmt: skip


def stored(folder, table, dtype=torch.float32):
    """Put a table in the place of a checkpoint's positions."""
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        if "position_embedding" in name or "embed_positions" in name:
            tensors[name] = torch.tensor(table).to(dtype).reshape(tensor.shape)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_table_is_computed_only_if_it_is_the_formula(kind, dtype, tmp_path):
    side, layout, sizes = KINDS[kind]
    saved(kind, tmp_path, **sizes)
    fixed = sinusoid(layout, 30, 16)
    stored(tmp_path, fixed, dtype)
    model = open_model(tmp_path, table=side)
    assert (model.scheme, model.computed, model.warnings) == ("computed", True, ())
    stored(tmp_path, fixed + 0.5 * (np.arange(30) == 7)[:, None], dtype)
    trained = open_model(tmp_path, table=side)
    assert (trained.scheme, trained.computed) == ("learned", False)
    assert any("differs by up to 0.5 from" in note for note in trained.warnings)
    assert report(trained, nulls=False)["scheme"] == {"kind": "learned"}


@pytest.mark.parametrize(("rows", "first"), [("[5:]", 5), ("[-20:]", 10), ("[4:9]", 4)])
def test_part_of_a_fixed_table_is_computed_as_well(rows, first, tmp_path):
    side, layout, sizes = KINDS["marian"]
    saved("marian", tmp_path, **sizes)
    stored(tmp_path, sinusoid(layout, 30, 16))
    table = open_model(tmp_path, table=side).table
    model = open_model(tmp_path, table=f"{table}{rows}")
    assert (model.scheme, model.computed, model.prefix_rows) == ("computed", True, first)
    assert not any("learned" in note for note in model.warnings)


def test_a_table_of_another_family_that_is_a_sinusoid_says_so(written):
    table = sinusoid("tensor2tensor", 66, 16)[2:].astype("f4")
    tensors = {"wpe.weight": table, "wte.weight": np.ones((9, 16), "f4")}
    model = open_model(written(tensors, {"model_type": "gpt2"}))
    assert (model.scheme, model.computed) == ("computed", True)
    assert any("from row 2 on" in note for note in model.warnings)
    table[40] += 0.1
    model = open_model(written(tensors, {"model_type": "gpt2"}))
    assert (model.scheme, model.warnings) == ("learned", ())


def test_a_bare_buffer_of_sines_and_cosines_says_so(open_array):
    model = open_array(sinusoid("interleaved", 200, 32).astype("f4"))
    assert model.computed
    assert any("each sine followed by its cosine" in note for note in model.warnings)


def test_the_fixed_patches_of_mae_are_computed_and_trained_ones_are_not(tmp_path):
    own = saved("vit_mae", tmp_path, **VISION)
    assert not open_model(tmp_path).computed
    fixed = build_2d_sinusoidal_position_embedding(3, 3, 16, cls_token=True)
    with torch.no_grad():  # its code turns the halves round
        own.embeddings.position_embeddings.copy_(fixed.roll(8, dims=1)[None])
    own.save_pretrained(tmp_path)
    model = open_model(tmp_path)
    assert (model.scheme, model.computed) == ("grid", True)
    assert any("row and column" in note for note in model.warnings)
