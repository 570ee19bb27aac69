"""The table of the curves, and the verdict beside it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QLabel, QVBoxLayout, QWidget

from gui.panels.base import label
from gui.panels.figure_text import VERDICTS
from gui.panels.shape_question import Curve, Shape
from gui.theme import GRID, format_number
from gui.tooltips import wrapped

NAMES = {
    "line": ("Line", "A point and a direction: 6 free parameters"),
    "circle": ("Circle", "Plane, centre, radius, turns and phase: 8 free parameters"),
    "helix": ("Helix", "A circle that climbs along its axis: 9 free parameters"),
    "drifting_helix": (
        "Drifting helix",
        "A helix whose radius grows or shrinks steadily: 10 free parameters",
    ),
}
NO_NUMBER = "–"
MARK = "●"
_TITLES = (
    ("R²", "1 − SSE/SST: 1 is a perfect fit"),
    ("BIC", "Bayesian information criterion, m ln(SSE/m) + k ln m: lower is better, "
     "and each free parameter has its price"),
    ("Turns", "From the first shown position to the last"),
    ("Radius", "At the middle of the range, in the table’s units"),
    ("Drift", "Change of the radius from the first shown position to the last"),
    ("Climb", "Along the axis during one turn, in the table’s units"),
)  # fmt: skip


def cells(curve: Curve) -> tuple[str, ...]:
    """Write a curve's numbers; what it does not have is a dash."""
    turning, climbing = curve.name != "line", curve.name not in ("line", "circle")
    return (
        format_number(curve.r2),
        format_number(curve.bic, 0),
        format_number(curve.turns, 2) if turning else NO_NUMBER,
        format_number(curve.radius) if turning else NO_NUMBER,
        format_number(curve.drift) if curve.name == "drifting_helix" else NO_NUMBER,
        format_number(curve.climb_per_turn) if climbing else NO_NUMBER,
    )


def conditions(shape: Shape) -> tuple[tuple[bool, str], ...]:
    """Say what a helix has to do, and whether the better one does it."""
    from geometry.shape import CLEAR_MARGIN, CLEAR_R2, CLEAR_TURNS

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


class ShapeNumbers(QWidget):
    """The verdict with its conditions, and a line of numbers for each curve.

    Side by side where there is room for it, else below each other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.verdict = label("", "title")
        self.conditions = [label() for _ in range(3)]
        self.lines: dict[str, list[QLabel]] = {}
        self._words, self._table = self._make_words(), self._make_table()
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, GRID // 2, 0, 0)
        self._row.addLayout(self._words)
        self._row.addLayout(self._table)
        self._row.addStretch(1)

    def minimumSizeHint(self) -> QSize:
        """Return room for the wider of the two parts: they may be below each other."""
        width = max(part.sizeHint().width() for part in (self._words, self._table))
        return QSize(width, self._row.minimumSize().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table beside the words, or below them."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        parts = (self._words, self._table)
        needed = sum(part.sizeHint().width() for part in parts) + 3 * GRID
        wide, way = self.width() >= needed, QBoxLayout.Direction
        self._row.setDirection(way.LeftToRight if wide else way.TopToBottom)
        self._row.setSpacing(3 * GRID if wide else GRID)

    def show_shape(self, shape: Shape) -> None:
        """Show what was found."""
        self.verdict.setText(VERDICTS[shape.best])
        for line, (met, text) in zip(self.conditions, conditions(shape), strict=True):
            line.setText(f"{'✓' if met else '✗'}  {text}")
        for curve in shape.curves:
            mark, *numbers = self.lines[curve.name]
            mark.setText(MARK if curve.name == shape.best else "")
            mark.setAccessibleName("This is the one" if curve.name == shape.best else "")
            for widget, text in zip(numbers, cells(curve), strict=True):
                widget.setText(text)
        self._arrange()

    def _make_words(self) -> QVBoxLayout:
        words = QVBoxLayout()
        words.setSpacing(GRID // 2)
        words.addWidget(self.verdict)
        words.addWidget(label("The better of the two helices has", "small"))
        for line in self.conditions:
            words.addWidget(line)
        words.addStretch(1)
        return words

    def _make_table(self) -> QVBoxLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(GRID * 3 // 2)
        grid.setVerticalSpacing(GRID // 2)
        for column, (title, tip) in enumerate(_TITLES, start=2):
            grid.addWidget(_told(title, tip, "small"), 0, column, Qt.AlignmentFlag.AlignRight)
        for row, (name, (title, tip)) in enumerate(NAMES.items(), start=1):
            mark = _told("", "The curve that describes the positions, by the rule")
            mark.setFixedWidth(GRID * 3 // 2)
            numbers = [_told("", what) for _, what in _TITLES]
            self.lines[name] = [mark, *numbers]
            grid.addWidget(mark, row, 0)
            grid.addWidget(_told(title, tip), row, 1)
            for column, widget in enumerate(numbers, start=2):
                grid.addWidget(widget, row, column, Qt.AlignmentFlag.AlignRight)
        around = QVBoxLayout()
        around.addLayout(grid)
        around.addStretch(1)
        return around


def _told(text: str, tip: str, role: str = "") -> QLabel:
    made = label(text, role)
    made.setToolTip(wrapped(tip))
    return made
