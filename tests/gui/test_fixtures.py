"""What the fixtures of the GUI tests promise to all of them."""

import shiboken6
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from gui.style.theme import DARK, LIGHT


def test_widgets_may_outlive_the_style_sheet(qtbot, qapp, dress):
    """Qt styled deleted lists of drop-downs, and the process ended with a segmentation fault."""
    place = QWidget()
    column = QVBoxLayout(place)
    for _ in range(3):
        combo = QComboBox()
        combo.addItems(["jet", "turbo"])
        column.addWidget(combo)
    with qtbot.waitExposed(place):
        place.show()
    dress(LIGHT)
    qapp.setStyleSheet("")
    dress(DARK)
    shiboken6.delete(place)
    others = [QWidget() for _ in range(300)]  # take the place of what is gone in memory
    dress(LIGHT)
    assert all(one.style() is not None for one in others)
