"""Tests of jobs that wait for each other."""

import pytest

from gui.services.jobs.jobs import InlineJobs, QueuedJobs
from tests.gui.hand_jobs import HandJobs


@pytest.fixture
def jobs():
    return HandJobs()


@pytest.fixture
def queued(jobs):
    return QueuedJobs(jobs, 2)


def start(queued, *slots, got=None, fail=pytest.fail):
    for slot in slots:
        queued.start(slot, lambda slot=slot: slot, got.append if got is not None else id, fail)


def test_no_more_than_so_many_are_under_way_and_the_first_comes_first(jobs, queued):
    got = []
    start(queued, "a", "b", "c", "d", got=got)
    assert list(jobs.waiting) == ["a", "b"]
    jobs.deliver("b")
    assert list(jobs.waiting) == ["a", "c"]
    jobs.deliver_all()
    assert got == ["b", "a", "c", "d"]


def test_what_waits_is_given_up_without_having_begun(jobs, queued):
    start(queued, "a", "b", "c", "d")
    queued.cancel("c")
    jobs.deliver_all()
    assert jobs.started == ["a", "b", "d"]


def test_giving_up_what_is_under_way_lets_the_next_begin(jobs, queued):
    start(queued, "a", "b", "c")
    queued.cancel("a")
    assert list(jobs.waiting) == ["b", "c"]


def test_the_newest_of_a_slot_wins_and_waits_its_turn(jobs, queued):
    got = []
    start(queued, "a", "b", "c", "a", got=got)
    assert list(jobs.waiting) == ["b", "c"]
    jobs.deliver_all()
    assert got == ["b", "c", "a"]


def test_after_an_error_the_next_begins(jobs, queued):
    errors = []
    queued.start("a", lambda: 1 / 0, pytest.fail, errors.append)
    start(queued, "b", "c")
    jobs.deliver("a")
    assert isinstance(errors[0], ZeroDivisionError)
    assert list(jobs.waiting) == ["b", "c"]


def test_a_result_may_start_another_in_its_slot(jobs, queued):
    got = []

    def again(result):
        got.append(result)
        if len(got) < 3:
            queued.start("a", lambda: len(got), again, pytest.fail)

    queued.start("a", lambda: 0, again, pytest.fail)
    jobs.deliver_all()
    assert got == [0, 1, 2]


def test_what_is_done_at_once_leaves_nothing_waiting():
    got = []
    start(QueuedJobs(InlineJobs(), 1), "a", "b", "c", got=got)
    assert got == ["a", "b", "c"]
