"""The body of the shape panel: the verdict with its reasons, the curves, and a plot."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from geometry.claims.scalar_results import QUANTITIES
from geometry.measures.shape_fit import FREE
from gui.panels.panel import PanelBody
from gui.panels.shape.spec import (
    CURVES,
    NAMES,
    VERDICTS,
    FittedCurve,
    Shape,
    ShapePanel,
    ShapeView,
    chosen,
    rough_parts,
)
from gui.plots.qt_painter import PaintedRow
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_number
from gui.widgets.boxes import hbox, vbox
from gui.widgets.choice_table import ChoiceTable
from gui.widgets.flow_row import FlowRow
from gui.widgets.label import label
from gui.widgets.table_text import Column, Row
from gui.widgets.tooltips import wrapped

LEAST_PLOT = 200
"""Minimum width of the plot, in pixels."""
SCROLL_BAR = 12
MEANINGS = {
    "line": "They go straight on; turning would add little.",
    "circle": "They go round in a plane; climbing would add little.",
    "helix": "They go round, and climb as much with each turn.",
    "drifting_helix": "They go round and climb; the radius changes steadily.",
    "none": "None of the four describes them; the better helix is shown.",
}
NO_NUMBER = "–"
MARK = "●"
COLUMNS = (
    Column("", "● is the curve that describes the positions, by the rule", 18),
    Column("Curve", "What is fitted by least squares", 96, left=True),
    Column("R²", "1 − SSE/SST: 1 is a perfect fit", 44),
    Column(
        "BIC",
        "Bayesian information criterion, m ln(SSE/m) + k ln m: lower is better. k, the free"
        " parameters, are " + ", ".join(f"{k} for {CURVES[name]}" for name, k in FREE.items()),
        62,
    ),
    Column("Turns", "From the first shown position to the last", 44),
    Column("Radius", "At the middle of the range, in the table’s units", 50),
    Column(
        "Drift", "Change of the radius from the first shown position to the last, in the same", 58
    ),
    Column("Climb", "Along the axis during one turn, in the table’s units", 48),
)
TIP = "Click shows this curve: its distances, and itself in the view"
BETTER_TIP = "What a helix has to do by the rule, and what the better of the two does"
ROUGH_TIPS = {one.key: one.meaning for one in QUANTITIES}
LEAST, ROOMY = (0, 1, 2, 4), (0, 1, 2, 3, 4, 7)
"""Columns of a very narrow table, and of a narrow one."""


def cells(curve: FittedCurve, *, best: bool) -> tuple[str, ...]:
    """Return a curve's formatted numbers; a dash for inapplicable ones."""
    turning, climbing = curve.name != "line", curve.name not in ("line", "circle")
    return (
        MARK if best else "",
        NAMES[curve.name],
        format_number(curve.r2),
        format_number(curve.bic, 0),
        format_number(curve.turns, 2) if turning else NO_NUMBER,
        format_number(curve.radius) if turning else NO_NUMBER,
        format_number(curve.drift) if curve.name == "drifting_helix" else NO_NUMBER,
        format_number(curve.climb_per_turn) if climbing else NO_NUMBER,
    )


def conditions(shape: Shape) -> tuple[tuple[bool, str], ...]:
    """Return the conditions of a clear helix, and whether the better one meets them."""
    from geometry.measures.shape import CLEAR_MARGIN, CLEAR_R2, CLEAR_TURNS

    better, margin = shape.better_helix, shape.margin
    return (
        (better.r2 >= CLEAR_R2, f"R² ≥ {CLEAR_R2:g}: {format_number(better.r2)}"),
        (
            margin >= CLEAR_MARGIN,
            f"above line and circle ≥ {CLEAR_MARGIN:g}: {format_number(margin)}",
        ),
        (
            better.turns >= CLEAR_TURNS,
            f"turns ≥ {CLEAR_TURNS:g}: {format_number(better.turns, 2)}",
        ),
    )


class ShapeBody(PanelBody):
    """The numbers, and the plot beside them if there is room."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.numbers = ShapeNumbers()
        self.numbers.chosen.connect(lambda name: self.chosen.emit("curve", name))
        self._area = QScrollArea()
        self._area.setProperty("ring", True)
        self._area.setAccessibleName("The numbers of the curves")
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(self.numbers)
        self.plots = PaintedRow(session, theme)
        self.plots.hoverRequested.connect(self.hoverRequested)
        self.plots.selectionRequested.connect(self.selectionRequested)
        hbox(self._area, (self.plots, 1), parent=self, spacing=2 * GRID)

    def draw(self, view: ShapeView) -> None:
        self.numbers.show_shape(view.result)
        self.numbers.show_chosen(chosen(view), self.theme)
        self.plots.draw(ShapePanel().plots(view))
        self._fit()

    def show_marks(self) -> None:
        self.plots.show_marks()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.plots.set_theme(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.width()
        needed = self.numbers.fit(room - SCROLL_BAR) + SCROLL_BAR
        beside = room - needed - 2 * GRID >= LEAST_PLOT
        self.plots.setVisible(beside)
        self._area.setMaximumWidth(needed if beside else room)
        self._area.setMinimumWidth(min(needed, room))


class ShapeNumbers(QWidget):
    """The verdict with its meaning and conditions, a row for each curve, and the roughness."""

    chosen = Signal(str)
    """The name of a curve whose row was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.verdict, self.meaning = label("", "title"), label("", "muted", wrap=True)
        self.conditions = [label("", "small") for _ in range(3)]
        self.table = ChoiceTable(COLUMNS, TIP, (), scrolls_from=0)
        self.table.setAccessibleName("The curves")
        self.table.chosen.connect(lambda row, _: self.chosen.emit(list(NAMES)[row]))
        reasons = QWidget()
        flow = FlowRow(reasons)
        for line in self.conditions:
            line.setToolTip(wrapped(BETTER_TIP))
            flow.addWidget(line)
        self.rough = {
            key: label("", "small") for key in ("turning_angle", "high_frequency", "loops")
        }
        smoothness = QWidget()
        beside = FlowRow(smoothness)
        for key, line in self.rough.items():
            line.setToolTip(wrapped(ROUGH_TIPS[key]))
            beside.addWidget(line)
        table = (self.table, 0, Qt.AlignmentFlag.AlignLeft)
        vbox(
            self.verdict, self.meaning, reasons, table, smoothness, 1,
            parent=self, spacing=GRID // 2, margins=(0, GRID // 2, 0, 0),
        )  # fmt: skip

    def fit(self, room: int) -> int:
        """Hide columns that do not fit in a width; return the width of the table."""
        widths = [column.width for column in COLUMNS]
        for kept in (tuple(range(len(COLUMNS))), ROOMY, LEAST):
            width = sum(widths[number] for number in kept)
            if width <= room:
                break
        for number in range(len(COLUMNS)):
            self.table.setColumnHidden(number, number not in kept)
        self.table.setFixedWidth(width)
        return width

    def show_shape(self, shape: Shape) -> None:
        """Show a result."""
        self.verdict.setText(VERDICTS[shape.best])
        self.meaning.setText(MEANINGS[shape.best])
        for line, (met, text) in zip(self.conditions, conditions(shape), strict=True):
            line.setText(f"{'✓' if met else '✗'} {text}")
        parts = rough_parts(shape)
        for key, line in self.rough.items():
            line.setText(parts.get(key, ""))
            line.setVisible(key in parts)
        self.table.set_rows(
            Row(number, cells(curve, best=curve.name == shape.best))
            for number, curve in enumerate(shape.curves)
        )

    def show_chosen(self, name: str, theme: Theme) -> None:
        """Tint the row of the shown curve."""
        self.table.show_drawn({list(NAMES).index(name): theme.faint})
