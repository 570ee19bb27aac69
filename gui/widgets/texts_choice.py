"""A choice of texts to run through a network."""

from __future__ import annotations

import hashlib
from pathlib import Path

from platformdirs import user_data_path
from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QFileDialog, QInputDialog

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_text, writing
from geometry.inside.settings import SAMPLE_TEXTS
from gui.widgets.drop_down import DropDown

_FILE, _FOLDER, _TYPED = "a file", "a folder", "typed"
FILTERS = "Texts (*.txt *.md);;All files (*)"


class TextsChoice(DropDown):
    """Sample texts, a text file, a folder, or typed text.

    Typed text is written to a file, so that a measurement can be repeated.
    """

    chosen = Signal(str)
    """Emitted with "sample", or the path of a file or a folder, chosen by the user."""
    failed = Signal(str)
    """Emitted with the reason why typed text could not be written."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Texts")
        self._value = SAMPLE_TEXTS
        self.show_value(SAMPLE_TEXTS)
        self.activated.connect(self._on_activated)

    @property
    def value(self) -> str:
        """The chosen texts."""
        return self._value

    def show_value(self, value: str) -> None:
        """Show other texts without a signal."""
        self._value = value
        with QSignalBlocker(self):
            self.clear()
            self.addItem("Sample texts", SAMPLE_TEXTS)
            if value != SAMPLE_TEXTS:
                self.addItem(Path(value).name, value)
            self.addItem("Text file…", _FILE)
            self.addItem("Folder…", _FOLDER)
            self.addItem("Type or paste…", _TYPED)
            self.setCurrentIndex(self.findData(value))

    def _on_activated(self, index: int) -> None:
        choice = str(self.itemData(index))
        if choice == _FILE:
            choice, _ = QFileDialog.getOpenFileName(self.window(), "Texts", filter=FILTERS)
        elif choice == _FOLDER:
            choice = QFileDialog.getExistingDirectory(self.window(), "Folder of texts")
        elif choice == _TYPED:
            choice = self._typed()
        changed = bool(choice) and choice != self._value
        self.show_value(choice or self._value)
        if changed:
            self.chosen.emit(choice)

    def _typed(self) -> str:
        """Ask for a text, write it to a file, and return its path; "" if there is none."""
        prompt = "Text that runs through the network, of a few pages at least:"
        text, accepted = QInputDialog.getMultiLineText(self.window(), "Texts", prompt)
        if not accepted or not text.strip():
            return ""
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        out = user_data_path("helixscope", appauthor=False) / "texts" / f"typed {name}.txt"
        try:
            with writing(out):
                out.parent.mkdir(parents=True, exist_ok=True)
                write_text(text, out)
        except HelixscopeError as error:
            self.failed.emit(str(error))
            return ""
        return str(out)
