"""Under the norms' controls: the plot, the legend beside or below it, or why there is neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from gui.style.theme import GRID
from gui.widgets.label import label

if TYPE_CHECKING:
    from gui.panels.norms.norms_legend import NormsLegend, NormsRow
    from gui.panels.norms.norms_plot import NormsPlot

NARROW, LOW = 440, 280
"""A legend is below the plot where there is less width, and nowhere where there is less height."""


class NormsBody(QWidget):
    """The plot and its legend; each is made when it is first wanted.

    Signals
    -------
    removed(str), toggled(str, bool), relativeRequested(bool)
        As the legend's.
    """

    removed = Signal(str)
    toggled = Signal(str, bool)
    relativeRequested = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.legend: NormsLegend | None = None
        self._plot: NormsPlot | None = None
        self._compared = False
        self.note = label("", "muted")
        self.note.setWordWrap(True)
        self.note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(GRID)
        self._layout.addWidget(self.note, 1)
        self.note.hide()

    def put(self, plot: NormsPlot) -> None:
        """Take the plot."""
        self._plot = plot
        self._layout.insertWidget(0, plot, 1)

    def say(self, text: str) -> None:
        """Say why there is no plot; "" shows it again."""
        self.note.setText(text)
        self.note.setVisible(bool(text))
        if self._plot is not None:
            self._plot.setVisible(not text)
        if text:
            self.show_rows((), relative=False)

    def show_rows(self, rows: Sequence[NormsRow], *, relative: bool) -> None:
        """Show what the curves are; without rows there is no legend."""
        self._compared = bool(rows)
        if self.legend is None and rows:
            self._make_legend()
        if self.legend is not None:
            if rows:
                self.legend.show_rows(rows, relative=relative)
            self._arrange()

    def _make_legend(self) -> None:
        from gui.panels.norms.norms_legend import NormsLegend

        self.legend = NormsLegend()
        self.legend.removed.connect(self.removed)
        self.legend.toggled.connect(self.toggled)
        self.legend.relativeRequested.connect(self.relativeRequested)
        self._layout.addWidget(self.legend)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the legend where it has room."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        if self.legend is None:
            return
        narrow = self.width() < NARROW
        self.legend.setVisible(self._compared and not (narrow and self.height() < LOW))
        directions = QBoxLayout.Direction
        self._layout.setDirection(directions.TopToBottom if narrow else directions.LeftToRight)
        self.legend.fit(self.width(), below=narrow)
