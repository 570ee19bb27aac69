"""The icon as Windows and macOS want it, made from the SVG."""

import os
from io import BytesIO
from pathlib import Path

from PIL import Image

SVG = Path(__file__).parents[2] / "resources" / "icons" / "helixscope.svg"
SIZES = {".ico": (16, 24, 32, 48, 64, 128, 256), ".icns": (32, 64, 128, 256, 512, 1024)}
"""Sizes in a file, in pixels."""


def write_icons(folder: Path) -> None:
    """Write helixscope.ico and helixscope.icns, with the SVG drawn for each size."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QGuiApplication

    app = QGuiApplication.instance() or QGuiApplication([])
    for ending, sizes in SIZES.items():
        *smaller, largest = map(_drawn, sizes)
        squares = [(pixels, pixels) for pixels in sizes]
        largest.save(folder / f"helixscope{ending}", append_images=smaller, sizes=squares)
    del app


def _drawn(pixels: int) -> Image.Image:
    from PySide6.QtCore import QBuffer, QIODevice
    from PySide6.QtGui import QIcon

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QIcon(str(SVG)).pixmap(pixels, pixels).save(buffer, "PNG")
    return Image.open(BytesIO(buffer.data().data()))
