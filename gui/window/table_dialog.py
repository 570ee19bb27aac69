"""The dialog that asks which tensor is the position table, and which of its rows is position 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QRadioButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from geometry.checkpoints.plain_text import visible
from geometry.models.recognition.first_rows import EXAMPLES, rows_from
from geometry.models.recognition.names_and_shapes import table_shape
from gui.style.theme import GRID, format_count
from gui.widgets.boxes import vbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.checkpoints.stores import TensorInfo

WIDTH, HEIGHT = 72 * GRID, 54 * GRID
WHICH = "Which of these tensors has a row for each position?"
FIRST = "First rows that are no positions"
AUTOMATIC = "Automatic: by the model’s family, if it is known, otherwise none"
_AUTOMATIC = -2  # The id of its button; Qt replaces -1


class TableDialog(QDialog):
    """Asks for a table; :attr:`table` is the choice, once it is accepted.

    Parameters
    ----------
    candidates
        The tensors to choose from, the likeliest first.
    first_rows
        Possible rows of position 0, none of them preselected, if there is one candidate; empty to
        ask for the tensor as well.
    """

    def __init__(
        self, parent: QWidget, candidates: Sequence[TensorInfo], first_rows: Sequence[int] = ()
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Choose the rows" if first_rows else "Choose the position table")
        self._candidates = candidates
        self.list = QTreeWidget(self)
        self.list.setVisible(not first_rows)
        self.rows = QButtonGroup(self)
        self.buttons = QDialogButtonBox()
        self.choose = self.buttons.addButton("Choose", QDialogButtonBox.ButtonRole.AcceptRole)
        self.choose.setDefault(True)
        cancel = self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        cancel.setAutoDefault(False)  # Enter chooses, or does nothing
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._fill_list()
        for first in first_rows or (_AUTOMATIC, *EXAMPLES):
            self._add_row(first)
        fields = self._row_fields() if first_rows else self._table_fields()
        vbox((fields, 1), self.buttons, parent=self, spacing=2 * GRID, margins=2 * GRID)
        self.list.currentItemChanged.connect(self._show_counts)
        self.rows.buttonToggled.connect(self._update_button)
        self._show_counts()
        (self.rows.buttons()[0] if first_rows else self.list).setFocus()

    @property
    def table(self) -> str:
        """The chosen tensor or rows of it, as an argument of ``open_model``."""
        name, first = self._candidate.name, self.rows.checkedId()
        return name if first == _AUTOMATIC else rows_from(name, first)

    @property
    def _candidate(self) -> TensorInfo:
        return self._candidates[max(self.list.currentIndex().row(), 0)]

    def _fill_list(self) -> None:
        self.list.setAccessibleName(WHICH)
        self.list.setHeaderLabels(["Tensor", "Rows × columns"])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.list.headerItem().setTextAlignment(1, right)
        for tensor in self._candidates:
            row = QTreeWidgetItem(self.list, [visible(tensor.name), _shape(tensor)])
            row.setToolTip(0, wrapped(tensor.name))
            row.setTextAlignment(1, right)
        self.list.setCurrentIndex(self.list.model().index(0, 0))
        self.list.itemActivated.connect(self.choose.click)

    def _add_row(self, first: int) -> None:
        button = QRadioButton(AUTOMATIC)
        button.setChecked(first == _AUTOMATIC)
        self.rows.addButton(button, first)

    def _table_fields(self) -> QVBoxLayout:
        self.resize(WIDTH, HEIGHT)
        rows = vbox(label(FIRST, "muted"), *self._row_buttons(), spacing=GRID // 2)
        return vbox(label(WHICH), (self.list, 1), rows, spacing=GRID)

    def _row_fields(self) -> QVBoxLayout:
        tensor = self._candidate
        n_rows = format_count(table_shape(tensor)[0])
        what = label(f"{tensor.name} has {n_rows} rows.", wrap=True)
        what.setFixedWidth(WIDTH)
        return vbox(what, label(FIRST, "muted"), *self._row_buttons(), 1, spacing=GRID)

    def _row_buttons(self) -> Iterator[tuple[QWidget, int, Qt.AlignmentFlag]]:
        return ((button, 0, Qt.AlignmentFlag.AlignLeft) for button in self.rows.buttons())

    def _show_counts(self) -> None:
        """Show the number of positions of the chosen tensor for each choice."""
        n_rows = table_shape(self._candidate)[0]
        for button in self.rows.buttons():
            first = self.rows.id(button)
            if first == _AUTOMATIC:
                continue
            known = f", as in {EXAMPLES[first]}" if first in EXAMPLES else ""
            left = n_rows - first
            count = f"{format_count(left) if left > 0 else 'no'} position{'s' * (left != 1)}"
            button.setText(f"{first}{known}: {count}")
            button.setEnabled(left > 0)
        self._update_button()

    def _update_button(self) -> None:
        checked = self.rows.checkedButton()
        self.choose.setEnabled(checked is not None and checked.isEnabled())


def _shape(table: TensorInfo) -> str:
    return " × ".join(map(format_count, table_shape(table)))
