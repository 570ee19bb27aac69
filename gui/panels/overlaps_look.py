"""How overlaps are turned into a picture: blur and colours, which change no number; and no Qt."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gui.panels.overlaps_question import Overlap
from gui.state.colors import lookup_table

MAX_BLUR = 3.0
GREY = "gray_r"
"""The article's: white for none, black for all."""
BRIGHT = 99.7
"""The percentile that has the darkest grey at first: a few cells are far above the others."""
KEPT = 12
"""Blurred pictures in memory: the eight-panel figure and a few more."""

Levels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Look:
    """What the user chose of a picture.

    Attributes
    ----------
    blur
        Gaussian standard deviation in pixels, one pixel being one cell; 0 to 3.
    colormap
        A name that :func:`gui.state.colors.lookup_table` knows.
    log
        Whether colours follow the logarithm.
    """

    blur: float = 1.0
    colormap: str = GREY
    log: bool = False


class Pictures:
    """Overlaps as they are shown, blurred once for each blur."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[Overlap, float], np.ndarray] = OrderedDict()
        self._home: OrderedDict[tuple[tuple[Overlap, ...], float, bool], Levels] = OrderedDict()

    def of(self, overlap: Overlap, blur: float) -> np.ndarray:
        """Return (a, b) float32 values to show; overlaps compare by identity."""
        key = overlap, blur
        if key not in self._made:
            self._made[key] = blurred(overlap.values, blur)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    def home_levels(self, overlaps: tuple[Overlap, ...], blur: float, *, log: bool) -> Levels:
        """Return the values at the two ends of the colours before anybody drags them.

        Parameters
        ----------
        overlaps, blur
            What is shown side by side in the same colours, not empty, and how it is blurred.
        log
            Whether colours follow the logarithm.
        """
        key = overlaps, blur, log
        if key not in self._home:
            chance = max(overlap.contrast.chance for overlap in overlaps)
            pictures = [self.of(overlap, blur) for overlap in overlaps]
            self._home[key] = home_levels(pictures, chance, log=log)
            while len(self._home) > KEPT:
                self._home.popitem(last=False)
        self._home.move_to_end(key)
        return self._home[key]

    def forget(self) -> None:
        """Drop all; another model is open."""
        self._made.clear()
        self._home.clear()


def blurred(values: np.ndarray, blur: float) -> np.ndarray:
    """Blur for display, the edges continued by their own values; nothing is computed from it."""
    if blur <= 0.0:
        return values
    from scipy.ndimage import gaussian_filter

    shown: np.ndarray = gaussian_filter(values, blur, truncate=3.0, mode="nearest")
    return shown


def home_levels(pictures: Sequence[np.ndarray], chance: float, *, log: bool) -> Levels:
    """Return the values at the two ends of the colours before anybody drags them.

    Parameters
    ----------
    pictures
        What is shown side by side in the same colours, not empty.
    chance
        The mean overlap by chance.
    """
    # A ninth of the cells gives the percentile as well, in a ninth of the time.
    some = np.concatenate([np.ravel(picture[::3, ::3]) for picture in pictures])
    bright = max(float(np.percentile(some, BRIGHT)), 3.0 * chance)
    return (chance / 10.0, 10.0 * bright) if log else (0.0, bright)


def colored(picture: np.ndarray, look: Look, levels: Levels) -> np.ndarray:
    """Return (a, b, 4) uint8 colours; values beyond the levels take the colours of the ends."""
    low, high = levels
    scaled = picture
    if look.log:
        scaled = np.log10(np.maximum(picture, np.finfo(np.float32).tiny))
        low, high = np.log10(low), np.log10(high)
    share = np.clip((scaled - low) * (256.0 / (high - low)), 0, 255).astype(np.uint8)
    found: np.ndarray = lookup_table(look.colormap)[share]
    return found


def shrunk(picture: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Average neighbours until a picture has at most so many rows and columns."""
    for axis, most in enumerate((rows, columns)):
        size = picture.shape[axis]
        if size > most:
            edges = np.arange(most) * size // most
            counts = np.diff(np.append(edges, size)).astype(np.float32)
            sums = np.add.reduceat(picture, edges, axis=axis)
            picture = sums / (counts[:, None] if axis == 0 else counts)
    return picture


def arrange(
    count: int, columns: int, room: tuple[float, float], gap: tuple[float, float], title: float
) -> tuple[int, int]:
    """Place square cells with titles as large as they can be.

    Parameters
    ----------
    count, columns
        Of a figure: its cells, and how many are side by side in the article.
    room, gap
        Width and height that there is, and between cells.
    title
        Height of what stands above each cell.

    Returns
    -------
    How many cells stand side by side, and their size
    """
    options = []
    # As in the article, or lying on its side, or in one line.
    for across in dict.fromkeys((columns, count // columns, count, 1)):
        down = math.ceil(count / across)
        width = (room[0] - (across - 1) * gap[0]) / across
        height = (room[1] - (down - 1) * gap[1]) / down - title
        options.append((across, max(1, math.floor(min(width, height)) - 1)))
    return max(options, key=lambda option: option[1])
