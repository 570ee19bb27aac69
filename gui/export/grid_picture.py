"""Pictures and turntables of the grid, drawn anew at any size: curves, headers, colour bar."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter

from gui.export.canvas import Canvas
from gui.export.pictures import (
    Drawing,
    OffScreens,
    PictureError,
    Shot,
    add_vectors,
    drawing_scene,
    vector_scene,
)
from gui.plots.picture_grid import as_image
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose, resized
from gui.style.theme import GRID, SMALL, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.export.timelapse_film import FilmLook
    from gui.export.turntable import Turn, TurnFrames
    from gui.scene.scene_state import SceneState
    from gui.viewport.grid import ViewGrid
    from gui.viewport.grid_cell import GridCell
    from gui.viewport.viewport import Viewport


def picture_of_viewport(viewport: Viewport, shot: Shot) -> Drawing[QImage]:
    """Draw a viewport's scene as it is at the first step, from the viewport's own camera.

    Raises
    ------
    PictureError
        If it would be too large, or there is nothing to show.
    """
    pixels = yield from drawing_scene(*_sight(viewport, shot))
    return as_image(pixels)


def vectors_of_viewport(viewport: Viewport, shot: Shot) -> Drawing[Figure]:
    """Draw a viewport's scene as vectors, in one step; see :func:`picture_of_viewport`."""
    state, seen = _sight(viewport, shot)
    yield
    return vector_scene(state, seen)


def drawing_views(
    image: QImage, placed: list[tuple[Viewport, QPoint, Canvas]], shot: Shot
) -> Drawing[None]:
    """Draw viewports, as they are at the first step, into their places of an image.

    Parameters
    ----------
    image
        Without a ratio of its own: places are in pixels.
    placed
        Each viewport with the pixel of its upper left corner, and its size.
    """
    sights = [(_sight(view, replace(shot, canvas=own)), corner) for view, corner, own in placed]
    with closing(OffScreens()) as off_screens:
        for (state, seen), corner in sights:
            pixels = yield from drawing_scene(state, seen, off_screens)
            painter = QPainter(image)
            painter.drawImage(corner, as_image(pixels))
            painter.end()


def _sight(viewport: Viewport, shot: Shot) -> tuple[SceneState, Shot]:
    """Return what a viewport shows, and the shot with the pose in which it fills the canvas."""
    state = resolve_scene(viewport.session)
    if state is None:
        raise PictureError("There is nothing to save yet", "Open a model first.")
    viewport.catch_up()  # it paints nothing while it is hidden
    interactor, (width, height) = viewport.interactor, shot.canvas.size
    pose = CameraPose.of(interactor.camera)
    before, after = interactor.width() / interactor.height(), width / height
    if abs(before * height - width) > 1:  # by more than the rounding of pixels
        pose = resized(pose, viewport.scene.framed_at(state.turn), before, after)
    return state, replace(shot, pose=pose)


def picture_of_grid(grid: ViewGrid, shot: Shot) -> Drawing[QImage]:
    """Draw all views of a grid, as they are at the first step, each under its name.

    Models still loading stay empty.

    Parameters
    ----------
    grid
        A grid with more than one view, which are as large as fit into the picture, in its middle.

    Raises
    ------
    PictureError
        If it would be too large.
    """
    image = QImage(*shot.canvas.pixels, QImage.Format.Format_ARGB32)
    if image.isNull():
        raise PictureError("The picture would be too large", "Choose a smaller size.")
    image.fill(QColor(0, 0, 0, 0) if shot.transparent else QColor(shot.theme.viewport))
    scale, left, top = _placed(grid, shot.canvas)
    painter = QPainter(image)
    try:
        painter.translate(left, top)
        painter.scale(scale, scale)
        _draw_ground(painter, grid, shot.theme)
    finally:
        painter.end()
    yield from drawing_views(image, _views(grid, shot.canvas), replace(shot, compact=True))
    return image


def vectors_of_grid(grid: ViewGrid, shot: Shot) -> Drawing[Figure]:
    """Draw all views of a grid as vectors; see :func:`picture_of_grid`."""
    from gui.export.vector_picture import add_bar, add_text, blank_figure  # loads Matplotlib

    canvas, theme = shot.canvas, shot.theme
    figure = blank_figure(canvas, "none" if shot.transparent else theme.viewport)
    scale, left, top = _placed(grid, canvas)

    def pixel(x: float, y: float) -> tuple[float, float]:
        return left + scale * x, canvas.pixels[1] - top - scale * y

    for cell in grid.shown_cells:
        area = QRect(cell.mapTo(grid, QPoint()), cell.header.size())
        for room, words, color in _header(cell, area, theme):
            at = pixel(room.left(), room.top() + room.height() / 2)
            add_text(figure, at, words, color, SMALL * scale, "left")
    strip = QRectF(QRect(grid.strip.mapTo(grid, QPoint(0, 0)), grid.strip.size()))
    drawing = grid.strip.drawing(strip, theme)
    if drawing is not None:
        for bar, table in drawing.bars:
            size = (scale * bar.width(), scale * bar.height())
            add_bar(figure, pixel(bar.left(), bar.bottom()), size, table)
        for place, words, color in drawing.texts:
            at = pixel(place.right(), place.center().y())
            add_text(figure, at, words, color, SMALL * scale, "right")
    sights = [
        (_sight(view, replace(shot, canvas=own, compact=True)), corner)
        for view, corner, own in _views(grid, canvas)
    ]
    with closing(OffScreens()) as off_screens:
        for (state, seen), corner in sights:
            yield
            lower = canvas.pixels[1] - corner.y() - seen.canvas.pixels[1]
            add_vectors(figure, state, seen, (corner.x(), lower), off_screens)
    return figure


def _placed(grid: ViewGrid, canvas: Canvas) -> tuple[float, float, float]:
    """Return pixels per logical pixel, and the pixel at which the grid's (0, 0) is."""
    area, (width, height) = grid.pictured, canvas.pixels
    scale = min(width / area.width(), height / area.height())
    left = (width - scale * area.width()) / 2 - scale * area.left()
    top = (height - scale * area.height()) / 2 - scale * area.top()
    return scale, left, top


def _views(grid: ViewGrid, canvas: Canvas) -> list[tuple[Viewport, QPoint, Canvas]]:
    """Return the views with a model, the pixel of their upper left corner, and their size."""
    scale, left, top = _placed(grid, canvas)
    views = []
    for cell in grid.shown_cells:
        if cell.session.model is not None:
            corner, size = cell.viewport.mapTo(grid, QPoint(0, 0)), cell.viewport.size()
            at = QPoint(round(left + scale * corner.x()), round(top + scale * corner.y()))
            own = Canvas.times((size.width(), size.height()), scale)
            views.append((cell.viewport, at, own))
    return views


def ground_of_grid(grid: ViewGrid, theme: Theme, size: tuple[int, int]) -> np.ndarray:
    """Draw the static parts of a grid: names and colour bar.

    Parameters
    ----------
    grid, theme
        As in :func:`picture_of_grid`.

    Returns
    -------
    np.ndarray
        (height, width, 3) uint8.
    """
    area, (width, height) = grid.pictured, size
    image = QImage(width, height, QImage.Format.Format_RGB888)
    image.setDevicePixelRatio(height / area.height())
    image.fill(QColor(theme.viewport))
    painter = QPainter(image)
    painter.translate(-area.topLeft())
    try:
        _draw_ground(painter, grid, theme)
    finally:
        painter.end()
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(height, image.bytesPerLine())
    return lines[:, : 3 * width].reshape(height, width, 3).copy()


def _draw_ground(painter: QPainter, grid: ViewGrid, theme: Theme) -> None:
    for cell in grid.shown_cells:
        _draw_header(painter, cell, QRect(cell.mapTo(grid, QPoint()), cell.header.size()), theme)
    strip = QRect(grid.strip.mapTo(grid, QPoint(0, 0)), grid.strip.size())
    grid.strip.draw(painter, QRectF(strip), theme)


def _draw_header(painter: QPainter, cell: GridCell, area: QRect, theme: Theme) -> None:
    """Draw a view's header without its buttons."""
    painter.setFont(_header_font(cell))
    for room, words, color in _header(cell, area, theme):
        painter.setPen(QColor(color))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, words)


def _header(cell: GridCell, area: QRect, theme: Theme) -> list[tuple[QRect, str, str]]:
    """Return the texts of a view's header in an area, with room and colour of each."""
    room, metrics = area.adjusted(GRID, 0, -GRID, 0), QFontMetrics(_header_font(cell))
    name = metrics.elidedText(cell.name.text(), Qt.TextElideMode.ElideRight, room.width())
    beside = QRect(room)
    beside.setLeft(room.left() + metrics.horizontalAdvance(name) + GRID)
    return [(room, name, theme.text), (beside, cell.facts.text(), theme.muted)]


def _header_font(cell: GridCell) -> QFont:
    font = QFont(cell.font())
    font.setPixelSize(SMALL)
    return font


class GridFrames:
    """Draws the frames of a grid's turntable, independent of later changes of the grid.

    Created, used and closed on the window's thread.

    Parameters
    ----------
    grid
        A grid with more than one view; models still loading stay empty.
    look
        Options; the cameras are those of the views.

    Raises
    ------
    PictureError
        If frames of this size cannot be drawn.
    """

    def __init__(self, grid: ViewGrid, look: FilmLook, turn: Turn) -> None:
        from gui.export.turntable import TurnFrames  # a start does without

        self._count = turn.frames(look.fps)
        self._ground = ground_of_grid(grid, look.theme, look.size)
        self._parts: list[tuple[tuple[slice, slice], TurnFrames]] = []
        area = grid.pictured
        scale = look.size[1] / area.height()
        try:
            for cell in grid.shown_cells:
                view = cell.viewport
                if view.session.model is None or view.session.curve is None:
                    continue
                corner = view.mapTo(grid, QPoint(0, 0)) - area.topLeft()
                across = _pixels(corner.x(), view.width(), scale, look.size[0])
                down = _pixels(corner.y(), view.height(), scale, look.size[1])
                own = replace(
                    look,
                    size=(across.stop - across.start, down.stop - down.start),
                    pose=CameraPose.of(view.interactor.camera),
                    lines=view.height(),
                )
                frames = TurnFrames(view.session, own, turn, compact=True)
                self._parts.append(((down, across), frames))
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return the number of frames."""
        return self._count

    def draw(self, index: int) -> np.ndarray:
        """Draw a frame: (height, width, 3) uint8."""
        frame = self._ground.copy()
        for place, frames in self._parts:
            frame[place] = frames.draw(index)
        return frame

    def close(self) -> None:
        """Release the graphics."""
        for _, frames in self._parts:
            frames.close()


def _pixels(start: int, length: int, scale: float, end: int) -> slice:
    """Return the pixels of a range of logical pixels, at least one, within the picture."""
    first = min(round(start * scale), end - 1)
    return slice(first, max(first + 1, min(round((start + length) * scale), end)))
