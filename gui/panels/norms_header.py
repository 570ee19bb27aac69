"""The line above the norms: formula, controls and readout, on as few rows as the width allows."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolTip,
    QWidget,
)

from geometry.norms import NormProfile
from gui.panels.base import label
from gui.panels.norms_text import (
    HELP,
    OUTLIER_RULE,
    TITLES,
    bulk_note,
    stretch_note,
    summary,
)
from gui.panels.segmented import Segmented
from gui.theme import GRID
from gui.tooltips import wrapped

_WORDS = {False: ("Zoom to the bulk", "Show all"), True: ("Bulk", "All")}
"""What the buttons say, by whether there is little room."""
_ARRANGEMENTS = ((1, True, False), (1, False, False), (1, False, True), (2, False, True))
"""Rows, whether the formula is put in words, short words on buttons: the best first."""
_NARROW = (3, False, True)
_READOUT_LINES = 2


class NormsHeader(QWidget):
    """What is drawn, raw or row-centred, the zooms, and how stable the norms are.

    Signals
    -------
    centredRequested(bool)
        The user wants norms of row-centred rows, or of raw ones.
    bulkToggled(bool)
        The axis is to hold the bulk of the norms alone, or all of them.
    resetRequested()
        Everything is to be in sight again.
    """

    centredRequested = Signal(bool)
    bulkToggled = Signal(bool)
    resetRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.formula, self.meaning = label(TITLES[False][0]), label(TITLES[False][1], "muted")
        self.help = _button("?", HELP, "What this shows")
        self.kind = Segmented(
            (
                ("raw", "Raw", "Norms of the rows as they are stored"),
                (
                    "centred",
                    "Row-centred",
                    "Norms of the rows, each minus its mean over d_model, which LayerNorm removes"
                    " anyway",
                ),
            ),
            "Rows",
        )
        self.bulk = _button(_WORDS[False][0], "")
        self.bulk.setCheckable(True)
        self.reset = _button(_WORDS[False][1], "Show all positions again (F, or double-click)")
        self.reset.hide()
        self.readout = label("", "small", selectable=True)
        self.readout.setWordWrap(True)
        self.readout.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._arrangement: tuple[int, bool, bool] | None = None
        self._lay_out()
        self.help.clicked.connect(self._explain)
        self.kind.chosen.connect(lambda kind: self.centredRequested.emit(kind == "centred"))
        self.bulk.toggled.connect(self.bulkToggled)
        self.reset.clicked.connect(self.resetRequested)

    def show_kind(self, centred: bool) -> None:
        """Switch between raw and row-centred without telling anybody."""
        self.kind.show_value("centred" if centred else "raw")

    def show_profile(self, profile: NormProfile) -> None:
        """Say what is drawn and describe it."""
        formula, meaning = TITLES[profile.centred]
        self.formula.setText(formula)
        self.formula.setToolTip(wrapped(f"{formula} {meaning}"))
        self.meaning.setText(meaning)
        self.readout.setText(summary(profile))
        self.readout.setToolTip(wrapped(f"{stretch_note(profile)}\n{OUTLIER_RULE}"))
        self.bulk.setToolTip(wrapped(bulk_note(profile)))
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the parts for the new width."""
        super().resizeEvent(event)
        self._arrange()

    def _lay_out(self) -> None:
        # Children from the start: they are laid out when the width is known, which may be never.
        self._heading, self._controls = QWidget(self), QWidget(self)
        self.readout.setParent(self)
        for part, widgets in (
            (self._heading, (self.formula, self.meaning, self.help)),
            (self._controls, (self.kind, self.bulk, self.reset)),
        ):
            row = QHBoxLayout(part)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(GRID // 2)
            for widget in widgets:
                row.addWidget(widget)
            row.addStretch(1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self._grid.setColumnStretch(2, 1)

    def _arrange(self) -> None:
        fitting = (a for a in _ARRANGEMENTS if self._fits(*a))
        arrangement = next(fitting, _NARROW)
        if arrangement == self._arrangement:
            return
        self._arrangement = arrangement
        rows, meaning, short = arrangement
        self.meaning.setVisible(meaning)
        self.bulk.setText(_WORDS[short][0])
        self.reset.setText(_WORDS[short][1])
        self._grid.addWidget(self._heading, 0, 0)
        below = rows == 3
        self._grid.addWidget(self._controls, int(below), 0 if below else 1, 1, 3 if below else 1)
        beside = rows == 1
        self._grid.addWidget(self.readout, rows - 1, 2 if beside else 0, 1, 1 if beside else 3)
        side = Qt.AlignmentFlag.AlignRight if beside else Qt.AlignmentFlag.AlignLeft
        self.readout.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)

    def _fits(self, rows: int, meaning: bool, short: bool) -> bool:
        """Tell whether an arrangement has room for all its words."""
        gap = GRID // 2
        words = _WORDS[short]
        used = self.formula.sizeHint().width() + gap + self.help.sizeHint().width()
        used += meaning * (gap + self.meaning.sizeHint().width())
        used += 2 * GRID + self.kind.sizeHint().width()
        # "Show all" keeps its room while it is hidden, lest zooming should move everything.
        for button, text in zip((self.bulk, self.reset), words, strict=True):
            used += gap + _width_with(button, text)
        if rows > 1:
            return used <= self.width()
        room = self.width() - used - 2 * GRID
        metrics = self.readout.fontMetrics()
        flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft
        needed = metrics.boundingRect(QRect(0, 0, max(room, 1), 1000), flags, self.readout.text())
        lines = _READOUT_LINES * metrics.lineSpacing()
        return needed.width() <= room and needed.height() <= lines

    def _explain(self) -> None:
        corner = self.help.mapToGlobal(QPoint(0, self.help.height()))
        QToolTip.showText(corner, self.help.toolTip(), self.help)


def _width_with(button: QPushButton, text: str) -> int:
    """Return the width that a button would like with another text."""
    metrics = button.fontMetrics()
    change = metrics.horizontalAdvance(text) - metrics.horizontalAdvance(button.text())
    return button.sizeHint().width() + change


def _button(text: str, tooltip: str, name: str = "") -> QPushButton:
    made = QPushButton()
    made.setText(text)
    made.setToolTip(wrapped(tooltip))
    made.setAccessibleName(name or text)
    return made
