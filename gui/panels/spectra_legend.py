"""The table beside the spectra: which curve is which, and what sums each up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QSizePolicy, QToolButton, QWidget

from gui.style.theme import GRID
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

SWATCH = QSize(20, 12)
WIDTH = 264


@dataclass(frozen=True, slots=True)
class LegendRow:
    """One line: the curve's colour ("" for none), its name, its numbers, and an explanation."""

    color: str
    name: str
    numbers: tuple[str, ...]
    tooltip: str


class SpectraLegend(QScrollArea):
    """A row for each matrix, with a button that takes it out."""

    removed = Signal(int)
    """The row that the user wants out."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFixedWidth(WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def show_rows(self, titles: Sequence[str], rows: Sequence[LegendRow]) -> None:
        """Show other rows under these titles of their numbers."""
        table = QWidget()
        grid = QGridLayout(table)
        grid.setContentsMargins(GRID, GRID // 2, GRID // 2, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for column, title in enumerate(titles, start=2):
            grid.addWidget(label(title, "small"), 0, column, right)
        for number, row in enumerate(rows):
            self._add(grid, number, row, len(titles))
        grid.setRowStretch(len(rows) + 1, 1)
        self.setWidget(table)

    def _add(self, grid: QGridLayout, number: int, row: LegendRow, columns: int) -> None:
        at, right = number + 1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        name = label(row.name, "" if row.color else "muted")
        name.setToolTip(wrapped(row.tooltip))
        if row.color:
            grid.addWidget(_Swatch(row.color), at, 0)
        grid.addWidget(name, at, 1)
        for column, text in enumerate(row.numbers, start=2):
            span = columns if len(row.numbers) == 1 else 1
            shown = label(text, "" if row.color else "small")
            shown.setToolTip(wrapped(row.tooltip))
            grid.addWidget(shown, at, column, 1, span, right)
        button = QToolButton()
        button.setText("✕")
        button.setProperty("role", "title button")
        button.setToolTip(f"Take {row.name} out")
        button.setAccessibleName(f"Take {row.name} out")
        button.clicked.connect(lambda: self.removed.emit(number))
        grid.addWidget(button, at, 2 + columns)


class _Swatch(QWidget):
    """A short piece of the curve."""

    def __init__(self, color: str) -> None:
        super().__init__()
        self._color = QColor(color)
        self.setFixedSize(SWATCH)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(self._color, 2))
        middle = self.height() // 2
        painter.drawLine(0, middle, self.width(), middle)
