"""The inspector's cards, whose numbers are updated in place: a position, and a pair of them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget
from superqt import QElidingLabel

from geometry.measures.neighbours import PairDistance, PositionDetails
from gui.style.theme import GRID, format_count, format_number
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

NOT_YET = "…"
ABSENT = "–"

_NORM_TIP = "Euclidean length of the stored row, ‖Pᵢ‖, in the table's own units"
_RESIDUAL_TIP = (
    "Off-subspace residual: the share of the row's length, measured from the range's mean, that "
    "lies outside the shown components. 0: fully shown; 1: not shown at all."
)
_OUTLIER_TIP = (
    "Its norm differs from the median norm of the 8 nearest positions by a factor of more than "
    "1.35 (0.3 in natural logarithm), or its norm about the mean row does by a factor of more than "
    "1.49 (0.4)"
)
_SHOWN_TIP = (
    "Euclidean distance of the two points in the shown components, in the table's own units"
)
_ALL_TIP = "Euclidean distance of the two rows in all {} dimensions, in the table's own units"
_COSINE_TIP = "Cosine of the angle between the two stored rows, −1 to 1, without a unit"
_STEPS_TIP = (
    "Number of positions from the first to the second; negative if the second comes before the "
    "first"
)


class NamedNumber(QWidget):
    """A small title above a number."""

    def __init__(self, title: str, tip: str) -> None:
        super().__init__()
        self._title = label(title, "small")
        self.value = label(ABSENT, selectable=True)
        for part in (self._title, self.value):
            # The grid sets the width: a longer number does not move its neighbours.
            part.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        vbox(self._title, self.value, parent=self, spacing=0)
        self.set_title(title, tip)

    def set_title(self, title: str, tip: str) -> None:
        """Set the title and the tooltip."""
        _set_text(self._title, title)
        self.setToolTip(wrapped(tip))
        self.value.setAccessibleName(title)

    def set_value(self, text: str) -> None:
        """Show a number."""
        _set_text(self.value, text)


class PositionCard(QWidget):
    """Number and token of the current position, its norm, residual and coordinates."""

    def __init__(self) -> None:
        super().__init__()
        self.title = label(role="title", selectable=True)
        self.token = QElidingLabel()
        self.token.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.token.setTextFormat(Qt.TextFormat.PlainText)
        self.token.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.norm = NamedNumber("Norm", _NORM_TIP)
        self.residual = NamedNumber("Residual", _RESIDUAL_TIP)
        self.coordinates = tuple(NamedNumber(f"PC {i}", "") for i in (1, 2, 3))
        self.range = label(role="small")
        self.outlier = label("Norm outlier", "badge")
        self.outlier.setToolTip(wrapped(_OUTLIER_TIP))
        self._lay_out()

    def show_position(self, position: int, token: str | None, place: str = "") -> None:
        """Show the position and its token, or the place or label of its row, if any."""
        _set_text(self.title, str(position))
        shown = place if token is None else token
        if self.token.text() != shown:
            self.token.setText(shown)
        tip = "" if token is None else f"The prompt's token at {position}: {shown}"
        if token is None and place:
            tip = f"Row {position} of the table: {place}"
        self.token.setToolTip(wrapped(tip))

    def show_numbers(
        self, details: PositionDetails | None, components: tuple[int, ...], fitted: int
    ) -> None:
        """Show the numbers; None while they are computed.

        Of the shown components, from 1, only the ``fitted`` ones have coordinates.
        """
        missing = NOT_YET if details is None else ABSENT
        values = iter(() if details is None else details.coordinates)
        self.norm.set_value(NOT_YET if details is None else format_number(details.norm))
        self.residual.set_value(NOT_YET if details is None else format_number(details.residual))
        for number, component in zip(self.coordinates, components, strict=False):
            tip = (
                f"Coordinate along principal component {component} of the shown range: the row "
                "minus the range's mean, projected; in the table's own units"
            )
            number.set_title(f"PC {component}", tip)
            value = next(values, None) if component <= fitted else None
            number.set_value(missing if value is None else format_number(float(value)))

    def show_flags(self, position: int, positions: tuple[int, int], outlier: bool) -> None:
        """Show whether the position is in the shown range, and whether its norm is an outlier."""
        first, last = positions
        inside = first <= position <= last
        _set_text(self.range, f"{'In' if inside else 'Outside'} the range {first}–{last}")
        self.range.setToolTip(
            wrapped(
                "The components are fitted to the positions of the shown range"
                + ("" if inside else "; this position was not used in the fit")
            )
        )
        self.outlier.setVisible(outlier)

    def _lay_out(self) -> None:
        self.heading = hbox(self.title, (self.token, 1), spacing=GRID)
        grid = QGridLayout()
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(GRID // 2)
        for column, number in enumerate(self.coordinates):
            grid.addWidget(number, 1, column)
            grid.setColumnStretch(column, 1)
        grid.addWidget(self.norm, 0, 0)
        grid.addWidget(self.residual, 0, 1)
        # In the free cell: beside the range there is no room for both.
        grid.addWidget(self.outlier, 0, 2, Qt.AlignmentFlag.AlignBottom)
        vbox(self.heading, self.range, grid, parent=self, spacing=GRID // 2)


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
        self.line = push_button(
            "Line", "Draw a line between the two in the 3D view, with its length"
        )
        self.line.setCheckable(True)
        self.line.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.line.setAccessibleName("Draw a line between the two positions")
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


def _set_text(shown: QLabel, text: str) -> None:
    # Setting an unchanged text would cause a layout of the parents, too.
    if shown.text() != text:
        shown.setText(text)
