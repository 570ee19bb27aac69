"""Access to the Hub and the cache for one window, aware of its offline switch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic

from geometry.checkpoints.transfer import Transfer, TransferProgress, local_reads
from gui.services.jobs.jobs import T
from gui.services.loading import OpenRequest
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.hub.client import Hub
    from geometry.hub.faults import NotAsked
    from geometry.hub.network import Network
    from geometry.hub.tensor_cache import TensorCache
    from geometry.models.sources.source import Source


class Fetch(Generic[T]):
    """Work that may download, or read long files: the function of a job, and its cancellation."""

    def __init__(self, work: Callable[[Transfer], T]) -> None:
        self._work = work
        self._transfer = Transfer(self._on_progress)
        self._report: Callable[[TransferProgress], None] | None = None

    def __call__(self, report: Callable[[TransferProgress], None]) -> T:
        """Do the work, reporting downloads and long local reads."""
        self._report = report
        with local_reads(self._transfer):
            return self._work(self._transfer)

    def stop(self) -> None:
        """Cancel a wait or a transfer from another thread; the work then raises Cancelled."""
        self._transfer.cancel()

    def _on_progress(self, progress: TransferProgress) -> None:
        if self._report is not None:
            self._report(progress)


class Fetching:
    """The Hub and the cache of a window, created on first use.

    ``cache_limit`` is the cache's size limit in bytes; its default if None.
    """

    def __init__(self, session: Session, cache_limit: int | None = None) -> None:
        self._session, self._cache_limit = session, cache_limit
        self._hub: Hub | None = None
        self._cache: TensorCache | None = None
        self._making = threading.Lock()
        self._listening = Listening()
        self._listening.to(session.events.offline, self._on_offline_changed)

    def close(self) -> None:
        """Stop listening, and close idle connections."""
        self._listening.stop()
        if self._hub is not None:
            self._hub.close()

    @property
    def hub(self) -> Hub:
        """The Hub; thread-safe."""
        # Local models need no HTTP client, so it is imported late.
        from geometry.hub.client import Hub

        with self._making:
            if self._hub is None:
                self._hub = Hub(offline=self._session.offline)
            return self._hub

    @property
    def cache(self) -> TensorCache:
        """The cache of downloads; thread-safe."""
        from geometry.hub.tensor_cache import default_cache

        with self._making:
            if self._cache is None:
                self._cache = default_cache()
                if self._cache_limit is not None:
                    self._cache.max_bytes = self._cache_limit
            return self._cache

    def network(self, transfer: Transfer, wanted: OpenRequest) -> Network:
        """Return the network for an opening; thread-safe.

        Raises NotAsked: the model is not on this machine, and the user has not agreed to a look-up.
        """
        from geometry.hub.network import Network
        from geometry.models.sources.locating import is_here

        if wanted.unasked and not self._session.offline and not is_here(wanted.source):
            by = "link" if wanted.source.linked else "project"
            raise _not_asked(wanted.unasked, self.hub.endpoint, by)
        return Network(self.hub, self.cache, transfer, wanted.whole, wanted.fresh)

    def _on_offline_changed(self, offline: bool) -> None:
        with self._making:
            if self._hub is not None:
                self._hub.offline = offline


def _not_asked(sources: Iterable[Source], endpoint: str, by: str) -> NotAsked:
    from geometry.hub.address import without_login
    from geometry.hub.faults import NotAsked
    from geometry.models.sources.locating import is_here, may_ask_hub

    wanted = [source for source in dict.fromkeys(sources) if may_ask_hub(source)]
    missing = [source.full_name for source in wanted if not is_here(source)]
    return NotAsked(missing, without_login(endpoint), by=by)
