"""A Hub that many threads read from, and the connections to it."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import Hub
from tests.geometry.hub_asking import ADDRESS, DATA, WEIGHTS, open_sockets
from tests.loopback_hub import Fault


def test_nine_threads_read_at_once(served, hub):
    names = [f"model-{n}.safetensors" for n in range(9)]
    data = {name: DATA[n:] + DATA[:n] for n, name in enumerate(names)}
    served.redirect = True
    served.add(ADDRESS.repo, data)
    arrived = threading.Barrier(9)

    def read(name: str) -> bytes:
        arrived.wait(30)
        file = hub.open_file(ADDRESS, name, Transfer())
        return b"".join(file.read_at(at, 70_000).tobytes() for at in range(0, 700_000, 70_000))

    for _ in range(3):
        with ThreadPoolExecutor(9) as pool:
            assert dict(zip(names, pool.map(read, names), strict=True)) == data


def test_several_threads_read_one_file(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    starts = range(100_000, 600_000, 50_000)
    with ThreadPoolExecutor(9) as pool:
        parts = list(pool.map(lambda at: file.read_at(at, 50_000).tobytes(), starts))
    assert b"".join(parts) == DATA[100_000:600_000]


def test_the_client_librarys_own_failures_do_not_touch_us(served, hub):
    """It closes its shared client, under every thread, when one of its requests cannot connect."""
    from huggingface_hub.utils import get_session, http_backoff

    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    gate = threading.Semaphore(0)
    slow = served.fault(Fault.slow(50_000, gate))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(file.read_at, 200_000, 300_000)
        assert slow.reached.wait(30)
        shared = get_session()
        with pytest.raises(httpx2.ConnectError):
            http_backoff("GET", "http://127.0.0.1:1", max_retries=0)
        assert shared.is_closed
        gate.release(100)
        assert reading.result(30).tobytes() == DATA[200_000:500_000]
    assert len(served.requests) == 2


def test_connections_are_kept_for_the_next_request_and_closed_with_the_hub(served):
    hub = Hub()
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    for at in range(100_000, 200_000, 10_000):
        file.read_at(at, 10)
    assert len(served._hub._connections) == 1
    hub.close()
    # Not the last word: what is asked later gets a new connection.
    assert file.read_at(300_000, 10).tobytes() == DATA[300_000:300_010]
    del file, hub
    gc.collect()
    assert not open_sockets(served)
