"""The pipes to the script that shows a window: standard input and output."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from geometry.models.sources.source import Source
from gui.channel.messages import BadMessage, Closing, Message, ModelToShow, ToWindow, decoder
from gui.channel.pipes import Gone, Pipes

STDIN, STDOUT, STDERR = 0, 1, 2
LAST_S = 2.0
"""How long the end waits until the last messages are written."""


def standard_pipes() -> Pipes[ToWindow]:
    """Return the pipes to the process that started this one.

    What libraries print goes to standard error from now on.
    """
    reading, writing = os.dup(STDIN), os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), STDIN)
    ends = os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)
    kinds: Any = decoder(ToWindow)  # type: ignore[arg-type]
    return Pipes(*ends, kinds)


def source_of(model: ModelToShow, place: Path) -> Source:
    """Return the source of a model, which is taken over if it was in the memory of the script.

    Raises
    ------
    HelixscopeError
        It was not handed over.
    """
    if not model.source:
        from geometry.models.sources.handed import take_over

        return take_over(place / model.folder)
    source = Source.parse(model.source)
    return source if model.table is None else Source.derive("table", model.table, source)


class Sender:
    """Sends messages on a thread, as the script may be stopped and read nothing."""

    def __init__(self, pipes: Pipes[ToWindow]) -> None:
        self._pipes = pipes
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="helixscope-send", daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Send a message after those before."""
        self._messages.put(message)

    @property
    def busy(self) -> bool:
        """Whether messages wait."""
        return not self._messages.empty()

    def close(self) -> None:
        """Send the last message."""
        self._messages.put(Closing())
        self._messages.put(None)
        self._thread.join(LAST_S)

    def _run(self) -> None:
        while (message := self._messages.get()) is not None:
            with suppress(Gone, BadMessage):
                self._pipes.send(message)
