"""A choice of matrices, several at once: P, E, and the weights of a layer."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QToolButton, QWidget

from geometry.models.residual_stream import NAMES, Name, Subject
from gui.panels.kit.subject_text import WORDS
from gui.style.theme import GRID
from gui.widgets.drop_down import DropDown
from gui.widgets.flow_row import FlowRow
from gui.widgets.tooltips import wrapped

WIDTHS = {1: 24, 3: 38, 4: 40}
"""Width of a chip by the length of its name, in pixels."""


class MatrixChips(QWidget):
    """A button for each matrix; weights are those of the chosen layer.

    Matrices of other layers stay chosen; P is chosen if nothing else is.
    """

    changed = Signal(tuple)
    """The chosen subjects, in order of choice."""

    def __init__(self) -> None:
        super().__init__()
        self.chips: dict[Name, QToolButton] = {}
        self.layer = DropDown()
        self.layer.setToolTip(wrapped("The layer of the weights selected by the buttons"))
        self.layer.setAccessibleName("Layer")
        self._subjects: tuple[Subject, ...] = ()
        self._missing: Mapping[str, str] = {}
        row = FlowRow(self, GRID // 2)
        for name in NAMES:
            if name == "W_Q":
                row.addWidget(self.layer)
            self.chips[name] = chip = QToolButton()
            chip.setText(name)
            chip.setCheckable(True)
            chip.setProperty("class", "chip")
            chip.setFixedWidth(WIDTHS[len(name)])
            chip.setAccessibleName(name)
            chip.clicked.connect(lambda on, name=name: self._on_clicked(name, on))
            row.addWidget(chip)
        self.layer.currentIndexChanged.connect(self._show)
        self.set_model(None, {})

    def set_model(self, n_layers: int | None, missing: Mapping[str, str]) -> None:
        """Offer the matrices of a model.

        Parameters
        ----------
        n_layers
            Number of layers; None if unknown.
        missing
            See :attr:`geometry.models.model.PositionalModel.missing`.
        """
        self._missing = missing
        with QSignalBlocker(self.layer):
            self.layer.clear()
            self.layer.addItems([f"Layer {layer}" for layer in range(max(n_layers or 1, 1))])
        self._show()

    def show_subjects(self, subjects: tuple[Subject, ...]) -> None:
        """Switch buttons on and off without a signal."""
        self._subjects = subjects
        self._show()

    def subject(self, name: Name) -> Subject:
        """Return the subject of a button."""
        layer = 0 if name in ("P", "E") else max(self.layer.currentIndex(), 0)
        return Subject(name, layer)

    def _show(self) -> None:
        for name, chip in self.chips.items():
            why = self._missing.get("W_E" if name == "E" else name, "")
            here = name == "P" or not why
            chip.setEnabled(here or self.subject(name) in self._subjects)
            chip.setChecked(self.subject(name) in self._subjects)
            chip.setToolTip(wrapped(WORDS[name] if here else f"{WORDS[name]}. Missing: {why}."))

    def _on_clicked(self, name: Name, on: bool) -> None:
        subject = self.subject(name)
        others = tuple(other for other in self._subjects if other != subject)
        self.show_subjects((*others, subject) if on else others or (Subject("P"),))
        self.changed.emit(self._subjects)
