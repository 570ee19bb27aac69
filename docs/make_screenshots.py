"""Make the README's pictures: the real window and its panels, driven as a user would drive them.

    python docs/make_screenshots.py GPT2 [MINILM [FOLDER]]

GPT2 is a folder with GPT-2 small; MINILM all-MiniLM-L6-v2, by default that of the list of models.
The bundled model is pictured too. FOLDER, by default that of this file, gets window-light.png,
window-dark.png and gallery/.

Without a display: ``xvfb-run -a -s "-screen 0 1600x1000x24" python docs/make_screenshots.py …``.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from PySide6.QtCore import QBuffer, QByteArray, QDeadlineTimer, QIODevice, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTableView, QWidget

# Run as a file, Python looks for modules beside it: the project is one folder up.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geometry.catalogue import SAMPLE
from geometry.history.here import history_here
from geometry.residual_stream import Subject
from geometry.sources import open_source
from gui.app import Application, prepare_qt
from gui.laid import Laying, OfRange
from gui.lapse_export import make_lapse, write_timelapse
from gui.save_picture import PictureOptions
from gui.settings import Settings

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
WINDOW = (1440, 900)
FILM = (640, 480)
PATIENCE_MS = 300_000
LESSON_STEP = "Looking back"
"""The step of the first lesson that is pictured."""
MOST_BYTES = 180_000
"""A larger PNG gets a palette."""


@dataclass(frozen=True)
class Panel:
    """A picture of one panel.

    Attributes
    ----------
    name
        Of the file, without its ending.
    panel
        The panel, by its dock's name.
    size
        Of the panel as a window of its own, in pixels.
    options
        What it shows, as another panel would have it shown.
    first_row
        Of its table: how many rows are scrolled out of sight.
    """

    name: str
    panel: str
    size: tuple[int, int] = (1100, 400)
    options: Mapping[str, Any] = field(default_factory=dict)
    first_row: int = 0


OF_GPT2 = (
    Panel("norms", "norms", (960, 300)),
    Panel("overlaps-gpt2", "overlaps", (960, 480), {"view": "attention"}),
    Panel("directions", "directions", (960, 320), {"directions": (1, 2, 3)}),
    # A whole number of cells to a pixel: the heatmap is drawn as it is, and nothing between.
    Panel("similarity", "similarity", (960, 431)),
    Panel("dimensions", "dimensions", (960, 360)),
    Panel("look-back", "lookback", (960, 280)),
    Panel("shape", "shape", (960, 240)),
    Panel("kernels", "kernels", (960, 300), {"head": 7, "sort": "near"}),
    Panel("line-or-helix", "experiment", (1100, 290)),
)
OF_MINILM = (
    Panel("overlaps-minilm", "overlaps", (960, 480), {"view": "attention"}),
    Panel("overlaps-pair", "overlaps", (960, 440), {"rows": Subject("P"), "columns": Subject("E")}),
    Panel("spectra", "spectra", (960, 360)),
    Panel("capture", "capture", (960, 320), {"k": 30}),
    # The first tokens are of scripts that few machines have letters for.
    Panel("layernorm", "layernorm", (960, 260), first_row=5),
    Panel(
        "interference", "layernorm", (960, 360), {"page": "interference", "example": "two tokens"}
    ),
    Panel("claims", "claims", (960, 520)),
)

OF_SAMPLE = (Panel("training", "training", (960, 300)),)


def main(gpt2: str, minilm: str, folder: Path) -> None:
    """Take all pictures.

    Parameters
    ----------
    gpt2, minilm
        What to open.
    folder
        Where the pictures go.
    """
    qt = prepare_qt()
    gallery = folder / "gallery"
    gallery.mkdir(parents=True, exist_ok=True)
    with _opened(qt, gpt2) as application:
        _set_the_scene(application)
        for theme in ("light", "dark"):
            application.window.commands.by_name[f"theme_{theme}"].trigger()
            _settle(application)
            options = PictureOptions(whole_window=True, scale=1)
            _save(application.window.pictures.picture(options), folder / f"window-{theme}.png")
        application.window.commands.by_name["theme_light"].trigger()
        for wanted in OF_GPT2:
            _picture_panel(application, wanted, gallery)
    picture_laid(qt, gpt2, gallery)
    picture_lesson(qt, gpt2, gallery)
    with _opened(qt, minilm) as application:
        for wanted in OF_MINILM:
            _picture_panel(application, wanted, gallery)
    picture_sample(qt, gallery)


def picture_laid(qt: Any, source: str, gallery: Path) -> None:
    """Picture the later positions laid over the earlier ones, in the components of these."""
    with _opened(qt, source) as application:
        window, session = application.window, application.session
        assert session.model is not None
        half, last = session.model.n_positions // 2, session.model.n_positions - 2
        application.controller.request_positions(1, half - 1)
        session.laying = Laying(OfRange((half, last)), "basis")
        window.bring("compare")
        _settle(application)
        window.viewport.frame()
        _settle(application)
        options = PictureOptions(whole_window=True, scale=1)
        _save(window.pictures.picture(options), gallery / "laid-over.png")


def picture_lesson(qt: Any, source: str, gallery: Path) -> None:
    """Picture the window in the middle of the lesson."""
    with _opened(qt, source) as application:
        window, session = application.window, application.session
        window.commands.by_name["lesson"].trigger()
        _settle(application)
        while session.lesson is not None and session.lesson.step.title != LESSON_STEP:
            window.commands.by_name["lesson_next"].trigger()
        _settle(application)
        options = PictureOptions(whole_window=True, scale=1)
        _save(window.pictures.picture(options), gallery / "lesson.png")


def picture_sample(qt: Any, gallery: Path) -> None:
    """Picture the panels of the bundled model, and make a film of its training."""
    with _opened(qt, SAMPLE) as application:
        for wanted in OF_SAMPLE:
            _picture_panel(application, wanted, gallery)
    model = open_source(SAMPLE)
    session = make_lapse(model, history_here(model))
    write_timelapse(session, gallery / "forming.gif", size=FILM)


@contextmanager
def _opened(qt: Any, source: str) -> Iterator[Application]:
    """Give the application with a source opened, in its first state."""
    with tempfile.TemporaryDirectory() as home:
        application = Application(qt, Settings(Path(home) / "settings.ini"), source)
        application.window.resize(*WINDOW)
        _settle(application)
        if application.session.model is None:
            notice = application.session.notice
            raise SystemExit(notice.text if notice else f"{source} could not be opened")
        application.window.commands.by_name["theme_light"].trigger()
        yield application
        application.close()


def _set_the_scene(application: Application) -> None:
    """Choose a range, label positions with a prompt, go to a position."""
    panels = application.window.panels
    assert application.session.model is not None
    last = application.session.model.n_positions - 2
    application.window.activateWindow()
    for entry, text in (
        (panels["positions"].last, str(last)),
        (panels["prompt"].field, "Hello my name is Adam"),
        (panels["inspector"].go_to.field, "300"),
    ):
        entry.setFocus()
        entry.selectAll()
        QTest.keyClicks(entry, text)
        QTest.keyClick(entry, Qt.Key.Key_Return)
        # What is left marked after Enter would be marked in the picture too.
        QTest.keyClick(entry, Qt.Key.Key_End)
        _settle(application)
    application.window.viewport.interactor.setFocus()
    _settle(application)


def _picture_panel(application: Application, wanted: Panel, folder: Path) -> None:
    """Show a panel as a window of its own, take its picture, and dock it again."""
    dock = application.window.docks[wanted.panel]
    dock.setVisible(True)
    dock.raise_()
    _settle(application)
    dock.setFloating(True)
    panel = application.window.panels[wanted.panel]
    if wanted.options:
        panel.configure(**wanted.options)
    # The title bar of the dock is not in the picture.
    dock.resize(wanted.size[0], wanted.size[1] + dock.height() - panel.height())
    _settle(application)
    _fit(dock, panel, wanted.size)
    _settle(application)
    if wanted.first_row:
        (table,) = (one for one in panel.findChildren(QTableView) if one.isVisible())
        table.verticalScrollBar().setValue(wanted.first_row)
        _settle(application)
    _save(panel.grab().toImage(), folder / f"{wanted.name}.png")
    dock.setFloating(False)
    _settle(application)


def _fit(dock: QWidget, panel: QWidget, size: tuple[int, int]) -> None:
    """Make the dock as large as leaves the panel its size."""
    dock.resize(dock.width() + size[0] - panel.width(), dock.height() + size[1] - panel.height())


def _save(image: QImage, path: Path) -> None:
    """Write a PNG of a size that a README can bear."""
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    picture = Image.open(io.BytesIO(data.data())).convert("RGB")
    picture.save(path, optimize=True)
    for colors in (256, 128, 64):
        if path.stat().st_size <= MOST_BYTES:
            return
        # Without dithering, which is noise to a PNG.
        picture.quantize(colors, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)


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
    if not 2 <= len(sys.argv) <= 4:
        raise SystemExit(__doc__)
    main(
        sys.argv[1],
        sys.argv[2] if len(sys.argv) > 2 else MINILM,
        Path(sys.argv[3]) if len(sys.argv) > 3 else Path(__file__).parent,
    )
