"""Files that the loopback Hub serves, and answers: a part of a file and what is said of it."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

#: The Hub keeps large files, and all of these names, apart from git: they are served by a storage
#: host and known by their SHA-256.
LARGE_SUFFIXES = (".safetensors", ".bin", ".pt", ".h5", ".msgpack", ".npz", ".npy", ".ot", ".onnx")
LARGE_BYTES = 10_000_000
#: Nobody reads larger files in full to name them.
HASHED_BYTES = 64 << 20
CHUNK = 1 << 20


class Content:
    """The bytes of one file, in memory or on disk (sparse ones are welcome)."""

    def __init__(self, name: str, source: bytes | Path) -> None:
        self.name = name
        self._source = source
        self.size = len(source) if isinstance(source, bytes) else source.stat().st_size
        self.is_large = name.endswith(LARGE_SUFFIXES) or self.size > LARGE_BYTES

    @cached_property
    def sha256(self) -> str:
        """Its name in the storage; for a very large file, one made from its place and size."""
        if self.size > HASHED_BYTES:
            return hashlib.sha256(f"{self._source} {self.size}".encode()).hexdigest()
        digest = hashlib.sha256()
        for piece in self.pieces(0, self.size):
            digest.update(piece)
        return digest.hexdigest()

    @cached_property
    def git_id(self) -> str:
        """Its name in git: that of a pointer for a large file."""
        if self.is_large:
            text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\n"
            data = f"{text}size {self.size}\n".encode()
        else:
            data = b"".join(self.pieces(0, self.size))
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    @property
    def etag(self) -> str:
        """As the Hub itself gives it, quoted."""
        return f'"{self.sha256 if self.is_large else self.git_id}"'

    @property
    def storage_etag(self) -> str:
        """As the storage host gives it: another one, of its own making."""
        return f'"{hashlib.md5(self.sha256.encode(), usedforsecurity=False).hexdigest()}"'

    def pieces(self, start: int, length: int, chunk: int = CHUNK) -> Iterator[bytes]:
        """Read a part of it; zeros follow the end."""
        end = start + length
        if isinstance(self._source, bytes):
            for at in range(start, end, chunk):
                count = min(chunk, end - at)
                yield self._source[at : at + count].ljust(count, b"\0")
            return
        with self._source.open("rb") as file:
            file.seek(start)
            for at in range(start, end, chunk):
                count = min(chunk, end - at)
                yield file.read(count).ljust(count, b"\0")

    def describe(self) -> dict[str, Any]:
        """As a model's list of files has it, with sizes."""
        about = {"rfilename": self.name, "size": self.size, "blobId": self.git_id}
        return about | self._stored("sha256")

    def entry(self) -> dict[str, Any]:
        """As a listing of a folder has it."""
        about = {"type": "file", "oid": self.git_id, "size": self.size, "path": self.name}
        return about | self._stored("oid")

    def _stored(self, key: str) -> dict[str, Any]:
        stored = {key: self.sha256, "size": self.size, "pointerSize": 134}
        return {"lfs": stored} if self.is_large else {}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response before it is sent: a part of a content, and what is said of it.

    In chunks, its length is not among that.
    """

    status: int
    content: Content
    start: int
    length: int
    headers: Mapping[str, str] = field(default_factory=dict)
    flipped: int | None = None
    chunked: bool = False

    @classmethod
    def whole(cls, status: int, content: Content, headers: Mapping[str, str]) -> Self:
        """All of a content."""
        return cls(status, content, 0, content.size, headers)

    @classmethod
    def text(cls, status: int, text: str, headers: Mapping[str, str]) -> Self:
        """A short message."""
        said = {"Content-Type": "text/plain; charset=utf-8", **headers}
        return cls.whole(status, Content("", text.encode()), said)

    @classmethod
    def json(cls, status: int, value: object, headers: Mapping[str, str] | None = None) -> Self:
        """An answer of the API."""
        said = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
        return cls.whole(status, Content("", json.dumps(value).encode()), said)

    def with_headers(self, headers: Mapping[str, str]) -> "Answer":
        """The same with further or other headers."""
        return replace(self, headers={**self.headers, **headers})

    def without_body(self) -> "Answer":
        """The same for a HEAD."""
        return replace(self, start=0, length=0)

    def pieces(self, chunk: int = CHUNK) -> Iterator[bytes]:
        """The body."""
        at = self.start
        for piece in self.content.pieces(self.start, self.length, chunk):
            if self.flipped is not None and at <= self.flipped < at + len(piece):
                spoilt = bytearray(piece)
                spoilt[self.flipped - at] ^= 0x10
                piece = bytes(spoilt)
            yield piece
            at += len(piece)


def part(asked: str | None, content: Content, headers: Mapping[str, str]) -> Answer:
    """Return the part of a file that a Range header asks for; all of it without one.

    What is no single range of bytes is ignored, as servers do; beyond the end it is 416.
    """
    said = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", **headers}
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked or "")
    if match is None or not any(match.groups()):
        return Answer.whole(200, content, said)
    first, last = match.groups()
    start = int(first) if first else max(0, content.size - int(last))
    end = min(int(last) + 1, content.size) if first and last else content.size
    if start >= content.size or start >= end:
        refused = Answer.text(416, "The range is not satisfiable.", said)
        return refused.with_headers({"Content-Range": f"bytes */{content.size}"})
    where = {"Content-Range": f"bytes {start}-{end - 1}/{content.size}"}
    return Answer(206, content, start, end - start, {**said, **where})


def error(status: int, code: str, message: str, *, of_file: bool) -> Answer:
    """Return an error as the Hub gives it: in headers, and in text for a file, JSON for the API."""
    said = {"X-Error-Message": message}
    if code:
        said["X-Error-Code"] = code
    if status == 401:
        said["WWW-Authenticate"] = 'Bearer realm="Authentication required", charset="UTF-8"'
    if of_file:
        return Answer.text(status, message, said)
    return Answer.json(status, {"error": message}, said)
