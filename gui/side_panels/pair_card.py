"""The distance of the two positions selected last: a row of numbers."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from geometry.measures.neighbours import PairDistance
from gui.side_panels.position_card import NamedNumber
from gui.style.theme import GRID, format_count, format_number
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

_SHOWN_TIP = (
    "Euclidean distance of the two points in the shown components, in the table's own units"
)
_ALL_TIP = "Euclidean distance of the two rows in all {} dimensions, in the table's own units"
_COSINE_TIP = "Cosine of the angle between the two stored rows, −1 to 1, without a unit"
_STEPS_TIP = (
    "Number of positions from the first to the second; negative if the second comes before the "
    "first"
)


class PairCard(QWidget):
    """The distance of two positions, and the switch for the line between them.

    Signals
    -------
    measureRequested(bool)
        Whether to show the line in the viewport.
    """

    measureRequested = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.title = label(role="heading")
        self.line = QPushButton("Line")
        self.line.setCheckable(True)
        self.line.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.line.setAccessibleName("Draw a line between the two positions")
        self.line.setToolTip(wrapped("Draw a line between the two in the 3D view, with its length"))
        self.line.clicked.connect(self.measureRequested)
        self.shown = NamedNumber("In view", _SHOWN_TIP)
        self.distance = NamedNumber("", "")
        self.cosine = NamedNumber("Cosine", _COSINE_TIP)
        self.steps = NamedNumber("Steps", _STEPS_TIP)
        head = hbox((self.title, 1), self.line, spacing=GRID // 2)
        numbers = (self.shown, self.distance, self.cosine, self.steps)
        row = hbox(*((number, 1) for number in numbers), spacing=GRID)
        vbox(head, row, parent=self, spacing=GRID // 2)

    def show_pair(self, pair: PairDistance | None, *, drawn: bool) -> None:
        """Show a distance, or nothing; ``drawn`` is whether the line is shown."""
        self.setVisible(pair is not None)
        self.line.setChecked(drawn)
        if pair is None:
            return
        first, second = pair.positions
        self.title.setText(f"From {first} to {second}")
        dimensions = format_count(pair.d_model)
        self.distance.set_title(f"In {dimensions}-D", _ALL_TIP.format(dimensions))
        self.shown.set_value(format_number(pair.shown))
        self.distance.set_value(format_number(pair.distance))
        self.cosine.set_value(format_number(pair.cosine))
        sign = "+" if pair.steps > 0 else ""
        self.steps.set_value(sign + format_count(pair.steps))
