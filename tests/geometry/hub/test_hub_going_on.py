"""Files of a Hub whose connections break, that is busy, or that sends no parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.client import HEAD_BYTES
from geometry.hub.faults import BrokenTransfer, HubBusy, NoNetwork, WholeDownload
from tests.geometry.hub_asking import ADDRESS, DATA, QUICK, WEIGHTS, on_one_server, ranges
from tests.loopback_hub import Fault

# ---- going on where a connection broke -----------------------------------------------------


@on_one_server
@given(st.lists(st.integers(0, 50_000), max_size=3), st.booleans(), st.booleans())
def test_a_broken_connection_goes_on_where_it_stopped(served, hub, cuts, redirect, whole):
    served.redirect = redirect
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.forget_requests()
    for after in cuts:
        served.fault(Fault.cut(after), path=f"*/{WEIGHTS}")
    stop = 600_000
    start = stop - 150_001
    assert file.read_at(start, stop - start).tobytes() == DATA[start:stop]
    begun = np.cumsum([start, *cuts])
    assert ranges(served) == [(at, stop - 1) for at in begun]
    assert served.bytes_sent == stop - start
    served.clear_faults()


@on_one_server
@given(st.lists(st.integers(0, 30_000), max_size=3))
def test_the_first_request_goes_on_too(served, hub, cuts):
    served.forget_requests()
    for after in cuts:
        served.fault(Fault.cut(after), path=f"*/{WEIGHTS}")
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(0, HEAD_BYTES).tobytes() == DATA[:HEAD_BYTES]
    assert ranges(served) == [(at, HEAD_BYTES - 1) for at in np.cumsum([0, *cuts])]
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


def test_resets_and_closed_doors_are_borne(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.fault(Fault.refuse())
    served.fault(Fault.cut(80_000, reset=True))
    served.fault(Fault.refuse())
    assert file.read_at(200_000, 300_000).tobytes() == DATA[200_000:500_000]


def test_a_connection_that_brings_much_may_break_often(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.fault(Fault.cut(66_000), times=8)
    assert file.read_at(100_000, 600_000).tobytes() == DATA[100_000:]


def test_a_connection_that_brings_little_may_not(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.forget_requests()
    served.fault(Fault.cut(1), times=None)
    with pytest.raises(BrokenTransfer, match=r"connection .* broke"):
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


# ---- a server that sends no parts ----------------------------------------------------------


def test_a_whole_download_is_asked_about_before(served, hub):
    served.fault(Fault.ignore_range(), times=None)
    transfer = Transfer()
    with pytest.raises(WholeDownload, match=r"all 700 kB of model\.safetensors") as caught:
        hub.open_file(ADDRESS, WEIGHTS, transfer)
    assert (caught.value.filename, caught.value.nbytes) == (WEIGHTS, len(DATA))
    assert transfer.bytes_received == 0
    assert len(served.requests) == 1


def test_a_whole_download_is_asked_about_later_too(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.fault(Fault.ignore_range())
    with pytest.raises(WholeDownload):
        file.read_at(300_000, 1000)
    assert file.read_at(300_000, 1000).tobytes() == DATA[300_000:301_000]


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


@on_one_server
@given(st.lists(st.integers(0, 500_000), max_size=3))
def test_a_whole_download_that_breaks_begins_again(served, hub, cuts):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer(), whole=True)
    for after in cuts:
        served.fault(Fault.cut(after))
    served.fault(Fault.ignore_range())
    assert file.read_at(300_000, 100_000).tobytes() == DATA[300_000:400_000]
    served.clear_faults()


def test_a_small_file_comes_whole_without_asking(served, hub):
    served.fault(Fault.ignore_range(), times=None)
    assert hub.fetch(ADDRESS, "config.json", Transfer()) == b'{"n": 1}'


# ---- tokens --------------------------------------------------------------------------------


def test_a_busy_hub_is_asked_again_and_given_up(served, hub):
    served.fault(Fault.status(503), times=3)
    assert hub.open_file(ADDRESS, WEIGHTS, Transfer()).size() == len(DATA)
    served.fault(Fault.status(503), times=4)
    with pytest.raises(HubBusy):
        hub.open_file(ADDRESS, WEIGHTS, Transfer())
