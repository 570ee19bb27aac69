"""The loopback Hub shows models to those who may see them, and keeps their files elsewhere."""

import hashlib
from pathlib import Path

import pytest
from huggingface_hub import hf_hub_download, hf_hub_url, model_info
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import hf_raise_for_status

from tests.loopback_asking import CONFIG, FILES, REPO, WEIGHTS, get, of_files, url
from tests.loopback_hub import OTHER_TOKEN, RIGHT_TOKEN, LoopbackHub


@pytest.fixture
def hub(loopback_hub) -> LoopbackHub:
    loopback_hub.add(REPO, FILES)
    return loopback_hub


# ---- who may see what ----------------------------------------------------------------------------


def test_what_is_not_there(hub):
    with pytest.raises(RepositoryNotFoundError) as error:
        model_info("ann/nothing")
    assert error.value.response.status_code == 401
    with pytest.raises(RepositoryNotFoundError) as error:
        model_info("ann/nothing", token=OTHER_TOKEN)
    assert error.value.response.status_code == 404
    with pytest.raises(RepositoryNotFoundError):
        hf_raise_for_status(get(hf_hub_url("nothing", "config.json")))
    with pytest.raises(RevisionNotFoundError):
        model_info(REPO, revision="v9")
    with pytest.raises(RevisionNotFoundError):
        hf_raise_for_status(get(url(revision="v9")))
    with pytest.raises(RemoteEntryNotFoundError) as missing:
        hf_hub_download(REPO, "nothing.json")
    assert missing.value.response.headers["X-Repo-Commit"] == model_info(REPO).sha
    assert get(f"{hub.url}/somewhere/else/entirely").status_code == 404


def test_a_gated_model_opens_with_the_right_token(hub):
    hub.add("ann/gated", FILES, gated=True)
    address = hf_hub_url("ann/gated", "config.json")
    for token, status in ((None, 401), (OTHER_TOKEN, 403)):
        with pytest.raises(GatedRepoError) as error:
            hf_raise_for_status(get(address, token=token))
        assert error.value.response.status_code == status
        assert "restricted" in error.value.server_message
    assert get(address, token=RIGHT_TOKEN).content == CONFIG
    # Its description is public.
    assert model_info("ann/gated").gated == "manual"


def test_a_private_model_is_not_there_for_others(hub):
    hub.add("ann/private", FILES, private=True)
    for token, status in ((None, 401), (OTHER_TOKEN, 404)):
        with pytest.raises(RepositoryNotFoundError) as error:
            model_info("ann/private", token=token)
        assert error.value.response.status_code == status
    assert model_info("ann/private", token=RIGHT_TOKEN).private


def test_a_token_nobody_knows_is_refused_even_for_open_models(hub):
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as error:
        model_info(REPO, token="hf_expired")
    assert error.value.response.status_code == 401
    assert not isinstance(error.value, RepositoryNotFoundError)


def test_a_token_in_its_usual_place_is_used(hub, hub_home):
    hub.add("ann/gated", FILES, gated=True)
    hub_home.mkdir(exist_ok=True)
    (hub_home / "token").write_text(RIGHT_TOKEN, "utf-8")
    assert Path(hf_hub_download("ann/gated", "config.json")).read_bytes() == CONFIG


# ---- the storage host ----------------------------------------------------------------------------


def test_the_storage_serves_large_files_without_the_token(hub):
    hub.redirect = True
    hub.forget_requests()
    response = get(url(), "bytes=5-14", token=RIGHT_TOKEN)
    assert response.content == WEIGHTS[5:15]
    first, second = of_files(hub)
    assert (first.host, first.status, first.authorization) == ("hub", 302, True)
    assert (second.host, second.status, second.authorization) == ("storage", 206, False)
    (redirect,) = response.history
    assert redirect.headers["X-Linked-Size"] == str(len(WEIGHTS))
    assert redirect.headers["X-Linked-Etag"] == f'"{hashlib.sha256(WEIGHTS).hexdigest()}"'
    assert redirect.headers["X-Repo-Commit"] == model_info(REPO).sha
    assert response.headers["ETag"] != redirect.headers["X-Linked-Etag"]
    assert "X-Repo-Commit" not in response.headers


def test_the_storage_can_be_asked_again_directly_but_not_with_a_token(hub):
    hub.redirect = True
    place = str(get(url(), "bytes=0-0").url)
    assert get(place, "bytes=7-9").content == WEIGHTS[7:10]
    assert get(place, "bytes=7-9", token=RIGHT_TOKEN).status_code == 400
    assert get(place.partition("?")[0]).status_code == 403
    hub.expire_links()
    assert get(place, "bytes=7-9").status_code == 403
    assert get(url(), "bytes=7-9").content == WEIGHTS[7:10]


def test_the_clients_own_download_follows_redirects(hub):
    hub.redirect = hub.redirect_small = True
    assert Path(hf_hub_download(REPO, "model.safetensors")).read_bytes() == WEIGHTS
    assert Path(hf_hub_download(REPO, "config.json")).read_bytes() == CONFIG
    assert {request.host for request in hub.requests} == {"hub", "storage"}


def test_small_files_come_from_the_hub_by_way_of_its_cache(hub):
    hub.redirect_small = True
    response = get(url("config.json"))
    assert response.content == CONFIG
    (redirect,) = response.history
    commit = model_info(REPO).sha
    assert redirect.status_code == 307
    assert redirect.headers["X-Repo-Commit"] == response.headers["X-Repo-Commit"] == commit
