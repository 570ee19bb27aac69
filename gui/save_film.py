"""Saving the time-lapse that the window plays: as a film, or its coordinates as numbers."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtWidgets import QDialog, QWidget

from geometry.errors import HelixscopeError
from gui.camera import CameraPose
from gui.save_result import ask_where
from gui.session import Notice, Session
from gui.theme import LIGHT
from gui.viewport import Viewport

# What draws and writes is not needed for the first frame: it is loaded when it is asked for.
if TYPE_CHECKING:
    from gui.controller import Controller
    from gui.film import Film
    from gui.film_dialog import FilmOptions, FilmProgress
    from gui.lapse_export import LapseFrames

FILM, NUMBERS = "film", "save coordinates"
"""Slots of the jobs."""
_KINDS = {"mp4": "MP4 film (*.mp4)", "gif": "GIF film (*.gif)"}
_NPZ = {"npz": "NumPy arrays (*.npz)"}


class FilmSaver:
    """Draws films of a viewport's time-lapse, a frame at a time, and writes them on a thread.

    The graphics belong to the window's thread; between two frames that does what else is due.

    Parameters
    ----------
    window, viewport
        What dialogs belong to; whose camera, shape and theme a film has.
    session
        Whose time-lapse is drawn, and what is told in its status and notice.
    controller
        Runs the writing.
    """

    def __init__(
        self, window: QWidget, viewport: Viewport, session: Session, controller: Controller
    ) -> None:
        self._window, self._viewport = window, viewport
        self._session, self._controller = session, controller
        self._options: FilmOptions | None = None
        self._under_way: _UnderWay | None = None

    @property
    def busy(self) -> bool:
        """Whether a film is being drawn or written."""
        return self._under_way is not None

    def ask(self, name: str) -> None:
        """Let the user choose options and a file of some name, then save a film."""
        from gui.film_dialog import FilmDialog, FilmOptions

        lapse = self._session.lapse
        if lapse is None or self.busy:
            return
        dialog = FilmDialog(
            self._options or FilmOptions(), self._viewport.size(), lapse.n_snapshots, self._window
        )
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        options = dialog.options()
        dialog.deleteLater()
        if not accepted:
            return
        self._options = options
        kinds = {options.kind: _KINDS[options.kind]}
        path = ask_where(self._window, "Save time-lapse", name, kinds)
        if path is not None:
            self.save(path, options)

    def save(self, out: Path, options: FilmOptions) -> None:
        """Save a film; a failure becomes a notice that says why."""
        from gui.film import Film
        from gui.film_dialog import FilmProgress
        from gui.lapse_export import FilmLook, LapseFrames

        self.cancel()
        viewport = self._viewport.interactor
        look = FilmLook(
            size=options.size(viewport.size()),
            fps=options.fps,
            theme=self._viewport.scene.theme if options.background == "theme" else LIGHT,
            pose=CameraPose.of(viewport.camera),
            # In a small film of a large viewport, texts as small as all else could not be read.
            lines=max(1, min(viewport.height(), options.height)),
        )
        try:
            frames = LapseFrames(self._session, look)
        except HelixscopeError as error:
            self._session.notice = Notice(str(error), error.advice)
            return
        reel = _Reel(Film(out, look.size, look.fps), len(frames))
        progress = FilmProgress(out.name, len(frames), self._window)
        progress.rejected.connect(self.cancel)
        self._under_way = _UnderWay(frames, reel, progress)
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
            self._controller.give_up(FILM)
            self._end()
            self._session.status = "Saving the time-lapse was cancelled"

    def ask_numbers(self, name: str) -> None:
        """Let the user choose a file of some name, and write the coordinates into it as NPZ."""
        from gui.lapse_export import write_lapse_numbers

        lapse = self._session.lapse
        path = None if lapse is None else ask_where(self._window, "Save coordinates", name, _NPZ)
        if path is None or lapse is None:
            return

        def done(_: None) -> None:
            self._session.status = f"Saved {path}"

        self._controller.in_background(
            NUMBERS,
            lambda: write_lapse_numbers(lapse, path),
            done,
            "The coordinates could not be saved",
        )

    def close(self) -> None:
        """Give up; the window goes away."""
        if self._under_way is not None:
            self._controller.give_up(FILM)
            self._end()

    def _draw(self, snapshot: int) -> None:
        """Draw the frame that the writer asks for."""
        under_way = self._under_way
        if under_way is None:
            return
        try:
            frame = under_way.frames.draw(snapshot)
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


class _UnderWay:
    """What belongs to the film that is being made."""

    def __init__(self, frames: LapseFrames, reel: _Reel, progress: FilmProgress) -> None:
        self.frames, self.reel, self.progress = frames, reel, progress


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
        from gui.film import order_of

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
