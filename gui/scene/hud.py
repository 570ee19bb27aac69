"""Heads-up display over the 3D scene: lines, texts and a colour bar, placed in pixels.

These are VTK 2D actors and not widgets over the viewport, so that the window, saved pictures and
headless renders show exactly the same.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyvista as pv
from vtkmodules.vtkRenderingCore import (
    vtkActor2D,
    vtkPolyDataMapper2D,
    vtkTextActor,
    vtkTextRenderer,
)

from gui.scene.actors import polyline_cells

Align = Literal["left", "centre", "right"]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top in pixels."""
VTK_FONT_FILE = 4
MIN_FONT_SIZE = 5
BACKING = 0.82
"""Opacity of the backings of texts: what is behind them can be made out, and hides no letter."""
PADDING = 4.0
"""Margin of a backing around its text, in logical pixels."""


@functools.cache
def font_file() -> str:
    """Path of a font with all needed characters (VTK's own lack minus signs and arrows).

    DejaVu Sans is part of Matplotlib, which is located without importing it.
    """
    spec = importlib.util.find_spec("matplotlib")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf")


@functools.cache
def _glyphs() -> frozenset[int]:
    """Code points that the font has."""
    # pyvista has imported Matplotlib before anything is drawn.
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(font_file()).get_charmap())


def drawable(text: str) -> str:
    """Replace characters missing in the font, which VTK would omit, by boxes.

    Tokens may be in any script; boxes at least show that there is a token.
    """
    if text.isascii():
        return text
    known = _glyphs()
    return "".join(c if c == "\n" or ord(c) in known else "\N{WHITE SQUARE}" for c in text)


class Flat:
    """A mesh in pixels from the lower left corner: its actor, hidden at first."""

    def __init__(self, renderer: pv.Renderer) -> None:
        self._data = pv.PolyData()
        self._mapper = vtkPolyDataMapper2D()
        self._mapper.SetInputData(self._data)
        self.actor = vtkActor2D()
        self.actor.SetMapper(self._mapper)
        self.actor.SetVisibility(False)
        renderer.AddViewProp(self.actor)

    def style(self, color: str, width: float = 1.0) -> None:
        """Set the colour (``#rrggbb``), and the width of lines in pixels."""
        prop = self.actor.GetProperty()
        prop.SetColor(pv.Color(color).float_rgb)
        prop.SetLineWidth(width)

    def set_boxes(self, boxes: np.ndarray, *, in_steps: bool = False) -> None:
        """Draw rectangles, (n, 4) pixels: of one colour, or in those of :meth:`color_steps`."""
        points = np.zeros((4 * len(boxes), 3))
        points[:, :2] = boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]].reshape(-1, 2)
        if self._data.n_points == len(points):  # from frame to frame they only move
            self._data.points[:] = points
            self._data.GetPoints().Modified()
            return
        cells = np.arange(4 * len(boxes)).reshape(-1, 4)
        self._data.DeepCopy(pv.PolyData())
        self._data.points = points
        self._data.faces = np.column_stack([np.full(len(boxes), 4), cells]).ravel()
        if in_steps:
            self._data.cell_data["step"] = np.arange(len(boxes), dtype=np.float32)

    def color_steps(self, colors: np.ndarray, steps: int) -> None:
        """Set the colours of so many rectangles, evenly taken from (n, 4) uint8."""
        last = max(steps - 1, 1)
        self._mapper.SetLookupTable(pv.LookupTable(values=colors, scalar_range=(0, last)))
        self._mapper.SetScalarRange(0, last)


class Lines2D(Flat):
    """Polylines of one colour and width."""

    def __init__(self, renderer: pv.Renderer) -> None:
        super().__init__(renderer)
        self._lengths: list[int] = []
        self._points = np.zeros((0, 3))  # of the data, which shares their memory

    def draw(self, polylines: Sequence[np.ndarray]) -> None:
        """Replace what is drawn by polylines of (m, 2) pixels each."""
        self.actor.SetVisibility(bool(len(polylines)))
        if not len(polylines):
            return
        xy = np.concatenate(polylines)
        lengths = [len(line) for line in polylines]
        if lengths == self._lengths:  # from frame to frame they only move, or rest
            if not np.array_equal(self._points[:, :2], xy):
                self._points[:, :2] = xy
                self._data.GetPoints().Modified()
            return
        self._lengths = lengths
        self._data.points = np.column_stack([xy, np.zeros(len(xy))])
        self._data.lines = polyline_cells(lengths)
        self._points = np.asarray(self._data.points)


class Plates2D(Flat):
    """Backings of texts: rectangles of one colour that dim what is behind them.

    Attributes
    ----------
    on
        Whether they are drawn; transparent pictures have none.
    """

    def __init__(self, renderer: pv.Renderer) -> None:
        super().__init__(renderer)
        self._boxes: tuple[Box, ...] = ()
        self.on = True
        self.actor.GetProperty().SetOpacity(BACKING)

    def draw(self, boxes: Sequence[Box]) -> None:
        """Replace what is drawn; most frames leave it as it is."""
        self.actor.SetVisibility(self.on and bool(len(boxes)))
        if len(boxes) and tuple(boxes) != self._boxes:
            self._boxes = tuple(boxes)
            self.set_boxes(np.array(boxes, dtype=float))


def padded(box: Box, scale: float) -> Box:
    """Return the backing's box of a text's, at some pixels per logical pixel."""
    across, up = PADDING * scale, PADDING / 2 * scale
    return (box[0] - across, box[1] - up, box[2] + across, box[3] + up)


def moved(box: Box, x: float, y: float) -> Box:
    """Return a box moved by some pixels."""
    return (box[0] + x, box[1] + y, box[2] + x, box[3] + y)


def union(boxes: Sequence[Box]) -> Box:
    """Return the smallest box around some, of which there is one at least."""
    left, bottom, right, top = zip(*boxes, strict=True)
    return (min(left), min(bottom), max(right), max(top))


class Text2D:
    """One or several lines of text, placed in pixels from the lower left corner."""

    def __init__(self, renderer: pv.Renderer) -> None:
        # The other one reads "$" as the beginning of a formula, and names may contain it.
        vtkTextRenderer.GetInstance().SetDefaultBackend(vtkTextRenderer.FreeType)
        self.actor = vtkTextActor()
        self.actor.SetVisibility(False)
        self._prop = self.actor.GetTextProperty()
        self._prop.SetFontFamily(VTK_FONT_FILE)
        self._prop.SetFontFile(font_file())
        renderer.AddViewProp(self.actor)
        self.text = self._drawn = ""
        self._size = 0
        self._measured: tuple[object, ...] = ()
        self._fitted: tuple[object, ...] = ()
        self._extent: Box = (0, 0, 0, 0)

    def style(self, color: str, size: int) -> None:
        """Set the colour, and the size in logical pixels."""
        self._size, self._fitted = size, ()
        self._prop.SetColor(pv.Color(color).float_rgb)
        self._prop.SetFontSize(size)
        self._prop.SetLineSpacing(1.3)

    def write(self, text: str) -> None:
        """Set the text; an empty one hides the actor."""
        if text != self.text:
            self.text = text
            self._drawn = drawable(text)
            self.actor.SetInput(self._drawn)
        self.actor.SetVisibility(bool(text))

    def extent(self, dpi: int) -> Box:
        """Return the pixels that it covers around its place."""
        prop = self._prop
        look = (prop.GetFontSize(), prop.GetJustification(), prop.GetVerticalJustification())
        if self._measured != (self._drawn, dpi, look):  # from frame to frame texts only move
            self._measured = (self._drawn, dpi, look)
            bounds = [0, 0, 0, 0]
            vtkTextRenderer.GetInstance().GetBoundingBox(prop, self._drawn, bounds, dpi)
            self._extent = (bounds[0], bounds[2], bounds[1], bounds[3])
        return self._extent

    def box(self, dpi: int) -> Box:
        """Return the pixels it covers now."""
        return moved(self.extent(dpi), *self.actor.GetPosition())

    def fit(self, width: float, dpi: int) -> None:
        """Reduce the font size so that the text is at most ``width`` pixels wide."""
        wanted = (self._drawn, width, dpi)
        if wanted == self._fitted:
            return
        self._fitted, size = wanted, self._size
        while True:
            self._prop.SetFontSize(size)
            left, _, right, _ = self.extent(dpi)
            if right - left <= width or size <= MIN_FONT_SIZE:
                return
            size -= 1

    def place(self, x: float, y: float, align: Align = "left", *, middle: bool = False) -> None:
        """Put the text's lower corner (or the middle of its side) at a pixel."""
        self._prop.SetJustification({"left": 0, "centre": 1, "right": 2}[align])
        self._prop.SetVerticalJustification(1 if middle else 0)
        self.actor.SetPosition(round(x), round(y))

    def hide(self) -> None:
        """Hide the text."""
        self.actor.SetVisibility(False)


class ColorBar2D(Flat):
    """A short vertical colour bar with its title and the values at its two ends.

    Of categories it is a list: a square and a name for each.
    """

    WIDTH, HEIGHT, GAP, STEPS = 8, 120, 6, 64
    LINE = 1.45
    """Height of a line of text, as a multiple of the font's size."""

    def __init__(self, renderer: pv.Renderer) -> None:
        super().__init__(renderer)
        self._renderer = renderer
        self.title, self.low, self.high = (Text2D(renderer) for _ in range(3))
        self.names: list[Text2D] = []
        """The names of categories, as many as are shown."""
        self._legend: Sequence[tuple[str, np.ndarray]] = ()
        self._style = ("#000000", MIN_FONT_SIZE)
        self._corner: tuple[float, ...] | None = None
        self._area: Box | None = None  # Pixels of the bar or the squares, once placed

    @property
    def texts(self) -> tuple[Text2D, ...]:
        """All its texts."""
        return (self.title, self.low, self.high, *self.names)

    def style_texts(self, text: str, muted: str, size: int) -> None:
        """Set the colours of the texts and their size in logical pixels."""
        self.title.style(text, size)
        self._style, self._corner = (muted, size), None
        for one in (self.low, self.high, *self.names):
            one.style(muted, size)

    @property
    def _line(self) -> float:
        """Height of a line of text, in logical pixels."""
        return self.LINE * self._style[1]

    def show(
        self,
        title: str,
        labels: tuple[str, str],
        table: np.ndarray,
        legend: Sequence[tuple[str, np.ndarray]] = (),
    ) -> None:
        """Show a lookup table of (256, 4) uint8 colours with its title and end labels.

        ``legend``, if not empty, are categories with their colours, which are shown instead.
        Without these and without labels there is nothing to show but the title.
        """
        self._legend, self._corner, self._area = legend, None, None
        colors = np.array([color for _, color in legend]) if legend else table
        self.color_steps(colors, len(legend) or self.STEPS)
        for text in self.names[len(legend) :]:
            text.write("")
        while len(self.names) < len(legend):
            self.names.append(Text2D(self._renderer))
            self.names[-1].style(*self._style)
        for text, (name, _) in zip(self.names, legend, strict=False):
            text.write(name)
        self.write(title, labels)

    def write(self, title: str, labels: tuple[str, str]) -> None:
        """Set the texts."""
        self.title.write(title)
        self.low.write(labels[0])
        self.high.write(labels[1])
        self.actor.SetVisibility(bool(self._legend) or any(labels))

    def rows(self, between: tuple[float, float], scale: float) -> int:
        """Return for how many categories there is room; see :meth:`place`."""
        below, above = self._around(scale)
        return max(int((between[1] - above - between[0] - below) / (self._line * scale)), 1)

    def boxes(self, dpi: int) -> list[Box]:
        """Return the pixels of the title, and those of the bar with its texts, if shown."""
        found = [self.title.box(dpi)]
        if self.actor.GetVisibility():
            values = self.names[: len(self._legend)] if self._legend else (self.low, self.high)
            bar = () if self._area is None else (self._area,)
            found.append(union([*bar, *(text.box(dpi) for text in values)]))
        return found

    def box(self, dpi: int) -> Box:
        """Return the pixels that the bar and its texts cover, and what is between them."""
        return union(self.boxes(dpi))

    def hide(self) -> None:
        """Hide the bar and its texts."""
        self.actor.SetVisibility(False)
        for text in self.texts:
            text.hide()

    def place(
        self, right: float, middle: float, between: tuple[float, float], scale: float
    ) -> None:
        """Put the bar at a pixel.

        Parameters
        ----------
        right, middle
            Its right edge, and its preferred vertical middle.
        between
            Lowest and highest allowed pixel of the bar and its texts; the bar is moved and
            shortened as necessary.
        scale
            Pixels per unit.
        """
        if self._corner == (right, middle, *between, scale):
            return
        self._corner = (right, middle, *between, scale)
        width, gap, line = (scale * v for v in (self.WIDTH, self.GAP, self._line))
        below, above = self._around(scale)
        lowest, highest = between[0] + below, between[1] - above
        wanted = len(self._legend) * line if self._legend else scale * self.HEIGHT
        height = min(wanted, max(highest - lowest, scale))
        bottom = min(max(middle - height / 2, lowest), highest - height)
        top = bottom + height
        if self._legend:
            self._place_legend(right, top, height / len(self._legend), scale)
            self.title.place(right, top + gap, "right")
            return
        edges = np.linspace(bottom, top, self.STEPS + 1)
        self._draw(right, width, edges[:-1], edges[1:])
        self.low.place(right, bottom - gap - 0.6 * line, "right")
        self.high.place(right, top + gap, "right")
        self.title.place(right, top + gap + line, "right")

    def _around(self, scale: float) -> tuple[float, float]:
        """Return the height of the texts below the bar, and of those above it."""
        gap, line = self.GAP * scale, self._line * scale
        return gap + 0.6 * line, gap + 2 * line

    def _place_legend(self, right: float, top: float, line: float, scale: float) -> None:
        """Put squares and names below each other, the first one at the top."""
        width, gap = scale * self.WIDTH, scale * self.GAP
        middles = top - line * (np.arange(len(self._legend)) + 0.5)
        half = min(width, line) / 2
        self._draw(right, width, middles - half, middles + half)
        for text, middle in zip(self.names, middles, strict=False):
            text.place(right - width - gap, middle, "right", middle=True)

    def _draw(self, right: float, width: float, bottoms: np.ndarray, tops: np.ndarray) -> None:
        """Draw rectangles of consecutive colours."""
        self._area = (right - width, float(bottoms.min()), right, float(tops.max()))
        boxes = [(right - width, low, right, high) for low, high in zip(bottoms, tops, strict=True)]
        self.set_boxes(np.array(boxes), in_steps=True)
