"""Openings that are cancelled or killed at every stage: nothing wrong is kept."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.transfer import Cancelled, Transfer
from tests.conftest import ROOT
from tests.geometry.hub_kinds import KINDS, NAME, Served, attempt, cancelled_at, serve_kind_of
from tests.geometry.hub_opening import kept
from tests.loopback_hub import Fault


@pytest.fixture
def serve_kind(loopback_hub, tmp_path) -> Callable[[str], Served]:
    return partial(serve_kind_of, loopback_hub, tmp_path)


@pytest.fixture(params=KINDS)
def served(request, serve_kind) -> Served:
    return serve_kind(request.param)


# ---- cancelled at every stage ----------------------------------------------------------------


def test_cancelled_whenever_something_is_told(served, tmp_path):
    errors: list[HelixscopeError | None] = []
    for number in count(1):
        transfer, told = cancelled_at(number)
        root = tmp_path / f"cache {number}"
        errors.append(attempt(served, root, transfer=transfer))
        served.opens(root)
        if len(told) < number:
            break
    # All but those that came when everything was there already.
    assert len(errors) > 5
    stopped = [isinstance(error, Cancelled) for error in errors]
    assert all(stopped[:-3])
    assert stopped == sorted(stopped, reverse=True)
    assert all(error is None or isinstance(error, Cancelled) for error in errors)


@pytest.mark.parametrize("after_bytes", [None, 10])
def test_cancelled_from_another_thread_at_every_request(after_bytes, served, tmp_path):
    for after in count():
        served.hub.clear_faults()
        playing = served.hub.fault(Fault.stall(after_bytes), after=after)
        root, transfer, ended = tmp_path / f"cache {after}", Transfer(), threading.Event()
        errors: list[HelixscopeError | None] = []
        thread = threading.Thread(
            target=open_and_tell, args=(served, root, transfer, errors, ended, playing.reached)
        )
        thread.start()
        # Set by the server when it stalls, and by the thread when it is done without.
        assert playing.reached.wait(30)
        transfer.cancel()
        thread.join(30)
        assert ended.is_set()
        served.opens(root)
        if not playing.played:
            assert errors == [None]
            break
        assert [type(error) for error in errors] == [Cancelled]
    assert after >= 3


def open_and_tell(
    served: Served, root: Path, transfer: Transfer, errors: list[HelixscopeError | None],
    ended: threading.Event, also: threading.Event,
) -> None:  # fmt: skip
    try:
        errors.append(attempt(served, root, transfer=transfer, timeout_s=30.0))
    finally:
        ended.set()
        also.set()


def test_cancelled_before_it_begins(served, tmp_path):
    transfer = Transfer()
    transfer.cancel()
    served.hub.forget_requests()
    assert isinstance(attempt(served, tmp_path / "cache", transfer=transfer), Cancelled)
    assert served.hub.requests == []


# ---- a process that is killed ----------------------------------------------------------------

OPEN = f"""
import sys
from pathlib import Path
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.checkpoints.transfer import Transfer
from geometry.models.sources import open_source
network = Network(Hub(endpoint=sys.argv[1]), TensorCache(Path(sys.argv[2])), Transfer())
open_source({NAME!r}, network=network)
"""


@pytest.mark.parametrize(("kind", "requests"), [("safetensors", (1, 2)), ("bin", (2, 4))])
def test_a_process_killed_while_it_opens(kind, requests, serve_kind, tmp_path):
    served = serve_kind(kind)
    root = tmp_path / "cache"
    for after in requests:
        playing = served.hub.fault(Fault.stall(10), after=after)
        child = subprocess.Popen([sys.executable, "-c", OPEN, served.hub.url, root], cwd=ROOT)
        try:
            assert playing.reached.wait(60)
        finally:
            child.kill()
            child.wait(30)
        assert not kept(root)
    served.opens(root)
