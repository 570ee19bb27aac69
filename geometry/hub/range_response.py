"""The headers of the answer to a range request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from geometry.hub.answers import HubAnswer, check_encoding
from geometry.hub.explanations import host_of
from geometry.hub.faults import BrokenTransfer

_COUNT = "[0-9]{1,19}"
"""Digits of a number of bytes: 19 suffice for any file, and stay below 2⁶⁴."""
_CONTENT_RANGE = re.compile(rf"bytes (?:({_COUNT})-({_COUNT})|\*)/({_COUNT})")


@dataclass(frozen=True, slots=True)
class RangeResponse:
    """The headers of an answer, including those of redirects, before its body is read.

    Attributes
    ----------
    host
        Host that answered, for messages.
    url
        URL after redirects.
    hub_url
        URL whose answer named the commit: the file's own, before any redirect; "" if there is
        none.
    start, stop
        Range of the bytes sent: 0 and ``size`` if Range was ignored.
    size
        Length of the whole file in bytes; None if it is not known before the end.
    whole
        Whether Range was ignored.
    tag
        The last server's ETag; "" if there is none.
    commit, linked_etag, linked_size
        The Hub's headers about the file, as huggingface_hub reads them; "" if absent.
    """

    host: str
    url: str
    hub_url: str
    start: int
    stop: int | None
    size: int | None
    whole: bool
    tag: str
    commit: str
    linked_etag: str
    linked_size: str


def read_response(answer: HubAnswer, filename: str) -> RangeResponse:
    """Read an answer's headers.

    Raises HfHubHTTPError: it is an error status; BrokenTransfer: the headers are contradictory or
    incomplete.
    """
    response = answer.response
    start, stop, size = _extent(answer, filename)
    answers = [*response.history, response]
    hub = next((response for response in answers if "X-Repo-Commit" in response.headers), None)
    hub_headers: Mapping[str, str] = {} if hub is None else hub.headers
    if size is None:  # given by the Hub in its redirect
        stop = size = _count(hub_headers.get("X-Linked-Size", ""))
    return RangeResponse(
        host=host_of(response),
        url=str(response.url),
        hub_url="" if hub is None else str(hub.url),
        start=start,
        stop=stop,
        size=size,
        whole=response.status_code == 200,
        tag=_plain(response.headers.get("ETag", "")),
        commit=hub_headers.get("X-Repo-Commit", ""),
        linked_etag=_plain(hub_headers.get("X-Linked-Etag", "")),
        linked_size=hub_headers.get("X-Linked-Size", ""),
    )


def _extent(answer: HubAnswer, filename: str) -> tuple[int, int, int] | tuple[int, None, None]:
    """Return the range of bytes sent and the length of the file, as far as they are known."""
    response = answer.response
    host, status = host_of(response), response.status_code
    content_range = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    if status == 416 and content_range is not None and content_range[3] == "0":
        return 0, 0, 0
    answer.raise_for_status()
    check_encoding(response, filename)
    length = _count(response.headers.get("Content-Length", ""))
    if status == 200 and length is not None:
        return 0, length, length
    # A chunked body marks its end; without either, a broken connection looks like a complete body.
    if status == 200 and response.headers.get("Transfer-Encoding", "").lower() == "chunked":
        return 0, None, None
    if status != 206 or content_range is None or content_range[1] is None:
        raise BrokenTransfer(f"{host} does not say which part of {filename} it sends.")
    start, stop, size = int(content_range[1]), int(content_range[2]) + 1, int(content_range[3])
    if not start < stop <= size:
        raise BrokenTransfer(f"{host} sent a part of {filename} outside the file.")
    if length is not None and length != stop - start:
        raise BrokenTransfer(
            f"{host} announced {length} bytes of {filename} instead of {stop - start}."
        )
    return start, stop, size


def _count(text: str) -> int | None:
    """Parse a number of bytes; None if absent."""
    return int(text) if re.fullmatch(_COUNT, text) else None


def _plain(etag: str) -> str:
    """Return an ETag without its quotes and the prefix of weak ETags."""
    return etag.removeprefix("W/").strip('"')
