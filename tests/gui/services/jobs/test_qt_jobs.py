"""Background jobs on real threads, delivered on the GUI thread."""

import os
import queue
import sys
import threading

import pytest
import shiboken6
from PySide6.QtCore import QThread

from geometry.checkpoints.errors import HelixscopeError
from gui.services.jobs import jobs as slots
from gui.services.jobs.jobs import GuiFirst, InlineJobs, Job
from gui.services.jobs.qt_jobs import NICE, QtJobs
from gui.state.session import Session


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def jobs(thread_jobs, session):
    return thread_jobs(session)


class Gate:
    """A job that says when it has begun and ends when it is told to."""

    def __init__(self, result=None):
        self.begun, self.open = threading.Event(), threading.Event()
        self.result = result

    def __call__(self):
        self.begun.set()
        assert self.open.wait(10)
        return self.result


def unexpected(error):
    raise AssertionError("no error was expected") from error


def test_runs_elsewhere_and_delivers_here(qtbot, jobs, session):
    results = []

    def where():
        return threading.current_thread().name, QThread.isMainThread()

    jobs.start("a", Job(where, lambda r: results.append((*r, QThread.isMainThread())), unexpected))
    assert session.jobs == 1
    assert results == []
    qtbot.waitUntil(lambda: bool(results))
    name, in_main, delivered_in_main = results[0]
    assert name.startswith("helixscope")
    assert not in_main
    assert delivered_in_main
    assert session.jobs == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for each thread")
@pytest.mark.parametrize("more", [{}, {"stop": lambda: None}], ids=["shared", "own thread"])
def test_the_window_goes_before_its_jobs(qtbot, jobs, more):
    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    found = []
    jobs.start("a", Job(priority, found.append, unexpected, **more))
    qtbot.waitUntil(lambda: bool(found))
    assert found[0] == min(priority() + NICE, 19)


def test_only_what_takes_long_is_announced(qtbot, jobs, session, monkeypatch):
    said, gate = [], Gate("done")
    with monkeypatch.context() as patient:
        patient.setattr("gui.services.jobs.qt_jobs.SLOW_MS", 60_000)
        jobs.start(
            "quick", Job(lambda: None, lambda _: None, unexpected, lambda: said.append("quick"))
        )
        qtbot.waitUntil(lambda: session.jobs == 0)
    jobs.start("given up", Job(gate, said.append, unexpected, lambda: said.append("given up")))
    jobs.cancel("given up")
    jobs.start("slow", Job(gate, said.append, unexpected, lambda: said.append("slow")))
    qtbot.waitUntil(lambda: said == ["slow"])
    gate.open.set()
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert said == ["slow", "done"]


def test_exceptions_and_follow_up_jobs(qtbot, jobs, session):
    errors = []

    def broken():
        raise KeyError("wpe")

    jobs.start("a", Job(broken, lambda _: errors.append("a result"), errors.append))
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert [type(e) for e in errors] == [KeyError]
    assert errors[0].__traceback__ is not None
    results = []
    jobs.start("a", Job(lambda: 1, results.append, unexpected))
    jobs.start("b", Job(lambda: 2, results.append, unexpected))
    jobs.cancel("c")
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert sorted(results) == [1, 2]
    results = []

    def then(result):
        jobs.start("a", Job(lambda: result + 1, results.append, unexpected))

    jobs.start("a", Job(lambda: 1, then, unexpected))
    qtbot.waitUntil(lambda: results == [2])
    assert session.jobs == 0


def test_the_newest_of_a_slot_wins_even_if_it_ends_first(qtbot, jobs, session):
    slow, results = Gate("old"), []
    jobs.start("a", Job(slow, results.append, unexpected))
    assert slow.begun.wait(10)
    jobs.start("a", Job(lambda: "new", results.append, unexpected))
    qtbot.waitUntil(lambda: results == ["new"])
    assert session.jobs == 1
    slow.open.set()
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert results == ["new"]


def test_a_result_that_is_on_its_way_can_still_be_superseded(qtbot, jobs, session):
    """The thread has finished, but the GUI thread has not come round to it yet."""
    done, results = threading.Event(), []

    def old():
        done.set()
        return "old"

    jobs.start("a", Job(old, results.append, unexpected))
    assert done.wait(10)
    jobs.start("a", Job(lambda: "new", results.append, unexpected))
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert results == ["new"]


def test_an_error_of_a_superseded_job_is_dropped(qtbot, jobs, session):
    gate, results = Gate(), []

    def broken():
        gate()
        raise OSError

    jobs.start("a", Job(broken, unexpected, unexpected))
    assert gate.begun.wait(10)
    jobs.cancel("a")
    gate.open.set()
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert results == []


def test_jobs_that_wait_for_a_thread_are_not_begun_once_superseded(qtbot, jobs, session):
    """A hundred ticks of a slider behind two long jobs: only the last one is computed."""
    gates, begun, results = [Gate(), Gate()], [], []
    for i, gate in enumerate(gates):
        jobs.start(f"long {i}", Job(gate, lambda _: None, unexpected))
        assert gate.begun.wait(10)
    for tick in range(100):
        jobs.start(
            "a", Job(lambda tick=tick: begun.append(tick) or tick, results.append, unexpected)
        )
    assert session.jobs == 102
    for gate in gates:
        gate.open.set()
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert begun == results == [99]


def test_shutdown_waits_and_delivers_nothing(qtbot, session, qapp, new_pool_threads):
    jobs, gate, results = QtJobs(session, qapp), Gate("late"), []
    jobs.start("a", Job(gate, results.append, unexpected))
    jobs.start("b", Job(lambda: "never begun or dropped", results.append, unexpected))
    assert gate.begun.wait(10)
    threading.Timer(0.05, gate.open.set).start()
    jobs.shut_down()
    assert not new_pool_threads()
    qtbot.wait(0)
    assert results == []
    assert session.jobs == 0


def test_what_is_being_saved_is_saved_when_all_is_shut_down(qtbot, session, qapp, caplog):
    jobs, gates, done = QtJobs(session, qapp), (Gate("a"), Gate("b")), []
    for name, gate in zip("ab", gates, strict=True):  # both threads have something to do
        jobs.start(name, Job(gate, done.append, unexpected))
        assert gate.begun.wait(10)
    jobs.start("computed", Job(lambda: done.append("computed"), done.append, unexpected))
    jobs.start("saved", Job(lambda: done.append("saved"), done.append, unexpected, finish=True))
    jobs.start("failed", Job(lambda: 1 / 0, done.append, unexpected, finish=True))
    for gate in gates:
        threading.Timer(0.05, gate.open.set).start()
    jobs.shut_down()
    qtbot.wait(0)
    assert done == ["saved"]
    assert "“failed” failed while the window closed" in caplog.text
    assert session.jobs == 0


def test_what_is_saved_anew_is_given_up_until_all_is_shut_down(qtbot, jobs, session):
    gate, done = Gate("old"), []
    jobs.start("saved", Job(gate, done.append, unexpected, finish=True))
    assert gate.begun.wait(10)
    jobs.start("saved", Job(lambda: "new", done.append, unexpected, finish=True))
    gate.open.set()
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert done == ["new"]


class Steps:
    """A job of two steps, which waits at a gate between them."""

    def __init__(self):
        self.gate, self.first = slots.Gate(), Gate()
        self.done = []

    def __call__(self):
        self.done.append(self.first())
        self.gate.wait()
        self.done.append("second")
        return len(self.done)


def test_held_job_stops_and_resumes(qtbot, jobs, session):
    job, results = Steps(), []
    jobs.start("a", Job(job, results.append, unexpected, stop=lambda: None, gate=job.gate))
    assert job.first.begun.wait(10)
    for _ in range(2):
        jobs.hold("a")
        assert session.jobs == 0
    job.first.open.set()
    jobs.start("b", Job(lambda: "seen", results.append, unexpected))
    qtbot.waitUntil(lambda: results == ["seen"])
    assert "second" not in job.done
    for _ in range(2):
        jobs.resume("a")
        assert session.jobs == 1
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert results == ["seen", 2]
    jobs.hold("a")  # it has finished
    jobs.hold("never begun")
    jobs.resume("a")
    assert session.jobs == 0


@pytest.mark.parametrize("end", ["cancelled", "superseded", "shut down"])
def test_the_thread_of_one_that_is_held_ends_with_it(qtbot, session, qapp, new_pool_threads, end):
    jobs, job, results = QtJobs(session, qapp), Steps(), []
    jobs.start("a", Job(job, results.append, unexpected, stop=lambda: None, gate=job.gate))
    assert job.first.begun.wait(10)  # one that has not begun is not run
    job.first.open.set()
    jobs.hold("a")
    if end == "cancelled":
        jobs.cancel("a")
    elif end == "superseded":
        jobs.start("a", Job(lambda: "newer", results.append, unexpected))
    else:
        jobs.shut_down()
    qtbot.waitUntil(lambda: job.done == [None, "second"])
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert results == ["newer"] * (end == "superseded")
    if end != "shut down":
        jobs.shut_down()
    assert not new_pool_threads()
    shiboken6.delete(jobs)


def test_one_without_steps_finishes_while_it_is_held_and_is_counted_once(qtbot, jobs, session):
    long, results = Gate("long"), []
    jobs.start("a", Job(long, results.append, unexpected, stop=lambda: None, gate=slots.Gate()))
    assert long.begun.wait(10)
    jobs.hold("a")
    long.open.set()
    qtbot.waitUntil(lambda: results == ["long"])
    assert session.jobs == 0


def test_result_is_awaited_or_comes_later(jobs, session, qtbot):
    results = []
    jobs.start("a", Job(lambda: "here", results.append, unexpected))
    jobs.deliver("a", 10_000)
    assert results.pop() == "here"
    assert session.jobs == 0
    jobs.deliver("never started", 10_000)
    gate, results = Gate("late"), []
    jobs.start("a", Job(gate, results.append, unexpected))
    jobs.deliver("a", 1)
    assert results == []
    gate.open.set()
    qtbot.waitUntil(lambda: results == ["late"])


def stoppable(jobs, slot, on_result=lambda _: None, on_error=unexpected, **more):
    """Start a job that ends when it is told to stop; the gate says how it is."""
    gate = Gate(slot)
    jobs.start(slot, Job(gate, on_result, on_error, stop=gate.open.set, **more))
    assert gate.begun.wait(10)
    return gate


def test_progress_is_told_in_order_on_the_gui_thread_and_before_the_result(qtbot, jobs):
    heard, turns = [], queue.SimpleQueue()

    def work(tell):
        for i in range(50):
            tell(i)
            turns.get(timeout=10)
        return "done"

    def hear(what):
        heard.append((what, QThread.isMainThread()))
        turns.put(what)

    jobs.start("a", Job(work, hear, unexpected, on_progress=hear))
    assert heard == []
    qtbot.waitUntil(lambda: ("done", True) in heard)
    assert heard == [(what, True) for what in (*range(50), "done")]


def test_of_progress_that_was_waiting_only_the_newest_is_told(qtbot, jobs):
    heard, told = {"a": [], "b": []}, threading.Barrier(3)

    def work(tell):
        for i in range(50):
            tell(i)
        told.wait(10)
        return "done"

    for slot, hear in heard.items():
        jobs.start(slot, Job(work, hear.append, unexpected, on_progress=hear.append))
    told.wait(10)  # meanwhile no event is handled
    qtbot.waitUntil(lambda: all("done" in one for one in heard.values()))
    assert heard == {"a": [49, "done"], "b": [49, "done"]}


def test_a_job_that_is_given_up_tells_nothing_more(qtbot, jobs, session):
    told, begun, go_on, said = [], threading.Event(), threading.Event(), threading.Event()

    def work(tell):
        tell("on its way")
        begun.set()
        assert go_on.wait(10)
        tell("too late")
        said.set()

    jobs.start("a", Job(work, unexpected, unexpected, on_progress=told.append, stop=go_on.set))
    assert begun.wait(10)
    jobs.cancel("a")
    assert said.wait(10)
    qtbot.waitUntil(lambda: session.jobs == 0)
    assert told == []


@pytest.mark.parametrize("how", ["cancelled", "superseded", "the end"])
def test_a_job_that_is_given_up_is_told_to_stop(qtbot, session, qapp, new_pool_threads, how):
    jobs, results = QtJobs(session, qapp), []
    gate = stoppable(jobs, "a", results.append)
    if how == "cancelled":
        jobs.cancel("a")
    elif how == "superseded":
        jobs.start("a", Job(lambda: "newer", results.append, unexpected))
        qtbot.waitUntil(lambda: results == ["newer"])
    else:
        jobs.shut_down()
    assert gate.open.is_set()
    if how != "the end":
        qtbot.waitUntil(lambda: session.jobs == 0)
        jobs.shut_down()
    assert results == (["newer"] if how == "superseded" else [])
    assert not new_pool_threads()


def test_what_has_ended_is_not_stopped(qtbot, jobs):
    stopped, results = [], []
    for name in ("first", "second"):
        jobs.start(
            "a",
            Job(
                lambda name=name: name,
                results.append,
                unexpected,
                stop=lambda name=name: stopped.append(name),
            ),
        )
        qtbot.waitUntil(lambda name=name: results[-1:] == [name])
    jobs.cancel("a")
    assert stopped == []


def test_jobs_that_wait_for_others_keep_nothing_waiting(qtbot, jobs, session):
    gates = [stoppable(jobs, f"network {i}") for i in range(5)]
    results = []
    jobs.start("a", Job(lambda: "computed", results.append, unexpected))
    qtbot.waitUntil(lambda: results == ["computed"])
    assert session.jobs == len(gates)
    for gate in gates:
        gate.open.set()
    qtbot.waitUntil(lambda: session.jobs == 0)


def test_the_end_does_not_wait_for_what_cannot_be_stopped(session, qapp, monkeypatch):
    """A name that is being looked up: its thread ends later, and tells nobody."""
    monkeypatch.setattr("gui.services.jobs.qt_jobs.PATIENCE_S", 0.0)
    jobs, gate, results = QtJobs(session, qapp), Gate("late"), []
    jobs.start("a", Job(gate, results.append, unexpected, stop=lambda: None))
    assert gate.begun.wait(10)
    thread = next(t for t in threading.enumerate() if t.name == "helixscope-a")
    jobs.shut_down()
    assert thread.is_alive()
    assert thread.daemon
    shiboken6.delete(jobs)
    gate.open.set()
    thread.join(10)
    assert not thread.is_alive()
    assert results == []


def test_inline_jobs_do_the_same_and_tell_at_once():
    jobs, results, errors = InlineJobs(), [], []
    jobs.start("a", Job(lambda: 1, results.append, unexpected))
    jobs.start("a", Job(lambda: 1 / 0, results.append, errors.append))
    jobs.cancel("a")
    assert results == [1]
    assert [type(e) for e in errors] == [ZeroDivisionError]
    heard = []
    InlineJobs().start(
        "a", Job(lambda tell: tell(1) or 2, heard.append, unexpected, on_progress=heard.append)
    )
    assert heard == [1, 2]


class Panic(BaseException):
    """What a library written in Rust raises when it panics."""


def panicking():
    raise Panic("index out of bounds")


@pytest.mark.parametrize("alone", [False, True])
def test_a_panic_of_a_library_ends_the_job_with_a_sentence(qtbot, jobs, session, alone):
    errors = []
    jobs.start(
        "a", Job(panicking, pytest.fail, errors.append, stop=(lambda: None) if alone else None)
    )
    qtbot.waitUntil(lambda: bool(errors))
    assert str(errors[0]) == "An error occurred inside a library."
    assert session.jobs == 0

    InlineJobs().start("a", Job(panicking, pytest.fail, errors.append))
    assert isinstance(errors[1], HelixscopeError)


def test_a_job_at_once_leaves_ctrl_c_alone():
    def stopped():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InlineJobs().start("a", Job(stopped, pytest.fail, pytest.fail))


def test_a_job_that_tells_faster_than_it_is_heard_is_heard(qtbot, jobs):
    heard, ended = [], threading.Event()

    def work(tell):
        i = 0
        while not ended.is_set():
            tell(i := i + 1)
        return "done"

    jobs.start("a", Job(work, heard.append, unexpected, on_progress=heard.append, stop=ended.set))
    qtbot.waitUntil(lambda: len(heard) > 5)
    ended.set()
    qtbot.waitUntil(lambda: "done" in heard)
    assert heard[:-1] == sorted(set(heard[:-1]))


def test_jobs_make_way_while_the_gui_thread_is_busy_but_only_briefly(monkeypatch):
    first, passed, count = GuiFirst(), threading.Event(), []
    monkeypatch.setattr(slots, "YIELD_S", 60.0)

    def work():
        first.yield_to_gui()
        count.append("before")
        passed.set()
        first.yield_to_gui()
        count.append("after")

    with first():
        with first():
            pass
        thread = threading.Thread(target=work)
        thread.start()
        assert not passed.wait(0.05), "the inner block has not let it go"
    thread.join(10)
    assert count == ["before", "after"]
    monkeypatch.setattr(slots, "YIELD_S", 0.001)
    with first():
        first.yield_to_gui()  # as a job that holds what this thread waits for
