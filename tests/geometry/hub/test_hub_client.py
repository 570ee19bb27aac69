"""Files of a Hub in pieces: what is asked for, what comes, and how it goes on when that breaks."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.address import HubAddress
from geometry.hub.client import FETCH_BYTES, HEAD_BYTES, Hub
from geometry.hub.faults import BrokenTransfer, HubError, NoNetwork
from tests.geometry.hub_asking import (
    ADDRESS,
    DATA,
    QUICK,
    WEIGHTS,
    on_one_fixture,
    open_sockets,
    ranges,
)
from tests.loopback.hub import RIGHT_TOKEN, Fault


def test_one_request_opens_a_file_and_one_more_brings_a_part(served, hub):
    transfer = Transfer()
    file = hub.open_file(ADDRESS, WEIGHTS, transfer)
    assert [(r.method, r.path, r.range) for r in served.requests] == [
        ("GET", f"/{ADDRESS.repo}/resolve/main/{WEIGHTS}", f"bytes=0-{HEAD_BYTES - 1}")
    ]
    assert (file.size(), file.name) == (len(DATA), WEIGHTS)
    assert transfer.requests == len(served.requests) == 1
    assert transfer.bytes_received == served.bytes_sent == HEAD_BYTES

    part = file.read_at(300_000, 50_000)
    assert part.tobytes() == DATA[300_000:350_000]
    assert part.dtype == np.uint8
    part[:] = 0
    assert ranges(served)[1:] == [(300_000, 349_999)]
    assert served.bytes_sent == HEAD_BYTES + 50_000

    # What is here already is not asked for again.
    assert file.read_at(HEAD_BYTES - 10, 30).tobytes() == DATA[HEAD_BYTES - 10 : HEAD_BYTES + 20]
    assert ranges(served)[2:] == [(HEAD_BYTES, HEAD_BYTES + 19)]
    file.read_at(0, 1000)[:] = 0
    assert file.read_at(0, 1000).tobytes() == DATA[:1000]


def test_a_small_file_is_fetched_by_one_request(served, hub):
    transfer = Transfer()
    assert hub.fetch(ADDRESS, "config.json", transfer) == b'{"n": 1}'
    assert transfer.requests == len(served.requests) == 1
    assert hub.fetch(ADDRESS, "sub/a b.bin", transfer) == b""
    served.redirect_small = True
    served.forget_requests()
    assert hub.fetch(ADDRESS, "config.json", Transfer()) == b'{"n": 1}'
    assert [r.status for r in served.requests] == [307, 206]


@on_one_fixture
@given(st.integers(0, len(DATA)), st.integers(0, len(DATA)), st.integers(1, 2 * len(DATA)))
def test_any_part_is_exact(served, hub, offset, nbytes, head):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer(), head=head)
    if offset + nbytes > len(DATA):
        with pytest.raises(SourceError, match="truncated"):
            file.read_at(offset, nbytes)
    else:
        assert file.read_at(offset, nbytes).tobytes() == DATA[offset : offset + nbytes]
    for part in ((-1, 5), (0, -1)):
        with pytest.raises(SourceError):
            file.read_at(*part)


def test_an_empty_file_is_empty(served, hub):
    file = hub.open_file(ADDRESS, "sub/a b.bin", Transfer())
    assert file.size() == 0
    assert file.read_at(0, 0).size == 0
    assert served.requests[0].path == f"/{ADDRESS.repo}/resolve/main/sub/a%20b.bin"


def test_a_small_file_that_is_large_is_not_fetched(served, hub, tmp_path):
    large = tmp_path / "config.json"
    with large.open("wb") as file:
        file.truncate(FETCH_BYTES + 1)
    served.add(ADDRESS.repo, {"config.json": large})
    transfer = Transfer()
    with pytest.raises(HubError, match=r"config\.json has 64\.0 MB"):
        hub.fetch(ADDRESS, "config.json", transfer)
    assert transfer.bytes_received == 0


def test_what_a_model_holds_is_listed(served, hub):
    commit = hub.open_file(ADDRESS, WEIGHTS, Transfer()).commit
    for revision in ("main", commit):
        listing = hub.list_files(HubAddress(ADDRESS.repo, revision), Transfer())
        assert listing.commit == commit
        assert listing.files == {WEIGHTS: len(DATA), "config.json": 8, "sub/a b.bin": 0}
    pull = served.add(ADDRESS.repo, {"x": b"1"}, revision="refs/pr/3")
    listing = hub.list_files(HubAddress(ADDRESS.repo, "refs/pr/3"), Transfer())
    assert (listing.commit, dict(listing.files)) == (pull, {"x": 1})


def test_models_are_found_the_most_downloaded_first(served, hub):
    for name in ("a/gpt2", "somebody-else/my-gpt2-model", "a/bert"):
        served.add(name, {})
    found = hub.search("GPT2")
    assert [model.id for model in found] == [
        "somebody-else/my-gpt2-model", "openai-community/gpt2", "a/gpt2",
    ]  # fmt: skip
    assert found[0].downloads > found[1].downloads > 0
    assert (found[0].task, found[0].library) == ("text-generation", "transformers")
    assert len(hub.search("gpt2", limit=2)) == 2
    assert hub.search("no such thing") == ()


def test_the_endpoint_is_the_environments_or_given(served, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    given = Hub(endpoint=f"{served.url}/")
    assert given.open_file(ADDRESS, WEIGHTS, Transfer()).size() == len(DATA)
    given.close()
    assert Hub().endpoint == "http://127.0.0.1:1"


@pytest.mark.parametrize("token", ["", RIGHT_TOKEN])
def test_the_storage_is_read_without_the_token(served, hub, token, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    served.redirect = True
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(300_000, 1000).tobytes() == DATA[300_000:301_000]
    assert [(r.host, r.authorization) for r in served.requests] == [
        ("hub", bool(token)), ("storage", False), ("storage", False),
    ]  # fmt: skip
    # The mark of its content is the Hub's own, whoever sends it.
    served.redirect = False
    assert file.etag == hub.open_file(ADDRESS, WEIGHTS, Transfer()).etag
    assert len(file.etag) == 64
    with_file = {r.path.rpartition("/")[2] for r in served.requests}
    assert with_file == {WEIGHTS}


def test_an_expired_link_is_asked_for_again_once(served, hub):
    served.redirect = True
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.expire_links()
    served.forget_requests()
    assert file.read_at(300_000, 1000).tobytes() == DATA[300_000:301_000]
    assert file.read_at(400_000, 1000).tobytes() == DATA[400_000:401_000]
    assert [(r.host, r.status) for r in served.requests] == [
        ("storage", 403), ("hub", 302), ("storage", 206), ("storage", 206),
    ]  # fmt: skip
    # Also while a connection breaks.
    served.forget_requests()
    served.fault(Fault.cut(40_000), host="storage")
    served.fault(Fault.status(403), host="storage")
    assert file.read_at(200_000, 100_000).tobytes() == DATA[200_000:300_000]
    assert ranges(served) == [(200_000, 299_999), (240_000, 299_999), (240_000, 299_999)]
    # But not for ever.
    served.forget_requests()
    served.fault(Fault.status(403), host="storage", times=None)
    with pytest.raises(BrokenTransfer, match="which stores the file for the Hub") as caught:
        file.read_at(300_000, 1000)
    assert caught.value.retryable
    assert [r.status for r in served.requests] == [403, 302, 403]


@on_one_fixture
@given(
    st.lists(st.integers(0, 30_000), max_size=3),
    st.sampled_from(["while it is opened", "from the Hub", "from the storage"]),
)
def test_a_broken_connection_goes_on_where_it_stopped(served, hub, cuts, when):
    first = when == "while it is opened"
    served.redirect = when == "from the storage"
    if first:
        start, stop = 0, HEAD_BYTES
    else:
        start, stop = 449_999, 600_000
        file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.forget_requests()
    for after in cuts:
        served.fault(Fault.cut(after), path=f"*/{WEIGHTS}")
    if first:
        file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(start, stop - start).tobytes() == DATA[start:stop]
    assert ranges(served) == [(at, stop - 1) for at in np.cumsum([start, *cuts])]
    assert served.bytes_sent == stop - start
    served.clear_faults()


def test_one_broken_connection_is_not_waited_for(served, hub):
    waits: list[float] = []
    transfer = Transfer()
    transfer.wait = lambda seconds, why: waits.append(seconds)
    served.fault(Fault.refuse())
    file = hub.open_file(ADDRESS, WEIGHTS, transfer)
    for after in (5, 10, 15):
        served.fault(Fault.cut(after))
    assert file.read_at(200_000, 1000).tobytes() == DATA[200_000:201_000]
    assert not waits
    served.fault(Fault.cut(0), times=3)
    file.read_at(200_000, 1000)
    assert waits == [0.002, 0.002]


def test_breaks_allowed_depend_on_the_bytes_brought(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.fault(Fault.cut(66_000), times=8)
    assert file.read_at(100_000, 600_000).tobytes() == DATA[100_000:]
    served.forget_requests()
    served.fault(Fault.cut(1), times=None)
    with pytest.raises(BrokenTransfer, match=r"connection .* was interrupted"):
        file.read_at(100_000, 600_000)
    assert len(served.requests) == QUICK.attempts


def test_a_network_that_goes_away_meanwhile_is_waited_for(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    cut = served.fault(Fault.cut(100_000))

    def leave(progress: TransferProgress) -> None:
        if progress.done and not served.closing.is_set():
            assert cut.reached.wait(30)
            served.close()

    file.transfer = Transfer(leave, interval_s=0)
    with pytest.raises(NoNetwork, match="refuses connections"):
        file.read_at(200_000, 300_000)
    assert file.transfer.requests == QUICK.attempts


def test_with_consent_the_whole_file_is_read_as_far_as_needed(served, hub):
    served.fault(Fault.ignore_range(), times=None)
    told: list[TransferProgress] = []
    transfer = Transfer(told.append, interval_s=0)
    file = hub.open_file(ADDRESS, WEIGHTS, transfer, whole=True)
    assert file.read_at(0, 100).tobytes() == DATA[:100]
    assert file.read_at(300_000, 1000).tobytes() == DATA[300_000:301_000]
    assert file.read_at(len(DATA) - 1, 1).tobytes() == DATA[-1:]
    assert (told[-1].done, told[-1].total) == (len(DATA), len(DATA))
    done = [one.done for one in told[-10:]]
    assert done == sorted(done)
    assert transfer.bytes_received >= HEAD_BYTES + 301_000 + len(DATA)
    assert file.commit


@on_one_fixture
@given(st.lists(st.integers(0, 500_000), max_size=3))
def test_a_whole_download_that_breaks_begins_again(served, hub, cuts):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer(), whole=True)
    for after in cuts:
        served.fault(Fault.cut(after))
    served.fault(Fault.ignore_range())
    assert file.read_at(300_000, 100_000).tobytes() == DATA[300_000:400_000]
    served.clear_faults()


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
