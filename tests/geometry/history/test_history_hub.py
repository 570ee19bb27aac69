"""Histories on a Hub: twenty revisions by range, cut, cancelled, gone on with, and kept."""

import functools
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.transfer import Cancelled, Transfer
from geometry.history.gathering import Gathered, Gathering
from geometry.history.here import NotFetched, history_here
from geometry.history.last_position import last_position
from geometry.history.origins import Origin, find_history, list_snapshots
from geometry.history.plan import BESIDE_BYTES, HistoryPlan, plan_history
from geometry.hub.client import Hub
from geometry.hub.faults import HubBusy, NotOnHub, Offline
from geometry.hub.network import Network
from geometry.hub.tensor_cache import default_cache
from geometry.models.sources.local_models import cached_models
from geometry.models.sources.opening import open_model
from tests.geometry.hub_opening import QUICK, asked, network_of
from tests.loopback.hub import Fault
from tests.marks import slow_but
from tests.stand_ins import OPENAI, STANFORD, positions_of, write_stand_in
from tests.true_sizes import true_positions, write_true_size

STEPS = [0, *range(100, 2000, 100)]
SAFETENSORS, BIN = OPENAI[0], STANFORD[0]


@pytest.fixture(scope="module")
def revisions(tmp_path_factory) -> Callable[[str], dict[str, dict[str, Path]]]:
    """The files of a model's twenty revisions, small ones, and of its main branch."""
    folder = tmp_path_factory.mktemp("made")
    names = [*(f"checkpoint-{step}" for step in STEPS), "main"]
    return functools.cache(lambda name: {one: write_stand_in(folder, name, one) for one in names})


@pytest.fixture
def serve(loopback_hub, revisions) -> Callable[[str], str]:
    """Serve a model with all of them."""

    def add(name: str) -> str:
        for revision, files in revisions(name).items():
            loopback_hub.add(name, files, revision=revision)
        return name

    return add


@pytest.fixture
def network(loopback_hub, cache) -> Network:
    return network_of(loopback_hub, cache)


def plan_of(name: str, network: Network, count: int = 40) -> HistoryPlan:
    origin = find_history(open_model(name, network=network))
    return plan_history(origin, list_snapshots(origin, network), count)


@pytest.mark.parametrize("name", slow_but([SAFETENSORS], [SAFETENSORS, BIN]))
def test_twenty_revisions(name, serve, loopback_hub, network):
    plan = plan_of(serve(name), network)
    assert plan.origin.kind == "hub"
    assert [one.step for one in plan.to_fetch] == STEPS
    said: list[Gathered] = []
    history = Gathering(plan, network).run(on_progress=said.append)
    assert history.steps.tolist() == STEPS
    for i, step in enumerate(STEPS):
        np.testing.assert_array_equal(history.table(i), positions_of(name, f"checkpoint-{step}"))
    assert [one.done for one in said] == sorted(one.done for one in said)
    assert (said[0].done, said[-1].done, said[-1].total) == (0, 20, 20)
    assert said[-1].bytes_received > 20 * 64 * 24 * 2

    loopback_hub.forget_requests()
    again = plan_of(name, network)
    assert again.bytes_to_fetch == 0
    np.testing.assert_array_equal(Gathering(again, network).run().last(), history.last())
    assert asked(loopback_hub) == ["refs"]


@pytest.mark.parametrize("name", [SAFETENSORS, BIN], ids=["safetensors", "bin"])
def test_each_takes_no_more_than_its_table_and_a_little(name, loopback_hub, tmp_path, network):
    """Files as large as the real ones are."""
    files = write_true_size(tmp_path / "files", name)
    loopback_hub.add(name, files)
    for step in range(3):
        loopback_hub.add(name, files, revision=f"checkpoint-{step}")
    plan = plan_of(name, network)
    loopback_hub.forget_requests()
    history = Gathering(plan, network).run()
    table = true_positions(name)
    np.testing.assert_array_equal(history.last(), table)
    stored = table.nbytes
    assert loopback_hub.bytes_sent <= 3 * (stored + BESIDE_BYTES)
    assert loopback_hub.bytes_sent <= plan.bytes_to_fetch
    for one in plan.snapshots:
        marks = (f"checkpoint-{one.step}", one.commit or "")
        sent = sum(r.sent for r in loopback_hub.requests if any(m in r.path for m in marks))
        assert stored < sent <= stored + BESIDE_BYTES


@pytest.mark.slow
def test_a_broken_off_gathering_brings_only_the_rest(serve, loopback_hub, network):
    name = serve(BIN)
    plan = plan_of(name, network)
    loopback_hub.fault(Fault.status(503), path="*/pytorch_model.bin", times=None, after=15)
    gathering = Gathering(plan, network)
    with pytest.raises(HubBusy):
        gathering.run()
    come = gathering.history
    assert 0 < come.n_snapshots < 20
    assert len(gathering.missing) == 20 - come.n_snapshots
    assert gathering.skipped == ()

    loopback_hub.clear_faults()
    loopback_hub.forget_requests()
    assert gathering.run().n_snapshots == 20
    opened = {step for step in STEPS for one in loopback_hub.requests
              if f"/checkpoint-{step}/" in one.path}  # fmt: skip
    assert opened.isdisjoint(come.steps.tolist())

    # Another start of the program, after the same fault.
    loopback_hub.forget_requests()
    later = Gathering(plan_of(name, network_of(loopback_hub, network.cache.root)), network)
    assert later.run().n_snapshots == 20
    assert asked(loopback_hub) == ["refs"]


def test_it_is_cancelled_at_once(serve, loopback_hub, network):
    name = serve(SAFETENSORS)
    plan = plan_of(name, network)
    stalled = loopback_hub.fault(Fault.stall(100), path="*/model.safetensors", times=None, after=10)
    transfer, gathering = Transfer(), Gathering(plan, network)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            gathering.run(transfer)
        except Cancelled as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert stalled.reached.wait(10)
    transfer.cancel()
    thread.join(10)
    assert not thread.is_alive()
    assert len(ended) == 1
    assert len(gathering.missing) > 0
    assert gathering.skipped == ()
    with pytest.raises(Cancelled):
        gathering.run(transfer)
    loopback_hub.clear_faults()
    assert gathering.run().n_snapshots == 20


def test_at_most_four_at_once(serve, monkeypatch, network):
    plan = plan_of(serve(SAFETENSORS), network)
    together, most, lock = 0, 0, threading.Lock()

    def opened(*args, **options):
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        try:
            return open_model(*args, **options)
        finally:
            with lock:
                together -= 1

    monkeypatch.setattr("geometry.history.gathering.open_model", opened)
    gathering = Gathering(plan, network)

    def on_progress(progress: Gathered) -> None:
        if progress.done == 3:
            raise KeyError(progress.done)

    # What listens may end it.
    with pytest.raises(KeyError):
        gathering.run(on_progress=on_progress)
    assert len(gathering.missing) > 0
    gathering.run()
    assert 2 <= most <= 4


def test_revisions_that_are_no_checkpoints_of_it_are_named(loopback_hub, tmp_path, network):
    name = SAFETENSORS
    for step in (0, 10, 30):
        revision = f"checkpoint-{step}"
        loopback_hub.add(name, write_stand_in(tmp_path, name, revision), revision=revision)
    loopback_hub.add(name, {"README.md": b"nothing"}, revision="checkpoint-20")
    other = write_stand_in(tmp_path, OPENAI[1], "checkpoint-40")
    loopback_hub.add(name, other, revision="checkpoint-40")
    tagged = write_stand_in(tmp_path, name, "step50")
    loopback_hub.add(name, tagged, revision="refs/tags/step50")
    for odd in ("dev", "checkpoint-last", "my-checkpoint-3", "refs/pr/1"):
        loopback_hub.add(name, other, revision=odd)
    loopback_hub.add(name, write_stand_in(tmp_path, name))
    plan = plan_of(name, network)
    assert [one.step for one in plan.snapshots] == [0, 10, 20, 30, 40, 50]
    gathering = Gathering(plan, network)
    assert gathering.run().steps.tolist() == [0, 10, 30, 50]
    assert [one.step for one in gathering.skipped] == [20, 40]
    assert "has no weights" in gathering.skipped[0].why
    assert gathering.skipped[1].why == "Its table is 64 × 32, not 64 × 24."


def test_a_branch_that_has_moved_is_fetched_anew(serve, loopback_hub, tmp_path, network):
    name = serve(SAFETENSORS)
    Gathering(plan_of(name, network), network).run()
    other = write_stand_in(tmp_path, name, "checkpoint-77")
    loopback_hub.add(name, other, revision="checkpoint-100")
    plan = plan_of(name, network)
    assert [one.step for one in plan.to_fetch] == [100]
    history = Gathering(plan, network).run()
    np.testing.assert_array_equal(history.table(1), positions_of(name, "checkpoint-77"))


def test_a_model_without_checkpoints(loopback_hub, tmp_path, network):
    loopback_hub.add(SAFETENSORS, write_stand_in(tmp_path, SAFETENSORS))
    origin = find_history(open_model(SAFETENSORS, network=network))
    assert list_snapshots(origin, network) == ()
    gone = Origin("hub", "someone/else", "else", (64, 24))
    with pytest.raises(NotOnHub):
        list_snapshots(gone, network)


def test_offline_there_is_what_was_fetched(serve, loopback_hub, network):
    name = serve(BIN)
    plan = plan_of(name, network, 5)
    steps = [one.step for one in plan.snapshots]
    Gathering(plan, network).run()
    loopback_hub.forget_requests()
    offline = network_of(loopback_hub, network.cache.root)
    offline.hub.offline = True
    kept = list_snapshots(plan.origin, offline)
    assert [one.step for one in kept] == steps
    assert all(one.here for one in kept)
    history = Gathering(plan_history(plan.origin, kept), offline).run()
    assert history.steps.tolist() == steps
    all_of_it = Gathering(plan_history(plan.origin, list_snapshots(plan.origin, network)), offline)
    with pytest.raises(Offline):
        all_of_it.run()
    assert all_of_it.history is not None
    assert asked(loopback_hub) == ["refs"]


def test_steps_of_a_history_are_not_listed_among_the_models(serve, loopback_hub):
    name = serve(BIN)
    network = Network(Hub(endpoint=loopback_hub.url, retries=QUICK), default_cache(), Transfer())
    model = open_model(name, network=network)
    with pytest.raises(NotFetched):
        history_here(model)
    plan = plan_of(name, network, 5)
    Gathering(plan, network).run()
    assert [one.id for one in cached_models()] == []
    assert history_here(model).steps.tolist() == [one.step for one in plan.snapshots]
    assert last_position(history_here(model)).position == 63
    # One that is opened as a model is listed as one, and takes no request.
    with loopback_hub.unasked():
        open_model(f"{name}@checkpoint-100", network=network)
    assert [one.id for one in cached_models()] == [f"{name}@checkpoint-100"]


def test_a_damaged_checkpoint_gets_another_chance(serve, loopback_hub, network):
    name = serve(SAFETENSORS)
    plan = plan_of(name, network, 3)
    loopback_hub.fault(
        Fault.garble_content_range("bytes 5-9/10"), path="*/checkpoint-0/model.safetensors",
        times=None,
    )  # fmt: skip
    gathering = Gathering(plan, network)
    assert gathering.run().n_snapshots == 2
    assert [(one.step, one.passing) for one in gathering.skipped] == [(0, True)]
    loopback_hub.clear_faults()
    assert gathering.run().n_snapshots == 3
    assert gathering.skipped == ()
