"""The loopback Hub answers the Hub's own client as the real one does, and plays every fault."""

import hashlib
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import numpy as np
import pytest
from huggingface_hub import (
    HfApi,
    get_hf_file_metadata,
    get_safetensors_metadata,
    hf_hub_download,
    hf_hub_url,
    list_models,
    list_repo_refs,
    list_repo_tree,
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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geometry.sources import open_source
from tests.loopback_hub import OTHER_TOKEN, RIGHT_TOKEN, Fault, LoopbackHub, Request
from tests.stand_ins import (
    CHECKPOINTS,
    NINE,
    OPENAI,
    STANFORD,
    add_nine,
    positions_of,
    write_stand_in,
)

REPO = "ann/helix"
WEIGHTS = bytes(np.random.default_rng(7).integers(0, 256, 300_000, dtype=np.uint8))
CONFIG = b'{"model_type": "gpt2"}'
FILES = {"config.json": CONFIG, "model.safetensors": WEIGHTS}
WAIT_S = 20
"""How long a test waits for another thread before it fails; never how long it takes."""


def url(filename: str = "model.safetensors", **place: str) -> str:
    return hf_hub_url(REPO, filename, **place)


def get(
    address: str, asked: str | None = None, *, token: str | None = None, method: str = "GET"
) -> httpx2.Response:
    """One request as the app makes it: the client's session and headers, perhaps a range."""
    ranges = {"Range": asked} if asked else {}
    headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity", **ranges}
    return get_session().request(method, address, headers=headers, timeout=WAIT_S)


def of_files(hub: LoopbackHub) -> list[Request]:
    """The requests for files, without those of the client's own making."""
    return [request for request in hub.requests if request.path != "/api/agent-harnesses"]


@pytest.fixture
def hub(loopback_hub: LoopbackHub) -> LoopbackHub:
    loopback_hub.add(REPO, FILES)
    return loopback_hub


# ---- the API -------------------------------------------------------------------------------------


def test_a_model_is_described_by_its_commit_and_files(hub: LoopbackHub):
    second = hub.add(REPO, {"model.safetensors": b"12345678"})
    info = model_info(REPO, files_metadata=True)
    assert (info.id, info.sha, info.private, info.gated) == (REPO, second, False, False)
    (file,) = info.siblings
    assert (file.rfilename, file.size) == ("model.safetensors", 8)
    assert file.lfs.sha256 == hashlib.sha256(b"12345678").hexdigest()
    assert model_info(REPO).siblings[0].size is None


def test_small_files_are_known_by_their_name_in_git(hub: LoopbackHub):
    (config, _) = model_info(REPO, files_metadata=True).siblings
    # What `git hash-object` says.
    expected = hashlib.sha1(b"blob 22\0" + CONFIG, usedforsecurity=False).hexdigest()
    assert config.blob_id == expected
    assert get(url("config.json")).headers["ETag"] == f'"{expected}"'


def test_every_kind_of_revision_is_resolved(hub: LoopbackHub):
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


def test_references_are_listed(hub: LoopbackHub):
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


def test_a_branch_moves(hub: LoopbackHub):
    first = model_info(REPO).sha
    second = hub.add(REPO, {"config.json": b"{}"})
    assert get(url("config.json")).content == b"{}"
    assert get(url("config.json", revision=first)).content == CONFIG
    hub.move(REPO, "main", first)
    response = get(url("config.json"))
    assert response.content == CONFIG
    assert response.headers["X-Repo-Commit"] == first != second


def test_models_are_searched(hub: LoopbackHub):
    hub.add("bea/Helix-two", FILES)
    hub.add("bea/other", FILES)
    hub.add("bea/helix-secret", FILES, private=True)
    assert [model.id for model in list_models(search="helix")] == [REPO, "bea/Helix-two"]
    assert len(list(list_models(search="helix", token=RIGHT_TOKEN))) == 3
    assert [model.id for model in list_models(author="bea", search="oth")] == ["bea/other"]
    assert list(list_models(search="nothing so")) == []


def test_a_long_search_comes_in_pages(hub: LoopbackHub):
    names = [f"cy/model-{number:02}" for number in range(25)]
    for name in names:
        hub.add(name, FILES)
    found = list(list_models(search="cy/model", limit=10))
    assert [model.id for model in found] == names[:10]
    first = get(f"{hub.url}/api/models?search=cy/model&limit=10")
    second = get(first.links["next"]["url"])
    assert [model["id"] for model in second.json()] == names[10:20]


def test_a_folder_is_listed(hub: LoopbackHub):
    assert {(file.path, file.size) for file in list_repo_tree(REPO)} == {
        ("config.json", len(CONFIG)),
        ("model.safetensors", len(WEIGHTS)),
    }


def test_an_old_name_is_redirected_for_the_api_and_for_files(hub: LoopbackHub):
    hub.rename("helix", REPO)
    assert model_info("helix", revision="main").id == REPO
    response = get(hf_hub_url("helix", "config.json"), token=RIGHT_TOKEN)
    assert response.content == CONFIG
    # The token goes along: it is the same host.
    old, new = of_files(hub)[-2:]
    assert (old.status, new.status) == (307, 200)
    assert new.authorization


# ---- files ---------------------------------------------------------------------------------------


def test_the_clients_own_download_works_and_keeps_the_commit(hub: LoopbackHub, hub_home: Path):
    path = Path(hf_hub_download(REPO, "model.safetensors"))
    assert path.read_bytes() == WEIGHTS
    assert path.is_relative_to(hub_home)
    assert path.parent.name == model_info(REPO).sha


def test_the_clients_own_ranges_work(loopback_hub: LoopbackHub, tmp_path: Path):
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
def test_a_part_is_what_was_asked_for(hub: LoopbackHub, asked: str, start: int, end: int):
    response = get(url(), asked)
    assert response.status_code == 206
    assert response.content == WEIGHTS[start:end]
    assert response.headers["Content-Range"] == f"bytes {start}-{end - 1}/300000"
    assert response.headers["Accept-Ranges"] == "bytes"
    assert response.headers["ETag"] == f'"{hashlib.sha256(WEIGHTS).hexdigest()}"'
    assert response.headers["X-Repo-Commit"] == model_info(REPO).sha


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 299_999), st.integers(0, 299_999))
def test_any_part_is_what_was_asked_for(hub: LoopbackHub, one: int, other: int):
    first, last = sorted((one, other))
    assert get(url(), f"bytes={first}-{last}").content == WEIGHTS[first : last + 1]


@pytest.mark.parametrize("asked", ["bytes=0-1,5-9", "elephants=1-2", "bytes=-"])
def test_what_is_no_single_range_brings_the_whole(hub: LoopbackHub, asked: str):
    response = get(url(), asked)
    assert response.status_code == 200
    assert response.content == WEIGHTS


def test_a_part_beyond_the_end_is_refused(hub: LoopbackHub):
    response = get(url(), "bytes=300000-300001")
    assert response.status_code == 416
    assert response.headers["Content-Range"] == "bytes */300000"
    with pytest.raises(HfHubHTTPError, match="Requested range: bytes=300000"):
        hf_raise_for_status(response)


def test_a_sparse_file_is_served_from_the_disk(loopback_hub: LoopbackHub, tmp_path: Path):
    path = tmp_path / "large.bin"
    with path.open("wb") as file:
        file.seek(5_000_000_000)
        file.write(b"the end")
    loopback_hub.add(REPO, {"pytorch_model.bin": path})
    response = get(url("pytorch_model.bin"), "bytes=4999999998-")
    assert response.content == b"\0\0the end"
    assert response.headers["Content-Range"].endswith("/5000000007")


def test_a_head_tells_all_and_sends_nothing(hub: LoopbackHub):
    metadata = get_hf_file_metadata(url())
    assert metadata.size == len(WEIGHTS)
    assert metadata.etag == hashlib.sha256(WEIGHTS).hexdigest()
    assert metadata.commit_hash == model_info(REPO).sha
    heads = [request for request in hub.requests if request.method == "HEAD"]
    assert [request.sent for request in heads] == [0]


def test_one_connection_serves_many_requests(hub: LoopbackHub):
    ports = set()
    with httpx2.Client() as client:
        for number in range(20):
            asked = {"Range": f"bytes={number}-{number}"}
            with client.stream("GET", url(), headers=asked) as response:
                ports.add(response.extensions["network_stream"].get_extra_info("client_addr"))
                assert response.read() == WEIGHTS[number : number + 1]
    assert len(ports) == 1


def test_everything_asked_is_on_record(hub: LoopbackHub):
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


def test_what_the_client_has_received_is_counted(hub: LoopbackHub):
    for number in range(1, 51):
        hub.forget_requests()
        assert len(get(url(), f"bytes=0-{number * 1000 - 1}").content) == number * 1000
        assert of_files(hub)[0].sent == number * 1000


def test_the_client_asks_something_of_its_own_first(hub: LoopbackHub):
    # Known once a process and a day; the app has to do without, and this says that it can be seen.
    build_hf_headers()
    build_hf_headers()
    assert [request.path for request in hub.requests] == ["/api/agent-harnesses"]


# ---- who may see what ----------------------------------------------------------------------------


def test_what_is_not_there(hub: LoopbackHub):
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


def test_a_gated_model_opens_with_the_right_token(hub: LoopbackHub):
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


def test_a_private_model_is_not_there_for_others(hub: LoopbackHub):
    hub.add("ann/private", FILES, private=True)
    for token, status in ((None, 401), (OTHER_TOKEN, 404)):
        with pytest.raises(RepositoryNotFoundError) as error:
            model_info("ann/private", token=token)
        assert error.value.response.status_code == status
    assert model_info("ann/private", token=RIGHT_TOKEN).private


def test_a_token_nobody_knows_is_refused_even_for_open_models(hub: LoopbackHub):
    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as error:
        model_info(REPO, token="hf_expired")
    assert error.value.response.status_code == 401
    assert not isinstance(error.value, RepositoryNotFoundError)


def test_a_token_in_its_usual_place_is_used(hub: LoopbackHub, hub_home: Path):
    hub.add("ann/gated", FILES, gated=True)
    hub_home.mkdir(exist_ok=True)
    (hub_home / "token").write_text(RIGHT_TOKEN, "utf-8")
    assert Path(hf_hub_download("ann/gated", "config.json")).read_bytes() == CONFIG


# ---- the storage host ----------------------------------------------------------------------------


def test_the_storage_serves_large_files_without_the_token(hub: LoopbackHub):
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


def test_the_storage_can_be_asked_again_directly_but_not_with_a_token(hub: LoopbackHub):
    hub.redirect = True
    place = str(get(url(), "bytes=0-0").url)
    assert get(place, "bytes=7-9").content == WEIGHTS[7:10]
    assert get(place, "bytes=7-9", token=RIGHT_TOKEN).status_code == 400
    assert get(place.partition("?")[0]).status_code == 403
    hub.expire_links()
    assert get(place, "bytes=7-9").status_code == 403
    assert get(url(), "bytes=7-9").content == WEIGHTS[7:10]


def test_the_clients_own_download_follows_redirects(hub: LoopbackHub):
    hub.redirect = hub.redirect_small = True
    assert Path(hf_hub_download(REPO, "model.safetensors")).read_bytes() == WEIGHTS
    assert Path(hf_hub_download(REPO, "config.json")).read_bytes() == CONFIG
    assert {request.host for request in hub.requests} == {"hub", "storage"}


def test_small_files_come_from_the_hub_by_way_of_its_cache(hub: LoopbackHub):
    hub.redirect_small = True
    response = get(url("config.json"))
    assert response.content == CONFIG
    (redirect,) = response.history
    commit = model_info(REPO).sha
    assert redirect.status_code == 307
    assert redirect.headers["X-Repo-Commit"] == response.headers["X-Repo-Commit"] == commit


# ---- faults --------------------------------------------------------------------------------------


def test_an_error_is_played_as_often_as_asked(hub: LoopbackHub):
    fault = hub.fault(Fault.status(429, {"Retry-After": "3"}), path="*.safetensors", times=2)
    assert get(url("config.json")).status_code == 200
    assert not fault.reached.is_set()
    first, second, third = (get(url(), "bytes=0-9") for _ in range(3))
    assert (first.status_code, second.status_code, third.status_code) == (429, 429, 206)
    assert first.headers["Retry-After"] == "3"
    assert fault.reached.is_set()
    assert fault.played == 2


def test_faults_wait_their_turn(hub: LoopbackHub):
    hub.fault(Fault.status(503), after=2, times=None)
    hub.fault(Fault.status(500))
    statuses = [get(url(), "bytes=0-9").status_code for _ in range(4)]
    assert statuses == [500, 206, 503, 503]
    hub.clear_faults()
    assert get(url(), "bytes=0-9").status_code == 206


@pytest.mark.parametrize(
    ("code", "error_code", "expected"),
    [
        (404, "EntryNotFound", RemoteEntryNotFoundError),
        (404, "RevisionNotFound", RevisionNotFoundError),
        (401, "RepoNotFound", RepositoryNotFoundError),
        (403, "GatedRepo", GatedRepoError),
        (502, "", HfHubHTTPError),
    ],
)
def test_an_error_has_the_clients_own_class(
    hub: LoopbackHub, code: int, error_code: str, expected: type[Exception]
):
    hub.fault(Fault.status(code, error_code=error_code))
    with pytest.raises(expected):
        hf_raise_for_status(get(url()))


def test_a_fault_can_be_the_storages_alone(hub: LoopbackHub):
    hub.redirect = True
    hub.fault(Fault.status(503), path="*/model.safetensors", host="storage")
    assert get(url(), "bytes=0-9").status_code == 503
    assert [request.status for request in of_files(hub)] == [302, 503]


def test_faults_of_a_body_wait_for_one(hub: LoopbackHub):
    hub.redirect = True
    fault = hub.fault(Fault.cut(4), path="*/model.safetensors")
    get_hf_file_metadata(url())
    assert fault.played == 0
    with pytest.raises(httpx2.RemoteProtocolError):
        get(url(), "bytes=0-9")
    assert [(request.host, request.sent) for request in of_files(hub)][-1] == ("storage", 4)


def received(asked: str = "bytes=0-99999") -> tuple[bytes, Exception | None]:
    """What arrives of an answer before it fails, and how it fails."""
    data = b""
    try:
        with get_session().stream("GET", url(), headers={"Range": asked}, timeout=WAIT_S) as answer:
            for piece in answer.iter_bytes(1000):
                data += piece
    except httpx2.HTTPError as error:
        return data, error
    return data, None


def test_a_connection_is_cut_half_way(hub: LoopbackHub):
    hub.fault(Fault.cut(40_000))
    data, error = received()
    assert data == WEIGHTS[:40_000]
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert hub.requests[-1].sent == 40_000
    assert received() == (WEIGHTS[:100_000], None)


def test_a_connection_is_reset_half_way(hub: LoopbackHub):
    hub.fault(Fault.cut(40_000, reset=True))
    data, error = received()
    # A reset may overtake what was sent before it.
    assert WEIGHTS[:40_000].startswith(data)
    assert isinstance(error, httpx2.ReadError)


def test_a_connection_is_closed_before_the_answer(hub: LoopbackHub):
    hub.fault(Fault.refuse())
    data, error = received()
    assert data == b""
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert (hub.requests[-1].status, hub.requests[-1].sent) == (0, 0)


@contextmanager
def asking(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run a client in a thread of its own, which has to end with the block."""
    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join(WAIT_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("after", [None, 0, 5000])
def test_an_answer_stalls_until_the_client_leaves(hub: LoopbackHub, after: int | None):
    fault = hub.fault(Fault.stall(after))
    with httpx2.Client() as client, pytest.raises(httpx2.ReadTimeout):
        # No time passes for nothing: that the fault was reached is seen below.
        client.get(url(), timeout=0.2)
    assert fault.reached.wait(WAIT_S)
    assert hub.requests[-1].sent == (after or 0)


def test_a_stalled_answer_ends_with_the_hub(hub: LoopbackHub):
    fault = hub.fault(Fault.stall(5000))
    results = []
    with asking(lambda: results.append(received())):
        assert fault.reached.wait(WAIT_S)
        hub.close()
    ((data, error),) = results
    assert data == WEIGHTS[:5000]
    assert isinstance(error, httpx2.RemoteProtocolError)


def test_a_slow_answer_waits_at_its_gate(hub: LoopbackHub):
    gate = threading.Event()
    fault = hub.fault(Fault.slow(10_000, gate))
    results = []
    with asking(lambda: results.append(received())):
        assert fault.reached.wait(WAIT_S)
        assert hub.requests[-1].sent == 10_000
        assert results == []
        gate.set()
    assert results == [(WEIGHTS[:100_000], None)]


def test_a_slow_answer_comes_piece_by_piece(hub: LoopbackHub):
    gate = threading.Semaphore(0)
    hub.fault(Fault.slow(10_000, gate))
    with get_session().stream("GET", url(), headers={"Range": "bytes=0-29999"}) as answer:
        pieces = answer.iter_bytes(10_000)
        for number in range(3):
            assert next(pieces) == WEIGHTS[number * 10_000 : (number + 1) * 10_000]
            assert hub.requests[-1].sent == (number + 1) * 10_000
            gate.release()


def test_a_slow_answer_ends_when_the_client_leaves(hub: LoopbackHub):
    fault = hub.fault(Fault.slow(1000, threading.Event()))
    with httpx2.Client() as client, pytest.raises(httpx2.ReadTimeout):
        client.get(url(), timeout=0.2)
    assert fault.reached.wait(WAIT_S)
    # Nothing is left hanging: closing joins every connection's thread.
    hub.close()


def test_a_range_is_ignored(hub: LoopbackHub):
    hub.fault(Fault.ignore_range())
    response = get(url(), "bytes=10-19")
    assert response.status_code == 200
    assert response.content == WEIGHTS
    assert "Content-Range" not in response.headers
    assert get(url(), "bytes=10-19").status_code == 206


@pytest.mark.parametrize("delta", [-3, 3])
def test_a_body_has_the_wrong_length(hub: LoopbackHub, delta: int):
    hub.fault(Fault.wrong_length(delta))
    response = get(url(), "bytes=10-19")
    assert response.content == WEIGHTS[10 : 20 + delta]
    assert response.headers["Content-Range"] == "bytes 10-19/300000"


def test_one_bit_is_wrong(hub: LoopbackHub):
    hub.fault(Fault.flip(15))
    assert get(url(), "bytes=20-29").content == WEIGHTS[20:30]
    spoilt = get(url(), "bytes=10-19").content
    assert [at for at, pair in enumerate(zip(spoilt, WEIGHTS[10:20], strict=True))
            if pair[0] != pair[1]] == [5]  # fmt: skip
    assert get(url(), "bytes=10-19").content == WEIGHTS[10:20]


@pytest.mark.parametrize("text", ["", "bytes elephant"])
def test_a_content_range_is_another(hub: LoopbackHub, text: str):
    hub.fault(Fault.garble_content_range(text))
    said = get(url(), "bytes=10-19").headers["Content-Range"]
    assert said == (text or "bytes 11-20/300000")


def test_a_file_seems_replaced(hub: LoopbackHub):
    before = get(url(), "bytes=0-0").headers["ETag"]
    hub.fault(Fault.other_etag())
    assert get(url(), "bytes=0-0").headers["ETag"] != before
    assert get(url(), "bytes=0-0").headers["ETag"] == before


def test_nobody_trusts_the_certificate(serve_hub: Callable[..., LoopbackHub]):
    hub = serve_hub(tls=True)
    hub.add(REPO, FILES)
    with pytest.raises(httpx2.ConnectError) as error:
        get(url())
    causes = [error.value]
    while following := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(following)
    assert any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes)
    assert hub.requests == []


def test_behind_the_certificate_all_is_well(serve_hub: Callable[..., LoopbackHub]):
    hub = serve_hub(tls=True)
    hub.add(REPO, FILES)
    hub.redirect = True
    with httpx2.Client(verify=False, follow_redirects=True) as client:
        assert client.get(url(), headers={"Range": "bytes=3-7"}).content == WEIGHTS[3:8]


def test_a_closed_hub_refuses_connections(hub: LoopbackHub):
    hub.close()
    with pytest.raises(httpx2.ConnectError):
        get(url())


# ---- many at once --------------------------------------------------------------------------------


def test_many_clients_at_once_get_what_they_asked_for(hub: LoopbackHub):
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


# ---- the stand-ins -------------------------------------------------------------------------------


def test_the_nine_are_downloaded_and_opened(loopback_hub: LoopbackHub, tmp_path: Path):
    commits = add_nine(loopback_hub, tmp_path / "made", checkpoints=False)
    assert len(commits) == len(NINE) == 9
    for name in NINE:
        weights = "model.safetensors" if name in OPENAI else "pytorch_model.bin"
        hf_hub_download(name, "config.json")
        assert Path(hf_hub_download(name, weights)).parent.name == commits[name]
        np.testing.assert_array_equal(open_source(name).W_pos, positions_of(name))
        files = {file.rfilename for file in model_info(name).siblings}
        assert ("tokenizer.json" in files) == (name in OPENAI)


def test_the_stand_ins_have_the_real_layout(tmp_path: Path):
    body = r"wpe\.weight|wte\.weight|ln_f\.\w+|h\.\d\.(\w+\.)+\w+"
    for name in NINE:
        files = write_stand_in(tmp_path, name)
        weights = files["model.safetensors" if name in OPENAI else "pytorch_model.bin"]
        tensors = open_source(weights).store.tensors
        prefix = "" if name in OPENAI else "transformer."
        rest = [part.removeprefix(prefix) for part in tensors if part != "lm_head.weight"]
        assert all(re.fullmatch(body, part) for part in rest)
        assert all(part.startswith(prefix) for part in tensors if part != "lm_head.weight")
        assert ("lm_head.weight" in tensors) == (name in STANFORD)
        assert tensors[f"{prefix}h.1.attn.bias"].shape == (1, 1, 64, 64)
        assert (weights.read_bytes()[:2] == b"PK") == (name in STANFORD)
        dtype = tensors[f"{prefix}wpe.weight"].dtype
        assert dtype == ("F32" if name in OPENAI else "F16")


def test_stanfords_checkpoints_are_branches(loopback_hub: LoopbackHub, tmp_path: Path):
    add_nine(loopback_hub, tmp_path / "made")
    name = STANFORD[2]
    branches = {ref.name for ref in HfApi().list_repo_refs(name).branches}
    assert branches == {"main", *CHECKPOINTS}
    for branch in CHECKPOINTS:
        hf_hub_download(name, "config.json", revision=branch)
        hf_hub_download(name, "pytorch_model.bin", revision=branch)
        model = open_source(f"{name}@{branch}")
        np.testing.assert_array_equal(model.W_pos, positions_of(name, branch))


def test_the_stand_ins_tokenizers_work(loopback_hub: LoopbackHub, tmp_path: Path):
    add_nine(loopback_hub, tmp_path / "made", checkpoints=False)
    expected = ["hello", "Ġmy", "Ġname", "Ġis", "Ġadam"]
    from transformers import AutoTokenizer

    for name in (OPENAI[0], STANFORD[0]):
        tokenizer = AutoTokenizer.from_pretrained(name)
        assert tokenizer.tokenize("hello my name is adam") == expected
