"""Plots as data: what a panel shows, written once and painted twice.

:mod:`gui.plots.qt_painter` paints these on the screen with pyqtgraph, :mod:`gui.plots.mpl_painter`
paints them for print with Matplotlib. Nothing here knows a toolkit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gui.style.theme import format_number, format_percent
from gui.widgets.table_text import Column, Row

Style = Literal["solid", "dashed", "dotted"]
Span = tuple[float, float]
Over = Literal["", "number", "position"]
"""What stands along x: positions are hovered and selected in all views alike; on them, as on other
whole numbers, the point under the mouse is the nearest one sideways."""


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """One curve.

    Attributes
    ----------
    x, y : (n,)
        Finite; on a logarithmic axis what is not positive is left out.
    color
        ``#rrggbb``.
    style, width
        Of the line; width in pixels.
    silent
        Whether the mouse passes it by: a line for comparison.
    name
        Of the compared model it belongs to, drawn behind those of the open one; "" for those.
    label
        What it is called in a legend; "" for none.
    dots
        Whether each point has a dot.
    """

    x: np.ndarray
    y: np.ndarray
    color: str
    style: Style = "solid"
    width: float = 1.0
    silent: bool = False
    name: str = ""
    label: str = ""
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes
    ----------
    title
        Quantity and unit.
    log, whole
        Whether it is logarithmic; whether it has ticks at whole numbers only.
    span
        What it spans at most; all data, and a margin, if None.
    home
        What it spans at first, within that; all of it if None.
    printed
        The title in print, where there is room for more; :attr:`title` if "".
    """

    title: str
    log: bool = False
    whole: bool = False
    span: Span | None = None
    home: Span | None = None
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line across a plot.

    Attributes
    ----------
    at
        Where it crosses its axis, in the units of that axis.
    axis
        Which axis it crosses: a rule on "y" lies, one on "x" stands.
    label
        Printed beside it.
    tip
        What it is for, shown when the mouse is over it.
    drags
        The choice that dragging it changes, to the nearest whole number; "" if it stays in place.
    style
        Of the line.
    """

    at: float
    axis: Literal["x", "y"] = "y"
    label: str = ""
    tip: str = ""
    drags: str = ""
    style: Style = "dashed"


@dataclass(frozen=True, slots=True)
class Reading:
    """An entry of the row over a plot: a curve's colour and style, its name, and a value of it.

    Without a colour it stands for no curve.
    """

    name: str
    text: str = ""
    color: str = ""
    style: Style = "solid"


@dataclass(frozen=True, eq=False, slots=True)
class Plot:
    """Curves over one pair of axes.

    Attributes
    ----------
    name
        For those who cannot see it, and for tests.
    x, y
        The axes.
    curves
        The later ones over the earlier ones.
    rules
        Straight lines; at most one of them stands.
    hover
        Returns the label of a point, by its curve and its index along it.
    click
        Returns what a click on a point intends, by the same; see :mod:`gui.panels.kit`.
    over
        See :data:`Over`.
    stretch
        Its share of the width, beside others.
    least_width
        In pixels; in less it is left out on the screen.
    readings
        What is said of the curves in a row over them, on the screen; no row if empty.
    scrubs
        The choice that a press or a drag anywhere changes, to the nearest whole number, and arrow
        keys to the next one; the standing rule shows it. "" for none.
    scrub_stops
        Places along x, rising, where such a press goes to the nearest one, and the choice is its
        index; None for whole numbers.
    scrub_tip
        What such a press does.
    """

    name: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]
    rules: Sequence[Rule] = ()
    hover: Callable[[int, int], str] | None = None
    click: Callable[[int, int], object] | None = None
    over: Over = ""
    stretch: int = 1
    least_width: int = 0
    readings: Sequence[Reading] = ()
    scrubs: str = ""
    scrub_stops: np.ndarray | None = None
    scrub_tip: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Image:
    """A matrix as an image with square cells, rows downwards, and a bar for its colours.

    Attributes
    ----------
    name, x, y, hover, over, stretch, least_width
        As of a :class:`Plot`; ``hover`` takes row and column by their numbers on the axes.
    values : (rows, columns)
        Finite.
    first
        Numbers of the first row and the first column on the axes.
    colormap
        Its name.
    levels
        The values at the ends of the colours, which may be dragged within the bar.
    drags, ends
        The choice that dragging the ends changes to two values, and what they are now; "" and None
        if they are not chosen in the panel.
    log
        Colours follow the logarithm of the values.
    unit
        What the colours stand for.
    beside
        Returns the index of the point that a cell, by its numbers, has on the first curve of the
        plot beside the image, which is hovered with it.
    row_is_current
        Whether a click makes the row's position the current one, which alone is marked; else both
        positions are marked, and the column's is the current one.
    """

    name: str
    x: Axis
    y: Axis
    values: np.ndarray
    colormap: str
    levels: Span
    first: tuple[int, int] = (0, 0)
    log: bool = False
    unit: str = ""
    beside: Callable[[int, int], int] | None = None
    row_is_current: bool = False
    drags: str = ""
    ends: Span | None = None
    hover: Callable[[int, int], str] | None = None
    over: Over = ""
    stretch: int = 1
    least_width: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """Rows beside a plot, on the screen alone.

    Attributes
    ----------
    name
        For those who cannot see it.
    columns, rows
        What stands in it; the key of a row is its ``position``.
    colors
        Of the curves that rows stand for, by their keys.
    chooses
        The choice that clicks change, a tuple of keys, or a key where one row is chosen at most:
        a click draws one row, Shift-click several; "" if rows cannot be chosen.
    most
        So many can be chosen at once.
    tip
        What a click on a row does; ``{position}`` stands for its key.
    spare
        Columns that a narrow panel does without.
    fixed
        Keys of rows that cannot be chosen.
    in_sight
        The key of a row to scroll to; None for none.
    """

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    colors: Mapping[int, str] = field(default_factory=dict)
    chooses: str = ""
    most: int = 1
    tip: str = ""
    spare: Sequence[int] = ()
    fixed: Sequence[int] = ()
    in_sight: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """A row of a :class:`Legend`.

    Attributes
    ----------
    color
        Of its curve; "" where there is none.
    name, tip
        What it is called, and what that is.
    numbers
        One for each title of the legend, or a single text in place of all.
    without
        The value of the legend's choice after this row is taken out.
    """

    color: str
    name: str
    numbers: tuple[str, ...]
    tip: str
    without: object = None


@dataclass(frozen=True, eq=False, slots=True)
class Legend:
    """Which curve is which, and what sums each up: beside a plot, on the screen alone.

    Print has the labels of the curves.

    Attributes
    ----------
    titles
        Of the numbers.
    entries
        From top to bottom.
    removes
        The choice from which the button of a row takes it out; "" where there is no button.
    """

    titles: Sequence[str]
    entries: Sequence[Entry]
    removes: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """One quantity at places along x, such as the steps of a training, with gaps.

    Attributes
    ----------
    name
        What it is called.
    values : (n,)
        One for each place; NaN where there is none.
    color
        ``#rrggbb``.
    percent
        Whether it is a share, written in percent.
    dashed
        Whether it is what was to be expected and not what was found.
    digits, unit
        Decimals that are written, and the sign behind them.
    """

    name: str
    values: np.ndarray
    color: str
    percent: bool = False
    dashed: bool = False
    digits: int = 2
    unit: str = ""

    @property
    def look(self) -> tuple[Style, float]:
        """Style and width of its curves."""
        return ("dashed", 1.0) if self.dashed else ("solid", 1.5)

    def text_at(self, place: int) -> str:
        """Return the value at a place, by its index; "–" if there is none."""
        value = float(self.values[place])
        if not np.isfinite(value):
            return "–"
        number = format_number(value, self.digits) + self.unit
        return format_percent(value) if self.percent else number

    def reading(self, place: int) -> Reading:
        """Return the entry of the row over a plot for its value at a place."""
        return Reading(self.name, self.text_at(place), self.color, self.look[0])

    def curves(self, x: np.ndarray, *, dots: bool = False, named: bool = True) -> list[Curve]:
        """Return it over places on an axis, a curve for each stretch that has values."""
        style, width = self.look
        return [
            Curve(
                x[run], self.values[run], self.color, style, width, silent=True,
                label=self.name if named and not number else "", dots=dots and not self.dashed,
            )
            for number, run in enumerate(self.runs())
        ]  # fmt: skip

    def runs(self) -> Iterator[slice]:
        """Yield the stretches that have values: a line does not cross those that have none."""
        known = np.concatenate([[False], np.isfinite(self.values), [False]])
        edges = np.flatnonzero(known[1:] != known[:-1])
        for start, stop in edges.reshape(-1, 2):
            yield slice(int(start), int(stop))


Part = Plot | Image | Table | Legend


def spanned(first: float, last: float, others: Sequence[Curve]) -> Span:
    """Return where an axis begins and ends that holds a range and other curves along x."""
    ends = [(first, last), *((float(one.x[0]), float(one.x[-1])) for one in others if len(one.x))]
    return min(begin for begin, _ in ends), max(end for _, end in ends)


def highest(curves: Sequence[Curve], least: float = 0.0) -> float:
    """Return the highest value of curves; ``least`` where none is above that."""
    return max([least, *(float(one.y.max()) for one in curves if len(one.y))])
