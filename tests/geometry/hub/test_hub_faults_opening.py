"""Whatever goes wrong, and whoever cancels or kills it: the cache stays sound, the model opens."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.transfer import Cancelled, Transfer
from geometry.hub.faults import HubBusy, HubError, WholeDownload
from geometry.models.sources.opening import open_model
from tests.conftest import ROOT
from tests.geometry.hub_kinds import KINDS, NAME, Served, attempt, cancelled_at, serve_kind_of
from tests.geometry.hub_opening import kept, network_of
from tests.loopback.hub import Fault


@pytest.fixture
def serve_kind(loopback_hub, tmp_path) -> Callable[[str], Served]:
    return partial(serve_kind_of, loopback_hub, tmp_path)


@pytest.fixture(params=KINDS)
def served(request, serve_kind) -> Served:
    return serve_kind(request.param)


#: Times None is for ever.
FAULTS: dict[str, tuple[Fault, int | None]] = {
    "500 once": (Fault.status(500), 1),
    "503 for ever": (Fault.status(503), None),
    "429, now": (Fault.status(429, {"Retry-After": "0"}), 1),
    "429, in an hour": (Fault.status(429, {"Retry-After": "3600"}), 1),
    "401": (Fault.status(401), 1),
    "403, gated": (Fault.status(403, error_code="GatedRepo"), 1),
    "404, no repository": (Fault.status(404, error_code="RepoNotFound"), 1),
    "404, no revision": (Fault.status(404, error_code="RevisionNotFound"), 1),
    "404, no file": (Fault.status(404, error_code="EntryNotFound"), 1),
    "418": (Fault.status(418), 1),
    "refused once": (Fault.refuse(), 1),
    "refused for ever": (Fault.refuse(), None),
    "cut before the first byte": (Fault.cut(0), 1),
    "cut after a byte": (Fault.cut(1), 1),
    "reset after 40 bytes": (Fault.cut(40, reset=True), 1),
    "cut after 40 kB": (Fault.cut(40_000), 1),
    "cut for ever": (Fault.cut(1), None),
    "no answer": (Fault.stall(), 1),
    "stalls after 10 bytes": (Fault.stall(10), 1),
    "no ranges once": (Fault.ignore_range(), 1),
    "no ranges": (Fault.ignore_range(), None),
    "a byte too few": (Fault.wrong_length(-1), 1),
    "a byte too many": (Fault.wrong_length(1), 1),
    "the wrong part": (Fault.garble_content_range(), 1),
    "no part at all": (Fault.garble_content_range("bytes */*"), 1),
    "another file": (Fault.other_etag(), 1),
}  # fmt: skip


def patience(fault: Fault) -> float:
    """Return after how many seconds no answer is one: few where none comes."""
    return 0.3 if fault.kind == "stall" else 10.0


#: One of each kind: how a fault is told does not depend on the kind of file.
OF_EACH_KIND = ("500 once", "503 for ever", "404, no file", "refused once", "cut after a byte",
                "cut for ever", "stalls after 10 bytes", "no ranges", "a byte too few",
                "the wrong part", "another file")  # fmt: skip


#: Those that a second try gets over.
PASSING = ("500 once", "429, now", "refused once", "cut after a byte", "reset after 40 bytes",
           "cut after 40 kB", "no answer", "stalls after 10 bytes")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [("safetensors", name) for name in FAULTS]
    + [(kind, name) for kind in ("bin", "shards") for name in OF_EACH_KIND],
)
def test_every_fault_at_every_request(kind, name, serve_kind, tmp_path):
    served = serve_kind(kind)
    fault, times = FAULTS[name]
    for after in count():
        served.hub.clear_faults()
        playing = served.hub.fault(fault, times=times, after=after)
        root = tmp_path / f"cache {after}"
        error = attempt(served, root, timeout_s=patience(fault))
        if not playing.played:
            break
        if name == "429, in an hour":
            assert isinstance(error, HubBusy)
        assert error is None or name not in PASSING
        if times is None:
            assert error is not None or fault.kind == "ignore_range"
        served.opens(root)
    assert error is None
    assert after >= 2


def test_a_server_without_ranges_says_what_it_costs_and_serves_whole_files(served, tmp_path):
    served.hub.fault(Fault.ignore_range(), times=None)
    error = attempt(served, tmp_path / "cache")
    assert isinstance(error, WholeDownload)
    assert error.nbytes > 98_304
    network = network_of(served.hub, tmp_path / "cache", whole=True)
    np.testing.assert_array_equal(open_model(NAME, network=network).W_pos, served.table)
    # And what came by on the way.
    assert served.sound.items() <= kept(tmp_path / "cache").items()
    served.hub.clear_faults()
    with served.hub.unasked():
        open_model(NAME, network=network_of(served.hub, tmp_path / "cache"))


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from(sorted(FAULTS)), st.integers(0, 8)), max_size=3),
            st.none() | st.integers(1, 12),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_many_openings_that_go_wrong_in_a_row(served, tmp_path_factory, openings):
    """Faults, cancels and fresh looks in any order over one cache."""
    root = tmp_path_factory.mktemp("cache")
    for faults, cancel, fresh in openings:
        served.hub.clear_faults()
        for name, after in faults:
            fault, times = FAULTS[name]
            served.hub.fault(fault, times=times, after=after)
        transfer = Transfer() if cancel is None else cancelled_at(cancel)[0]
        attempt(served, root, transfer=transfer, fresh=fresh, timeout_s=0.2)
    served.opens(root)


def test_wrong_bytes_where_they_can_be_told(serve_kind, tmp_path):
    """A torch file carries checksums: no bit of its pickle or of P may be another one."""
    served = serve_kind("bin")
    path = tmp_path / "files" / "pytorch_model.bin"
    raw = path.read_bytes()
    first, last = raw.index(served.table.tobytes()), raw.index(b"\x80\x02}")
    for number, offset in enumerate((first, first + 70_000, first + served.table.nbytes - 1,
                                     last + 30, last + 200)):  # fmt: skip
        served.hub.clear_faults()
        playing = served.hub.fault(Fault.flip(offset), path="*.bin")
        root = tmp_path / f"cache {number}"
        error = attempt(served, root)
        assert playing.played
        assert number > 2 or "was damaged in transfer" in str(error)
        served.opens(root)


def test_a_header_that_makes_no_sense_is_not_kept(serve_kind, tmp_path):
    served = serve_kind("safetensors")
    raw = (tmp_path / "files" / "model.safetensors").read_bytes()
    length = 8 + int.from_bytes(raw[:8], "little")
    refused = 0
    for offset in (*range(12), *range(12, length, 19)):
        served.hub.clear_faults()
        served.hub.fault(Fault.flip(offset), path="*.safetensors")
        root = tmp_path / f"cache {offset}"
        try:
            open_model(NAME, network=network_of(served.hub, root))
        except HelixscopeError:
            refused += 1
            assert not kept(root)
            served.opens(root)
    # What is left are names of other tensors, which nobody can tell from right ones.
    assert refused > 20


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_faults_while_a_matrix_is_fetched(name, serve_kind, tmp_path):
    served = serve_kind("safetensors")
    fault, times = FAULTS[name]
    expected = open_model(tmp_path / "files").weight("W_Q")
    for after in range(2):
        root = tmp_path / f"cache {after}"
        for reopened in (False, True):
            served.hub.clear_faults()
            network = network_of(served.hub, root, timeout_s=patience(fault))
            model = open_model(NAME, network=network)
            before = kept(root)
            served.hub.fault(fault, times=times, after=after)
            try:
                np.testing.assert_array_equal(model.weight("W_Q"), expected)
            except HubError:
                assert kept(root) == before, reopened
                served.hub.clear_faults()
                np.testing.assert_array_equal(model.weight("W_Q"), expected)
            served.hub.clear_faults()
            assert model.bytes_to_fetch("W_Q") == 0


@pytest.mark.slow
def test_cancelled_whenever_something_is_told(served, tmp_path):
    errors: list[HelixscopeError | None] = []
    cancelled = Transfer()
    cancelled.cancel()
    with served.hub.unasked():
        assert isinstance(attempt(served, tmp_path / "cache", transfer=cancelled), Cancelled)
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


@pytest.mark.slow
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


OPEN = f"""
import sys
from pathlib import Path
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.checkpoints.transfer import Transfer
from geometry.models.sources.opening import open_model
network = Network(Hub(endpoint=sys.argv[1]), TensorCache(Path(sys.argv[2])), Transfer())
open_model({NAME!r}, network=network)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "after"), [("safetensors", 2), ("bin", 4)])
def test_a_process_killed_while_it_opens(kind, after, serve_kind, tmp_path):
    served = serve_kind(kind)
    root = tmp_path / "cache"
    playing = served.hub.fault(Fault.stall(10), after=after)
    child = subprocess.Popen([sys.executable, "-c", OPEN, served.hub.url, root], cwd=ROOT)
    try:
        assert playing.reached.wait(60)
    finally:
        child.kill()
        child.wait(30)
    assert not kept(root)
    served.opens(root)
