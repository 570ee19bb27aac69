"""Three small pictures side by side: line, circle and helix, each with a sentence below it."""

from __future__ import annotations

from functools import partial

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from geometry.measures.synthetic import KINDS, CurveKind
from gui.panels.experiment_look import flat, thinned
from gui.panels.experiment_question import Experiment
from gui.panels.experiment_text import NAMES, reading
from gui.state.colors import legible, lookup_table
from gui.style.theme import GRID, Theme
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

MARGIN = 6
DOT = 4.0


class CurvePicture(QWidget):
    """A curve as points coloured by position, joined by a line.

    Parameters
    ----------
    theme
        Colours.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.points = np.zeros((0, 2))
        self._reach = np.ones(2)
        self._colors: list[QColor] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def minimumSizeHint(self) -> QSize:
        """Return the least in which a curve can be made out."""
        return QSize(8 * GRID, 5 * GRID)

    def sizeHint(self) -> QSize:
        """Return a size for a dock under the viewport."""
        return QSize(20 * GRID, 12 * GRID)

    def show_points(self, points: np.ndarray, reach: np.ndarray, colors: list[QColor]) -> None:
        """Draw other points.

        Parameters
        ----------
        points : (n, 2)
            Across and upwards.
        reach : (2,)
            The largest of both, to either side, that pictures beside this one have to hold too.
        colors
            From the first position to the last.
        """
        self.points, self._reach, self._colors = points, reach, colors
        self.update()

    def places(self) -> np.ndarray:
        """Return where the points are in the widget: (n, 2) pixels."""
        room = np.array([self.width(), self.height()]) / 2 - MARGIN
        scale = float((np.maximum(room, 1.0) / np.maximum(self._reach, 1e-30)).min())
        middle = np.array([self.width(), self.height()]) / 2
        return np.asarray(middle + scale * self.points * (1, -1))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line, then the points, the first position first."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(self.theme.viewport))
        painter.setPen(QPen(QColor(self.theme.line), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        if not len(self.points):
            return
        places = [QPointF(x, y) for x, y in self.places().tolist()]
        painter.setPen(QPen(QColor(self.theme.faint), 1))
        painter.drawPolyline(QPolygonF(places))
        painter.setPen(Qt.PenStyle.NoPen)
        last = len(self._colors) - 1
        for i, place in enumerate(places):
            painter.setBrush(self._colors[round(i * last / max(len(places) - 1, 1))])
            painter.drawEllipse(place, DOT / 2, DOT / 2)


class ExperimentPictures(QWidget):
    """The curves before or after LayerNorm, all on one scale.

    Parameters
    ----------
    theme
        Colours.
    """

    openRequested = Signal(str)
    """The kind of curve that is to be opened as a model."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.pictures: dict[CurveKind, CurvePicture] = {}
        self.buttons: dict[CurveKind, QToolButton] = {}
        self.readings = {kind: label("", "small") for kind in KINDS}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(GRID // 4)
        for column, kind in enumerate(KINDS):
            self.pictures[kind] = picture = CurvePicture(theme)
            picture.setAccessibleName(NAMES[kind])
            said = self.readings[kind]
            said.setWordWrap(True)
            said.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            self.buttons[kind] = button = _open_button(kind)
            button.clicked.connect(partial(self.openRequested.emit, kind))
            heading = QHBoxLayout()
            heading.addWidget(label(NAMES[kind]), 1)
            heading.addWidget(button)
            grid.addLayout(heading, 0, column)
            grid.addWidget(picture, 1, column)
            grid.addWidget(said, 2, column)
            grid.setColumnStretch(column, 1)
        grid.setRowStretch(1, 1)

    def show_result(self, result: Experiment, colormap: str, *, after: bool) -> None:
        """Draw all three, and say what is left of each."""
        curves = {
            kind: flat(thinned(one.drawn_after if after else one.drawn_before))
            for kind, one in result.curves.items()
        }
        reach = np.max([np.abs(points).max(axis=0) for points in curves.values()], axis=0)
        table = legible(lookup_table(colormap), self.theme.viewport)
        colors = [QColor(*(int(part) for part in row[:3])) for row in table[::4]]
        for kind, points in curves.items():
            self.pictures[kind].show_points(points, reach, colors)
            self.readings[kind].setText(reading(result, kind, after=after))

    def set_theme(self, theme: Theme) -> None:
        """Take new colours; the curves keep theirs until they are drawn anew."""
        self.theme = theme
        for picture in self.pictures.values():
            picture.theme = theme
            picture.update()


def _open_button(kind: CurveKind) -> QToolButton:
    made = QToolButton()
    made.setText("Open")
    made.setProperty("class", "chip")
    made.setFixedWidth(6 * GRID)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    tip = f"Open this {kind} as a model: its curve in 3D, and every panel about it"
    made.setToolTip(wrapped(tip))
    made.setAccessibleName(f"Open the {kind}")
    return made
