"""Opening a source for a command without a window: from this machine, or from the Hub."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from geometry.sources import is_on_hub, open_source

if TYPE_CHECKING:
    from geometry.hub.transfer import Transfer, TransferProgress
    from geometry.model import PositionalModel

T = TypeVar("T")

#: How long a cancelled transfer is waited for: it ends at once, unless a name is being looked up.
_GRACE_S = 2.0
_LOOK_S = 0.1


def open_for_command(
    source: str,
    table: str | None,
    *,
    offline: bool,
    whole: bool,
    on_progress: Callable[[TransferProgress], None] | None,
) -> PositionalModel:
    """Open a source.

    Parameters
    ----------
    source, table
        As in :func:`geometry.sources.open_source`.
    offline
        No request leaves.
    whole
        A whole file may be downloaded, where the server sends no parts of files.
    on_progress
        What is told of a transfer, on another thread.

    Raises
    ------
    HelixscopeError
        It cannot be opened; the advice is for the command line.
    KeyboardInterrupt
        Ctrl+C was pressed; what was being fetched is not kept.
    """
    if not is_on_hub(source):
        return open_source(source, table=table)
    from geometry.hub.client import Hub
    from geometry.hub.network import Network
    from geometry.hub.tensor_cache import default_cache
    from geometry.hub.transfer import Transfer

    transfer = Transfer(on_progress)
    network = Network(Hub(offline=offline), default_cache(), transfer, whole=whole)
    with for_command_line(offline=offline):
        return interruptible(transfer, lambda: open_source(source, table=table, network=network))


@contextmanager
def for_command_line(*, offline: bool) -> Iterator[None]:
    """Give errors of the Hub the advice of the command line, where the window has switches."""
    from geometry.hub.faults import Offline, WholeDownload

    try:
        yield
    except WholeDownload as error:
        error.advice = "--whole allows it."
        raise
    except Offline as error:
        if offline:
            error.advice = "Leave out --offline to use the network."
        raise


def interruptible(transfer: Transfer, work: Callable[[], T]) -> T:
    """Do what fetches something on another thread, so that Ctrl+C finds this one awake.

    Raises
    ------
    KeyboardInterrupt
        Ctrl+C was pressed; the transfer is stopped.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=run, name="transfer", daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(_LOOK_S)  # not one long wait: on Windows those are deaf to Ctrl+C
    except KeyboardInterrupt:
        transfer.cancel()
        thread.join(_GRACE_S)
        raise
    return result.result()
