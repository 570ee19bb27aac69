"""Answers to panels' questions: once each, the newest first, cancelled."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.transfer import Cancelled
from geometry.models.residual_stream import Subject
from gui.services.answers import Answers
from gui.services.jobs.jobs import InlineJobs
from gui.services.questions import Progress, ProgressThrottle, QuestionContext, resolve
from gui.state.session import Session
from tests.gui.services.answers.questions_asked import ANSWERED, Double, Slow


@dataclass(frozen=True, slots=True)
class Growing:
    """A list that is known bit by bit; between, something tells how far it is."""

    n: int

    def steps(self, about: QuestionContext) -> Iterator[Progress | tuple[int, ...]]:
        found: tuple[int, ...] = ()
        for i in range(self.n):
            yield Progress(i / self.n, f"Step {i + 1}", found or None)
            about.report((i + 0.5) / self.n, "Half a step")
            found = (*found, i)
        yield found


def test_nothing_is_answered_before_a_model_is_open(hand_jobs):
    session = Session()
    answers = Answers(session, hand_jobs)
    answers.ask("a", Double(2))
    assert not hand_jobs.waiting
    assert not session.answers
    answers.close()


def test_answer_arrives_in_its_slot_and_is_cached(session, answers, hand_jobs):
    answers.ask("a", Double(2))
    assert "a" not in session.answers
    hand_jobs.deliver_all()
    answer = session.answers["a"]
    assert (answer.state, answer.result, answer.question) == ("ready", 4, Double(2))
    answers.ask("b", Double(2))
    assert session.answers["b"].result == 4
    answers.ask("a", Double(3))
    hand_jobs.deliver_all()
    answers.ask("a", Double(2))
    assert session.answers["a"].result == 4
    assert ANSWERED == [2, 3]


def test_two_slots_with_one_question_compute_it_once(session, answers, hand_jobs):
    for _ in range(2):
        answers.ask("a", Double(2))
    answers.ask("b", Double(2))
    assert len(hand_jobs.started) == 1
    hand_jobs.deliver_all()
    assert session.answers["a"] is session.answers["b"]
    assert ANSWERED == [2]


def test_the_newest_question_wins_and_the_old_one_is_given_up(session, answers, hand_jobs):
    answers.ask("a", Double(2))
    answers.ask("a", Double(3))
    assert len(hand_jobs.waiting) == 1
    hand_jobs.deliver_all()
    assert session.answers["a"].result == 6
    assert ANSWERED == [3]


def test_an_old_question_that_another_slot_waits_for_goes_on(session, answers, hand_jobs):
    answers.ask("a", Double(2))
    answers.ask("b", Double(2))
    answers.ask("a", Double(3))
    assert len(hand_jobs.waiting) == 2
    hand_jobs.deliver_all()
    assert session.answers["b"].result == 4
    assert session.answers["a"].result == 6


def test_old_answer_stays_for_a_moment(session, answers, hand_jobs, monkeypatch):
    monkeypatch.setattr("gui.services.questions.REPORT_INTERVAL_S", 0.0)
    answers.ask("a", Double(2))
    hand_jobs.deliver_all()
    answers.ask("a", Slow(3))
    (job,) = hand_jobs.waiting
    assert session.answers["a"].result == 4
    hand_jobs.drag_on(job)
    assert session.answers["a"].state == "working"
    hand_jobs.compute(job)
    assert (session.answers["a"].fraction, session.answers["a"].message) == (2 / 3, "Step 3")
    hand_jobs.deliver(job)
    assert session.answers["a"].result == 3


def test_progress_is_told_once_it_is_announced_to_who_joins_later_too(session, answers, hand_jobs):
    answers.ask("a", Slow(3))
    (job,) = hand_jobs.waiting
    hand_jobs.tell(job, Progress(0.5, "Half"))
    assert "a" not in session.answers
    hand_jobs.drag_on(job)
    assert (session.answers["a"].fraction, session.answers["a"].message) == (0.5, "Half")
    answers.ask("a", Growing(3))
    (job,) = hand_jobs.waiting
    hand_jobs.tell(job, Progress(0.3, "", (0,)))
    hand_jobs.drag_on(job)
    answers.ask("b", Growing(3))
    assert (session.answers["b"].state, session.answers["b"].result) == ("working", (0,))


def test_partial_result_is_reported(session, answers, hand_jobs, monkeypatch):
    monkeypatch.setattr("gui.services.questions.REPORT_INTERVAL_S", 0.0)
    told = []
    session.events.answers.connect(lambda: told.append(session.answers["a"]))
    answers.ask("a", Growing(3))
    (job,) = hand_jobs.waiting
    hand_jobs.drag_on(job)
    hand_jobs.deliver(job)
    assert [answer.state for answer in told] == ["working"] * 7 + ["ready"]
    # What only says how far it is takes nothing back.
    assert [answer.result for answer in told] == [
        None, None, None, (0,), (0,), (0, 1), (0, 1), (0, 1, 2)
    ]  # fmt: skip
    assert answers._cache.get(Growing(3)) == (0, 1, 2)


def test_the_newest_of_what_is_seen_to_be_worked_on_is_given_up_first(session, answers, hand_jobs):
    for slot, n in (("a", 2), ("b", 3), ("c", 4)):
        answers.ask(slot, Slow(n))
    jobs = list(hand_jobs.waiting)
    assert not answers.cancel_newest()  # nothing has taken a moment yet
    for job in jobs[:2]:
        hand_jobs.drag_on(job)
    assert answers.cancel_newest()
    assert {slot: answer.state for slot, answer in session.answers.items()} == {
        "a": "working", "b": "cancelled",
    }  # fmt: skip
    assert answers.cancel_newest()
    assert session.answers["a"].state == "cancelled"
    assert not answers.cancel_newest()
    assert list(hand_jobs.waiting) == jobs[2:]


def test_cancel_stops_the_work_of_one_slot_and_says_so(session, answers, hand_jobs):
    answers.ask("a", Slow(3))
    (job,) = hand_jobs.waiting
    work = hand_jobs.waiting[job][0]
    answers.cancel("a")
    assert not hand_jobs.waiting
    assert session.answers["a"].state == "cancelled"
    with pytest.raises(Cancelled):  # what its thread meets at its next step
        work()
    assert ANSWERED == []
    answers.ask("a", Double(2))
    answers.ask("b", Double(2))
    answers.cancel("a")
    assert session.answers["a"].state == "cancelled"
    hand_jobs.deliver_all()
    assert session.answers["b"].result == 4
    assert session.answers["a"].state == "cancelled"


def test_after_a_cancel_the_same_may_be_asked_again(session, answers, hand_jobs):
    answers.ask("a", Double(2))
    answers.cancel("a")
    answers.ask("a", Double(2))
    hand_jobs.deliver_all()
    assert session.answers["a"].result == 4
    answers.cancel("a")
    answers.cancel("nobody")
    assert session.answers["a"].result == 4


def test_what_was_found_before_a_cancel_is_kept(session, answers, hand_jobs):
    answers.ask("a", Growing(3))
    (job,) = hand_jobs.waiting
    hand_jobs.drag_on(job)
    hand_jobs.tell(job, Progress(0.3, "Step 2", (0,)))
    hand_jobs.tell(job, Progress(0.5, "Half a step"))
    assert answers.cancel_newest()
    assert not hand_jobs.waiting
    assert (session.answers["a"].state, session.answers["a"].result) == ("cancelled", (0,))
    answers.ask("a", Growing(3))
    hand_jobs.deliver_all()
    assert (session.answers["a"].state, session.answers["a"].result) == ("ready", (0, 1, 2))


def test_the_question_of_a_hidden_panel_waits_until_it_is_seen(session, answers, hand_jobs):
    answers.ask("a", Slow(3))
    (job,) = hand_jobs.waiting
    hand_jobs.drag_on(job)
    answers.hold("a")
    assert hand_jobs.held == {job}
    assert session.answers["a"].state == "working"
    assert not answers.cancel_newest()  # Esc is about what is seen
    answers.ask("b", Double(2))
    hand_jobs.deliver_all()
    assert ANSWERED == [2]
    answers.resume("a")
    assert hand_jobs.held == set()
    hand_jobs.deliver_all()
    assert session.answers["a"].result == 3
    answers.hold("a")
    answers.resume("nobody")
    assert hand_jobs.started == [job, "answer 1"]


def test_a_question_goes_on_while_one_of_its_panels_is_seen(session, answers, hand_jobs):
    answers.ask("a", Slow(3))
    answers.ask("b", Slow(3))
    answers.hold("a")
    assert not hand_jobs.held
    answers.ask("b", Double(2))  # now the hidden one alone waits for it
    assert hand_jobs.held == {"answer 0"}
    answers.ask("c", Slow(3))
    assert not hand_jobs.held
    answers.forget("c")
    assert hand_jobs.held == {"answer 0"}
    answers.ask("a", Slow(3))  # as asking is only done by what is seen
    assert not hand_jobs.held
    answers.hold("a")
    answers.ask("a", Double(3))
    hand_jobs.deliver_all()
    assert (session.answers["a"].result, ANSWERED) == (6, [2, 3])


def test_threaded_question_is_held_and_resumed(qtbot, session, thread_jobs):
    begun, go_on = threading.Event(), threading.Event()

    @dataclass(frozen=True)
    class Halting:
        def steps(self, about: QuestionContext) -> Iterator[Progress | str]:
            for step in range(3):
                ANSWERED.append(step)
                begun.set()
                assert go_on.wait(10)
                yield Progress(step / 3)
            yield "done"

    jobs = thread_jobs(session)
    answers = Answers(session, jobs)
    answers.ask("a", Halting())
    assert begun.wait(10)
    answers.hold("a")
    assert session.jobs == 0
    go_on.set()
    answers.ask("b", Double(21))
    qtbot.waitUntil(lambda: "b" in session.answers)
    assert "a" not in session.answers or session.answers["a"].state == "working"
    assert ANSWERED == [0, 21]
    answers.resume("a")
    qtbot.waitUntil(lambda: "done" in [one.result for one in session.answers.values()])
    assert (session.answers["a"].result, ANSWERED) == ("done", [0, 21, 1, 2])
    answers.close()


def test_one_that_is_held_ends_with_its_model(qtbot, session, thread_jobs, new_pool_threads):
    @dataclass(frozen=True)
    class Endless:
        def steps(self, about: QuestionContext) -> Iterator[Progress]:
            while True:
                yield Progress(None, "On and on")

    answers = Answers(session, thread_jobs(session))
    answers.ask("a", Endless())
    answers.hold("a")
    assert new_pool_threads()
    session.model = None
    qtbot.waitUntil(lambda: not new_pool_threads())
    assert session.jobs == 0
    answers.close()


def test_forgetting_is_silent_and_takes_the_progress_back(session, answers, hand_jobs):
    answers.ask("a", Slow(3))
    hand_jobs.drag_on(next(iter(hand_jobs.waiting)))
    answers.forget("a")
    assert not hand_jobs.waiting
    assert "a" not in session.answers
    answers.ask("a", Double(2))
    hand_jobs.deliver_all()
    answers.forget("a")
    assert session.answers["a"].result == 4


@dataclass(frozen=True, slots=True)
class Many:
    """So many bytes."""

    name: str
    n_bytes: int

    def answer(self, about: QuestionContext) -> tuple[np.ndarray, ...]:
        ANSWERED.append(self.name)
        return (np.zeros(self.n_bytes // 8),)


def test_another_model_drops_all_answers(session, answers, hand_jobs, open_table, helix):
    answers.ask("a", Double(2))
    hand_jobs.deliver_all()
    answers.ask("b", Double(3))
    session.model = open_table(helix(50), name="other")
    assert not session.answers
    assert not hand_jobs.waiting
    answers.ask("a", Double(2))
    hand_jobs.deliver_all()
    assert ANSWERED == [2, 2]
    session.events.positions.connect(lambda: answers.ask("a", Double(7)))
    answers.ask("b", Double(2))
    session.change(positions=(0, 9), model=open_table(helix(50), name="other"))
    assert list(session.answers) == []
    assert len(hand_jobs.waiting) == 1
    hand_jobs.deliver_all()
    assert session.answers["a"].result == 14


def test_results_are_bounded_by_bytes(session, hand_jobs):
    answers = Answers(session, hand_jobs, max_bytes=1000)
    for name in ("one", "two", "three"):
        answers.ask("a", Many(name, 400))
        hand_jobs.deliver_all()
    answers.ask("a", Many("three", 400))
    answers.ask("a", Many("two", 400))
    assert ANSWERED == ["one", "two", "three"]
    answers.ask("a", Many("one", 400))
    hand_jobs.deliver_all()
    assert ANSWERED == ["one", "two", "three", "one"]
    answers.close()


def test_directions_are_shared_by_all_questions_about_a_model(session, answers, hand_jobs):
    seen = []

    @dataclass(frozen=True)
    class Look:
        n: int

        def answer(self, about: QuestionContext) -> bool:
            seen.append(about.stream.directions(Subject("P")))
            return True

    for n in range(2):
        answers.ask("a", Look(n))
        hand_jobs.deliver_all()
    assert seen[0] is seen[1]


def test_shared_results_go_with_the_model(session, answers, hand_jobs, open_table, helix):
    @dataclass(frozen=True)
    class Look:
        n: int

        def answer(self, about: QuestionContext) -> str:
            return about.cache("key", lambda: f"found by {self.n}")

    for n in range(2):
        answers.ask("a", Look(n))
        hand_jobs.deliver_all()
        assert session.answers["a"].result == "found by 0"
    session.model = open_table(helix(50), name="other")
    answers.ask("a", Look(2))
    hand_jobs.deliver_all()
    assert session.answers["a"].result == "found by 2"


def test_closing_gives_everything_up(session, hand_jobs):
    answers = Answers(session, hand_jobs)
    answers.ask("a", Double(2))
    answers.close()
    assert not hand_jobs.waiting
    session.model = None  # nobody listens any more
    assert answers._model is not None


def test_progress_is_passed_on_now_and_then(monkeypatch):
    now, told = [100.0], []
    monkeypatch.setattr("gui.services.questions.time.monotonic", lambda: now[0])
    tell = ProgressThrottle(lambda progress: told.append(progress.fraction))
    for fraction, later in ((0.1, 0.0), (0.2, 0.01), (0.3, 0.03), (0.4, 0.02), (0.5, 0.0)):
        now[0] += later
        tell(Progress(fraction))
    assert told == [0.1, 0.4]


def test_a_partial_result_is_passed_on_with_the_next_progress(monkeypatch):
    now, told = [100.0], []
    monkeypatch.setattr("gui.services.questions.time.monotonic", lambda: now[0])
    tell = ProgressThrottle(lambda progress: told.append(progress.so_far))
    for so_far, later in ((None, 0.0), ("some", 0.01), (None, 1.0), ("more", 1.0), (None, 1.0)):
        now[0] += later
        tell(Progress(0.5, "", so_far))
    assert told == [None, "some", "more", "more"]


def test_resolve_and_check_between_steps(model):
    def check() -> None:
        if len(ANSWERED) == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        resolve(Slow(9), QuestionContext(model, raise_if_cancelled=check))
    assert ANSWERED == [0, 1]
    told = []
    about = QuestionContext(model, report=told.append)
    assert resolve(Double(4), about) == 8
    assert resolve(Slow(3), about) == 3
    assert [progress.message for progress in told] == ["Step 1", "Step 2", "Step 3"]


def test_real_threads_answer_side_by_side_and_stop_when_cancelled(qtbot, session, thread_jobs):
    """One job that runs until it is cancelled keeps no other from being answered."""
    begun, ended = threading.Event(), threading.Event()

    @dataclass(frozen=True)
    class Endless:
        def steps(self, about: QuestionContext) -> Iterator[Progress]:
            begun.set()
            try:
                while True:
                    yield Progress(None, "On and on")
            finally:
                ended.set()

    answers = Answers(session, thread_jobs(session))
    answers.ask("long", Endless())
    assert begun.wait(10)
    answers.ask("short", Double(21))
    qtbot.waitUntil(lambda: "short" in session.answers)
    assert session.answers["short"].result == 42
    qtbot.waitUntil(lambda: session.answers.get("long") is not None)
    assert session.answers["long"].state == "working"
    answers.cancel("long")
    assert session.answers["long"].state == "cancelled"
    assert ended.wait(10)
    answers.close()


def test_directions_are_read_from_disk_again(gpt2_folder: Path, tmp_path: Path, monkeypatch):
    from geometry.models.sources.opening import open_model

    @dataclass(frozen=True)
    class First:
        def answer(self, about: QuestionContext) -> float:
            return float(about.stream.directions(Subject("P")).singular_values[0])

    for _ in range(2):
        session = Session()
        session.model = open_model(gpt2_folder)
        answers = Answers(session, InlineJobs())
        answers.ask("a", First())
        assert session.answers["a"].result == pytest.approx(61.945, abs=1e-3)
        answers.close()
        # From now on nothing is decomposed.
        monkeypatch.setattr("geometry.models.residual_stream.singular_directions", None)
