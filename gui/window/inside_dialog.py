"""The dialog with the settings and the progress of a measurement inside a model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLayout,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from geometry.inside.settings import COUNTERS, PositionsSettings
from geometry.models.sources.locating import path_exists
from gui.style.theme import GRID, format_bytes, format_count, format_part
from gui.widgets.boxes import Item, form, grid, hbox, in_a_row, vbox
from gui.widgets.buttons import push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.number_slider import number_field
from gui.widgets.share_bar import ShareBar
from gui.widgets.texts_choice import TextsChoice
from gui.widgets.time_left import TimeLeft
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.hub.whole_model import WholeModel
    from geometry.inside.worker import WorkerProgress

WIDTH = 62 * GRID
ABOUT = (
    "Runs texts through the network and measures, layer by layer, how much of the residual stream "
    "depends on the position. It works without a table of positions: rotary, ALiBi, relative or "
    "none. All weights are needed: of a model on the Hub, the rest is downloaded first, once you "
    "have seen its size."
)
MEASURE = "Measure"
UNSAFE = re.compile(r'[<>:"/\\|?*@]+')
"""Characters that some systems do not allow in names of folders, and "@"."""
_USUAL = PositionsSettings("", "")
_COUNTERS = {
    "position": "Position",
    "sentence": "Sentence",
    "word": "Word in the sentence",
    "line": "Character in the line",
    "brackets": "Bracket depth",
    "newline": "Since the newline",
}
_DEVICES = ("cpu", "cuda", "mps")


class InsideDialog(QDialog):
    """Settings of a measurement, and its progress; it does not block the window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Positions inside a model")
        self.setModal(False)
        self.running = False
        self.offered: WholeModel | None = None
        """The model that the button downloads first; None before its size is shown."""
        self.measureRequested: Callable[[PositionsSettings, Path, str], None] = lambda *_: None
        self.stopRequested: Callable[[], None] = lambda: None
        self.source, self.out = QLineEdit(), QLineEdit()
        self.source.setAccessibleName("Model")
        self.source.setPlaceholderText("sample, a folder, a GGUF file, or a model’s id on the Hub")
        self.out.setAccessibleName("Result folder")
        self._named = ""
        self.source.textChanged.connect(self._on_source)
        self.texts = TextsChoice()
        self.texts.failed.connect(self.show_message)
        self.windows = _number("Windows of text", 4, 100_000, _USUAL.texts_at_most)
        self.length = _number("Tokens of a window", 20, 65_536, _USUAL.length)
        self.device = DropDown()
        self.device.setAccessibleName("Device")
        self.device.addItems(_DEVICES)
        self.counters = {name: QCheckBox(_COUNTERS[name]) for name in COUNTERS}
        for name, box in self.counters.items():
            box.setChecked(name in _USUAL.counters)
        self.control = QCheckBox("Also networks with random and shuffled weights")
        self.control.setChecked(_USUAL.control)
        self.control.setToolTip(wrapped("Neighbours are alike in random networks, too"))
        self.bar = ShareBar("Progress")
        self.time_left = TimeLeft()
        self.message = label("", "muted", wrap=True)
        self.buttons = QDialogButtonBox()
        self.measure = self.buttons.addButton(MEASURE, QDialogButtonBox.ButtonRole.ActionRole)
        self.measure.setDefault(True)
        self.measure.clicked.connect(self._on_measure)
        self.stop = self.buttons.addButton("Stop", QDialogButtonBox.ButtonRole.ActionRole)
        self.stop.clicked.connect(lambda: self.stopRequested())
        self.buttons.addButton(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        self._lay_out()
        self.show_running(False)

    def _lay_out(self) -> None:
        browse, folder = push_button("Folder…"), push_button("Folder…")
        browse.clicked.connect(lambda: _choose(self, self.source))
        folder.clicked.connect(lambda: _choose(self, self.out))
        boxes, self._fields = QWidget(), QWidget()
        places = grid(boxes, 2 * GRID, GRID // 2)
        for number, box in enumerate(self.counters.values()):
            places.addWidget(box, number // 2, number % 2)
        rows: tuple[tuple[str, Item], ...] = (
            ("Model", hbox((self.source, 1), browse, spacing=GRID)),
            ("Texts", self.texts),
            ("Size", in_a_row(self.windows, "windows of", self.length, "tokens")),
            ("Counters", boxes),
            ("Control", self.control),
            ("Device", self.device),
            ("Result", hbox((self.out, 1), folder, spacing=GRID)),
        )
        fields = form(self._fields, rows)
        counters = fields.itemAtPosition(rows.index(("Counters", boxes)), 0)
        assert counters is not None
        counters.setAlignment(Qt.AlignmentFlag.AlignTop)
        about = label(ABOUT, "muted", wrap=True)
        parts = (about, self._fields, self.bar, self.message, self.buttons)
        column = vbox(*parts, parent=self, spacing=2 * GRID, margins=2 * GRID)
        for text in (about, self.message):
            text.setFixedWidth(WIDTH)
        column.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)

    # ---- what is shown -----------------------------------------------------------------------

    def show_source(self, source: str) -> None:
        """Show a model's source; for another model, the result folder is cleared."""
        if source != self.source.text():
            self.out.clear()
        self.source.setText(source)

    def show_running(self, running: bool) -> None:
        """Set whether a measurement is running."""
        self.running = running
        self._fields.setEnabled(not running)
        self.measure.setVisible(not running)
        self.stop.setVisible(running)
        self.bar.setVisible(running)
        self.show_message("Starting…" if running else "")
        self.bar.show_share(None)

    def show_progress(self, progress: WorkerProgress) -> None:
        """Show the progress of the measurement."""
        what, counted = progress.what, progress.total > 1
        self.bar.setRange(0, progress.total if counted else 0)
        self.bar.setValue(progress.done)
        done, total = format_count(progress.done), format_count(progress.total)
        left = self.time_left.text(progress.done / progress.total if counted else None)
        text = f"{what}: {done} of {total} windows" if counted else f"{what}…"
        self.show_message(", ".join(filter(None, (text, left))))

    def show_download(self, progress: TransferProgress) -> None:
        """Show the progress of a download."""
        self.bar.show_share(progress.done / max(progress.total, 1))
        text = f"Downloading {progress.what}: {format_part(progress.done, progress.total)}"
        if progress.bytes_per_second is not None:
            text += f", {format_bytes(progress.bytes_per_second)}/s"
        self.show_message(progress.waiting or text)

    def offer(self, source: str, model: WholeModel) -> None:
        """Offer to download a model that is not complete."""
        self.offered, size = model, format_bytes(model.nbytes)
        self.measure.setText(f"Download {size} and measure")
        self.show_message(f"{source} is not complete on this machine: {size} to download.")

    def withdraw_offer(self) -> None:
        """Reset the button to measure without a download."""
        self.offered = None
        self.measure.setText(MEASURE)

    def show_message(self, text: str) -> None:
        """Show a sentence below the settings."""
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop a measurement."""
        self.stopRequested()
        super().closeEvent(event)

    def reject(self) -> None:
        self.stopRequested()
        super().reject()

    # ---- settings ------ ----------------------------------------------------------------------

    def settings(self) -> PositionsSettings:
        """Return the chosen settings."""
        return PositionsSettings(
            self.source.text().strip(),
            self.texts.value,
            self.length.value(),
            self.windows.value(),
            tuple(name for name, box in self.counters.items() if box.isChecked()),
            control=self.control.isChecked(),
        )

    def _on_source(self, text: str) -> None:
        """Name the result after the model, unless the user has named it."""
        self.measure.setEnabled(bool(text.strip()))
        if self.offered is not None:
            self.withdraw_offer()
            self.show_message("")
        if self.out.text() in ("", self._named):
            place = QStandardPaths.writableLocation(
                QStandardPaths.StandardLocation.DocumentsLocation
            )
            name = UNSAFE.sub(" ", Path(text.strip().rstrip("/\\")).name).strip() or "model"
            self._named = str(Path(place or Path.home()) / "Helixscope" / f"{name} inside")
            self.out.setText(self._named)

    def _on_measure(self) -> None:
        out = Path(os.path.expanduser(self.out.text().strip() or self._named))
        self.measureRequested(self.settings(), out, self.device.currentText())


def _choose(parent: QWidget, field: QLineEdit) -> None:
    # Qt warns of names that no file can have.
    start = field.text() if path_exists(field.text()) else ""
    folder = QFileDialog.getExistingDirectory(parent, field.accessibleName(), start)
    if folder:
        field.setText(folder)


def _number(name: str, minimum: int, maximum: int, value: int) -> QSpinBox:
    field = number_field(name, 9 * GRID)
    field.setRange(minimum, maximum)
    field.setValue(value)
    return field
