"""The lines above the norms: what is drawn, the controls and the readout, on few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QToolTip,
    QWidget,
)

from geometry.measures.stretches import AFTER
from gui.panels.norms.norms_reading import Beside, Reading
from gui.panels.norms.norms_text import (
    AFTER_TIP,
    HELP,
    MEANINGS,
    OUTLIER_RULE,
    TITLES,
    bulk_note,
    stretch_note,
    summary,
)
from gui.state.values import Quantity
from gui.style.theme import GRID
from gui.widgets.flow_row import FlowRow
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

_WORDS = {False: ("Zoom to the bulk", "Show all"), True: ("Bulk", "All")}
"""What the buttons say, by whether there is little room."""
_ARRANGEMENTS = (
    (1, True, False), (1, False, False), (2, True, False), (2, False, False), (2, False, True),
)  # fmt: skip
"""Rows, whether the formula is put in words, short words on buttons: the best first."""
_NARROW = (3, False, True)
_READOUT_LINES = 2
OVERLAY_TIP = "Lay the norms of other models that are on this machine over these, as thin lines"
NO_OVERLAY_TIP = "Residuals are of this model's own components: other models have others"
SPHERE_TIP = (
    "Draw in the 3D view where rows of the mean norm lie: the sphere around the origin, cut by the "
    "shown components. Its caption says how large it is there (N)"
)


class NormsHeader(QWidget):
    """Which quantity is drawn and how, the zooms, and how steady the values are.

    Signals
    -------
    quantityRequested(str), centredRequested(bool)
        The user wants norms, steps or residuals; of row-centred rows, or of raw ones.
    afterRequested(int)
        Stability is to be measured from this position on.
    bulkToggled(bool)
        The axis is to hold the bulk of the values alone, or all of them.
    resetRequested()
        Everything is to be in sight again.
    overlaysRequested(QPoint)
        The user wants to choose other models, at this point of the screen.
    menuRequested(QPoint)
        The user wants to take away what is shown, at this point of the screen.
    sphereRequested(bool)
        The sphere of mean norm is to be seen in the viewport, or not.
    """

    quantityRequested = Signal(str)
    centredRequested = Signal(bool)
    afterRequested = Signal(int)
    bulkToggled = Signal(bool)
    resetRequested = Signal()
    overlaysRequested = Signal(QPoint)
    menuRequested = Signal(QPoint)
    sphereRequested = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.quantity = Segmented(
            [(what, what.capitalize(), meaning) for what, meaning in MEANINGS.items()], "Show"
        )
        formula, meaning = TITLES["norm", False]
        self.formula, self.meaning = label(formula), label(meaning, "muted")
        self.help = _button("?", HELP["norm"], "What this shows")
        self.kind = Segmented(
            (
                ("raw", "Raw", "Of the rows as they are stored"),
                (
                    "centred",
                    "Row-centred",
                    "Of the rows, each minus its mean over d_model, which LayerNorm removes anyway",
                ),
            ),
            "Rows",
        )
        self.bulk = _button(_WORDS[False][0], "")
        self.bulk.setCheckable(True)
        self.reset = _button(_WORDS[False][1], "Show all positions again (F, or double-click)")
        self.after = self._make_after()
        self.default = _button("↺", f"Measure from {AFTER} again", f"From {AFTER} again")
        self.overlay = _button("Overlay…", OVERLAY_TIP)
        self.sphere = _button("Sphere", SPHERE_TIP, "Show the sphere of mean norm")
        self.sphere.setCheckable(True)
        self.more = _button("⋯", "Save or copy what is shown", "More")
        self.readout = label("", "small", selectable=True)
        self.readout.setWordWrap(True)
        self.readout.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._arrangement: tuple[int, bool, bool] | None = None
        self._lay_out()
        self._connect()

    def _make_after(self) -> QSpinBox:
        after = QSpinBox()
        after.setPrefix("after ")
        after.setRange(0, AFTER)
        after.setValue(AFTER)
        after.setToolTip(wrapped(AFTER_TIP))
        after.setAccessibleName("First position that stability is measured from")
        after.setAlignment(Qt.AlignmentFlag.AlignCenter)
        after.setFixedWidth(after.fontMetrics().horizontalAdvance("after 0000") + 3 * GRID)
        # Each digit typed would be a wish of its own.
        after.setKeyboardTracking(False)
        return after

    def _connect(self) -> None:
        self.help.clicked.connect(self._explain)
        self.quantity.chosen.connect(self.quantityRequested)
        self.kind.chosen.connect(lambda kind: self.centredRequested.emit(kind == "centred"))
        self.after.valueChanged.connect(self.afterRequested)
        self.default.clicked.connect(lambda: self.afterRequested.emit(AFTER))
        self.bulk.toggled.connect(self.bulkToggled)
        self.reset.clicked.connect(self.resetRequested)
        self.overlay.clicked.connect(
            lambda: self.overlaysRequested.emit(
                self.overlay.mapToGlobal(QPoint(0, self.overlay.height()))
            )
        )
        self.sphere.clicked.connect(self.sphereRequested)
        self.more.clicked.connect(
            lambda: self.menuRequested.emit(self.more.mapToGlobal(QPoint(0, self.more.height())))
        )

    # What the session says.

    def show_choices(self, quantity: str, *, centred: bool, sphere: bool) -> None:
        """Show what is chosen without telling anybody."""
        self.quantity.show_value(quantity)
        self.kind.show_value("centred" if centred else "raw")
        own = quantity == "residual"
        self.kind.setEnabled(not own)
        self.overlay.setEnabled(not own)
        self.overlay.setToolTip(wrapped(NO_OVERLAY_TIP if own else OVERLAY_TIP))
        self.sphere.setChecked(sphere)

    def show_reading(self, reading: Reading, others: Sequence[Beside] = ()) -> None:
        """Say what is drawn and describe it."""
        formula, meaning = TITLES[reading.quantity, reading.centred]
        self.formula.setText(formula)
        self.formula.setToolTip(wrapped(f"{formula} {meaning}\n{MEANINGS[reading.quantity]}"))
        self.meaning.setText(meaning)
        self.help.setToolTip(wrapped(HELP[reading.quantity]))
        self.readout.setText(summary(reading))
        rule = f"\n{OUTLIER_RULE}" if reading.quantity == "norm" else ""
        self.readout.setToolTip(wrapped(stretch_note(reading) + rule))
        self.bulk.setToolTip(wrapped(bulk_note(reading, others)))
        self._show_after(reading)
        self._arrange()

    def show_nothing(self, quantity: Quantity) -> None:
        """Say what is to be drawn while there is nothing to draw."""
        formula, meaning = TITLES[quantity, False]
        self.formula.setText(formula)
        self.meaning.setText(meaning)
        self.readout.setText("")
        self._arrange()

    def _show_after(self, reading: Reading) -> None:
        blocked = self.after.blockSignals(True)
        self.after.setMaximum(max(len(reading.source) - 2, reading.after, 0))
        self.after.setValue(reading.after)
        self.after.blockSignals(blocked)
        self.default.setEnabled(reading.after != AFTER)

    # Where everything is.

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the parts for the new width."""
        super().resizeEvent(event)
        self._arrange()

    def _lay_out(self) -> None:
        # Children from the start: they are laid out when the width is known, which may be never.
        self._what, self._how = QWidget(self), QWidget(self)
        self.readout.setParent(self)
        for row, parts in ((self._what, self._what_parts()), (self._how, self._how_parts())):
            flow = FlowRow(row, GRID // 2)
            for part in parts:
                flow.addWidget(part)
        # Hidden it keeps its room, lest zooming should move everything.
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        self.reset.hide()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self._grid.setColumnStretch(2, 1)

    def _what_parts(self) -> tuple[QWidget, ...]:
        return (self.quantity, self.formula, self.meaning, self.help, self.kind)

    def _how_parts(self) -> tuple[QWidget, ...]:
        return (
            self.after, self.default, self.overlay, self.sphere, self.more, self.bulk, self.reset,
        )  # fmt: skip

    def _arrange(self) -> None:
        widths = {part: part.sizeHint().width() for part in self._what_parts() + self._how_parts()}
        fitting = (a for a in _ARRANGEMENTS if self._fits(*a, widths))
        arrangement = next(fitting, _NARROW)
        if arrangement == self._arrangement:
            return
        self._arrangement = arrangement
        rows, meaning, short = arrangement
        self.meaning.setVisible(meaning)
        self.bulk.setText(_WORDS[short][0])
        self.reset.setText(_WORDS[short][1])
        # Row, column, and how many columns.
        places = {
            1: ((0, 0, 1), (0, 1, 1), (0, 2, 1)),
            2: ((0, 0, 3), (1, 0, 1), (1, 1, 2)),
            3: ((0, 0, 3), (1, 0, 3), (2, 0, 3)),
        }[rows]
        parts = (self._what, self._how, self.readout)
        for part, (row, column, columns) in zip(parts, places, strict=True):
            self._grid.addWidget(part, row, column, 1, columns)
        side = Qt.AlignmentFlag.AlignLeft if rows == 3 else Qt.AlignmentFlag.AlignRight
        self.readout.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)

    def _fits(self, rows: int, meaning: bool, short: bool, widths: Mapping[QWidget, int]) -> bool:
        """Tell whether an arrangement has room for all its words."""
        parts = [part for part in self._what_parts() if meaning or part is not self.meaning]
        what = sum(widths[part] for part in parts) + GRID // 2 * (len(parts) - 1)
        parts = list(self._how_parts())
        how = sum(widths[part] for part in parts) + GRID // 2 * (len(parts) - 1)
        for button, text in zip((self.bulk, self.reset), _WORDS[short], strict=True):
            metrics = button.fontMetrics()
            how += metrics.horizontalAdvance(text) - metrics.horizontalAdvance(button.text())
        if rows == 2 and what > self.width():
            return False
        gap = 2 * GRID
        room = self.width() - how - gap - (what + gap if rows == 1 else 0)
        metrics = self.readout.fontMetrics()
        flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft
        needed = metrics.boundingRect(QRect(0, 0, max(room, 1), 1000), flags, self.readout.text())
        lines = _READOUT_LINES * metrics.lineSpacing()
        return needed.width() <= room and needed.height() <= lines

    def _explain(self) -> None:
        at = self.help.mapToGlobal(QPoint(0, self.help.height()))
        QToolTip.showText(at, self.help.toolTip(), self.help)


def _button(text: str, tooltip: str, name: str = "") -> QPushButton:
    made = QPushButton()
    made.setText(text)
    made.setToolTip(wrapped(tooltip))
    made.setAccessibleName(name or text)
    return made
