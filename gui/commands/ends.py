"""Signals that ask the process to end, handled in the same way.

They are sent by Ctrl+C, ``kill``, a stopped service, a closed terminal, and the end of a session.
"""

from __future__ import annotations

import _thread
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

log = logging.getLogger(__name__)

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""The last is sent on Windows, by Ctrl+Break and by a closed console, which may leave no time."""
ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


_AGAIN_S = 0.01
"""Seconds after which a signal is repeated: no destructor takes so long."""


class Ended(KeyboardInterrupt):
    """A signal has asked the process to end.

    If KeyboardInterrupt itself passes through code compiled from a string, as in dataclasses,
    Python later exits by SIGINT instead of with an exit status.
    """


class Ends:
    """Handles these signals within a block, except those that the process was started to ignore.

    Only the first signal counts, and any Ctrl+C: a closed terminal may send its signal twice, from
    the system and from the shell.

    Parameters
    ----------
    react
        Called by a signal, between any two steps of the program.

    Attributes
    ----------
    status
        The exit status that a shell expects after the first signal; None before.
    """

    def __init__(self, react: Callable[[], object]) -> None:
        self.status: int | None = None
        self._react = react
        self._reacted = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: object) -> None:
        if self.status is None:
            self.status = 128 + number
        if not self._reacted or number == signal.SIGINT:
            self._reacted = True
            self._react()

    def repeat(self) -> None:
        """Send the first signal to the main thread once more, where its reaction had no effect."""
        assert self.status is not None
        number = self.status - 128
        if signal.getsignal(number) != self._on_signal:
            return  # the block has ended meanwhile
        self._reacted = False
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, number)
        else:
            _thread.interrupt_main(signal.Signals(number))


@contextmanager
def orderly_end() -> Iterator[None]:
    """Let signals raise Ended in the block, and exit after it with their status."""

    def interrupt() -> NoReturn:
        sys.unraisablehook = unraisable
        raise Ended

    def unraisable(failed: UnraisableHookArgs) -> None:
        # Of objects whose making was interrupted, destructors may fail until the process has ended.
        log.debug("%r", failed.object, exc_info=failed.exc_value)
        if isinstance(failed.exc_value, Ended):  # raised in a destructor, so it went no further
            threading.Timer(_AGAIN_S, ends.repeat).start()

    with Ends(interrupt) as ends:
        try:
            yield
        finally:
            if ends.status is not None:
                # Replaces errors that the end has caused, and what libraries log about them.
                logging.getLogger().addHandler(logging.NullHandler())
                raise SystemExit(ends.status)
