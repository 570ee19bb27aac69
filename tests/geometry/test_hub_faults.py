"""Every fault on the way to the Hub is one plain sentence, and tried again where that is right."""

import re
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.hub.address import HubAddress
from geometry.hub.client import Hub, Retries
from geometry.hub.explanations import explained
from geometry.hub.faults import (
    AccessDenied,
    BrokenTransfer,
    HubBusy,
    HubError,
    NoNetwork,
    NotOnHub,
    Offline,
    WholeDownload,
    duration_text,
)
from geometry.hub.retry_after import wait_asked_for
from geometry.hub.transfer import Transfer, TransferProgress
from geometry.sizes import size_text
from tests.loopback_hub import OTHER_TOKEN, RIGHT_TOKEN, Fault, LoopbackHub

ADDRESS = HubAddress("openai-community/gpt2")
WEIGHTS = "model.safetensors"
DATA = np.random.default_rng(5).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
QUICK = Retries(first_wait_s=0.001, longest_wait_s=0.002)

#: What asks; all of them have to explain the same faults.
ASKS: dict[str, Callable[[Hub, HubAddress, Transfer], object]] = {
    "open": lambda hub, address, transfer: hub.open_file(address, WEIGHTS, transfer),
    "fetch": lambda hub, address, transfer: hub.fetch(address, "config.json", transfer),
    "list": lambda hub, address, transfer: hub.list_files(address, transfer),
    "search": lambda hub, address, transfer: hub.search("gpt2", transfer=transfer),
}


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A client that tries again at once."""
    hub = Hub(retries=QUICK, timeout_s=10)
    yield hub
    hub.close()


@pytest.fixture
def served(loopback_hub: LoopbackHub) -> LoopbackHub:
    """A Hub with one model."""
    loopback_hub.add(ADDRESS.repo, {WEIGHTS: DATA, "config.json": b"{}"})
    return loopback_hub


def fails(ask: str, hub: Hub, kind: type[HubError], address: HubAddress = ADDRESS) -> HubError:
    """Ask in vain; the error, which is one sentence with an advice and names no token or address
    of a request.
    """
    with pytest.raises(kind) as caught:
        ASKS[ask](hub, address, Transfer())
    error = caught.value
    assert type(error) is kind
    assert re.fullmatch(r"[A-Z0-9a-z].*[^.]\.", str(error)), error
    assert "\n" not in str(error)
    assert error.advice.endswith(".")
    seen = "".join([error.advice, *traceback.format_exception(error)])
    assert "hf_" not in seen
    assert "X-Signature" not in seen
    return error


# ---- no such thing -------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["open", "fetch", "list"])
@pytest.mark.parametrize("token", ["", OTHER_TOKEN])
def test_no_such_repository(
    served: LoopbackHub, hub: Hub, ask: str, token: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_TOKEN", token)
    error = fails(ask, hub, NotOnHub, HubAddress("nobody/nothing"))
    assert error.missing == "repository"
    assert "has no model nobody/nothing, or" in str(error)
    assert ("HF_TOKEN" in error.advice) == (not token)
    assert not error.retryable
    assert len(served.requests) == 1


@pytest.mark.parametrize("ask", ["open", "fetch", "list"])
def test_no_such_revision(served: LoopbackHub, hub: Hub, ask: str):
    error = fails(ask, hub, NotOnHub, HubAddress(ADDRESS.repo, "refs/pr/7"))
    assert error.missing == "revision"
    assert str(error) == "openai-community/gpt2 has no revision 'refs/pr/7'."
    assert not error.retryable


def test_no_such_file(served: LoopbackHub, hub: Hub):
    with pytest.raises(NotOnHub) as caught:
        hub.open_file(ADDRESS, "pytorch_model.bin", Transfer())
    assert caught.value.missing == "file"
    assert str(caught.value) == "openai-community/gpt2 has no file pytorch_model.bin."


def test_an_endpoint_that_is_no_hub(served: LoopbackHub, hub: Hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", f"{served.url}/somewhere/else/entirely")
    error = fails("list", hub, NotOnHub)
    assert "HF_ENDPOINT" in error.advice


# ---- no access -----------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["open", "fetch"])
def test_a_gated_model_without_a_token(served: LoopbackHub, hub: Hub, ask: str):
    served.add("meta/gated", {WEIGHTS: DATA, "config.json": b"{}"}, gated=True)
    error = fails(ask, hub, AccessDenied, HubAddress("meta/gated"))
    assert served.requests[0].status == 401
    assert "is gated" in str(error)
    assert f"{served.url}/meta/gated" in error.advice
    assert "HF_TOKEN" in error.advice
    assert "hf auth login" in error.advice
    assert len(served.requests) == 1


@pytest.mark.parametrize("ask", ["open", "fetch"])
def test_a_gated_model_for_another_account(
    served: LoopbackHub, hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch
):
    served.add("meta/gated", {WEIGHTS: DATA, "config.json": b"{}"}, gated=True)
    monkeypatch.setenv("HF_TOKEN", OTHER_TOKEN)
    error = fails(ask, hub, AccessDenied, HubAddress("meta/gated"))
    assert served.requests[0].status == 403
    assert "token has no access" in str(error)
    assert f"{served.url}/meta/gated" in error.advice


@pytest.mark.parametrize("ask", ASKS)
def test_a_token_that_is_not_accepted(
    served: LoopbackHub, hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_TOKEN", "hf_expired")
    if ask == "search":
        served.fault(Fault.status(401))
    error = fails(ask, hub, AccessDenied)
    assert "does not accept this machine's access token" in str(error)
    assert "HF_TOKEN" in error.advice


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(("status", "token"), [(401, ""), (403, ""), (403, RIGHT_TOKEN)])
def test_a_refusal_for_other_reasons(
    served: LoopbackHub, hub: Hub, ask: str, status: int, token: str, monkeypatch
):
    monkeypatch.setenv("HF_TOKEN", token)
    served.fault(Fault.status(status))
    error = fails(ask, hub, AccessDenied)
    assert ("token" in str(error)) == bool(token)
    assert "token" in error.advice


def test_a_model_that_the_hub_has_disabled(served: LoopbackHub, hub: Hub):
    reason = {"X-Error-Message": "Access to this resource is disabled."}
    served.fault(Fault.status(403, reason))
    assert "disabled" in str(fails("open", hub, AccessDenied))


# ---- no network ----------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ASKS)
def test_a_port_that_refuses(hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch, hub_home):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    error = fails(ask, hub, NoNetwork)
    assert str(error) == f"127.0.0.1:{port} refuses connections."
    assert error.retryable
    assert not error.passing


@pytest.mark.parametrize("ask", ASKS)
def test_a_name_that_nobody_knows(hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", "https://host.invalid")
    error = fails(ask, hub, NoNetwork)
    assert str(error) == "The name host.invalid could not be looked up."
    assert error.retryable


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("after", [None, 0])
def test_a_server_that_stays_silent(served: LoopbackHub, ask: str, after: int | None):
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


def test_silence_is_borne_and_goes_on_where_it_fell(served: LoopbackHub):
    hub = Hub(retries=QUICK, timeout_s=0.2)
    served.fault(Fault.stall(10_000))
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(0, 98_304).tobytes() == DATA[:98_304]
    assert [r.range for r in served.requests] == ["bytes=0-98303", "bytes=10000-98303"]
    hub.close()


@pytest.mark.parametrize("ask", ASKS)
def test_a_certificate_that_nobody_vouches_for(
    serve_hub: Callable[..., LoopbackHub], hub: Hub, ask: str
):
    server = serve_hub(tls=True)
    error = fails(ask, hub, NoNetwork)
    assert "its certificate is not valid (" in str(error)
    assert "clock" in error.advice
    assert not error.passing
    assert not server.requests


@pytest.mark.parametrize("ask", ASKS)
def test_a_server_that_does_not_speak_https(
    served: LoopbackHub, hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_ENDPOINT", served.url.replace("http:", "https:"))
    assert "No secure connection" in str(fails(ask, hub, NoNetwork))


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    "text", ["huggingface.co", "ftp://huggingface.co", "http://a:b", "http://:x"]
)
def test_an_endpoint_that_is_no_address(hub: Hub, ask: str, text: str, monkeypatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", text)
    assert "HF_ENDPOINT" in str(fails(ask, hub, NoNetwork))


@pytest.mark.parametrize("ask", ASKS)
def test_a_proxy_that_is_not_there(hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", "https://huggingface.co")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert "proxy" in fails(ask, hub, NoNetwork).advice


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    "proxy", ["socks5://me:secret@127.0.0.1:1", "socks://me:secret@127.0.0.1:1", "http://a:b"]
)
def test_a_proxy_of_another_kind(
    hub: Hub, ask: str, proxy: str, monkeypatch: pytest.MonkeyPatch, hub_home
):
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = fails(ask, hub, NoNetwork)
    assert "proxy" in str(error)
    assert "secret" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("ask", ASKS)
def test_certificates_that_are_not_there(
    served: LoopbackHub, hub: Hub, ask: str, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    error = fails(ask, hub, NoNetwork)
    assert "certificates" in str(error)
    assert "SSL_CERT_FILE" in error.advice


def caused_by(cause: Exception) -> httpx2.ConnectError:
    error = httpx2.ConnectError("no", request=httpx2.Request("GET", "https://huggingface.co/x"))
    error.__context__ = RuntimeError()
    error.__context__.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (OSError(101, "Network is unreachable"), "There is no way to huggingface.co"),
        (OSError(113, "No route to host"), "There is no way to huggingface.co"),
        (socket.gaierror(-2, "unknown"), "The name huggingface.co could not be looked up"),
        (ssl.SSLError(1, "wrong version"), "No secure connection to huggingface.co"),
        (OSError(5, "whatever"), "No connection to huggingface.co could be made"),
    ],
)
def test_why_there_is_no_connection(cause: Exception, expected: str):
    fault = explained(caused_by(cause))
    assert isinstance(fault, NoNetwork)
    assert str(fault).startswith(expected)


def test_causes_that_go_in_a_circle_are_borne():
    error = caused_by(OSError(5, "whatever"))
    error.__context__.__cause__.__context__ = error
    assert "could be made" in str(explained(error))


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("switch", [True, False])
def test_offline_nothing_leaves(served: LoopbackHub, hub: Hub, ask: str, switch: bool, monkeypatch):
    if switch:
        hub.offline = True
    else:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub.offline
    error = fails(ask, hub, Offline)
    assert ("HF_HUB_OFFLINE" in error.advice) == (not switch)
    assert not error.retryable
    assert not served.requests


def test_offline_holds_for_what_is_open_too(served: LoopbackHub, hub: Hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    hub.offline = True
    assert file.read_at(0, 10).tobytes() == DATA[:10]
    with pytest.raises(Offline):
        file.read_at(200_000, 10)
    hub.offline = False
    assert file.read_at(200_000, 10).tobytes() == DATA[200_000:200_010]


def test_offline_the_token_is_not_asked_for(
    served: LoopbackHub, hub: Hub, monkeypatch: pytest.MonkeyPatch
):
    """Which huggingface_hub may renew over the network."""
    asked: list[None] = []
    monkeypatch.setattr("huggingface_hub.get_token", lambda: asked.append(None))
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert len(asked) == 1
    hub.offline = True
    with pytest.raises(Offline):
        file.read_at(200_000, 10)
    for ask in ASKS:
        fails(ask, hub, Offline)
    assert len(asked) == 1


@pytest.mark.parametrize("ask", ASKS)
def test_going_offline_cuts_what_is_under_way(served: LoopbackHub, hub: Hub, ask: str):
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


def test_the_librarys_own_offline_mode_is_explained(served: LoopbackHub, hub: Hub, monkeypatch):
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OfflineModeIsEnabled) as caught:
        HfApi().model_info(ADDRESS.repo)
    assert isinstance(explained(caught.value, ADDRESS), Offline)


# ---- a busy server -------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(served: LoopbackHub, hub: Hub, ask: str, status: int):
    served.fault(Fault.status(status), times=3)
    assert ASKS[ask](hub, ADDRESS, Transfer())
    assert [r.status for r in served.requests][:3] == [status] * 3
    assert len(served.requests) == 4


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_stays_busy_is_given_up(served: LoopbackHub, hub: Hub, ask: str, status: int):
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
def test_the_wait_that_is_asked_for_is_kept(
    served: LoopbackHub, hub: Hub, ask: str, status: int, asked: str
):
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


def test_a_wait_is_told_and_kept(served: LoopbackHub, hub: Hub):
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
def test_a_wait_that_is_too_long_is_told_and_not_kept(
    served: LoopbackHub, hub: Hub, ask: str, headers: dict[str, str], expected: str
):
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
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], expected: float | None):
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    assert wait_asked_for(httpx2.Headers(raw)) == expected


@given(st.text(st.characters(max_codepoint=255)))
def test_no_retry_after_breaks_it(text: str):
    wait = wait_asked_for({"Retry-After": text})
    assert wait is None or wait >= 0


# ---- answers that are wrong ----------------------------------------------------------------

WRONG: dict[str, tuple[Fault, str]] = {
    "too short": (Fault.wrong_length(-1), "announced"),
    "too long": (Fault.wrong_length(5), "announced"),
    "another part": (Fault.garble_content_range(), "sent another part"),
    "no part": (Fault.garble_content_range("bytes */*"), "does not say which part"),
    "nonsense": (Fault.garble_content_range("what?"), "does not say which part"),
    "another size": (Fault.garble_content_range("bytes 150000-159999/400000"), "changed while"),
    "no such part": (Fault.status(416), "no longer holds the part"),
    "another status": (Fault.status(204), "does not say which part"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("redirect", [False, True])
def test_a_wrong_part_is_not_taken(served: LoopbackHub, hub: Hub, wrong: str, redirect: bool):
    served.redirect = redirect
    fault, says = WRONG[wrong]
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.forget_requests()
    served.fault(fault)
    with pytest.raises(BrokenTransfer, match=says) as caught:
        file.read_at(150_000, 10_000)
    assert caught.value.retryable
    assert not caught.value.passing
    assert len(served.requests) == 1
    assert file.read_at(150_000, 10_000).tobytes() == DATA[150_000:160_000]


@pytest.mark.parametrize("wrong", sorted(set(WRONG) - {"another size"}))
def test_a_wrong_beginning_is_not_taken(served: LoopbackHub, hub: Hub, wrong: str):
    served.fault(WRONG[wrong][0])
    assert re.search(WRONG[wrong][1], str(fails("open", hub, BrokenTransfer)))


@pytest.mark.parametrize("redirect", [False, True])
def test_a_file_that_changes_meanwhile_is_not_mixed(served: LoopbackHub, hub: Hub, redirect: bool):
    served.redirect = redirect
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.fault(Fault.cut(20_000))
    served.fault(Fault.other_etag())
    with pytest.raises(BrokenTransfer, match="changed while it was read"):
        file.read_at(150_000, 100_000)
    assert file.read_at(150_000, 100_000).tobytes() == DATA[150_000:250_000]


def test_the_storage_has_another_length_than_the_hub_says(served: LoopbackHub, hub: Hub):
    served.redirect = True
    served.fault(Fault.garble_content_range("bytes 0-98303/299999"), host="storage")
    assert "the Hub says 300000" in str(fails("open", hub, BrokenTransfer))


@pytest.mark.parametrize("ask", ["list", "search"])
def test_something_else_than_the_hub_answers(served: LoopbackHub, hub: Hub, ask: str):
    """As the page of a network where one has to log in first."""
    served.fault(Fault.status(200))
    error = fails(ask, hub, BrokenTransfer)
    assert "does not answer like the Hub" in str(error)
    assert "Log in to the network" in error.advice


def test_something_else_than_the_hub_sends_a_file(served: LoopbackHub, hub: Hub):
    served.fault(Fault.status(200))
    assert "names no commit" in str(fails("open", hub, BrokenTransfer))


def test_redirects_without_end(served: LoopbackHub, hub: Hub):
    served.rename("a/b", "b/a")
    served.rename("b/a", "a/b")
    error = fails("open", hub, BrokenTransfer, HubAddress("a/b"))
    assert "without end" in str(error)


def test_other_refusals_name_the_status(served: LoopbackHub, hub: Hub):
    served.fault(Fault.status(418))
    assert "418" in str(fails("open", hub, HubError))


# ---- servers of another make ----------------------------------------------------------------


@pytest.fixture
def answered_by(
    hub_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., list[str]]]:
    """Be a server that gives these answers, one on each connection; it notes what was asked."""
    asked: list[str] = []
    server = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(answers: tuple[bytes, ...]) -> None:
        for answer in answers:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                asked.extend(line.decode().strip() for line in iter(lines.readline, b"\r\n"))
                connection.sendall(answer)

    def start(*answers: bytes) -> list[str]:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        threads.append(threading.Thread(target=serve, args=(answers,), daemon=True))
        threads[0].start()
        return asked

    yield start
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "fewer connections came than answers were there"
    server.close()


def an_answer(body: bytes, *headers: str, status: str = "206 Partial Content") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"X-Repo-Commit: {'c' * 40}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


CHUNKED = "Transfer-Encoding: chunked"


def test_a_part_of_unannounced_length(hub: Hub, answered_by: Callable[..., list[str]]):
    answered_by(an_answer(b"a\r\n0123456789\r\n0\r\n\r\n", "Content-Range: bytes 0-9/10", CHUNKED))
    assert hub.fetch(ADDRESS, "config.json", Transfer()) == b"0123456789"


def test_a_part_that_ends_too_early_goes_on(hub: Hub, answered_by: Callable[..., list[str]]):
    """Without a length, such an end looks like a good one."""
    asked = answered_by(
        an_answer(b"0123", "Content-Range: bytes 0-9/10"),
        an_answer(b"3\r\n456\r\n0\r\n\r\n", "Content-Range: bytes 4-9/10", CHUNKED),
        an_answer(b"789", "Content-Range: bytes 7-9/10"),
    )
    assert hub.fetch(ADDRESS, "config.json", Transfer()) == b"0123456789"
    assert [line for line in asked if line.startswith("Range")] == [
        "Range: bytes=0-63999999", "Range: bytes=4-9", "Range: bytes=7-9",
    ]  # fmt: skip


def test_parts_that_never_begin_are_given_up(hub: Hub, answered_by: Callable[..., list[str]]):
    answered_by(*[an_answer(b"", "Content-Range: bytes 0-9/10")] * QUICK.attempts)
    assert "too early" in str(fails("fetch", hub, BrokenTransfer))


def test_a_part_that_does_not_end_in_time(hub: Hub, answered_by: Callable[..., list[str]]):
    answered_by(an_answer(b"0123456789more", "Content-Range: bytes 0-9/10"))
    assert "sent more of" in str(fails("fetch", hub, BrokenTransfer))


@pytest.mark.parametrize("status", ["200 OK", "206 Partial Content"])
def test_a_compressed_file_is_not_taken(
    hub: Hub, answered_by: Callable[..., list[str]], status: str
):
    headers = ("Content-Encoding: gzip", "Content-Length: 9", "Content-Range: bytes 0-8/9")
    answered_by(an_answer(b"not gzip!", *headers, status=status))
    assert "encoding" in str(fails("fetch", hub, BrokenTransfer))


def test_a_whole_file_of_unannounced_length(hub: Hub, answered_by: Callable[..., list[str]]):
    answered_by(an_answer(b"0123456789", status="200 OK"))
    assert "does not say which part" in str(fails("fetch", hub, BrokenTransfer))


def test_something_else_than_http(hub: Hub, answered_by: Callable[..., list[str]]):
    answered_by(*[b"220 smtp.example ESMTP\r\n"] * QUICK.attempts)
    assert "broke" in str(fails("fetch", hub, BrokenTransfer))


# ---- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1 kB"), (14_321, "14 kB"),
        (999_499, "999 kB"), (999_500, "1.0 MB"), (3_145_728, "3.1 MB"), (20_000_000, "20.0 MB"),
        (99_940_000, "99.9 MB"), (99_960_000, "100 MB"), (548_105_171, "548 MB"),
        (999_600_000, "1.0 GB"), (1_520_000_000, "1.5 GB"), (6_431_829_964, "6.4 GB"),
        (12_345_000_000_000, "12345 GB"),
    ],
)  # fmt: skip
def test_sizes_in_words(nbytes: int, text: str):
    assert size_text(nbytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 second"), (1, "1 second"), (1.4, "1 second"), (59, "59 seconds"),
        (60, "60 seconds"), (120, "2 minutes"), (300, "5 minutes"), (3600, "60 minutes"),
        (7200, "2 hours"),
    ],
)  # fmt: skip
def test_waits_in_words(seconds: float, text: str):
    assert duration_text(seconds) == text


def test_a_download_of_unknown_length():
    assert "all of x.bin" in str(WholeDownload("x.bin", None))
