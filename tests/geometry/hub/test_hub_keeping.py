"""Nobody waits for the disk: what was fetched is kept on another thread, and is there meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import Hub
from geometry.hub.keeping import PATIENCE_S, keep_soon, opening, wait_until_kept
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from tests.geometry.hub_opening import add_two_shards, asked, kept
from tests.loopback.hub import Fault
from tests.stand_ins import OPENAI, positions_of

GPT2 = OPENAI[0]


class SlowCache(TensorCache):
    """A cache on a disk that writes when it is told to."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.gate = threading.Event()

    def put(self, *arguments: object, **options: object) -> None:
        assert self.gate.wait(30)
        super().put(*arguments, **options)


@pytest.fixture
def slow(cache) -> SlowCache:
    return SlowCache(cache)


def test_a_model_is_open_before_it_is_kept(loopback_hub, stand_in, slow):
    stand_in(GPT2)
    network = Network(Hub(endpoint=loopback_hub.url), slow, Transfer())
    model = open_model(GPT2, network=network)
    np.testing.assert_array_equal(model.W_pos, positions_of(GPT2))
    tokens = model.W_E
    # Not on the disk, but not to be fetched either.
    assert not list(slow.root.rglob("*.core"))
    assert model.bytes_to_fetch("W_E") == 0
    with loopback_hub.unasked():
        np.testing.assert_array_equal(model.store.read("wte.weight"), tokens)
        np.testing.assert_array_equal(model.store.read("wpe.weight"), positions_of(GPT2))

    # Whoever opens it again waits until it is kept.
    opened: list[np.ndarray] = []
    again = threading.Thread(target=lambda: opened.append(open_model(GPT2, network=network).W_pos))
    again.start()
    other, _ = stand_in(OPENAI[1])
    assert open_model(OPENAI[1], network=network).commit == other
    assert opened == []
    with loopback_hub.unasked():
        slow.gate.set()
        again.join(30)
        np.testing.assert_array_equal(opened[0], positions_of(GPT2))
    assert {one.repo for one in slow.commits()} == {GPT2, OPENAI[1]}


def wanted_by_four(hub, model: PositionalModel, fault: Fault, gate: threading.Event, after: int):
    """Let four threads want the same matrix; what they get, once the first answer has begun."""
    playing = hub.fault(fault, after=after)
    started = threading.Barrier(5)

    def read(_: int) -> np.ndarray:
        started.wait(30)
        return model.weight("W_in")

    with ThreadPoolExecutor(4) as pool:
        reading = pool.map(read, range(4))
        started.wait(30)
        assert playing.reached.wait(30)
        gate.set()
        return list(reading)


def test_two_threads_that_want_the_same_matrix_fetch_it_once(loopback_hub, stand_in, cache, opened):
    stand_in(GPT2)
    opened(GPT2)
    model = opened(GPT2)
    loopback_hub.forget_requests()
    gate = threading.Event()
    matrices = wanted_by_four(loopback_hub, model, Fault.slow(1000, gate), gate, after=1)
    for matrix in matrices:
        np.testing.assert_array_equal(matrix, matrices[0])
    assert len(loopback_hub.requests) == 2
    assert sum(name.endswith(".part") for name in kept(cache)) == 1


def test_threads_that_want_the_same_shard_read_its_index_once(loopback_hub, tmp_path, opened):
    tensors = add_two_shards(loopback_hub, tmp_path / "files")
    model = opened()
    loopback_hub.forget_requests()
    gate = threading.Event()
    for matrix in wanted_by_four(loopback_hub, model, Fault.slow(100, gate), gate, after=0):
        np.testing.assert_array_equal(matrix, tensors["h.0.mlp.c_fc.weight"].T)
    assert asked(loopback_hub) == ["b.safetensors"]


def test_waiting_is_for_one_model_or_for_all(tmp_path):
    gate, done = threading.Event(), []

    def write() -> None:
        assert gate.wait(30)
        done.append("a")

    keep_soon(tmp_path, "a", write)
    wait_until_kept(tmp_path, "b")
    wait_until_kept(tmp_path / "elsewhere")
    assert done == []
    gate.set()
    wait_until_kept(tmp_path)
    assert done == ["a"]
    wait_until_kept(tmp_path, "a")


def test_waiting_but_for_the_last_writes(tmp_path):
    gates, done = [threading.Event() for _ in range(4)], []

    def write(number):
        gates[number].wait(10)
        done.append(number)

    for number in range(4):
        keep_soon(tmp_path, "a", lambda number=number: write(number))
    gates[0].set()
    gates[1].set()
    wait_until_kept(tmp_path, but_for=2)
    assert done == [0, 1]
    wait_until_kept(tmp_path, but_for=2)
    wait_until_kept(tmp_path, but_for=8)
    for gate in gates:
        gate.set()
    wait_until_kept(tmp_path)
    assert done == [0, 1, 2, 3]


def test_the_disk_waits_for_openings_but_not_for_ever(tmp_path):
    written = threading.Event()
    with opening():
        keep_soon(tmp_path, "a", written.set)
        assert not written.wait(PATIENCE_S / 4)
        assert written.wait(30)
    wait_until_kept(tmp_path)


def test_when_the_last_opening_ends_it_is_written_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("geometry.hub.keeping.PATIENCE_S", 600)
    written = threading.Event()
    with opening():
        with opening():
            keep_soon(tmp_path, "a", written.set)
        assert not written.is_set()
    assert written.wait(30)


def test_whoever_looks_for_it_does_not_wait_for_openings(tmp_path, monkeypatch):
    monkeypatch.setattr("geometry.hub.keeping.PATIENCE_S", 600)
    written: list[str] = []
    with opening():
        for repo in ("a", "b", "c"):
            keep_soon(tmp_path, repo, lambda repo=repo: written.append(repo))
        wait_until_kept(tmp_path, "b")
        assert written == ["a", "b"]
        wait_until_kept(tmp_path / "elsewhere")
    wait_until_kept(tmp_path)
    assert written == ["a", "b", "c"]


class Panic(BaseException):
    """Like the panic of a Rust library."""


@pytest.mark.parametrize("kind", [RuntimeError, Panic])
def test_what_cannot_be_kept_is_logged_and_the_rest_is_kept(tmp_path, caplog, kind):
    written = threading.Event()

    def fails() -> None:
        raise kind("the disk is odd")

    keep_soon(tmp_path, "someone/model", fails)
    keep_soon(tmp_path, "b", written.set)
    wait_until_kept(tmp_path)
    assert written.is_set()
    assert "someone/model could not be kept" in caplog.text
    assert "the disk is odd" in caplog.text
