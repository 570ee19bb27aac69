"""Tokens with invisible characters, and the style sheet of Qt's own widgets."""

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionButton

from gui.style.theme import DARK, LIGHT
from gui.style.token_text import is_special, token_label, token_runs


def test_marks_for_blanks_and_split_bytes():
    assert token_runs(" my") == (("·", True), ("my", False))
    assert token_runs("·my") == (("·my", False),)
    assert token_runs("a⟨F0⟩") == (("a", False), ("⟨F0⟩", True))
    assert token_runs("⟨x⟩") == (("⟨x⟩", False),)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello", "Hello"),
        ("\n\n", "⏎⏎"),
        ("a\tb\r", "a⇥b␍"),
        ("\u00a0", "⍽"),
        ("a\u200bb", "a⟨200B⟩b"),
        ("\u0007", "⟨0007⟩"),
        ("\u3000", "⟨3000⟩"),
        ("東京", "東京"),
        ("\ufffd", "\ufffd"),
        ("", "∅"),
        (" ⟨F0⟩⟨9F⟩", "·⟨F0⟩⟨9F⟩"),
    ],
)
def test_nothing_stays_invisible(text, shown):
    assert token_label(text) == shown


def test_control_and_ordinary_tokens():
    for text in ("<|endoftext|>", "<s>", "</s>", "[CLS]", "<pad>"):
        assert is_special(text)
    for text in ("Hello", "<", " [", "[1]", "a<b>", "<a b>", "[unused1]"):
        assert not is_special(text)


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
