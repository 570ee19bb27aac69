"""Saving what is on the screen as a picture, to a file or the clipboard."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QSize, QStandardPaths, QTimer
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QLayout,
    QSpinBox,
    QWidget,
)

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_bytes, writing
from gui.export.canvas import MAX_DPI, MIN_DPI, MM_PER_INCH, Canvas
from gui.export.grid_picture import (
    drawing_views,
    picture_of_grid,
    picture_of_viewport,
    vectors_of_grid,
    vectors_of_viewport,
)
from gui.export.pictures import MAX_PIXELS, Drawing, PictureError, Shot, finished, write_vectors
from gui.export.save_result import BACKGROUNDS, ask_where, copy_picture, lay_out_options
from gui.services.controller import Controller
from gui.services.jobs.jobs import T
from gui.state.values import Notice
from gui.style.theme import GRID, LIGHT, Theme, format_count
from gui.viewport.grid import ViewGrid
from gui.widgets.boxes import in_a_row, vbox
from gui.widgets.label import label
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {"png": "PNG picture (*.png)", "svg": "SVG drawing (*.svg)", "pdf": "PDF (*.pdf)"}
_PICTURES = QStandardPaths.StandardLocation.PicturesLocation
_WHAT = (
    ("viewport", "3D view", "The curve, its colour bar, arrows and caption"),
    ("window", "Whole window", "The window with its panels, as on the screen"),
)
_FORMATS = (
    ("png", "PNG", "Pixels, at screen resolution or higher"),
    ("svg", "SVG", "Vectors, for the web and for drawing programs; text remains text"),
    ("pdf", "PDF", "Vectors, for LaTeX and print; text remains text"),
)
_PIXELS, _PRINT = "pixels", "print"
_SCALES = tuple(
    (str(n), f"{n}×", f"{n} pixel{'' if n == 1 else 's'} per screen pixel in each direction")
    for n in (1, 2, 3, 4)
)
_SIZES = (
    *_SCALES,
    (_PIXELS, "Pixels", "An exact width and height in pixels"),
    (_PRINT, "Print", "A width and height on paper, with text at its printed size"),
)
COLUMN = 84.0
"""Width in millimetres of a column in most journals."""
LOWEST = 0.75
"""Height of a printed picture relative to its width, at first, of a viewport that is lower."""
_BACKGROUNDS = (
    *BACKGROUNDS,
    ("transparent", "Transparent", "The colours of the light theme, without background"),
)


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Options of a picture."""

    whole_window: bool = False  # Whether to show the whole window instead of the viewport alone
    # Pixels per pixel on the screen, 1 to 4; unless one of the next two is given.
    scale: int = 2
    pixels: tuple[int, int] | None = None  # An exact width and height
    print_mm: tuple[float, float] | None = None  # Width and height on paper, at ``dpi``
    dpi: int = 300
    # ``theme``; ``white``, with the light theme's colours; or ``transparent``, likewise. A whole
    # window is always as on the screen.
    background: str = "theme"
    kind: str = "png"  # ``png``, ``svg`` or ``pdf``; a whole window is always a PNG

    def canvas(self, size: QSize) -> Canvas:
        """Return the size of a picture of something that has a size on the screen."""
        screen = (size.width(), size.height())
        if self.print_mm is not None and not self.whole_window:
            return Canvas.printed(self.print_mm, self.dpi, vectors=self.kind != "png")
        if self.pixels is not None and not self.whole_window:
            return Canvas.of_pixels(self.pixels, screen)
        return Canvas.times(screen, self.scale)


class PictureSaver:
    """Takes pictures of a window and its viewport, as they are when a picture is asked for.

    Large ones take seconds to draw, so the window handles events between two steps.
    """

    def __init__(self, window: QWidget, grid: ViewGrid, controller: Controller) -> None:
        self._window, self._grid = window, grid
        self._controller, self._session = controller, controller.session
        self._options = PictureOptions()
        self._drawings: deque[Drawing[None]] = deque()
        self._turns = QTimer(window, interval=0)
        self._turns.timeout.connect(self._draw_on)

    @property
    def busy(self) -> bool:
        """Whether a picture is being drawn."""
        return bool(self._drawings)

    def close(self) -> None:
        """Draw what was asked for to its end, because the window is closing."""
        while self._drawings:
            self._draw_on()

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
        chosen = "png" if options.whole_window else options.kind
        # A "/" in a revision, as in gpt2@refs/pr/1, must not become a folder.
        kinds = {chosen: _KINDS[chosen]}
        file = ask_where(
            self._window,
            "Save picture",
            name.replace("/", "-"),
            kinds,
            _PICTURES,
            session=self._session,
        )
        if file is not None:
            self.save(file, self._options)

    def save(self, out: Path, options: PictureOptions) -> None:
        """Draw a picture step by step, and write it on a thread; a notice reports failures.

        The file gets the suffix of the picture's kind.
        """
        failed = "The picture could not be saved"
        if options.kind != "png" and not options.whole_window:
            out = _with_suffix(out, options.kind)

            def write_figure(figure: Figure) -> None:
                self._controller.save(out, partial(write_vectors, figure, out), failed)

            self._begin(self._drawing_vectors(options), write_figure)
            return
        out = _with_suffix(out, "png")

        def write_image(image: QImage) -> None:  # compressing a large one takes up to a minute
            self._controller.save(out, partial(write_picture, image, out), failed)

        self._begin(self._drawing(options), write_image)

    def save_window(self, out: Path) -> bool:
        """Save a picture of the whole window as on the screen, synchronously."""
        options = PictureOptions(whole_window=True, scale=1)
        out = _with_suffix(out, "png")
        try:
            write_picture(self.picture(options), out)
        except HelixscopeError as error:
            self._fail(error)
            return False
        self._session.status = f"Saved {out}"
        return True

    def copy(self) -> None:
        """Copy a picture to the clipboard, with the last options."""
        use = partial(copy_picture, self._session, "picture")
        self._begin(self._drawing(self._options), use)

    def _begin(self, drawing: Drawing[T], use: Callable[[T], None]) -> None:
        """Draw the first step of a picture now and the others in turn, and use the picture."""

        def drawn() -> Generator[None, None, None]:
            use((yield from drawing))

        self._session.status = "Drawing the picture…"
        self._drawings.append(drawn())
        self._turns.start()
        self._step(self._drawings[-1])

    def _draw_on(self) -> None:
        """Draw one step of the picture asked for first."""
        self._step(self._drawings[0])

    def _step(self, drawing: Drawing[None]) -> None:
        """Draw one step; with the last one, or a failure, the picture is not under way any more."""
        try:
            next(drawing)
            return
        except StopIteration:
            pass
        except HelixscopeError as error:
            self._fail(error)
        except BaseException:
            self._end(drawing)
            raise  # for the log and the notice of unexpected errors
        self._end(drawing)

    def _end(self, drawing: Drawing[None]) -> None:
        self._drawings.remove(drawing)
        if not self._drawings:
            self._turns.stop()

    def _fail(self, error: HelixscopeError) -> None:
        self._session.status = "Ready"
        self._session.notice = Notice(str(error), error.advice)

    def picture(self, options: PictureOptions) -> QImage:
        """Draw a picture at once.

        Raises PictureError: if it would be too large, or there is nothing to show.
        """
        return finished(self._drawing(options))

    def vectors(self, options: PictureOptions) -> Figure:
        """Draw the viewports as vectors; see :meth:`picture`."""
        return finished(self._drawing_vectors(options))

    def _drawing(self, options: PictureOptions) -> Drawing[QImage]:
        if options.whole_window:
            return (yield from self._drawing_window(options.scale))
        shot = self._shot(options)
        if len(self._grid.viewports) > 1:
            image = yield from picture_of_grid(self._grid, shot)
        else:
            (viewport,) = self._grid.viewports
            image = yield from picture_of_viewport(viewport, shot)
        per_metre = round(shot.canvas.per_inch * 1000 / MM_PER_INCH)
        image.setDotsPerMeterX(per_metre)
        image.setDotsPerMeterY(per_metre)
        return image

    def _drawing_vectors(self, options: PictureOptions) -> Drawing[Figure]:
        shot = self._shot(options)
        if len(self._grid.viewports) > 1:
            return vectors_of_grid(self._grid, shot)
        (viewport,) = self._grid.viewports
        return vectors_of_viewport(viewport, shot)

    def _shot(self, options: PictureOptions) -> Shot:
        theme = self._theme if options.background == "theme" else LIGHT
        canvas = options.canvas(self._grid.pictured.size())
        return Shot(theme, canvas, transparent=options.background == "transparent")

    @property
    def _theme(self) -> Theme:
        return self._grid.main.scene.theme

    def _drawing_window(self, scale: int) -> Drawing[QImage]:
        """Draw the widgets at the scale, and the viewports again in their places."""
        size = self._window.size()
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        if image.isNull():
            raise PictureError("The picture would be too large", "Choose a smaller size.")
        image.setDevicePixelRatio(scale)
        self._window.render(image)
        image.setDevicePixelRatio(1)  # the views' places are in pixels
        placed = [
            (
                viewport,
                viewport.mapTo(self._window, QPoint(0, 0)) * scale,
                Canvas.times(viewport.interactor.size().toTuple(), scale),
            )
            for viewport in self._grid.viewports
            if viewport.session.model is not None
        ]
        canvas = Canvas.times(size.toTuple(), scale)
        shot = Shot(self._theme, canvas, compact=len(self._grid.viewports) > 1)
        yield from drawing_views(image, placed, shot)
        image.setDevicePixelRatio(scale)
        return image


class PictureDialog(QDialog):
    """Asks for content, size and background of a picture, and its destination."""

    def __init__(self, options: PictureOptions, viewport: QSize, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save picture")
        self._viewport, self._window = viewport, parent.size()
        self.to_clipboard = False
        self._given = options
        self.what = Segmented(_WHAT, "Picture")
        self.kind = Segmented(_FORMATS, "Format")
        self.scale = Segmented(_SIZES, "Size")
        self.background = Segmented(_BACKGROUNDS, "Background")
        self.what.show_value("window" if options.whole_window else "viewport")
        self.kind.show_value(options.kind)
        self.scale.show_value(
            _PRINT if options.print_mm else _PIXELS if options.pixels else str(options.scale)
        )
        self.background.show_value(options.background)
        self.pixels, self.paper = self._fields(options)
        self._said = label(role="small")
        choices = (self.what, self.kind, self.scale, self.background)
        for choice in choices:
            choice.chosen.connect(self._on_changed)
        size = vbox(self.scale, self.pixels, self.paper, spacing=GRID)
        rows: tuple[tuple[str, QWidget | QLayout], ...] = (
            ("Picture", self.what),
            ("Format", self.kind),
            ("Size", size),
            ("Background", self.background),
            ("", self._said),
        )
        buttons = lay_out_options(self, rows)
        copy = buttons.addButton("Copy to clipboard", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._on_copy)
        self._on_changed()

    def _fields(self, options: PictureOptions) -> tuple[QWidget, QWidget]:
        """Create the rows for exact sizes: at first of the screen's shape, if not too wide."""
        shape = max(self._viewport.height() / max(self._viewport.width(), 1), LOWEST)
        twice = self._viewport * 2
        pixels = options.pixels or (twice.width(), twice.height())
        paper = options.print_mm or (COLUMN, round(COLUMN * shape, 1))
        self.width_, self.height_ = QSpinBox(), QSpinBox()
        self.mm_width, self.mm_height = QDoubleSpinBox(), QDoubleSpinBox()
        self.dpi = QSpinBox()
        self.dpi.setRange(MIN_DPI, MAX_DPI)
        for whole, name, number in (
            (self.width_, "Width in pixels", pixels[0]),
            (self.height_, "Height in pixels", pixels[1]),
            (self.dpi, "Pixels per inch", options.dpi),
        ):
            if whole is not self.dpi:
                whole.setRange(16, MAX_PIXELS)
            whole.setAccessibleName(name)
            whole.setValue(number)
            whole.valueChanged.connect(self._on_changed)
        for field, name, mm in (
            (self.mm_width, "Width in mm", paper[0]),
            (self.mm_height, "Height in mm", paper[1]),
        ):
            field.setRange(5, 2000)
            field.setDecimals(1)
            field.setAccessibleName(name)
            field.setValue(mm)
            field.valueChanged.connect(self._on_changed)
        return (
            _in_one(in_a_row(self.width_, "×", self.height_, "pixels")),
            _in_one(in_a_row(self.mm_width, "×", self.mm_height, "mm at", self.dpi, "dpi")),
        )

    def options(self) -> PictureOptions:
        """Return the chosen options."""
        size = self.scale.value()
        exact, paper = size == _PIXELS, size == _PRINT
        return PictureOptions(
            whole_window=self.what.value() == "window",
            scale=self._given.scale if exact or paper else int(size),
            pixels=(self.width_.value(), self.height_.value()) if exact else None,
            print_mm=(self.mm_width.value(), self.mm_height.value()) if paper else None,
            dpi=self.dpi.value(),
            background=self.background.value(),
            kind=self.kind.value(),
        )

    def _on_copy(self) -> None:
        self.to_clipboard = True
        self.accept()

    def _on_changed(self) -> None:
        options = self.options()
        whole = options.whole_window
        size = self._window if whole else self._viewport
        width, height = (format_count(side) for side in options.canvas(size).pixels)
        vectors, printed = options.kind != "png" and not whole, options.print_mm is not None
        said = f"{width} × {height} pixels"
        if vectors:
            said = "Drawn as vectors" if printed else f"{said}, drawn as vectors"
        self._said.setText(said)
        self.dpi.setEnabled(not vectors)
        for part in (
            self.kind,
            self.background,
            self.scale.buttons[_PIXELS],
            self.scale.buttons[_PRINT],
        ):
            part.setEnabled(not whole)
        self.pixels.setVisible(options.pixels is not None and not whole)
        self.paper.setVisible(options.print_mm is not None and not whole)


def _in_one(row: QLayout) -> QWidget:
    """Return a row as a widget, which can be hidden."""
    row.setContentsMargins(0, 0, 0, 0)
    made = QWidget()
    made.setLayout(row)
    return made


def _with_suffix(out: Path, kind: str) -> Path:
    suffix = f".{kind}"
    return out if out.suffix.lower() == suffix else out.with_name(f"{out.name}{suffix}")


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
