"""The body of the LayerNorm panel: a page of errors, and one of two sums."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QPushButton,
    QStackedLayout,
    QWidget,
)

from geometry.measures.interference import MEASURES
from gui.panels.kit.body import PanelBody
from gui.panels.layernorm.form import ExampleBox, InterferenceForm
from gui.panels.layernorm.question import ComparedSums, LayerNorms
from gui.panels.layernorm.spec import (
    AXES,
    COLUMNS,
    Choices,
    LayerNormPanel,
    LayerNormView,
    Result,
    distances,
    histogram,
    rank,
    rows,
)
from gui.plots.histogram_plot import HistogramPlot
from gui.plots.qt_painter import PaintedRow
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_count, format_number
from gui.widgets.boxes import grid, hbox, vbox
from gui.widgets.choice_table import ChoiceTable
from gui.widgets.label import label
from gui.widgets.position_rows import Column, Row
from gui.widgets.position_table import PositionTableView
from gui.widgets.tooltips import wrapped

BESIDE, WIDE = 560, 880
"""Minimum widths with the plot beside the form, and with the numbers beside the plot."""
LOW, HIGH = 144, 300
"""Minimum heights with the numbers below the form, and below form and plot."""
PARTS = 40
"""Additional height of the line below the table."""
ROW_TIP = "Click to show the random pairs by this measure"
SELECTED_TIP = "Use the two positions last selected"
SELECT_TWO = "Select two positions first, in the curve or in any plot: Shift-click adds one"
TOKENS = (
    Column("Token", "The tokens most similar to a position; whitespace is made visible", left=True),
    Column("Position", "The position whose row is most similar", 8 * GRID),
    Column("|cos|", "Absolute cosine of the two stored rows", 7 * GRID),
)
Place = tuple[int, int, int, int]


class LayerNormBody(PanelBody):
    """Two pages, and the controls of one of them."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.plots = PaintedRow(session, theme)
        self.plots.hoverRequested.connect(self.hoverRequested)
        self.plots.selectionRequested.connect(self.selectionRequested)
        self.tokens = PositionTableView(
            TOKENS, "Click to select position {position}", scrolls_from=3
        )
        self.tokens.setAccessibleName("Tokens most similar to a position")
        self.tokens.hovered.connect(self.hoverRequested)
        self.tokens.chosen.connect(lambda position, _: self.selectionRequested.emit((position,)))
        self.errors = QWidget()
        # The table shows as many rows as fit; the remaining space is below it.
        tokens = vbox((self.tokens, 1), 0)
        hbox((self.plots, 6), (tokens, 3), parent=self.errors, spacing=GRID)
        self.form = InterferenceForm(theme)
        self.form.changed.connect(self._on_sums_changed)
        self.sums = InterferenceView(self.form, theme)
        self.sums.measureChosen.connect(lambda measure: self.chosen.emit("measure", measure))
        self.examples, self.selected = ExampleBox(), QPushButton("Use selection")
        self.examples.exampleChosen.connect(self._on_example_chosen)
        self.selected.clicked.connect(self._use_selection)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.errors)
        self._stack.addWidget(self.sums)
        self._result: Result | None = None
        self.show_marks()

    def controls(self) -> Sequence[QWidget]:
        return self.examples, self.selected

    def show_choices(self, choices: Choices) -> None:
        for control in self.controls():
            control.setVisible(choices.page == "interference")
        self.examples.show_example(choices.example)

    def draw(self, view: LayerNormView) -> None:
        result = view.result
        if isinstance(result, ComparedSums):
            self.form.show_table(view.model.n_positions)
            self.form.show_terms(result.first, result.second)
            self.sums.show_result(result, view.choices)
            self._stack.setCurrentWidget(self.sums)
        elif isinstance(result, LayerNorms):
            self.plots.draw(LayerNormPanel().plots(view))
            self.tokens.set_rows(
                Row(alike.position, (alike.text, str(alike.position), format_number(alike.cosine)))
                for alike in result.most_alike
            )
            self._stack.setCurrentWidget(self.errors)
        self._result = result
        self.show_marks()

    def show_marks(self) -> None:
        session = self.session
        two = len(session.selection) > 1
        self.selected.setEnabled(two and isinstance(self._result, ComparedSums))
        self.selected.setToolTip(wrapped(SELECTED_TIP if two else SELECT_TWO))
        if isinstance(self._result, LayerNorms):
            self.plots.show_marks()
            self.tokens.set_tints(session.hover, session.selection, self.theme)

    def forget(self) -> None:
        self.plots.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.plots.set_theme(theme)
        self.form.set_theme(theme)
        self.sums.set_theme(theme)

    def stop(self) -> None:
        self.form.stop()

    def _on_sums_changed(self) -> None:
        first, second = self.form.typed()
        sums = (first.token, first.position), (second.token, second.position)
        self.chosen.emit("sums", sums)

    def _use_selection(self) -> None:
        i, j = self.session.selection[-2:]
        self.form.take_positions((i, j))

    def _on_example_chosen(self, name: str) -> None:
        self.form.stop()
        self.chosen.emit("example", name)


class InterferenceView(QWidget):
    """Two sums, and their ranks.

    Parameters
    ----------
    form
        The form of the sums, owned by this page.
    """

    measureChosen = Signal(str)
    """The chosen measure of the random pairs."""

    def __init__(self, form: InterferenceForm, theme: Theme) -> None:
        super().__init__()
        self.form, self.theme = form, theme
        self._result: ComparedSums | None = None
        self._measure = MEASURES[0]
        self._places: tuple[Place, ...] = ()
        self.plot = HistogramPlot(theme, "random pairs")
        self.plot.setAccessibleName("Random pairs, and these two sums")
        self.plot.pointHovered.connect(self._on_hovered)
        self.table = ChoiceTable(COLUMNS, ROW_TIP, spare=())
        self.table.setAccessibleName("Similarity of the two sums")
        self.table.chosen.connect(lambda number, _: self.measureChosen.emit(MEASURES[number]))
        self.parts = label(role="small")
        self.parts.setToolTip("Distance between the two tokens, and between the two positions")
        self._numbers = QWidget()
        vbox(self.table, self.parts, 1, parent=self._numbers, spacing=GRID // 2)
        self._grid = grid(self, 2 * GRID, GRID // 2)
        self._place(((0, 0, 1, 1), (0, 1, 2, 1), (0, 2, 2, 1)))

    def show_result(self, result: ComparedSums, choices: Choices) -> None:
        """Show two sums, and the random pairs by one measure."""
        self._result, self._measure = result, choices.measure
        self.table.set_rows(rows(result.similarity))
        self.table.fit(WIDE)
        self.table.show_drawn({MEASURES.index(choices.measure): self.theme.muted})
        self.parts.setText(distances(result.similarity))
        self._arrange()
        mark = None if result.similarity is None else result.similarity.of(choices.measure)
        self.plot.show_counts(AXES[choices.measure], *histogram(result, choices.measure), mark)

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.plot.set_theme(theme)

    def minimumSizeHint(self) -> QSize:
        """Small, since parts are hidden in a small panel."""
        return QSize(self.form.minimumSizeHint().width(), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Place the parts; the numbers, which the caption has too, are hidden in little room."""
        width, height = self.width(), self.height()
        compared = self._result is not None and self._result.similarity is not None
        if width >= WIDE:
            places, room = ((0, 0, 1, 1), (0, 1, 2, 1), (0, 2, 2, 1)), True
        elif width >= BESIDE:
            places, room = ((0, 0, 1, 1), (0, 1, 2, 1), (1, 0, 1, 1)), compared and height >= LOW
        else:
            places, room = ((0, 0, 1, 1), (1, 0, 1, 1), (2, 0, 1, 1)), compared and height >= HIGH
        self._numbers.setVisible(room)
        self.parts.setVisible(not BESIDE <= width < WIDE or height >= LOW + PARTS)
        self._place(places)

    def _place(self, places: tuple[Place, ...]) -> None:
        """Place form, plot and numbers in cells of the grid."""
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

    def _on_hovered(self, point: tuple[int, int] | None) -> None:
        result, plot = self._result, self.plot
        if point is None or result is None:
            plot.set_hover(None)
        elif point[0] == plot.MARK and result.similarity is not None:
            plot.set_hover(point, f"these two: {rank(result.similarity, self._measure)}")
        else:
            bar = plot.bar_of(point[1])
            span = " to ".join(format_number(edge) for edge in plot.edges[bar : bar + 2])
            plot.set_hover(point, f"{span} · {format_count(int(plot.counts[bar]))} pairs")
