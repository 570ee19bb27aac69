"""Tests of jobs that wait for each other, and of those under prefixed slots."""

import pytest

from gui.services.answers import Answers
from gui.services.jobs.jobs import InlineJobs, Job, QueuedJobs, SlottedJobs
from gui.services.questions import QuestionContext
from gui.state.session import Session
from tests.gui.hand_jobs import HandJobs


@pytest.fixture
def jobs():
    return HandJobs()


@pytest.fixture
def queued(jobs):
    return QueuedJobs(jobs, 2)


def start(queued, *slots, got=None, fail=pytest.fail):
    for slot in slots:
        queued.start(slot, Job(lambda slot=slot: slot, got.append if got is not None else id, fail))


def test_limit_of_running_jobs_and_errors(jobs, queued):
    got = []
    start(queued, "a", "b", "c", "d", got=got)
    assert list(jobs.waiting) == ["a", "b"]
    jobs.deliver("b")
    assert list(jobs.waiting) == ["a", "c"]
    jobs.deliver_all()
    assert got == ["b", "a", "c", "d"]
    errors = []
    queued.start("a", Job(lambda: 1 / 0, pytest.fail, errors.append))
    start(queued, "b", "c")
    jobs.deliver("a")
    assert isinstance(errors[0], ZeroDivisionError)
    assert list(jobs.waiting) == ["b", "c"]


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


def test_a_result_may_start_another_in_its_slot(jobs, queued):
    got = []

    def again(result):
        got.append(result)
        if len(got) < 3:
            queued.start("a", Job(lambda: len(got), again, pytest.fail))

    queued.start("a", Job(lambda: 0, again, pytest.fail))
    jobs.deliver_all()
    assert got == [0, 1, 2]


def test_what_is_done_at_once_leaves_nothing_waiting():
    got = []
    start(QueuedJobs(InlineJobs(), 1), "a", "b", "c", got=got)
    assert got == ["a", "b", "c"]


def test_held_job_leaves_its_place(jobs, queued):
    got = []
    start(queued, "a", "b", "c", "d", got=got)
    for slot in ("a", "d", "nothing"):
        queued.hold(slot)
    assert (list(jobs.waiting), jobs.held) == (["a", "b", "c"], {"a"})
    queued.resume("a")
    assert jobs.held == {"a"}  # both places are taken
    jobs.deliver("b")
    assert jobs.held == set()
    queued.resume("d")
    jobs.deliver_all()
    assert got == ["b", "a", "c", "d"]


def test_uninterruptible_and_cancelled_jobs(jobs, queued):
    got = []
    start(queued, "a", "b", "c", "d", got=got)
    for slot in "abcd":
        queued.hold(slot)
    jobs.deliver("a")
    queued.resume("a")  # it has finished
    for slot in ("b", "c"):
        queued.cancel(slot)
        queued.resume(slot)
    queued.resume("d")
    jobs.deliver_all()
    assert got == ["a", "d"]
    assert jobs.started == ["a", "b", "c", "d"]
    start(queued, "a", "b", "c", got=got)
    assert list(jobs.waiting) == ["a", "b"]  # no place was lost


@pytest.fixture
def two(jobs):
    return SlottedJobs(jobs, "compared 1"), SlottedJobs(jobs, "compared 2")


def test_the_same_slot_of_two_is_two_jobs_and_each_supersedes_its_own_only(jobs, two):
    got = []
    for number, one in enumerate(two, 1):
        one.start("curve", Job(lambda number=number: number, got.append, pytest.fail))
    jobs.deliver_all()
    assert jobs.started == ["compared 1 curve", "compared 2 curve"]
    assert got == [1, 2]
    got = []
    for one, text in ((two[0], "old"), (two[1], "other"), (two[0], "new")):
        one.start("curve", Job(lambda text=text: text, got.append, pytest.fail))
    jobs.deliver_all()
    assert got == ["other", "new"]


def test_one_is_held_back_without_the_other(jobs, two):
    for one in two:
        one.start("curve", Job(lambda: 1, id, pytest.fail))
    two[0].hold("curve")
    assert jobs.held == {"compared 1 curve"}
    two[1].resume("curve")
    assert jobs.held == {"compared 1 curve"}
    two[0].resume("curve")
    assert jobs.held == set()


def test_errors_progress_and_slowness_are_passed_on(jobs, two):
    told, errors, slow = [], [], []

    def work(tell):
        tell(0.5)
        raise ValueError("no")

    two[0].start(
        "x",
        Job(work, pytest.fail, errors.append, lambda: slow.append(True), on_progress=told.append),
    )
    jobs.drag_on("compared 1 x")
    jobs.deliver_all()
    assert (told, [str(error) for error in errors], slow) == ([0.5], ["no"], [True])


class _Rows:
    """The number of rows of the open model."""

    def answer(self, about: QuestionContext) -> int:
        return len(about.model.W_pos)


def test_two_answer_the_same_question_about_their_own_models(jobs, two, open_table, helix):
    sessions, question = [], _Rows()
    for one, rows in zip(two, (40, 60), strict=True):
        session = Session(model=open_table(helix(rows), f"rows-{rows}"))
        sessions.append(session)
        Answers(session, one).ask("rows", question)
    jobs.deliver_all()
    assert [session.answers["rows"].result for session in sessions] == [40, 60]
