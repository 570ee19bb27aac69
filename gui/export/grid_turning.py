"""A turntable of the grid: each curve turns in its own view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint

from gui.export.grid_picture import ground_of_grid
from gui.export.turntable import TurnFrames
from gui.state.camera import CameraPose

if TYPE_CHECKING:
    from gui.export.timelapse_film import FilmLook
    from gui.export.turntable import Turn
    from gui.viewport.grid import ViewGrid


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
