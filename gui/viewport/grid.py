"""The grid of views of the open models."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QSize, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from gui.services.comparing import Comparing
from gui.state.camera import Outlook
from gui.state.colors import model_color
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import Theme
from gui.viewport.color_strip import ColorStrip
from gui.viewport.grid_bar import GridBar
from gui.viewport.grid_cell import GridCell
from gui.viewport.marquee import Shape
from gui.viewport.viewport import Viewport
from gui.widgets.boxes import hbox, vbox

SHAPE = 4 / 3
"""Preferred aspect ratio of views."""

MAX_CAMERAS = 50
"""Maximum number of stored cameras of removed views, for undo."""


class _Views(QWidget):
    """The part of the grid that the views share, without its bars."""

    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class ViewGrid(QWidget):
    """Shows the views of the open models.

    The current model is always in the same viewport. When another one becomes the current one,
    their two viewports change places, keys and cameras.
    """

    cameraLeft = Signal(int)  # The user is about to move the camera of the model with this key
    cameraMoved = Signal()  # A camera has moved, for any reason

    def __init__(
        self,
        viewport: Viewport,
        session: Session,
        comparing: Comparing,
        theme: Theme,
        add: Callable[[], None],
    ) -> None:
        super().__init__()
        self._session, self._comparing, self._theme = session, comparing, theme
        self.main = viewport
        self.cells: dict[int, GridCell] = {}
        self.alone: int | None = None
        """The key of the model that fills the grid; None if all are shown."""
        self._joined: set[GridCell] = set()
        self._left: dict[int, tuple[Outlook, bool]] = {}
        self._laid_out: tuple[object, ...] = ()
        # Showing a view for the first time sets up its OpenGL: one per turn of the event loop.
        self._to_show: list[GridCell] = []
        self._next = QTimer(self, interval=0)
        self._next.timeout.connect(self._show_next)
        self.bar = GridBar(session)
        self.bar.addRequested.connect(add)
        self.bar.clearRequested.connect(comparing.clear)
        self.bar.camerasLinked.connect(self.link_cameras)
        self.bar.rangesLinked.connect(lambda on: setattr(session, "ranges_linked", on))
        self.strip = ColorStrip(session, theme)
        self.strip.hide()
        self._views = _Views()
        self._views.resized.connect(self._on_resized)
        self._views.setObjectName("views")
        self._layout = QGridLayout(self._views)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        row = hbox((self._views, 1), self.strip, spacing=0)
        vbox(self.bar, (row, 1), parent=self, spacing=0)
        main = self.cells[session.current_key] = self._make_cell(viewport, session.current_key)
        self._joined.add(main)
        self._listening = Listening()
        self._listening.to(session.events.open_models, self._on_listed)
        self._on_listed()

    @property
    def viewports(self) -> tuple[Viewport, ...]:
        """The visible viewports, in grid order."""
        return tuple(cell.viewport for cell in self.shown_cells)

    @property
    def shown_cells(self) -> tuple[GridCell, ...]:
        """The visible views with their headers."""
        return tuple(self.cells[key] for key in self._shown())

    @property
    def pictured(self) -> QRect:
        """The part shown in a picture: the single view, or all with headers and colour bar."""
        if len(self._shown()) == 1:
            viewport = self.viewports[0]
            return QRect(viewport.mapTo(self, QPoint(0, 0)), viewport.size())
        return self._views.geometry().united(self.strip.geometry())

    @property
    def idle(self) -> bool:
        """Whether everything visible is drawn and nothing moves."""
        return not self._to_show and all(
            viewport.idle or viewport.session.model is None for viewport in self.viewports
        )

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.strip.set_theme(theme)
        for cell in self.cells.values():
            cell.viewport.set_theme(theme)
        self._show_marks()

    def show_alone(self, key: int | None) -> None:
        """Let one view fill the grid; None shows all."""
        before = self.alone
        self.alone = key if key in self.cells and len(self.cells) > 1 else None
        self._lay_out()
        if before in self.cells:
            self._on_camera_moved(self.cells[before])

    def arm(self, shape: Shape | None) -> None:
        """Set whether the next drag in any view draws a shape or rotates the curve."""
        for cell in self.cells.values():
            cell.viewport.marquee.arm(shape)

    def release(self) -> None:
        """Stop listening and release all views; called by the owner on closing."""
        self._listening.stop()
        self._next.stop()
        self.bar.release()
        self.strip.release()
        for cell in self.cells.values():
            cell.release()
            cell.viewport.close()

    # ---- cells -------------------------------------------------------------------------

    def _make_cell(self, viewport: Viewport, key: int) -> GridCell:
        main, comparing = viewport is self.main, self._comparing
        cell = GridCell(viewport, key, main=main)
        cell.hide()  # otherwise the layout would show it, not _show_next
        cell.mainRequested.connect(lambda: comparing.make_current(cell.key))
        cell.largerRequested.connect(
            lambda: self.show_alone(None if self.alone == cell.key else cell.key)
        )
        cell.closeRequested.connect(lambda: comparing.remove(cell.key))
        cell.retryRequested.connect(lambda: comparing.retry(cell.key))
        cell.moveRequested.connect(lambda step: comparing.move(cell.key, step))
        cell.dragged.connect(lambda at: self._on_dragged(cell.key, at))
        cell.dropped.connect(lambda at: self._on_dropped(cell.key, at))
        viewport.camera.moved.connect(lambda: self._on_camera_moved(cell))
        viewport.camera.moved.connect(self.cameraMoved)
        viewport.camera.left.connect(lambda _: self.cameraLeft.emit(cell.key))
        viewport.marquee.arm(self.main.marquee.armed)
        viewport.marquee.armedChanged.connect(self.arm)
        viewport.selected = lambda: comparing.marks.selected
        viewport.selectionRequested.connect(comparing.marks.select)
        if not main:
            viewport.hoverRequested.connect(comparing.marks.hover)
            viewport.menuRequested.connect(cell.show_menu)
            viewport.camera.left.connect(lambda _: self._on_camera_left())
        return cell

    def _remove_cell(self, cell: GridCell) -> None:
        camera = cell.viewport.camera
        if (outlook := camera.outlook) is not None:
            self._left[cell.key] = outlook, camera.place.follows
            for old in list(self._left)[:-MAX_CAMERAS]:
                del self._left[old]
        self._joined.discard(cell)
        cell.release()
        self._layout.removeWidget(cell)
        cell.viewport.close()
        cell.hide()
        cell.deleteLater()

    def _on_listed(self) -> None:
        session = self._session
        shown = {model.key: model for model in session.open_models if model.in_grid}
        sessions = {key: model.session for key, model in shown.items()}
        before = {cell.session: cell for cell in self.cells.values()}
        places = {key: cell.viewport.camera.place_of_curve for key, cell in self.cells.items()}
        self.cells = {
            key: before.pop(one)
            if one in before
            else self._make_cell(Viewport(one, self._theme), key)
            for key, one in (sessions or {session.current_key: session}).items()
        }
        for cell in before.values():
            self._remove_cell(cell)
        for key, cell in self.cells.items():
            if cell.key != key:
                cell.key, place = key, places.get(key)
                if place is not None and self.alone is None:
                    cell.viewport.camera.begin_at(place)
        for key, model in shown.items():
            self.cells[key].set_title(model.name)
            self.cells[key].set_failed(model.failed)
        self._show_marks()
        if self.alone not in self.cells or len(self.cells) == 1:
            self.alone = None
        self._lay_out()

    def _show_marks(self) -> None:
        """Show the colour of each model's curves in its header."""
        for model in self._session.open_models:
            if model.in_grid:
                self.cells[model.key].set_mark(model_color(model.color, self._theme))

    def _shown(self) -> tuple[int, ...]:
        return tuple(self.cells) if self.alone is None else (self.alone,)

    def _on_resized(self) -> None:
        if len(self.cells) > 1:
            self._lay_out()
            self._layout.activate()  # a picture may be taken before the event loop does it

    def _lay_out(self) -> None:
        keys = list(self.cells)
        for key, cell in self.cells.items():
            cell.set_neighbours(before=key != keys[0], after=key != keys[-1])
        shown, several = self._shown(), len(self.cells) > 1
        columns = columns_for(len(shown), self._views.size())
        laid_out = self.shown_cells, columns, several
        if self._laid_out == laid_out:
            return
        self._laid_out = laid_out
        self.bar.set_alone(self.alone is not None)
        for key, cell in self.cells.items():
            cell.set_framed(several)
            cell.set_alone(key == self.alone)
            cell.viewport.set_compact(len(shown) > 1)
            if key not in shown:
                cell.hide()
        for at, key in enumerate(shown):
            self._layout.addWidget(self.cells[key], at // columns, at % columns)
        self._to_show = [cell for cell in self.shown_cells if cell.isHidden()]
        if not self._next.isActive():
            self._show_next()
        for line in range(max(self._layout.rowCount(), self._layout.columnCount())):
            rows = math.ceil(len(shown) / columns)
            self._layout.setRowStretch(line, int(line < rows))
            self._layout.setColumnStretch(line, int(line < columns))
        self.strip.setVisible(len(shown) > 1)

    def _show_next(self) -> None:
        if self._to_show:
            self._to_show.pop(0).show()
            self._next.start()
        else:
            self._next.stop()

    def _cell_at(self, at: QPoint | None) -> GridCell | None:
        """Return the view at a point of the screen."""
        for cell in self.shown_cells:
            if at is not None and cell.rect().contains(cell.mapFromGlobal(at)):
                return cell
        return None

    def _on_dragged(self, key: int, at: QPoint | None) -> None:
        """Show the drop target of a dragged view; None for no drag."""
        target = self._cell_at(at)
        for cell in self.cells.values():
            cell.set_target(cell is target and cell.key != key)

    def _on_dropped(self, key: int, at: QPoint) -> None:
        """Move a view to the place where its header was dropped."""
        target, keys = self._cell_at(at), list(self.cells)
        if target is not None:
            self._comparing.move(key, keys.index(target.key) - keys.index(key))

    # ---- cameras -----------------------------------------------------------------------

    def link_cameras(self, on: bool) -> None:
        """Link or unlink the cameras; linked ones follow the current model's."""
        self._session.cameras_linked = on
        if on:
            self._on_camera_moved(self.cells[self._session.current_key])

    def _on_camera_moved(self, cell: GridCell) -> None:
        first = cell not in self._joined
        self._joined.add(cell)
        left = self._left.pop(cell.key, None) if first else None
        if not self._session.cameras_linked or len(self.cells) == 1:
            if left is not None:  # its removal was undone
                cell.viewport.camera.look(left[0], follows=left[1])
            return
        if first:
            # The new view follows the others.
            self._let_look(cell, as_in=self.cells[self._session.current_key])
            return
        for follower in self._joined - {cell}:
            if follower.isVisible():
                self._let_look(follower, as_in=cell)

    @staticmethod
    def _let_look(cell: GridCell, *, as_in: GridCell) -> None:
        camera = as_in.viewport.camera
        outlook = camera.outlook
        if outlook is not None:
            cell.viewport.camera.look(outlook, follows=camera.place.follows)

    def _on_camera_left(self) -> None:
        if self._session.cameras_linked:
            self.main.camera.left.emit(self.main.camera.place)


def columns_for(count: int, room: QSize) -> int:
    """Return the number of columns with the largest views, then with the fewest empty cells."""

    def rank(columns: int) -> tuple[float, int, int]:
        rows = math.ceil(count / columns)
        size = min(room.width() / columns, SHAPE * room.height() / rows)
        return size, -rows * columns, columns

    return max(range(1, count + 1), key=rank)
