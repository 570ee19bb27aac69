"""Common parts of Matplotlib figures, without pyplot."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from geometry.checkpoints.plain_text import visible_lines
from geometry.checkpoints.whole_files import write_bytes
from gui.plots.thinning import envelope
from gui.style.theme import LIGHT, SMALL, TEXT, Theme

SIZE = (6.4, 3.2)
"""Size in inches, as wide as a text column."""
CHARACTERS = 14.5
"""Small characters per inch."""
MARGIN = 0.35
"""Inches beside a title."""
DPI = 200
MAX_POINTS = 8192
"""Maximum number of points of a curve; a figure is some 1,300 pixels wide."""
MAX_DOTS = 4096
"""More dots are rasterised even in SVG, where they would take megabytes."""
SHAPE = 0.75
"""Minimum height of a narrow figure over its width."""
OVERLAP = 0.06
"""Inches by which a text may leave a figure."""
LEAST_SIDE = 0.9
"""Minimum inches of the longer side of axes."""
_DETAIL = "detail"
"""Mark of the text below a title."""
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
        gid=_DETAIL,
    )
    # Long lines must not enlarge this axes' share of the layout.
    annotation.set_in_layout(False)
    _set_titles(axes, title, annotation)


def _set_titles(axes: Axes, title: str, detail: Text) -> None:
    """Wrap the detail to the figure's width, and put the title above it."""
    figure = axes.get_figure(root=True)
    inches = SIZE[0] if figure is None else figure.get_figwidth()
    room = round((inches - MARGIN) * CHARACTERS)
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


def set_width(figure: Figure, width: float) -> None:
    """Set a figure's width in inches; its height follows, its text keeps the size.

    See :func:`fits` for whether all of it can be seen then.
    """
    own, height = figure.get_size_inches()
    figure.set_size_inches(width, max(height * width / own, min(height, SHAPE * width)))
    for axes in figure.axes:
        for text in axes.texts:
            if text.get_gid() == _DETAIL:
                _set_titles(axes, axes.get_title(loc="left"), text)


def fits(figure: Figure) -> bool:
    """Return whether all texts are inside a figure, and its axes are large enough to read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # axes without any room are found below
        figure.draw_without_rendering()
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
    # Text stays text in SVG and PDF, editable and searchable.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "helixscope", "pdf.fonttype": 42}):
        figure.savefig(
            content,
            format=kind,
            dpi=dpi,
            metadata=metadata.get(kind, {"Software": "Helixscope"}),
            facecolor=figure.get_facecolor(),
        )
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
        if line.get_marker() not in ("", "None", None):
            line.set_rasterized(True)
        elif line.axes.get_xscale() == "linear" and (np.diff(x) > 0).all():
            at, y = envelope(y, 0, len(y), columns)
            line.set_data(x[at.astype(int)], y)


def _disable_math(figure: Figure) -> None:
    ticks = [tick for axis in figure.findobj(Axis) for tick in axis.findobj(Tick)]
    numbers = {text for tick in ticks for text in tick.findobj(Text)}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in numbers:
            text.set_parse_math(False)
            # SVG does not allow control characters, and no font has them.
            text.set_text(visible_lines(text.get_text()))
