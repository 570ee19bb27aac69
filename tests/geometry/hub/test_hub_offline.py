"""What was fetched once opens again without the network, whatever became of the cache meanwhile."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.transfer import Transfer
from geometry.claims.report import report
from geometry.hub.client import Hub
from geometry.hub.faults import Offline
from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network, default_network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.catalogue import find_entry, read_catalogue
from geometry.models.sources.local_models import (
    FETCHED_GROUP,
    HUB_CACHE_GROUP,
    cached_models,
    state,
)
from geometry.models.sources.locating import is_here
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.geometry.hub_opening import add_files, add_two_shards, assert_same, kept, network_of
from tests.stand_ins import NINE, OPENAI, STANFORD, add_nine, positions_of

GPT2, ALIAS = OPENAI[0], STANFORD[0]


def offline(cache: Path) -> Network:
    """A cache of this folder, and no Hub."""
    return Network(Hub(offline=True), TensorCache(cache), Transfer())


OPEN = """
import sys
from geometry.models.sources.opening import open_model
model = open_model({name!r})
print(model.fingerprint, model.commit)
heavy = "huggingface_hub httpx2 torch transformers tokenizers scipy platformdirs".split()
print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("name", "switch"), [(GPT2, "0"), (f"{ALIAS}@checkpoint-1000", "1")], ids=["cut off", "offline"]
)
def test_another_process_reads_cache(name, switch, loopback_hub, run_python, monkeypatch, stand_in):
    """It imports nothing that it does not need."""
    commit, folder = stand_in(*name.split("@"))
    model = open_model(name)
    assert model.commit == commit
    assert model.fingerprint == open_model(folder).fingerprint
    wait_until_kept(default_network().cache.root)

    loopback_hub.close()
    with loopback_hub.unasked():
        monkeypatch.setenv("HF_HUB_OFFLINE", switch)
        again, imported = run_python(OPEN.format(name=name)).splitlines()
        assert again == f"{model.fingerprint} {commit}"
        assert imported == "['platformdirs']"


@pytest.mark.parametrize("revision", ["main", "checkpoint-1000"])
def test_snapshot_of_the_client_comes_first(revision, loopback_hub, stand_in, cache, opened):
    from huggingface_hub import snapshot_download

    commit, _ = stand_in(ALIAS, revision)
    snapshot_download(ALIAS, revision=revision)
    with loopback_hub.unasked():
        source = ALIAS if revision == "main" else f"{ALIAS}@{revision}"
        model = opened(source)
        np.testing.assert_array_equal(model.W_pos, positions_of(ALIAS, revision))
        assert (model.commit, model.tokenize("my name").ids[0]) == (commit, 0)
        assert open_model(source).fingerprint == model.fingerprint
    assert not kept(cache)


@pytest.mark.parametrize("name", ["config.json", "model-00001-of-00002.safetensors"])
def test_half_a_snapshot_is_passed_over(name, loopback_hub, offer, opened):
    from huggingface_hub import hf_hub_download

    places = {"wpe.weight": "model-00001-of-00002.safetensors",
              "wte.weight": "model-00002-of-00002.safetensors"}  # fmt: skip
    table = np.eye(8, 4, dtype="f4")
    files = {
        "config.json": {"model_type": "gpt2"},
        "model.safetensors.index.json": {"weight_map": places},
        "model-00001-of-00002.safetensors": {"wpe.weight": table},
        "model-00002-of-00002.safetensors": {"wte.weight": table},
    }
    offer(files)
    for one in dict.fromkeys(("config.json", "model.safetensors.index.json", name)):
        hf_hub_download("someone/model", one)
    loopback_hub.forget_requests()
    model = opened()
    np.testing.assert_array_equal(model.W_pos, table)
    assert loopback_hub.requests != []


def test_what_was_not_fetched_is_not_there_offline(cache):
    for text in ("gpt2-xl", "someone/model@checkpoint-7", "gtp2"):
        with pytest.raises(Offline) as error:
            open_model(text, network=offline(cache))
        assert str(error.value) == f"{text} is not on this machine, and Helixscope is offline."
        assert error.value.advice == "Turn off offline mode to use the network."


def damage(path: Path, how: str) -> None:
    """Do to a file what disks, people and other programs do."""
    data = bytearray(path.read_bytes())
    if how == "removed":
        path.unlink()
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "one bit":
        data[len(data) // 3] ^= 4
        path.write_bytes(data)
    elif how == "another file":
        path.write_bytes(b"hello")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["removed", "emptied", "cut", "one bit", "another file"])
@pytest.mark.parametrize("name", [GPT2, ALIAS], ids=["safetensors", "bin"])
def test_damaged_entries_are_fetched_again(name, how, loopback_hub, stand_in, cache, opened):
    _, folder = stand_in(name)
    opened(name)
    sound = kept(cache)
    assert len(sound) >= 5
    for entry in sound:
        damage(cache / entry, how)
        try:
            model = open_model(name, network=offline(cache))
        except Offline:
            pass
        else:
            np.testing.assert_array_equal(model.W_pos, positions_of(name))
        model = opened(name)
        np.testing.assert_array_equal(model.W_pos, positions_of(name))
        assert kept(cache).keys() == sound.keys()
        with loopback_hub.unasked():
            opened(name)
    assert kept(cache) == sound
    assert_same(model, open_model(folder))


@pytest.mark.slow
def test_sharded_model_is_measured_without_network(loopback_hub, tmp_path, cache, opened):
    tensors = add_two_shards(loopback_hub, tmp_path / "files")
    opened()
    model = open_model("someone/model", network=offline(cache))
    found = report(model)
    assert found["model"]["d_vocab"] == len(tensors["wte.weight"])
    assert found["pca"]["explained_variance_ratio"]
    assert "not on this machine" in found["missing"]["capture"]
    with pytest.raises(Offline):
        model.weight("W_in")


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(loopback_hub, tmp_path, stand_in):
    stand_in(GPT2)
    (tmp_path / "a file").write_text("in the way")
    for _ in range(2):
        loopback_hub.forget_requests()
        model = open_model(GPT2, network=network_of(loopback_hub, tmp_path / "a file"))
        np.testing.assert_array_equal(model.W_pos, positions_of(GPT2))
        assert model.W_E.shape[1] == model.d_model
        assert len(loopback_hub.requests) >= 3
    with pytest.raises(Exception, match="cannot be written"):
        model.tokenize("hello")


def test_a_cache_that_is_cleared_under_an_open_model(stand_in, cache, opened):
    _, folder = stand_in(GPT2)
    model = opened(GPT2)
    assert kept(cache)
    shutil.rmtree(cache)
    assert_same(model, open_model(folder))
    assert model.tokenize("my name").ids[0] == 0


@pytest.mark.parametrize("name", [GPT2, ALIAS], ids=["safetensors", "bin"])
def test_several_threads_open_the_same_model_at_once(name, loopback_hub, stand_in, cache):
    commit, folder = stand_in(name)
    together = threading.Barrier(6)
    shared = network_of(loopback_hub, cache)

    def work(number: int) -> str:
        network = network_of(loopback_hub, cache)
        if number % 2:
            network = Network(shared.hub, shared.cache, Transfer())
        together.wait(30)
        model = open_model(name, network=network)
        together.wait(30)
        assert model.commit == commit
        assert model.weight("W_in", 1).shape == (4 * model.d_model, model.d_model)
        return model.fingerprint

    with ThreadPoolExecutor(6) as pool:
        fingerprints = set(pool.map(work, range(6)))
    assert fingerprints == {open_model(folder).fingerprint}
    assert open_model(name, network=offline(cache)).weight("W_in", 1).shape[0] > 0


def test_the_catalogue_knows_what_was_fetched(loopback_hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add_nine(loopback_hub, tmp_path / "files")
    table = np.eye(8, 4, dtype="f4")
    config = {"model_type": "bert", "max_position_embeddings": 8, "hidden_size": 4}
    bert = {"config.json": config,
            "model.safetensors": {"embeddings.position_embeddings.weight": table}}  # fmt: skip
    add_files(loopback_hub, tmp_path / "bert", bert)
    entry = find_entry(ALIAS)
    assert (state(entry), is_here(Source.parse(ALIAS)), cached_models()) == ("online", False, ())
    open_model(f"{ALIAS}@checkpoint-1000")
    assert (state(entry), is_here(Source.parse(ALIAS))) == ("online", False)
    assert is_here(Source.parse(f"{ALIAS}@checkpoint-1000"))
    open_model("alias-gpt2-small-x21")
    open_model("someone/model")
    assert (
        state(entry),
        is_here(Source.parse(ALIAS)),
        is_here(Source.parse("alias-gpt2-small-x21")),
    ) == ("cached", True, True)
    assert sum(state(one) == "cached" for one in read_catalogue()) == 1
    assert not is_here(Source.parse("someone/else"))
    assert not is_here(Source.parse("no id at all"))
    first, second = cached_models()
    assert (first.id, first.title, first.group) == ("someone/model", "model", FETCHED_GROUP)
    assert (first.n_positions, first.d_model) == (8, 4)
    assert first.note == "A bert model on this machine."
    assert second.id == f"{ALIAS}@checkpoint-1000"
    assert second.title == "alias-gpt2-small-x21@checkpoint-1000"
    loopback_hub.close()
    for one in (entry, first, second):
        assert open_model(one.id).n_positions in (8, 64)


def test_listing_is_no_use(loopback_hub, tmp_path):
    """What is listed is not thereby what was used last: the cache would throw the wrong away."""
    add_nine(loopback_hub, tmp_path / "files", checkpoints=False)
    network = default_network()
    for name in NINE[:4]:
        open_model(name)
        wait_until_kept(network.cache.root)
    order = [kept.repo for kept in network.cache.commits()]
    assert order == list(NINE[3::-1])
    for entry in reversed(read_catalogue()):
        state(entry)
    cached_models()
    assert [kept.repo for kept in network.cache.commits()] == order


def test_a_chosen_table_alone_makes_no_model_of_the_list(offer):
    tensors = {"a": np.eye(8, 4, dtype="f4"), "b": np.eye(9, 4, dtype="f4")}
    files = {"model.safetensors": tensors, "config.json": {"model_type": "new"}}
    offer(files)
    assert open_model("someone/model", table="b").n_positions == 9
    assert cached_models() == ()
    assert not is_here(Source.parse("someone/model"))
    with pytest.raises(SourceError, match="2 tensors could be"):
        open_model("someone/model")


def test_a_snapshot_is_listed_once(offer):
    from huggingface_hub import snapshot_download

    config = {"model_type": "gpt2", "n_positions": 8, "n_embd": 4}
    files = {"config.json": config, "model.safetensors": {"wpe.weight": np.eye(8, 4, dtype="f4")}}
    offer(files)
    open_model("someone/model")
    assert [entry.group for entry in cached_models()] == [FETCHED_GROUP]
    snapshot_download("someone/model")
    assert [entry.group for entry in cached_models()] == [HUB_CACHE_GROUP]
