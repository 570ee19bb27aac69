"""Answers that never end, come too slowly, or hold what no Hub sends, cost little and end soon."""

import gzip
import json
import logging
from collections.abc import Callable, Iterable, Iterator

import httpx2
import numpy as np
import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.answers import Budgets, next_request
from geometry.hub.client import Hub
from geometry.hub.faults import BrokenTransfer, HubBusy, HubError, NotOnHub
from geometry.hub.retry_policy import wait_asked_for
from tests.geometry.hub_asking import ADDRESS, ASKS, QUICK, WEIGHTS, fails
from tests.loopback.raw_server import CLOSE, Asked, Piece, RawServer, answer, chunked, endless

COMMIT = "c" * 40
ADVANCE = 30_000_000  # bytes that the systems' buffers may take beyond what is read
HASTY = Budgets(head_s=0.3, answer_s=0.3, unread_s=0.1, window_s=0.3)
#: What asks for a file, and what for an answer in JSON.
FILES, JSON = ("open", "fetch"), ("list", "search", "revisions")
ALL = {**ASKS, "revisions": lambda hub, address, transfer: hub.list_revisions(address, transfer)}


@pytest.fixture
def server(hub_home, monkeypatch) -> Iterator[RawServer]:
    """A server whose script each test sets."""
    with RawServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def hasty() -> Iterator[Hub]:
    """A client that gives up within a second."""
    hub = Hub(retries=QUICK, budgets=HASTY, timeout_s=1.0)
    yield hub
    hub.close()


@pytest.fixture(autouse=True)
def every_ask(monkeypatch) -> None:
    monkeypatch.setitem(ASKS, "revisions", ALL["revisions"])


def always(pieces: Callable[[], Iterable[Piece]]) -> Callable[[Asked], Iterable[Piece]]:
    return lambda asked: pieces()


def of_json(value: object) -> Callable[[Asked], Iterable[Piece]]:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda asked: answer("200 OK", content)


def file_headers(*more: str) -> list[str]:
    return [f"X-Repo-Commit: {COMMIT}", 'ETag: "e"', *more]


@pytest.mark.parametrize("ask", JSON)
@pytest.mark.parametrize("length", [[], ["Content-Length: 99999999999"]])
def test_an_answer_without_end(server, hub, ask, length):
    blank = endless(b" " * 65_536)
    server.script = always(lambda: answer("200 OK", blank, "Connection: close", *length))
    error = fails(ask, hub, BrokenTransfer)
    assert "of more than 16.0 MB" in str(error)
    assert len(server.asked) == 1
    assert server.nbytes < Budgets().answer_bytes + ADVANCE


@pytest.mark.parametrize("ask", ALL)
@pytest.mark.parametrize("status", [404, 416, 418, 500])
def test_an_error_without_end(server, hub, ask, status):
    page = endless(b"x" * 65_536)
    server.script = always(lambda: answer(f"{status} No", page, "Connection: close"))
    kind = {404: NotOnHub, 416: BrokenTransfer, 500: HubBusy}.get(status, HubError)
    error = fails(ask, hub, kind)
    assert status != 418 or "418" in str(error)
    assert server.nbytes < len(server.asked) * ADVANCE


@pytest.mark.parametrize("ask", ALL)
def test_a_redirect_without_end(server, hub, ask):
    page = endless(b"x" * 65_536)
    server.script = always(
        lambda: answer("302 Found", page, "Location: /somewhere", "Connection: close")
    )
    assert "endlessly" in str(fails(ask, hub, BrokenTransfer))
    assert len(server.asked) == Budgets().redirects + 1
    assert server.nbytes < len(server.asked) * ADVANCE


@pytest.mark.slow
@pytest.mark.parametrize("ask", ALL)
@pytest.mark.parametrize("status", [200, 500, 302])
def test_what_is_compressed_is_not_unpacked(server, hub, ask, status):
    bomb = gzip.compress(bytes(50_000_000))
    headers = ["Content-Encoding: gzip", *(["Location: /x"] if status == 302 else [])]
    server.script = always(lambda: answer(f"{status} Yes", bomb, *headers))
    kind = HubBusy if status == 500 else BrokenTransfer
    error = fails(ask, hub, kind)
    if status == 200:
        assert "an encoding that was not requested" in str(error)


@pytest.mark.parametrize("ask", ALL)
def test_interim_answers_without_end(server, hub, ask):
    server.script = always(lambda: endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000))
    assert "endless headers" in str(fails(ask, hub, BrokenTransfer))
    assert server.nbytes < ADVANCE


@pytest.mark.parametrize(
    "headers", [[f"X-{n}: 1" for n in range(2_000)], ["X-Long: " + "x" * 80_000]]
)
def test_more_headers_than_any_hub_sends(server, hub, headers):
    server.script = always(lambda: answer("200 OK", b"[]", *headers))
    assert "more than any Hub sends" in str(fails("search", hub, BrokenTransfer))


def one_by_one(content: bytes) -> Iterator[Piece]:
    """A byte at a time, and then blanks for ever."""
    for byte in content:
        yield bytes([byte])
        yield 0.005
    while True:
        yield b" "
        yield 0.005


@pytest.mark.slow
@pytest.mark.parametrize("ask", ALL)
def test_headers_byte_by_byte(server, hasty, ask):
    server.script = always(lambda: one_by_one(b"HTTP/1.1 200 OK\r\nX-Slow: "))
    assert "sends too slowly" in str(fails(ask, hasty, BrokenTransfer))
    assert len(server.asked) == 1


@pytest.mark.slow
@pytest.mark.parametrize("ask", ALL)
@pytest.mark.parametrize("coding", ["length", "chunked", "extension"])
def test_a_body_byte_by_byte(server, hasty, ask, coding):
    size = 90_000 if ask == "open" else 60_000
    part = [f"Content-Range: bytes 0-{size - 1}/{size}"] if ask in FILES else []
    framing = f"Content-Length: {size}" if coding == "length" else "Transfer-Encoding: chunked"

    def pieces() -> Iterator[Piece]:
        status = "206 Partial" if part else "200 OK"
        yield from answer(status, [], *file_headers(framing, *part))
        # A chunk's extension may be long, and is no part of the body.
        yield from one_by_one({"length": b"[", "chunked": b"1\r\n[\r\n" * 9}.get(coding, b"1;x="))

    server.script = always(pieces)
    assert "sends too slowly" in str(fails(ask, hasty, BrokenTransfer))
    assert len(server.asked) == 1


def test_a_slow_error_is_still_explained(server, hasty):
    server.script = always(lambda: [*answer("404 No", [], "Content-Length: 9999"), "stall"])
    fails("open", hasty, NotOnHub)


def test_time_that_the_reader_takes_does_not_count(server, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("geometry.hub.answers.time.monotonic", lambda: now[0])
    content = np.arange(100_000, dtype=np.uint8).tobytes()
    server.script = always(
        lambda: answer(
            "206 Partial", content, *file_headers(f"Content-Range: bytes 0-99999/{len(content)}")
        )
    )

    def on_progress(_: object) -> None:
        now[0] += 3600

    hub = Hub(retries=QUICK)
    transfer = Transfer(on_progress, interval_s=0)
    assert hub.fetch(ADDRESS, "config.json", transfer) == content
    hub.close()


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http://someone:secret@127.0.0.1/x",
        f"http://{'a' * 300}.example/x",
        f"http://{'a.' * 150}example/x",
        "http://[::1",
        "http://127.0.0.1:99999999/x",
        "/" + "x" * 20_000,
        "javascript:alert(1)",
    ],
)
@pytest.mark.parametrize("ask", ["open", "list"])
def test_redirects_to_what_is_no_address(server, hub, ask, location):
    def script(asked: Asked) -> Iterable[Piece]:
        return answer("302 Found", b"", f"Location: {location}", f"X-Repo-Commit: {COMMIT}")

    server.script = script
    error = fails(ask, hub, BrokenTransfer)
    assert "redirects to an address that cannot be used" in str(error)
    assert "secret" not in f"{error}{error.advice}"


def test_a_redirect_from_https_to_http():
    response = httpx2.Response(
        302,
        headers={"Location": "http://example.org/x"},
        request=httpx2.Request("GET", "https://example.org/x"),
    )
    response.next_request = httpx2.Request("GET", "http://example.org/x")
    with pytest.raises(BrokenTransfer, match="without https"):
        next_request(response, Budgets())


def test_an_endpoint_with_a_name_that_is_too_long(hub, hub_home, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", f"http://{'a' * 300}.example")
    for ask in ALL:
        with pytest.raises(HubError, match="could not be looked up"):
            ALL[ask](hub, ADDRESS, Transfer())


def test_cookies_are_not_kept(server, hub):
    server.script = always(lambda: answer("200 OK", b"[]", *["Set-Cookie: a=1; Path=/"] * 50))
    hub.search("a")
    hub.search("b")
    assert len(server.asked) == 2
    assert not any("cookie" in asked.headers for asked in server.asked)


# Python makes no numbers of more than 4,300 digits, and no floats of more than 308.
MANY = ("9" * 400, "9" * 5_000)


@pytest.mark.parametrize(
    "headers",
    [
        *({"Retry-After": many} for many in MANY),
        {"Retry-After": "-5"},
        {"Retry-After": "٣"},
        {"Retry-After": "Wed, 21 Oct 99999999999 07:28:00 GMT"},
        *({"Retry-After": f"Wed, {many} Oct 2015 07:28:00 GMT"} for many in MANY),
        *({"Retry-After": f"Wed, 21 Oct {many} 07:28:00 GMT"} for many in MANY),
        {"Retry-After": "Wed, 21 Oct 2015 07:28:00 +99999999999999999999"},
        *({"RateLimit": f'"api";r=0;t={many}'} for many in MANY),
        *({"RateLimit": f'"api";r={many};t=1'} for many in MANY),
        *(
            {"RateLimit": '"api";r=0;t=900', "RateLimit-Policy": f'"x";q={many};w=1'}
            for many in MANY
        ),
    ],
)
def test_odd_waits(server, hub, headers):
    wait = wait_asked_for(headers)
    assert wait is None or 0 <= wait <= 30 * 24 * 3600
    lines = [f"{name}: {value}" for name, value in headers.items() if value.isascii()]
    server.script = always(lambda: answer("429 Slow down", b"", *lines))
    fails("list", hub, HubBusy)


@pytest.mark.parametrize(
    "lines",
    [
        *([f"Content-Range: bytes 0-{many}/{many}"] for many in MANY),
        *([f"Content-Range: bytes 0-1/{many}"] for many in MANY),
        ["Content-Range: bytes 5-1/10"],
        ["Content-Range: bytes 0-9/3"],
        ["Content-Range: bytes -5-1/10"],
        *(["Content-Range: bytes 0-1/10", f"X-Linked-Size: {many}"] for many in MANY),
        ["Content-Range: bytes 0-1/2", "X-Linked-Size: -2"],
    ],
)
@pytest.mark.parametrize("ask", FILES)
def test_odd_ranges(server, hub, ask, lines):
    server.script = always(
        lambda: [*answer("206 Partial", [], *file_headers("Content-Length: 2", *lines)), b"{}"]
    )
    error = fails(ask, hub, BrokenTransfer)
    assert len(str(error)) <= 200


@pytest.mark.parametrize("commit", ["", "main", "C" * 40, "c" * 41, "c" * 30_000, "é" * 40])
@pytest.mark.parametrize("status", ["200 OK", "206 Partial"])
def test_a_commit_that_is_none(server, hub, commit, status):
    lines = [f"X-Repo-Commit: {commit}", "Content-Range: bytes 0-1/2"]
    server.script = always(lambda: answer(status, b"{}", *lines))
    assert "names no commit" in str(fails("open", hub, BrokenTransfer))


def test_words_of_a_server_are_not_shown(server, hub, caplog):
    """Neither its reason phrase nor its warnings, which huggingface_hub would log."""
    caplog.set_level(logging.WARNING)
    server.script = always(
        lambda: answer("503 \x1b[31mRED", b"", "X-HF-Warning: a; \x1b[31mRED", "Retry-After: 999")
    )
    error = fails("list", hub, HubBusy)
    assert "503 Service Unavailable" in str(error)
    assert "RED" not in f"{error}{error.advice}{caplog.text}"


SHA = {"sha": COMMIT}
FILE = {"rfilename": "model.safetensors", "size": 3}
WRONG = {
    "list": [
        None, 1, "x", [], {}, {"siblings": []}, {**SHA}, {**SHA, "siblings": None},
        {**SHA, "siblings": {}}, {**SHA, "siblings": [1]}, {**SHA, "siblings": [{}]},
        {**SHA, "siblings": [{"rfilename": 3}]}, {"sha": "main", "siblings": [FILE]},
        {"sha": 3, "siblings": [FILE]}, {**SHA, "siblings": [{**FILE, "size": "3"}]},
        {**SHA, "siblings": [{**FILE, "size": -3}]}, {**SHA, "siblings": [{**FILE, "size": 2.5}]},
        {**SHA, "siblings": [{**FILE, "size": 10**400}]}, {**SHA, "siblings": [FILE] * 100_001},
        b"[" * 1_000_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 50_000, b"9" * 10_000,
        b"\xff\xfe", b"<html>", b"", b'{"sha": ' + b"9" * 5_000 + b"}",
    ],
    "revisions": [
        None, [], {"branches": []}, {"branches": None, "tags": []}, {"branches": [], "tags": [1]},
        {"branches": [{"name": 1, "targetCommit": COMMIT}], "tags": []},
        {"branches": [{"name": "main", "targetCommit": "x"}], "tags": []},
        {"branches": [{"name": "main", "targetCommit": COMMIT}] * 20_001, "tags": []},
    ],
    "search": [None, {}, 3, "abc", [1], [{}], [{"id": 3}], [None]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("ask", "value"), [(ask, value) for ask, values in WRONG.items() for value in values]
)
def test_an_answer_of_wrong_types(server, hub, ask, value):
    server.script = of_json(value)
    error = fails(ask, hub, BrokenTransfer)
    assert "does not answer like the Hub" in str(error)
    assert "Log in to the network" in error.advice  # as a page may ask there
    assert len(str(error)) <= 200


def test_numbers_and_words_of_a_search_that_make_no_sense(server, hub):
    odd = b"""[{"id": "a/b", "downloads": 1e999, "pipeline_tag": 3},
        {"id": "a/c", "downloads": NaN, "library_name": "\\u001b[31m\\ud800"},
        {"id": "a/[/b]"}, {"id": "\\u001b[31mred"}, {"id": "x", "downloads": "7"},
        {"id": "\\ud800"}, {"id": ""}]"""
    server.script = of_json(odd)
    found = hub.search("a")
    assert [one.id for one in found] == ["a/b", "a/c", "x"]
    assert {(one.downloads, one.task) for one in found} == {(0, "")}
    assert found[1].library.isprintable()
    server.script = of_json([{"id": "x" * 300}])
    assert hub.search("x") == ()


def test_names_of_files_and_revisions_that_are_none_are_left_out(server, hub):
    names = ["a.bin", "a\x1b[31mb", "\ud800", "", "x" * 5_000, "\u202egnp"]
    server.script = of_json({**SHA, "siblings": [{"rfilename": name} for name in names]})
    assert dict(hub.list_files(ADDRESS, Transfer()).files) == {"a.bin": None}
    names = ["main", "a b", "../x", "\x1b", "", "-x"]
    listed = [{"name": name, "targetCommit": COMMIT} for name in names]
    server.script = of_json({"branches": listed, "tags": []})
    assert [one.name for one in hub.list_revisions(ADDRESS, Transfer())] == ["main"]


def test_a_file_whose_name_no_address_can_hold(server, hub):
    with pytest.raises(HubError):
        hub.open_file(ADDRESS, "\ud800.safetensors", Transfer())
    with pytest.raises(HubError):
        hub.fetch(ADDRESS, "a\ud800", Transfer())
    with pytest.raises(HubError):
        hub.open_file(HubAddress("a/b", "\ud800"), WEIGHTS, Transfer())
    assert not server.asked


def broken(framing: list[str], body: Iterable[Piece]) -> Iterable[Piece]:
    return [*answer("200 OK", [], *framing), *body]


@pytest.mark.parametrize(
    "pieces",
    [
        lambda: broken(["Transfer-Encoding: chunked"], [b"FFFFFFFFFFFFFFFFF\r\n[]", CLOSE]),
        lambda: broken(["Transfer-Encoding: chunked"], [b"-1\r\n[]\r\n", CLOSE]),
        lambda: broken(["Transfer-Encoding: chunked"], [b"0x2\r\n[]\r\n0\r\n\r\n", CLOSE]),
        lambda: broken(["Transfer-Encoding: chunked, gzip"], [b"2\r\n[]\r\n0\r\n\r\n", CLOSE]),
        lambda: broken(["Content-Length: 2", "Content-Length: 3"], [b"[]", CLOSE]),
        lambda: broken([f"Content-Length: {MANY[1]}"], [b"[]", CLOSE]),
        lambda: broken(["Content-Length: -2"], [b"[]", CLOSE]),
        lambda: broken(["Content-Length: 20"], [b"[]", CLOSE]),
        lambda: [b"HTTP/1.1 99999 OK\r\n\r\n[]", CLOSE],
        lambda: [b"\x16\x03\x01" * 1_000, CLOSE],
        lambda: [b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n[]", CLOSE],
        lambda: [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n[]", CLOSE],
        lambda: [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000, CLOSE],
    ],
)
@pytest.mark.parametrize("ask", ["search", "open"])
def test_what_is_no_http(server, hub, ask, pieces):
    server.script = lambda asked: pieces()
    with pytest.raises(HubError) as caught:
        ALL[ask](hub, ADDRESS, Transfer())
    assert len(str(caught.value)) <= 200


def test_chunks_of_an_answer_are_put_together(server, hub):
    found = [b'[{"id": "a/b"', b"}]", b" " * 10]
    server.script = lambda asked: [
        *answer("200 OK", chunked(found), "Transfer-Encoding: chunked"), b"0\r\n\r\n",
    ]  # fmt: skip
    assert [one.id for one in hub.search("a")] == ["a/b"]
    assert [one.id for one in hub.search("a")] == ["a/b"]
