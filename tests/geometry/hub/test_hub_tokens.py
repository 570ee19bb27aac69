"""Access tokens and passwords of a Hub: found where they are, used, and never shown."""

import base64
import itertools
import logging
import traceback

import pytest
from huggingface_hub import constants, get_token

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress, parse_address, without_login
from geometry.hub.faults import AccessDenied, HubError, NotOnHub
from geometry.hub.headers import headers_for, token_place
from tests.geometry.hub_asking import ADDRESS, ASKS, DATA, WEIGHTS
from tests.loopback.hub import RIGHT_TOKEN, Fault, LoopbackHub


def test_the_token_of_the_standard_place_is_used(served, hub, hub_home):
    served.add("meta/private", {"config.json": b"{}"}, private=True)
    with pytest.raises(NotOnHub):
        hub.fetch(HubAddress("meta/private"), "config.json", Transfer())
    hub_home.mkdir(exist_ok=True)
    (hub_home / "token").write_text(f"{RIGHT_TOKEN}\n")
    assert hub.fetch(HubAddress("meta/private"), "config.json", Transfer()) == b"{}"


@pytest.mark.parametrize("content", [b"\xff\xfeh\0f\0", None], ids=["no text", "a folder"])
def test_a_token_that_cannot_be_read_is_said(served, hub, hub_home, content):
    place = hub_home / "token"
    place.mkdir(parents=True)
    if content is not None:
        place.rmdir()
        place.write_bytes(content)
    with pytest.raises(AccessDenied, match="access token cannot be read: ") as caught:
        hub.fetch(ADDRESS, "config.json", Transfer())
    assert "HF_TOKEN" in caught.value.advice
    assert not served.requests


FAULTS = {
    "none": None,
    "not a Hub": Fault.chunked(),
    "gated": Fault.status(403, error_code="GatedRepo"),
    "no repository": Fault.status(404, error_code="RepoNotFound"),
    "nothing": Fault.status(404),
    "not let in": Fault.status(401),
    "forbidden": Fault.status(403),
    "busy": Fault.status(429, {"Retry-After": "0"}),
    "is unavailable": Fault.status(503, {"Retry-After": "0"}),
    "refused": Fault.refuse(),
    "cut": Fault.cut(3),
    "the wrong part": Fault.garble_content_range("nonsense"),
    "other": Fault.status(418),
}
NAME, PASSWORD = "ada", "s3cr@t"
LOGIN = f"{NAME}:s3cr%40t@"
SECRETS = ("cretpart", "s3cr", f"{NAME}:", base64.b64encode(b"ada:s3cr@t").decode())


def assert_hidden(shown: str) -> None:
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.slow
@pytest.mark.parametrize(
    "token",
    ["hf_secretpart", "hf_secretpart\nX: y", "hf_sécretpart", "hf secretpart", None],
    ids=["good", "two lines", "foreign", "spaced", "a login in the address"],
)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_no_secret_is_ever_shown(served, hub, token, fault, monkeypatch, caplog):
    if token is None:
        monkeypatch.setenv("HF_ENDPOINT", served.url.replace("://", f"://{LOGIN}"))
    else:
        monkeypatch.setenv("HF_TOKEN", token)
    caplog.set_level(logging.DEBUG)
    if fault is not None:
        served.fault(fault, times=None)
    told: list[object] = []
    transfer = Transfer(told.append, interval_s=0)
    for ask in ASKS.values():
        try:
            told.append(ask(hub, ADDRESS, transfer))
        except HubError as error:
            told += [error.advice, repr(error), repr(vars(error))]
            told += traceback.format_exception(error)
            logging.getLogger("geometry").error("It failed", exc_info=error)
    told += [repr(record.args) for record in caplog.records]
    assert len(told) > 4
    assert_hidden("".join([caplog.text, *map(str, told), *map(repr, told)]))


@pytest.fixture
def behind(served, monkeypatch) -> LoopbackHub:
    """A Hub whose address holds a name and a password."""
    monkeypatch.setenv("HF_ENDPOINT", served.url.replace("://", f"://{LOGIN}"))
    return served


def test_it_is_sent_in_place_of_the_token_and_to_the_hub_alone(behind, hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", RIGHT_TOKEN)
    expected = base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
    told = headers_for(f"{behind.url}/{ADDRESS.repo}/resolve/main/x", hub.endpoint)
    assert told["Authorization"] == f"Basic {expected}"
    assert "Authorization" not in headers_for("http://elsewhere.example/x", hub.endpoint)
    behind.redirect = True
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    assert file.read_at(150_000, 1_000).tobytes() == DATA[150_000:151_000]
    assert [one.authorization for one in behind.requests if one.host == "hub"] == [True]
    assert not any(one.authorization for one in behind.requests if one.host == "storage")


def test_a_page_of_that_hub_is_a_models_page(behind):
    assert parse_address(f"{behind.url}/{ADDRESS.repo}/tree/main") == ADDRESS


@pytest.mark.parametrize("address", ["http://ada:s3cr@t@:x", "ada:s3cr@t", "http://ada:s3cr@t:b"])
def test_no_more_does_an_address_that_is_none(hub, address, monkeypatch, hub_home):
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(HubError) as caught:
        hub.search("model")
    assert_hidden("".join([caught.value.advice, *traceback.format_exception(caught.value)]))


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


TOKEN = "hf_neverShowThis"
VALUES = (None, "", "  ", TOKEN)


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "home" / "token"
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(path))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.mark.parametrize("case", list(itertools.product(VALUES, repeat=3)))
def test_it_is_where_the_client_finds_it(file, monkeypatch, case):
    first, second, stored = case
    if stored is not None:
        file.parent.mkdir()
        file.write_text(stored, "utf-8")
    for name, value in (("HF_TOKEN", first), ("HUGGING_FACE_HUB_TOKEN", second)):
        if value is not None:
            monkeypatch.setenv(name, value)
    place = token_place()
    assert (place is not None) == (get_token() is not None)
    assert place in (None, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", str(file))
    if place is not None and place != str(file):
        assert {"HF_TOKEN": first, "HUGGING_FACE_HUB_TOKEN": second}[place] == TOKEN


def test_a_token_that_is_not_to_be_sent_or_read_is_none(file, monkeypatch):
    file.mkdir(parents=True)
    assert token_place() is None
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    assert token_place() is None
