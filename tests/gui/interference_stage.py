"""The LayerNorm panel on its interference page, driven as a user drives it."""

from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from safetensors.numpy import load_file, save_file

from gui.panels.layernorm.form import InterferenceForm, SumField
from tests.gui.result_stage import ResultStage, enter

N_TOKENS = 7
HELLO, NAME, ADAM = 2, 4, 6
"""Tokens of the tiny GPT-2."""


def give_tokens(folder: Path, width: int | None = None) -> Path:
    """Add token embeddings to a tiny GPT-2; "hello" is nearly position 30's row."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    positions = tensors["wpe.weight"]
    rng = np.random.default_rng(3)
    tokens = rng.normal(size=(N_TOKENS, width or positions.shape[1])).astype(np.float32)
    if width is None:
        tokens[HELLO] = 3 * positions[min(30, len(positions) - 1)]
    save_file({**tensors, "wte.weight": tokens}, path)
    return folder


class InterferenceStage(ResultStage):
    """The panel, answered at once; it begins with its errors."""

    def turn_to(self, page: str) -> None:
        """Click a page."""
        buttons = self.panel.controls.widgets["page"].buttons
        QTest.mouseClick(buttons[page], Qt.MouseButton.LeftButton)
        QApplication.processEvents()

    def type_token(self, field: SumField, text: str) -> None:
        """Type a token and press Enter."""
        enter(field.token, text)

    def type_position(self, field: SumField, text: str) -> None:
        """Type a position and press Enter."""
        enter(field.position, text)

    def choose_example(self, name: str) -> None:
        """Choose from the list with the keyboard; the one that is chosen already is chosen anew."""
        box = self.panel.content.examples
        wanted = box.findData(name)
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_Home if wanted else Qt.Key.Key_End)
        for _ in range(wanted or box.count() - 1):
            QTest.keyClick(box, Qt.Key.Key_Down if wanted else Qt.Key.Key_Up)
        assert box.currentData() == name

    @property
    def form(self) -> InterferenceForm:
        """Where the sums are typed."""
        form: InterferenceForm = self.panel.content.form
        return form

    @property
    def sums(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Token and position of both sums, as they were compared."""
        found = self.panel.result.similarity
        return found.one, found.other

    @property
    def typed(self) -> tuple[tuple[str, int], ...]:
        """What stands in the form."""
        return tuple((one.token, one.position) for one in self.form.typed())

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The table of measures."""
        return [row.cells for row in self.panel.content.sums.table.rows]
