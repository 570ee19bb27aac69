"""Models of a Hub that are refused, and what is fetched later of those that are opened."""

import io
import threading
from itertools import count

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import (
    HelixscopeError,
    NoPositionalEmbeddings,
    SourceError,
    TensorUnavailable,
)
from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.faults import NoNetwork, NotOnHub
from geometry.models.recognition.candidates import NoSuchTable, UnknownArchitecture
from geometry.models.sources.opening import open_model
from tests.geometry.hub_opening import ALLOWANCE, asked, kept, network_of
from tests.geometry.models.test_bad_input import Evil
from tests.loopback.hub import Fault
from tests.stand_ins import OPENAI, STANFORD, write_stand_in
from tests.true_sizes import SHAPES, write_true_size

GPT2, ALIAS = OPENAI[0], STANFORD[0]


def test_a_model_without_positions_says_so_before_any_tensor(loopback_hub, offer, opened):
    weights = {f"model.layers.{i}.self_attn.q_proj.weight": np.ones((256, 256), "f4")
               for i in range(4)}  # fmt: skip
    files = {"model.safetensors": weights, "config.json": {"model_type": "mamba"}}
    offer(files)
    with pytest.raises(NoPositionalEmbeddings, match="mamba stores no positional embeddings"):
        opened()
    assert asked(loopback_hub) == ["model.safetensors", "config.json"]
    assert loopback_hub.bytes_sent < ALLOWANCE


def test_a_rotary_model_opens_from_its_configuration_and_index_alone(loopback_hub, offer, opened):
    weights = {f"model.layers.{i}.self_attn.q_proj.weight": np.ones((256, 256), "f4")
               for i in range(4)}  # fmt: skip
    config = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
              "max_position_embeddings": 300, "rope_theta": 500000.0}  # fmt: skip
    offer({"model.safetensors": weights, "config.json": config})
    model = opened()
    assert (model.n_positions, model.d_model) == (300, 64)
    assert model.rotary.base == 500000.0
    assert asked(loopback_hub) == ["model.safetensors", "config.json"]
    assert loopback_hub.bytes_sent < ALLOWANCE


def test_an_unknown_model_offers_tables_and_fetches_the_chosen_one(loopback_hub, cache, offer):
    table = np.arange(4096, dtype=np.float32).reshape(64, 64)
    tensors = {"mix.weight": np.ones((300, 300), "f4"), "where_pos": table}
    files = {"model.safetensors": tensors, "config.json": {"model_type": "brandnew"}}
    offer(files)
    network = network_of(loopback_hub, cache)
    with pytest.raises(UnknownArchitecture) as error:
        open_model("someone/model", network=network)
    assert [info.name for info in error.value.candidates] == ["where_pos", "mix.weight"]
    loopback_hub.forget_requests()
    model = open_model("someone/model", table="where_pos", network=network)
    np.testing.assert_array_equal(model.W_pos, table)
    assert len(loopback_hub.requests) <= 3
    with loopback_hub.unasked():
        assert open_model("someone/model", table="where_pos", network=network).n_positions == 64


def test_an_unknown_model_in_shards_offers_the_tables_of_all(loopback_hub, cache, offer):
    table = np.eye(8, 4, dtype="f4")
    shards = {f"model-{i}-of-3.safetensors": {f"where.{i}": (i + 1) * table} for i in range(3)}
    places = {f"where.{i}": f"model-{i}-of-3.safetensors" for i in range(3)}
    files = {**shards, "config.json": {"model_type": "brandnew"},
             "model.safetensors.index.json": {"weight_map": places}}  # fmt: skip
    offer(files)
    network = network_of(loopback_hub, cache)
    with pytest.raises(UnknownArchitecture) as error:
        open_model("someone/model", network=network)
    assert [info.name for info in error.value.candidates] == ["where.0", "where.1", "where.2"]
    loopback_hub.forget_requests()
    model = open_model("someone/model", table="where.2", network=network)
    np.testing.assert_array_equal(model.W_pos, 3 * table)
    assert set(asked(loopback_hub)) == {"model-2-of-3.safetensors"}


def test_another_tensor_that_is_not_finite_is_given_but_not_kept(offer, opened):
    tensors = {"wpe.weight": np.eye(8, 4, dtype="f4"), "wte.weight": np.full((9, 4), np.nan, "f4")}
    files = {"model.safetensors": tensors, "config.json": {"model_type": "gpt2"}}
    offer(files)
    model = opened()
    assert np.isnan(model.W_E).all()
    assert model.bytes_to_fetch("W_E") == 9 * 4 * 4


def a_table(value: float = 0.0, **config: object) -> dict[str, object]:
    """A GPT-2 of eight positions, with one number of its own."""
    table = np.zeros((8, 4), np.float32)
    table[5, 2] = value
    config = {"model_type": "gpt2", "n_embd": 4, "n_positions": 8} | config
    return {"model.safetensors": {"wpe.weight": table}, "config.json": config}


SHARD = {"model.layers.0.self_attn.q_proj.weight": "model-1-of-2.safetensors"}  # which is not there


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (a_table(np.nan), "NaN or infinite numbers in 1 of its rows"),
        (a_table(n_positions=9), r"by config\.json"),
        ({"model.safetensors.index.json": {"weight_map": SHARD},
          "config.json": {"model_type": "mamba"}}, "mamba stores no positional embeddings"),
        ({"README.md": b"hello"}, "someone/model has no weights, only README.md"),
        ({"a.bin": b"x", "b.bin": b"x"}, "someone/model holds 2 weights files"),
        ({"tf_model.h5": b"\x89HDF\r\n\x1a\n"}, "can only be read from this machine"),
        ({"model.onnx": b"\x08\x08"}, "can only be read from this machine"),
        ({".metadata": b"\x80\x02", "__0_0.distcp": b"x"}, "can only be read from this machine"),
        ({"model.safetensors": b""}, "model.safetensors is empty"),
        ({"model.safetensors": b"<!DOCTYPE html>"}, "is a web page"),
        ({"model.safetensors": b"\xff" * 99}, "is not a safetensors file"),
        ({"model.safetensors": b"\x50" + bytes(7) + b"{" + bytes(99)}, "is not valid JSON"),
        ({"pytorch_model.bin": b"GGUF" * 9}, "can only be read from this machine"),
        ({"pytorch_model.bin": b"PK\3\4" + bytes(99)}, "truncated or damaged"),
        ({"pytorch_model.bin": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."},
         "truncated or damaged"),
        ({"table.npy": b"\x93NUMPY\1\0"}, "can only be read from this machine"),
        ({"model.safetensors.index.json": {}}, "has no weight_map"),
        ({"model.safetensors.index.json": {"weight_map": {"wpe.weight": "../x"}}}, "a file name"),
        ({"model.safetensors": {"wpe.weight": np.eye(8, 4, dtype="f4")}, "config.json": b"{"},
         "config.json is not valid JSON"),
    ],
)  # fmt: skip
def test_what_is_no_model_says_what_it_is(files, words, cache, offer, opened):
    offer(files)
    with pytest.raises(SourceError, match=words) as error:
        opened()
    assert str(error.value).endswith(".")
    assert error.value.advice.endswith(".")
    assert not kept(cache)


@pytest.fixture
def offer_torch(offer):
    """Serve a file of torch's with some content."""

    def add(content):
        file = io.BytesIO()
        torch.save(content, file)
        offer({"pytorch_model.bin": file.getvalue()})

    return add


def test_a_pickle_from_the_network_is_never_run(offer_torch, tmp_path, opened):
    trace = tmp_path / "trace"
    offer_torch({"wpe.weight": torch.ones(8, 4), "x": Evil(trace)})
    assert opened().n_positions == 8
    assert not trace.exists()


def test_a_model_without_the_chosen_table_is_fetched_once(offer, loopback_hub, opened):
    tensors = {"a": np.eye(8, 4, dtype="f4"), "b": np.eye(9, 4, dtype="f4")}
    offer({"model.safetensors": tensors, "config.json": {"model_type": "new"}})
    with pytest.raises(NoSuchTable):
        opened(table="nothing")
    with loopback_hub.unasked(), pytest.raises(UnknownArchitecture):
        opened()


def test_settings_beside_the_tensors_are_kept(loopback_hub, offer_torch, opened):
    offer_torch({"model": {"wpe.weight": torch.eye(8, 4)}, "model_args": {"n_head": 2}})
    assert opened().store.settings == {"n_head": 2}
    with loopback_hub.unasked():
        assert opened().store.settings == {"n_head": 2}


def test_network_fault_is_no_fault_of_settings(offer_torch, opened, monkeypatch):
    def fail(_):
        raise NoNetwork("The network timed out.")

    offer_torch({"model": {"wpe.weight": torch.eye(8, 4)}, "model_args": {"n_head": 2}})
    monkeypatch.setattr("geometry.models.sources.opening.check_settings", fail)
    with pytest.raises(NoNetwork):
        opened()


def test_nothing_of_that_name_anywhere(loopback_hub, cache):
    network = network_of(loopback_hub, cache)
    for text in ("gtp2", "models/gtp2"):
        with pytest.raises(NotOnHub) as error:
            open_model(text, network=network)
        sentence = str(error.value)
        assert sentence.startswith(f"There is no file or folder '{text}' here, and ")
        assert sentence.endswith(f" has no model {text}, or it is private.")
    with loopback_hub.unasked():
        for text in ("./gtp2", "gtp2.safetensors", "a/b/c", "/nowhere/at/all", ""):
            with pytest.raises(SourceError, match="does not exist"):
                open_model(text, network=network)


def test_a_model_without_a_configuration_is_told_by_its_names(loopback_hub, tmp_path, opened):
    files = write_stand_in(tmp_path / "files", GPT2)
    del files["config.json"]
    loopback_hub.add(GPT2, files)
    model = opened(GPT2)
    assert (model.family, len(model.warnings)) == ("gpt2", 1)
    with loopback_hub.unasked():
        assert opened(GPT2).warnings == model.warnings


def test_other_tensors_are_fetched_one_by_one_and_kept(loopback_hub, tmp_path, opened):
    layers, width = SHAPES[GPT2]
    loopback_hub.add(GPT2, write_true_size(tmp_path / "files", GPT2))
    model = opened(GPT2)
    nbytes = 3 * width * width * 4
    for _ in range(2):
        assert model.bytes_to_fetch("W_Q", layers - 1) == nbytes
        loopback_hub.forget_requests()
        told: list[TransferProgress] = []
        transfer = Transfer(told.append)
        with model.through(transfer):
            assert model.weight("W_Q", layers - 1).shape == (width, width)
        assert transfer.bytes_received == loopback_hub.bytes_sent
        assert nbytes <= loopback_hub.bytes_sent <= nbytes + 1
        assert {progress.what for progress in told} >= {f"h.{layers - 1}.attn.c_attn.weight"}
        assert told[-1].done == told[-1].total == nbytes
        assert model.bytes_to_fetch("W_Q", layers - 1) == 0
        assert model.bytes_to_fetch("W_K", layers - 1) == 0
        with loopback_hub.unasked():
            model.weight("W_K", layers - 1)
        # The next time from what is kept of the index.
        layers -= 1
        model = opened(GPT2)
    with pytest.raises(TensorUnavailable):
        model.bytes_to_fetch("W_Q", 99)


def test_a_model_on_this_machine_fetches_nothing(tmp_path):
    folder = write_stand_in(tmp_path, GPT2)["config.json"].parent
    model = open_model(folder)
    assert model.commit is None
    assert model.bytes_to_fetch("W_E") == model.bytes_to_fetch("W_in", 1) == 0
    transfer = Transfer()
    transfer.cancel()
    with model.through(transfer):
        assert model.W_E.shape[1] == model.d_model


def test_what_is_read_later_does_not_answer_to_the_openings_watcher(loopback_hub, tmp_path, opened):
    loopback_hub.add(GPT2, write_true_size(tmp_path / "files", GPT2))
    told: list[TransferProgress] = []
    transfer = Transfer(told.append)
    model = opened(GPT2, transfer=transfer)
    assert [progress.what for progress in told][-1] == "wpe.weight"
    transfer.cancel()
    told.clear()
    assert model.weight("W_Q").shape == (768, 768)
    assert told == []


def test_waiting_for_a_tensor_can_be_cancelled(loopback_hub, tmp_path, monkeypatch, opened):
    from geometry.checkpoints.transfer import Cancelled

    loopback_hub.add(GPT2, write_true_size(tmp_path / "files", GPT2))
    model = opened(GPT2)
    gate = threading.Event()
    playing = loopback_hub.fault(Fault.slow(100_000, gate))
    first = threading.Thread(target=model.weight, args=("W_Q",))
    first.start()
    assert playing.reached.wait(30)
    waiting, looked, plain = Transfer(), count(1), Transfer.check
    waits = threading.Event()

    def check() -> None:
        # Again and again only while it waits for its turn.
        if next(looked) >= 10:
            waits.set()
        plain(waiting)

    monkeypatch.setattr(waiting, "check", check)
    raised: list[Exception] = []

    def second() -> None:
        try:
            with model.through(waiting):
                model.weight("W_in")
        except HelixscopeError as error:
            raised.append(error)

    thread = threading.Thread(target=second)
    thread.start()
    assert waits.wait(30)
    waiting.cancel()
    thread.join(30)
    assert [type(error) for error in raised] == [Cancelled]
    gate.set()
    first.join(30)
    assert model.bytes_to_fetch("W_Q") == 0
    assert model.bytes_to_fetch("W_in") > 0


@pytest.mark.parametrize("name", [GPT2, ALIAS], ids=["fast", "slow"])
def test_the_tokenizer_is_fetched_when_first_asked_for(name, loopback_hub, stand_in, cache, opened):
    _, folder = stand_in(name)
    model = opened(name)
    loopback_hub.forget_requests()
    prompt = model.tokenize("hello my name")
    assert prompt == open_model(folder).tokenize("hello my name")
    assert "".join(prompt.texts[1:]) == "hello my name"
    fetched = asked(loopback_hub)
    assert ("vocab.json" in fetched) == (name == ALIAS)
    with loopback_hub.unasked():
        again = opened(name)
        assert again.tokenize("hello my name") == prompt
    # A file of it that was changed is fetched again.
    victim = next(cache.rglob("vocab.json" if name == ALIAS else "tokenizer.json"))
    victim.write_text("{}")
    again = opened(name)
    assert again.tokenize("hello my name") == prompt
    assert loopback_hub.requests != []


def test_a_model_without_a_tokenizer_says_so(offer, opened):
    files = {"model.safetensors": {"wpe.weight": np.eye(8, 4, dtype="f4")},
             "config.json": {"model_type": "gpt2"}}  # fmt: skip
    offer(files)
    model = opened()
    with pytest.raises(TensorUnavailable, match="someone/model has no tokenizer"):
        model.tokenize("hello")
