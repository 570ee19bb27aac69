"""The dialog that asks for a list of tokens, and for the model whose embeddings are shown."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLayout,
    QLineEdit,
    QWidget,
)

from gui.style.theme import GRID
from gui.widgets.boxes import form, hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

WIDTH = 62 * GRID
ABOUT = (
    "Shows the embeddings of a list of tokens in the order of the list, as the positions of a "
    "model are shown. Numbers lie on a helix of several periods, days and months on circles. An "
    "entry that the model’s tokenizer splits is left out, and named."
)
_LISTS = (
    ("numbers", "Numbers 0 to 999"),
    ("weekdays", "Days of the week"),
    ("months", "Months"),
    ("years", "Years 1900 to 1999"),
    ("letters", "Letters a to z"),
    ("", "Own list"),
)
TEXT_FILES = "Text files (*.txt);;All files (*)"


class TokenDialog(QDialog):
    """Asks for a list and a model; :attr:`source` is the source to open, once it is accepted."""

    def __init__(self, parent: QWidget, source: str) -> None:
        super().__init__(parent)
        self.setWindowTitle("Token embeddings")
        self.words, self.file, self.model = DropDown(), QLineEdit(), QLineEdit(source)
        self.words.setAccessibleName("List")
        for name, text in _LISTS:
            self.words.addItem(text, name)
        self.file.setAccessibleName("File of the list")
        self.file.setPlaceholderText("A text file with an entry in each line")
        self.model.setAccessibleName("Model")
        self.model.setPlaceholderText("A folder, or a model’s id on the Hub")
        self.model.setToolTip(wrapped("A model with a tokenizer"))
        self.browse = push_button("File…")
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel
        )
        self._lay_out()
        self.words.currentIndexChanged.connect(self._show)
        for field in (self.file, self.model):
            field.textChanged.connect(self._show)
        self.browse.clicked.connect(self._choose)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._show()

    @property
    def source(self) -> str:
        """The chosen source."""
        words = self.words.currentData() or self.file.text().strip()
        return f"tokens:{words},{self.model.text().strip()}"

    def _lay_out(self) -> None:
        about = label(ABOUT, "muted", wrap=True)
        about.setFixedWidth(WIDTH)
        fields = QWidget()
        file = hbox((self.file, 1), self.browse, spacing=GRID)
        form(fields, (("List", self.words), ("File", file), ("Model", self.model)))
        column = vbox(about, fields, self.buttons, parent=self, spacing=2 * GRID, margins=2 * GRID)
        column.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)

    def _show(self) -> None:
        """Enable the fields and the button."""
        own = not self.words.currentData()
        for part in (self.file, self.browse):
            part.setEnabled(own)
        complete = bool(self.model.text().strip()) and not (own and not self.file.text().strip())
        self.buttons.button(QDialogButtonBox.StandardButton.Open).setEnabled(complete)

    def _choose(self) -> None:
        file, _ = QFileDialog.getOpenFileName(self, "Open a list of tokens", "", TEXT_FILES)
        if file:
            self.file.setText(file)
