"""Common parts of Matplotlib figures, without pyplot."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.colorbar import Colorbar
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import offset_copy

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import visible_lines
from geometry.checkpoints.whole_files import write_bytes
from gui.plots.thinning import envelope
from gui.style.theme import FIGURE_WIDTHS, LIGHT, SMALL, TEXT, Theme

# Raised, not caught with the filters of all threads exchanged; and only if drawn by this module.
warnings.filterwarnings("error", "constrained_layout not applied", UserWarning, __name__)

SIZE = (6.4, 3.2)
"""Initial size in inches."""
STEP = 0.4
"""Step in which a width that fits is searched, in inches."""
CHARACTERS = 14.5
"""Small characters per inch."""
MARGIN = 0.35
"""Inches beside a title."""
DPI = 200
MAX_POINTS = 8192
"""Maximum number of points of a curve; a figure is some 1,300 pixels wide."""
MAX_DOTS = 4096
"""More dots are rasterised even in SVG, where they would take megabytes."""
HIGHEST = 9.5
"""Maximum height of several rows of plots, as high as the text of a page."""
TALL = 1.3
"""Height of a figure of several rows over its width, where they need it."""
SHAPE = 0.75
"""Minimum height of a narrow figure over its width."""
MAX_COLUMNS = 4
"""Maximum number of columns of a legend of models."""
HANDLE = 7
"""Width of a name's line with spacing, in characters."""
OVERLAP = 0.06
"""Inches by which a text may leave a figure."""
LEAST_WIDTH = 1.8
"""Minimum inches for each of several axes side by side, with their texts."""
LEAST_SIDE = 0.9
"""Minimum inches of the longer side of axes."""
LINE = 0.16
"""Height of a line of small text in inches."""
LEGEND_ROW = 0.2
"""Height of a legend row in inches."""
BELOW = 30
"""Height of tick labels and titles under the axes, in points."""
BESIDE = 2
"""Columns of legends below plots side by side."""
DETAIL, _BELOW = "detail", "below"
"""Marks of captions, which are wrapped as a whole, and of legends below their plots."""
POINTS = 72 / 96
"""Matplotlib's points (1/72 inch) per logical pixel of the theme (1/96 inch)."""


def new_figure(theme: Theme = LIGHT, size: tuple[float, float] = SIZE) -> tuple[Figure, Axes]:
    """Create a figure with one axes in the theme's colours; see :func:`new_figures`."""
    figure, axes = new_figures(theme, size)
    return figure, axes[0]


def new_figures(
    theme: Theme = LIGHT,
    size: tuple[float, float] = SIZE,
    *,
    columns: int = 1,
    width_ratios: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """Create a figure with axes side by side."""
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.viewport)
    grid = figure.subplots(1, columns, squeeze=False, width_ratios=width_ratios)
    row = list(grid[0])
    for axes in row:
        dress_axes(axes, theme)
    return figure, row


def dress_axes(axes: Axes, theme: Theme) -> None:
    """Set the theme's colours and sizes, without the upper and right spines."""
    axes.set_facecolor(theme.viewport)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.line)
    axes.tick_params(
        which="both", color=theme.line, labelcolor=theme.text, labelsize=SMALL * POINTS
    )


def name_axes(axes: Axes, x: str, y: str) -> None:
    """Set the titles of both axes: quantity and unit."""
    axes.set_xlabel(x, fontsize=SMALL * POINTS, color=axes.xaxis.get_tick_params()["labelcolor"])
    axes.set_ylabel(y, fontsize=SMALL * POINTS, color=axes.yaxis.get_tick_params()["labelcolor"])


def dress_bar(bar: Colorbar, title: str, theme: Theme) -> None:
    """Set the title, the theme's colours and the sizes of a colour bar."""
    bar.set_label(title, fontsize=SMALL * POINTS, color=theme.text)
    bar.ax.tick_params(
        which="both", labelsize=SMALL * POINTS, color=theme.line, labelcolor=theme.text
    )
    bar.outline.set_visible(False)


def title_axes(axes: Axes, title: str, detail: str, theme: Theme) -> None:
    """Set the title, and below it the detail, wrapped."""
    annotation = axes.annotate(
        detail,
        (0, 1),
        (0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=SMALL * POINTS,
        color=theme.muted,
        linespacing=1.25,
        gid=DETAIL,
    )
    # Long lines must not enlarge this axes' share of the layout.
    annotation.set_in_layout(False)
    _set_titles(axes, title, annotation)


def _set_titles(axes: Axes, title: str, detail: Text, left: float = MARGIN) -> None:
    """Wrap the detail to the figure's width, and put the title above it."""
    figure = axes.get_figure(root=True)
    inches = SIZE[0] if figure is None else figure.get_figwidth()
    room = max(round((inches - left) * CHARACTERS), 2)
    title = "\n".join(wrap(title, round(room * SMALL / TEXT)))
    lines = wrap(detail.get_text(), room) or [""]
    detail.set_text("\n".join(lines))
    axes.set_title(
        title,
        loc="left",
        fontsize=TEXT * POINTS,
        color=axes.xaxis.get_tick_params()["labelcolor"],
        pad=7 + 11 * len(lines),
    )


def legend_outside(
    figure: Figure,
    handles: Iterable[Artist],
    labels: Sequence[str],
    side: str,
    columns: int,
    color: str,
    title: str = "",
) -> Legend:
    """Add a legend below the axes, at their "left" or "right" side."""
    legend = figure.legend(
        handles,
        labels,
        loc="outside lower right" if side == "right" else "outside lower left",
        columnspacing=1.6,
        title=title or None,
        title_fontproperties={"size": SMALL * POINTS},
        alignment="left",
        **_legend_look(columns, color),
    )
    legend.set_gid(side)
    return legend


def _legend_look(columns: int, color: str) -> dict[str, Any]:
    """Return what legends have in common."""
    return {
        "ncols": columns,
        "frameon": False,
        "fontsize": SMALL * POINTS,
        "labelcolor": color,
        "handlelength": 1.4,
    }


def legend_below(figure: Figure, axes: Axes, columns: int, color: str) -> None:
    """Add a legend of a plot's curves below it."""
    below = offset_copy(axes.transAxes, figure, y=-BELOW, units="points")
    legend = axes.legend(
        loc="upper left",
        bbox_to_anchor=(-0.1, 0.0),
        bbox_transform=below,
        borderaxespad=0.0,
        columnspacing=1.2,
        **_legend_look(columns, color),
    )
    legend.set_gid(_BELOW)


def with_width(figure: Figure, width: float, name: str = "") -> Figure:
    """Return a copy of a figure with another width in inches; its text keeps the size.

    Axes side by side that would be too narrow are placed below each other.

    Raises HelixscopeError: it does not fit; the advice has a width that it fits.
    """
    copy = _attempt(figure, width)
    if copy is not None:
        return copy
    widest = max(figure.get_figwidth(), FIGURE_WIDTHS["page"]) + STEP
    wider = (w for w in np.arange(width + STEP, widest, STEP) if _attempt(figure, w) is not None)
    fits_at = next(wider, None)
    raise HelixscopeError(
        f"The figure{name and f' {name!r}'} does not fit a width of {width:g} inches.",
        "Save it with its own width." if fits_at is None else f"It fits {fits_at:.1f} inches.",
    )


def _attempt(figure: Figure, width: float) -> Figure | None:
    """Return a copy of a figure with a width; None if it does not fit."""
    copy: Figure = pickle.loads(pickle.dumps(figure))
    places = [(axes, axes.get_subplotspec()) for axes in copy.axes]
    row = [axes for axes, place in places if place and place.get_gridspec().nrows == 1]
    around = _set_width(copy, width)
    columns = max(1, int(width // LEAST_WIDTH))
    if len(row) <= columns and fits(copy):
        return copy
    if len(row) < 2:
        copy.set_size_inches(width, max(copy.get_figheight(), TALL * width))
        return copy if fits(copy) else None
    columns = min(columns, len(row) - 1)
    rows = -(-len(row) // columns)
    grid = GridSpec(rows, columns, figure=copy)
    for at, axes in enumerate(row):
        axes.set_subplotspec(grid[at // columns, at % columns])
    height = min(around + rows * SHAPE * width / columns, HIGHEST)
    copy.set_size_inches(width, height)
    if fits(copy):
        return copy
    # Axes of a fixed shape are narrower than the figure, and so is the room above them.
    left = min(max(axes.get_position().x0 for axes in row) * width, width / 2)
    copy.set_size_inches(width, height + LINE * _wrap_texts(copy, left))
    return copy if fits(copy) else None


def _set_width(figure: Figure, width: float) -> float:
    """Set the width, and a height that follows; return what titles and legends add to that."""
    own, height = figure.get_size_inches()
    figure.set_size_inches(width, height)
    lines = _wrap_texts(figure)
    rows = _narrow_legends(figure) if width < SIZE[0] else 0
    around = LINE * lines + LEGEND_ROW * rows
    figure.set_size_inches(width, max(height * width / own, min(height, SHAPE * width)) + around)
    return around


def _wrap_texts(figure: Figure, left: float = MARGIN) -> int:
    """Wrap titles and captions to the width; return how many lines they have more.

    ``left`` is the place of titles above axes, in inches.
    """
    more, room = 0, max(round((figure.get_figwidth() - MARGIN) * CHARACTERS), 1)
    for text in figure.texts:
        content = text.get_text()
        lines = [content] if text.get_gid() == DETAIL else content.split("\n")
        wrapped = [part for line in lines for part in wrap(line, room)]
        more += len(wrapped) - content.count("\n") - 1
        text.set_text("\n".join(wrapped))
    for axes in figure.axes:
        for text in axes.texts:
            if text.get_gid() == DETAIL:
                before = text.get_text().count("\n")
                _set_titles(axes, axes.get_title(loc="left"), text, left)
                more += text.get_text().count("\n") - before
    return more


def _narrow_legends(figure: Figure) -> int:
    """Let legends have fewer columns, a single one below the axes; return how many rows more."""
    characters, more = round(figure.get_figwidth() * CHARACTERS), 0
    inside = [axes for axes in figure.axes if axes.get_legend() is not None]
    legends = [*figure.legends, *(axes.get_legend() for axes in inside)]
    for legend in filter(None, legends):
        labels = ["\n".join(wrap(t.get_text(), characters - HANDLE)) for t in legend.get_texts()]
        if not labels:
            continue
        more += sum(label.count("\n") for label in labels)
        color = to_hex(legend.get_texts()[0].get_color())
        columns = legend_columns(labels, characters)
        handles, title = list(filter(None, legend.legend_handles)), legend.get_title()
        if legend.axes is None:
            before = legend_columns(labels, round(SIZE[0] * CHARACTERS))
            more += -(-len(labels) // columns) - -(-len(labels) // before)
            legend.remove()
            again = legend_outside(
                figure,
                handles,
                labels,
                legend.get_gid() or "left",
                columns,
                color,
                title.get_text(),
            )
            again.get_title().set_color(title.get_color())
        elif legend.get_gid() == _BELOW:
            more += -(-len(labels) // columns) - -(-len(labels) // BESIDE)
            legend_below(figure, legend.axes, columns, color)
        elif len(legends) == 1:
            more += -(-len(labels) // columns)
            legend.remove()
            legend_outside(figure, handles, labels, "left", columns, color)
    return more


def legend_columns(labels: Sequence[str], characters: int) -> int:
    """Return the number of columns of a legend for a width in characters."""
    longest = max(len(line) for label in labels for line in label.split("\n")) + HANDLE
    return min(max(characters // longest, 1), MAX_COLUMNS, len(labels))


def fits(figure: Figure) -> bool:
    """Return whether all texts are inside a figure, and its axes are large enough to read."""
    try:
        figure.draw_without_rendering()
    except UserWarning:
        return False
    width, height = figure.get_size_inches()
    whole = figure.get_tightbbox()
    if min(whole.x0, whole.y0, width - whole.x1, height - whole.y1) < -OVERLAP:
        return False
    places = [axes.get_position() for axes in figure.axes]
    return all(max(one.width * width, one.height * height) >= LEAST_SIDE for one in places)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the file's suffix; equal figures give equal files.

    The file is written atomically.

    Raises OSError: The file cannot be written.
    """
    write_bytes(drawn(figure, path.suffix.lower().lstrip(".")), path)


def drawn(figure: Figure, kind: str, dpi: float = DPI) -> bytes:
    """Return a figure as the content of a file: "png", "svg" or "pdf".

    ``dpi`` is that of pixel images, also within an SVG or a PDF.

    Except in tick labels, "$" does not start a formula, as names of models and tokens may contain
    it.
    """
    _disable_math(figure)
    _thin(figure)
    # Without dates and versions, so that equal figures are equal files.
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None, "Creator": "Helixscope"},
    }
    content = io.BytesIO()  # an error while writing a PDF directly would not give the reason
    save = partial(
        figure.savefig,
        content,
        format=kind,
        dpi=dpi,
        metadata=metadata.get(kind, {"Software": "Helixscope"}),
        facecolor=figure.get_facecolor(),
    )
    # Text stays text in SVG and PDF, editable and searchable.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "helixscope", "pdf.fonttype": 42}):
        try:
            save()
        except UserWarning:  # the axes have no room
            figure.set_layout_engine("none")
            save()
    return content.getvalue()


def _thin(figure: Figure) -> None:
    """Thin long curves over position to what is visible, and rasterize many dots.

    Vector files of 100,000 points would take tens of megabytes and seconds.
    """
    columns = round(figure.get_figwidth() * DPI)
    for line in figure.findobj(Line2D):
        if type(line) is not Line2D or line.axes is None:  # not lines in 3D
            continue
        x, y = (np.asarray(values) for values in line.get_data())
        if len(x) <= MAX_POINTS:
            continue
        shapes = line.get_markevery()
        if not isinstance(shapes, list) and line.get_marker() not in ("", "None", None):
            line.set_rasterized(True)
        elif line.axes.get_xscale() == "linear" and (np.diff(x) > 0).all():
            at, y = envelope(y, 0, len(y), columns)
            line.set_data(x[at.astype(int)], y)
            if isinstance(shapes, list):
                line.set_markevery(np.searchsorted(at, shapes).clip(max=len(at) - 1).tolist())


def _disable_math(figure: Figure) -> None:
    ticks = [tick for axis in figure.findobj(Axis) for tick in axis.findobj(Tick)]
    numbers = {text for tick in ticks for text in tick.findobj(Text)}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in numbers:
            text.set_parse_math(False)
            # SVG does not allow control characters, and no font has them.
            text.set_text(visible_lines(text.get_text()))
