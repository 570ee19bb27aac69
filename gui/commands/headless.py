"""Opening a source for a command without a window."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from geometry.models.matrices import WEIGHTS
from geometry.models.sources.locating import located
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.commands.terminal import say

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import Transfer, TransferProgress
    from geometry.hub.tensor_cache import TensorCache
    from geometry.models.model import PositionalModel

T = TypeVar("T")

_GRACE_S = 2.0
"""How long to wait for a cancelled transfer, which ends at once except during name lookup."""
_POLL_S = 0.1


def open_for_command(
    source: str | Source,
    table: str | None,
    *,
    offline: bool,
    whole: bool,
    fresh: bool,
    on_progress: Callable[[TransferProgress], None] | None,
) -> PositionalModel:
    """Open a source.

    Parameters
    ----------
    source, table
        As in :func:`geometry.models.sources.opening.open_model`.
    offline
        Whether to send no requests.
    whole
        Whether a whole file may be downloaded, if the server does not support ranges.
    fresh
        Whether to ask for a revision's current commit, although one is cached.
    on_progress
        Called with a transfer's progress, on another thread.

    Raises
    ------
    HelixscopeError
        It cannot be opened; the advice is for the command line.
    KeyboardInterrupt
        Ctrl+C was pressed; unfinished downloads are discarded.
    """
    source = located(Source.of_any(source))
    from geometry.checkpoints.transfer import Transfer, local_reads

    if source.model.kind != "hub" and not whole:  # else an adapter's model may be downloaded
        with for_command_line(offline=offline), local_reads(Transfer(on_progress)):
            return open_model(source, table=table)
    from geometry.hub.client import Hub
    from geometry.hub.keeping import wait_until_kept
    from geometry.hub.network import Network

    transfer, cache = Transfer(on_progress), user_cache()
    network = Network(Hub(offline=offline), cache, transfer, whole, fresh)

    def work() -> PositionalModel:
        with local_reads(transfer):
            model = open_model(source, table=table, network=network)
        wait_until_kept(cache.root)  # while the log is still active, for its errors
        return model

    with for_command_line(offline=offline):
        return interruptible(transfer, work)


def user_cache() -> TensorCache:
    """Return the cache, with the size limit set in the window."""
    from geometry.hub.tensor_cache import default_cache
    from gui.window.settings.settings import Settings, settings_path

    cache = default_cache()
    cache.max_bytes = Settings(settings_path()).cache_limit
    return cache


@contextmanager
def reading(
    model: PositionalModel, *, offline: bool, on_progress: Callable[[TransferProgress], None] | None
) -> Iterator[None]:
    """Report this thread's reads of a model in the block, with the same network settings."""
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.keeping import wait_until_kept

    with for_command_line(offline=offline), model.through(Transfer(on_progress)):
        yield
    if model.source.model.kind == "hub":
        wait_until_kept(user_cache().root)


def announce_fetch(model: PositionalModel, layer: int) -> None:
    """Announce a large download for a report of a layer."""
    if model.no_table:
        nbytes = model.bytes_to_fetch_for([("turned W_Q", 0), ("turned W_K", 0)])
    else:
        nbytes = model.bytes_to_fetch_for([("W_E", 0), *((name, layer) for name in WEIGHTS)])
    if nbytes:
        from geometry.checkpoints.sizes import size_text
        from geometry.hub.network import LARGE

        if nbytes > LARGE:
            say(f"The report reads {size_text(nbytes)} more of {model.name}.")


@contextmanager
def for_command_line(*, offline: bool) -> Iterator[None]:
    """Replace the window's advice in errors of the Hub by that of the command line."""
    from geometry.hub.faults import NeedsConsent, Offline

    try:
        yield
    except NeedsConsent as error:
        error.advice = "Allow it with --whole."
        raise
    except Offline as error:
        if offline:
            error.advice = "Omit --offline to use the network."
        raise


def interruptible(transfer: Transfer, work: Callable[[], T]) -> T:
    """Run a download on another thread, so that this one can react to Ctrl+C.

    Raises KeyboardInterrupt: Ctrl+C was pressed, and the transfer is cancelled.
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
            thread.join(_POLL_S)  # in short waits: on Windows a long one ignores Ctrl+C
    except KeyboardInterrupt:
        transfer.cancel()
        thread.join(_GRACE_S)
        raise
    return result.result()
