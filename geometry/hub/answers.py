"""The answer to a request, with limits on its headers and body."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.sizes import size_text
from geometry.hub.explanations import CONNECTION, host_of
from geometry.hub.faults import BrokenTransfer

if TYPE_CHECKING:
    import httpx2

_OF_ERRORS = ("X-Error-Code", "X-Error-Message", "Retry-After", "RateLimit", "Date")
"""Headers of an error that its explanation needs. The others are not passed to huggingface_hub,
which logs some of them and would read the body."""

_MAX_HEADER_LENGTH = 200
"""Maximum characters of such a header; huggingface_hub parses numbers of any number of digits."""

_MAX_HOST_LENGTH, _MAX_LABEL_LENGTH = 253, 63
"""Maximum lengths of a host name, and of each part of it (RFC 1035)."""
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits on the answers of the Hub and of its storage hosts.

    A useful server that follows HTTP stays far below each limit. Large files have a minimum rate
    instead of a deadline, since they may take hours over a slow connection.

    Attributes
    ----------
    head_s
        Seconds from a request to the end of its answer's headers.
    head_bytes
        Bytes until then, including any number of interim answers (1xx).
    headers, header_bytes
        Number of an answer's headers, and their total bytes. The Hub sends 30, in 4 kB.
    redirects
        The Hub redirects twice, once for a renamed model and once to a storage host.
    address_length
        Characters of a redirect's address. Signed ones have up to 2,000.
    answer_s, answer_bytes
        Limits of a JSON answer's body: 16 MB list about 60,000 files.
    unread_s, unread_bytes
        Limits of the body of a redirect or an error, which is read only so that the connection can
        be reused.
    window_s, min_rate
        Minimum bytes per second of a file's body, over each window. 4 kB/s is a tenth of the rate
        of the slowest mobile networks.
    """

    head_s: float = 30.0
    head_bytes: int = 262_144
    headers: int = 200
    header_bytes: int = 65_536
    redirects: int = 10
    address_length: int = 8_192
    answer_s: float = 120.0
    answer_bytes: int = 16_000_000
    unread_s: float = 2.0
    unread_bytes: int = 65_536
    window_s: float = 30.0
    min_rate: float = 4_000.0


class Pace:
    """Ends an answer that arrives too slowly, or whose headers do not end.

    Used by one thread at a time. Only the time spent waiting for the server counts, not the time
    between the pieces that a reader of the body requests.
    """

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._host = ""
        self._limit_s: float | None = None
        self._in_head = False
        self._nbytes = 0
        self._spent_s = 0.0
        self._since: float | None = None

    def watch(self, stream: Any) -> None:
        """Count the bytes read from an httpcore stream."""
        read = stream.read

        def paced(max_bytes: int, timeout: float | None = None) -> bytes:
            left = None if self._limit_s is None else max(self._limit_s - self._spent(), 0.001)
            limits = [limit for limit in (timeout, left) if limit is not None]
            try:
                data: bytes = read(max_bytes, min(limits, default=None))
            except Exception:
                self._check()  # the limit may be the reason
                raise
            if self._in_head:
                self._nbytes += len(data)
            self._check()
            return data

        stream.read = paced

    def begin(self, host: str, timeout_s: float) -> None:
        """Start with a request to a host; the headers of its answer follow."""
        self._host, self._in_head = host, True
        # The user's own timeout applies to the wait for the first byte.
        self._start(max(self._budgets.head_s, timeout_s))

    def chunks(self, response: httpx2.Response, limit_s: float | None) -> Iterator[bytes]:
        """Yield the body's bytes as sent.

        Parameters
        ----------
        response
            The answer, whose headers have been read.
        limit_s
            Seconds until its end; if None, the minimum rate applies instead.
        """
        self._in_head = False
        self._start(limit_s)
        pieces = response.iter_raw()
        while True:
            self._since = time.monotonic()
            piece = next(pieces, None)
            if piece is None:
                return
            self._nbytes += len(piece)
            self._check()
            self._spent_s, self._since = self._spent(), None
            yield piece

    def _start(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self._nbytes, self._spent_s, self._since = 0, 0.0, time.monotonic()

    def _spent(self) -> float:
        since = self._since
        return self._spent_s + (0.0 if since is None else time.monotonic() - since)

    def _check(self) -> None:
        spent, budgets = self._spent(), self._budgets
        if self._in_head and self._nbytes > budgets.head_bytes:
            raise BrokenTransfer(f"{self._host} sends endless headers.")
        if self._limit_s is not None:
            if spent < self._limit_s:
                return
        elif spent < budgets.window_s:
            return
        elif self._nbytes >= budgets.min_rate * spent:
            self._start(None)
            return
        raise BrokenTransfer(f"{self._host} sends too slowly.", CONNECTION)


class HubAnswer:
    """An answer whose headers have been read, and whose body has not.

    Attributes
    ----------
    response
        The answer, for its status and headers. Its ``read`` has no limits and is not used.
    """

    def __init__(self, response: httpx2.Response, pace: Pace, budgets: Budgets) -> None:
        self.response = response
        self._pace = pace
        self._budgets = budgets

    def chunks(self) -> Iterator[bytes]:
        """Yield the body of a file as sent.

        Raises BrokenTransfer: it arrives too slowly; httpx2.HTTPError: the connection broke.
        """
        return self._pace.chunks(self.response, None)

    def content(self) -> bytes:
        """Read the body of a small answer.

        Raises BrokenTransfer: it is encoded, too long or arrives too slowly; httpx2.HTTPError: the
        connection broke.
        """
        longest, host = self._budgets.answer_bytes, host_of(self.response)
        check_encoding(self.response, "an answer")
        content = bytearray()
        for chunk in self._pace.chunks(self.response, self._budgets.answer_s):
            content += chunk
            if len(content) > longest:
                raise BrokenTransfer(f"{host} sent an answer of more than {size_text(longest)}.")
        return bytes(content)

    def drain(self) -> None:
        """Read and discard the body, or close the connection if it is long; never raises."""
        import httpx2

        nbytes = 0
        with suppress(BrokenTransfer, httpx2.HTTPError):
            for chunk in self._pace.chunks(self.response, self._budgets.unread_s):
                nbytes += len(chunk)
                if nbytes > self._budgets.unread_bytes:
                    break
        self.response.close()

    def raise_for_status(self) -> None:
        """Raise HfHubHTTPError if it is an error status, without its body."""
        import httpx2
        from huggingface_hub.utils import hf_raise_for_status

        response = self.response
        if response.status_code < 400:
            return
        self.drain()
        values = ((name, response.headers.get(name, "")) for name in _OF_ERRORS)
        headers = {name: value for name, value in values if 0 < len(value) <= _MAX_HEADER_LENGTH}
        hf_raise_for_status(
            httpx2.Response(
                response.status_code, headers=headers, content=b"", request=response.request
            )
        )


def check_head(response: httpx2.Response, budgets: Budgets) -> None:
    """Raise BrokenTransfer if an answer has more headers than any useful server sends."""
    raw = response.headers.raw
    nbytes = sum(len(name) + len(value) for name, value in raw)
    if len(raw) > budgets.headers or nbytes > budgets.header_bytes:
        raise BrokenTransfer(
            f"{host_of(response)} sent {len(raw)} headers of {size_text(nbytes)}, more than any "
            "Hub sends."
        )


def check_encoding(response: httpx2.Response, name: str) -> None:
    """Raise BrokenTransfer if a body is compressed: this was not requested, and has no limits."""
    encoding = response.headers.get("Content-Encoding", "")
    if encoding.strip().lower() not in ("", "identity"):
        raise BrokenTransfer(
            f"{host_of(response)} sent {name} in an encoding that was not requested."
        )


def next_request(response: httpx2.Response, budgets: Budgets) -> httpx2.Request:
    """Return the request that a redirect asks for.

    Raises BrokenTransfer: it leads to an invalid web address, from https to http, or to one with a
    user name.
    """
    request, host = response.next_request, host_of(response)
    if request is None or len(response.headers["Location"]) > budgets.address_length:
        raise BrokenTransfer(f"{host} redirects to an address that cannot be used.")
    url = request.url
    name = url.raw_host.decode("ascii", "replace")
    labels = name.removesuffix(".").split(".")
    if (
        url.scheme not in ("http", "https")
        or not 0 < len(name) <= _MAX_HOST_LENGTH
        or not all(0 < len(label) <= _MAX_LABEL_LENGTH for label in labels)
        or url.userinfo
        or (url.port or 0) > _LAST_PORT
    ):
        raise BrokenTransfer(f"{host} redirects to an address that cannot be used.")
    if url.scheme == "http" and response.url.scheme == "https":
        raise BrokenTransfer(
            f"{host} redirects to an address without https, where data could be altered.",
            "Check HF_ENDPOINT and this machine's network.",
        )
    return request
