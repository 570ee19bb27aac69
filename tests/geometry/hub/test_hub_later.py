"""What is fetched of an opened model later: matrices, one by one, and the tokenizer."""

import threading
from itertools import count

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError, TensorUnavailable
from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.faults import BrokenTransfer
from geometry.models.sources import open_source
from tests.geometry.hub_opening import add_files, asked, kept, network_of
from tests.geometry.models.test_families import module  # noqa: F401, a fixture
from tests.loopback_hub import Fault
from tests.stand_ins import OPENAI, STANFORD, positions_of, write_stand_in
from tests.true_sizes import SHAPES, write_true_size

GPT2, ALIAS = OPENAI[0], STANFORD[0]


def test_other_tensors_are_fetched_one_by_one_and_kept(loopback_hub, tmp_path, cache):
    layers, width = SHAPES[GPT2]
    loopback_hub.add(GPT2, write_true_size(tmp_path / "files", GPT2))
    model = open_source(GPT2, network=network_of(loopback_hub, cache))
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
        loopback_hub.forget_requests()
        model.weight("W_K", layers - 1)
        assert loopback_hub.requests == []
        # The next time from what is kept of the index.
        layers -= 1
        model = open_source(GPT2, network=network_of(loopback_hub, cache))
    with pytest.raises(TensorUnavailable):
        model.bytes_to_fetch("W_Q", 99)


def test_a_model_on_this_machine_fetches_nothing(tmp_path):
    folder = write_stand_in(tmp_path, GPT2)["config.json"].parent
    model = open_source(folder)
    assert model.commit is None
    assert model.bytes_to_fetch("W_E") == model.bytes_to_fetch("W_in", 1) == 0
    transfer = Transfer()
    transfer.cancel()
    with model.through(transfer):
        assert model.W_E.shape[1] == model.d_model


def test_what_is_read_later_does_not_answer_to_the_openings_watcher(loopback_hub, tmp_path, cache):
    loopback_hub.add(GPT2, write_true_size(tmp_path / "files", GPT2))
    told: list[TransferProgress] = []
    transfer = Transfer(told.append)
    model = open_source(GPT2, network=network_of(loopback_hub, cache, transfer=transfer))
    assert [progress.what for progress in told][-1] == "wpe.weight"
    transfer.cancel()
    told.clear()
    assert model.weight("W_Q").shape == (768, 768)
    assert told == []


def test_one_tensor_is_waited_for_while_another_comes_and_the_wait_can_be_cancelled(
    loopback_hub, tmp_path, cache, monkeypatch
):
    from geometry.checkpoints.transfer import Cancelled

    loopback_hub.add(GPT2, write_true_size(tmp_path / "files", GPT2))
    model = open_source(GPT2, network=network_of(loopback_hub, cache))
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


def test_a_torch_files_checksums_are_compared(loopback_hub, tmp_path, cache):
    files = write_stand_in(tmp_path / "files", ALIAS)
    raw = bytearray(files["pytorch_model.bin"].read_bytes())
    place = raw.index(positions_of(ALIAS).astype(np.float16).tobytes())
    raw[place + 5] ^= 1
    loopback_hub.add(ALIAS, {**files, "pytorch_model.bin": bytes(raw)})
    with pytest.raises(BrokenTransfer, match="did not arrive as it was sent"):
        open_source(ALIAS, network=network_of(loopback_hub, cache))
    assert not kept(cache)


@pytest.mark.parametrize("name", [GPT2, ALIAS], ids=["fast", "slow"])
def test_the_tokenizer_is_fetched_when_first_asked_for(name, loopback_hub, tmp_path, cache):
    files = write_stand_in(tmp_path / "files", name)
    loopback_hub.add(name, files)
    model = open_source(name, network=network_of(loopback_hub, cache))
    loopback_hub.forget_requests()
    prompt = model.tokenize("hello my name")
    assert prompt == open_source(files["config.json"].parent).tokenize("hello my name")
    assert "".join(prompt.texts[1:]) == "hello my name"
    fetched = asked(loopback_hub)
    assert ("vocab.json" in fetched) == (name == ALIAS)
    loopback_hub.forget_requests()
    again = open_source(name, network=network_of(loopback_hub, cache))
    assert again.tokenize("hello my name") == prompt
    assert loopback_hub.requests == []
    # A file of it that was changed is fetched again.
    victim = next(cache.rglob("vocab.json" if name == ALIAS else "tokenizer.json"))
    victim.write_text("{}")
    again = open_source(name, network=network_of(loopback_hub, cache))
    assert again.tokenize("hello my name") == prompt
    assert loopback_hub.requests != []


def test_a_model_without_a_tokenizer_says_so(loopback_hub, tmp_path, cache):
    files = {"model.safetensors": {"wpe.weight": np.eye(8, 4, dtype="f4")},
             "config.json": {"model_type": "gpt2"}}  # fmt: skip
    add_files(loopback_hub, tmp_path / "files", files)
    model = open_source("someone/model", network=network_of(loopback_hub, cache))
    with pytest.raises(TensorUnavailable, match="someone/model has no tokenizer"):
        model.tokenize("hello")
