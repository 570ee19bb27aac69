"""The loopback Hub plays every fault, as the real client meets it."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
import pytest
from huggingface_hub import get_hf_file_metadata
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import get_session, hf_raise_for_status

from tests.loopback_asking import FILES, REPO, WAIT_S, WEIGHTS, get, of_files, url
from tests.loopback_hub import Fault, LoopbackHub


@pytest.fixture
def hub(loopback_hub) -> LoopbackHub:
    loopback_hub.add(REPO, FILES)
    return loopback_hub


def test_an_error_is_played_as_often_as_asked(hub):
    fault = hub.fault(Fault.status(429, {"Retry-After": "3"}), path="*.safetensors", times=2)
    assert get(url("config.json")).status_code == 200
    assert not fault.reached.is_set()
    first, second, third = (get(url(), "bytes=0-9") for _ in range(3))
    assert (first.status_code, second.status_code, third.status_code) == (429, 429, 206)
    assert first.headers["Retry-After"] == "3"
    assert fault.reached.is_set()
    assert fault.played == 2


def test_faults_wait_their_turn(hub):
    hub.fault(Fault.status(503), after=2, times=None)
    hub.fault(Fault.status(500))
    statuses = [get(url(), "bytes=0-9").status_code for _ in range(4)]
    assert statuses == [500, 206, 503, 503]
    hub.clear_faults()
    assert get(url(), "bytes=0-9").status_code == 206


@pytest.mark.parametrize(
    ("code", "error_code", "expected"),
    [
        (404, "EntryNotFound", RemoteEntryNotFoundError),
        (404, "RevisionNotFound", RevisionNotFoundError),
        (401, "RepoNotFound", RepositoryNotFoundError),
        (403, "GatedRepo", GatedRepoError),
        (502, "", HfHubHTTPError),
    ],
)
def test_an_error_has_the_clients_own_class(hub, code, error_code, expected):
    hub.fault(Fault.status(code, error_code=error_code))
    with pytest.raises(expected):
        hf_raise_for_status(get(url()))


def test_a_fault_can_be_the_storages_alone(hub):
    hub.redirect = True
    hub.fault(Fault.status(503), path="*/model.safetensors", host="storage")
    assert get(url(), "bytes=0-9").status_code == 503
    assert [request.status for request in of_files(hub)] == [302, 503]


def test_faults_of_a_body_wait_for_one(hub):
    hub.redirect = True
    fault = hub.fault(Fault.cut(4), path="*/model.safetensors")
    get_hf_file_metadata(url())
    assert fault.played == 0
    with pytest.raises(httpx2.RemoteProtocolError):
        get(url(), "bytes=0-9")
    assert [(request.host, request.sent) for request in of_files(hub)][-1] == ("storage", 4)


def received(asked: str = "bytes=0-99999") -> tuple[bytes, Exception | None]:
    """What arrives of an answer before it fails, and how it fails."""
    data = b""
    try:
        with get_session().stream("GET", url(), headers={"Range": asked}, timeout=WAIT_S) as answer:
            for piece in answer.iter_bytes(1000):
                data += piece
    except httpx2.HTTPError as error:
        return data, error
    return data, None


def test_a_connection_is_cut_half_way(hub):
    hub.fault(Fault.cut(40_000))
    data, error = received()
    assert data == WEIGHTS[:40_000]
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert hub.requests[-1].sent == 40_000
    assert received() == (WEIGHTS[:100_000], None)


def test_a_connection_is_reset_half_way(hub):
    hub.fault(Fault.cut(40_000, reset=True))
    data, error = received()
    # A reset may overtake what was sent before it.
    assert WEIGHTS[:40_000].startswith(data)
    assert isinstance(error, httpx2.ReadError)


def test_a_connection_is_closed_before_the_answer(hub):
    hub.fault(Fault.refuse())
    data, error = received()
    assert data == b""
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert (hub.requests[-1].status, hub.requests[-1].sent) == (0, 0)


@contextmanager
def asking(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run a client in a thread of its own, which has to end with the block."""
    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join(WAIT_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("after", [None, 0, 5000])
def test_an_answer_stalls_until_the_client_leaves(hub, after):
    fault = hub.fault(Fault.stall(after))
    with httpx2.Client() as client, pytest.raises(httpx2.ReadTimeout):
        # No time passes for nothing: that the fault was reached is seen below.
        client.get(url(), timeout=1)
    assert fault.reached.wait(WAIT_S)
    assert hub.requests[-1].sent == (after or 0)


def test_a_stalled_answer_ends_with_the_hub(hub):
    fault = hub.fault(Fault.stall(5000))
    results = []
    with asking(lambda: results.append(received())):
        assert fault.reached.wait(WAIT_S)
        hub.close()
    ((data, error),) = results
    assert data == WEIGHTS[:5000]
    assert isinstance(error, httpx2.RemoteProtocolError)


def test_a_slow_answer_waits_at_its_gate(hub):
    gate = threading.Event()
    fault = hub.fault(Fault.slow(10_000, gate))
    results = []
    with asking(lambda: results.append(received())):
        assert fault.reached.wait(WAIT_S)
        assert hub.requests[-1].sent == 10_000
        assert results == []
        gate.set()
    assert results == [(WEIGHTS[:100_000], None)]


def test_a_slow_answer_comes_piece_by_piece(hub):
    gate = threading.Semaphore(0)
    hub.fault(Fault.slow(10_000, gate))
    with get_session().stream("GET", url(), headers={"Range": "bytes=0-29999"}) as answer:
        pieces = answer.iter_bytes(10_000)
        for number in range(3):
            assert next(pieces) == WEIGHTS[number * 10_000 : (number + 1) * 10_000]
            assert hub.requests[-1].sent == (number + 1) * 10_000
            gate.release()


def test_a_slow_answer_ends_when_the_client_leaves(hub):
    fault = hub.fault(Fault.slow(1000, threading.Event()))
    with httpx2.Client() as client, pytest.raises(httpx2.ReadTimeout):
        client.get(url(), timeout=1)
    assert fault.reached.wait(WAIT_S)
    # Nothing is left hanging: closing joins every connection's thread.
    hub.close()


def test_a_range_is_ignored(hub):
    hub.fault(Fault.ignore_range())
    response = get(url(), "bytes=10-19")
    assert response.status_code == 200
    assert response.content == WEIGHTS
    assert "Content-Range" not in response.headers
    assert get(url(), "bytes=10-19").status_code == 206


@pytest.mark.parametrize("delta", [-3, 3])
def test_a_body_has_the_wrong_length(hub, delta):
    hub.fault(Fault.wrong_length(delta))
    response = get(url(), "bytes=10-19")
    assert response.content == WEIGHTS[10 : 20 + delta]
    assert response.headers["Content-Range"] == "bytes 10-19/300000"


def test_one_bit_is_wrong(hub):
    hub.fault(Fault.flip(15))
    assert get(url(), "bytes=20-29").content == WEIGHTS[20:30]
    spoilt = get(url(), "bytes=10-19").content
    assert [at for at, pair in enumerate(zip(spoilt, WEIGHTS[10:20], strict=True))
            if pair[0] != pair[1]] == [5]  # fmt: skip
    assert get(url(), "bytes=10-19").content == WEIGHTS[10:20]


@pytest.mark.parametrize("text", ["", "bytes elephant"])
def test_a_content_range_is_another(hub, text):
    hub.fault(Fault.garble_content_range(text))
    said = get(url(), "bytes=10-19").headers["Content-Range"]
    assert said == (text or "bytes 11-20/300000")


def test_a_file_seems_replaced(hub):
    before = get(url(), "bytes=0-0").headers["ETag"]
    hub.fault(Fault.other_etag())
    assert get(url(), "bytes=0-0").headers["ETag"] != before
    assert get(url(), "bytes=0-0").headers["ETag"] == before


def test_nobody_trusts_the_certificate(serve_hub):
    hub = serve_hub(tls=True)
    hub.add(REPO, FILES)
    with pytest.raises(httpx2.ConnectError) as error:
        get(url())
    causes = [error.value]
    while following := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(following)
    assert any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes)
    assert hub.requests == []


def test_behind_the_certificate_all_is_well(serve_hub):
    hub = serve_hub(tls=True)
    hub.add(REPO, FILES)
    hub.redirect = True
    with httpx2.Client(verify=False, follow_redirects=True) as client:
        assert client.get(url(), headers={"Range": "bytes=3-7"}).content == WEIGHTS[3:8]


def test_a_closed_hub_refuses_connections(hub):
    hub.close()
    with pytest.raises(httpx2.ConnectError):
        get(url())
