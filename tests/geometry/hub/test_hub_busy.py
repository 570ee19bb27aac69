"""A Hub that is busy is asked again, when it says or soon, and given up at some time."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.faults import HubBusy
from geometry.hub.retry_after import wait_asked_for
from tests.geometry.hub_asking import ADDRESS, ASKS, QUICK, WEIGHTS, fails
from tests.loopback_hub import Fault


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(served, hub, ask, status):
    served.fault(Fault.status(status), times=3)
    assert ASKS[ask](hub, ADDRESS, Transfer())
    assert [r.status for r in served.requests][:3] == [status] * 3
    assert len(served.requests) == 4


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_stays_busy_is_given_up(served, hub, ask, status):
    served.fault(Fault.status(status), times=None)
    error = fails(ask, hub, HubBusy)
    assert error.retryable
    assert len(served.requests) == QUICK.attempts
    if status != 429:
        assert f"answered {status}" in str(error)


def in_seconds(seconds: float) -> str:
    """A Retry-After date."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("ask", [*ASKS, "read"])
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("asked", ["1", "date"])
def test_the_wait_that_is_asked_for_is_kept(served, hub, ask, status, asked):
    """Without it the wait would be that of QUICK, and none is told for less than a second."""
    told: list[TransferProgress] = []
    transfer = Transfer(told.append)
    file = hub.open_file(ADDRESS, WEIGHTS, transfer)
    asks = {**ASKS, "read": lambda hub, address, transfer: file.read_at(200_000, 10)}
    header = "1" if asked == "1" else in_seconds(2)
    served.fault(Fault.status(status, {"Retry-After": header}))
    waits: list[float] = []
    transfer.wait = lambda seconds, why: waits.append(seconds)
    asks[ask](hub, ADDRESS, transfer)
    assert len(waits) == 1
    assert 0 < waits[0] <= 2


def test_a_wait_is_told_and_kept(served, hub):
    told: list[TransferProgress] = []
    served.fault(Fault.status(429, {"Retry-After": "1"}))
    hub.open_file(ADDRESS, WEIGHTS, Transfer(told.append))
    waits = [one.waiting for one in told if one.waiting]
    assert len(waits) == 1
    assert waits[0].endswith("Trying again in 1 second.")


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "300"}, "5 minutes"),
        ({"Retry-After": in_seconds(3 * 3600)}, "3 hours"),
        ({"RateLimit": '"api";r=0;t=120'}, "2 minutes"),
    ],
)
def test_a_wait_that_is_too_long_is_told_and_not_kept(served, hub, ask, headers, expected):
    served.fault(Fault.status(429, headers), times=None)
    error = fails(ask, hub, HubBusy)
    assert expected in str(error)
    assert expected in error.advice
    assert error.wait_s > 60
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": " 17 "}, 17),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "²"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT",
          "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 -0000",
          "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30),
        ({"RateLimit": '"api";r=0;t=55'}, 55),
        ({"RateLimit": '"api";r=3;t=55'}, None),
        ({"RateLimit": '"api";r=0;t=55', "Retry-After": "5"}, 5),
    ],
)  # fmt: skip
def test_how_long_a_server_asks_to_wait(headers, expected):
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    assert wait_asked_for(httpx2.Headers(raw)) == expected


@given(st.text(st.characters(max_codepoint=255)))
def test_no_retry_after_breaks_it(text):
    wait = wait_asked_for({"Retry-After": text})
    assert wait is None or wait >= 0
