"""Tests of jobs under prefixed slots: models that share workers do not hear of each other."""

import pytest

from gui.services.answers import Answers
from gui.services.jobs.jobs import SlottedJobs
from gui.services.questions import QuestionContext
from gui.state.session import Session
from tests.gui.hand_jobs import HandJobs


@pytest.fixture
def jobs():
    return HandJobs()


@pytest.fixture
def two(jobs):
    return SlottedJobs(jobs, "compared 1"), SlottedJobs(jobs, "compared 2")


def test_the_same_slot_of_two_is_two_jobs(jobs, two):
    got = []
    for number, one in enumerate(two, 1):
        one.start("curve", lambda number=number: number, got.append, pytest.fail)
    jobs.deliver_all()
    assert jobs.started == ["compared 1 curve", "compared 2 curve"]
    assert got == [1, 2]


def test_a_job_supersedes_its_own_only(jobs, two):
    got = []
    for one, text in ((two[0], "old"), (two[1], "other"), (two[0], "new")):
        one.start("curve", lambda text=text: text, got.append, pytest.fail)
    jobs.deliver_all()
    assert got == ["other", "new"]


def test_all_of_one_are_given_up_and_stopped(jobs, two):
    got, stopped = [], []
    for one, name in zip(two, "ab", strict=True):
        for slot in ("curve", "norms"):
            stop = lambda said=f"{name} {slot}": stopped.append(said)  # noqa: E731
            one.start(slot, lambda name=name: name, got.append, pytest.fail, stop=stop)
    two[0].cancel_all()
    jobs.deliver_all()
    assert got == ["b", "b"]
    assert stopped == ["a curve", "a norms"]


def test_errors_progress_and_slowness_are_passed_on(jobs, two):
    told, errors, slow = [], [], []

    def work(tell):
        tell(0.5)
        raise ValueError("no")

    two[0].start(
        "x", work, pytest.fail, errors.append, lambda: slow.append(True), on_progress=told.append
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
