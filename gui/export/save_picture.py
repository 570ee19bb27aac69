"""Saving what is on the screen as a PNG, to a file or the clipboard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QSize, QStandardPaths
from PySide6.QtGui import QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QWidget,
)

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_bytes, writing
from gui.export.grid_picture import picture_of_grid, picture_of_viewport
from gui.export.pictures import PictureError
from gui.export.save_result import ask_where, lay_out_options
from gui.services.controller import Controller
from gui.state.values import Notice
from gui.style.theme import LIGHT, Theme, format_count
from gui.viewport.grid import ViewGrid
from gui.widgets.label import label
from gui.widgets.segmented import Segmented

_KINDS = {"png": "PNG picture (*.png)"}
_PICTURES = QStandardPaths.StandardLocation.PicturesLocation
_WHAT = (
    ("viewport", "Viewport", "The curve, its colour bar, arrows and caption"),
    ("window", "Whole window", "The window with its panels, as on the screen"),
)
_SCALES = tuple(
    (str(n), f"{n}×", f"{n} pixel{'' if n == 1 else 's'} per screen pixel in each direction")
    for n in (1, 2, 3, 4)
)
_BACKGROUNDS = (
    ("theme", "As on screen", "The colours of the theme"),
    ("white", "White", "The colours of the light theme, for papers"),
    ("transparent", "Transparent", "The colours of the light theme, without background"),
)


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Options of a picture."""

    whole_window: bool = False  # Whether to show the whole window instead of the viewport alone
    scale: int = 2  # Pixels per pixel on the screen, 1 to 4
    # ``theme``; ``white``, with the light theme's colours; or ``transparent``, likewise. A whole
    # window is always as on the screen.
    background: str = "theme"


class PictureSaver:
    """Takes pictures of a window and its viewport."""

    def __init__(self, window: QWidget, grid: ViewGrid, controller: Controller) -> None:
        self._window, self._grid = window, grid
        self._controller, self._session = controller, controller.session
        self._options = PictureOptions()

    def ask(self) -> None:
        """Ask for options and a file, and save a picture."""
        dialog = PictureDialog(self._options, self._grid.pictured.size(), self._window)
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        options, to_clipboard = dialog.options(), dialog.to_clipboard
        dialog.deleteLater()
        if not accepted:
            return
        self._options = options
        if to_clipboard:
            self.copy()
            return
        name = self._session.model.name if self._session.model else "helixscope"
        # A "/" in a revision, as in gpt2@refs/pr/1, must not become a folder.
        file = ask_where(self._window, "Save picture", name.replace("/", "-"), _KINDS, _PICTURES)
        if file is not None:
            self.save(file, self._options)

    def save(self, out: Path, options: PictureOptions) -> None:
        """Draw a picture, and write it on a thread; a notice reports failures.

        The file's suffix is replaced by .png.
        """
        image, out = self._draw(options), _as_png(out)
        if image is not None:  # compressing a large one takes up to a minute
            write = partial(write_picture, image, out)
            self._controller.save(out, write, "The picture could not be saved")

    def save_window(self, out: Path) -> bool:
        """Save a picture of the whole window as on the screen, synchronously."""
        image, out = self._draw(PictureOptions(whole_window=True, scale=1)), _as_png(out)
        if image is None:
            return False
        try:
            write_picture(image, out)
        except PictureError as error:
            self._session.notice = Notice(str(error), error.advice)
            return False
        self._session.status = f"Saved {out}"
        return True

    def copy(self) -> None:
        """Copy a picture to the clipboard, with the last options."""
        image = self._draw(self._options)
        if image is not None:
            QGuiApplication.clipboard().setImage(image)
            self._session.status = "Copied the picture"

    def _draw(self, options: PictureOptions) -> QImage | None:
        """Draw a picture; on failure, show a notice."""
        try:
            return self.picture(options)
        except HelixscopeError as error:
            self._session.notice = Notice(str(error), error.advice)
            return None

    def picture(self, options: PictureOptions) -> QImage:
        """Draw a picture.

        Raises PictureError: if it would be too large, or there is nothing to show.
        """
        if options.whole_window:
            return self._picture_of_window(options.scale)
        theme = self._theme if options.background == "theme" else LIGHT
        transparent, scale = options.background == "transparent", options.scale
        if len(self._grid.viewports) > 1:
            return picture_of_grid(self._grid, theme, scale, transparent=transparent)
        (viewport,) = self._grid.viewports
        return picture_of_viewport(viewport, theme, scale, transparent=transparent, compact=False)

    @property
    def _theme(self) -> Theme:
        return self._grid.main.scene.theme

    def _picture_of_window(self, scale: int) -> QImage:
        """Draw the widgets at the scale, and the viewports again in their places."""
        size = self._window.size()
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        if image.isNull():
            raise PictureError("The picture would be too large", "Choose a smaller size.")
        image.setDevicePixelRatio(scale)
        self._window.render(image)
        painter = QPainter(image)
        viewports = self._grid.viewports
        for viewport in viewports:
            if viewport.session.model is not None:
                corner = viewport.mapTo(self._window, QPoint(0, 0))
                drawn = picture_of_viewport(
                    viewport, self._theme, scale, transparent=False, compact=len(viewports) > 1
                )
                painter.drawImage(QRect(corner, viewport.size()), drawn)
        painter.end()
        return image


class PictureDialog(QDialog):
    """Asks for content, size and background of a picture, and its destination."""

    def __init__(self, options: PictureOptions, viewport: QSize, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save picture")
        self._viewport, self._window = viewport, parent.size()
        self.to_clipboard = False
        self.what = Segmented(_WHAT, "Picture")
        self.scale = Segmented(_SCALES, "Size")
        self.background = Segmented(_BACKGROUNDS, "Background")
        self.what.show_value("window" if options.whole_window else "viewport")
        self.scale.show_value(str(options.scale))
        self.background.show_value(options.background)
        self._pixels = label(role="small")
        choices = (self.what, self.scale, self.background)
        for choice in choices:
            choice.chosen.connect(self._on_changed)
        rows = [(choice.accessibleName(), choice) for choice in choices]
        buttons = lay_out_options(self, (*rows, ("", self._pixels)))
        copy = buttons.addButton("Copy to clipboard", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._on_copy)
        self._on_changed()

    def options(self) -> PictureOptions:
        """Return the chosen options."""
        return PictureOptions(
            whole_window=self.what.value() == "window",
            scale=int(self.scale.value()),
            background=self.background.value(),
        )

    def _on_copy(self) -> None:
        self.to_clipboard = True
        self.accept()

    def _on_changed(self) -> None:
        options = self.options()
        size = (self._window if options.whole_window else self._viewport) * options.scale
        self._pixels.setText(f"{format_count(size.width())} × {format_count(size.height())} pixels")
        self.background.setEnabled(not options.whole_window)


def _as_png(out: Path) -> Path:
    return out if out.suffix.lower() == ".png" else out.with_name(f"{out.name}.png")


def write_picture(image: QImage, out: Path) -> None:
    """Write a picture as PNG atomically, on any thread.

    Raises PictureError: it cannot be written.
    """
    # Unlike QImage.save, writing the file with Python gives the reason of failures.
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(b"png"))
    if not writer.write(image):
        raise PictureError(
            f"{out} cannot be written: {writer.errorString()}.",
            "Choose a smaller size.",
        )
    with writing(out, PictureError):
        write_bytes(bytes(buffer.data().data()), out)
