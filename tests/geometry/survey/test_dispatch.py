"""When checkpoints are handed out: within the allowance, after waits, again after faults."""

import heapq
import random

import pytest

from geometry.survey.dispatch import (
    ATTEMPTS,
    BUSY_ATTEMPTS,
    MAX_WAITS,
    MAX_WAITS_AT_FIRST,
    Allowance,
    Dispatcher,
    HubGivesUp,
)
from geometry.survey.populations import Entry
from geometry.survey.rows import Fault, Measured
from tests.geometry.survey.survey_stage import failing, made, made_row

ENTRIES = [Entry(f"own/run@checkpoint-{step}", "own", step=step) for step in range(60)]
BUSY, AGAIN, NETWORK = Fault("busy", 30.0), Fault("again"), Fault("network")


def dispatcher(entries=ENTRIES, rate=1000.0, hub=True):
    return Dispatcher(entries, rate, 0.0, offline=not hub)


def asked(entry, requests, fault=None):
    if fault is None:
        return Measured(made_row(entry), None, requests, 0, "")
    found = failing(entry, fault)
    return Measured(found.row, fault, requests, 0, "")


def simulate(hands, threads, seconds, requests):
    """Let threads work on what is handed out; the times of all requests, and of the end.

    ``requests`` gives their number for an entry; they are spread over its seconds.
    """
    now, running, sent, rows = 0.0, [], [], []
    while hands.waiting or running:
        while len(running) < threads and (task := hands.take(now)) is not None:
            count = requests(task.entry)
            sent += [now + seconds * at / max(count, 1) for at in range(count)]
            heapq.heappush(running, (now + seconds, task.entry.step, task, count))
        waits = [] if len(running) == threads else [hands.wait_s(now)]
        ends = [running[0][0]] if running else []
        now = min(ends + [now + wait for wait in waits if wait is not None])
        while running and running[0][0] <= now:
            _, _, task, count = heapq.heappop(running)
            rows.append(hands.finish(task, asked(task.entry, count), now))
    assert len(rows) == len(ENTRIES)
    return sorted(sent), now


@pytest.mark.parametrize("rate", [2.0, 5.0, 40.0])
def test_requests_stay_within_the_allowance_and_near_it(rate):
    counts = random.Random(0)
    threads = 4
    sent, end = simulate(dispatcher(rate=rate), threads, 0.2, lambda _: counts.choice([3, 3, 5]))
    for length in (1.0, 5.0, 10.0):
        for start in sent:
            within = sum(start <= at < start + length for at in sent)
            assert within <= (length + 1) * rate + 5 * threads
    # What the workers could do, or what is allowed.
    bound = max(len(ENTRIES) * 0.2 / threads, (len(sent) - 5) / rate)
    assert end <= bound / 0.9 + 1.0


def test_checkpoints_that_need_no_request_are_not_held_back():
    _, end = simulate(dispatcher(rate=0.1, hub=False), 4, 0.2, lambda _: 0)
    assert end == pytest.approx(len(ENTRIES) * 0.2 / 4)
    # From the cache: what was paid in advance comes back, and soon nothing is asked.
    _, end = simulate(dispatcher(rate=2.0), 4, 0.2, lambda _: 0)
    assert end < 8


@pytest.mark.parametrize("source", ["own/run", "resampled:64,own/run", "pair:1,own/run"])
def test_what_is_derived_from_a_model_on_the_hub_has_a_price_too(source):
    assert dispatcher([Entry(source, source)]).take(0.0).paid is not None


def test_the_price_follows_what_tasks_need():
    allowance = Allowance(10.0, 0.0)
    assert allowance.wait_s(0.0) == 0.0
    prices = [allowance.take(0.0)]
    for _ in range(200):
        allowance.settle(prices[-1], 2)
        prices.append(allowance.take(0.0))
    assert (prices[0], prices[-1]) == (5.0, pytest.approx(2.0, abs=1e-3))
    assert allowance.wait_s(0.0) == pytest.approx(400 / 10, rel=0.02)


def test_all_wait_when_the_hub_asks_for_it():
    hands = dispatcher()
    first, second = hands.take(0.0), hands.take(0.1)
    assert hands.finish(first, failing(first.entry, BUSY), 1.0) is None
    assert hands.take(1.0) is None
    assert hands.wait_s(1.0) == pytest.approx(30.0)
    assert hands.said(1.0) == "It failed. Going on in 30 seconds."
    # One that was under way is told a longer wait, another one is done.
    assert hands.finish(second, failing(second.entry, Fault("busy", 40.0)), 2.0) is None
    assert hands.take(41.9) is None
    again = [hands.take(42.1), hands.take(42.2)]
    assert {task.entry for task in again} == {first.entry, second.entry}
    assert hands.said(42.1) == ""
    assert hands.finish(again[0], made(again[0].entry), 43.0)["error"] is None


def test_local_checkpoints_go_on_meanwhile():
    here = Entry("sinusoidal:64x32", "computed")
    hands = dispatcher([ENTRIES[0], here])
    task = hands.take(0.0)
    hands.finish(task, failing(task.entry, BUSY), 0.0)
    assert hands.take(0.0).entry is here
    assert hands.take(0.0) is None
    assert hands.waiting == 1


def test_a_broken_transfer_is_tried_again_and_then_written():
    hands, now = dispatcher(ENTRIES[:1]), 0.0
    for attempt in range(ATTEMPTS):
        now += hands.wait_s(now)
        task = hands.take(now)
        row = hands.finish(task, failing(task.entry, AGAIN), now)
        assert (row is None) == (attempt < ATTEMPTS - 1)
    assert row["temporary"]
    assert (now, hands.waiting) == (0.5 + 1 + 2, 0)


def test_what_fails_for_good_is_written_at_once():
    hands = dispatcher(ENTRIES[:1])
    task = hands.take(0.0)
    assert hands.finish(task, failing(task.entry, None), 0.0)["error"] == "It failed."
    assert hands.waiting == 0


@pytest.mark.parametrize(("begun", "tries"), [(True, ATTEMPTS), (False, BUSY_ATTEMPTS)])
def test_a_lost_task_is_handed_out_again(begun, tries):
    hands = dispatcher(ENTRIES[:1])
    for attempt in range(tries):
        task = hands.take(100.0 * attempt)
        row = hands.lose(task, "Its worker died.", 100.0 * attempt, begun=begun)
        assert (row is None) == (attempt < tries - 1)
    assert (row["error"], row["temporary"]) == ("Its worker died.", True)


@pytest.mark.parametrize(
    ("fault", "reached", "least"),
    [
        (NETWORK, False, MAX_WAITS_AT_FIRST),
        (NETWORK, True, MAX_WAITS),
        (Fault("busy", 1.0), False, MAX_WAITS),
        (Fault("busy"), False, MAX_WAITS),
    ],
)
def test_a_hub_that_stays_away_ends_the_survey(fault, reached, least):
    hands, waits = dispatcher(), set()
    if reached:
        task = hands.take(0.0)
        assert hands.finish(task, asked(task.entry, 3), 0.0) is not None

    def run():
        now = 0.0
        while True:
            now += hands.wait_s(now)
            waits.add(round(now, 3))
            task = hands.take(now)
            hands.finish(task, failing(task.entry, fault), now)

    with pytest.raises(HubGivesUp) as ended:
        run()
    assert "Start the survey again" in ended.value.advice
    assert len(waits) >= least
    assert least < BUSY_ATTEMPTS


def test_a_checkpoint_that_the_hub_always_refuses_holds_up_no_other():
    hands, now, done = dispatcher(ENTRIES[:20]), 0.0, []
    while hands.waiting:
        now += hands.wait_s(now)
        task = hands.take(now)
        fault = Fault("busy") if task.entry.step == 3 else None
        row = hands.finish(task, asked(task.entry, 1, fault), now)
        done += [] if row is None else [row["step"]]
        assert hands.said(now) == ""
    assert sorted(done) == list(range(20))
    assert done[-1] == 3


def test_a_wait_of_hours_ends_the_survey():
    hands = dispatcher()
    task = hands.take(0.0)
    with pytest.raises(HubGivesUp):
        hands.finish(task, failing(task.entry, Fault("busy", 7200.0)), 0.0)
