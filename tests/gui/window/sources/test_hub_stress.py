"""Opening and giving up in any order, with any fault: the session and the cache stay sound."""

import random

import numpy as np
import pytest

from geometry.hub.tensor_cache import default_cache
from geometry.models.sources import local_models
from geometry.models.sources.catalogue import find_entry
from geometry.models.sources.opening import open_model
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import Session
from tests.loopback.hub import Fault
from tests.stand_ins import NINE, add_nine, positions_of

WAIT_MS = 20_000
ROUNDS = 30


@pytest.fixture
def nine(loopback_hub, tmp_path, monkeypatch):
    """A Hub with the nine."""
    monkeypatch.setattr(local_models, "_in_package", lambda entry: None)
    add_nine(loopback_hub, tmp_path / "made", checkpoints=False)
    return loopback_hub


@pytest.fixture
def jobs(nothing_left_behind, thread_jobs, session):
    return thread_jobs(session)


def any_fault(dice):
    """A fault, and whether an opening gets over it by itself."""
    nbytes = dice.randrange(2_000)
    stuck = [Fault.stall(None), Fault.stall(nbytes), Fault.status(429, {"Retry-After": "50"})]
    passing = [Fault.cut(nbytes), Fault.cut(nbytes, reset=True), Fault.refuse()]
    busy, garbled = Fault.status(503, {"Retry-After": "0"}), Fault.garble_content_range()
    passing += [busy, garbled, Fault.status(404)]
    fault = dice.choice([*stuck, *passing])
    return fault, fault in passing


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_faults_leaves_all_sound(session, jobs, nine, qtbot, seed):
    dice, controller = random.Random(seed), Controller(session, jobs)
    for _ in range(ROUNDS):
        before = session.model
        fault, passes = any_fault(dice)
        playing = nine.fault(fault, after=dice.randrange(4))
        source = dice.choice(NINE)
        controller.open(source)
        # It is reached, or it was meant for a request that never came: what is kept needs none.
        qtbot.waitUntil(
            lambda playing=playing: playing.reached.is_set() or session.jobs == 0, timeout=WAIT_MS
        )
        way = dice.choice(["cancel", "another", "offline", *["wait"] * passes])
        if way == "cancel":
            controller.opening.cancel()
        elif way == "another":
            nine.clear_faults()
            source = dice.choice(NINE)
            controller.open(source)
        elif way == "offline":
            session.offline = True
            controller.opening.cancel()
            session.offline = False
        nine.clear_faults()
        qtbot.waitUntil(lambda: session.jobs == 0, timeout=WAIT_MS)
        assert (session.opening, session.transfer) == (None, None)
        assert session.model is before or session.model.source.text == source
        if session.model is not None:
            expected = positions_of(session.model.source.text)
            np.testing.assert_array_equal(session.model.W_pos, expected)
    controller.close()
    check_cache(nine)


def check_cache(hub):
    """What is kept opens without the Hub and is right; the rest still opens with it."""
    cache = default_cache()
    kept = {commit.repo for commit in cache.commits()}
    hub.forget_requests()
    for name in NINE:
        session = Session()
        controller = Controller(session, InlineJobs())
        session.offline = True
        controller.open(name)
        here = session.notice is None
        session.offline = False
        controller.close()
        assert here == (local_models.state(find_entry(name)) == "cached")
        assert name in kept or not here
    assert hub.requests == []
    for name in NINE:
        np.testing.assert_array_equal(open_model(name).W_pos, positions_of(name))
