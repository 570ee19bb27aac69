"""What the makers of pictures do with the app: open it, wait, and take its picture."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QCoreApplication,
    QDeadlineTimer,
    QEvent,
    QEventLoop,
    QIODevice,
    QPoint,
    QRect,
    QTimer,
)
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QTableView, QWidget

from gui.commands.application import Application
from gui.export.save_picture import PictureOptions
from gui.window.settings.settings import Settings

WINDOW = (1440, 900)
PATIENCE_MS = 300_000
MAX_BYTES = 180_000
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


@contextmanager
def opened(qt: Any, source: str) -> Iterator[Application]:
    """Give the application with a source opened, in its first state."""
    with tempfile.TemporaryDirectory() as home:
        application = Application(qt, Settings(Path(home) / "settings.ini"), source)
        application.window.resize(*WINDOW)
        settle(application)
        if application.session.model is None:
            notice = application.session.notice
            raise SystemExit(notice.text if notice else f"{source} could not be opened")
        application.window.commands.by_name["theme_light"].trigger()
        yield application
        application.close()


def picture_panel(application: Application, wanted: Panel, folder: Path) -> None:
    """Show a panel as a window of its own, take its picture, and dock it again."""
    dock = application.window.docks[wanted.panel]
    application.window.bring(wanted.panel)
    settle(application)
    dock.setFloating(True)
    panel = application.window.panels[wanted.panel]
    if wanted.options:
        panel.configure(**wanted.options)
    # The title bar of the dock is not in the picture.
    dock.resize(wanted.size[0], wanted.size[1] + dock.height() - panel.height())
    settle(application)
    _fit(dock, panel, wanted.size)
    settle(application)
    if wanted.first_row:
        (table,) = (one for one in panel.findChildren(QTableView) if one.isVisible())
        table.verticalScrollBar().setValue(wanted.first_row)
        settle(application)
    save(panel.grab().toImage(), folder / f"{wanted.name}.png")
    dock.setFloating(False)
    settle(application)


def _fit(dock: QWidget, panel: QWidget, size: tuple[int, int]) -> None:
    """Make the dock as large as leaves the panel its size."""
    dock.resize(dock.width() + size[0] - panel.width(), dock.height() + size[1] - panel.height())


def picture_window(application: Application, path: Path) -> None:
    """Save a picture of the whole window."""
    options = PictureOptions(whole_window=True, scale=1)
    save(application.window.pictures.picture(options), path)


def picture_screen(path: Path, *parts: QWidget) -> None:
    """Save what is on the screen where these widgets are, with whatever is in front of them."""
    rects = [QRect(part.mapToGlobal(QPoint(0, 0)), part.size()) for part in parts]
    whole = rects[0]
    for rect in rects[1:]:
        whole = whole.united(rect)
    screen = QGuiApplication.primaryScreen()
    # The whole screen has its own window's number, 0.
    grabbed = screen.grabWindow(0, whole.x(), whole.y(), whole.width(), whole.height())
    save(grabbed.toImage(), path)


def save(image: QImage, path: Path) -> None:
    """Write a PNG of a size that a README can bear."""
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    picture = Image.open(io.BytesIO(data.data())).convert("RGB")
    picture.save(path, optimize=True)
    for colors in (256, 128, 64):
        if path.stat().st_size <= MAX_BYTES:
            return
        _with_few(picture, colors).save(path, optimize=True)


def _with_few(picture: Image.Image, colors: int) -> Image.Image:
    """Give each pixel the nearest of a few colours, without dithering: that is noise to a PNG.

    A quarter of the colours are the most frequent ones: backgrounds stay what they are. A quarter
    lie farthest apart, for a colour bar, which takes little room. The others stand for equally many
    pixels each.
    """
    pixels = np.asarray(picture).reshape(-1, 3)
    found, which, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    frequent = found[np.argsort(-counts)[: colors // 4]]
    apart = picture.quantize(colors // 4, Image.Quantize.MAXCOVERAGE).getpalette()
    shares = picture.quantize(colors // 2, kmeans=1).getpalette()
    others = np.reshape([*apart, *shares], (-1, 3))
    palette = np.vstack([frequent, others]).astype(np.int32)
    # Squared distances, but for the length of each pixel, which is the same for all colours.
    apartness = (palette**2).sum(axis=1) - 2 * found.astype(np.int32) @ palette.T
    nearest = apartness.argmin(axis=1).astype(np.uint8)[which.ravel()]
    few = Image.fromarray(nearest.reshape(picture.height, picture.width), "P")
    few.putpalette(palette.astype(np.uint8).tobytes())
    return few


def settle(application: Application) -> None:
    """Run until nothing is under way, and what is only deferred has been done too."""
    deadline = QDeadlineTimer(PATIENCE_MS)
    quiet = 0
    while quiet < 20:
        if deadline.hasExpired():
            raise SystemExit("the window did not come to rest")
        # Not QTest.qWait, which holds the interpreter's lock while it waits: jobs would starve.
        loop = QEventLoop()
        QTimer.singleShot(20, loop.quit)
        loop.exec()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        quiet = quiet + 1 if application.idle and not application.session.opening else 0
