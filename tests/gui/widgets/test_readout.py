"""A text with a note beside it."""

import pytest

from gui.style.theme import LIGHT
from gui.widgets.readout import Readout
from tests.gui.on_screen import put_on_screen


@pytest.mark.parametrize(("width", "drawn"), [(300, True), (150, False)])
def test_a_note_is_drawn_whole_or_not_at_all(qtbot, width, drawn):
    readout = put_on_screen(qtbot, Readout(LIGHT), width, 24)
    readout.set_text("PC 1 + 2 + 3 = 91.1 %")
    alone = readout.grab().toImage()
    readout.set_note("exact fit 100–1022")
    assert (readout.grab().toImage() != alone) is drawn
    assert readout.note() == "exact fit 100–1022"
