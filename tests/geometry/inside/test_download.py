"""Models on the Hub that are downloaded whole, to run them: size first, resumed, verified."""

import errno
import json
import os
import shutil
from collections import namedtuple

import pytest
import torch

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.transfer import Cancelled, Transfer
from geometry.hub import whole_model
from geometry.hub.client import Hub
from geometry.hub.faults import AccessDenied, BrokenTransfer, HubError, NotOnHub, Offline
from geometry.hub.whole_model import PARTIAL, fetch_model
from geometry.inside.network import load_network, to_download
from geometry.inside.settings import InsideError
from tests.loopback.hub import RIGHT_TOKEN, Fault

GPT2, LLAMA = "someone/tiny-gpt2", "someone/tiny-llama"
WEIGHTS = "*/model.safetensors"
NEEDED = {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}


@pytest.fixture
def hub(loopback_hub):
    loopback_hub.redirect = True  # large files come from the storage host, as on the real Hub
    return loopback_hub


@pytest.fixture
def gpt2(hub, write):
    """A GPT-2 on the Hub, with files that running it does not take; its folder and commit."""
    folder = write("gpt2", head=True)
    files = {path.name: path for path in folder.iterdir()}
    more = {"own.py": b"raise SystemExit", "pytorch_model.bin": b"\x80", "onnx/model.onnx": b"0"}
    return folder, hub.add(GPT2, files | more | {"README.md": b"# Tiny"})


def wanted(source=GPT2):
    return to_download(source, Hub(), Transfer())


def fetch(model, transfer=None):
    return fetch_model(model, Hub(), transfer or Transfer())


def asked_files(hub):
    return {one.path.rpartition("/")[2] for one in hub.requests if "/resolve/" in one.path}


def etag(model):
    """Of its weights."""
    (weights,) = (one for one in model.files if one.name == "model.safetensors")
    return weights.etag


def partial(model):
    """The file of its weights while they are downloaded, in a folder that is there."""
    file = model.partial(etag(model))
    file.parent.mkdir(parents=True)
    return file


def parts(model):
    return list((model.folder / "blobs").glob(f"*{PARTIAL}"))


def assert_same(source, folder, *, head=False):
    """The network has the weights of the folder's."""
    found = load_network(source, head=head).module.state_dict()
    expected = load_network(str(folder), head=head).module.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in found)


def test_the_size_is_known_before_anything_is_fetched(hub, gpt2, hub_home):
    folder, commit = gpt2
    model = wanted()
    assert model.commit == commit
    assert {one.name for one in model.files} == NEEDED
    assert model.nbytes == sum((folder / name).stat().st_size for name in NEEDED)
    assert [one.path for one in hub.requests] == [
        f"/api/models/{GPT2}/revision/main",
        f"/{GPT2}/resolve/{commit}/config.json",
    ]
    assert not (hub_home / "hub").exists()
    with pytest.raises(InsideError, match="is not complete on this machine") as raised:
        load_network(GPT2)
    assert "Measure positions inside a model" in raised.value.advice


def test_a_model_with_code_of_its_own_is_refused_before_its_weights(hub, gpt2):
    folder, _ = gpt2
    files = {path.name: path for path in folder.iterdir()}
    about = json.loads((folder / "config.json").read_text("utf-8"))
    about |= {"model_type": "own", "auto_map": {"AutoModel": "own.Model"}}
    hub.add("someone/own", files | {"config.json": json.dumps(about).encode()})
    with pytest.raises(InsideError, match="own needs Python code of its own"):
        wanted("someone/own")
    assert asked_files(hub) == {"config.json"}
    known = about | {"model_type": "gpt2"}  # transformers has it, and its own class is not used
    hub.add("someone/known", files | {"config.json": json.dumps(known).encode()})
    assert wanted("someone/known").nbytes


def test_it_is_complete_afterwards_without_the_network(hub, gpt2, monkeypatch):
    folder, commit = gpt2
    place = fetch(wanted())
    assert asked_files(hub) == NEEDED
    assert {path.name for path in place.iterdir()} == NEEDED
    assert place.name == commit
    hub.close()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert wanted() is None
    assert_same(GPT2, folder, head=True)


def test_huggingface_hub_finds_it_there(gpt2, hub_home):
    from huggingface_hub import scan_cache_dir, try_to_load_from_cache

    place = fetch(wanted())
    cache = hub_home / "hub"
    for name in NEEDED:
        assert try_to_load_from_cache(GPT2, name, cache_dir=cache) == str(place / name)
    (repo,) = scan_cache_dir(cache).repos
    assert (repo.repo_id, repo.nb_files, set(repo.refs)) == (GPT2, len(NEEDED), {"main"})


def test_a_llama_in_several_files(hub, write, tmp_path):
    from transformers import AutoModelForCausalLM

    folder = write("llama", head=True)
    shards = shutil.copytree(folder, tmp_path / "shards")
    (shards / "model.safetensors").unlink()
    network = AutoModelForCausalLM.from_pretrained(folder)
    network.save_pretrained(shards, max_shard_size="20KB")
    files = {path.name: path for path in shards.iterdir()}
    assert sum(name.endswith(".safetensors") for name in files) > 2
    hub.add(LLAMA, files, revision="v1")
    model = wanted(f"{LLAMA}@v1")
    assert model.nbytes == sum(path.stat().st_size for path in files.values()
                               if path.name != "generation_config.json")  # fmt: skip
    assert "model.safetensors.index.json" in {one.name for one in model.files}
    fetch(model)
    assert_same(f"{LLAMA}@v1", folder, head=True)
    assert wanted(LLAMA + "@v1") is None


def test_weights_of_pytorch_only_without_safetensors(hub, gpt2):
    folder, _ = gpt2
    files = {name: folder / name for name in NEEDED - {"model.safetensors"}}
    hub.add("someone/old", files | {"pytorch_model.bin": b"PK"})
    assert {one.name for one in wanted("someone/old").files} == {*files, "pytorch_model.bin"}


def test_gguf_files(hub):
    hub.add("someone/one", {"tiny.Q4.gguf": b"GGUF" * 10, "README.md": b""})
    hub.add("someone/two", {"a.gguf": b"GGUF", "b.gguf": b"GGUF" * 2})
    model = wanted("someone/one")
    assert ([one.name for one in model.files], model.nbytes) == (["tiny.Q4.gguf"], 40)
    fetch(model)
    assert wanted("someone/one") is None
    with pytest.raises(InsideError, match="cannot be loaded"):  # it is no real one
        load_network("someone/one")
    with pytest.raises(SourceError, match="holds 2 GGUF files") as raised:
        wanted("someone/two")
    assert raised.value.advice.endswith("someone/two/a.gguf.")
    for source in ("someone/two/b.gguf", f"{hub.url}/someone/two/blob/main/b.gguf"):
        assert wanted(source).nbytes == 8
    place = fetch(wanted("someone/two/b.gguf"))
    assert [path.name for path in place.iterdir()] == ["b.gguf"]
    assert wanted("someone/two/b.gguf") is None
    assert wanted("someone/two/a.gguf@main").nbytes == 4
    with pytest.raises(NotOnHub, match=r"has no file c\.gguf"):
        wanted("someone/two/c.gguf")


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ({"model.safetensors"}, "has no weights that transformers loads"),
        ({"config.json"}, "has no config.json"),
        ({"tokenizer.json", "tokenizer_config.json"}, "has no tokenizer"),
    ],
)
def test_what_cannot_run_is_refused_before_it_is_fetched(hub, gpt2, without, said):
    hub.add("someone/part", {name: gpt2[0] / name for name in NEEDED - without})
    with pytest.raises(SourceError, match=said):
        wanted("someone/part")
    assert asked_files(hub) == set()


def test_what_is_on_this_machine_asks_nobody(hub, gpt2, tmp_path):
    with hub.unasked():
        for source in ("sample", str(gpt2[0]), str(tmp_path), "/no/such/folder", "sinusoidal"):
            assert wanted(source) is None


def heard(stop_at=float("inf")):
    """A transfer, cancelled after some bytes, and what it reports."""
    reports = []

    def hear(progress):
        reports.append(progress)
        if progress.done >= stop_at:
            transfer.cancel()

    transfer = Transfer(hear, interval_s=0)
    return transfer, reports


@pytest.fixture
def large(hub, gpt2):
    """Its weights with ten times as many bytes, so that they come in many pieces."""
    folder, _ = gpt2
    files = {name: folder / name for name in NEEDED}
    hub.add("someone/large", files | {"model.safetensors": os.urandom(3_000_000)})
    return "someone/large"


def test_progress_counts_all_bytes_once(large):
    transfer, reports = heard()
    model = wanted(large)
    nbytes = model.nbytes
    fetch(model, transfer)
    counts = [one.done for one in reports]
    assert counts == sorted(counts)
    assert (counts[-1], reports[-1].total) == (nbytes, nbytes)
    assert {one.what for one in reports} == NEEDED


def test_a_stopped_download_goes_on_where_it_was(hub, large):
    model, (transfer, _) = wanted(large), heard(1_500_000)
    total = model.nbytes
    with pytest.raises(Cancelled):
        fetch(model, transfer)
    (part,) = parts(model)
    here = part.stat().st_size
    assert 1_000_000 < here < 3_000_000
    assert not (model.folder / "refs").exists()
    again = wanted(large)
    assert again.nbytes == 3_000_000 - here
    assert total > again.nbytes
    hub.forget_requests()
    transfer, reports = heard()
    fetch(again, transfer)
    asked = [one.range for one in hub.requests if one.host == "storage"]
    assert asked == ["bytes=0-0", f"bytes={here}-2999999"]
    assert reports[-1].done == reports[-1].total == 3_000_001 - here
    assert again.nbytes == 0
    assert wanted(large) is None
    assert parts(model) == []


def test_a_broken_connection_is_resumed_in_the_same_download(hub, large):
    playing = hub.fault(Fault.cut(700_000), path=WEIGHTS, host="storage", after=1)
    hub.fault(Fault.cut(200_000, reset=True), path=WEIGHTS, host="storage", after=2)
    model = wanted(large)
    fetch(model)
    assert playing.played == 1
    assert wanted(large) is None


def test_a_server_without_ranges_sends_it_as_well(hub, large):
    hub.ranges = False
    fetch(wanted(large))
    assert wanted(large) is None


def test_damage_in_transfer_is_found_and_not_kept(hub, large):
    hub.fault(Fault.flip(2_000_000), path=WEIGHTS)
    model = wanted(large)
    with pytest.raises(BrokenTransfer, match=r"model.safetensors of .* was damaged in transfer"):
        fetch(model)
    assert parts(model) == []
    fetch(model)
    assert wanted(large) is None


def test_partial_files_of_another_length_are_begun_anew(large):
    model = wanted(large)
    partial(model).write_bytes(bytes(3_000_001))
    fetch(model)
    assert wanted(large) is None


def test_a_branch_that_moves_on_leaves_what_was_agreed(hub, gpt2):
    folder, commit = gpt2
    model = wanted()
    hub.add(GPT2, {"README.md": b"Gone."})
    assert fetch(model).name == commit
    assert_same(GPT2, folder)


def test_files_that_another_commit_shares_are_not_fetched_again(hub, gpt2):
    folder, _ = gpt2
    fetch(wanted())
    files = {name: folder / name for name in NEEDED}
    hub.add(GPT2, files | {"config.json": (folder / "config.json").read_bytes() + b" "},
            revision="v2")  # fmt: skip
    model = wanted(f"{GPT2}@v2")
    assert model.nbytes == (folder / "config.json").stat().st_size + 1
    hub.forget_requests()
    fetch(model)
    assert asked_files(hub) == {"config.json"}
    assert_same(f"{GPT2}@v2", folder)


def test_the_token_goes_to_the_hub_alone(hub, write, monkeypatch):
    folder = write("gpt2", head=True)
    hub.add("meta/closed", {path.name: path for path in folder.iterdir()}, gated=True)
    with pytest.raises(AccessDenied, match="meta/closed is gated"):
        wanted("meta/closed")
    monkeypatch.setenv("HF_TOKEN", RIGHT_TOKEN)
    model = wanted("meta/closed")
    hub.forget_requests()
    fetch(model)
    stored = [one for one in hub.requests if one.host == "storage"]
    assert stored
    assert not any(one.authorization for one in stored)
    assert all(one.authorization for one in hub.requests if one.host == "hub")
    assert_same("meta/closed", folder)


def test_offline_is_one_sentence(gpt2, monkeypatch):
    model = wanted()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Offline, match="not complete on this machine, and Helixscope is offline"):
        wanted()
    with pytest.raises(Offline, match="cannot be downloaded: Helixscope is offline"):
        fetch(model)


def test_a_full_disk_is_one_sentence(hub, large, monkeypatch):
    model = wanted(large)
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(whole_model.shutil, "disk_usage", lambda _: usage(10**6, 0, 10**6))
        hub.forget_requests()
        with pytest.raises(HubError, match=r"takes 3.0 MB, and the disk of .* only 1.0 MB left"):
            fetch(model)
        assert hub.requests == []

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole_model.os, "fsync", full)
    with pytest.raises(HubError, match="no space is left on the disk") as raised:
        fetch(model)
    assert "HF_HOME" in raised.value.advice


def test_a_folder_that_cannot_be_written(gpt2, hub_home):
    (hub_home).mkdir()
    (hub_home / "hub").write_bytes(b"")
    with pytest.raises(HubError, match="cannot be written to"):
        fetch(wanted())


def test_a_planted_link_is_not_followed(large, tmp_path):
    model, mine = wanted(large), tmp_path / "mine"
    mine.write_text("Mine.", "utf-8")
    partial(model).symlink_to(mine)
    with pytest.raises(HubError, match="cannot be written to"):
        fetch(model)
    assert mine.read_text("utf-8") == "Mine."


def test_two_programs_do_not_write_the_same_file(large):
    from filelock import FileLock

    model = wanted(large)
    place = model.folder.parent / ".locks" / model.folder.name / f"{etag(model)}.lock"
    place.parent.mkdir(parents=True)
    with (
        FileLock(place),
        pytest.raises(HubError, match=r"model.safetensors of .* by another program"),
    ):
        fetch(model)
    fetch(model)


@pytest.mark.parametrize("source", ["nobody/nothing", f"{GPT2}@nowhere"])
def test_what_is_not_on_the_hub(gpt2, source):
    with pytest.raises(NotOnHub):
        wanted(source)
