"""Pictures of the grid, drawn anew at any size: curves, headers, colour bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter

from gui.export.pictures import PictureError, render_scene
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose
from gui.style.theme import GRID, SMALL, Theme

if TYPE_CHECKING:
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
        raise PictureError("There is nothing to picture yet", "Open a model first.")
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
