"""Fonts in the sizes of the theme."""

from __future__ import annotations

from PySide6.QtGui import QFont

from gui.style.theme import TEXT


def sized(font: QFont, size: int) -> QFont:
    """Return a widget's font in one of the theme's sizes.

    The application's font, which widgets have, is of the size that the user has chosen: others are
    scaled with it.
    """
    made, text = QFont(font), font.pixelSize()
    made.setPixelSize(round(size * text / TEXT) if text > 0 else size)
    return made
