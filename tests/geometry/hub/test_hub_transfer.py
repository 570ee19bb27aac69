"""Transfers: what they tell, and what it means to stop them."""

import threading

import pytest

from geometry.checkpoints.transfer import Cancelled, Transfer, TransferProgress
from tests.geometry.hub_asking import FOREVER


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """The clock that transfers look at."""
    clock = Clock()
    monkeypatch.setattr("geometry.checkpoints.transfer.time", clock)
    return clock


@pytest.fixture
def told() -> list[TransferProgress]:
    """What was told."""
    return []


def test_the_first_and_the_last_are_always_told(told, clock):
    transfer = Transfer(told.append, interval_s=FOREVER)
    transfer.begin("wpe.weight", 100)
    for _ in range(10):
        transfer.advance(10)
    assert told == [
        TransferProgress("wpe.weight", 0, 100, None),
        TransferProgress("wpe.weight", 100, 100, None),
    ]


def test_in_between_it_is_told_now_and_then(told, clock):
    transfer = Transfer(told.append, interval_s=0.05)
    transfer.begin("a", 1000)
    for _ in range(100):
        clock.now += 0.01
        transfer.advance(10)
    assert 15 <= len(told) <= 25
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done == 1000


def test_the_speed_is_that_of_the_last_seconds(told, clock):
    transfer = Transfer(told.append, interval_s=0)
    transfer.begin("a", 10_000_000)
    for nbytes in (1000, 5000):
        for _ in range(40):
            clock.now += 0.1
            transfer.advance(nbytes)
        assert told[-1].bytes_per_second == pytest.approx(nbytes / 0.1)
    assert [one.bytes_per_second for one in told[:2]] == [None, None]


def test_a_wait_is_told_with_its_reason(told):
    transfer = Transfer(told.append, interval_s=FOREVER)
    transfer.begin("a", 10)
    transfer.advance(5)
    transfer.wait(0, "The Hub is busy.")
    assert [(one.done, one.waiting) for one in told] == [(0, ""), (5, "The Hub is busy."), (5, "")]


@pytest.mark.parametrize(
    ("steps", "said"), [(0, ["0"]), (0.5, ["0.5"]), (3, ["3", "2", "1"]), (2.5, ["2.5", "2", "1"])]
)
def test_a_wait_counts_down(told, steps, said):
    step = 1 / 64
    Transfer(told.append).wait(steps * step, lambda left: f"{left / step:g}", step_s=step)
    assert [one.waiting for one in told] == [*said, ""]


def test_a_countdown_ends_when_it_is_cancelled(told):
    transfer = Transfer(told.append)

    def say(left: float) -> str:
        if left == 3 / 64:
            transfer.cancel()
        return f"{64 * left:g} left."

    with pytest.raises(Cancelled):
        transfer.wait(5 / 64, say, step_s=1 / 64)
    assert told[-1].waiting == "3 left."


def test_who_knows_a_better_name_keeps_it(told):
    transfer = Transfer(told.append)
    transfer.begin("wpe.weight", 100)
    transfer.ensure("model.safetensors", 100)
    transfer.advance(60)
    transfer.ensure("model.safetensors", 40)
    assert {one.what for one in told} == {"wpe.weight"}
    transfer.ensure("model.safetensors", 41)
    assert told[-1] == TransferProgress("model.safetensors", 0, 41, told[-1].bytes_per_second)


def test_it_counts(told):
    transfer = Transfer()
    threads = [
        threading.Thread(target=lambda: [transfer.advance(3) for _ in range(1000)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    transfer.skip(5)
    transfer.count_request()
    assert (transfer.bytes_received, transfer.requests) == (24_005, 1)


def test_nothing_starts_once_it_is_cancelled():
    transfer = Transfer()
    transfer.check()
    with transfer.interruptible(lambda: pytest.fail("has ended")):
        pass
    transfer.cancel()
    transfer.cancel()
    assert transfer.cancelled
    for start in (transfer.check, lambda: transfer.wait(FOREVER, "")):
        with pytest.raises(Cancelled):
            start()
    with pytest.raises(Cancelled), transfer.interruptible(lambda: pytest.fail("not under way")):
        pytest.fail("must not start")
    assert str(Cancelled()).endswith(".")
    assert Cancelled().advice


def test_its_consequences_are_cancellations_too():
    transfer = Transfer()
    stopped = []

    def fail(*, cancelled: bool) -> None:
        with transfer.interruptible(lambda: stopped.append(1)):
            if cancelled:
                transfer.cancel()
            raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        fail(cancelled=False)
    assert stopped == []
    with pytest.raises(Cancelled):
        fail(cancelled=True)
    assert stopped == [1]
