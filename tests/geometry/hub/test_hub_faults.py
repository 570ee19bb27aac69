"""Models that are not there or not for everybody: each fault is one plain sentence."""

import pytest

from geometry.checkpoints.sizes import size_text
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.faults import AccessDenied, NotOnHub, WholeDownload, duration_text
from tests.geometry.hub_asking import ADDRESS, ASKS, DATA, WEIGHTS, fails
from tests.loopback_hub import OTHER_TOKEN, RIGHT_TOKEN, Fault

# ---- no such thing -------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["open", "fetch", "list"])
@pytest.mark.parametrize("token", ["", OTHER_TOKEN])
def test_no_such_repository(served, hub, ask, token, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    error = fails(ask, hub, NotOnHub, HubAddress("nobody/nothing"))
    assert error.missing == "repository"
    assert "has no model nobody/nothing, or" in str(error)
    assert ("HF_TOKEN" in error.advice) == (not token)
    assert not error.retryable
    assert len(served.requests) == 1


@pytest.mark.parametrize("ask", ["open", "fetch", "list"])
def test_no_such_revision(served, hub, ask):
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


# ---- no access -----------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["open", "fetch"])
def test_a_gated_model_without_a_token(served, hub, ask):
    served.add("meta/gated", {WEIGHTS: DATA, "config.json": b"{}"}, gated=True)
    error = fails(ask, hub, AccessDenied, HubAddress("meta/gated"))
    assert served.requests[0].status == 401
    assert "is gated" in str(error)
    assert f"{served.url}/meta/gated" in error.advice
    assert "HF_TOKEN" in error.advice
    assert "hf auth login" in error.advice
    assert len(served.requests) == 1


@pytest.mark.parametrize("ask", ["open", "fetch"])
def test_a_gated_model_for_another_account(served, hub, ask, monkeypatch):
    served.add("meta/gated", {WEIGHTS: DATA, "config.json": b"{}"}, gated=True)
    monkeypatch.setenv("HF_TOKEN", OTHER_TOKEN)
    error = fails(ask, hub, AccessDenied, HubAddress("meta/gated"))
    assert served.requests[0].status == 403
    assert "token has no access" in str(error)
    assert f"{served.url}/meta/gated" in error.advice


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
def test_sizes_in_words(nbytes, text):
    assert size_text(nbytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 second"), (1, "1 second"), (1.4, "1 second"), (59, "59 seconds"),
        (60, "60 seconds"), (120, "2 minutes"), (300, "5 minutes"), (3600, "60 minutes"),
        (7200, "2 hours"),
    ],
)  # fmt: skip
def test_waits_in_words(seconds, text):
    assert duration_text(seconds) == text


def test_a_download_of_unknown_length():
    assert "all of x.bin" in str(WholeDownload("x.bin", None))
