"""The exact size of a picture, on a screen or in print."""

from __future__ import annotations

from dataclasses import dataclass

MM_PER_INCH = 25.4
PER_INCH = 96.0
"""Logical pixels per inch of pictures in pixels, as browsers count."""
PRINT_PER_INCH = 132.0
"""The same of pictures for print: texts of 11 pixels have 6 points, the least in journals."""
MIN_DPI, MAX_DPI = 36, 2400
VECTOR_DPI = 300.0
"""Maximum for vectors, in whose lines more pixels per inch would not show."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """Width and height in pixels, and how large texts and lines are on them."""

    pixels: tuple[int, int]
    scale: float  # Pixels per logical pixel
    per_inch: float = PER_INCH  # Pixels per inch, when printed

    @classmethod
    def times(cls, size: tuple[float, float], scale: float) -> Canvas:
        """Return some logical size, magnified."""
        return cls((round(size[0] * scale), round(size[1] * scale)), scale)

    @classmethod
    def of_pixels(cls, pixels: tuple[int, int], screen: tuple[int, int]) -> Canvas:
        """Return a size in pixels, with texts as large in it as they are on the screen."""
        return cls(pixels, min(pixels[0] / screen[0], pixels[1] / screen[1]))

    @classmethod
    def printed(
        cls, mm: tuple[float, float], dpi: float, scale: float = 1.0, *, vectors: bool = False
    ) -> Canvas:
        """Return a size in millimetres at some pixels per inch; ``scale`` magnifies the texts."""
        dpi = min(dpi, VECTOR_DPI) if vectors else dpi
        pixels = [max(round(side / MM_PER_INCH * dpi), 1) for side in mm]
        return cls((pixels[0], pixels[1]), scale * dpi / PRINT_PER_INCH, dpi)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in logical pixels."""
        return self.pixels[0] / self.scale, self.pixels[1] / self.scale
