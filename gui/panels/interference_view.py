"""The page of two sums: the form, the random pairs with the two among them, and the numbers."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from geometry.measures.interference import MEASURES, Measure
from gui.panels.interference_form import InterferenceForm
from gui.panels.interference_question import Compared
from gui.panels.interference_text import (
    AXES,
    COLUMNS,
    ROW_TIP,
    histogram,
    parts,
    rank,
    rows,
)
from gui.plots.histogram_plot import HistogramPlot
from gui.style.theme import GRID, Theme, format_count, format_number
from gui.widgets.choice_table import ChoiceTable
from gui.widgets.label import label

BESIDE, WIDE = 560, 880
"""From these widths on the plot is beside the form, and the numbers beside the plot."""
LOW, HIGH = 144, 300
"""In these heights the numbers have room below the form, and below a plot that is below it."""
PARTS = 40
"""And so much more takes the whole table with the line below it."""
Place = tuple[int, int, int, int]


class InterferenceView(QWidget):
    """What two sums are, and how they rank.

    Parameters
    ----------
    form
        Where the sums are typed; it becomes this page's.
    theme
        Colours.
    """

    measureChosen = Signal(str)
    """The random pairs are to be shown by another measure."""

    def __init__(self, form: InterferenceForm, theme: Theme) -> None:
        super().__init__()
        self.form, self.theme = form, theme
        self._result: Compared | None = None
        self._measure: Measure = MEASURES[0]
        self._places: tuple[Place, ...] = ()
        self.plot = HistogramPlot(theme, "random pairs")
        self.plot.setAccessibleName("Random pairs, and these two sums")
        self.plot.pointHovered.connect(self._on_hovered)
        self.table = ChoiceTable(COLUMNS, ROW_TIP, spare=())
        self.table.setAccessibleName("How alike the two sums are")
        self.table.fit(WIDE)
        self.table.chosen.connect(lambda number, _: self.measureChosen.emit(MEASURES[number]))
        self.parts = label(role="small")
        self.parts.setToolTip("How far apart the two tokens are, and the two positions")
        self._numbers = QWidget()
        numbers = QVBoxLayout(self._numbers)
        numbers.setContentsMargins(0, 0, 0, 0)
        numbers.setSpacing(GRID // 2)
        numbers.addWidget(self.table)
        numbers.addWidget(self.parts)
        numbers.addStretch(1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self._place(((0, 0, 1, 1), (0, 1, 2, 1), (0, 2, 2, 1)))

    def show_result(self, result: Compared, measure: Measure) -> None:
        """Show how alike two sums are, and the random pairs by one measure."""
        self._result, self._measure = result, measure
        self.table.set_rows(rows(result.found))
        self.table.show_drawn({MEASURES.index(measure): self.theme.muted})
        self.parts.setText(parts(result.found))
        self._arrange()
        self._draw(result)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.theme = theme
        self.form.set_theme(theme)
        self.plot.set_theme(theme)
        if self._result is not None:
            self.show_result(self._result, self._measure)

    def minimumSizeHint(self) -> QSize:
        """Return little: a small panel leaves parts out."""
        return QSize(self.form.minimumSizeHint().width(), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the parts beside each other or below, as there is room."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Place the parts; the numbers, which the caption has too, go where there is no room."""
        width, height = self.width(), self.height()
        found = self._result is not None and self._result.found is not None
        if width >= WIDE:
            places, room = ((0, 0, 1, 1), (0, 1, 2, 1), (0, 2, 2, 1)), True
        elif width >= BESIDE:
            places, room = ((0, 0, 1, 1), (0, 1, 2, 1), (1, 0, 1, 1)), found and height >= LOW
        else:
            places, room = ((0, 0, 1, 1), (1, 0, 1, 1), (2, 0, 1, 1)), found and height >= HIGH
        self._numbers.setVisible(room)
        self.parts.setVisible(not BESIDE <= width < WIDE or height >= LOW + PARTS)
        self._place(places)

    def _place(self, places: tuple[Place, ...]) -> None:
        """Put form, plot and numbers each into some cells of the grid."""
        if places == self._places:
            return
        self._places = places
        parts: tuple[QWidget, ...] = (self.form, self.plot, self._numbers)
        for part, place in zip(parts, places, strict=True):
            self._grid.addWidget(part, *place)
        beside = places[1][1] == 1
        self._grid.setColumnStretch(0, 0 if beside else 1)
        self._grid.setColumnStretch(1, 1 if beside else 0)
        self._grid.setRowStretch(1, 1)

    def _draw(self, result: Compared) -> None:
        counts, edges = histogram(result, self._measure)
        mark = None if result.found is None else result.found.of(self._measure)
        self.plot.show_counts(AXES[self._measure], counts, edges, mark)

    def _on_hovered(self, point: tuple[int, int] | None) -> None:
        result, plot = self._result, self.plot
        if point is None or result is None:
            plot.set_hover(None)
        elif point[0] == plot.MARK and result.found is not None:
            plot.set_hover(point, f"these two: {rank(result.found, self._measure)}")
        else:
            bar = plot.bar_of(point[1])
            span = " to ".join(format_number(edge) for edge in plot.edges[bar : bar + 2])
            plot.set_hover(point, f"{span} · {format_count(int(plot.counts[bar]))} pairs")
