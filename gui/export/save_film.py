"""Saving the timeline in the window as a film, or its coordinates as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QWidget

from geometry.checkpoints.number_files import write_numbers
from gui.export.filming import Filming
from gui.export.save_result import ask_where
from gui.state.camera import CameraPose
from gui.state.session import Session
from gui.style.theme import LIGHT
from gui.viewport.viewport import Viewport

# Drawing and writing are not needed for the first frame, so they are imported later.
if TYPE_CHECKING:
    from gui.export.film_dialog import FilmOptions
    from gui.export.timelapse_film import FilmLook
    from gui.services.controller import Controller

KINDS = {"mp4": "MP4 film (*.mp4)", "gif": "GIF film (*.gif)"}
_NPZ = {"npz": "NumPy arrays (*.npz)"}
_WHAT = "the time-lapse"


class FilmSaver(Filming):
    """Saves a viewport's timeline as film or numbers."""

    def __init__(
        self, window: QWidget, viewport: Viewport, session: Session, controller: Controller
    ) -> None:
        super().__init__(window, session, controller)
        self._viewport = viewport
        self._options: FilmOptions | None = None

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
