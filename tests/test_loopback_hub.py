"""The loopback Hub answers the Hub's own client as the real one does."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import (
    get_hf_file_metadata,
    get_safetensors_metadata,
    hf_hub_download,
    hf_hub_url,
    list_models,
    list_repo_refs,
    list_repo_tree,
    model_info,
)
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loopback_asking import CONFIG, FILES, REPO, WEIGHTS, get, of_files, url
from tests.loopback_hub import RIGHT_TOKEN, LoopbackHub, Request
from tests.stand_ins import add_nine


@pytest.fixture
def hub(loopback_hub) -> LoopbackHub:
    loopback_hub.add(REPO, FILES)
    return loopback_hub


# ---- the API -------------------------------------------------------------------------------------


def test_a_model_is_described_by_its_commit_and_files(hub):
    second = hub.add(REPO, {"model.safetensors": b"12345678"})
    info = model_info(REPO, files_metadata=True)
    assert (info.id, info.sha, info.private, info.gated) == (REPO, second, False, False)
    (file,) = info.siblings
    assert (file.rfilename, file.size) == ("model.safetensors", 8)
    assert file.lfs.sha256 == hashlib.sha256(b"12345678").hexdigest()
    assert model_info(REPO).siblings[0].size is None


def test_small_files_are_known_by_their_name_in_git(hub):
    (config, _) = model_info(REPO, files_metadata=True).siblings
    # What `git hash-object` says.
    expected = hashlib.sha1(b"blob 22\0" + CONFIG, usedforsecurity=False).hexdigest()
    assert config.blob_id == expected
    assert get(url("config.json")).headers["ETag"] == f'"{expected}"'


def test_every_kind_of_revision_is_resolved(hub):
    main = model_info(REPO).sha
    names = ("checkpoint-100", "refs/tags/v1.0", "refs/pr/3")
    commits = {name: hub.add(REPO, {"a.txt": name.encode()}, revision=name) for name in names}
    commits = {"main": main, **commits}
    assert len(set(commits.values())) == 4
    for name, commit in commits.items():
        # A tag is asked for by its short name.
        for asked in {name.removeprefix("refs/tags/"), commit, commit[:8]}:
            assert model_info(REPO, revision=asked).sha == commit
    assert get(url("a.txt", revision="refs/pr/3")).content == b"refs/pr/3"
    assert get(f"{hub.url}/{REPO}/resolve/refs/pr/3/a.txt").content == b"refs/pr/3"


def test_references_are_listed(hub):
    hub.add(REPO, FILES, revision="checkpoint-100")
    hub.add(REPO, FILES, revision="refs/tags/v1.0")
    pull = hub.add(REPO, FILES, revision="refs/pr/3")
    refs = list_repo_refs(REPO, include_pull_requests=True)
    assert [(ref.name, ref.ref) for ref in refs.branches] == [
        ("main", "refs/heads/main"),
        ("checkpoint-100", "refs/heads/checkpoint-100"),
    ]
    assert [ref.name for ref in refs.tags] == ["v1.0"]
    assert [(ref.ref, ref.target_commit) for ref in refs.pull_requests] == [("refs/pr/3", pull)]
    assert list_repo_refs(REPO).pull_requests is None


def test_a_branch_moves(hub):
    first = model_info(REPO).sha
    second = hub.add(REPO, {"config.json": b"{}"})
    assert get(url("config.json")).content == b"{}"
    assert get(url("config.json", revision=first)).content == CONFIG
    hub.move(REPO, "main", first)
    response = get(url("config.json"))
    assert response.content == CONFIG
    assert response.headers["X-Repo-Commit"] == first != second


def test_models_are_searched(hub):
    hub.add("bea/Helix-two", FILES)
    hub.add("bea/other", FILES)
    hub.add("bea/helix-secret", FILES, private=True)
    assert [model.id for model in list_models(search="helix")] == [REPO, "bea/Helix-two"]
    assert len(list(list_models(search="helix", token=RIGHT_TOKEN))) == 3
    assert [model.id for model in list_models(author="bea", search="oth")] == ["bea/other"]
    assert list(list_models(search="nothing so")) == []


def test_a_long_search_comes_in_pages(hub):
    names = [f"cy/model-{number:02}" for number in range(25)]
    for name in names:
        hub.add(name, FILES)
    found = list(list_models(search="cy/model", limit=10))
    assert [model.id for model in found] == names[:10]
    first = get(f"{hub.url}/api/models?search=cy/model&limit=10")
    second = get(first.links["next"]["url"])
    assert [model["id"] for model in second.json()] == names[10:20]


def test_a_folder_is_listed(hub):
    assert {(file.path, file.size) for file in list_repo_tree(REPO)} == {
        ("config.json", len(CONFIG)),
        ("model.safetensors", len(WEIGHTS)),
    }


def test_an_old_name_is_redirected_for_the_api_and_for_files(hub):
    hub.rename("helix", REPO)
    assert model_info("helix", revision="main").id == REPO
    response = get(hf_hub_url("helix", "config.json"), token=RIGHT_TOKEN)
    assert response.content == CONFIG
    # The token goes along: it is the same host.
    old, new = of_files(hub)[-2:]
    assert (old.status, new.status) == (307, 200)
    assert new.authorization


# ---- files ---------------------------------------------------------------------------------------


def test_the_clients_own_download_works_and_keeps_the_commit(hub, hub_home):
    path = Path(hf_hub_download(REPO, "model.safetensors"))
    assert path.read_bytes() == WEIGHTS
    assert path.is_relative_to(hub_home)
    assert path.parent.name == model_info(REPO).sha


def test_the_clients_own_ranges_work(loopback_hub, tmp_path):
    add_nine(loopback_hub, tmp_path, checkpoints=False)
    metadata = get_safetensors_metadata("openai-community/gpt2-xl")
    tensors = metadata.files_metadata["model.safetensors"].tensors
    assert tensors["wpe.weight"].shape == [64, 50]
    assert tensors["h.1.attn.bias"].shape == [1, 1, 64, 64]
    assert "bytes=0-100000" in [request.range for request in loopback_hub.requests]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-99", 0, 100),
        ("bytes=1000-1000", 1000, 1001),
        ("bytes=299990-", 299_990, 300_000),
        ("bytes=299990-400000", 299_990, 300_000),
        ("bytes=-7", 299_993, 300_000),
    ],
)
def test_a_part_is_what_was_asked_for(hub, asked, start, end):
    response = get(url(), asked)
    assert response.status_code == 206
    assert response.content == WEIGHTS[start:end]
    assert response.headers["Content-Range"] == f"bytes {start}-{end - 1}/300000"
    assert response.headers["Accept-Ranges"] == "bytes"
    assert response.headers["ETag"] == f'"{hashlib.sha256(WEIGHTS).hexdigest()}"'
    assert response.headers["X-Repo-Commit"] == model_info(REPO).sha


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 299_999), st.integers(0, 299_999))
def test_any_part_is_what_was_asked_for(hub, one, other):
    first, last = sorted((one, other))
    assert get(url(), f"bytes={first}-{last}").content == WEIGHTS[first : last + 1]


@pytest.mark.parametrize("asked", ["bytes=0-1,5-9", "elephants=1-2", "bytes=-"])
def test_what_is_no_single_range_brings_the_whole(hub, asked):
    response = get(url(), asked)
    assert response.status_code == 200
    assert response.content == WEIGHTS


def test_a_part_beyond_the_end_is_refused(hub):
    response = get(url(), "bytes=300000-300001")
    assert response.status_code == 416
    assert response.headers["Content-Range"] == "bytes */300000"
    with pytest.raises(HfHubHTTPError, match="Requested range: bytes=300000"):
        hf_raise_for_status(response)


def test_a_sparse_file_is_served_from_the_disk(loopback_hub, tmp_path):
    path = tmp_path / "large.bin"
    with path.open("wb") as file:
        file.seek(5_000_000_000)
        file.write(b"the end")
    loopback_hub.add(REPO, {"pytorch_model.bin": path})
    response = get(url("pytorch_model.bin"), "bytes=4999999998-")
    assert response.content == b"\0\0the end"
    assert response.headers["Content-Range"].endswith("/5000000007")


def test_a_head_tells_all_and_sends_nothing(hub):
    metadata = get_hf_file_metadata(url())
    assert metadata.size == len(WEIGHTS)
    assert metadata.etag == hashlib.sha256(WEIGHTS).hexdigest()
    assert metadata.commit_hash == model_info(REPO).sha
    heads = [request for request in hub.requests if request.method == "HEAD"]
    assert [request.sent for request in heads] == [0]


def test_one_connection_serves_many_requests(hub):
    ports = set()
    with httpx2.Client() as client:
        for number in range(20):
            asked = {"Range": f"bytes={number}-{number}"}
            with client.stream("GET", url(), headers=asked) as response:
                ports.add(response.extensions["network_stream"].get_extra_info("client_addr"))
                assert response.read() == WEIGHTS[number : number + 1]
    assert len(ports) == 1


def test_everything_asked_is_on_record(hub):
    hub.forget_requests()
    get(url(), "bytes=0-9", token=RIGHT_TOKEN)
    get(url("config.json"))
    path = f"/{REPO}/resolve/main/"
    assert of_files(hub) == [
        Request("GET", f"{path}model.safetensors", "bytes=0-9", 206, 10, True, "hub"),
        Request("GET", f"{path}config.json", None, 200, len(CONFIG), False, "hub"),
    ]
    assert sum(request.sent for request in of_files(hub)) == 10 + len(CONFIG)
    assert RIGHT_TOKEN not in repr(hub.requests)


def test_what_the_client_has_received_is_counted(hub):
    for number in range(1, 51):
        hub.forget_requests()
        assert len(get(url(), f"bytes=0-{number * 1000 - 1}").content) == number * 1000
        assert of_files(hub)[0].sent == number * 1000


def test_the_client_asks_something_of_its_own_first(hub):
    # Known once a process and a day; the app has to do without, and this says that it can be seen.
    build_hf_headers()
    build_hf_headers()
    assert [request.path for request in hub.requests] == ["/api/agent-harnesses"]


# ---- many at once --------------------------------------------------------------------------------


def test_many_clients_at_once_get_what_they_asked_for(hub):
    starts = range(0, 200_000, 997)
    with ThreadPoolExecutor(12) as pool:
        parts = pool.map(lambda start: get(url(), f"bytes={start}-{start + 999}").content, starts)
        for start, part in zip(starts, parts, strict=True):
            assert part == WEIGHTS[start : start + 1000]
    asked = [request for request in hub.requests if request.range]
    assert {request.range for request in asked} == {f"bytes={n}-{n + 999}" for n in starts}
    assert [request.sent for request in asked] == [1000] * len(starts)


def test_hubs_leave_no_threads_behind():
    before = set(threading.enumerate())
    for _ in range(10):
        with LoopbackHub() as hub, httpx2.Client() as client:
            hub.add(REPO, FILES)
            client.get(f"{hub.url}/{REPO}/resolve/main/config.json")
    assert set(threading.enumerate()) <= before
