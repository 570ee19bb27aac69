"""Linear algebra kept to one thread for a while, whoever else asks for the same meanwhile."""

from threading import Event, Thread

import pytest
from threadpoolctl import ThreadpoolController

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.threads import WIDEST, one_thread, threads_for

PATIENCE = 30
BLAS = ThreadpoolController().select(user_api="blas")


def blas_threads():
    return {library["num_threads"] for library in BLAS.info()}


def run(*functions):
    workers = [Thread(target=function) for function in functions]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)


@pytest.fixture(autouse=True)
def two_threads():
    limits = []
    # threadpoolctl lets one thread at a time change limits, until that thread ends.
    run(lambda: limits.append(BLAS.limit(limits=2)))
    yield
    run(limits[0].restore_original_limits)


def test_one_thread_inside_and_as_before_outside_however_nested():
    with one_thread():
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_blocks_of_two_threads_may_overlap():
    first_in, second_in, first_out = Event(), Event(), Event()

    def first():
        with one_thread():
            first_in.set()
            assert second_in.wait(PATIENCE)
        first_out.set()

    def second():
        assert first_in.wait(PATIENCE)
        with one_thread():
            second_in.set()
            assert first_out.wait(PATIENCE)

    run(first, second)
    assert first_out.is_set()
    assert blas_threads() == {2}


@pytest.mark.parametrize(("width", "expected"), [(WIDEST, {1}), (WIDEST + 1, {2})])
def test_a_report_takes_one_thread_unless_the_model_is_wide(width, expected):
    with threads_for(width):
        assert blas_threads() == expected
    assert blas_threads() == {2}


def test_the_command_report_takes_one_thread(command, tmp_path, monkeypatch):
    seen = []

    def describe(*_):
        seen.append(blas_threads())
        raise HelixscopeError("It stops here.")

    monkeypatch.setattr("gui.commands.report_files.describe", describe)
    command("report", "sample", "--out", tmp_path, "--no-figures")
    assert seen == [{1}]
