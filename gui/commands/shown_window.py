"""The window that a script or notebook shows, driven through its standard input and output.

It is a process of its own, so that the script goes on, and both may end without the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.source import Source
from gui.channel.messages import BadMessage, Begin, Ready, ToWindow
from gui.channel.pipes import Gone, Pipes
from gui.commands.script_pipes import Sender, source_of, standard_pipes

if TYPE_CHECKING:
    from gui.commands.application import Application
    from gui.commands.window_driver import Driver


class ScriptEnd:
    """The script's end of the pipes, as the window sees it.

    Parameters
    ----------
    pipes
        To the script.
    """

    def __init__(self, pipes: Pipes[ToWindow]) -> None:
        self._pipes = pipes
        self._place: Path | None = None
        self._begin: Begin | None = None
        self._driver: Driver | None = None
        self._sender = Sender(pipes)

    def sources(self) -> tuple[Source, tuple[int, int] | None, tuple[Source, ...]]:
        """Wait for the first message; return the first source, its range, and those beside it.

        Raises
        ------
        HelixscopeError
            There is no such message, or a model could not be taken over.
        """
        try:
            begin = self._pipes.receive()
        except (Gone, BadMessage) as error:
            raise HelixscopeError("Python has not said what to show.") from error
        if not isinstance(begin, Begin):
            raise HelixscopeError("Python has not said what to show first.")
        self._begin, self._place = begin, Path(begin.place)
        first, *beside = (source_of(model, self._place) for model in begin.models)
        return first, begin.positions, tuple(beside)

    def drive(self, application: Application) -> None:
        """Let the script drive a window, once it is ready."""
        assert self._begin is not None
        assert self._place is not None
        from gui.commands.window_driver import Driver

        driver = self._driver = Driver(application, self._place, self._sender)
        application.ready.connect(lambda: driver.begin(self._pipes, self._begin))

    def fail(self, error: HelixscopeError) -> None:
        """Say why there is no window."""
        self._sender.put(Ready(failed=str(error), advice=error.advice))

    def release(self) -> None:
        """Drive the window no longer, as it is closing."""
        if self._driver is not None:
            self._driver.release()

    def close(self) -> None:
        """Say that the window is closed, and remove its folder if that is empty."""
        self._sender.close()
        if self._place is not None:
            with suppress(OSError):  # Python, if it is still there, removes what is in it
                self._place.rmdir()


@contextmanager
def script_end() -> Iterator[ScriptEnd]:
    """Yield the script's end of the standard pipes, and close it."""
    end = ScriptEnd(standard_pipes())
    try:
        yield end
    finally:
        end.close()
