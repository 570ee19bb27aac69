"""Saving a film of the scene as it turns round once."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QWidget

from geometry.errors import HelixscopeError
from gui.camera import CameraPose
from gui.film_dialog import FilmForm, FilmOptions, in_a_row, number
from gui.panels.segmented import Segmented
from gui.save_film import KINDS
from gui.save_result import ask_where
from gui.session import Notice
from gui.theme import LIGHT
from gui.tooltips import wrapped
from gui.turntable import FPS, About, Turn

if TYPE_CHECKING:
    from pathlib import Path

    from gui.main_window import MainWindow

_WHAT = "the turntable"
_UPRIGHT = ("up", "Upright", "About what is up on the screen now")


class TurntableSaver:
    """Asks how and where to, and films what the viewport shows.

    Parameters
    ----------
    window
        Whose viewport is filmed.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._options, self._turn = FilmOptions(fps=FPS), Turn()

    def ask(self) -> None:
        """Let the user choose options and a file, then save a film."""
        window, session = self._window, self._window.session
        if session.model is None or session.curve is None or window.films.busy:
            return
        dialog = TurntableDialog(
            self._options, self._turn, window.viewport.size(), session.curve.components, window
        )
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        options, turn = dialog.options(), dialog.turn()
        dialog.deleteLater()
        if not accepted:
            return
        self._options, self._turn = options, turn
        name = f"{session.model.name.replace('/', '-')} turning"
        kinds = {options.kind: KINDS[options.kind]}
        path = ask_where(window, "Save turntable", name, kinds)
        if path is not None:
            self.save(path, options, turn)

    def save(self, out: Path, options: FilmOptions, turn: Turn) -> None:
        """Save a film; a failure becomes a notice that says why."""
        from gui.film import Film
        from gui.lapse_export import FilmLook
        from gui.turntable import TurnFrames

        window = self._window
        window.films.cancel()
        viewport, theme = window.viewport.interactor, window.viewport.scene.theme
        look = FilmLook(
            size=options.size(viewport.size()),
            fps=options.fps,
            theme=theme if options.background == "theme" else LIGHT,
            pose=CameraPose.of(viewport.camera),
            # In a small film of a large viewport, texts as small as all else could not be read.
            lines=max(1, min(viewport.height(), options.height)),
        )
        try:
            frames = TurnFrames(window.session, look, turn)
        except HelixscopeError as error:
            window.session.notice = Notice(str(error), error.advice)
            return
        film = Film(out, look.size, look.fps, loops=True)
        window.films.filming.start(frames, film, out, _WHAT)


class TurntableDialog(FilmForm):
    """Asks how a turntable is to be filmed.

    Parameters
    ----------
    options, viewport
        As in the base.
    turn
        About what it turns at first, and how fast.
    components
        What the three axes are.
    """

    def __init__(
        self,
        options: FilmOptions,
        turn: Turn,
        viewport: QSize,
        components: tuple[int, ...],
        parent: QWidget,
    ) -> None:
        super().__init__("Save turntable", options, viewport, parent)
        axes = [
            (axis, f"PC {k}", f"About the {axis} axis, component {k}")
            for axis, k in zip("xyz", components, strict=True)
        ]
        self.about = Segmented((_UPRIGHT, *axes), "Turn about")
        self.about.show_value(turn.about)
        self.seconds, self.fps = number("Seconds", 1, 60), number("Frames a second", 5, 50)
        self.seconds.setToolTip(wrapped("How long one turn takes; then it begins again"))
        self.fps.setToolTip(wrapped("The more, the smoother, and the larger the file"))
        self.seconds.setValue(turn.seconds)
        self.fps.setValue(options.fps)
        speed = in_a_row(self.seconds, "seconds a turn,", self.fps, "frames a second")
        self._lay_out((("Turn about", self.about), ("Speed", speed)))
        for field in (self.seconds, self.fps):
            field.valueChanged.connect(self._say)
        self._say()

    def options(self) -> FilmOptions:
        """Return what was chosen of the film."""
        return FilmOptions(
            self.kind.value(),
            int(self.height_.value()),
            self.fps.value(),
            self.background.value(),
        )

    def turn(self) -> Turn:
        """Return what was chosen of the turn."""
        return Turn(cast(About, self.about.value()), self.seconds.value())

    def frames(self) -> int:
        """Return how many frames one turn has."""
        return self.turn().frames(self.fps.value())
