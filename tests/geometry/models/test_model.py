"""Every kind of source, how little is read of it, and the model that it is."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.hub.faults import Offline
from geometry.models.sources.opening import name_of, open_model
from tests.geometry.family_cases import BART


@pytest.fixture(scope="module")
def tiny() -> transformers.GPT2LMHeadModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=16, n_layer=2, n_head=2, n_positions=12, vocab_size=40, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def test_folder_reads_the_positions_only(gpt2_folder):
    model = open_model(gpt2_folder)
    assert model.store.bytes_read == 1024 * 768 * 4
    assert (model.n_positions, model.d_model) == (1024, 768)
    assert model.W_pos.dtype == np.float64
    assert not model.W_pos.flags.writeable
    assert (model.family, model.table, model.name) == ("gpt2", "wpe.weight", "gpt2")
    assert (model.n_layers, model.n_heads, model.d_vocab) == (12, 12, 50257)
    assert model.causal
    assert not model.computed
    assert model.warnings == ()
    assert (model.sides, model.side) == ((), None)


def test_minilm_folder(minilm_folder):
    model = open_model(minilm_folder)
    assert model.store.bytes_read == 512 * 384 * 4
    assert (model.name, model.family) == ("all-MiniLM-L6-v2", "bert")
    assert not model.causal
    assert not model.missing
    assert model.W_E.shape == (30522, 384)
    assert model.W_E.dtype == np.float32
    assert model.W_E is model.W_E
    assert model.weight("W_in", 5).shape == (1536, 384)
    assert model.layers.norm_gain("attention", 5).shape == (384,)
    with pytest.raises(TensorUnavailable):
        model.layers.norm_gain("mlp", 6)


def test_single_file_uses_the_configuration_beside_it(gpt2_folder):
    model = open_model(gpt2_folder / "model.safetensors")
    assert (model.family, model.name, model.n_layers) == ("gpt2", "gpt2", 12)
    assert model.tokenize("Hello").ids == (50256, 15496)


def test_torch_file_reads_the_positions_only(tiny, tmp_path):
    torch.save(tiny.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "config.json").write_text(tiny.config.to_json_string())
    model = open_model(tmp_path)
    assert model.store.bytes_read == 12 * 16 * 4
    np.testing.assert_array_equal(model.W_pos, tiny.transformer.wpe.weight.detach().numpy())
    expected = tiny.transformer.h[1].attn.c_attn.weight.detach().numpy()[:, 16:32].T
    np.testing.assert_array_equal(model.weight("W_K", 1), expected)


def test_shards_read_the_positions_only(tiny, tmp_path):
    tiny.save_pretrained(tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    model = open_model(tmp_path)
    assert model.store.bytes_read == 12 * 16 * 4
    np.testing.assert_array_equal(model.W_pos, tiny.transformer.wpe.weight.detach().numpy())
    by_index = open_model(tmp_path / "model.safetensors.index.json")
    assert by_index.fingerprint == model.fingerprint
    assert by_index.name == model.name == tmp_path.name
    tokens = tiny.transformer.wte.weight.detach().numpy()
    np.testing.assert_array_equal(model.W_E, tokens)


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.transformer.", "model.lm."])
def test_any_prefix(prefix, tiny, write_safetensors, tmp_path):
    state = {f"{prefix}{n}": t.numpy() for n, t in tiny.transformer.state_dict().items()}
    write_safetensors(tmp_path / "model.safetensors", state)
    (tmp_path / "config.json").write_text(tiny.config.to_json_string())
    model = open_model(tmp_path)
    assert model.table == f"{prefix}wpe.weight"
    assert not model.missing


@pytest.mark.parametrize(
    ("kind", "config", "family"),
    [
        ("GPT2LMHeadModel", {"n_embd": 16, "n_head": 2, "n_positions": 16}, "gpt2"),
        ("BertForMaskedLM", {"max_position_embeddings": 16}, "bert"),
        ("RobertaForMaskedLM", {"max_position_embeddings": 18}, "roberta"),
        ("OPTForCausalLM", {"max_position_embeddings": 16, "ffn_dim": 24}, "opt"),
        ("GPTNeoForCausalLM", {"attention_types": [[["global"], 2]], "num_layers": 2,
                               "num_heads": 2, "max_position_embeddings": 16}, "gpt_neo"),
    ],
)  # fmt: skip
def test_without_a_configuration_the_names_tell(kind, config, family, tmp_path):
    model_class = getattr(transformers, kind)
    common = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2,
              "num_attention_heads": 2, "bos_token_id": 0, "eos_token_id": 2}  # fmt: skip
    module = model_class(model_class.config_class(**{**common, **config}))
    module.save_pretrained(tmp_path)
    (tmp_path / "config.json").unlink()
    model = open_model(tmp_path / "model.safetensors")
    assert model.family == family
    assert model.n_positions == 16
    (warning,) = model.warnings
    assert f"assumed to be {family} from its tensor names" in warning
    assert "usual settings assumed: layer_norm_ep" in warning or family == "opt"


def test_arrays_are_bare_tables(tmp_path):
    table = np.random.default_rng(0).normal(size=(30, 8))
    np.save(tmp_path / "table.npy", table)
    np.savez_compressed(tmp_path / "archive.npz", weights=table, numbers=table[:, 0])
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    for file, name in (("table.npy", "table"), ("archive.npz", "weights")):
        model = open_model(tmp_path / file)
        np.testing.assert_array_equal(model.W_pos, table)
        assert model.table == name
        assert model.family is model.n_layers is model.d_vocab is None
        assert set(model.missing) == {"W_E", "W_Q", "W_K", "W_V", "W_O", "W_in"}
        for ask, what in ((model.weight, "W_Q"), (model.tokenize, "Hello")):
            with pytest.raises(TensorUnavailable, match=r"only a (position )?table"):
                ask(what)


def test_one_tensor_alone_is_the_table(write_safetensors, tmp_path):
    path = write_safetensors(tmp_path / "p.safetensors", {"P": np.ones((1, 6, 4), np.float32)})
    model = open_model(path)
    assert (model.n_positions, model.d_model, model.table) == (6, 4, "P")
    assert "6 rows have the same number throughout: positions 0, 1, 2, 3, 4, …." in model.warnings


TABLES = (None, "decoder", "encoder", "encoder.embed_positions.weight")


def test_both_tables_of_an_encoder_and_decoder(tmp_path):
    config = transformers.BartConfig(
        **{**BART, "encoder_layers": 1, "decoder_attention_heads": 4, "pad_token_id": 1}
    )
    module = transformers.BartModel(config)
    module.save_pretrained(tmp_path)
    decoder, encoder = open_model(tmp_path), open_model(tmp_path, table="encoder")
    by_name = open_model(tmp_path, table="encoder.embed_positions.weight")
    assert (decoder.sides, decoder.side, encoder.side) == (
        ("decoder", "encoder"), "decoder", "encoder",
    )  # fmt: skip
    assert (decoder.n_layers, decoder.n_heads, decoder.causal) == (2, 4, True)
    assert (encoder.n_layers, encoder.n_heads, encoder.causal) == (1, 2, False)
    expected = module.encoder.embed_positions.weight.detach().numpy()[2:]
    np.testing.assert_array_equal(encoder.W_pos, expected)
    np.testing.assert_array_equal(by_name.W_pos, expected)
    assert encoder.fingerprint == by_name.fingerprint != decoder.fingerprint
    made = {table: open_model(f"resampled:24,{tmp_path}", table=table) for table in TABLES}
    for model in made.values():
        again = open_model(model.source.text, table=model.table_choice)
        assert again.fingerprint == model.fingerprint
    assert [model.table_choice for model in made.values()] == [None, None, *TABLES[2:]]


def test_home_is_understood(tmp_path, monkeypatch, gpt2_folder):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine").symlink_to(gpt2_folder)
    assert open_model("~/mine").n_positions == 1024
    assert open_model("~/mine").name == "mine"


def test_installed_model_opens_by_its_id(minilm_folder):
    for name in ("sentence-transformers/all-MiniLM-L6-v2", "all-minilm-l6-v2"):
        model = open_model(name)
        assert model.n_positions == 512
        assert model.source.text == name


def test_model_that_is_not_here_yet(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("gpt2-xl", "openai-community/gpt2-xl", "gpt2-xl@checkpoint-1", "models/gpt3"):
        with pytest.raises(Offline) as error:
            open_model(name)
        assert str(error.value) == f"{name} is not on this machine, and Helixscope is offline."
        assert error.value.advice == "Unset HF_HUB_OFFLINE to use the network."


@pytest.mark.parametrize(
    "text",
    ["./models/gpt2", "models/gpt2/small", "gpt2.safetensors", "C:\\gpt2", "~/x", "gpt 2",
     "/nowhere", ""],
)  # fmt: skip
def test_what_can_only_be_a_path_is_not_asked_for(text):
    with pytest.raises(SourceError, match="does not exist") as error:
        open_model(text)
    assert error.value.advice == "Check the path."


def test_partial_checkpoint_says_what_it_lacks(gpt2_folder):
    model = open_model(gpt2_folder)
    assert dict(model.missing) == {
        "W_E": "no token embeddings in this checkpoint",
        "W_in": "no h.0.mlp.c_fc.weight in this checkpoint",
    }
    assert model.weight("W_Q").shape == (768, 768)
    for absent in (lambda: model.W_E, lambda: model.weight("W_in"), lambda: model.weight("W_Q", 3)):
        with pytest.raises(TensorUnavailable, match="in this checkpoint"):
            absent()
    with pytest.raises(TensorUnavailable, match="Layer 12 does not exist; the layers are 0–11"):
        model.weight("W_Q", 12)


def test_factorised_embeddings_come_with_their_map(tmp_path):
    config = transformers.AlbertConfig(
        vocab_size=40, embedding_size=8, hidden_size=16, num_hidden_layers=4, num_hidden_groups=2,
        num_attention_heads=2, intermediate_size=24, max_position_embeddings=12,
    )  # fmt: skip
    module = transformers.AlbertModel(config)
    module.save_pretrained(tmp_path)
    model = open_model(tmp_path)
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
    a, b = open_model(tmp_path / "a"), open_model(tmp_path / "b")
    read = a.store.bytes_read
    assert a.fingerprint == b.fingerprint
    assert a.store.bytes_read == read
    path = tmp_path / "b" / "model.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-12 * 16 * 4 - 40 * 16 * 4] ^= 1
    path.write_bytes(raw)
    assert open_model(tmp_path / "b").fingerprint != a.fingerprint


def test_old_names_of_layer_norm(written):
    tensors = {"embeddings.position_embeddings.weight": np.ones((4, 2), np.float32),
               "embeddings.LayerNorm.gamma": np.full(2, 3, np.float32)}  # fmt: skip
    gain = open_model(written(tensors, {"model_type": "bert"})).layers.norm_gain("attention")
    np.testing.assert_array_equal(gain, [3, 3])


def test_model_without_layers_has_wide_positions(written):
    table = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    model = open_model(written({"wpe.weight": table}, {"model_type": "gpt2", "n_layer": 0}))
    assert model.stored_W_pos.dtype == np.float32
    assert not model.stored_W_pos.flags.writeable
    np.testing.assert_array_equal(model.stored_W_pos, table)
    assert model.W_pos.dtype == np.float64
    assert not model.W_pos.flags.writeable
    np.testing.assert_array_equal(model.W_pos, table)
    assert model.stored_W_pos is model.W_pos
    assert model.missing["W_Q"] == "this model has no layers according to its config.json"
    with pytest.raises(TensorUnavailable, match="Layer 0 does not exist; the layers are none"):
        model.weight("W_Q")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/ckpt.pt", "a"), ("b/ckpt.pt", "b"), ("a/lit_model.pth", "a"), ("a/gpt2.pt", "gpt2"),
        ("a/checkpoints/last.ckpt", "a · last"), ("b/checkpoints/last.ckpt", "b · last"),
        ("a/version_0/checkpoints/epoch=1-step=5.ckpt", "a · epoch=1-step=5"),
        ("a/state_step000100.pt", "a · state_step000100"), ("a/consolidated.00.pth", "a"),
        ("a/model_best.pth.tar", "a · model_best.pth"),
        ("a/checkpoint_last.pt", "a · checkpoint_last"), ("a/model.safetensors", "a"),
        ("a/mp_rank_00/model_optim_rng.pt", "a"), ("a/model-00001-of-00002.safetensors", "a"),
        ("a/checkpoint-500/model.safetensors", "checkpoint-500"), ("a/modelnet.pt", "modelnet"),
    ],
)  # fmt: skip
def test_the_names_of_checkpoints_say_which_they_are(path, name, tmp_path):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).touch()
    assert name_of(tmp_path / path) == name
