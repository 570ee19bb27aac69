"""A Hub behind a log-in, named in HF_ENDPOINT: the password is sent and shown nowhere."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import Iterator

import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress, parse_address, without_login
from geometry.hub.client import Hub
from geometry.hub.faults import HubError
from geometry.hub.headers import headers_for
from tests.geometry.hub_opening import QUICK
from tests.loopback_hub import RIGHT_TOKEN, Fault, LoopbackHub

ADDRESS, WEIGHTS = HubAddress("someone/model"), "model.safetensors"
NAME, PASSWORD = "ada", "s3cr@t"
LOGIN = f"{NAME}:s3cr%40t@"
DATA = bytes(range(256)) * 1_000


@pytest.fixture
def behind(loopback_hub, monkeypatch) -> LoopbackHub:
    """A Hub whose address holds a name and a password."""
    loopback_hub.add(ADDRESS.repo, {WEIGHTS: DATA, "config.json": b"{}"})
    monkeypatch.setenv("HF_ENDPOINT", loopback_hub.url.replace("://", f"://{LOGIN}"))
    return loopback_hub


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(retries=QUICK, timeout_s=5.0)
    yield made
    made.close()


def test_it_is_sent_in_place_of_the_token_and_to_the_hub_alone(behind, hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", RIGHT_TOKEN)
    expected = base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
    told = headers_for(f"{behind.url}/someone/model/resolve/main/x", hub.endpoint)
    assert told["Authorization"] == f"Basic {expected}"
    assert "Authorization" not in headers_for("http://elsewhere.example/x", hub.endpoint)
    behind.redirect = True
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(150_000, 1_000).tobytes() == DATA[150_000:151_000]
    assert [one.authorization for one in behind.requests if one.host == "hub"] == [True]
    assert not any(one.authorization for one in behind.requests if one.host == "storage")


def test_a_page_of_that_hub_is_a_models_page(behind):
    assert parse_address(f"{behind.url}/someone/model/tree/main") == ADDRESS


FAULTS = {
    "not a Hub": Fault.chunked(),
    "gated": Fault.status(403, error_code="GatedRepo"),
    "no repository": Fault.status(404, error_code="RepoNotFound"),
    "nothing": Fault.status(404),
    "not let in": Fault.status(401),
    "forbidden": Fault.status(403),
    "busy": Fault.status(429, {"Retry-After": "0"}),
    "out of order": Fault.status(503, {"Retry-After": "0"}),
    "refused": Fault.refuse(),
    "cut": Fault.cut(3),
    "other": Fault.status(418),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_nothing_that_goes_wrong_shows_it(behind, hub, fault, caplog):
    caplog.set_level(logging.DEBUG)
    behind.fault(fault, times=None)
    failed = 0
    asks = (
        lambda: hub.open_file(ADDRESS, WEIGHTS, Transfer()),
        lambda: hub.fetch(ADDRESS, "config.json", Transfer()),
        lambda: hub.list_files(ADDRESS, Transfer()),
        lambda: hub.search("model"),
    )
    for ask in asks:
        try:
            ask()
        except HubError as error:
            failed += 1
            shown = "".join([str(error), error.advice, *traceback.format_exception(error)])
            assert_hidden(shown)
            logging.getLogger("geometry").error("It failed", exc_info=error)
    assert failed
    assert caplog.text
    assert_hidden(caplog.text)


@pytest.mark.parametrize("address", ["http://ada:s3cr@t@:x", "ada:s3cr@t", "http://ada:s3cr@t:b"])
def test_no_more_does_an_address_that_is_none(hub, address, monkeypatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(HubError) as caught:
        hub.search("model")
    assert_hidden("".join([caught.value.advice, *traceback.format_exception(caught.value)]))


def assert_hidden(shown: str) -> None:
    for secret in ("s3cr", NAME + ":", base64.b64encode(b"ada:s3cr@t").decode()):
        assert secret not in shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://huggingface.co", "https://huggingface.co"),
        ("https://ada:pass@hub.example:8443/hf", "https://hub.example:8443/hf"),
        ("http://ada@hub.example", "http://hub.example"),
        ("http://ada:p@ss@hub.example", "http://hub.example"),
        ("http://ada:p/ss@hub.example/hf", "http://hub.example/hf"),
        ("ada:pass@hub.example", "hub.example"),
    ],
)
def test_an_address_without_its_login(url, shown):
    assert without_login(url) == shown
