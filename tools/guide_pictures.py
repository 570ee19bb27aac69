"""The pictures of the user guide, each of something that a user can do."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.hub.network import default_network
from geometry.models.sources.catalogue import SAMPLE, SAMPLE_INSIDE
from geometry.models.sources.opening import open_model
from geometry.survey.parts import SurveyFile
from geometry.survey.populations import expand
from geometry.survey.rows import Access, RowSettings
from geometry.survey.run import run_survey
from gui.commands.application import Application
from gui.export.turntable import Turn, export_turntable
from gui.state.aligned_curve import CurveAlignment, OfOther
from gui.viewport.viewport import Viewport
from gui.window.palette import Palette
from tools.picturing import (
    Panel,
    opened,
    picture_panel,
    picture_screen,
    picture_window,
    save,
    settle,
)

SAMPLE_FOLDER = str(Path(__file__).resolve().parents[1] / "resources" / "sample")
HELIX = "synthetic:helix,n=1024,turns=2,climb=0.17"
"""A flawless one, as long and as wide as that of GPT-2."""
BESIDE = ("sinusoidal", HELIX, "synthetic:circle,n=512,turns=1")
"""Besides the three models that were trained."""
SMOOTH = (1, 1022)
"""GPT-2's positions without the two that stand apart."""
BOOKMARKS = (
    ("The whole curve", "view_article", SMOOTH, "table", "Where everything begins."),
    ("Along the axis", "view_xy", SMOOTH, "table", "From here the helix is a circle."),
    ("The first hundred", "view_article", (1, 99), "range", "The beginning is not yet a helix."),
)
"""Name, command for the camera, positions, what the colours span, note."""
TURN = Turn(seconds=6.0)
"""Of the turntable; with these it stays small: 9 frames a second, 360 × 270."""
TURN_FPS, TURN_SIZE = 9.0, (360, 270)
LEFT = Qt.MouseButton.LeftButton
NO_KEY = Qt.KeyboardModifier.NoModifier


def picture_guide(qt: Any, gpt2: str, minilm: str, folder: Path) -> None:
    """Take the pictures of the guide.

    Parameters
    ----------
    qt
        The Qt application.
    gpt2, minilm
        What to open.
    folder
        Where the pictures go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with opened(qt, gpt2) as application:
        application.controller.request_positions(*SMOOTH)
        settle(application)
        picture_palette(application, folder / "palette.png")
        picture_box(application, folder / "box.png")
        picture_measure(application, folder / "measure.png")
        picture_bookmarks(application, folder)
    with opened(qt, gpt2) as application:
        picture_grid(application, (minilm, SAMPLE, *BESIDE), folder)
        picture_laid_over(application, folder / "laid-over.png")
    picture_layers(qt, folder / "layers.png")
    picture_effects(qt, folder / "effects.png")
    picture_survey(qt, folder)
    film = folder / "turntable.gif"
    export_turntable(open_model(gpt2), film, SMOOTH, turn=TURN, size=TURN_SIZE, fps=TURN_FPS)


def picture_layers(qt: Any, path: Path) -> None:
    """Picture the layers of the bundled model."""
    with opened(qt, SAMPLE_INSIDE) as application:
        application.window.bring("training")
        settle(application)
        picture_window(application, path)


def picture_effects(qt: Any, path: Path) -> None:
    """Picture the fitted helix in place of the bundled model's positions, and what that costs."""
    with opened(qt, SAMPLE) as application:
        application.window.bring("effects")
        settle(application)
        panel = application.window.panels["effects"]
        QTest.mouseClick(panel.content.measure, LEFT)
        settle(application)
        panel.configure(change="fitted helix")
        settle(application)
        picture_window(application, path)


def picture_survey(qt: Any, folder: Path) -> None:
    """Picture the survey of the bundled model's training: a scatter, and its curves."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "sample.parquet"
        entries = [one for one in expand([SAMPLE_FOLDER], default_network()) if one.history]
        with SurveyFile(path, RowSettings(kept=3)) as file:
            run_survey(entries, file, Access(offline=True), workers=1)
            file.merge()
        with opened(qt, SAMPLE) as application:
            application.controller.open(str(path))
            settle(application)
            shown = application.window.surveys.shown
            assert shown is not None
            shown.resize(1100, 760)
            # Not where the files are on this machine.
            shown.table.show_columns(set(shown.table.shown_columns) - {"source"})
            settle(application)
            save(shown.grab().toImage(), folder / "survey-scatter.png")
            QTest.mouseClick(shown.page.buttons["curves"], LEFT)
            settle(application)
            shown.resize(1100, 950)
            late = np.flatnonzero(shown.survey.columns["step"].values > 250)
            shown.table.select_rows(late)
            settle(application)
            save(shown.curves.grab().toImage(), folder / "survey-curves.png")


def picture_palette(application: Application, path: Path) -> None:
    """Picture the window while a command is looked for."""
    _do(application, "palette")
    (palette,) = application.window.findChildren(Palette)
    QTest.keyClicks(palette.field, "view")
    settle(application)
    picture_screen(path, application.window)
    palette.close()
    settle(application)


def picture_box(application: Application, path: Path) -> None:
    """Picture the viewport while a box is drawn around points."""
    viewport = application.window.viewport
    size = viewport.size()
    from_, to = (QPoint(int(size.width() * x), int(size.height() * y)) for x, y in _BOX)
    _do(application, "select_box")
    QTest.mousePress(viewport.interactor, LEFT, NO_KEY, from_)
    _drag(viewport, from_, to)
    settle(application)
    picture_screen(path, viewport)
    QTest.mouseRelease(viewport.interactor, LEFT, NO_KEY, to)
    settle(application)


_BOX = ((0.52, 0.16), (0.80, 0.42))
"""Two corners, as shares of the viewport's width and height."""


def picture_measure(application: Application, path: Path) -> None:
    """Picture the line between two positions, and what the inspector says of them."""
    window = application.window
    field = window.panels["inspector"].go_to.field
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "250, 700")
    QTest.keyClick(field, Qt.Key.Key_Return)
    _do(application, "measure")
    window.viewport.interactor.setFocus()
    settle(application)
    picture_screen(path, window.viewport, window.docks["inspector"])
    _do(application, "measure")
    _do(application, "clear_selection")


def picture_bookmarks(application: Application, folder: Path) -> None:
    """Keep a few views, and picture the list of them."""
    window = application.window
    window.activateWindow()
    settle(application)
    for name, camera, positions, span, note in BOOKMARKS:
        application.controller.request_positions(*positions)
        application.session.color_span = span
        settle(application)
        _do(application, camera)
        _do(application, "bookmark")
        row = window.panels["bookmarks"].rows[window.panels["bookmarks"].current]
        row.name.setFocus()
        row.name.selectAll()
        QTest.keyClicks(row.name, name)
        row.note.setFocus()
        QTest.keyClicks(row.note, note)
        window.viewport.interactor.setFocus()
        settle(application)
    picture_panel(application, Panel("bookmarks", "bookmarks", (480, 440)), folder)
    window.docks["bookmarks"].close()
    application.session.color_span = "table"


def picture_grid(application: Application, sources: tuple[str, ...], folder: Path) -> None:
    """Picture models side by side, their numbers, and what one plot has of all."""
    window = application.window
    application.controller.request_positions(*SMOOTH)
    for source in sources:
        application.controller.comparing.add(source)
        settle(application)
    picture_window(application, folder / "grid.png")
    picture_panel(application, Panel("table", "compare", (1200, 300)), folder)
    picture_panel(application, Panel("overlaid", "similarity", (960, 431)), folder)
    window.activateWindow()


def picture_laid_over(application: Application, path: Path) -> None:
    """Picture the flawless helix laid over the open model's."""
    window, session = application.window, application.session
    for one in session.others:
        if one.source != HELIX:
            application.controller.comparing.remove(one.key)
    session.alignment = CurveAlignment(OfOther(session.others[0].key), "scaled")
    window.bring("compare")
    _do(application, "compare_alone")
    window.viewport.camera.frame()
    settle(application)
    picture_window(application, path)


def _do(application: Application, command: str) -> None:
    application.window.commands.by_name[command].trigger()
    settle(application)


def _drag(viewport: Viewport, start: QPoint, end: QPoint) -> None:
    """Move the mouse with the left button down, in small steps, as a hand does."""
    path = [start + (end - start) * (step / 10) for step in range(11)]
    for _, at in itertools.pairwise(path):
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(at),
            QPointF(viewport.interactor.mapToGlobal(at)),
            Qt.MouseButton.NoButton,
            LEFT,
            NO_KEY,
        )
        QApplication.sendEvent(viewport.interactor, event)
