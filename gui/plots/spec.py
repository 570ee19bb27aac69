"""Plots as data, for the screen and for print.

:mod:`gui.plots.qt_painter` paints these on the screen with pyqtgraph, :mod:`gui.plots.mpl_painter`
paints them for print with Matplotlib. Independent of Qt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gui.style.theme import SHAPES, format_number, format_percent
from gui.widgets.table_text import Column, Row

Style = Literal["solid", "dashed", "dotted"]
Swatch = Literal["solid", "dashed", "dotted", "band", "dashed band"]
Span = tuple[float, float]
Over = Literal["", "number", "position"]
"""Kind of the x axis: positions are hovered and selected in all views; for these and other
integers, the point under the mouse is the nearest one horizontally.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """One curve."""

    # (n,): finite; on a logarithmic axis, values that are not positive are omitted.
    x: np.ndarray
    y: np.ndarray
    color: str  # ``#rrggbb``
    style: Style = "solid"  # Style of the line
    width: float = 1.0  # Width in pixels
    silent: bool = False  # Whether the mouse ignores it, as for reference lines
    # Name of the other model whose curve it is, drawn behind the current one's; "" for these
    name: str = ""
    label: str = ""  # Label in a legend; "" for none
    dots: bool = False  # Whether each point has a dot
    joined: bool = True  # Whether a line joins the points


@dataclass(frozen=True, eq=False, slots=True)
class Band:
    """A filled range behind the curves, such as the middle 90 % of random ones; ignores the mouse.

    For a range of a single number, ``x`` is two places, the ends of the axis.
    """

    # (n,): finite, low ≤ high; on a logarithmic axis, places that are not positive are omitted.
    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    color: str  # ``#rrggbb`` of its edges; its inside is a pale tint
    label: str = ""  # Label in a legend; "" for none
    middle: np.ndarray | None = None  # (n,): a dotted line within; None for none
    style: Literal["solid", "dashed"] = "solid"  # Style of its edges

    def reading(self, text: str = "") -> Reading:
        """Return its entry in the row over a plot."""
        style: Swatch = "band" if self.style == "solid" else "dashed band"
        return Reading(self.label, text, self.color, style)


TINT, EDGE = 0.2, 0.75
"""Opacity of a band's inside, and of its edges, which must stand out from it."""


def level_band(low: float, high: float, ends: Span, color: str, label: str = "") -> Band:
    """Return a band between two values of y, along the whole x axis."""
    return Band(np.array(ends), np.full(2, low), np.full(2, high), color, label)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis."""

    title: str  # Quantity and unit
    log: bool = False  # Whether it is logarithmic
    whole: bool = False  # Whether ticks are at integers only
    span: Span | None = None  # Maximum span; all data with a margin if None
    home: Span | None = None  # Initial span; the maximum if None
    printed: str = ""  # A longer title for print; :attr:`title` if ""


MAX_SHAPES = 5
"""Maximum number of shapes along a curve."""


def shape_places(x: np.ndarray, span: Span, shape: str) -> np.ndarray:
    """Return where a curve has its shape: indices of at most :data:`MAX_SHAPES` points.

    They are spread over the part of the x axis that is visible; those of other shapes lie
    elsewhere, so that they can be seen on curves that coincide.

    Parameters
    ----------
    x
        (n,): places of the curve's points.
    span
        Ends of the visible part, in the same units.
    shape
        One of :data:`gui.style.theme.SHAPES`.
    """
    inside = np.flatnonzero((x >= span[0]) & (x <= span[1]))
    if not shape or not len(inside):
        return inside[:0]
    shift = SHAPES.index(shape) / len(SHAPES)
    targets = span[0] + (span[1] - span[0]) * (np.arange(MAX_SHAPES) + shift) / MAX_SHAPES
    targets = targets[(targets >= x[inside].min()) & (targets <= x[inside].max())]
    nearest = inside[np.searchsorted(x[inside], targets).clip(max=len(inside) - 1)]
    return np.unique(nearest) if len(nearest) else inside[len(inside) // 2 :][:1]


def on_axes(log: tuple[bool, bool], x: np.ndarray, *lines: np.ndarray) -> np.ndarray:
    """Return where axes can show all lines over x: where values on a logarithmic one are positive.

    (n,) bool.
    """
    shown = np.ones(len(x), dtype=bool)
    if log[0]:
        shown &= x > 0.0
    if log[1]:
        shown &= np.min(lines, axis=0) > 0.0
    return shown


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line across a plot."""

    at: float  # Place on its axis, in the axis' units
    # The axis it crosses: "y" for a horizontal rule, "x" for a vertical one.
    axis: Literal["x", "y"] = "y"
    label: str = ""  # Label beside it
    tip: str = ""
    # Name of the choice that dragging it changes, rounded; "" if it cannot be dragged.
    drags: str = ""
    bounds: tuple[int, int] = (1, 2**31 - 1)  # Minimum and maximum when it is dragged
    back: int | None = None  # Number that a double-click sets; None for none
    style: Style = "dashed"  # Style of the line


@dataclass(frozen=True, slots=True)
class Reading:
    """An entry of the row over a plot: a curve's colour and style, its name, and a value.

    Without a colour it belongs to no curve.
    """

    name: str
    text: str = ""
    color: str = ""
    style: Swatch = "solid"


@dataclass(frozen=True, slots=True)
class Rings:
    """Marked points of a plot's first curve."""

    positions: tuple[int, ...]  # Their x, integers, shown beside them
    tip: str  # The rule for marking them, as a tooltip


@dataclass(frozen=True, eq=False, slots=True)
class Plot:
    """Curves over one pair of axes."""

    name: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]  # Later ones are drawn over earlier ones
    rules: Sequence[Rule] = ()  # Straight lines; at most one of them vertical
    # Returns the label of a point, by its curve and its index along it.
    hover: Callable[[int, int], str] | None = None
    # Returns the intent of a click on such a point; see :mod:`gui.panels.kit.intents`.
    click: Callable[[int, int], object] | None = None
    over: Over = ""  # See :data:`Over`
    rings: Rings | None = None  # Marked points, in a plot over positions
    # Whether positions outside the shown range are pale, in a plot over positions.
    veiled: bool = False
    stretch: int = 1  # Its share of the width
    min_width: int = 0  # Minimum width in pixels; hidden on the screen if there is less room
    # Values of the curves in a row above, on the screen; no row if empty.
    readings: Sequence[Reading] = ()
    bands: Sequence[Band] = ()  # Filled ranges, behind all curves
    # Name of the choice that a press or a drag anywhere changes, rounded, and arrow keys step;
    # shown by the vertical rule. "" for none.
    scrubs: str = ""
    # Places along x, increasing: such a press goes to the nearest one, and the choice is its index;
    # None for integers.
    scrub_stops: np.ndarray | None = None
    scrub_tip: str = ""  # Tooltip for such a press


@dataclass(frozen=True, slots=True)
class Tiles:
    """Pairs of a picture's patches as a grid of pictures: a tile for each patch, with all."""

    # Rows and columns of patches, and so of tiles and of the cells of each tile
    rows: int
    columns: int

    def pair(self, row: int, column: int) -> tuple[int, int]:
        """Return the patch of a cell's tile, and the patch of the cell within the tile."""
        (above, down), (left, across) = divmod(row, self.rows), divmod(column, self.columns)
        return above * self.columns + left, down * self.columns + across

    def cell(self, tile: int, patch: int) -> tuple[int, int]:
        """Return row and column of a pair's cell."""
        (above, left), (down, across) = divmod(tile, self.columns), divmod(patch, self.columns)
        return above * self.rows + down, left * self.columns + across


@dataclass(frozen=True, eq=False, slots=True)
class Image:
    """A matrix as an image with square cells, rows downwards, and a bar for its colours."""

    # As in :class:`Plot`.
    name: str
    x: Axis
    y: Axis
    values: np.ndarray  # (rows, columns): finite
    colormap: str  # Name of the colour map
    levels: Span  # Values at the ends of the colour scale, which the user can drag
    first: tuple[int, int] = (0, 0)  # Numbers of the first row and the first column on the axes
    step: int = 1  # Difference of the numbers of adjacent rows, and columns, on the axes
    log: bool = False  # Whether colours are logarithmic
    unit: str = ""  # Title of the colour bar
    # Returns the index of a cell's point on the first curve of the plot beside the image, which is
    # hovered with the cell.
    beside: Callable[[int, int], int] | None = None
    # Whether a click makes the row's position current, and only that is marked; otherwise both
    # positions are marked, and the column's is current.
    row_is_current: bool = False
    # Name of the choice that dragging the ends changes, and its current values; "" and None if they
    # are not a choice of the panel.
    drags: str = ""
    ends: Span | None = None
    # As in :class:`Plot`; ``hover`` takes row and column by their numbers on the axes.
    hover: Callable[[int, int], str] | None = None
    over: Over = ""
    stretch: int = 1
    min_width: int = 0
    # Set for a grid of pictures: ``hover`` and ``beside`` then take a pair of patches, and the axes
    # have the numbers of the tiles.
    tiles: Tiles | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """Rows beside a plot, on the screen only."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]  # The key of a row is its ``position``
    colors: Mapping[int, str] = field(default_factory=dict)  # Colours of the rows' curves, by key
    # Name of the choice that clicks change, a tuple of keys, or a single key: a click chooses one
    # row, Shift-click several; "" if rows cannot be chosen.
    chooses: str = ""
    max_chosen: int = 1  # Maximum number of chosen rows
    tip: str = ""  # Tooltip of rows; ``{position}`` is replaced by a row's key
    spare: Sequence[int] = ()  # Columns omitted in a narrow panel
    fixed: Sequence[int] = ()  # Keys of rows that cannot be chosen
    scroll_to: int | None = None  # The key of a row to scroll to; None for none


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """A row of a :class:`Legend`."""

    color: str  # Colour of its curve; "" for none
    name: str
    numbers: tuple[str, ...]  # One for each title of the legend, or a single text for all
    tip: str
    without: object = None  # Value of the legend's choice after the removal of this row


@dataclass(frozen=True, eq=False, slots=True)
class Legend:
    """A legend of curves with summary numbers beside a plot, on the screen only.

    In print the curves have labels.
    """

    titles: Sequence[str]  # Titles of the numbers
    entries: Sequence[Entry]
    removes: str = (
        ""  # Name of the choice that a row's button changes to remove it; "" for no buttons
    )


MAX_DOTS = 200
"""Number of points from which a line has no dots, as they would cover each other."""


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """One quantity at places along x, such as the steps of a training, with gaps."""

    name: str
    values: np.ndarray  # (n,): NaN for places without a value
    color: str  # ``#rrggbb``
    percent: bool = False  # Whether it is a share, formatted in percent
    style: Style = "solid"  # Expectations, which are not measured, are not solid
    digits: int = 2  # Decimals of formatted values
    unit: str = ""  # Unit of formatted values
    measured: np.ndarray | None = None  # (n,): where it was; gaps elsewhere are drawn over

    @property
    def look(self) -> tuple[Style, float]:
        """Style and width of its curves."""
        return self.style, 1.5 if self.style == "solid" else 1.0

    def text_at(self, place: int) -> str:
        """Return the formatted value at a place, by its index; "–" if there is none."""
        value = float(self.values[place])
        if not np.isfinite(value):
            return "–"
        number = format_number(value, self.digits) + self.unit
        return format_percent(value) if self.percent else number

    def reading(self, place: int) -> Reading:
        """Return the entry of the row over a plot for its value at a place."""
        return Reading(self.name, self.text_at(place), self.color, self.style)

    def curves(self, x: np.ndarray, *, dots: bool = False, named: bool = True) -> list[Curve]:
        """Return its curves over places on an axis, one for each run with values."""
        (style, width), values = self.look, self.values
        if self.measured is not None:
            x, values = x[self.measured], values[self.measured]
        return [
            Curve(
                x[run],
                values[run],
                self.color,
                style,
                width,
                silent=True,
                label=self.name if named and not number else "",
                dots=dots and self.style != "dashed" and len(x) <= MAX_DOTS,
            )
            for number, run in enumerate(runs(values))
        ]


def runs(values: np.ndarray) -> Iterator[slice]:
    """Yield the runs of finite values, between gaps."""
    known = np.concatenate([[False], np.isfinite(values), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    for start, stop in edges.reshape(-1, 2):
        yield slice(int(start), int(stop))


Part = Plot | Image | Table | Legend


def spanned(first: float, last: float, others: Sequence[Curve]) -> Span:
    """Return the limits of an x axis that contains a range and other curves."""
    ends = [
        (first, last),
        *((float(curve.x[0]), float(curve.x[-1])) for curve in others if len(curve.x)),
    ]
    return min(begin for begin, _ in ends), max(end for _, end in ends)


def legend_of(curves: Sequence[Curve]) -> list[Reading]:
    """Return the entries of the row over a plot for its labelled curves."""
    return [
        Reading(curve.label, color=curve.color, style=curve.style)
        for curve in curves
        if curve.label
    ]


def highest(curves: Sequence[Curve], minimum: float = 0.0) -> float:
    """Return the largest value of curves; at least ``minimum``."""
    return max([minimum, *(float(curve.y.max()) for curve in curves if len(curve.y))])


def values_at(curves: Sequence[Curve], x: int) -> list[str]:
    """Return name and value at x of each curve over consecutive integers that contains x."""
    places = [(curve, x - int(curve.x[0])) for curve in curves if len(curve.x)]
    return [
        f"{curve.name} {format_number(float(curve.y[at]))}"
        for curve, at in places
        if 0 <= at < len(curve.y)
    ]


def outline(counts: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the line around the bars of a histogram.

    It goes up, then to the left end, the middle and the right end of each bar, and down.
    """
    left, right = edges[:-1], edges[1:]
    tops = np.column_stack([left, (left + right) / 2, right]).ravel()
    x = np.concatenate([left[:1], tops, right[-1:]])
    return x, np.concatenate([[0.0], np.repeat(counts.astype(float), 3), [0.0]])
