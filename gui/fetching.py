"""What the window fetches goes through: one Hub, which knows the switch for working offline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from geometry.hub.transfer import Transfer, TransferProgress
from gui.listening import Listening
from gui.loading import Wanted
from gui.session import Session

if TYPE_CHECKING:
    from geometry.hub.client import Hub
    from geometry.hub.network import Network


class Fetch:
    """Work that may fetch something: the function of a job, and what stops it.

    Parameters
    ----------
    work
        Called on the job's thread with what tells of the transfer.
    """

    def __init__(self, work: Callable[[Transfer], Any]) -> None:
        self._work = work
        self._transfer = Transfer(self._on_progress)
        self._tell: Callable[[TransferProgress], None] | None = None

    def __call__(self, tell: Callable[[TransferProgress], None]) -> Any:
        """Do the work; what is fetched meanwhile is told of."""
        self._tell = tell
        return self._work(self._transfer)

    def stop(self) -> None:
        """End a wait or a transfer, from another thread: the work raises Cancelled."""
        self._transfer.cancel()

    def _on_progress(self, progress: TransferProgress) -> None:
        if self._tell is not None:
            self._tell(progress)


class Fetching:
    """The Hub of this window, made when something from there is first wanted.

    Parameters
    ----------
    session
        Says whether the network may be used.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hub: Hub | None = None
        self._making = threading.Lock()
        self._listening = Listening()
        self._listening.to(session.events.offline, self._on_offline_changed)

    def close(self) -> None:
        """Stop listening, and close connections that are kept open."""
        self._listening.stop()
        if self._hub is not None:
            self._hub.close()

    @property
    def hub(self) -> Hub:
        """The Hub; may be asked for from any thread."""
        # Its client is not imported for what lies on this machine.
        from geometry.hub.client import Hub

        with self._making:
            if self._hub is None:
                self._hub = Hub(offline=self._session.offline)
            return self._hub

    def network(self, transfer: Transfer, wanted: Wanted) -> Network:
        """Return what an opening goes through; may be asked for from any thread."""
        from geometry.hub.network import Network
        from geometry.hub.tensor_cache import default_cache

        return Network(self.hub, default_cache(), transfer, wanted.whole, wanted.fresh)

    def _on_offline_changed(self, offline: bool) -> None:
        with self._making:
            if self._hub is not None:
                self._hub.offline = offline
