"""Client of the Hugging Face Hub: files in pieces, small files, listings and search."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import load_json
from geometry.checkpoints.transfer import Cancelled, Transfer
from geometry.hub.address import HubAddress, without_login
from geometry.hub.address import endpoint as endpoint_now
from geometry.hub.answers import Budgets
from geometry.hub.connections import Connections, offline_by_environment
from geometry.hub.explanations import explained
from geometry.hub.faults import BrokenTransfer, HubError
from geometry.hub.listings import (
    FoundModel,
    Listing,
    Revision,
    read_listing,
    read_models,
    read_revisions,
)
from geometry.hub.ranged_file import RangedFile
from geometry.hub.retry_policy import Retries, RetryPolicy

log = logging.getLogger(__name__)

T = TypeVar("T")

__all__ = ["FETCH_BYTES", "HEAD_BYTES", "FoundModel", "Hub", "Listing", "Retries", "Revision"]

HEAD_BYTES = 98_304
"""Bytes read by the first request for a file: enough for a safetensors header (64 kB for
gpt2-xl), and within 128 KiB together with config.json."""

FETCH_BYTES = 64_000_000
"""Maximum size of a file downloaded completely without asking, such as the index of shards."""


class Hub:
    """Client of the Hub that uses huggingface_hub's endpoint, access token, errors and HTTP client.

    Adds what huggingface_hub lacks: reading parts of files, resuming after a broken connection, and
    cancellation from another thread. Thread-safe.

    Parameters
    ----------
    endpoint
        The Hub's address. If None, the environment's HF_ENDPOINT at the time of each call, or
        https://huggingface.co.
    offline
        Send no requests. HF_HUB_OFFLINE has the same effect. May be changed later, which aborts
        active requests.
    retries
        Limits on retries of failed requests.
    timeout_s
        Read timeout in seconds; huggingface_hub's HF_HUB_DOWNLOAD_TIMEOUT (10 s) if None.
    budgets
        Limits on answers.
    """

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        offline: bool = False,
        retries: Retries = Retries(),  # noqa: B008, it is frozen
        timeout_s: float | None = None,
        budgets: Budgets = Budgets(),  # noqa: B008, it is frozen
    ) -> None:
        self._endpoint = endpoint
        self._connections = Connections(retries, timeout_s, offline, budgets)

    @property
    def endpoint(self) -> str:
        """The Hub's current address; it may contain a user name and a password."""
        return self._endpoint.rstrip("/") if self._endpoint else endpoint_now()

    @property
    def offline(self) -> bool:
        """Whether requests are disabled, here or by the environment."""
        return self._connections.offline or offline_by_environment()

    @offline.setter
    def offline(self, value: bool) -> None:
        self._connections.offline = value

    def close(self) -> None:
        """Close idle connections; later requests open new ones."""
        self._connections.close()

    def open_file(
        self,
        address: HubAddress,
        filename: str,
        transfer: Transfer,
        *,
        head: int = HEAD_BYTES,
        whole: bool = False,
    ) -> RangedFile:
        """Open a file by one request, which also reads its first bytes.

        Parameters
        ----------
        address
            The repository; its revision is resolved to a commit.
        filename
            Path in the repository.
        transfer
            Reports progress and allows cancellation.
        head
            Number of bytes to read from the beginning, at least 1.
        whole
            Whether the user agreed to a whole download, if the server does not support ranges.

        Raises
        ------
        NotOnHub
            No such repository, revision or file; see ``missing``.
        WholeDownload
            The server does not support ranges; ``nbytes`` is the size of the whole file.
        HubError
            Any other failure: see geometry.hub.faults.
        Cancelled
            ``transfer`` was cancelled.
        """
        file = self._file(address, filename, transfer, whole=whole)
        file.start(head)
        return file

    def fetch(self, address: HubAddress, filename: str, transfer: Transfer) -> bytes:
        """Download a small file (at most 64 MB) in one request.

        Raises HubError, Cancelled: as in :meth:`open_file`; also if the file is larger.
        """
        file = self._file(address, filename, transfer, whole=False)
        file.start(FETCH_BYTES, longest=FETCH_BYTES)
        return file.read_at(0, file.size()).tobytes()

    def _file(
        self, address: HubAddress, filename: str, transfer: Transfer, *, whole: bool
    ) -> RangedFile:
        # A name may contain any characters, even those invalid in an address.
        with reading(f"{address}", "Open another model.", error=HubError):
            return RangedFile(
                self._connections, self.endpoint, address, filename, transfer, whole=whole
            )

    def list_files(self, address: HubAddress, transfer: Transfer) -> Listing:
        """List a repository's files, and the commit of its revision.

        Raises HubError, Cancelled: as in :meth:`open_file`.
        """
        transfer.begin("the list of files", 0)
        url = f"/api/models/{address.repo}/revision/{quote(address.revision, safe='')}"
        return self._json(url, {"blobs": "true"}, transfer, address, read_listing)

    def list_revisions(self, address: HubAddress, transfer: Transfer) -> tuple[Revision, ...]:
        """List a repository's branches, then its tags, ignoring the address's own revision.

        Raises HubError, Cancelled: as in :meth:`open_file`.
        """
        transfer.begin("the list of revisions", 0)
        url = f"/api/models/{address.repo}/refs"
        return self._json(url, {}, transfer, address, read_revisions)

    def search(
        self,
        text: str,
        limit: int = 20,
        transfer: Transfer | None = None,
        *,
        author: str | None = None,
    ) -> tuple[FoundModel, ...]:
        """Find models whose id contains ``text``, by decreasing number of downloads.

        Only models of ``author`` are returned, if given.

        Raises HubError, Cancelled: as in :meth:`open_file`.
        """
        query: dict[str, str | int] = {"search": text, "limit": limit, "sort": "downloads"}
        if author is not None:
            query["author"] = author
        read = functools.partial(read_models, limit=limit)
        return self._json("/api/models", query, transfer or Transfer(), None, read)

    def _json(
        self,
        path: str,
        params: Mapping[str, str | int],
        transfer: Transfer,
        address: HubAddress | None,
        read: Callable[[Any], T],
    ) -> T:
        """Request JSON from the Hub's API, and read it.

        Does not use huggingface_hub's HfApi, whose requests cannot be cancelled and which waits for
        up to an hour if the server requests it.
        """
        import httpx2

        url = without_login(self.endpoint) + path
        retry = RetryPolicy(self._connections.retries, transfer)
        while True:
            try:
                with (
                    _like_the_hub(self.endpoint),
                    self._connections.answer(
                        transfer, url, self.endpoint, address, params=params
                    ) as answer,
                ):
                    answer.raise_for_status()
                    content = answer.content()
                    transfer.skip(len(content))
                    return read(load_json("The answer", content))
            except (HubError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                retry.wait_or_raise(explained(error, address, hub=self.endpoint))


@contextlib.contextmanager
def _like_the_hub(endpoint: str) -> Iterator[None]:
    """Raise BrokenTransfer for any error in an answer that the HTTP client accepted."""
    import httpx2

    try:
        yield
    except (HubError, Cancelled, httpx2.HTTPError, httpx2.InvalidURL, OSError):
        raise
    except Exception as error:
        log.warning("An answer of %s cannot be read", without_login(endpoint), exc_info=True)
        raise BrokenTransfer(
            f"{without_login(endpoint)} does not answer like the Hub.",
            "Log in to the network if it asks for that, and check HF_ENDPOINT.",
        ) from error
