"""The dialog that asks for the position table, its family, and the rows that are no positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon, QImage, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QCompleter,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QRadioButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import visible
from geometry.models.recognition.choice import Choice, family_named, family_names
from geometry.models.recognition.first_rows import EXAMPLES
from geometry.models.recognition.names_and_shapes import table_shape
from gui.style.theme import GRID, format_count
from gui.widgets.boxes import vbox
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.checkpoints.stores import TensorInfo

WIDTH, HEIGHT = 80 * GRID, 72 * GRID
PICTURE = QSize(9 * GRID, 6 * GRID)
WHICH = "Which of these tensors has a row for each position?"
FAMILY = "Family as which the model is read"
BY_NAMES = "Automatic; or such as gpt2, bert, roberta, vit, timm"
FIRST = "First rows that are no positions"
AUTOMATIC = "Automatic: by the model’s family, if it is known, otherwise none"
_AUTOMATIC = -2  # The id of its button; Qt replaces -1

Preview = Callable[[str, QSize, Callable[[QImage | None], None]], None]
"""Draws a tensor as a curve of a size, and passes the picture on later; None if it cannot be."""


class TableDialog(QDialog):
    """Asks for a table; :attr:`table` is the choice, once it is accepted.

    Parameters
    ----------
    candidates
        The tensors to choose from, the likeliest first.
    first_rows
        Possible rows of position 0, none of them preselected, if there is one candidate; empty to
        ask for the tensor as well.
    before
        What was chosen before.
    preview
        Draws the candidates; None for no pictures.
    """

    def __init__(
        self,
        parent: QWidget | None,
        candidates: Sequence[TensorInfo],
        first_rows: Sequence[int] = (),
        before: Choice | None = None,
        preview: Preview | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Choose the rows" if first_rows else "Choose the position table")
        self._candidates, self._preview = candidates, preview
        self._asked_rows = bool(first_rows)
        self._items: list[QTreeWidgetItem] = []
        self._drawn: set[int] = set()
        self._drawing = False
        before = before or Choice()
        self.list = QTreeWidget(self)
        self.family = QLineEdit(before.family)
        self.problem = label(role="muted", wrap=True)
        room = self.problem.sizePolicy()
        room.setRetainSizeWhenHidden(True)  # so that nothing moves while a family is typed
        self.problem.setSizePolicy(room)
        self.rows = QButtonGroup(self)
        self.buttons = QDialogButtonBox()
        self.choose = self.buttons.addButton("Choose", QDialogButtonBox.ButtonRole.AcceptRole)
        self.choose.setDefault(True)
        cancel = self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        cancel.setAutoDefault(False)  # Enter chooses, or does nothing
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._fill_list(before.table)
        self._fill_family()
        for first in (_AUTOMATIC, *(first_rows or EXAMPLES)):
            self._add_row(first, checked=first == before.first_rows)
        if self.rows.checkedButton() is None and not first_rows:
            self.rows.button(_AUTOMATIC).setChecked(True)
        self._lay_out()
        self.list.currentItemChanged.connect(self._show_counts)
        self.list.verticalScrollBar().valueChanged.connect(lambda _: self._draw_next())
        self.rows.buttonToggled.connect(self._update_button)
        self.family.textChanged.connect(self._on_family)
        self._show_counts()
        self._on_family()
        (self.rows.buttons()[1] if first_rows else self.list).setFocus()

    @property
    def table(self) -> str:
        """What was chosen, as the ``table`` argument of ``open_model``."""
        first = self.rows.checkedId()
        family = self.family.text().strip()
        return str(
            Choice(
                self._candidate.name,
                family_named(family) if family else "",
                None if first == _AUTOMATIC else first,
            )
        )

    @property
    def _candidate(self) -> TensorInfo:
        return self._candidates[max(self.list.currentIndex().row(), 0)]

    def showEvent(self, event: QShowEvent) -> None:
        """Draw the curves of the tensors in view."""
        super().showEvent(event)
        self._draw_next()

    def _fill_list(self, chosen: str) -> None:
        self.list.setAccessibleName(WHICH)
        self.list.setHeaderLabels(["Tensor", "Rows × columns"])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        if self._preview is not None:
            self.list.setIconSize(PICTURE)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.list.headerItem().setTextAlignment(1, right)
        empty = QPixmap(PICTURE)
        empty.fill(Qt.GlobalColor.transparent)
        for tensor in self._candidates:
            row = QTreeWidgetItem(self.list, [visible(tensor.name), _shape(tensor)])
            row.setToolTip(0, wrapped(tensor.name))
            row.setTextAlignment(1, right)
            self._items.append(row)
            if self._preview is not None:
                row.setIcon(0, QIcon(empty))
        names = [tensor.name for tensor in self._candidates]
        at = names.index(chosen) if chosen in names else 0
        self.list.setCurrentIndex(self.list.model().index(at, 0))
        self.list.itemActivated.connect(self.choose.click)

    def _fill_family(self) -> None:
        self.family.setAccessibleName(FAMILY)
        self.family.setPlaceholderText(BY_NAMES)
        self.family.setToolTip(
            wrapped(
                "A model_type of transformers, or the name of a training code: it overrides the "
                "model’s configuration, and names the layers, tokens and first rows"
            )
        )
        names = QCompleter(sorted(family_names()), self.family)
        names.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        names.setFilterMode(Qt.MatchFlag.MatchContains)
        self.family.setCompleter(names)

    def _add_row(self, first: int, *, checked: bool) -> None:
        button = QRadioButton(AUTOMATIC)
        self.rows.addButton(button, first)
        button.setChecked(checked)

    def _lay_out(self) -> None:
        left = Qt.AlignmentFlag.AlignLeft
        rows = vbox(
            label(FIRST, "muted"),
            *((button, 0, left) for button in self.rows.buttons()),
            spacing=GRID // 2,
        )
        family = vbox(label(FAMILY, "muted"), self.family, self.problem, spacing=GRID // 2)
        which = label(WHICH)
        which.setVisible(not self._asked_rows)
        column = vbox(which, (self.list, 1), family, rows, spacing=GRID)
        vbox((column, 1), self.buttons, parent=self, spacing=2 * GRID, margins=2 * GRID)
        self.resize(WIDTH, HEIGHT if len(self._candidates) > 1 else HEIGHT * 5 // 8)

    def _draw_next(self) -> None:
        """Draw the first tensor in view that is not drawn yet; others follow one by one."""
        at = next((at for at in self._in_view() if at not in self._drawn), None)
        if self._preview is None or self._drawing or at is None:
            return

        def use(picture: QImage | None) -> None:
            self._drawing = False
            if picture is not None:
                icon = QIcon(QPixmap.fromImage(picture))
                icon.addPixmap(QPixmap.fromImage(picture), QIcon.Mode.Selected)
                self._items[at].setIcon(0, icon)
            self._draw_next()

        self._drawn.add(at)
        self._drawing = True
        self._preview(self._candidates[at].name, PICTURE, use)

    def _in_view(self) -> range:
        """Return the rows of the list in view."""
        area, last = self.list.viewport().rect(), len(self._candidates) - 1
        top = self.list.indexAt(area.topLeft()).row()
        bottom = self.list.indexAt(area.bottomLeft()).row()
        return range(max(top, 0), (bottom if bottom >= 0 else last) + 1)

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

    def _on_family(self) -> None:
        """Check the family, which also tells the first rows."""
        name, problem = self.family.text().strip(), ""
        try:
            known = bool(name) and bool(family_named(name))
        except SourceError as error:
            known, problem = False, f"{error} {error.advice}"
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        automatic = self.rows.button(_AUTOMATIC)
        automatic.setEnabled(known or not self._asked_rows)
        if known and self.rows.checkedButton() is None:
            automatic.setChecked(True)
        self._update_button()

    def _update_button(self) -> None:
        checked = self.rows.checkedButton()
        rows = checked is not None and checked.isEnabled()
        self.choose.setEnabled(rows and not self.problem.text())


def _shape(table: TensorInfo) -> str:
    return " × ".join(map(format_count, table_shape(table)))
