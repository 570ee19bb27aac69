"""Pictures and turntables of the grid, drawn anew at any size: curves, headers, colour bar."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter

from gui.export.pictures import PictureError, render_scene
from gui.export.turntable import TurnFrames
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose
from gui.style.theme import GRID, SMALL, Theme

if TYPE_CHECKING:
    from gui.export.timelapse_film import FilmLook
    from gui.export.turntable import Turn
    from gui.viewport.grid import ViewGrid
    from gui.viewport.grid_cell import GridCell
    from gui.viewport.viewport import Viewport


def picture_of_viewport(
    viewport: Viewport, theme: Theme, scale: int, *, transparent: bool, compact: bool
) -> QImage:
    """Draw a viewport's scene.

    Parameters
    ----------
    theme, scale, transparent, compact
        As in :func:`gui.export.pictures.render_scene`.

    Raises
    ------
    PictureError
        If it would be too large, or there is nothing to show.
    """
    state = resolve_scene(viewport.session)
    if state is None:
        raise PictureError("There is nothing to save yet", "Open a model first.")
    interactor = viewport.interactor
    pixels = render_scene(
        state,
        theme,
        CameraPose.of(interactor.camera),
        (interactor.width(), interactor.height()),
        scale=scale,
        transparent=transparent,
        compact=compact,
    )
    return _to_image(pixels)


def picture_of_grid(grid: ViewGrid, theme: Theme, scale: int, *, transparent: bool) -> QImage:
    """Draw all views of a grid, each under its name; models still loading stay empty.

    Parameters
    ----------
    grid
        A grid with more than one view.
    theme, scale, transparent
        As in :func:`gui.export.pictures.render_scene`.

    Raises
    ------
    PictureError
        If it would be too large.
    """
    area = grid.pictured
    image = QImage(area.size() * scale, QImage.Format.Format_ARGB32)
    if image.isNull():
        raise PictureError("The picture would be too large", "Choose a smaller size.")
    image.setDevicePixelRatio(scale)
    image.fill(QColor(0, 0, 0, 0) if transparent else QColor(theme.viewport))
    painter = QPainter(image)
    painter.translate(-area.topLeft())
    try:
        _draw_ground(painter, grid, theme)
        for cell in grid.shown_cells:
            if cell.session.model is not None:
                corner = cell.viewport.mapTo(grid, QPoint(0, 0))
                drawn = picture_of_viewport(
                    cell.viewport, theme, scale, transparent=transparent, compact=True
                )
                painter.drawImage(QRect(corner, cell.viewport.size()), drawn)
    finally:
        painter.end()
    return image


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
    font = QFont(cell.font())
    font.setPixelSize(SMALL)
    room, left = area.adjusted(GRID, 0, -GRID, 0), Qt.AlignmentFlag.AlignVCenter
    painter.setFont(font)
    name = QFontMetrics(font).elidedText(
        cell.name.text(), Qt.TextElideMode.ElideRight, room.width()
    )
    painter.setPen(QColor(theme.text))
    painter.drawText(room, left, name)
    room.setLeft(room.left() + QFontMetrics(font).horizontalAdvance(name) + GRID)
    painter.setPen(QColor(theme.muted))
    painter.drawText(room, left, cell.facts.text())


def _to_image(pixels: np.ndarray) -> QImage:
    height, width, channels = pixels.shape
    kind = QImage.Format.Format_RGBA8888 if channels == 4 else QImage.Format.Format_RGB888
    data = np.ascontiguousarray(pixels)
    # copy() owns its pixels, so the array may be freed.
    return QImage(data.data, width, height, channels * width, kind).copy()


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
