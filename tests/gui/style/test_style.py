"""What the style sheet makes of Qt's own widgets."""

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionButton

from gui.style.theme import DARK, LIGHT


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_a_ticked_box_shows_a_tick(qtbot, dress, theme):
    dress(theme)
    box = QCheckBox("ticked")
    qtbot.addWidget(box)
    box.show()
    option = QStyleOptionButton()
    box.initStyleOption(option)
    rect = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)

    def inside() -> set[str]:
        image = box.grab(rect.adjusted(2, 2, -2, -2)).toImage()
        pixels = ((x, y) for x in range(image.width()) for y in range(image.height()))
        return {image.pixelColor(*pixel).name() for pixel in pixels}

    assert inside() == {theme.field}
    box.setChecked(True)
    drawn = inside()
    assert theme.muted in drawn
    tick, ground = QColor(theme.field).lightness(), QColor(theme.muted).lightness()
    nearest = min(abs(QColor(name).lightness() - tick) for name in drawn)
    assert nearest < 0.2 * abs(tick - ground)
