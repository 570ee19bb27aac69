"""Saving a film of one full turn of the scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog

from gui.export.save_film import KINDS
from gui.export.save_result import ask_where

# Drawing and writing are not needed for the first frame, so they are imported later.
if TYPE_CHECKING:
    from pathlib import Path

    from gui.export.film_dialog import FilmOptions
    from gui.export.turntable import Turn
    from gui.window.host import HostWindow

_WHAT = "the turntable"


class TurntableSaver:
    """Asks for options and a file, and films the viewport's scene."""

    def __init__(self, window: HostWindow) -> None:
        self._window = window
        self._chosen: tuple[FilmOptions, Turn] | None = None

    def ask(self) -> None:
        """Ask for options and a file, and save a film."""
        from gui.export.film_dialog import FilmOptions, TurntableDialog
        from gui.export.turntable import FPS, Turn

        window, session = self._window, self._window.session
        if session.model is None or session.curve is None or window.films.busy:
            return
        options, turn = self._chosen or (FilmOptions(fps=FPS), Turn())
        grid = window.grid.pictured.size() if len(window.grid.viewports) > 1 else None
        size, components = window.viewport.size(), session.curve.components
        dialog = TurntableDialog(options, turn, size, grid, components, window)
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        options, turn, all_views = dialog.options(), dialog.turn(), dialog.all_views
        dialog.deleteLater()
        if not accepted:
            return
        self._chosen = options, turn
        name = f"{session.model.name.replace('/', '-')} turning"
        kinds = {options.kind: KINDS[options.kind]}
        path = ask_where(window, "Save turntable", name, kinds, session=session)
        if path is not None:
            self.save(path, options, turn, all_views=all_views)

    def save(self, out: Path, options: FilmOptions, turn: Turn, *, all_views: bool = False) -> None:
        """Save a film, of all views or the open model's; a notice reports failures."""
        from gui.export.grid_picture import GridFrames
        from gui.export.turntable import TurnFrames

        window = self._window
        area = window.grid.pictured if all_views else window.viewport.interactor
        look = window.films.look(options, area.size())

        def frames() -> GridFrames | TurnFrames:
            if all_views:
                return GridFrames(window.grid, look, turn)
            return TurnFrames(window.session, look, turn)

        window.films.start(frames, look, out, _WHAT, loops=True)
