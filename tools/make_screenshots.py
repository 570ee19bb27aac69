"""Make the pictures of README and guide: the real window and its panels, driven as by a user.

    python -m tools.make_screenshots GPT2 [MINILM [SMOLLM2 [FOLDER]]]

GPT2 is a folder with GPT-2 small, MINILM all-MiniLM-L6-v2 and SMOLLM2 SmolLM2-135M; by default,
these two come from the Hub. The bundled model is pictured too. FOLDER, by default resources/, gets
gallery/ and the user guide's pictures in guide/; the first view, in windows of several sizes, goes
into docs/first-view/.

Without a display: ``xvfb-run -a -s "-screen 0 2600x1600x24" python -m tools.make_screenshots …``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.history.here import history_here
from geometry.models.residual_stream import Subject
from geometry.models.sources.catalogue import SAMPLE
from geometry.models.sources.opening import open_model
from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt
from gui.export.timelapse_film import timeline_session, write_timelapse
from gui.state.aligned_curve import CurveAlignment, OfRange
from gui.state.values import sizes_on_screen
from tools.guide_pictures import picture_guide
from tools.picturing import Panel, opened, picture_panel, picture_window, settle
from tools.scheme_pictures import picture_schemes

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
SMOLLM2 = "HuggingFaceTB/SmolLM2-135M"
FILM = (640, 480)
SIZES = ((1280, 800), (1440, 900), (2560, 1440))
"""Of the windows whose first view is pictured."""
LESSON_STEP = "Looking back"
"""The step of the first lesson that is pictured."""

OF_GPT2 = (
    Panel("norms", "norms", (960, 300)),
    Panel("overlaps-gpt2", "overlaps", (960, 480), {"view": "attention"}),
    Panel("directions", "directions", (960, 320), {"directions": (1, 2, 3)}),
    # A whole number of cells to a pixel: the heatmap is drawn as it is, and nothing between.
    Panel("similarity", "similarity", (960, 431)),
    Panel("dimensions", "dimensions", (960, 360)),
    Panel("look-back", "lookback", (960, 280)),
    Panel("shape", "shape", (960, 300)),
    Panel("artefact", "artefact", (960, 360)),
    Panel("kernels", "kernels", (960, 300), {"head": 7, "sort": "near"}),
    Panel("fourier", "fourier", (960, 300), {"directions": (1, 2)}),
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


def main(gpt2: str, minilm: str, smollm2: str, folder: Path) -> None:
    """Take all pictures.

    Parameters
    ----------
    gpt2, minilm, smollm2
        What to open.
    folder
        Where the pictures go.
    """
    qt = prepare_qt()
    gallery = folder / "gallery"
    gallery.mkdir(parents=True, exist_ok=True)
    with opened(qt, gpt2) as application:
        set_the_scene(application)
        for theme in ("light", "dark"):
            application.window.commands.by_name[f"theme_{theme}"].trigger()
            settle(application)
            picture_window(application, gallery / f"window-{theme}.png")
        application.window.commands.by_name["theme_light"].trigger()
        for wanted in OF_GPT2:
            picture_panel(application, wanted, gallery)
    picture_laid(qt, gpt2, gallery)
    picture_compared(qt, (gpt2, minilm, SAMPLE, "sinusoidal"), gallery)
    picture_lesson(qt, gpt2, gallery)
    with opened(qt, minilm) as application:
        for wanted in OF_MINILM:
            picture_panel(application, wanted, gallery)
    picture_sample(qt, gallery)
    picture_first_view(qt, Path(__file__).parents[1] / "docs" / "first-view")
    picture_guide(qt, gpt2, minilm, folder / "guide")
    picture_schemes(qt, gpt2, minilm, smollm2, folder / "guide")


def picture_laid(qt: Any, source: str, gallery: Path) -> None:
    """Picture the later positions laid over the earlier ones, in the components of these."""
    with opened(qt, source) as application:
        window, session = application.window, application.session
        assert session.model is not None
        half, last = session.model.n_positions // 2, session.model.n_positions - 2
        application.controller.request_positions(1, half - 1)
        session.alignment = CurveAlignment(OfRange((half, last)), "basis")
        window.bring("compare")
        settle(application)
        window.viewport.camera.frame()
        settle(application)
        picture_window(application, gallery / "laid-over.png")


def picture_compared(qt: Any, sources: tuple[str, ...], gallery: Path) -> None:
    """Picture models side by side, with their numbers in the table below."""
    with opened(qt, sources[0]) as application:
        window = application.window
        window.bring("compare")
        for source in sources[1:]:
            application.controller.comparing.add(source)
            settle(application)
        picture_window(application, gallery / "compare.png")


def picture_lesson(qt: Any, source: str, gallery: Path) -> None:
    """Picture the window in the middle of the lesson."""
    with opened(qt, source) as application:
        window, session = application.window, application.session
        window.commands.by_name["lesson"].trigger()
        settle(application)
        while session.lesson is not None and session.lesson.step.title != LESSON_STEP:
            window.commands.by_name["lesson_next"].trigger()
        settle(application)
        picture_window(application, gallery / "lesson.png")


def picture_sample(qt: Any, gallery: Path) -> None:
    """Picture the panels of the bundled model, and make a film of its training."""
    with opened(qt, SAMPLE) as application:
        for wanted in OF_SAMPLE:
            picture_panel(application, wanted, gallery)
    model = open_model(SAMPLE)
    session = timeline_session(model, history_here(model))
    write_timelapse(session, gallery / "forming.gif", size=FILM)


def picture_first_view(qt: Any, folder: Path) -> None:
    """Picture what the first start shows, in windows of several sizes and both themes."""
    folder.mkdir(exist_ok=True)
    with opened(qt, SAMPLE) as application:
        for width, height in SIZES:
            application.window.resize(width, height)
            session = application.session
            session.line_width, session.point_size = sizes_on_screen(height)
            for theme in ("light", "dark"):
                application.window.commands.by_name[f"theme_{theme}"].trigger()
                settle(application)
                picture_window(application, folder / f"{width}x{height}-{theme}.png")


def set_the_scene(application: Application) -> None:
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
        settle(application)
    application.window.viewport.interactor.setFocus()
    settle(application)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 5:
        raise SystemExit(__doc__)
    main(
        sys.argv[1],
        sys.argv[2] if len(sys.argv) > 2 else MINILM,
        sys.argv[3] if len(sys.argv) > 3 else SMOLLM2,
        Path(sys.argv[4]) if len(sys.argv) > 4 else Path(__file__).parents[1] / "resources",
    )
