"""Transfers: what they tell, and that they can be stopped from another thread at every stage."""

import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest

from geometry.hub.address import HubAddress
from geometry.hub.client import Hub, Retries
from geometry.hub.transfer import Cancelled, Transfer, TransferProgress
from tests.loopback_hub import Fault, LoopbackHub, Playing

ADDRESS = HubAddress("openai-community/gpt2")
WEIGHTS = "model.safetensors"
DATA = np.random.default_rng(4).integers(0, 256, 500_000, dtype=np.uint8).tobytes()
FOREVER = 3600.0


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that transfers look at."""
    clock = Clock()
    monkeypatch.setattr("geometry.hub.transfer.time", clock)
    return clock


@pytest.fixture
def told() -> list[TransferProgress]:
    """What was told."""
    return []


# ---- telling -------------------------------------------------------------------------------


def test_the_first_and_the_last_are_always_told(told: list[TransferProgress], clock: Clock):
    transfer = Transfer(told.append, interval_s=FOREVER)
    transfer.begin("wpe.weight", 100)
    for _ in range(10):
        transfer.advance(10)
    assert told == [
        TransferProgress("wpe.weight", 0, 100, None),
        TransferProgress("wpe.weight", 100, 100, None),
    ]


def test_in_between_it_is_told_now_and_then(told: list[TransferProgress], clock: Clock):
    transfer = Transfer(told.append, interval_s=0.05)
    transfer.begin("a", 1000)
    for _ in range(100):
        clock.now += 0.01
        transfer.advance(10)
    assert 15 <= len(told) <= 25
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done == 1000


def test_the_speed_is_that_of_the_last_seconds(told: list[TransferProgress], clock: Clock):
    transfer = Transfer(told.append, interval_s=0)
    transfer.begin("a", 10_000_000)
    for nbytes in (1000, 5000):
        for _ in range(40):
            clock.now += 0.1
            transfer.advance(nbytes)
        assert told[-1].bytes_per_second == pytest.approx(nbytes / 0.1)
    assert [one.bytes_per_second for one in told[:2]] == [None, None]


def test_a_wait_is_told_with_its_reason(told: list[TransferProgress]):
    transfer = Transfer(told.append, interval_s=FOREVER)
    transfer.begin("a", 10)
    transfer.advance(5)
    transfer.wait(0, "The Hub is busy.")
    assert [(one.done, one.waiting) for one in told] == [(0, ""), (5, "The Hub is busy."), (5, "")]


@pytest.mark.parametrize(
    ("steps", "said"), [(0, ["0"]), (0.5, ["0.5"]), (3, ["3", "2", "1"]), (2.5, ["2.5", "2", "1"])]
)
def test_a_wait_counts_down(told: list[TransferProgress], steps: float, said: list[str]):
    step = 1 / 64
    Transfer(told.append).wait(steps * step, lambda left: f"{left / step:g}", step_s=step)
    assert [one.waiting for one in told] == [*said, ""]


def test_a_countdown_ends_when_it_is_cancelled(told: list[TransferProgress]):
    transfer = Transfer(told.append)

    def say(left: float) -> str:
        if left == 3 / 64:
            transfer.cancel()
        return f"{64 * left:g} left."

    with pytest.raises(Cancelled):
        transfer.wait(5 / 64, say, step_s=1 / 64)
    assert told[-1].waiting == "3 left."


def test_who_knows_a_better_name_keeps_it(told: list[TransferProgress]):
    transfer = Transfer(told.append)
    transfer.begin("wpe.weight", 100)
    transfer.ensure("model.safetensors", 100)
    transfer.advance(60)
    transfer.ensure("model.safetensors", 40)
    assert {one.what for one in told} == {"wpe.weight"}
    transfer.ensure("model.safetensors", 41)
    assert told[-1] == TransferProgress("model.safetensors", 0, 41, told[-1].bytes_per_second)


def test_it_counts(told: list[TransferProgress]):
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


# ---- stopping ------------------------------------------------------------------------------


def test_nothing_starts_once_it_is_cancelled():
    transfer = Transfer()
    transfer.check()
    transfer.cancel()
    transfer.cancel()
    assert transfer.cancelled
    with pytest.raises(Cancelled):
        transfer.check()
    with pytest.raises(Cancelled):
        transfer.wait(FOREVER, "")
    with pytest.raises(Cancelled), transfer.interruptible(lambda: pytest.fail("not under way")):
        pytest.fail("must not start")


def test_what_fails_because_of_it_is_a_cancellation():
    transfer = Transfer()
    stopped = []

    def fail() -> None:
        with transfer.interruptible(lambda: stopped.append(1)):
            transfer.cancel()
            raise OSError("cut")

    with pytest.raises(Cancelled):
        fail()
    assert stopped == [1]


def test_what_fails_by_itself_is_not():
    transfer = Transfer()
    with pytest.raises(OSError, match="cut"), transfer.interruptible(lambda: None):
        raise OSError("cut")


def test_what_has_ended_is_not_stopped():
    transfer = Transfer()
    with transfer.interruptible(lambda: pytest.fail("has ended")):
        pass
    transfer.cancel()


def test_a_cancellation_says_what_to_do():
    assert str(Cancelled()).endswith(".")
    assert Cancelled().advice


# ---- stopping what waits for a server ------------------------------------------------------


class Stage:
    """Something under way on another thread, which is stopped there.

    Its network never times out: if it were not stopped, the thread would not end.
    """

    def __init__(self, retries: Retries | None = None) -> None:
        self.hub = Hub(timeout_s=FOREVER, retries=retries or Retries())
        self.waiting = threading.Event()
        self.transfer = Transfer(lambda progress: progress.waiting and self.waiting.set())
        self.outcome: object = None

    def stopped_while(self, ask: Callable[[Transfer], object], ready: threading.Event) -> object:
        """Cancel as soon as it is ready for that; what came of it, once its thread has ended."""

        def run() -> None:
            try:
                self.outcome = ask(self.transfer)
            except Exception as error:
                self.outcome = error

        before = set(threading.enumerate())
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert ready.wait(30)
        self.transfer.cancel()
        thread.join(30)
        assert not thread.is_alive()
        workers = {t for t in threading.enumerate() if "process_request_thread" not in t.name}
        assert workers <= before
        return self.outcome


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Nothing under way yet."""
    stage = Stage()
    yield stage
    stage.hub.close()


@pytest.fixture
def served(loopback_hub: LoopbackHub) -> LoopbackHub:
    """A Hub with one model."""
    loopback_hub.add(ADDRESS.repo, {WEIGHTS: DATA, "config.json": b"{}"})
    return loopback_hub


def client_sockets(server: LoopbackHub) -> list[socket.socket]:
    """This process's open sockets to the server."""
    ports = {int(host.url.rpartition(":")[2]) for host in (server._hub, server._storage)}
    found = []
    for thing in gc.get_objects():
        if issubclass(type(thing), socket.socket) and thing.fileno() >= 0:
            with suppress(OSError):
                if thing.getpeername()[1] in ports:
                    found.append(thing)
    return found


ASKS: dict[str, Callable[[Hub, Transfer], object]] = {
    "open": lambda hub, transfer: hub.open_file(ADDRESS, WEIGHTS, transfer),
    "fetch": lambda hub, transfer: hub.fetch(ADDRESS, "config.json", transfer),
    "list": lambda hub, transfer: hub.list_files(ADDRESS, transfer),
    "search": lambda hub, transfer: hub.search("gpt2", transfer=transfer),
}
FAULTS = {
    "no answer": Fault.stall(),
    "no body": Fault.stall(0),
    "half a body": Fault.stall(1),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("ask", ASKS)
def test_every_request_can_be_stopped(served: LoopbackHub, stage: Stage, ask: str, fault: str):
    playing = served.fault(FAULTS[fault])
    outcome = stage.stopped_while(lambda t: ASKS[ask](stage.hub, t), playing.reached)
    assert isinstance(outcome, Cancelled)
    assert len(served.requests) == 1
    assert not client_sockets(served)
    # Nothing is broken for those who come after.
    assert ASKS[ask](stage.hub, Transfer())


@pytest.mark.parametrize("ask", ASKS)
def test_nothing_is_asked_once_it_is_cancelled(served: LoopbackHub, stage: Stage, ask: str):
    stage.transfer.cancel()
    with pytest.raises(Cancelled):
        ASKS[ask](stage.hub, stage.transfer)
    assert not served.requests


def reading(stage: Stage, nbytes: int = 300_000) -> Callable[[Transfer], object]:
    """Open a file, and then read from it over the same connection under another transfer."""
    file = stage.hub.open_file(ADDRESS, WEIGHTS, Transfer())

    def read(transfer: Transfer) -> object:
        file.transfer = transfer
        return file.read_at(150_000, nbytes)

    return read


@pytest.mark.parametrize("redirect", [False, True])
@pytest.mark.parametrize("fault", [Fault.stall(), Fault.stall(0), Fault.stall(170_000)])
def test_a_part_can_be_stopped(served: LoopbackHub, stage: Stage, fault: Fault, redirect: bool):
    served.redirect = redirect
    read = reading(stage)
    playing = served.fault(fault)
    assert isinstance(stage.stopped_while(read, playing.reached), Cancelled)
    assert not client_sockets(served)
    assert read(Transfer()).tobytes() == DATA[150_000:450_000]


@pytest.mark.parametrize("fault", [Fault.status(429, {"Retry-After": "59"}), Fault.status(503)])
@pytest.mark.parametrize("ask", [*ASKS, "read"])
def test_the_wait_before_another_attempt_can_be_stopped(
    served: LoopbackHub, fault: Fault, ask: str
):
    stage = Stage(Retries(first_wait_s=FOREVER, longest_wait_s=FOREVER))
    asks = reading(stage) if ask == "read" else lambda transfer: ASKS[ask](stage.hub, transfer)
    served.forget_requests()
    served.fault(fault)
    assert isinstance(stage.stopped_while(asks, stage.waiting), Cancelled)
    assert len(served.requests) == 1
    stage.hub.close()
    assert not client_sockets(served)


def test_a_whole_download_can_be_stopped_before_the_part(served: LoopbackHub, stage: Stage):
    served.fault(Fault.ignore_range(), times=None)
    file = stage.hub.open_file(ADDRESS, WEIGHTS, Transfer(), whole=True)
    stage.hub.close()
    # Begun, extended by what comes before, and a first piece of that.
    file.transfer = stopping_after(3)
    with pytest.raises(Cancelled):
        file.read_at(len(DATA) - 10, 10)
    assert 0 < file.transfer.bytes_received < len(DATA)
    assert not client_sockets(served)


def test_a_handshake_can_be_stopped(stage: Stage, monkeypatch: pytest.MonkeyPatch, hub_home):
    """A server that takes the connection, and the client's hello, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"https://127.0.0.1:{server.getsockname()[1]}")
        greeted = threading.Event()
        monkeypatch.setattr("geometry.hub.connections._CONNECT_S", FOREVER)

        def take() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                greeted.set()
                while connection.recv(4096):
                    pass

        taking = threading.Thread(target=take, daemon=True)
        taking.start()
        outcome = stage.stopped_while(lambda t: ASKS["open"](stage.hub, t), greeted)
        taking.join(30)
        assert not taking.is_alive(), "the socket was left open"
    assert isinstance(outcome, Cancelled)


def test_a_connection_that_comes_about_too_late_is_not_used(
    served: LoopbackHub, stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    """Connecting itself cannot be stopped; here it is just over when someone cancels."""
    served.fault(Fault.stall())
    connecting, cancelled = threading.Event(), threading.Event()
    connect = socket.create_connection

    def slowly(*args: object, **kwargs: object) -> socket.socket:
        connecting.set()
        assert cancelled.wait(30)
        return connect(*args, **kwargs)

    monkeypatch.setattr(socket, "create_connection", slowly)
    cancel = stage.transfer.cancel
    stage.transfer.cancel = lambda: (cancel(), cancelled.set())
    assert isinstance(
        stage.stopped_while(lambda t: ASKS["open"](stage.hub, t), connecting), Cancelled
    )
    assert not client_sockets(served)


def opening(hub: Hub, transfer: Transfer) -> bytes:
    """Everything that fetching a tensor asks for."""
    file = hub.open_file(ADDRESS, WEIGHTS, transfer)
    hub.fetch(file.address, "config.json", transfer)
    return file.read_at(150_000, 300_000).tobytes()


def stopping_after(count: int) -> Transfer:
    """A transfer that another thread stops when it has told of its progress so many times."""
    calls = iter(range(count, -1, -1))

    def on_progress(_: TransferProgress) -> None:
        if next(calls, -1) == 1:
            thread = threading.Thread(target=transfer.cancel)
            thread.start()
            thread.join()

    transfer = Transfer(on_progress, interval_s=0)
    return transfer


@pytest.mark.parametrize("redirect", [False, True])
def test_it_may_be_stopped_at_any_moment(
    served: LoopbackHub, stage: Stage, told: list[TransferProgress], redirect: bool
):
    served.redirect = redirect
    complete = opening(stage.hub, Transfer(told.append, interval_s=0))
    assert complete == DATA[150_000:450_000]
    for count in range(1, len(told)):
        with pytest.raises(Cancelled):
            opening(stage.hub, stopping_after(count))
        stage.hub.close()
        assert not client_sockets(served)
    assert opening(stage.hub, Transfer()) == complete


def test_nine_at_once_are_stopped_one_by_one(served: LoopbackHub, stage: Stage):
    gate = threading.Semaphore(0)
    playing: list[Playing] = [served.fault(Fault.slow(30_000, gate)) for _ in range(9)]
    transfers = [Transfer() for _ in range(9)]
    outcomes: dict[int, object] = {}

    def run(number: int) -> None:
        try:
            outcomes[number] = stage.hub.open_file(ADDRESS, WEIGHTS, transfers[number]).size()
        except Cancelled as error:
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(9)]
    for thread in threads:
        thread.start()
    assert all(one.reached.wait(30) for one in playing)
    for number in range(0, 9, 2):
        transfers[number].cancel()
        threads[number].join(30)
    gate.release(100)
    for thread in threads:
        thread.join(30)
    for before, after in pairwise(range(9)):
        assert isinstance(outcomes[before], Cancelled) != isinstance(outcomes[after], Cancelled)
    assert isinstance(outcomes[0], Cancelled)
    assert outcomes[1] == len(DATA)
