"""Signals that ask the process to end: one orderly end for all of them.

Ctrl+C sends one, as do ``kill``, a service that is stopped, a terminal that is closed, and the end
of a session.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Self

#: The last is that of Windows, for Ctrl+Break, and for a console that is closed, after which the
#: system may leave no time.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """A signal has asked the process to end.

    Where KeyboardInterrupt itself passes through code that is made of a text, as in dataclasses,
    Python later ends by SIGINT in place of any exit status.
    """


class Ends:
    """Heeds these signals within a block, but for those that the process was started to ignore.

    A signal may come twice: that of a closed terminal from the system and from the shell. So only
    the first counts, and Ctrl+C again.

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
        first = self.status is None
        if first:
            self.status = 128 + number
        if first or number == signal.SIGINT:
            self._react()


@contextmanager
def orderly_end() -> Iterator[None]:
    """Let signals raise Ended in the block, and exit after it with their status."""
    with Ends(_interrupt) as ends:
        try:
            yield
        finally:
            if ends.status is not None:
                # In place of errors that the end has caused, and of what libraries log of them.
                logging.getLogger().addHandler(logging.NullHandler())
                raise SystemExit(ends.status)


def _interrupt() -> NoReturn:
    raise Ended
