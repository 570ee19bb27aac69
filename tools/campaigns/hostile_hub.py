"""A Hub that answers with anything: what is asked of it ends in time, well or in a sentence.

python -m tools.campaigns.hostile_hub --seed 1 --cases 300
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import random
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import quantize

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import MAX_SENTENCE_LENGTH, visible
from geometry.checkpoints.transfer import Transfer
from geometry.history.origins import Origin, list_snapshots
from geometry.hub.address import HubAddress
from geometry.hub.answers import Budgets
from geometry.hub.client import Hub, Retries
from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.opening import open_model
from tests.geometry.checkpoints.formats.test_gguf_store import write as write_gguf
from tests.geometry.hub_kinds import write_model
from tests.loopback.raw_server import CLOSE, RESET, STALL, Asked, Piece, RawServer, chunked, endless
from tests.stand_ins import write_stand_in
from tools.campaigns.campaign import Fault, main

REPO, COMMIT, TOKEN = "someone/model", "c" * 40, "hf_campaign"

#: A case may take so long and add so much memory. Times are a twentieth of the application's.
BUDGET_S, BUDGET_MB = 30.0, 300.0
SHORT = Budgets(head_s=1.5, answer_s=3.0, unread_s=0.1, window_s=1.5)
TIMEOUT_S = 0.5
RETRIES = Retries(attempts=2, first_wait_s=0.001, longest_wait_s=0.002, longest_retry_after_s=0.01)

_DIGITS = "9" * 5_000
NUMBERS = [
    "",
    "0",
    "-1",
    "1e999",
    "٣",
    "²",
    "1" * 19,
    "9" * 20,
    "9" * 400,
    _DIGITS,
    "0x10",
    "3.5",
    " 7 ",
    "NaN",
]
TEXTS = [
    "", "x" * 300, "x" * 20_000, "\x1b[31mred\x1b[0m", "<b>bold</b>", "[/b]", "[red]x", "a/[/b]",
    "../../../etc/passwd", "\u202egnp.exe", "é" * 200, "\x00", "a\rb", "$\\frac{$b", "=1+1", "CON",
    "\udcff\ud800", "%2e%2e/%00", "{}", "\ufeff",
]  # fmt: skip
VALUES = [
    None, True, -1, 0, 2**63, 10**400, 1.5, float("inf"), float("nan"), "3", [], {}, [[]], [None],
    {"a": {}}, *TEXTS,
]  # fmt: skip
BODIES: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "a page": lambda: b"<!DOCTYPE html><html><script>alert(1)</script>Log in</html>",
    "deep": lambda: b"[" * 200_000 + b"]" * 200_000,
    "deep objects": lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "many values": lambda: b"[" + b"{}," * 3_000_000 + b"{}]",
    "many numbers": lambda: b"[" + b"1," * 5_000_000 + b"1]",
    "a long number": lambda: b'{"sha": ' + b"9" * 100_000 + b"}",
    "a bomb": lambda: gzip.compress(bytes(200_000_000), 1),
    "no text": lambda: bytes(range(256)) * 300,
    "blanks": lambda: b" " * 20_000_000,
    "names": lambda: b'"' + b"\\ud800" * 100_000 + b'"',
}
LOCATIONS = [
    "", "/", "//", "http://", "file:///etc/passwd", "ftp://127.0.0.1/x", "javascript:alert(1)",
    f"http://{'a' * 300}.example/", f"http://{'a.' * 140}a/", "http://u:p@127.0.0.1:1/",
    "http://127.0.0.1:1/", "http://127.0.0.1:99999999/", "http://[::1", "http://[fe80::1%25lo]:1/",
    "http://0x7f.1:1/", "/" + "x" * 70_000, "/a\x1b[31m", "?" + "a=b&" * 1_000, "http:///etc",
    "https://127.0.0.1:1/", "http://127.0.0.1:0/", "/\xff\xfe", "http://a b/", "\\\\evil\\share",
]  # fmt: skip
HEADERS: dict[str, list[str]] = {
    "Content-Range": [
        "bytes 0-1/2", "bytes */0", "bytes */*", "bytes 5-1/9", f"bytes 0-{_DIGITS}/{_DIGITS}",
        f"bytes 0-98303/{10**18}", "bytes 0-0/1", "items 0-1/2", "bytes 0-98303/9", "",
    ],
    "Content-Length": NUMBERS,
    "X-Linked-Size": NUMBERS,
    "X-Linked-Etag": TEXTS,
    "ETag": TEXTS,
    "X-Repo-Commit": [*TEXTS, "main", "C" * 40, "d" * 40, "c" * 41],
    "Retry-After": [*NUMBERS, "Wed, 21 Oct 99999999 07:28:00 GMT", "Wed, 21 Oct 2015"],
    "RateLimit": [f'"api";r=0;t={n}' for n in NUMBERS],
    "Content-Encoding": ["gzip", "deflate", "br", "zstd", "gzip, gzip, gzip", "identity", "x"],
    "Transfer-Encoding": ["chunked", "gzip", "identity", "chunked, chunked", "x"],
    "Content-Type": TEXTS,
    "Set-Cookie": ["a=1", "a=" + "x" * 5_000, "; ; ;=", "a=1; Domain=.; Max-Age=" + _DIGITS],
    "X-Error-Code": ["RepoNotFound", "EntryNotFound", "GatedRepo", "RevisionNotFound", *TEXTS],
    "X-Error-Message": ["Access to this resource is disabled.", *TEXTS],
    "X-HF-Warning": [*TEXTS, "a; b"],
    "Date": [*TEXTS, "Wed, 21 Oct 2015 07:28:00 +9999999999"],
    "Location": LOCATIONS,
    "Connection": ["close", "keep-alive", "upgrade", "x" * 300],
}  # fmt: skip
STATUSES = [
    "100 Continue", "101 Switching", "199 X", "200 OK", "204 No", "206 Partial", "300 Many",
    "301 Moved", "302 Found", "304 Same", "307 There", "308 There", "400 Bad", "401 Who", "403 No",
    "404 None", "408 Slow", "410 Gone", "416 Range", "418 Tea", "429 Many", "451 Law", "500 Oh",
    "502 Oh", "503 \x1b[31mBusy", "504 " + "x" * 5_000, "599 X", "999 X", "000 X", "99999 X", "2 X",
]  # fmt: skip
#: What is asked, and the requests of it that go wrong, by their paths.
WEIGHTS = r".*/(model|pytorch_model|a|b)[^/]*\.(safetensors|bin|json|gguf)"
STEPS = {
    "open": (r".*/revision/.*", r".*/config\.json", WEIGHTS, WEIGHTS, r".*/tokenizer.*", r".*"),
    "search": (r"/api/models\?.*",),
    "revisions": (r"/api/models/.*/refs",),
    "history": (r"/api/models/.*/refs",),
}
ACTIONS = ("open", "open", "open", "open", "search", "revisions", "history")

#: Models of these kinds are served: one safetensors file, one of torch, two with an index, and a
#: GGUF file.
STAND_INS = {"whole": "openai-community/gpt2", "torch": "stanford-crfm/alias-gpt2-small-x21"}
KINDS = (*STAND_INS, "shards", "gguf")


@functools.cache
def files(kind: str) -> dict[str, bytes]:
    """The files of a small GPT-2 with its tokenizer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "files")
        if kind in STAND_INS:
            written = write_stand_in(folder, STAND_INS[kind])
            return {name: path.read_bytes() for name, path in written.items()}
        if kind == "gguf":
            folder.mkdir()
            _write_gguf(folder / "model.gguf")
        else:
            write_model(folder, "shards")
        weights = {path.name: path.read_bytes() for path in folder.iterdir()}
    tokenizer = {n: data for n, data in files("whole").items() if n.startswith("tokenizer")}
    return {**weights, **tokenizer}


def _write_gguf(path: Path) -> None:
    rng = np.random.default_rng(0)
    tokens = quantize(rng.normal(size=(40, 32)).astype("f4"), GGMLQuantizationType.Q8_0)
    table = rng.normal(size=(16, 32)).astype("f4")
    settings = [("gpt2.context_length", 16), ("gpt2.embedding_length", 32),
                ("gpt2.block_count", 1), ("gpt2.attention.head_count", 4)]  # fmt: skip
    tensors = {"token_embd.weight": (tokens, GGMLQuantizationType.Q8_0),
               "position_embd.weight": table}  # fmt: skip
    write_gguf(path, tensors, settings, arch="gpt2")


@functools.cache
def truth(kind: str) -> np.ndarray:
    """The position table of that model."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files(kind).items():
            (Path(folder) / name).write_bytes(content)
        return open_model(folder).W_pos.copy()


@dataclass(slots=True)
class Sent:
    """An answer: its status, its headers, its body, and how it is sent."""

    status: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    #: Turns the body into what is sent after the headers.
    how: Callable[[bytes], Iterable[Piece]] = lambda body: [body]
    #: Turns the whole answer, as pieces, into what is sent.
    around: Callable[[Iterable[Piece]], Iterable[Piece]] = lambda pieces: pieces
    has_length: bool = True

    def pieces(self) -> Iterator[Piece]:
        length = {"Content-Length": str(len(self.body))} if self.has_length else {}
        lines = [f"HTTP/1.1 {self.status}"]
        lines += [f"{name}: {value}" for name, value in {**length, **self.headers}.items()]
        head = "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass")
        yield from self.around(_joined(head, self.how(self.body)))


def _joined(head: bytes, body: Iterable[Piece]) -> Iterator[Piece]:
    yield head
    yield from body


def good(asked: Asked, kind: str) -> Sent:
    """What a Hub with this model answers."""
    path = unquote(asked.path)
    if path.startswith("/api/models?"):
        found = {"id": REPO, "downloads": 5, "likes": 1, "pipeline_tag": "text-generation"}
        return _json([found, {**found, "id": "a/b"}])
    if path.endswith("/refs"):
        listed = [{"name": name, "targetCommit": COMMIT} for name in ("main", "checkpoint-10")]
        return _json({"branches": listed, "tags": []})
    if "/revision/" in path:
        siblings = [{"rfilename": name, "size": len(data)} for name, data in files(kind).items()]
        return _json({"id": REPO, "sha": COMMIT, "siblings": siblings})
    content = files(kind).get(path.rpartition("/")[2])
    if content is None:
        headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
        return Sent("404 Not Found", headers, b"Entry not found")
    headers = {"X-Repo-Commit": COMMIT, "ETag": '"e"'}
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.headers.get("range", ""))
    if match is None:
        return Sent("200 OK", headers, content)
    start, stop = int(match[1]), min(int(match[2]) + 1, len(content))
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
    return Sent("206 Partial Content", headers, content[start:stop])


def _json(value: object) -> Sent:
    return Sent("200 OK", {"Content-Type": "application/json"}, json.dumps(value).encode())


# ---- what goes wrong: each spoils an answer ----------------------------------------------------

Spoil = Callable[[random.Random, Sent, "RawServer"], None]


def _status(draw: random.Random, sent: Sent, other: RawServer) -> None:
    sent.status = draw.choice(STATUSES)


def _header(draw: random.Random, sent: Sent, other: RawServer) -> None:
    for _ in range(draw.choice((1, 1, 2, 4))):
        name = draw.choice(list(HEADERS))
        # A line's end would make headers of its own; servers send those anyway.
        sent.headers[name] = draw.choice(HEADERS[name]).replace("\n", "")


def _no_header(draw: random.Random, sent: Sent, other: RawServer) -> None:
    for name in draw.sample(list(sent.headers), min(2, len(sent.headers))):
        del sent.headers[name]


def _body(draw: random.Random, sent: Sent, other: RawServer) -> None:
    sent.body = _made(draw.choice(list(BODIES)))
    if sent.body[:2] == b"\x1f\x8b":
        sent.headers["Content-Encoding"] = "gzip"
    if "Content-Range" in sent.headers and draw.random() < 0.7:
        size = len(sent.body)
        sent.headers["Content-Range"] = f"bytes 0-{size - 1}/{size}"


@functools.cache
def _made(name: str) -> bytes:
    return BODIES[name]()


def _values(draw: random.Random, sent: Sent, other: RawServer) -> None:
    """Other values in the JSON, also in that of a safetensors header."""
    body = sent.body
    start = 8 if body[8:9] == b"{" else 0
    stop = start + int.from_bytes(body[:8], "little") if start else len(body)
    try:
        value = json.loads(body[start:stop])
    except ValueError:
        return
    for _ in range(draw.choice((1, 1, 3))):
        value = _changed(draw, value)
    text = json.dumps(value).encode()
    if start:
        # Of the same length if it can be, so that the tensors stay where they are.
        text = text.ljust(stop - start)
        text = len(text).to_bytes(8, "little") + text
    sent.body = text + body[stop:]
    if "Content-Range" in sent.headers:
        size = len(sent.body)
        sent.headers["Content-Range"] = f"bytes 0-{size - 1}/{size}"


def _changed(draw: random.Random, value: object) -> object:
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        if draw.random() < 0.15:
            return {key: item for key, item in value.items() if key != name}
        if draw.random() < 0.15:
            return {**value, draw.choice(TEXTS): value[name]}
        return {**value, name: _changed(draw, value[name])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        if draw.random() < 0.1:
            return (value * draw.choice((2, 1_000)))[:20_000]
        at = draw.randrange(len(value))
        return [*value[:at], _changed(draw, value[at]), *value[at + 1 :]]
    return draw.choice(VALUES)


def _bytes(draw: random.Random, sent: Sent, other: RawServer) -> None:
    changed = bytearray(sent.body or b"x")
    for _ in range(draw.choice((1, 3, 50))):
        changed[draw.randrange(min(len(changed), draw.choice((16, 2_000, 10**9))))] ^= 1 << (
            draw.randrange(8)
        )
    sent.body = bytes(changed)


def _size(draw: random.Random, sent: Sent, other: RawServer) -> None:
    """A file that is said to be of another size, with as many bytes as were asked for."""
    size = draw.choice((0, 1, 10**6, 10**9, 10**12, 10**18, 2**63, 10**19))
    sent.headers["Content-Range"] = f"bytes 0-{max(len(sent.body), 1) - 1}/{size}"


def _endless(draw: random.Random, sent: Sent, other: RawServer) -> None:
    piece = draw.choice((b" ", b"[", b"\x00", b'{"a":', b"x")) * 60_000
    if draw.random() < 0.5:
        sent.headers["Transfer-Encoding"], sent.has_length = "chunked", False
        sent.how = lambda body: chunked(endless(piece))
    else:
        sent.headers["Connection"], sent.has_length = "close", draw.random() < 0.5
        sent.headers["Content-Length"] = str(10**18)
        sent.how = lambda body: endless(piece)


def _slow(draw: random.Random, sent: Sent, other: RawServer) -> None:
    wait = draw.choice((0.005, 0.05, 0.4))
    head_too = draw.random() < 0.5

    def drip(pieces: Iterable[Piece]) -> Iterator[Piece]:
        for number, piece in enumerate(pieces):
            if isinstance(piece, bytes) and (number or head_too):
                for byte in piece:
                    yield bytes([byte])
                    yield wait
            else:
                yield piece

    sent.around = drip


def _cut(draw: random.Random, sent: Sent, other: RawServer) -> None:
    at, end = draw.choice((0, 1, 9, 100, 5_000, 90_000)), draw.choice((CLOSE, RESET, STALL))

    def cut(pieces: Iterable[Piece]) -> Iterator[Piece]:
        left = at
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece[:left]
                left -= min(left, len(piece))
                if not left:
                    break
            else:
                yield piece
        yield end

    sent.around = cut


def _interim(draw: random.Random, sent: Sent, other: RawServer) -> None:
    interim = f"HTTP/1.1 {draw.choice((100, 102, 103, 150))} X\r\n".encode()
    interim += b"X: y\r\n" * draw.choice((0, 1, 1_000)) + b"\r\n"
    count, wait = draw.choice(((3, 0.0), (10**9, 0.0), (10**9, 0.01)))

    def before(pieces: Iterable[Piece]) -> Iterator[Piece]:
        for one in islice(endless(interim), count):
            yield one
            if wait:
                yield wait
        yield from pieces

    sent.around = before


def _chunks(draw: random.Random, sent: Sent, other: RawServer) -> None:
    sent.headers["Transfer-Encoding"], sent.has_length = "chunked", False
    begin = draw.choice(
        (b"FFFFFFFFFFFFFFFF\r\n", b"-1\r\n", b"0x5\r\n", b"\r\n", b"5;" + b"x" * 200_000, b"1\r\n",
         b"99999999999999999999999\r\n", b"0\r\nX: y\r\n", b"0\r\n" + b"X: y\r\n" * 100_000)
    )  # fmt: skip
    sent.how = lambda body: [begin, body, draw.choice((b"0\r\n\r\n", CLOSE))]


def _flood(draw: random.Random, sent: Sent, other: RawServer) -> None:
    many = draw.choice((b"X: y\r\n" * 300, b"X: y\r\n" * 10**6, b"X-Long: " + b"x" * 10**6))
    sent.around = lambda pieces: _after_status(pieces, many)


def _after_status(pieces: Iterable[Piece], lines: bytes) -> Iterator[Piece]:
    for number, piece in enumerate(pieces):
        if number == 0 and isinstance(piece, bytes):
            status, _, rest = piece.partition(b"\r\n")
            yield status + b"\r\n" + lines + rest
        else:
            yield piece


def _garbage(draw: random.Random, sent: Sent, other: RawServer) -> None:
    rest = draw.choice(
        (b"\x00" * 50, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", b"x" * 10**6, b"\r\n" * 9)
    )
    sent.around = lambda pieces: chain(pieces, [rest])


def _redirect(draw: random.Random, sent: Sent, other: RawServer) -> None:
    sent.status = draw.choice(("301 X", "302 X", "303 X", "307 X", "308 X"))
    there = [f"{other.url}/stored", f"http://localhost:{other.port}/x", "/api/loop", *LOCATIONS]
    sent.headers["Location"] = draw.choice(there)
    if draw.random() < 0.3:
        _endless(draw, sent, other)


SPOILS: tuple[Spoil, ...] = (
    _status, _header, _header, _no_header, _body, _values, _values, _values, _bytes, _size,
    _endless, _slow, _cut, _interim, _chunks, _flood, _garbage, _redirect, _redirect,
)  # fmt: skip


# ---- a case --------------------------------------------------------------------------------


def case(draw: random.Random) -> str:
    """Play one scenario; what came of it."""
    kind = draw.choice(KINDS)
    truth(kind)
    for name in BODIES:  # what they take is not the application's
        _made(name)
    threads, sockets = threading.active_count(), _sockets()
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HF_TOKEN": TOKEN, "HF_HOME": folder, "HF_HUB_OFFLINE": ""}
        with RawServer() as server, RawServer() as other, patch.dict(os.environ, environment):
            outcome = _play(draw, kind, server, other, Path(folder))
            sent_away = [one for one in other.asked if "authorization" in one.headers]
    if sent_away:
        raise Fault("token", f"sent to another host with {sent_away[0].path}")
    if threading.active_count() > threads:
        raise Fault("threads", ", ".join(thread.name for thread in threading.enumerate()))
    if _sockets() > sockets:
        raise Fault("sockets", f"{_sockets() - sockets} left open")
    return outcome


def _play(draw: random.Random, kind: str, server: RawServer, other: RawServer, root: Path) -> str:
    action = draw.choice(ACTIONS)
    step = draw.choice(STEPS[action])
    spoils = draw.sample(SPOILS, draw.choice((1, 1, 2, 3)))
    left = draw.choice((1, 2, 10**9, 10**9))
    seed = draw.random()

    def script(asked: Asked) -> Iterable[Piece]:
        nonlocal left
        sent = good(asked, kind)
        if left and (asked.port == other.port or re.fullmatch(step, asked.path)):
            left -= 1
            again = random.Random(seed)
            for spoil in spoils:
                spoil(again, sent, other)
        return sent.pieces()

    server.script = other.script = script
    hub = Hub(endpoint=server.url, retries=RETRIES, timeout_s=TIMEOUT_S, budgets=SHORT)
    network = Network(hub, TensorCache(root / "cache"), Transfer())
    try:
        try:
            outcome = _act(action, kind, network)
        except HelixscopeError as error:
            _check_words(error)
            outcome = "refused"
            if action == "open":
                _check_cache(server, kind, network)
    finally:
        wait_until_kept(network.cache.root)
        hub.close()
    return f"{action}: {outcome}"


def _act(action: str, kind: str, network: Network) -> str:
    if action == "search":
        network.hub.search("model")
    elif action == "revisions":
        network.hub.list_revisions(HubAddress(REPO), network.transfer)
    elif action == "history":
        list_snapshots(Origin("hub", REPO, "model", truth(kind).shape, None), network)
    else:
        model = open_model(REPO, network=network)
        _ = model.W_pos
        _ = model.W_E
        model.tokenize("A prompt.")
    return "opened"


def _check_words(error: HelixscopeError) -> None:
    for text in (str(error), error.advice):
        if len(text) > MAX_SENTENCE_LENGTH or visible(text) != text or TOKEN in text:
            raise Fault("words", repr(text))
    if not str(error):
        raise Fault("words", "an empty sentence")


def _check_cache(server: RawServer, kind: str, network: Network) -> None:
    """What was refused is not kept: a good answer opens the model afterwards."""
    server.script = lambda asked: good(asked, kind).pieces()
    try:
        table = open_model(REPO, network=network).W_pos
    except HelixscopeError as error:
        raise Fault("poisoned", f"{error}") from error
    if not np.array_equal(table, truth(kind)):
        raise Fault("poisoned", "another table")


def _sockets() -> int:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        return 0
    found = 0
    for entry in folder.iterdir():
        try:
            found += os.readlink(entry).startswith("socket:")
        except OSError:  # closed meanwhile
            continue
    return found


if __name__ == "__main__":
    sys.exit(main(case, __doc__ or "", cases=300, budget_s=BUDGET_S, budget_mb=BUDGET_MB))
