"""Small pictures of the curves of a survey's checkpoints, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QItemSelectionModel, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent, QPainter, QPixmap
from PySide6.QtWidgets import QListView, QListWidget, QListWidgetItem, QWidget

from geometry.checkpoints.plain_text import visible
from geometry.survey.curves import turned_alike
from geometry.survey.read import Survey
from gui.plots.curve_picture import paint_curve, paint_ground, places_in, position_colors, thinned
from gui.state.camera import side_on
from gui.style.theme import GRID, Theme, format_count
from gui.widgets.boxes import vbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped
from gui.window.survey.rows import value_text

MAX_CURVES = 60
"""Maximum number of shown curves."""
PICTURE = QSize(132, 104)
DOT = 3.0
READING = "Reading curves…"
NONE = (
    "There are no curves of these checkpoints in the file. "
    "“helixscope survey … --components 3” keeps them."
)
MEANING = (
    "The first three principal components, from the side, each turned onto the next one and at a "
    "scale of its own. Click selects, double-click or Enter opens a checkpoint."
)
_ROW = Qt.ItemDataRole.UserRole
_MOVES = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
)


def drawn_rows(order: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """Return the rows whose curves are shown: selected or all, evenly thinned to `MAX_CURVES`.

    Parameters
    ----------
    order, selected
        Rows of the survey in the table's order, (n,) and (m,) int.
    """
    rows = selected if selected.size else order
    if not rows.size:
        return rows
    kept = np.unique(np.linspace(0, rows.size - 1, min(MAX_CURVES, rows.size)).round().astype(int))
    thinned_rows: np.ndarray = rows[kept]
    return thinned_rows


def side_view(curve: np.ndarray) -> np.ndarray:
    """Return the directions to the right and upwards of a curve's side view: (3, 2).

    See :func:`gui.state.camera.side_on`.
    """
    direction, up = side_on(curve)
    return np.column_stack([np.cross(up, direction), up])


def short_names(survey: Survey, rows: np.ndarray) -> list[str]:
    """Name rows by the columns that differ, as "seed 21 · step 400", or by their sources."""
    parts: list[list[str]] = [[] for _ in rows]
    for name in ("group", "seed", "layer", "step"):
        column = survey.columns[name]
        values, known = column.values[rows], column.known[rows]
        if not known.any() or (known.all() and len(set(values)) == 1):
            continue
        for part, row, has_value in zip(parts, rows, known, strict=True):
            if has_value:
                text = value_text(column, int(row))
                part.append(text if name == "group" else f"{name} {text}")
    sources = survey.columns["source"]
    named = [" · ".join(part) for part in parts]
    if len(set(named)) < len(named):
        return [value_text(sources, int(row)) for row in rows]
    return named


class SurveyCurves(QWidget):
    """Small pictures of curves.

    Signals
    -------
    chosen(int), opened(int)
        Select, or open, a row of the survey.
    """

    chosen = Signal(int)
    opened = Signal(int)

    def __init__(self, theme: Theme, colormap: str) -> None:
        super().__init__()
        self._theme, self._colormap = theme, colormap
        self.flat: dict[str, np.ndarray] = {}
        self.names: dict[str, str] = {}
        self.view = np.eye(3, 2)
        self.caption = label(role="small", wrap=True)
        self.list = _Pictures()
        self.list.setIconSize(PICTURE)
        self.list.currentItemChanged.connect(self._on_current)
        self.list.itemDoubleClicked.connect(lambda item: self.opened.emit(item.data(_ROW)))
        vbox(self.caption, (self.list, 1), parent=self, spacing=GRID // 2)

    def wait(self) -> None:
        """Show that curves are being read."""
        self.caption.setText(READING)

    def show_curves(
        self, survey: Survey, rows: Mapping[str, int], curves: Mapping[str, np.ndarray], *, of: int
    ) -> None:
        """Show curves.

        Parameters
        ----------
        rows
            Rows in the survey by source, in display order.
        curves
            Curves by source, each (m, 3); rows without a curve are left out.
        of
            Number of rows from which these were chosen.
        """
        drawn = {source: row for source, row in rows.items() if source in curves}
        rotated = turned_alike({source: curves[source] for source in drawn})
        if rotated:  # all from the side view of the last one
            self.view = side_view([*rotated.values()][-1])
        self.flat = {source: curve @ self.view for source, curve in rotated.items()}
        at = self.list.verticalScrollBar().value()
        self.list.clear()
        names = short_names(survey, np.array([*drawn.values()], dtype=np.intp))
        self.names = dict(zip(drawn, names, strict=True))
        for source, row in drawn.items():
            item = QListWidgetItem(self.names[source])
            item.setData(_ROW, row)
            item.setToolTip(wrapped(visible(source)))
            item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
            self.list.addItem(item)
        self._paint()
        self.list.verticalScrollBar().setValue(at)
        self.list.setVisible(bool(drawn))
        self.caption.setText(_caption(len(drawn), len(rows), of))
        side = Qt.AlignmentFlag
        self.caption.setAlignment(side.AlignLeft | side.AlignTop if drawn else side.AlignCenter)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._paint()

    def _paint(self) -> None:
        colors, ratio = position_colors(self._colormap, self._theme), self.devicePixelRatioF()
        rect = QRectF(0, 0, PICTURE.width(), PICTURE.height())
        for at, points in enumerate(map(thinned, self.flat.values())):
            picture = QPixmap(PICTURE * ratio)
            picture.setDevicePixelRatio(ratio)
            painter = QPainter(picture)
            paint_ground(painter, rect, self._theme)
            places = places_in(rect, points, np.abs(points).max(axis=0))
            paint_curve(painter, places, colors, self._theme, DOT)
            painter.end()
            self.list.item(at).setIcon(_icon(picture))

    def _on_current(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(item.data(_ROW))


def _icon(picture: QPixmap) -> QIcon:
    """Return an icon that looks the same when it is selected."""
    icon = QIcon(picture)
    icon.addPixmap(picture, QIcon.Mode.Selected)
    return icon


def _caption(shown: int, requested: int, of: int) -> str:
    if not shown:
        return NONE
    first = f"{format_count(shown)} curve{'s' * (shown != 1)}"
    if requested < of:
        first += f", evenly spaced among {format_count(of)} rows"
    if shown < requested:
        none = requested - shown
        first += f"; {format_count(none)} checkpoint{'s have' if none > 1 else ' has'} none"
        first += " in the file"
    return f"{first}. {MEANING}"


class _Pictures(QListWidget):
    """Pictures in rows that fill the width; Enter is left to the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Curves")
        self.setProperty("ring", True)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setWordWrap(False)
        self.setSpacing(GRID // 2)
        self.setTabKeyNavigation(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move; other keys are left to the window."""
        if event.key() in _MOVES:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def show_current(self, row: int | None) -> None:
        """Mark the picture of a row without a signal."""
        items = (self.item(at) for at in range(self.count()))
        current = next((item for item in items if item.data(_ROW) == row), None)
        before = self.blockSignals(True)
        flag = QItemSelectionModel.SelectionFlag
        if current is None:
            self.setCurrentRow(-1, flag.Clear)
        else:
            self.setCurrentItem(current, flag.ClearAndSelect)
        self.blockSignals(before)
