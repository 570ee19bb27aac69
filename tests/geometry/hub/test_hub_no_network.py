"""No way to the Hub: what stands in it is one plain sentence."""

import socket
import ssl
import threading
import traceback

import httpx2
import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import Hub, Retries
from geometry.hub.explanations import explained
from geometry.hub.faults import NoNetwork, Offline
from tests.geometry.hub_asking import ADDRESS, ASKS, DATA, QUICK, WEIGHTS, fails
from tests.loopback_hub import Fault


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
def test_a_name_that_nobody_knows(hub, ask, monkeypatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", "https://host.invalid")
    error = fails(ask, hub, NoNetwork)
    assert str(error) == "The name host.invalid could not be looked up."
    assert error.retryable


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


def test_silence_is_borne_and_goes_on_where_it_fell(served):
    hub = Hub(retries=QUICK, timeout_s=1)
    served.fault(Fault.stall(10_000))
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(0, 98_304).tobytes() == DATA[:98_304]
    assert [r.range for r in served.requests] == ["bytes=0-98303", "bytes=10000-98303"]
    hub.close()


@pytest.mark.parametrize("ask", ASKS)
def test_a_certificate_that_nobody_vouches_for(serve_hub, hub, ask):
    server = serve_hub(tls=True)
    error = fails(ask, hub, NoNetwork)
    assert "its certificate is not valid (" in str(error)
    assert "clock" in error.advice
    assert not error.passing
    assert not server.requests


@pytest.mark.parametrize("ask", ASKS)
def test_a_server_that_does_not_speak_https(served, hub, ask, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", served.url.replace("http:", "https:"))
    assert "No secure connection" in str(fails(ask, hub, NoNetwork))


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    "text", ["huggingface.co", "ftp://huggingface.co", "http://a:b", "http://:x"]
)
def test_an_endpoint_that_is_no_address(hub, ask, text, monkeypatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", text)
    assert "HF_ENDPOINT" in str(fails(ask, hub, NoNetwork))


@pytest.mark.parametrize("ask", ASKS)
def test_a_proxy_that_is_not_there(hub, ask, monkeypatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", "https://huggingface.co")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert "proxy" in fails(ask, hub, NoNetwork).advice


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    "proxy", ["socks5://me:secret@127.0.0.1:1", "socks://me:secret@127.0.0.1:1", "http://a:b"]
)
def test_a_proxy_of_another_kind(hub, ask, proxy, monkeypatch, hub_home):
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = fails(ask, hub, NoNetwork)
    assert "proxy" in str(error)
    assert "secret" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("ask", ASKS)
def test_certificates_that_are_not_there(served, hub, ask, monkeypatch, tmp_path):
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
def test_why_there_is_no_connection(cause, expected):
    fault = explained(caused_by(cause))
    assert isinstance(fault, NoNetwork)
    assert str(fault).startswith(expected)


def test_causes_that_go_in_a_circle_are_borne():
    error = caused_by(OSError(5, "whatever"))
    error.__context__.__cause__.__context__ = error
    assert "could be made" in str(explained(error))


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


def test_offline_holds_for_what_is_open_too(served, hub):
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    hub.offline = True
    assert file.read_at(0, 10).tobytes() == DATA[:10]
    with pytest.raises(Offline):
        file.read_at(200_000, 10)
    hub.offline = False
    assert file.read_at(200_000, 10).tobytes() == DATA[200_000:200_010]


def test_offline_the_token_is_not_asked_for(served, hub, monkeypatch):
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
