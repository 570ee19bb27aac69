"""The loopback Hub answers the Hub's own client as the real one does.

How it plays faults, sends files on to its storage and counts what goes out is seen by the tests of
`geometry.hub`, which say to the byte what came of each.
"""

import hashlib
import threading
from functools import partial

import httpx2
import pytest
from huggingface_hub import (
    get_hf_file_metadata,
    hf_hub_download,
    hf_hub_url,
    list_models,
    model_info,
)
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from tests.loopback.hub import OTHER_TOKEN, RIGHT_TOKEN, LoopbackHub

REPO = "ann/helix"
WEIGHTS, CONFIG = bytes(range(256)) * 1000, b'{"model_type": "gpt2"}'
FILES = {"config.json": CONFIG, "model.safetensors": WEIGHTS}


@pytest.fixture
def hub(loopback_hub):
    loopback_hub.add(REPO, FILES)
    loopback_hub.add("ann/gated", FILES, gated=True)
    loopback_hub.add("ann/private", FILES, private=True)
    return loopback_hub


def get(filename="model.safetensors", asked="bytes=0-", *, token=None, repo=REPO, **place):
    """One request as the app makes it: the client's session and headers, and a range."""
    headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity", "Range": asked}
    return get_session().get(hf_hub_url(repo, filename, **place), headers=headers, timeout=20)


def test_a_model_is_described_by_its_commit_and_files(hub):
    config = model_info(REPO, files_metadata=True).siblings[0]
    # What `git hash-object` says.
    expected = hashlib.sha1(b"blob 22\0" + CONFIG, usedforsecurity=False).hexdigest()
    assert config.blob_id == expected
    assert get("config.json").headers["ETag"] == f'"{expected}"'
    second = hub.add(REPO, {"model.safetensors": b"12345678"})
    info = model_info(REPO, files_metadata=True)
    assert (info.id, info.sha, info.private, info.gated) == (REPO, second, False, False)
    (file,) = info.siblings
    assert (file.rfilename, file.size) == ("model.safetensors", 8)
    assert file.lfs.sha256 == hashlib.sha256(b"12345678").hexdigest()
    assert model_info(REPO).siblings[0].size is None


def test_every_kind_of_revision_is_resolved(hub):
    names = ("checkpoint-100", "refs/tags/v1.0", "refs/pr/3")
    commits = {name: hub.add(REPO, {"a.txt": name.encode()}, revision=name) for name in names}
    commits["main"] = model_info(REPO).sha
    assert len(set(commits.values())) == 4
    for name, commit in commits.items():
        # A tag is asked for by its short name.
        for asked in {name.removeprefix("refs/tags/"), commit, commit[:8]}:
            assert model_info(REPO, revision=asked).sha == commit
    assert get("a.txt", revision="refs/pr/3").content == b"refs/pr/3"


def file_of(repo, name, token):
    hf_raise_for_status(get(name, token=token, repo=repo))


@pytest.mark.parametrize(
    ("ask", "kind", "statuses"),
    [
        (partial(model_info, "ann/nothing"), RepositoryNotFoundError, (401, 404)),
        (partial(model_info, "ann/private"), RepositoryNotFoundError, (401, 404)),
        (partial(file_of, "ann/nothing", "x"), RepositoryNotFoundError, (401, 404)),
        (partial(file_of, "ann/gated", "config.json"), GatedRepoError, (401, 403)),
        (partial(model_info, REPO, revision="v9"), RevisionNotFoundError, (404, 404)),
        (partial(hf_hub_download, REPO, "nothing.json"), RemoteEntryNotFoundError, (404, 404)),
    ],
    ids=["no model", "private", "no file of no model", "gated", "no revision", "no file"],
)
def test_a_refusal_has_the_clients_own_class(hub, ask, kind, statuses):
    for token, status in zip((None, OTHER_TOKEN), statuses, strict=True):
        with pytest.raises(kind) as error:
            ask(token=token)
        assert error.value.response.status_code == status
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as error:
        ask(token="hf_expired")
    assert error.value.response.status_code == 401


def test_one_sees_what_one_may(hub):
    assert get("config.json", token=RIGHT_TOKEN, repo="ann/gated").content == CONFIG
    assert model_info("ann/private", token=RIGHT_TOKEN).private
    # The description of a gated model is public.
    assert model_info("ann/gated").gated == "manual"
    hub.add("bea/Helix-two", FILES)
    hub.add("bea/helix-secret", FILES, private=True)
    assert [model.id for model in list_models(search="helix")] == [REPO, "bea/Helix-two"]
    assert len(list(list_models(search="helix", token=RIGHT_TOKEN))) == 3
    assert [model.id for model in list_models(author="bea", search="two")] == ["bea/Helix-two"]


@pytest.mark.parametrize("redirect", [False, True])
def test_a_part_is_what_was_asked_for(hub, redirect):
    hub.redirect = redirect
    for asked, start, end in (
        ("bytes=0-99", 0, 100),
        ("bytes=1000-1000", 1000, 1001),
        ("bytes=255990-", 255_990, 256_000),
        ("bytes=255990-400000", 255_990, 256_000),
        ("bytes=-7", 255_993, 256_000),
    ):
        response = get(asked=asked)
        first = response.history[0] if redirect else response
        assert (response.status_code, response.content) == (206, WEIGHTS[start:end])
        assert response.headers["Content-Range"] == f"bytes {start}-{end - 1}/256000"
        assert response.headers["Accept-Ranges"] == "bytes"
        etag = first.headers["X-Linked-Etag" if redirect else "ETag"]
        assert etag == f'"{hashlib.sha256(WEIGHTS).hexdigest()}"'
        assert (response.headers["ETag"] == etag) != redirect
        assert first.headers["X-Repo-Commit"] == model_info(REPO).sha
    # What is no part brings the whole, or is refused.
    for asked in ("bytes=0-1,5-9", "elephants=1-2", "bytes=-"):
        response = get(asked=asked)
        assert (response.status_code, response.content) == (200, WEIGHTS)
    response = get(asked="bytes=256000-256001")
    assert (response.status_code, response.headers["Content-Range"]) == (416, "bytes */256000")
    with pytest.raises(HfHubHTTPError, match="Requested range: bytes=256000"):
        hf_raise_for_status(response)


def test_the_storage_takes_no_token_and_no_link_that_has_expired(hub):
    hub.redirect = True
    place = str(get(asked="bytes=0-0").url)
    token = {"Authorization": f"Bearer {RIGHT_TOKEN}"}
    assert get_session().get(place, headers=token).status_code == 400
    assert get_session().get(place.partition("?")[0]).status_code == 403
    assert get_session().get(place).content == WEIGHTS
    hub.expire_links()
    assert get_session().get(place).status_code == 403


def test_client_asks_first_and_head_sends_nothing(hub):
    # Known once a process and a day; the app has to do without, and this says that it can be seen.
    build_hf_headers()
    build_hf_headers()
    assert [request.path for request in hub.requests] == ["/api/agent-harnesses"]
    metadata = get_hf_file_metadata(hf_hub_url(REPO, "model.safetensors"))
    assert (metadata.size, metadata.commit_hash) == (len(WEIGHTS), model_info(REPO).sha)
    assert metadata.etag == hashlib.sha256(WEIGHTS).hexdigest()
    assert [request.sent for request in hub.requests if request.method == "HEAD"] == [0]


def test_hubs_leave_no_threads_behind():
    before = set(threading.enumerate())
    for _ in range(10):
        with LoopbackHub() as hub, httpx2.Client() as client:
            hub.add(REPO, FILES)
            client.get(f"{hub.url}/{REPO}/resolve/main/config.json")
    assert set(threading.enumerate()) <= before
