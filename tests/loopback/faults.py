"""Faults that the loopback Hub can play, and the answers that they spoil."""

import fnmatch
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from tests.loopback.answers import Answer

Gate = threading.Event | threading.Semaphore

Kind = Literal[
    "status", "refuse", "cut", "stall", "ignore_range", "wrong_length", "flip",
    "garble_content_range", "other_etag", "slow", "chunked",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong; made by the class methods below.

    Its number is a status, an offset, a count of bytes or a difference; None where it needs none. A
    slow answer waits at its gate, and with `reset` a cut connection ends in a reset, not a close.
    """

    kind: Kind
    number: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error_code: str = ""
    text: str = ""
    gate: Gate | None = None
    reset: bool = False

    @classmethod
    def status(
        cls, code: int, headers: Mapping[str, str] | None = None, error_code: str = ""
    ) -> Self:
        """An error (429, 503, …) with headers such as Retry-After."""
        return cls("status", code, dict(headers or {}), error_code)

    @classmethod
    def refuse(cls) -> Self:
        """The connection is closed before a byte of the answer."""
        return cls("refuse")

    @classmethod
    def cut(cls, after_bytes: int, *, reset: bool = False) -> Self:
        """The connection ends after so many bytes of the body."""
        return cls("cut", after_bytes, reset=reset)

    @classmethod
    def stall(cls, after_bytes: int | None = None) -> Self:
        """Nothing more comes after so many bytes of the body; None: not even the headers."""
        return cls("stall", after_bytes)

    @classmethod
    def ignore_range(cls) -> Self:
        """The whole file comes, with status 200, although a part was asked for."""
        return cls("ignore_range")

    @classmethod
    def chunked(cls) -> Self:
        """The whole file comes, with status 200, in chunks: its length is said nowhere."""
        return cls("chunked")

    @classmethod
    def wrong_length(cls, delta: int) -> Self:
        """The body is longer or shorter than the part asked for, and its Content-Length says so."""
        return cls("wrong_length", delta)

    @classmethod
    def flip(cls, offset: int) -> Self:
        """One bit is wrong in the byte at this offset in the file; waits for an answer with it."""
        return cls("flip", offset)

    @classmethod
    def garble_content_range(cls, text: str = "") -> Self:
        """The Content-Range is another one than asked for: shifted by one, or this text."""
        return cls("garble_content_range", text=text)

    @classmethod
    def other_etag(cls) -> Self:
        """The file has another ETag than before, as if it had been replaced."""
        return cls("other_etag")

    @classmethod
    def slow(cls, chunk: int, gate: Gate) -> Self:
        """The body comes in pieces of `chunk` bytes; each but the first waits for the gate.

        An event lets everything through once it is set, a semaphore one piece for each release.
        """
        return cls("slow", chunk, gate=gate)

    @property
    def is_silent(self) -> bool:
        """Whether there is no answer at all."""
        return self.kind == "refuse" or (self.kind == "stall" and self.number is None)

    def applies_to(self, answer: Answer) -> bool:
        """Whether this answer can be spoiled so.

        Faults of a body wait for one: not a redirect, not an error, not the answer to a HEAD.
        """
        if self.kind == "status" or self.is_silent:
            return True
        if self.kind == "other_etag":
            return "ETag" in answer.headers
        if answer.status >= 300 or not answer.length:
            return False
        if self.kind == "flip":
            return answer.start <= (self.number or 0) < answer.start + answer.length
        return answer.status == 206 or self.kind not in ("ignore_range", "garble_content_range")

    def spoil(self, answer: Answer) -> Answer:
        """Return the answer with this fault in what it says; cuts and waits are for the sender."""
        if self.kind == "status":
            code = {"X-Error-Code": self.error_code} if self.error_code else {}
            return Answer.text(self.number or 500, "An error, played.", {**code, **self.headers})
        if self.kind in ("ignore_range", "chunked"):
            headers = {k: v for k, v in answer.headers.items() if k != "Content-Range"}
            whole = Answer.whole(200, answer.content, headers)
            return replace(whole, chunked=self.kind == "chunked")
        if self.kind == "garble_content_range":
            start, end = answer.start + 1, answer.start + answer.length
            text = self.text or f"bytes {start}-{end}/{answer.content.size}"
            return answer.with_headers({"Content-Range": text})
        if self.kind == "wrong_length":
            return replace(answer, length=max(0, answer.length + (self.number or 0)))
        if self.kind == "other_etag":
            return answer.with_headers({"ETag": f'"{"0" * 40}"', "X-Linked-Etag": f'"{"0" * 64}"'})
        if self.kind == "flip":
            return replace(answer, flipped=self.number)
        return answer


#: The client's own question, asked once in a process and a day, whose answer it can do without.
UNASKED = "/api/agent-harnesses"


class Playing:
    """A fault waiting for its answers, and what became of it.

    Attributes
    ----------
    reached
        Set when the fault has been played for the first time: the connection is cut, the answer
        stalls or waits at its gate, the last byte of a spoilt answer goes out.
    played
        How many times.
    """

    def __init__(self, fault: Fault, path: str, host: str, times: int | None, after: int) -> None:
        self.fault = fault
        self.reached = threading.Event()
        self.played = 0
        self._path, self._host = path, host
        self._times, self._after = times, after

    def takes(self, host: str, path: str, answer: Answer) -> bool:
        """Whether it is this answer's turn; one thread at a time."""
        if self._times is not None and self.played >= self._times:
            return False
        if self._host not in ("*", host) or not fnmatch.fnmatchcase(path, self._path):
            return False
        if not self.fault.applies_to(answer) or (path == UNASKED and self._path == "*"):
            return False
        if self._after > 0:
            self._after -= 1
            return False
        self.played += 1
        return True
