"""Which matrix of a model is looked at, and how: its layer, its head, its side."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpinBox, QWidget

from geometry.models.model import PositionalModel
from geometry.models.residual_stream import NAMES, Subject
from gui.panels.overlaps_question import TABLES, WITH_HEADS, side_of
from gui.style.sentences import as_sentence
from gui.style.theme import GRID, Theme
from gui.widgets.drop_down import DropDown
from gui.widgets.tooltips import wrapped

MANY = 1000
"""Layers on offer where the configuration does not say how many there are."""
_WHAT = {
    "P": "The position table, row i for position i",
    "E": "The token embeddings",
    "W_Q": "Attention's query weights",
    "W_K": "Attention's key weights",
    "W_V": "Attention's value weights",
    "W_O": "What brings attention's output back into the residual stream (“proj”)",
    "W_in": "The MLP's fan-out weights (W₁)",
}
_SIDES = {
    "input": "The directions that a matrix reads (right singular vectors)",
    "output": "The directions that a matrix writes (left singular vectors); of W_O these are the"
    " ones in the residual stream",
}


class SubjectPicker(QWidget):
    """A matrix by name, and of a weight its layer, one head or all, and the side.

    Its parts come and go in a row that is in no layout: else each would lay out the whole window.

    Parameters
    ----------
    name
        The accessible name of the choice, such as "Rows".
    subject
        What is chosen at first.
    """

    changed = Signal()
    """The user chose something else."""

    def __init__(self, name: str, subject: Subject, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model: PositionalModel | None = None
        self._subject = subject
        self._whole = False
        self.name, self.side = DropDown(), DropDown()
        self.layer, self.head = QSpinBox(), QSpinBox()
        self._fill(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # What only weights have comes and goes in one piece.
        self._of_weights = _row(self.layer, self.head, self.side)
        self._row = _row(self.name, self._of_weights)
        self._row.setParent(self)
        self.show_subject(subject)
        self.name.activated.connect(self._on_name)
        for signal in (self.layer.valueChanged, self.head.valueChanged, self.side.activated):
            signal.connect(self._on_changed)

    # The row's place.

    def sizeHint(self) -> QSize:
        """Return the size of the row."""
        return self._row.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Return the least size of the row."""
        return self._row.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the row as large."""
        super().resizeEvent(event)
        self._row.setGeometry(self.rect())

    def event(self, event: QEvent) -> bool:
        """Ask for another size only when the row does."""
        if event.type() == QEvent.Type.LayoutRequest and self._row.sizeHint() != self._asked:
            self._asked = self._row.sizeHint()
            self.updateGeometry()
        return super().event(event)

    _asked = QSize()

    # What is chosen.

    @property
    def subject(self) -> Subject:
        """What is chosen; what the model has fewer of is cut to what it has."""
        return self._subject

    def show_subject(self, subject: Subject) -> None:
        """Show a choice without telling anybody."""
        self._subject = subject
        self.name.setCurrentIndex(self.name.findData(subject.name))
        for spin, value in (
            (self.layer, subject.layer),
            (self.head, -1 if subject.head is None else subject.head),
        ):
            if spin.value() != value:  # else it would be painted all the same
                blocked = spin.blockSignals(True)
                spin.setValue(value)
                spin.blockSignals(blocked)
        self.side.setCurrentIndex(self.side.findData(side_of(subject)))
        self._show_parts()

    def show_model(self, model: PositionalModel | None, theme: Theme) -> None:
        """Offer what a model has; what its checkpoint lacks is grey and says why."""
        self._model = model
        missing = {} if model is None else model.missing
        for index, name in enumerate(NAMES):
            why = missing.get("W_E" if name == "E" else name)
            self.name.setItemData(
                index,
                wrapped(_WHAT[name] if why is None else f"{_WHAT[name]}. {as_sentence(why)}"),
                Qt.ItemDataRole.ToolTipRole,
            )
            color = None if why is None else QColor(theme.muted)
            self.name.setItemData(index, color, Qt.ItemDataRole.ForegroundRole)
        layers = 1 if model is None else model.n_layers or MANY
        heads = 0 if model is None else model.n_heads or 0
        for spin, last in ((self.layer, layers - 1), (self.head, heads - 1)):
            blocked = spin.blockSignals(True)
            spin.setMaximum(max(last, spin.minimum()))
            spin.blockSignals(blocked)
        self._subject = replace(self._subject, layer=self.layer.value(), head=self._head())
        self._show_parts()

    def show_layer_only(self, whole: bool, *, heads: bool) -> None:
        """Leave name and side out: a figure has its own; and perhaps the head."""
        self._whole, self._with_heads = whole, heads
        for widget in (self.name, self.side):
            policy = widget.sizePolicy()
            policy.setRetainSizeWhenHidden(not whole)
            widget.setSizePolicy(policy)
        self._show_parts()

    def _fill(self, name: str) -> None:
        for option in NAMES:
            self.name.addItem(option, option)
        for value, tip in _SIDES.items():
            self.side.addItem(f"{value} side", value)
            self.side.setItemData(self.side.count() - 1, wrapped(tip), Qt.ItemDataRole.ToolTipRole)
        self.layer.setPrefix("layer ")
        self.head.setPrefix("head ")
        self.head.setMinimum(-1)
        self.head.setMaximum(-1)
        self.head.setSpecialValueText("all heads")
        self.head.setFixedWidth(72)
        self.layer.setFixedWidth(64)
        for widget, what, tip in (
            (self.name, "matrix", "Which matrix; grey ones are not in this checkpoint"),
            (self.layer, "layer", "Layer, from 0: type, or step with the arrow keys or the wheel"),
            (self.head, "head", "One head's part, or all heads together, one below head 0"),
            (self.side, "side", "What the matrix reads, or what it writes"),
        ):
            widget.setAccessibleName(f"{name}: {what}")
            widget.setToolTip(wrapped(tip))
        for spin in (self.layer, self.head):
            spin.setAlignment(Qt.AlignmentFlag.AlignCenter)
            # Each digit typed would be a question of its own.
            spin.setKeyboardTracking(False)

    def _head(self) -> int | None:
        return self.head.value() if self.head.value() >= 0 else None

    def _show_parts(self) -> None:
        name = self._subject.name
        weight = self._whole or name not in TABLES
        heads = self._with_heads if self._whole else name in WITH_HEADS
        shown = {self.name: not self._whole, self._of_weights: weight}
        if weight:
            shown |= {self.head: heads and self.head.maximum() >= 0, self.side: not self._whole}
        for widget, seen in shown.items():
            if widget.isHidden() == seen:
                widget.setVisible(seen)

    _with_heads = True

    def _on_name(self) -> None:
        # Another matrix is looked at from the side that it has in the residual stream.
        self._subject = replace(self._subject, name=self.name.currentData(), side=None)
        self.side.setCurrentIndex(self.side.findData(side_of(self._subject)))
        self._show_parts()
        self.changed.emit()

    def _on_changed(self) -> None:
        self._subject = replace(
            self._subject,
            layer=self.layer.value(),
            head=self._head(),
            side=self.side.currentData(),
        )
        self.changed.emit()


def _row(*widgets: QWidget) -> QWidget:
    """Put widgets side by side; each keeps its place while it is hidden."""
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(GRID // 2)
    for widget in widgets:
        policy = widget.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        widget.setSizePolicy(policy)
        row.addWidget(widget)
    row.addStretch(1)
    return made
