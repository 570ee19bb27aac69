"""Whatever waits for a Hub can be stopped from another thread, at every stage."""

import socket
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from geometry.checkpoints.transfer import Cancelled, Transfer, TransferProgress
from geometry.hub.client import Hub, Retries
from tests.geometry.hub_asking import ADDRESS, ASKS, DATA, FOREVER, WEIGHTS, open_sockets
from tests.loopback.hub import Fault, Playing


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


FAULTS = {"no answer": Fault.stall(), "no body": Fault.stall(0), "half a body": Fault.stall(1)}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("ask", ASKS)
def test_every_request_can_be_stopped(served, stage, ask, fault):
    playing = served.fault(FAULTS[fault])
    outcome = stage.stopped_while(lambda t: ASKS[ask](stage.hub, ADDRESS, t), playing.reached)
    assert isinstance(outcome, Cancelled)
    assert len(served.requests) == 1
    assert not open_sockets(served)
    # Nothing is broken for those who come after.
    assert ASKS[ask](stage.hub, ADDRESS, Transfer())


@pytest.mark.parametrize("ask", ASKS)
def test_nothing_is_asked_once_it_is_cancelled(served, stage, ask):
    stage.transfer.cancel()
    with pytest.raises(Cancelled):
        ASKS[ask](stage.hub, ADDRESS, stage.transfer)
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
def test_a_part_can_be_stopped(served, stage, fault, redirect):
    served.redirect = redirect
    read = reading(stage)
    playing = served.fault(fault)
    assert isinstance(stage.stopped_while(read, playing.reached), Cancelled)
    assert not open_sockets(served)
    assert read(Transfer()).tobytes() == DATA[150_000:450_000]


@pytest.mark.parametrize("fault", [Fault.status(429, {"Retry-After": "59"}), Fault.status(503)])
@pytest.mark.parametrize("ask", [*ASKS, "read"])
def test_the_wait_before_another_attempt_can_be_stopped(served, fault, ask):
    stage = Stage(Retries(first_wait_s=FOREVER, longest_wait_s=FOREVER))
    asks = (
        reading(stage)
        if ask == "read"
        else lambda transfer: ASKS[ask](stage.hub, ADDRESS, transfer)
    )
    served.forget_requests()
    served.fault(fault)
    assert isinstance(stage.stopped_while(asks, stage.waiting), Cancelled)
    assert len(served.requests) == 1
    stage.hub.close()
    assert not open_sockets(served)


def test_a_whole_download_can_be_stopped_before_the_part(served, stage):
    served.fault(Fault.ignore_range(), times=None)
    file = stage.hub.open_file(ADDRESS, WEIGHTS, Transfer(), whole=True)
    stage.hub.close()
    # Begun, extended by what comes before, and a first piece of that.
    file.transfer = stopping_after(3)
    with pytest.raises(Cancelled):
        file.read_at(len(DATA) - 10, 10)
    assert 0 < file.transfer.bytes_received < len(DATA)
    assert not open_sockets(served)


def test_a_handshake_can_be_stopped(stage, monkeypatch, hub_home):
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
        outcome = stage.stopped_while(lambda t: ASKS["open"](stage.hub, ADDRESS, t), greeted)
        taking.join(30)
        assert not taking.is_alive(), "the socket was left open"
    assert isinstance(outcome, Cancelled)


def test_a_connection_that_comes_about_too_late_is_not_used(served, stage, monkeypatch):
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
        stage.stopped_while(lambda t: ASKS["open"](stage.hub, ADDRESS, t), connecting), Cancelled
    )
    assert not open_sockets(served)


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


def test_nine_at_once_are_stopped_one_by_one(served, stage):
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
