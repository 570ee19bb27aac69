"""Servers that send no parts of files: what is asked, what comes, and what is kept of it."""

from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.transfer import Cancelled, Transfer, TransferProgress
from geometry.hub.faults import HubError, WholeDownload
from geometry.hub.keeping import wait_until_kept
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from tests.geometry.hub_kinds import write_model
from tests.geometry.hub_opening import asked, kept, network_of, serve
from tests.loopback.hub import Fault

NAME = "someone/model"
KINDS = {"safetensors": "model.safetensors", "bin": "pytorch_model.bin"}
#: What the panels read of a model.
MATRICES = [("W_E", 0), *((name, 0) for name in ("W_Q", "W_K", "W_V", "W_O", "W_in"))]


def everything(model: PositionalModel) -> dict[str, np.ndarray]:
    there = [name for name, _ in MATRICES if name not in model.missing]
    return {name: model.W_E if name == "W_E" else model.weight(name) for name in there}


def assert_same(model: PositionalModel, folder: Path) -> None:
    """All that panels read is what the files on this machine say."""
    local = everything(open_model(folder))
    assert local
    for name, values in everything(model).items():
        np.testing.assert_array_equal(values, local.pop(name))
    assert not local


@pytest.fixture(params=KINDS)
def folder(request, loopback_hub, tmp_path) -> Path:
    """The files of a served model; the hub sends them from a second host."""
    write_model(tmp_path / "files", request.param)
    serve(loopback_hub, tmp_path / "files", NAME)
    loopback_hub.redirect = True
    return tmp_path / "files"


@pytest.fixture
def weights(folder) -> Path:
    """The file with the tensors."""
    return next(folder / name for name in KINDS.values() if (folder / name).is_file())


@pytest.fixture
def model(folder, loopback_hub, cache, opened) -> PositionalModel:
    """The model, opened in parts; from now on the server sends whole files only."""
    opened(NAME)
    wait_until_kept(cache)
    # Another start of the program: it does not know the server yet.
    model = opened(NAME)
    loopback_hub.ranges = False
    loopback_hub.forget_requests()
    return model


def test_one_granted_download_serves_all_panels(model, loopback_hub, folder, weights, cache):
    size = weights.stat().st_size
    # Without agreement nothing of it comes.
    before = kept(cache)
    for name, layer in MATRICES[1:3]:
        with pytest.raises(WholeDownload) as caught:
            model.weight(name, layer)
        assert (caught.value.filename, caught.value.nbytes) == (weights.name, size)
    assert kept(cache) == before
    assert len(loopback_hub.requests) == 4  # each with its redirect
    assert model.bytes_to_fetch("W_Q") == model.bytes_to_fetch_for(MATRICES) == size
    model.agree("whole files")
    told: list[TransferProgress] = []
    transfer = Transfer(told.append)
    with model.through(transfer):
        model.weight("W_Q")
    # What is on the way when enough is here comes besides.
    assert size * 0.9 < told[-1].total <= size
    assert told[-1].done == told[-1].total
    assert transfer.bytes_received < size + 200_000
    with loopback_hub.unasked():
        assert model.bytes_to_fetch_for(MATRICES) == 0
        assert_same(model, folder)
    wait_until_kept(cache)
    network = network_of(loopback_hub, cache)
    network.hub.offline = True
    assert_same(open_model(NAME, network=network), folder)


def test_what_was_agreed_to_at_the_opening_holds(folder, loopback_hub, weights, cache):
    loopback_hub.ranges = False
    transfer = Transfer()
    network = network_of(loopback_hub, cache, whole=True, transfer=transfer)
    model = open_model(NAME, network=network)
    with loopback_hub.unasked():
        assert_same(model, folder)
    # The directory of a zip archive is at its end, and is needed first.
    downloads = 2 if weights.suffix == ".bin" else 1
    assert transfer.bytes_received < downloads * weights.stat().st_size + 400_000


@pytest.mark.usefixtures("model")
def test_what_has_no_room_is_not_kept_and_pushes_nothing_out(loopback_hub, folder, cache, opened):
    before = kept(cache)
    network = network_of(loopback_hub, cache)
    again = open_model(NAME, network=network)
    needed = sum(map(len, before.values()))
    network.cache.max_bytes = needed + 100_000
    again.agree("whole files")
    assert_same(again, folder)
    wait_until_kept(cache)
    assert network.cache.usage() <= network.cache.max_bytes
    assert {name: data for name, data in kept(cache).items() if name in before} == before
    # It was agreed to, and what is not here still costs what it costs.
    assert again.bytes_to_fetch("W_E") > 1_000
    # Of another opening nothing was agreed.
    another = opened(NAME)
    with pytest.raises(WholeDownload):
        _ = another.W_E


def test_broken_connection_resumes_the_tensor(model, loopback_hub, folder, weights):
    model.agree("whole files")
    playing = loopback_hub.fault(Fault.cut(weights.stat().st_size // 2), path=f"*/{weights.name}",
                                 after=1)  # fmt: skip
    assert_same(model, folder)
    assert playing.played == 1


@pytest.mark.parametrize("how", ["cut", "cancelled"])
def test_complete_tensors_survive_a_failure(model, loopback_hub, folder, weights, cache, how):
    model.agree("whole files")
    half = weights.stat().st_size // 2

    def on_progress(progress: TransferProgress) -> None:
        if how == "cancelled" and progress.done >= half:
            transfer.cancel()

    transfer = Transfer(on_progress, interval_s=0.0)
    if how == "cut":
        loopback_hub.fault(Fault.cut(half), path=f"*/{weights.name}", times=None, after=1)
    error = HubError if how == "cut" else Cancelled
    with model.through(transfer), pytest.raises(error):
        everything(model)
    loopback_hub.clear_faults()
    wait_until_kept(cache)
    network = network_of(loopback_hub, cache, whole=True)
    assert_same(open_model(NAME, network=network), folder)


@pytest.mark.parametrize("how", ["cut", "cancelled", "contradictory"])
def test_nothing_stays_of_an_opening_that_failed(folder, loopback_hub, weights, cache, how, opened):
    loopback_hub.ranges = False
    if how == "contradictory":
        config = (folder / "config.json").read_text().replace('"n_embd": 64', '"n_embd": 32')
        assert '"n_embd": 32' in config
        (folder / "config.json").write_text(config)
        serve(loopback_hub, folder, NAME)
    end = weights.stat().st_size - 1_000

    def on_progress(progress: TransferProgress) -> None:
        if how == "cancelled" and progress.what == weights.name and progress.done > end // 2:
            transfer.cancel()

    transfer = Transfer(on_progress, interval_s=0.0)
    if how == "cut":
        loopback_hub.fault(Fault.cut(end // 2), path=f"*/{weights.name}", times=None, after=1)
    with pytest.raises(HelixscopeError):
        opened(NAME, whole=True, transfer=transfer)
    assert not kept(cache)


def test_numbers_that_are_not_finite_are_not_kept_on_the_way(loopback_hub, offer, opened):
    random = np.random.default_rng(2)
    wrong = random.normal(size=(4, 12)).astype("f4")
    wrong[1, 1] = np.nan
    tensors = {"wpe.weight": random.normal(size=(64, 4)).astype("f4"),
               "wte.weight": random.normal(size=(9_000, 4)).astype("f4"),
               "h.0.attn.c_attn.weight": wrong}  # fmt: skip
    offer({
        "model.safetensors": tensors,
        "config.json": {"model_type": "gpt2", "n_embd": 4, "n_layer": 1, "n_head": 2},
    })  # fmt: skip
    loopback_hub.ranges = False
    model = opened(NAME, whole=True)
    assert model.bytes_to_fetch("W_E") == 0
    assert model.bytes_to_fetch("W_Q") > 0


def test_two_files_are_asked_about_together(loopback_hub, tmp_path, cache, opened):
    write_model(tmp_path / "files", "shards")
    serve(loopback_hub, tmp_path / "files", NAME)
    opened(NAME)
    wait_until_kept(cache)
    model = opened(NAME)
    model.bytes_to_fetch_for(MATRICES)  # where all of them lie is known
    loopback_hub.ranges = False
    with pytest.raises(WholeDownload) as caught:
        everything(model)
    assert model.bytes_to_fetch_for(MATRICES) >= caught.value.nbytes
    model.agree("whole files")
    assert_same(model, tmp_path / "files")
    assert model.bytes_to_fetch_for(MATRICES) == 0


def test_what_a_checkpoint_lacks_costs_nothing(offer, opened):
    tensors = {"wpe.weight": np.eye(64, 4, dtype="f4"), "wte.weight": np.ones((9_000, 4), "f4")}
    offer({
        "model.safetensors": tensors, "config.json": {"model_type": "gpt2", "n_layer": 1},
    })  # fmt: skip
    model = opened(NAME)
    assert model.bytes_to_fetch_for([("W_Q", 0), ("W_E", 0), ("W_E", 0)]) == 9_000 * 4 * 4


def test_chunked_small_files_are_bounded(loopback_hub, tmp_path, cache, monkeypatch, opened):
    monkeypatch.setattr("geometry.hub.client.FETCH_BYTES", 5_000)
    write_model(tmp_path / "files", "safetensors")
    config = tmp_path / "files" / "config.json"
    sound = config.read_text()
    config.write_text(sound + " " * 2_000_000)
    serve(loopback_hub, tmp_path / "files", NAME)
    loopback_hub.fault(Fault.chunked(), path="*/config.json", times=None)
    with pytest.raises(HubError, match=r"at most 5 kB of such a file"):
        opened(NAME)
    assert asked(loopback_hub).count("config.json") == 1
    assert not kept(cache)
    config.write_text(sound)
    serve(loopback_hub, tmp_path / "files", NAME)
    assert_same(opened(NAME), tmp_path / "files")


def test_weights_of_unknown_length_need_consent(loopback_hub, tmp_path, cache, opened):
    write_model(tmp_path / "files", "safetensors")
    serve(loopback_hub, tmp_path / "files", NAME)
    loopback_hub.fault(Fault.chunked(), path="*/model.safetensors", times=None)
    with pytest.raises(WholeDownload, match="of unknown size") as caught:
        opened(NAME)
    assert caught.value.nbytes is None
    assert not kept(cache)
    told: list[TransferProgress] = []
    transfer = Transfer(told.append)
    network = network_of(loopback_hub, cache, whole=True, transfer=transfer)
    assert_same(open_model(NAME, network=network), tmp_path / "files")
    size = (tmp_path / "files" / "model.safetensors").stat().st_size
    assert max(progress.done for progress in told if not progress.total) <= size


def test_length_of_a_redirect_is_used(folder, loopback_hub, weights, cache, opened):
    loopback_hub.fault(Fault.chunked(), path=f"*/{weights.name}", host="storage", times=None)
    with pytest.raises(WholeDownload) as caught:
        opened(NAME)
    assert caught.value.nbytes == weights.stat().st_size
    network = network_of(loopback_hub, cache, whole=True)
    assert_same(open_model(NAME, network=network), folder)
