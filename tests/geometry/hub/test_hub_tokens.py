"""Access tokens of a Hub: found where they are, used, and never shown."""

import logging
import traceback

import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.faults import AccessDenied, HubError, NotOnHub
from tests.geometry.hub_asking import ADDRESS, DATA, WEIGHTS
from tests.loopback_hub import RIGHT_TOKEN, Fault


def test_a_gated_model_opens_with_the_right_token(served, hub, monkeypatch):
    served.add("meta/gated", {WEIGHTS: DATA}, gated=True)
    monkeypatch.setenv("HF_TOKEN", RIGHT_TOKEN)
    assert hub.open_file(HubAddress("meta/gated"), WEIGHTS, Transfer()).size() == len(DATA)


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


@pytest.mark.parametrize(
    "token", ["hf_secretpart", "hf_secretpart\nX: y", "hf_sécretpart", "hf secretpart"]
)
@pytest.mark.parametrize(
    "fault",
    [None, Fault.status(401), Fault.status(403), Fault.status(404), Fault.status(503),
     Fault.refuse(), Fault.garble_content_range("nonsense")],
)  # fmt: skip
def test_a_token_is_never_shown(served, hub, token, fault, monkeypatch, caplog):
    monkeypatch.setenv("HF_TOKEN", token)
    caplog.set_level(logging.DEBUG)
    if fault is not None:
        served.fault(fault, times=None)
    told: list[object] = []
    transfer = Transfer(told.append, interval_s=0)
    for ask in (
        lambda: hub.open_file(ADDRESS, WEIGHTS, transfer),
        lambda: hub.fetch(ADDRESS, "config.json", transfer),
        lambda: hub.list_files(ADDRESS, transfer),
        lambda: hub.search("gpt2", transfer=transfer),
    ):
        try:
            told.append(ask())
        except HubError as error:
            told += [error.advice, repr(error), repr(vars(error))]
            told += traceback.format_exception(error)
    told += [record.getMessage() for record in caplog.records]
    told += [repr(record.args) for record in caplog.records]
    assert len(told) > 4
    assert not [text for text in map(repr, told) if "secretpart" in text or "cretpart" in text]
