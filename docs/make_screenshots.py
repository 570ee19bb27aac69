"""Make the README's pictures: the real window, driven as a user would drive it.

    python docs/make_screenshots.py SOURCE [FOLDER]

Without a display: ``xvfb-run -a -s "-screen 0 1600x1000x24" python docs/make_screenshots.py …``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QDeadlineTimer, Qt
from PySide6.QtTest import QTest

# Run as a file, Python looks for modules beside it: the project is one folder up.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gui.app import Application, prepare_qt
from gui.save_picture import PictureOptions
from gui.settings import Settings

SIZE = (1440, 900)
PATIENCE_MS = 60_000


def main(source: str, folder: Path) -> None:
    """Open a source, set the scene, and save the window in both themes.

    Parameters
    ----------
    source
        What to open; the pictures in the README show GPT-2 small.
    folder
        Where ``window-light.png`` and ``window-dark.png`` go.
    """
    qt = prepare_qt()
    with tempfile.TemporaryDirectory() as home:
        application = Application(qt, Settings(Path(home) / "settings.ini"), source)
        application.window.resize(*SIZE)
        _settle(application)
        if application.session.model is None:
            notice = application.session.notice
            raise SystemExit(notice.text if notice else f"{source} could not be opened")
        _set_the_scene(application)
        for theme in ("light", "dark"):
            application.window.commands.by_name[f"theme_{theme}"].trigger()
            _settle(application)
            picture = application.window.pictures.picture(
                PictureOptions(whole_window=True, scale=1)
            )
            out = folder / f"window-{theme}.png"
            if not picture.save(str(out)):
                raise SystemExit(f"{out} could not be written")
        application.close()


def _set_the_scene(application: Application) -> None:
    """Choose a range, label positions with a prompt, go to a position."""
    panels = application.window.panels
    assert application.session.model is not None
    last = application.session.model.n_positions - 2
    application.window.activateWindow()
    for field, text in (
        (panels["positions"].last, str(last)),
        (panels["prompt"].field, "Hello my name is Adam"),
        (panels["inspector"].go_to.field, "300"),
    ):
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)
        # What is left marked after Enter would be marked in the picture too.
        QTest.keyClick(field, Qt.Key.Key_End)
        _settle(application)
    application.window.viewport.interactor.setFocus()
    _settle(application)


def _settle(application: Application) -> None:
    """Run until nothing is under way, and what is only deferred has been done too."""
    deadline = QDeadlineTimer(PATIENCE_MS)
    quiet = 0
    while quiet < 20:
        if deadline.hasExpired():
            raise SystemExit("the window did not come to rest")
        QTest.qWait(20)
        quiet = quiet + 1 if application.idle and not application.session.opening else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).parent)
