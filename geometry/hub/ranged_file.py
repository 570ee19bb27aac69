"""A file on the Hub that is read in pieces, by HTTP range requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from urllib.parse import quote

import numpy as np

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.sizes import size_text
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import COMMIT, HubAddress, parse_address, without_login
from geometry.hub.answers import HubAnswer
from geometry.hub.connections import Connections
from geometry.hub.explanations import explained
from geometry.hub.faults import BrokenTransfer, HubError, WholeDownload
from geometry.hub.pieces import Bytes, Passing, Piece, Sweep, Wanted
from geometry.hub.range_response import RangeResponse, read_response
from geometry.hub.retry_policy import RetryPolicy

_AGAIN = "Try again; if this persists, open another model."

_EXPIRED = frozenset({400, 401, 403, 404, 410})
"""Statuses of a storage host for a signed URL that has expired."""


class RangedFile:
    """A file at one commit; a :class:`~geometry.checkpoints.stores.ByteFile`.

    Created by :meth:`geometry.hub.client.Hub.open_file`. Thread-safe.

    Attributes
    ----------
    name
        The file's name in the repository.
    address
        The repository under its current name, at the commit.
    commit
        The commit, 40 hexadecimal digits; later reads use it, even if a branch moves.
    etag
        The Hub's identity of the contents: SHA-256 for large files; "" if there is none.
    transfer
        Progress and cancellation of the next reads; may be replaced.
    in_parts
        Whether the server supports ranges, as far as is known.
    whole
        Whether the user agreed to a whole download, if the server does not support ranges.
    """

    def __init__(
        self,
        connections: Connections,
        endpoint: str,
        address: HubAddress,
        filename: str,
        transfer: Transfer,
        *,
        whole: bool,
    ) -> None:
        self.name = filename
        self.commit = ""
        self.etag = ""
        self.address = address
        self.transfer = transfer
        self.in_parts = True
        self.whole = whole
        self._connections = connections
        self._endpoint = endpoint
        self._hub_url = self._url = self._resolve(address)
        self._tags: dict[str, str] = {}
        self._size: int | None = None
        self._longest: int | None = None
        self._head: Bytes = np.empty(0, dtype=np.uint8)

    def start(self, head: int, *, longest: int | None = None) -> None:
        """Request the first ``head`` bytes, and read the file's properties from the answer.

        Raises HubError: it cannot be downloaded, or is longer than ``longest``; Cancelled:
        :attr:`transfer` was cancelled.
        """
        self._longest = longest
        with self._reading():
            piece = Piece(0, head)
            self.transfer.begin(self.name, 0)
            self._fill(piece)
            self._head = piece.data

    def size(self) -> int:
        """Length in bytes."""
        assert self._size is not None, "start() must be called first"
        return self._size

    def read_at(self, offset: int, nbytes: int) -> Bytes:
        """Return exactly ``nbytes`` bytes from ``offset``, as a new array.

        Raises
        ------
        SourceError
            The file is too short.
        HubError
            The bytes cannot be downloaded.
        Cancelled
            :attr:`transfer` was cancelled.
        """
        if offset < 0 or nbytes < 0 or offset + nbytes > self.size():
            raise SourceError(
                f"{self.name} is truncated: {nbytes} bytes expected at offset {offset}, but it has "
                f"{self.size()}.",
                "The file on the Hub is damaged; tell its authors.",
            )
        with self._reading():
            piece = Piece(offset, offset + nbytes)
            piece.put(self._head[offset : offset + nbytes])
            if piece.missing:
                self.transfer.ensure(self.name, piece.missing)
                self._fill(piece)
            return piece.data

    def sweep(
        self, places: Sequence[tuple[int, int]], on_part: Callable[[int, Bytes], None]
    ) -> None:
        """Read parts in one pass from the file's beginning, for servers without range support.

        Parameters
        ----------
        places
            First byte and byte after the last of each part, in any order; they may overlap.
        on_part
            Called with a part's number among ``places`` and its bytes, as soon as they have
            arrived.

        Raises
        ------
        HubError, Cancelled
            As in :meth:`read_at`; parts already passed on are complete.
        """
        with self._reading():
            sweep = Sweep(places, on_part)
            self.transfer.begin(self.name, sweep.missing)
            self._fill(sweep)

    def save(self, offset: int, write: Callable[[memoryview | Bytes], None]) -> None:
        """Read all bytes from ``offset``, without keeping them in memory.

        Parameters
        ----------
        offset
            At most the file's length.
        write
            Called with the bytes as they arrive, in order. It must not raise OSError, which would
            count as an error of the connection.

        Raises
        ------
        HubError, Cancelled
            As in :meth:`read_at`; the bytes already passed on are valid.
        """
        with self._reading():
            passing = Passing(offset, self.size(), write)
            passing.put(self._head[offset:])
            if passing.missing:
                self.transfer.ensure(self.name, passing.missing)
                self._fill(passing)

    def _reading(self) -> AbstractContextManager[None]:
        host = without_login(self._endpoint)
        return reading(f"{self.name} as sent by {host}", error=BrokenTransfer, advice=_AGAIN)

    def _fill(self, piece: Wanted) -> None:
        """Send requests until the piece is complete, resuming after broken connections."""
        import httpx2

        retry = RetryPolicy(self._connections.retries, self.transfer)
        while piece.missing:
            try:
                self._receive(piece)
            except (HubError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                if self._has_expired(error):
                    self._url = self._hub_url
                    continue
                fault = explained(error, self.address, self.name, self._endpoint)
                retry.wait_or_raise(fault, piece.done)

    def _has_expired(self, error: Exception) -> bool:
        """Return whether the signed URL that the Hub redirected to has expired."""
        from huggingface_hub.errors import HfHubHTTPError

        if not isinstance(error, HfHubHTTPError) or self._url == self._hub_url:
            return False
        return error.response.status_code in _EXPIRED

    def _receive(self, piece: Wanted) -> None:
        """Send one request and store the received bytes."""
        part = {"Range": f"bytes={piece.at}-{piece.stop - 1}"}
        with self._connections.answer(
            self.transfer, self._url, self._endpoint, self.address, headers=part
        ) as sent:
            answer = read_response(sent, self.name)
            if not self.commit:
                self._learn(answer)
            if self._size is None and answer.size is not None:
                self._learn_size(answer.size, piece)
            self._admit(answer, piece)
            self._take(sent, answer, piece)

    def _learn(self, answer: RangeResponse) -> None:
        """Store the commit and the URL for further requests from the first answer."""
        if not COMMIT.fullmatch(answer.commit):
            raise BrokenTransfer(
                f"{answer.host} does not answer like the Hub: it names no commit.",
                "Log in to the network if it asks for that, and check HF_ENDPOINT.",
            )
        if answer.size is not None and answer.linked_size not in ("", str(answer.size)):
            raise BrokenTransfer(
                f"{answer.host} has {answer.size} bytes of {self.name}; the Hub says "
                f"{answer.linked_size}."
            )
        self.commit = answer.commit
        self.etag = answer.linked_etag or answer.tag
        # A branch may move between two requests, and a model may have been renamed.
        repo = self._repo_in(answer.hub_url) or self.address.repo
        self.address = HubAddress(repo, answer.commit)
        self._hub_url = self._resolve(self.address)
        self._url = self._hub_url if answer.url == answer.hub_url else answer.url

    def _learn_size(self, size: int, piece: Wanted) -> None:
        self._check_length(size)
        self._size = size
        piece.end_at(size)
        self.transfer.begin(self.name, piece.missing)

    def _check_length(self, nbytes: int) -> None:
        """Raise if the file is longer than the largest small file."""
        if self._longest is not None and nbytes > self._longest:
            raise HubError(
                f"{self.name} has {size_text(nbytes)}; at most {size_text(self._longest)} of such "
                "a file are read.",
                "Open another model.",
            )

    def _admit(self, answer: RangeResponse, piece: Wanted) -> None:
        """Check that the answer is the requested part of the same file as before."""
        known = self._tags.setdefault(answer.host, answer.tag)
        linked = answer.linked_etag or self.etag
        same_size = None in (answer.size, self._size) or answer.size == self._size
        if not same_size or (answer.tag, linked) != (known, self.etag):
            raise BrokenTransfer(
                f"{self.name} on {answer.host} changed while it was read.", "Open the model again."
            )
        if answer.whole:
            # An answer to a request for the whole file does not show whether ranges are supported.
            self.in_parts = self.in_parts and self._is_all(piece)
            if not (self.whole or self._is_all(piece)):
                raise WholeDownload(self.name, self._size, answer.host)
        elif (answer.start, answer.stop) != (piece.at, piece.stop):
            raise BrokenTransfer(f"{answer.host} sent the wrong part of {self.name}.")
        else:
            self.in_parts = True
        if answer.url != answer.hub_url:
            self._url = answer.url

    def _is_all(self, piece: Wanted) -> bool:
        """Return whether the piece is the whole file."""
        if self._size is None:
            return self._longest is not None
        return (piece.start, piece.stop) == (0, self._size)

    def _take(self, sent: HubAnswer, answer: RangeResponse, piece: Wanted) -> None:
        """Read the body into the piece; of a whole file, only the wanted part."""
        received, before = 0, piece.at - answer.start
        if before and self._size is not None:
            self.transfer.extend(before)
        for chunk in sent.chunks():
            self.transfer.check()
            received += len(chunk)
            unwanted = min(before, len(chunk))
            before -= unwanted
            wanted = memoryview(chunk)[unwanted : unwanted + piece.missing]
            piece.put(wanted)
            if self._size is None:  # then everything is read, to get the size
                self._check_length(received)
                self.transfer.advance(len(chunk))
                continue
            self.transfer.skip(len(chunk) - unwanted - len(wanted))
            self.transfer.advance(unwanted + len(wanted))
            if answer.whole and not piece.missing:
                return
            if unwanted + len(wanted) < len(chunk) and answer.size:
                raise BrokenTransfer(f"{answer.host} sent more of {self.name} than was requested.")
        if self._size is None:
            self._size = received
            piece.end_at(received)
        if piece.missing:
            raise BrokenTransfer(
                f"{answer.host} stopped sending {self.name} too early.", passing=True
            )

    def _resolve(self, address: HubAddress) -> str:
        """Return the file's URL, as huggingface_hub's hf_hub_url but for any endpoint."""
        revision = quote(address.revision, safe="")
        base = without_login(self._endpoint)
        return f"{base}/{address.repo}/resolve/{revision}/{quote(self.name)}"

    def _repo_in(self, url: str) -> str:
        """Return the repository in a file's URL; "" if it is another kind of URL."""
        base = without_login(self._endpoint)
        repo, separator, _ = url.removeprefix(f"{base}/").partition("/resolve/")
        return repo if separator and parse_address(repo) == HubAddress(repo) else ""
