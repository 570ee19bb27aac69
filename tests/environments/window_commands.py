"""The window as the command opens it, whose menus make pictures, a film and exports one by one.

    python -m tests.environments.window_commands FOLDER

The files go into the folder. Notices and uncaught errors are printed, and nothing else.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer

from gui.commands import application, run_window
from gui.export.film_dialog import FilmOptions
from gui.export.save_picture import PictureOptions
from gui.export.turntable import Turn
from gui.window import exports


class Working(application.Application):
    """Makes one thing after another, as soon as nothing is under way, and closes the window."""

    folder: Path

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._steps = self._work()
        self._turns = QTimer(self, interval=50)
        self._turns.timeout.connect(self._next)
        self.ready.connect(self._turns.start)

    def _next(self) -> None:
        if self.idle and not self.window.films.busy:
            if (notice := self.session.notice) is not None:
                sys.stdout.write(f"{notice.text} {notice.details}\n")
                self.session.notice = None
            if (step := next(self._steps, None)) is not None:
                step()
                return
            self._turns.stop()
            self.window.close()

    def _work(self) -> Iterator[Callable[[], object]]:
        window, commands = self.window, self.window.commands.by_name
        save = window.pictures.save
        yield commands["copy_picture"].trigger
        for kind in ("png", "svg", "pdf"):
            yield partial(save, self.folder / f"view.{kind}", PictureOptions(kind=kind))
        yield partial(save, self.folder / "window.png", PictureOptions(whole_window=True))
        yield commands["bookmark"].trigger
        (bookmark,) = self.session.bookmarks
        yield partial((self.folder / "bookmark.png").write_bytes, bookmark.picture)
        film, turn = FilmOptions(kind="gif", height=120), Turn(seconds=1.0)
        yield partial(window.turntables.save, self.folder / "turntable.gif", film, turn)
        for name, command in (
            ("scene.html", "export_scene"), ("scene.glb", "export_scene"),
            ("numbers.npz", "export_data"),
        ):  # fmt: skip
            yield partial(self._export, self.folder / name, command)

    def _export(self, path: Path, command: str) -> None:
        exports.ask_where = lambda *_, **__: path
        self.window.commands.by_name[command].trigger()


if __name__ == "__main__":
    Working.folder = Path(sys.argv[1])
    application.Application = Working
    sys.exit(run_window.run_window("sample"))
