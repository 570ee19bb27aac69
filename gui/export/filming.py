"""Making a film in the window: frames drawn on its thread, one at a time, and written on another.

The graphics belong to the window's thread; between two frames that does what else is due.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtWidgets import QWidget

from gui.state.session import Session

# What draws and writes is not needed for the first frame: it is loaded when it is asked for.
if TYPE_CHECKING:
    from gui.export.film import Film
    from gui.export.film_dialog import FilmProgress
    from gui.services.controller import Controller

FILM = "film"
"""Slot of the job: one film at a time."""


class Frames(Protocol):
    """What draws the frames of a film; made, used and closed on the window's thread."""

    def __len__(self) -> int:
        """How many there are."""

    def draw(self, index: int) -> np.ndarray:
        """Draw one: (height, width, 3) uint8."""

    def close(self) -> None:
        """Let go of the graphics."""


class Filming:
    """Makes films for a window, and shows how far they are.

    Parameters
    ----------
    window
        What the dialog belongs to.
    session
        What is told in its status.
    controller
        Runs the writing.
    """

    def __init__(self, window: QWidget, session: Session, controller: Controller) -> None:
        self._window, self._session, self._controller = window, session, controller
        self._under_way: _UnderWay | None = None

    @property
    def busy(self) -> bool:
        """Whether a film is being drawn or written."""
        return self._under_way is not None

    def start(self, frames: Frames, film: Film, out: Path, what: str) -> None:
        """Draw and write a film; a failure becomes a notice that says why.

        Parameters
        ----------
        frames
            Closed at the end, whatever that is.
        film, out
            What writes it, and where.
        what
            What it is of, for the dialog and the status: "the time-lapse".
        """
        from gui.export.film_dialog import FilmProgress

        self.cancel()
        reel = _Reel(film, len(frames))
        progress = FilmProgress(f"Saving {what}", out.name, len(frames), self._window)
        progress.rejected.connect(self.cancel)
        self._under_way = _UnderWay(frames, reel, progress, what)
        self._controller.in_background(
            FILM,
            reel.write,
            lambda _: self._on_done(out),
            "The film could not be saved",
            on_progress=self._draw,
            on_failed=self._end,
            stop=reel.stop,
        )
        progress.show()

    def cancel(self) -> None:
        """Give up the film that is under way; no file is left."""
        if self._under_way is not None:
            what = self._under_way.what
            self._controller.give_up(FILM)
            self._end()
            self._session.status = f"Saving {what} was cancelled"

    def close(self) -> None:
        """Give up; the window goes away."""
        if self._under_way is not None:
            self._controller.give_up(FILM)
            self._end()

    def _draw(self, index: int) -> None:
        """Draw the frame that the writer asks for."""
        under_way = self._under_way
        if under_way is None:
            return
        try:
            frame = under_way.frames.draw(index)
        except Exception:
            self.cancel()
            raise  # for the log and the notice of what nobody caught
        under_way.reel.give(frame)
        under_way.progress.show_one_more()

    def _on_done(self, out: Path) -> None:
        self._end()
        self._session.status = f"Saved {out}"

    def _end(self) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.frames.close()
            under_way.progress.rejected.disconnect(self.cancel)
            under_way.progress.close()
            under_way.progress.deleteLater()


@dataclass(frozen=True, eq=False, slots=True)
class _UnderWay:
    """What belongs to the film that is being made."""

    frames: Frames
    reel: _Reel
    progress: FilmProgress
    what: str


class _GivenUp(Exception):
    """The film is not wanted any more."""


class _Reel:
    """Frames on their way from the thread that draws to the one that writes.

    Parameters
    ----------
    film
        What they are written into.
    count
        How many there are.
    """

    def __init__(self, film: Film, count: int) -> None:
        self._film, self._count = film, count
        self._drawn: queue.SimpleQueue[np.ndarray | None] = queue.SimpleQueue()

    def write(self, ask: Callable[[int], None]) -> None:
        """Write them all; each is asked for while the one before is written."""
        from gui.export.film import order_of

        order = iter(order_of(self._count))
        ask(next(order))

        def draw(_: int) -> np.ndarray:
            frame = self._drawn.get()
            if frame is None:
                raise _GivenUp
            if (following := next(order, None)) is not None:
                ask(following)
            return frame

        self._film.write(self._count, draw)

    def give(self, frame: np.ndarray) -> None:
        """Hand over the frame that was asked for."""
        self._drawn.put(frame)

    def stop(self) -> None:
        """End the writing soon, from another thread."""
        self._drawn.put(None)
        self._film.give_up()
