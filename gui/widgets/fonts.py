"""Fonts in the sizes of the theme."""

from __future__ import annotations

from PySide6.QtGui import QFont

from gui.style.theme import TEXT


def sized(font: QFont, size: int) -> QFont:
    """Return a widget's font in one of the theme's sizes.

    The widget's own font has the size of text that the user has chosen; others are scaled with it.
    """
    scaled, text = QFont(font), font.pixelSize()
    scaled.setPixelSize(round(size * text / TEXT) if text > 0 else size)
    return scaled
