"""A file on the Hub that is read in pieces, by HTTP range requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from geometry.errors import SourceError
from geometry.hub.address import HubAddress, parse_address
from geometry.hub.answers import Answer, read_answer
from geometry.hub.connections import Connections
from geometry.hub.explanations import explained
from geometry.hub.faults import BrokenTransfer, HubError, WholeDownload, size_text
from geometry.hub.patience import Patience
from geometry.hub.transfer import Transfer

if TYPE_CHECKING:
    import httpx2

_COMMIT = re.compile(r"[0-9a-f]{40}")

#: What a storage host answers to an address that was signed for a while which is over.
_EXPIRED = frozenset({400, 401, 403, 404, 410})

Bytes = npt.NDArray[np.uint8]


class _Piece:
    """Bytes ``start`` to ``stop`` of a file, as far as they have come."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self.data: Bytes = np.empty(stop - start, dtype=np.uint8)
        self.done = 0

    @property
    def at(self) -> int:
        """Where the next byte belongs in the file."""
        return self.start + self.done

    @property
    def missing(self) -> int:
        """How many bytes have not come yet."""
        return self.stop - self.at

    def put(self, chunk: memoryview | Bytes) -> None:
        """Take the next bytes."""
        self.data[self.done : self.done + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
        self.done += len(chunk)

    def end_at(self, size: int) -> None:
        """Shorten it to the file's length, which is known only now."""
        self.stop = min(self.stop, size)
        self.data = self.data[: self.stop - self.start]


class RangedFile:
    """A file at one commit; a :class:`~geometry.stores.ByteFile`.

    Made by :meth:`geometry.hub.client.Hub.open_file`. Safe for several threads.

    Attributes
    ----------
    name
        The file's name in the repository.
    address
        Where it was found: the repository under the name it has now, at the commit.
    commit
        That commit, 40 hexadecimal digits; later reads are of it, wherever a branch moves.
    etag
        The Hub's identity of the contents: SHA-256 for large files; "" if it gives none.
    transfer
        What tells of the next reads, and stops them; may be replaced by another one.
    in_parts
        Whether the server sends parts of it, as far as is known.
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
        self._connections = connections
        self._endpoint = endpoint
        self._whole = whole
        self._hub_url = self._url = self._resolve(address)
        self._tags: dict[str, str] = {}
        self._size: int | None = None
        self._head: Bytes = np.empty(0, dtype=np.uint8)

    def start(self, head: int, *, longest: int | None = None) -> None:
        """Ask for the first ``head`` bytes, and learn from the answer what the file is.

        Raises
        ------
        HubError
            It cannot be had, or is longer than ``longest``.
        Cancelled
            Someone cancelled :attr:`transfer`.
        """
        piece = _Piece(0, head)
        self.transfer.begin(self.name, 0)
        self._fill(piece, longest)
        self._head = piece.data

    def size(self) -> int:
        """Length in bytes."""
        assert self._size is not None, "start() comes first"
        return self._size

    def read_at(self, offset: int, nbytes: int) -> Bytes:
        """Exactly ``nbytes`` bytes from ``offset``, as a new array.

        Raises
        ------
        SourceError
            The file ends before.
        HubError
            The bytes cannot be had; the message says why.
        Cancelled
            Someone cancelled :attr:`transfer`.
        """
        if offset < 0 or nbytes < 0 or offset + nbytes > self.size():
            raise SourceError(
                f"{self.name} is truncated: {nbytes} bytes expected at offset {offset}, but it has "
                f"{self.size()}.",
                "The file on the Hub is damaged; tell its authors.",
            )
        piece = _Piece(offset, offset + nbytes)
        piece.put(self._head[offset : offset + nbytes])
        if piece.missing:
            self.transfer.ensure(self.name, piece.missing)
            self._fill(piece)
        return piece.data

    def _fill(self, piece: _Piece, longest: int | None = None) -> None:
        """Ask until the piece is complete; where a connection broke, the next one goes on."""
        import httpx2

        patience = Patience(self._connections.retries, self.transfer)
        while piece.missing:
            try:
                self._receive(piece, longest)
            except (HubError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                if self._has_expired(error):
                    self._url = self._hub_url
                    continue
                fault = explained(error, self.address, self.name, self._endpoint)
                patience.bear(fault, piece.done)

    def _has_expired(self, error: Exception) -> bool:
        """Whether the address that the Hub sent us to no longer holds."""
        from huggingface_hub.errors import HfHubHTTPError

        if not isinstance(error, HfHubHTTPError) or self._url == self._hub_url:
            return False
        return error.response.status_code in _EXPIRED

    def _receive(self, piece: _Piece, longest: int | None) -> None:
        """Send one request and take what comes."""
        part = {"Range": f"bytes={piece.at}-{piece.stop - 1}"}
        with self._connections.answer(
            self.transfer, self._url, self._endpoint, self.address, headers=part
        ) as response:
            answer = read_answer(response, self.name)
            if self._size is None:
                self._learn(answer, piece, longest)
            self._admit(answer, piece)
            self._take(response, answer, piece)

    def _learn(self, answer: Answer, piece: _Piece, longest: int | None) -> None:
        """Keep what the first answer says: the commit, the length, the address to go on at."""
        if not _COMMIT.fullmatch(answer.commit):
            raise BrokenTransfer(
                f"{answer.host} does not answer like the Hub: it names no commit.",
                "Log in to the network if it asks for that, and check HF_ENDPOINT.",
            )
        if answer.linked_size not in ("", str(answer.size)):
            raise BrokenTransfer(
                f"{answer.host} has {answer.size} bytes of {self.name}; the Hub says "
                f"{answer.linked_size}."
            )
        if longest is not None and answer.size > longest:
            raise HubError(
                f"{self.name} has {size_text(answer.size)}; at most {size_text(longest)} of such "
                "a file are read.",
                "Open another model.",
            )
        self.commit = answer.commit
        self.etag = answer.linked_etag or answer.tag
        self._size = answer.size
        # A branch may move between two requests, and a model may have got a new name.
        repo = self._repo_in(answer.hub_url) or self.address.repo
        self.address = HubAddress(repo, answer.commit)
        self._hub_url = self._resolve(self.address)
        self._url = self._hub_url if answer.url == answer.hub_url else answer.url
        piece.end_at(answer.size)
        self.transfer.begin(self.name, piece.missing)

    def _admit(self, answer: Answer, piece: _Piece) -> None:
        """Check that this is the part that was asked for, of the same file as before."""
        known = self._tags.setdefault(answer.host, answer.tag)
        linked = answer.linked_etag or self.etag
        if (answer.size, answer.tag, linked) != (self._size, known, self.etag):
            raise BrokenTransfer(
                f"{self.name} on {answer.host} changed while it was read.", "Open the model again."
            )
        if answer.whole:
            self.in_parts = (piece.start, piece.stop) == (0, answer.size)
            if not (self._whole or self.in_parts):
                raise WholeDownload(self.name, answer.size, answer.host)
        elif (answer.start, answer.stop) != (piece.at, piece.stop):
            raise BrokenTransfer(
                f"{answer.host} sent another part of {self.name} than was asked for."
            )
        if answer.url != answer.hub_url:
            self._url = answer.url

    def _take(self, response: httpx2.Response, answer: Answer, piece: _Piece) -> None:
        """Read the body into the piece; of a whole file, only what belongs there."""
        before = piece.at - answer.start
        if before:
            self.transfer.extend(before)
        for chunk in response.iter_raw():
            self.transfer.check()
            unwanted = min(before, len(chunk))
            before -= unwanted
            wanted = memoryview(chunk)[unwanted : unwanted + piece.missing]
            piece.put(wanted)
            self.transfer.skip(len(chunk) - unwanted - len(wanted))
            self.transfer.advance(unwanted + len(wanted))
            if answer.whole and not piece.missing:
                return
            if unwanted + len(wanted) < len(chunk) and answer.size:
                raise BrokenTransfer(f"{answer.host} sent more of {self.name} than was asked for.")
        if piece.missing:
            raise BrokenTransfer(f"{answer.host} ended {self.name} too early.", passing=True)

    def _resolve(self, address: HubAddress) -> str:
        """Return the file's address, as huggingface_hub's hf_hub_url but for any endpoint."""
        revision = quote(address.revision, safe="")
        return f"{self._endpoint}/{address.repo}/resolve/{revision}/{quote(self.name)}"

    def _repo_in(self, url: str) -> str:
        """Read the repository out of a file's address; "" if it is another kind of address."""
        repo, found, _ = url.removeprefix(f"{self._endpoint}/").partition("/resolve/")
        return repo if found and parse_address(repo) == HubAddress(repo) else ""
