"""What is not what was asked for is not taken."""

import re
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.faults import BrokenTransfer
from tests.geometry.hub_asking import ADDRESS, DATA, QUICK, WEIGHTS, fails
from tests.loopback.hub import Fault

WRONG: dict[str, tuple[Fault, str]] = {
    "too short": (Fault.wrong_length(-1), "announced"),
    "too long": (Fault.wrong_length(5), "announced"),
    "the wrong part": (Fault.garble_content_range(), "sent the wrong part"),
    "no part": (Fault.garble_content_range("bytes */*"), "does not say which part"),
    "nonsense": (Fault.garble_content_range("what?"), "does not say which part"),
    "another size": (Fault.garble_content_range("bytes 150000-159999/400000"), "changed while"),
    "no such part": (Fault.status(416), "no longer has the requested part"),
    "another status": (Fault.status(204), "does not say which part"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("redirect", [False, True])
def test_a_wrong_part_is_not_taken(served, hub, wrong, redirect):
    served.redirect = redirect
    fault, says = WRONG[wrong]
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.forget_requests()
    served.fault(fault)
    with pytest.raises(BrokenTransfer, match=says) as caught:
        file.read_at(150_000, 10_000)
    assert caught.value.retryable
    assert not caught.value.passing
    assert len(served.requests) == 1
    assert file.read_at(150_000, 10_000).tobytes() == DATA[150_000:160_000]


@pytest.mark.parametrize("wrong", sorted(set(WRONG) - {"another size"}))
def test_a_wrong_beginning_is_not_taken(served, hub, wrong):
    served.fault(WRONG[wrong][0])
    assert re.search(WRONG[wrong][1], str(fails("open", hub, BrokenTransfer)))


@pytest.mark.parametrize("redirect", [False, True])
def test_a_file_that_changes_meanwhile_is_not_mixed(served, hub, redirect):
    served.redirect = redirect
    file = hub.open_file(ADDRESS, WEIGHTS, Transfer())
    served.fault(Fault.cut(20_000))
    served.fault(Fault.other_etag())
    with pytest.raises(BrokenTransfer, match="changed while it was read"):
        file.read_at(150_000, 100_000)
    assert file.read_at(150_000, 100_000).tobytes() == DATA[150_000:250_000]


def test_the_storage_has_another_length_than_the_hub_says(served, hub):
    served.redirect = True
    served.fault(Fault.garble_content_range("bytes 0-98303/699999"), host="storage")
    assert "the Hub says 700000" in str(fails("open", hub, BrokenTransfer))


@pytest.fixture
def answered_by(hub_home, monkeypatch) -> Iterator[Callable[..., list[str]]]:
    """Be a server that gives these answers, one on each connection; it notes what was asked."""
    asked: list[str] = []
    server = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(answers: tuple[bytes, ...]) -> None:
        for answer in answers:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                asked.extend(line.decode().strip() for line in iter(lines.readline, b"\r\n"))
                connection.sendall(answer)

    def start(*answers: bytes) -> list[str]:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        threads.append(threading.Thread(target=serve, args=(answers,), daemon=True))
        threads[0].start()
        return asked

    yield start
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "fewer connections came than answers were there"
    server.close()


def an_answer(body: bytes, *headers: str, status: str = "206 Partial Content") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"X-Repo-Commit: {'c' * 40}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


CHUNKED = "Transfer-Encoding: chunked"
GZIP, LENGTH = "Content-Encoding: gzip", "Content-Length: 9"


def test_a_part_of_unannounced_length(hub, answered_by):
    answered_by(an_answer(b"a\r\n0123456789\r\n0\r\n\r\n", "Content-Range: bytes 0-9/10", CHUNKED))
    assert hub.fetch(ADDRESS, "config.json", Transfer()) == b"0123456789"


def test_a_part_that_ends_too_early_goes_on(hub, answered_by):
    """Without a length, such an end looks like a good one."""
    asked = answered_by(
        an_answer(b"0123", "Content-Range: bytes 0-9/10"),
        an_answer(b"3\r\n456\r\n0\r\n\r\n", "Content-Range: bytes 4-9/10", CHUNKED),
        an_answer(b"789", "Content-Range: bytes 7-9/10"),
    )
    assert hub.fetch(ADDRESS, "config.json", Transfer()) == b"0123456789"
    assert [line for line in asked if line.startswith("Range")] == [
        "Range: bytes=0-63999999", "Range: bytes=4-9", "Range: bytes=7-9",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([an_answer(b"", "Content-Range: bytes 0-9/10")] * QUICK.attempts, "too early"),
        ([an_answer(b"0123456789more", "Content-Range: bytes 0-9/10")], "sent more of"),
        ([an_answer(b"not gzip!", GZIP, LENGTH, "Content-Range: bytes 0-8/9")], "encoding"),
        ([an_answer(b"not gzip!", GZIP, LENGTH, status="200 OK")], "encoding"),
        ([an_answer(b"0123456789", status="200 OK")], "does not say which part"),
        ([b"220 smtp.example ESMTP\r\n"] * QUICK.attempts, "was interrupted"),
    ],
    ids=["never begins", "does not end", "compressed part", "compressed file", "no length", "mail"],
)
def test_what_is_no_part_is_not_taken(hub, answered_by, answer, words):
    answered_by(*answer)
    assert words in str(fails("fetch", hub, BrokenTransfer))
