"""Opening a source for a command without a window: from this machine, or from the Hub."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from geometry.models.matrices import WEIGHTS
from geometry.models.sources import is_on_hub, open_source
from gui.commands.terminal import say

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import Transfer, TransferProgress
    from geometry.hub.tensor_cache import TensorCache
    from geometry.models.model import PositionalModel

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
    fresh: bool,
    on_progress: Callable[[TransferProgress], None] | None,
) -> PositionalModel:
    """Open a source.

    Parameters
    ----------
    source, table
        As in :func:`geometry.models.sources.open_source`.
    offline
        No request leaves.
    whole
        A whole file may be downloaded, where the server sends no parts of files.
    fresh
        Which commit a branch or tag is now is asked, though one is kept.
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
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.client import Hub
    from geometry.hub.keeping import wait_until_kept
    from geometry.hub.network import Network

    transfer, cache = Transfer(on_progress), user_cache()
    network = Network(Hub(offline=offline), cache, transfer, whole, fresh)

    def work() -> PositionalModel:
        model = open_source(source, table=table, network=network)
        wait_until_kept(cache.root)  # as long as there is a log for what goes wrong with that
        return model

    with for_command_line(offline=offline):
        return interruptible(transfer, work)


def user_cache() -> TensorCache:
    """Return what was fetched before, within the bound that was set in the window."""
    from platformdirs import user_config_path

    from geometry.hub.tensor_cache import default_cache

    cache = default_cache()
    settings = ConfigParser(interpolation=None, strict=False)
    # Written by Qt, which is not loaded for this; see gui.window.settings.settings.
    with suppress(ConfigError, OSError, ValueError):
        settings.read(user_config_path("helixscope", appauthor=False) / "settings.ini", "utf-8")
        cache.max_bytes = settings.getint("network", "cache_limit", fallback=cache.max_bytes)
    return cache


@contextmanager
def reading(
    model: PositionalModel, *, offline: bool, on_progress: Callable[[TransferProgress], None] | None
) -> Iterator[None]:
    """Let what this thread reads of a model within be told of, and refused, as its opening was."""
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.keeping import wait_until_kept

    with for_command_line(offline=offline), model.through(Transfer(on_progress)):
        yield
    if is_on_hub(model.source):
        wait_until_kept(user_cache().root)


def announce_fetch(model: PositionalModel, layer: int) -> None:
    """Say what a report of a layer has to fetch before it does, if that is much."""
    nbytes = model.bytes_to_fetch_for([("W_E", 0), *((name, layer) for name in WEIGHTS)])
    if nbytes:
        from geometry.checkpoints.sizes import size_text
        from geometry.hub.network import LARGE

        if nbytes > LARGE:
            say(f"The report reads {size_text(nbytes)} more of {model.name}.")


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
