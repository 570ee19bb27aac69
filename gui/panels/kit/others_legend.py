"""A legend of the models' curves; a click hides or shows another model's curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from gui.state.colors import model_color
from gui.style.sentences import ranged
from gui.style.theme import GRID, SMALL, Theme, format_bytes
from gui.widgets.fonts import sized
from gui.widgets.label import label
from gui.widgets.shapes import draw_sample
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.answer import Answer
    from gui.state.session import Session

HEIGHT = 20
SWATCH, GAP = 16, 4
NAMED = 72
"""Minimum width of a model with a legible name, in pixels."""


@dataclass(frozen=True, slots=True)
class OtherCurve:
    """Another open model's curve in a panel."""

    key: int  # Key of the model
    name: str  # Its name, with range and number where necessary to make it unique
    color: int  # Index of its colour among those for several curves
    shown: bool  # Whether it is shown
    session: Session  # The model's
    # The model, None while it is loading; its shown positions.
    model: PositionalModel | None
    positions: tuple[int, int]
    answer: Answer | None  # Answer to the panel's current question; None while there is none
    failed: str = ""  # Why the model could not be opened, as a sentence

    @property
    def result(self) -> Any:
        """The result, or None while there is none."""
        return self.answer.result if self.answer and self.answer.state == "ready" else None


class OthersLegend(QWidget):
    """One row: the drawn quantity, the open model, and a button for each other model.

    Long names are elided; tooltips have them in full.
    """

    toggled = Signal(int)
    """The model of this key is to be hidden or shown."""
    fetchRequested = Signal(int)
    """The user agrees to the download for the curve of the model of this key."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._curves: tuple[OtherCurve, ...] = ()
        self._text_of: Callable[[OtherCurve], str] = lambda _: ""
        self.chips: dict[int, ModelChip] = {}
        self.words = label("", "small")
        self.words.setParent(self)
        self.own = ModelChip(self)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_curves(
        self,
        words: str,
        own: tuple[str, str],
        curves: Sequence[OtherCurve],
        text_of: Callable[[OtherCurve], str],
    ) -> None:
        """Show these models.

        Parameters
        ----------
        words
            The drawn quantity.
        own
            Name and colour of the open model.
        curves
            Of the others, in their order.
        text_of
            Returns the tooltip of a curve, such as its value at a cursor.
        """
        self._curves, self._text_of = tuple(curves), text_of
        self.words.setText(f"{words}:")
        self.setToolTip(wrapped(words))
        self.own.show_own(*own, self.theme)
        keys = [curve.key for curve in curves]
        if keys != list(self.chips):
            self._arrange(keys)
        for curve in curves:
            self.chips[curve.key].show_curve(curve, self.theme, text_of)
        self._place()

    def forget(self) -> None:
        """Release the models until the next :meth:`show_curves`."""
        self._curves, self._text_of = (), lambda _: ""

    def update_tooltips(self) -> None:
        """Update the tooltips."""
        for curve in self._curves:
            self.chips[curve.key].show_curve(curve, self.theme, self._text_of)

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.update_tooltips()

    def _arrange(self, keys: list[int]) -> None:
        """Add buttons for new models and remove those of others."""
        for key in [key for key in self.chips if key not in keys]:
            self.chips.pop(key).deleteLater()
        before: QWidget = self.words
        chips = {key: self.chips.get(key) or self._make(key) for key in keys}
        for chip in chips.values():
            chip.show()
            QWidget.setTabOrder(before, chip)
            before = chip
        self.chips = chips

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        chips, gap = [self.own, *self.chips.values()], GRID // 2
        hints = [chip.sizeHint().width() for chip in chips]
        words = self.words.sizeHint().width() + gap
        room = self.width() - gap * (len(chips) - 1)
        # In little room the names have priority; the tooltip has the quantity.
        with_words = room - words >= sum(min(hint, NAMED) for hint in hints)
        self.words.setVisible(with_words)
        self.words.setGeometry(0, 0, words, HEIGHT)
        x = words if with_words else 0
        for chip, width in zip(chips, shares(hints, room - x), strict=True):
            chip.setGeometry(x, 0, width, HEIGHT)
            x += width + gap

    def _make(self, key: int) -> ModelChip:
        chip = ModelChip(self)
        chip.clicked.connect(lambda: self._on_clicked(key))
        return chip

    def _on_clicked(self, key: int) -> None:
        curve = next(curve for curve in self._curves if curve.key == key)
        if curve.answer is not None and curve.answer.state in ("to fetch", "cancelled"):
            self.fetchRequested.emit(key)
        else:
            self.toggled.emit(key)


def shares(wanted: Sequence[int], room: int) -> list[int]:
    """Return widths for a total: the wanted ones, limited to equal shares if they do not fit."""
    widths = [0] * len(wanted)
    left = max(room, 0)
    for done, at in enumerate(sorted(range(len(wanted)), key=lambda n: wanted[n])):
        widths[at] = min(wanted[at], left // (len(wanted) - done))
        left -= widths[at]
    return widths


class ModelChip(QToolButton):
    """A sample of a model's curve, and its name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._color, self._text, self._faint = QColor(), "", False

    def show_own(self, name: str, color: str, theme: Theme) -> None:
        """Show the open model's curve, which cannot be hidden."""
        self.setEnabled(False)
        self._show(name, color, theme, faint=False)
        self.setToolTip(wrapped(name))
        self.setAccessibleName(name)

    def show_curve(
        self, curve: OtherCurve, theme: Theme, text_of: Callable[[OtherCurve], str]
    ) -> None:
        """Show a model's curve, or why there is none."""
        self.setChecked(curve.shown)
        note, why = _state(curve)
        faint = not curve.shown or bool(note)
        text = f"{curve.name} {note}".rstrip()
        self._show(text, model_color(curve.color, theme), theme, faint=faint)
        verb = "Hide" if curve.shown else "Show"
        lines = [curve.name if curve.model is None else _ranged(curve)]
        lines.append(why or text_of(curve))
        if not why or curve.result is not None:
            lines.append(f"Click to {verb.lower()} its curve")
        self.setToolTip(wrapped("\n".join(line for line in lines if line)))
        self.setAccessibleName(f"{verb} {text}")

    def _show(self, text: str, name: str, theme: Theme, *, faint: bool) -> None:
        color, self._tone = QColor(name), QColor(theme.muted if faint else theme.text)
        if (text, color, faint) != (self._text, self._color, self._faint):
            self._text, self._color, self._faint = text, color, faint
            self.updateGeometry()
            self.update()

    @property
    def shown_text(self) -> str:
        """The full name and state."""
        return self._text

    def sizeHint(self) -> QSize:
        width = QFontMetrics(self._font()).horizontalAdvance(self._text)
        return QSize(SWATCH + width + 4 * GAP, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(SWATCH + 2 * GAP, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font())
        if self.isEnabled() and (self.underMouse() or self.hasFocus()):
            painter.setPen(QPen(self._tone, 1.0 if self.hasFocus() else 0.5))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        middle = self.height() // 2
        style = Qt.PenStyle.DotLine if self._faint else Qt.PenStyle.SolidLine
        pen = QPen(self._color, 2, style)
        draw_sample(painter, self._color, GAP, SWATCH - 2, middle, pen)
        left = SWATCH + 2 * GAP
        room = max(self.width() - left - GAP, 0)
        shown = painter.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideMiddle, room)
        painter.setPen(self._tone)
        painter.drawText(left, 0, room, self.height(), Qt.AlignmentFlag.AlignVCenter, shown)

    def _font(self) -> QFont:
        return sized(self.font(), SMALL)


def _ranged(curve: OtherCurve) -> str:
    assert curve.model is not None
    return f"{curve.model.name} · {ranged(curve.model, curve.positions)}"


def _state(curve: OtherCurve) -> tuple[str, str]:
    """Return a sign and a sentence for a model without a curve; empty texts for others."""
    answer = curve.answer
    if curve.failed:
        return "–", curve.failed
    if curve.model is None:
        return "…", "The model is loading."
    if answer is None or answer.state == "working":
        return "…", "Its curve is being computed."
    if answer.state == "to fetch":
        size = format_bytes(answer.bytes_to_fetch) if answer.bytes_to_fetch else ""
        what = size or "the data it needs"
        return f"↓ {size}".rstrip(), f"Click to download {what} from the Hub."
    if answer.state == "cancelled":
        return "–", "Cancelled. Click to compute it."
    if answer.state == "impossible":
        return "–", answer.why
    return "", ""
