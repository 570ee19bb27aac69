"""What stands in the way of a Hub is one plain sentence; what passes is waited for."""

import socket
import ssl
import threading
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.sizes import size_text
from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.address import HubAddress
from geometry.hub.client import Hub, Retries
from geometry.hub.explanations import explained
from geometry.hub.faults import (
    AccessDenied,
    HubBusy,
    NoNetwork,
    NotOnHub,
    Offline,
    duration_text,
)
from geometry.hub.retry_policy import wait_asked_for
from tests.geometry.hub_asking import ADDRESS, ASKS, DATA, QUICK, WEIGHTS, fails
from tests.loopback.hub import OTHER_TOKEN, RIGHT_TOKEN, Fault


@pytest.mark.parametrize("ask", ["open", "fetch", "list"])
@pytest.mark.parametrize("token", ["", OTHER_TOKEN])
def test_no_such_repository_or_revision(served, hub, ask, token, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    error = fails(ask, hub, NotOnHub, HubAddress("nobody/nothing"))
    assert error.missing == "repository"
    assert "has no model nobody/nothing, or" in str(error)
    assert ("HF_TOKEN" in error.advice) == (not token)
    assert not error.retryable
    assert len(served.requests) == 1
    error = fails(ask, hub, NotOnHub, HubAddress(ADDRESS.repo, "refs/pr/7"))
    assert error.missing == "revision"
    assert str(error) == "openai-community/gpt2 has no revision 'refs/pr/7'."
    assert not error.retryable


def test_no_such_file(served, hub):
    with pytest.raises(NotOnHub) as caught:
        hub.open_file(ADDRESS, "pytorch_model.bin", Transfer())
    assert caught.value.missing == "file"
    assert str(caught.value) == "openai-community/gpt2 has no file pytorch_model.bin."


def test_an_endpoint_that_is_no_hub(served, hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", f"{served.url}/somewhere/else/entirely")
    error = fails("list", hub, NotOnHub)
    assert "HF_ENDPOINT" in error.advice


@pytest.mark.parametrize("ask", ["open", "fetch"])
@pytest.mark.parametrize(
    ("token", "status", "words"),
    [("", 401, "is gated"), (OTHER_TOKEN, 403, "token has no access")],
)
def test_a_gated_model(served, hub, ask, token, status, words, monkeypatch):
    served.add("meta/gated", {WEIGHTS: DATA, "config.json": b"{}"}, gated=True)
    monkeypatch.setenv("HF_TOKEN", token)
    error = fails(ask, hub, AccessDenied, HubAddress("meta/gated"))
    assert [request.status for request in served.requests] == [status]
    assert words in str(error)
    assert f"{served.url}/meta/gated" in error.advice
    if not token:
        assert "HF_TOKEN" in error.advice
        assert "hf auth login" in error.advice


@pytest.mark.parametrize("ask", ASKS)
def test_a_token_that_is_not_accepted(served, hub, ask, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_expired")
    if ask == "search":
        served.fault(Fault.status(401))
    error = fails(ask, hub, AccessDenied)
    assert "does not accept this machine's access token" in str(error)
    assert "HF_TOKEN" in error.advice


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(("status", "token"), [(401, ""), (403, ""), (403, RIGHT_TOKEN)])
def test_a_refusal_for_other_reasons(served, hub, ask, status, token, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    served.fault(Fault.status(status))
    error = fails(ask, hub, AccessDenied)
    assert ("token" in str(error)) == bool(token)
    assert "token" in error.advice


def test_a_model_that_the_hub_has_disabled(served, hub):
    reason = {"X-Error-Message": "Access to this resource is disabled."}
    served.fault(Fault.status(403, reason))
    assert "disabled" in str(fails("open", hub, AccessDenied))


SIZES = [
    (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1 kB"), (14_321, "14 kB"),
    (999_499, "999 kB"), (999_500, "1.0 MB"), (3_145_728, "3.1 MB"), (20_000_000, "20.0 MB"),
    (99_940_000, "99.9 MB"), (99_960_000, "100 MB"), (548_105_171, "548 MB"),
    (999_600_000, "1.0 GB"), (1_520_000_000, "1.5 GB"), (6_431_829_964, "6.4 GB"),
    (12_345_000_000_000, "12345 GB"),
]  # fmt: skip
WAITS = [
    (0, "1 second"), (1, "1 second"), (1.4, "1 second"), (59, "59 seconds"), (60, "60 seconds"),
    (120, "2 minutes"), (300, "5 minutes"), (3600, "60 minutes"), (7200, "2 hours"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text_of", "value", "text"),
    [(size_text, nbytes, text) for nbytes, text in SIZES]
    + [(duration_text, seconds, text) for seconds, text in WAITS],
)
def test_sizes_and_waits_in_words(text_of, value, text):
    assert text_of(value) == text


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


@pytest.mark.parametrize("ask", ASKS)
def test_a_port_that_refuses(hub, ask, monkeypatch, hub_home):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    error = fails(ask, hub, NoNetwork)
    assert str(error) == f"127.0.0.1:{port} refuses connections."
    assert error.retryable
    assert not error.passing


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    ("variable", "value", "sentence", "advice"),
    [
        ("HF_ENDPOINT", "https://host.invalid", "The name host.invalid could not be looked up", ""),
        ("HF_ENDPOINT", "huggingface.co", "HF_ENDPOINT", ""),
        ("HF_ENDPOINT", "ftp://huggingface.co", "HF_ENDPOINT", ""),
        ("HF_ENDPOINT", "http://a:b", "HF_ENDPOINT", ""),
        ("HF_ENDPOINT", "http://:x", "HF_ENDPOINT", ""),
        ("HTTPS_PROXY", "http://127.0.0.1:1", "", "proxy"),
        ("ALL_PROXY", "socks5://me:secret@127.0.0.1:1", "proxy", ""),
        ("ALL_PROXY", "socks://me:secret@127.0.0.1:1", "proxy", ""),
        ("ALL_PROXY", "http://a:b", "proxy", ""),
        ("SSL_CERT_FILE", "/is/gone.pem", "certificates", "SSL_CERT_FILE"),
    ],
)
def test_settings_that_lead_nowhere(hub, ask, variable, value, sentence, advice, monkeypatch,
                                    hub_home):  # fmt: skip
    monkeypatch.setenv("HF_ENDPOINT", "https://huggingface.co")
    monkeypatch.setenv(variable, value)
    error = fails(ask, hub, NoNetwork)
    assert sentence in str(error)
    assert advice in error.advice
    assert "secret" not in "".join(traceback.format_exception(error))


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("after", [None, 0])
def test_a_server_that_stays_silent(served, ask, after):
    served.fault(Fault.stall(after), times=None)
    hub = Hub(retries=Retries(attempts=2, first_wait_s=0), timeout_s=0.25)
    error = fails(ask, hub, NoNetwork)
    assert "did not answer in time" in str(error)
    assert len(served.requests) == 2
    served.clear_faults()
    patient = Hub(retries=QUICK, timeout_s=10)
    assert ASKS[ask](patient, ADDRESS, Transfer())
    for one in (hub, patient):
        one.close()


def test_a_certificate_that_nobody_vouches_for(serve_hub, hub):
    server = serve_hub(tls=True)
    for ask in ASKS:
        error = fails(ask, hub, NoNetwork)
        assert "its certificate is not valid (" in str(error)
        assert "clock" in error.advice
        assert not error.passing
    assert not server.requests


@pytest.mark.parametrize("ask", ASKS)
def test_a_server_that_does_not_speak_https(served, hub, ask, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", served.url.replace("http:", "https:"))
    assert "A secure connection" in str(fails(ask, hub, NoNetwork))


def caused_by(cause: Exception) -> httpx2.ConnectError:
    error = httpx2.ConnectError("no", request=httpx2.Request("GET", "https://huggingface.co/x"))
    error.__context__ = RuntimeError()
    error.__context__.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (OSError(101, "Network is unreachable"), "huggingface.co cannot be reached"),
        (OSError(113, "No route to host"), "huggingface.co cannot be reached"),
        (socket.gaierror(-2, "unknown"), "The name huggingface.co could not be looked up"),
        (ssl.SSLError(1, "wrong version"), "A secure connection to huggingface.co"),
        (OSError(5, "whatever"), "A connection to huggingface.co could not be made"),
    ],
)
def test_why_there_is_no_connection(cause, expected):
    fault = explained(caused_by(cause))
    assert isinstance(fault, NoNetwork)
    assert str(fault).startswith(expected)


def test_causes_that_go_in_a_circle_are_borne():
    error = caused_by(OSError(5, "whatever"))
    error.__context__.__cause__.__context__ = error
    assert "could not be made" in str(explained(error))


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("switch", [True, False])
def test_offline_nothing_leaves(served, hub, ask, switch, monkeypatch):
    if switch:
        hub.offline = True
    else:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub.offline
    error = fails(ask, hub, Offline)
    assert ("HF_HUB_OFFLINE" in error.advice) == (not switch)
    assert not error.retryable
    assert not served.requests


def test_offline_holds_for_what_is_open_too(served, hub, monkeypatch):
    """Nor is the token asked for, which huggingface_hub may renew over the network."""
    asked: list[None] = []
    monkeypatch.setattr("huggingface_hub.get_token", lambda: asked.append(None))
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert len(asked) == 1
    hub.offline = True
    assert file.read_at(0, 10).tobytes() == DATA[:10]
    with pytest.raises(Offline):
        file.read_at(200_000, 10)
    for ask in ASKS:
        fails(ask, hub, Offline)
    assert len(asked) == 1
    hub.offline = False
    assert file.read_at(200_000, 10).tobytes() == DATA[200_000:200_010]


@pytest.mark.parametrize("ask", ASKS)
def test_going_offline_cuts_what_is_under_way(served, hub, ask):
    playing = served.fault(Fault.stall(1))
    raised: list[BaseException] = []
    transfer = Transfer()

    def run() -> None:
        try:
            ASKS[ask](hub, ADDRESS, transfer)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert playing.reached.wait(30)
    hub.offline = True
    thread.join(30)
    assert not thread.is_alive()
    assert [type(error) for error in raised] == [Offline]
    assert len(served.requests) == 1
    assert not transfer.cancelled
    hub.offline = False
    assert ASKS[ask](hub, ADDRESS, Transfer())


def test_the_librarys_own_offline_mode_is_explained(served, hub, monkeypatch):
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OfflineModeIsEnabled) as caught:
        HfApi().model_info(ADDRESS.repo)
    assert isinstance(explained(caught.value, ADDRESS), Offline)
