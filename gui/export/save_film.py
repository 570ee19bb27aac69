"""Films in the window: frames are drawn on its thread, and written on another.

Graphics must stay on the window's thread, which handles events between two frames.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QWidget

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.number_files import write_numbers
from gui.export.save_result import ask_where
from gui.state.camera import CameraPose
from gui.state.session import Session
from gui.state.values import Notice
from gui.style.theme import LIGHT
from gui.viewport.viewport import Viewport

# Drawing and writing are not needed for the first frame, so they are imported later.
if TYPE_CHECKING:
    from gui.export.film import Film
    from gui.export.film_dialog import FilmOptions, FilmProgress
    from gui.export.timelapse_film import FilmLook
    from gui.services.controller import Controller

FILM = "film"
"""Slot of the job: one film at a time."""
KINDS = {"mp4": "MP4 film (*.mp4)", "gif": "GIF film (*.gif)"}
_NPZ = {"npz": "NumPy arrays (*.npz)"}
_WHAT = "the time-lapse"


class Frames(Protocol):
    """Draws the frames of a film; created, used and closed on the window's thread."""

    def __len__(self) -> int:
        """Return the number of frames."""

    def draw(self, index: int) -> np.ndarray:
        """Draw a frame: (height, width, 3) uint8."""

    def close(self) -> None:
        """Release the graphics."""


class FilmSaver:
    """Makes a window's films one at a time, and asks for those of its viewport's timeline."""

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
        """Ask for options and a file, with a suggested name, and save a film."""
        from gui.export.film_dialog import FilmDialog, FilmOptions

        timeline = self._session.timeline
        if timeline is None:
            return
        if self.busy:
            self._session.status = "Another film is being saved"
            return
        dialog = FilmDialog(
            self._options or FilmOptions(),
            self._viewport.size(),
            timeline.n_snapshots,
            self._window,
        )
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        options = dialog.options()
        dialog.deleteLater()
        if not accepted:
            return
        self._options = options
        kinds = {options.kind: KINDS[options.kind]}
        path = ask_where(self._window, "Save time-lapse", name, kinds, session=self._session)
        if path is not None:
            self.save(path, options)

    def save(self, out: Path, options: FilmOptions) -> None:
        """Save a film; a notice reports failures."""
        from gui.export.timelapse_film import TimelineFrames

        look = self.look(options, self._viewport.interactor.size())
        self.start(lambda: TimelineFrames(self._session, look), look, out, _WHAT)

    def look(self, options: FilmOptions, size: QSize) -> FilmLook:
        """Return the look of a film as the viewport has it now, of an area of this size."""
        from gui.export.timelapse_film import FilmLook

        viewport = self._viewport.interactor
        return FilmLook(
            size=options.size(size),
            fps=options.fps,
            theme=self._viewport.scene.theme if options.background == "theme" else LIGHT,
            pose=CameraPose.of(viewport.camera),
            # Small films of large viewports have relatively larger texts, for legibility.
            lines=max(1, min(viewport.height(), options.height)),
        )

    def ask_numbers(self, name: str) -> None:
        """Ask for a file, with a suggested name, and write the coordinates as NPZ."""
        from gui.export.timelapse_film import timeline_numbers

        timeline = self._session.timeline
        if timeline is None:
            return
        path = ask_where(self._window, "Save coordinates", name, _NPZ, session=self._session)
        if path is None:
            return
        self._controller.save(
            path,
            lambda: write_numbers(timeline_numbers(timeline), path),
            "The coordinates could not be saved",
        )

    def start(
        self,
        make: Callable[[], Frames],
        look: FilmLook,
        out: Path,
        what: str,
        *,
        loops: bool = False,
    ) -> None:
        """Draw and write a film; a notice reports failures.

        Parameters
        ----------
        make
            Returns the frames, which are closed at the end in any case.
        what
            Description for the dialog and the status: "the time-lapse".
        loops
            As of :class:`gui.export.film.Film`.
        """
        from gui.export.film import Film
        from gui.export.film_dialog import FilmProgress

        self.cancel()
        try:
            frames = make()
        except HelixscopeError as error:
            self._session.notice = Notice(str(error), error.advice)
            return
        reel = _Reel(Film(out, look.size, look.fps, loops=loops), len(frames))
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
        """Cancel the film; leaves no file."""
        if self._under_way is not None:
            what = self._under_way.what
            self._controller.jobs.cancel(FILM)
            self._end()
            self._session.status = f"Saving {what} was cancelled"

    def close(self) -> None:
        """Cancel, because the window is closing."""
        if self._under_way is not None:
            self._controller.jobs.cancel(FILM)
            self._end()

    def _draw(self, index: int) -> None:
        """Draw the frame requested by the writer."""
        under_way = self._under_way
        if under_way is None:
            return
        try:
            frame = under_way.frames.draw(index)
        except Exception:
            self.cancel()
            raise  # for the log and the notice of unexpected errors
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
    """State of the film being made."""

    frames: Frames
    reel: _Reel
    progress: FilmProgress
    what: str


class _GivenUp(Exception):
    """The film was cancelled."""


class _Reel:
    """Passes frames from the drawing thread to the writing one."""

    def __init__(self, film: Film, count: int) -> None:
        self._film, self._count = film, count
        self._drawn: queue.SimpleQueue[np.ndarray | None] = queue.SimpleQueue()

    def write(self, ask: Callable[[int], None]) -> None:
        """Write all frames; each is requested while the previous one is written."""
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
        """Pass on the requested frame."""
        self._drawn.put(frame)

    def stop(self) -> None:
        """Cancel the writing, from another thread."""
        self._drawn.put(None)
        self._film.give_up()
