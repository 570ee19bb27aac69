"""An opened model: its matrices, what it lacks, and its fingerprint."""

import shutil

import numpy as np
import pytest
import torch
import transformers

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.attention_layer import AttentionLayer
from geometry.models.sources import open_source


@pytest.fixture(scope="module")
def tiny() -> transformers.GPT2LMHeadModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=16, n_layer=2, n_head=2, n_positions=12, vocab_size=40, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def test_partial_checkpoint_says_what_it_lacks(gpt2_folder):
    model = open_source(gpt2_folder)
    assert dict(model.missing) == {
        "W_E": "no token embeddings in this checkpoint",
        "W_in": "no h.0.mlp.c_fc.weight in this checkpoint",
    }
    assert model.weight("W_Q").shape == (768, 768)
    for absent in (lambda: model.W_E, lambda: model.weight("W_in"), lambda: model.weight("W_Q", 3)):
        with pytest.raises(TensorUnavailable, match="in this checkpoint"):
            absent()
    with pytest.raises(TensorUnavailable, match="layers are 0–11, asked for layer 12"):
        model.weight("W_Q", 12)


def test_factorised_embeddings_come_with_their_map(tmp_path):
    config = transformers.AlbertConfig(
        vocab_size=40, embedding_size=8, hidden_size=16, num_hidden_layers=4, num_hidden_groups=2,
        num_attention_heads=2, intermediate_size=24, max_position_embeddings=12,
    )  # fmt: skip
    module = transformers.AlbertModel(config)
    module.save_pretrained(tmp_path)
    model = open_source(tmp_path)
    assert model.d_model == model.W_E.shape[1] == 8
    assert model.weight("W_Q").shape == (16, 16)
    mapping = module.encoder.embedding_hidden_mapping_in.weight.detach().numpy()
    for what in ("positions", "tokens"):
        np.testing.assert_array_equal(model.layers.embedding_map(what), mapping)
    # Four layers share two groups.
    groups = module.encoder.albert_layer_groups
    for layer in range(4):
        query = groups[layer // 2].albert_layers[0].attention.query.weight.detach().numpy()
        np.testing.assert_array_equal(model.weight("W_Q", layer), query)


def test_fingerprint_knows_the_positions_and_the_index(tiny, tmp_path):
    tiny.save_pretrained(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    a, b = open_source(tmp_path / "a"), open_source(tmp_path / "b")
    read = a.store.bytes_read
    assert a.fingerprint == b.fingerprint
    assert a.store.bytes_read == read
    path = tmp_path / "b" / "model.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-12 * 16 * 4 - 40 * 16 * 4] ^= 1
    path.write_bytes(raw)
    assert open_source(tmp_path / "b").fingerprint != a.fingerprint


def test_attention_scale_by_family(gpt2_folder, tmp_path):
    assert AttentionLayer(open_source(gpt2_folder).layers).scale(64) == pytest.approx(1 / 8)
    config = transformers.GPTNeoConfig(
        hidden_size=16, num_layers=2, num_heads=2, vocab_size=40, max_position_embeddings=12,
        attention_types=[[["global"], 2]], bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    transformers.GPTNeoModel(config).save_pretrained(tmp_path)
    assert AttentionLayer(open_source(tmp_path).layers, 1).scale(8) == 1


def test_norm_gains_under_their_old_names(gpt2_folder, minilm_folder):
    gain = open_source(gpt2_folder).layers.norm_gain("attention")
    assert gain is not None
    assert gain.shape == (768,)
    minilm = open_source(minilm_folder).layers
    for layer in (0, 5):
        gain = minilm.norm_gain("attention", layer)
        assert gain is not None
        assert gain.shape == (384,)
    with pytest.raises(TensorUnavailable):
        minilm.norm_gain("mlp", 6)


def test_old_names_of_layer_norm(write_safetensors, tmp_path):
    tensors = {"embeddings.position_embeddings.weight": np.ones((4, 2), np.float32),
               "embeddings.LayerNorm.gamma": np.full(2, 3, np.float32)}  # fmt: skip
    write_safetensors(tmp_path / "model.safetensors", tensors)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    gain = open_source(tmp_path).layers.norm_gain("attention")
    np.testing.assert_array_equal(gain, [3, 3])


def test_a_model_without_layers_still_has_positions(write_safetensors, tmp_path):
    table = np.eye(8, 4, dtype=np.float32)
    write_safetensors(tmp_path / "model.safetensors", {"wpe.weight": table})
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_layer": 0}')
    model = open_source(tmp_path)
    np.testing.assert_array_equal(model.W_pos, table)
    assert model.missing["W_Q"] == "this model has no layers by its config.json"
    with pytest.raises(TensorUnavailable, match="layers are none, asked for layer 0"):
        model.weight("W_Q")


def test_positions_are_widened_when_they_are_asked_for(write_safetensors, tmp_path):
    table = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    write_safetensors(tmp_path / "model.safetensors", {"wpe.weight": table})
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_layer": 0}')
    model = open_source(tmp_path)
    assert model.stored_W_pos.dtype == np.float32
    assert not model.stored_W_pos.flags.writeable
    np.testing.assert_array_equal(model.stored_W_pos, table)
    assert model.W_pos.dtype == np.float64
    assert not model.W_pos.flags.writeable
    np.testing.assert_array_equal(model.W_pos, table)
    assert model.stored_W_pos is model.W_pos


def test_model_with_two_tables_offers_both(tmp_path):
    config = transformers.BartConfig(
        vocab_size=40, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=12, decoder_ffn_dim=12,
        max_position_embeddings=10,
    )  # fmt: skip
    module = transformers.BartModel(config)
    module.save_pretrained(tmp_path)
    decoder = open_source(tmp_path)
    assert (decoder.sides, decoder.side) == (("decoder", "encoder"), "decoder")
    encoder = open_source(tmp_path, table="encoder")
    assert encoder.side == "encoder"
    table = module.encoder.embed_positions.weight.detach().numpy()
    np.testing.assert_array_equal(encoder.W_pos, table[2:])


def test_model_with_one_table_has_no_sides(gpt2_folder):
    model = open_source(gpt2_folder)
    assert (model.sides, model.side) == ((), None)
