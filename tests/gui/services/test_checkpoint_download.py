"""Looking for checkpoints and gathering them, without a window."""

import numpy as np
import pytest

from geometry.history.plan import BESIDE_BYTES
from gui.services.checkpoint_download import GATHER, LIST, SO_FAR
from gui.services.controller import Controller
from gui.state.session import Session
from tests.geometry.hub_opening import asked
from tests.gui.gather_stage import NAME, STEPS, hasten, serve_checkpoints, write_checkpoints
from tests.loopback.hub import Fault
from tests.stand_ins import positions_of, write_stand_in

WEIGHTS = "*/model.safetensors"
EACH = 4 * 64 * 24 + BESIDE_BYTES


@pytest.fixture
def hub(loopback_hub, tmp_path):
    return serve_checkpoints(loopback_hub, tmp_path / "made")


@pytest.fixture
def fetched(session, controller, hub):
    """A session with the model open, and nobody has looked for checkpoints."""
    hasten(controller)
    controller.open(NAME)
    assert session.notice is None
    hub.forget_requests()
    return session


def test_looking_costs_one_request(fetched, controller, hub):
    assert fetched.gathering is None
    controller.gatherer.look()
    assert asked(hub) == ["refs"]
    state = fetched.gathering
    assert (state.stage, state.why) == ("listed", "")
    assert [one.step for one in state.plan.snapshots] == STEPS
    assert state.plan.bytes_to_fetch == 20 * EACH
    assert fetched.history is None
    hub.forget_requests()
    controller.gatherer.choose(5)
    plan = fetched.gathering.plan
    assert len(plan.snapshots) == 5
    assert (plan.snapshots[0].step, plan.snapshots[-1].step) == (0, 1900)
    assert plan.bytes_to_fetch == 5 * EACH
    assert hub.requests == []


def test_gathering_becomes_the_history(fetched, controller, hub):
    controller.gatherer.look()
    stages = []
    fetched.events.gathering.connect(lambda state: stages.append(state))
    controller.gatherer.gather(5)
    history = fetched.history
    assert history.n_snapshots == 5
    for i, step in enumerate(history.steps):
        np.testing.assert_array_equal(history.table(i), positions_of(NAME, f"checkpoint-{step}"))
    told = [one.progress for one in stages if one.progress is not None]
    assert (told[0].done, told[-1].done, told[-1].total) == (0, 5, 5)
    assert fetched.gathering.stage == "listed"
    assert fetched.gathering.plan.bytes_to_fetch == 0
    # More of them cost what is not here yet.
    controller.gatherer.choose(20)
    assert fetched.gathering.plan.bytes_to_fetch == 15 * EACH
    hub.forget_requests()
    controller.gatherer.gather(20)
    assert fetched.history.steps.tolist() == STEPS
    assert {step for step in STEPS if any(f"checkpoint-{step}/" in r.path for r in hub.requests)
            }.isdisjoint(history.steps.tolist())  # fmt: skip


def test_what_was_cut_off_goes_on_where_it_was(fetched, controller, hub):
    controller.gatherer.look()
    hub.fault(Fault.status(503), path=WEIGHTS, times=None, after=16)
    controller.gatherer.gather(20)
    state, so_far = fetched.gathering, fetched.history
    assert state.stage == "listed"
    assert state.why.startswith("The checkpoints could not be loaded: ")
    assert 0 < so_far.n_snapshots < 20
    assert state.plan.bytes_to_fetch == (20 - so_far.n_snapshots) * EACH
    hub.clear_faults()
    hub.forget_requests()
    controller.gatherer.gather(20)
    assert fetched.history.steps.tolist() == STEPS
    assert fetched.gathering.why == ""
    again = [s for s in so_far.steps.tolist() if any(f"-{s}/" in r.path for r in hub.requests)]
    assert again == []


def test_a_short_history_does_not_take_the_place_of_a_long_one(fetched, controller, hub):
    controller.gatherer.look()
    controller.gatherer.gather(12)
    before = fetched.history
    hub.fault(Fault.status(503), path=WEIGHTS, times=None)
    hub.fault(Fault.status(503), path="*/api/*", times=None)
    controller.gatherer.gather(20)
    assert fetched.gathering.why
    assert fetched.history.n_snapshots >= before.n_snapshots


def test_checkpoints_that_are_none_are_named(fetched, controller, hub):
    hub.add(NAME, {"README.md": b"nothing"}, revision="checkpoint-550")
    controller.gatherer.look()
    controller.gatherer.gather(21)
    assert fetched.history.steps.tolist() == STEPS
    assert fetched.status == "Loaded 20 checkpoints; 1 left out"
    (one,) = fetched.gathering.skipped
    assert one.step == 550
    assert "has no weights" in one.why


def test_whole_files_are_asked_about_first_for_each_number(fetched, controller, hub, tmp_path):
    controller.gatherer.look()
    hub.ranges = False
    controller.gatherer.gather(4)
    state = fetched.gathering
    assert state.stage == "listed"
    assert "cannot send parts of files" in state.why
    (size,) = {file.stat().st_size for file in tmp_path.glob("made/**/model.safetensors")}
    assert state.whole == 4 * size
    assert fetched.history is None
    controller.gatherer.gather(4, whole=True)
    assert fetched.history.n_snapshots == 4
    assert fetched.gathering.whole == 0
    # It was agreed to for those four.
    controller.gatherer.gather(6)
    assert fetched.gathering.whole > 0
    assert fetched.history.n_snapshots == 4
    controller.gatherer.choose(3)
    assert fetched.gathering.whole == 0
    assert fetched.gathering.why == ""


def test_offline_without_anything(fetched, controller, hub):
    fetched.offline = True
    controller.gatherer.look()
    assert hub.requests == []
    state = fetched.gathering
    assert state.plan is None
    assert "Helixscope is offline" in state.why
    assert "Work offline" in state.advice
    fetched.offline = False
    controller.gatherer.look()
    assert fetched.gathering.plan is not None


def test_offline_there_is_what_was_fetched_and_no_more(fetched, controller, hub):
    """What is here comes all the same."""
    controller.gatherer.look()
    controller.gatherer.gather(5)
    fetched.offline = True
    controller.gatherer.gather(20)
    assert fetched.history.n_snapshots == 5
    assert "offline" in fetched.gathering.why
    assert "Work offline" in fetched.gathering.advice
    hub.forget_requests()
    fetched.offline = True
    controller.gatherer.look()
    assert fetched.gathering.plan.n_available == 5
    assert fetched.gathering.plan.bytes_to_fetch == 0
    controller.gatherer.gather(5)
    assert fetched.history.n_snapshots == 5
    assert hub.requests == []


def test_a_model_without_checkpoints(session, controller, loopback_hub, tmp_path):
    loopback_hub.add(NAME, write_stand_in(tmp_path, NAME))
    controller.open(NAME)
    controller.gatherer.look()
    assert session.gathering.plan is None
    assert f"{NAME} has no checkpoints on the Hub" in session.gathering.why
    controller.gatherer.gather(5)
    controller.gatherer.choose(5)
    assert session.gathering.plan is None


def test_the_hub_cannot_be_asked(fetched, controller, hub):
    hub.fault(Fault.status(503), times=None)
    controller.gatherer.look()
    assert fetched.gathering.plan is None
    assert fetched.gathering.why.startswith("The checkpoints could not be listed: ")
    hub.clear_faults()
    controller.gatherer.look()
    assert fetched.gathering.plan is not None


def test_a_bare_table_has_none(opened, controller):
    controller.gatherer.look()
    assert opened.gathering.why == "This model comes without checkpoints of its training."


def test_a_folder_of_checkpoints(session, controller, tmp_path):
    steps = [0, 10, 20, 40, 80, 160]
    folder = write_checkpoints(tmp_path / "run", steps)
    controller.open(str(folder))
    controller.gatherer.look()
    plan = session.gathering.plan
    assert plan.origin.kind == "folder"
    assert plan.bytes_to_fetch == 0
    controller.gatherer.gather(4)
    assert session.history.n_snapshots == 4
    assert session.history.steps[-1] == 160


def test_another_model_begins_anew(fetched, controller, write_table):
    controller.gatherer.look()
    controller.open(str(write_table()))
    assert fetched.gathering is None
    controller.gatherer.gather(5)
    assert fetched.gathering is None


def test_looking_is_reported_and_cancelled(session, hand_jobs, looked_by_hand):
    controller = looked_by_hand
    assert session.gathering is None
    hand_jobs.drag_on(LIST)
    assert session.gathering.stage == "looking"
    assert controller.cancel()
    assert session.gathering is None
    assert LIST not in hand_jobs.waiting
    assert not controller.gatherer.cancel()


def test_closing_gives_up(hand_jobs, looked_by_hand):
    hand_jobs.deliver(LIST)
    looked_by_hand.gatherer.gather(5)
    assert GATHER in hand_jobs.waiting
    looked_by_hand.close()
    assert GATHER not in hand_jobs.waiting


@pytest.fixture
def looked_by_hand(by_hand, hand_jobs, hub):
    """A controller with the model open, whose checkpoints are listed; its jobs are delivered."""
    by_hand.open(NAME)
    hand_jobs.deliver_all()
    by_hand.gatherer.look()
    return by_hand


@pytest.fixture
def on_threads(qtbot, hub, thread_jobs):
    """A session with the model open, whose jobs run on threads; and its controller."""
    session = Session()
    controller = Controller(session, thread_jobs(session))
    hasten(controller)
    controller.open(NAME)
    qtbot.waitUntil(lambda: session.model is not None and not session.jobs)
    controller.gatherer.look()
    qtbot.waitUntil(lambda: session.gathering is not None)
    yield session, controller
    controller.close()


def test_cancelled_at_once_and_what_came_is_shown(on_threads, hub, qtbot):
    session, controller = on_threads
    stalled = hub.fault(Fault.stall(100), path=WEIGHTS, times=None, after=12)
    controller.gatherer.gather(20)
    qtbot.waitUntil(stalled.reached.is_set)
    qtbot.waitUntil(lambda: session.gathering.progress is not None)
    assert controller.cancel()
    assert session.gathering.stage == "listed"
    qtbot.waitUntil(lambda: not session.jobs)
    so_far = session.history
    assert 0 < so_far.n_snapshots < 20
    left = len(session.gathering.plan.to_fetch)
    assert left >= 20 - so_far.n_snapshots
    hub.clear_faults()
    controller.gatherer.gather(20)
    qtbot.waitUntil(lambda: session.gathering.stage == "listed")
    assert session.history.steps.tolist() == STEPS


def test_another_model_stops_it(on_threads, hub, qtbot, write_table):
    session, controller = on_threads
    stalled = hub.fault(Fault.stall(100), path=WEIGHTS, times=None, after=3)
    controller.gatherer.gather(20)
    qtbot.waitUntil(stalled.reached.is_set)
    controller.open(str(write_table()))
    qtbot.waitUntil(lambda: session.model.name == "helix" and not session.jobs)
    assert session.gathering is None
    assert session.history is None


def test_what_has_come_is_not_shown_once_it_goes_on(session, hand_jobs, looked_by_hand):
    controller = looked_by_hand
    hand_jobs.deliver(LIST)
    controller.gatherer.gather(5)
    hand_jobs.compute(GATHER)
    controller.cancel()
    assert SO_FAR in hand_jobs.waiting
    controller.gatherer.gather(5)
    assert SO_FAR not in hand_jobs.waiting
    hand_jobs.deliver(GATHER)
    assert session.history.n_snapshots == 5
