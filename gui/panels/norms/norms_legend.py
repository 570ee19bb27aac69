"""Beside the norms: which curve is which model, how steady each is, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.panels.norms.norms_compared import laid_over, note_of
from gui.panels.norms.norms_reading import Reading, overlay_stretch
from gui.state.session import Session
from gui.style.theme import GRID, format_number, format_percent
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

WIDTH, SHARE, HEIGHT = 296, 0.45, 112
"""Pixels that the legend takes beside the plot, at most this share; and its height below it."""
QWIDGETSIZE_MAX = 16777215
SWATCH = QSize(24, 18)
NUMBERS_TIP = (
    "From “after” to the last but one of each model's positions; over all where there are too few"
)


@dataclass(frozen=True, slots=True)
class NormsRow:
    """One model.

    Attributes
    ----------
    source
        What was opened for it; "" for the open model, which stays.
    color, name, tooltip
        Of its curve; what it is called; more about it.
    mean, cv
        Of what is drawn, as it was measured; None where there is nothing to measure.
    known
        Whether the model has been read.
    shown
        Whether its curve is drawn.
    stays
        Whether it cannot be taken out here, as the open model and those shown beside it.
    """

    source: str
    color: str
    name: str
    tooltip: str
    mean: float | None
    cv: float | None
    known: bool
    shown: bool
    stays: bool = False

    @property
    def numbers(self) -> tuple[str, ...]:
        """What its line says: mean and cv, or that they are on the way."""
        if not self.known:
            return ("reading…",)
        if self.mean is None or self.cv is None:
            return ("–", "–")
        return format_number(self.mean), format_percent(self.cv)

    @property
    def looks(self) -> tuple[object, ...]:
        """What its line is made of: the numbers alone may change in place."""
        stays = self.stays
        numbers = len(self.numbers)
        return (self.source, self.color, self.name, self.tooltip, self.shown, stays, numbers)


class NormsLegend(QWidget):
    """A line for each model: hide, show, remove; and above them what is compared.

    Signals
    -------
    removed(str), toggled(str, bool)
        A source is to go, to be drawn or to be hidden.
    relativeRequested(bool)
        Values divided by each model's mean, or as they are.
    """

    removed = Signal(str)
    toggled = Signal(str, bool)
    relativeRequested = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scale = Segmented(
            (
                ("raw", "As they are", "In the units of each table"),
                ("relative", "Over the mean", "Each divided by its own mean over the stretch, so"
                 " that models of other widths can be compared"),
            ),
            "Compare",
        )  # fmt: skip
        self.scale.chosen.connect(lambda how: self.relativeRequested.emit(how == "relative"))
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, GRID // 2, 0, 0)
        layout.setSpacing(GRID // 2)
        layout.addWidget(self.scale)
        layout.addWidget(self._scroll, 1)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)
        self._rows: tuple[NormsRow, ...] = ()
        self._numbers: list[list[QLabel]] = []

    def fit(self, width: int, *, below: bool) -> None:
        """Take a share of what is so wide, or all of it below the plot."""
        if below:
            self.setFixedSize(width, HEIGHT)
        else:
            self.setFixedWidth(min(WIDTH, int(SHARE * width)))
            self.setMinimumHeight(0)
            self.setMaximumHeight(QWIDGETSIZE_MAX)

    def show_rows(self, rows: Sequence[NormsRow], *, relative: bool) -> None:
        """Show these models, the open one first."""
        self.scale.show_value("relative" if relative else "raw")
        before, self._rows = self._rows, tuple(rows)
        if [row.looks for row in before] != [row.looks for row in rows]:
            self._build()
        for labels, row in zip(self._numbers, rows, strict=True):
            for shown, text in zip(labels, row.numbers, strict=True):
                shown.setText(text)

    def _build(self) -> None:
        table = QWidget()
        grid = QGridLayout(table)
        grid.setContentsMargins(0, 0, GRID // 2, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(1, 1)
        for column, text in ((2, "mean"), (3, "cv")):
            title = label(text, "small")
            title.setToolTip(wrapped(NUMBERS_TIP))
            grid.addWidget(title, 0, column, Qt.AlignmentFlag.AlignRight)
        self._numbers = [self._add(grid, at, row) for at, row in enumerate(self._rows, start=1)]
        grid.setRowStretch(len(self._rows) + 1, 1)
        self._scroll.setWidget(table)

    def _add(self, grid: QGridLayout, at: int, row: NormsRow) -> list[QLabel]:
        """Add a line; return the labels of its numbers."""
        swatch = _Swatch(row)
        swatch.toggled.connect(lambda shown: self.toggled.emit(row.source, shown))
        name = _Elided(row.name)
        name.setToolTip(wrapped(row.tooltip))
        grid.addWidget(swatch, at, 0)
        grid.addWidget(name, at, 1)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        numbers = [label("", "" if row.known else "small") for _ in row.numbers]
        for column, shown in enumerate(numbers, start=2):
            grid.addWidget(shown, at, column, 1, 3 - len(numbers), right)
        if not row.stays:
            grid.addWidget(self._remove_button(row), at, 4)
        return numbers

    def _remove_button(self, row: NormsRow) -> QToolButton:
        button = QToolButton()
        button.setText("✕")
        button.setProperty("role", "title button")
        button.setToolTip(f"Take {row.name} out")
        button.setAccessibleName(f"Take {row.name} out")
        button.clicked.connect(lambda: self.removed.emit(row.source))
        return button


class _Swatch(QToolButton):
    """A short piece of the curve; a click hides or shows that."""

    def __init__(self, row: NormsRow) -> None:
        super().__init__()
        self._color, self._wide = QColor(row.color), not row.source
        self.setFixedSize(SWATCH)
        self.setCheckable(True)
        self.setChecked(row.shown)
        self.setEnabled(bool(row.source))
        self.setAccessibleName(f"Draw {row.name}")
        verb = "Hide" if row.shown else "Show"
        self.setToolTip(f"{verb} {row.name}" if row.source else row.tooltip)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if (self.underMouse() and self.isEnabled()) or self.hasFocus():
            painter.setPen(QPen(self.palette().color(self.foregroundRole()), 0.5))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        style = Qt.PenStyle.SolidLine if self.isChecked() else Qt.PenStyle.DotLine
        painter.setPen(QPen(self._color, 2.5 if self._wide else 1.5, style))
        middle = self.height() / 2
        painter.drawLine(4, round(middle), self.width() - 4, round(middle))


class _Elided(QWidget):
    """A name, as much of it as there is room for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._label = label(text)
        self._label.setParent(self)
        self._text = text
        self.setAccessibleName(text)
        self.setMinimumWidth(24)
        self.setMinimumHeight(self._label.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the name where the room ends."""
        metrics = self._label.fontMetrics()
        shown = metrics.elidedText(self._text, Qt.TextElideMode.ElideMiddle, self.width())
        self._label.setText(shown)
        self._label.setGeometry(self.rect())


def legend_rows(
    session: Session, reading: Reading, own: str, color: Callable[[int], str]
) -> list[NormsRow]:
    """Return a line for the open model, one for each overlay and each compared model.

    Parameters
    ----------
    session, reading
        What is open, and what is shown of it.
    own, color
        The open model's colour, and what gives an overlay's.
    """
    found = reading.stretch
    name = session.model.name if session.model is not None else "open model"
    rows = [NormsRow("", own, name, "The open model", found.mean, found.cv, True, True, True)]
    for overlay in laid_over(session):
        measured = overlay_stretch(session, overlay)
        rows.append(
            NormsRow(
                overlay.source,
                color(overlay.color),
                overlay.name,
                note_of(session, overlay),
                None if measured is None else measured.mean,
                None if measured is None else measured.cv,
                overlay.lengths is not None,
                overlay.shown,
                stays=bool(overlay.key),
            )
        )
    return rows
