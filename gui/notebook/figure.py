"""A figure in a cell, and saved at a column's width."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from matplotlib.figure import Figure

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_bytes, writing
from geometry.claims.claim import Verdict
from geometry.claims.measurements import Measurements
from gui.commands.report_figures import figure as report_figure
from gui.notebook.explained import explained
from gui.panels.kit.outputs import report_view
from gui.panels.kit.views import Reported
from gui.panels.table import FIGURES, PANELS
from gui.plots.figure_base import drawn, with_width
from gui.state.colors import model_color
from gui.style.theme import FIGURE_WIDTHS, LIGHT

Subject = tuple[Measurements, Callable[[], tuple[Verdict, ...]]]
"""A model that is drawn, and what checks its claims."""

LEAST, MOST = 1.0, 40.0
"""Bounds of widths in inches."""
ENDINGS = (".png", ".svg", ".pdf")
INLINE = 110
"""Dots per inch in a cell, or fewer for a figure that is larger than the limit."""
MAX_INLINE = 250_000
"""Bytes; a notebook stores four thirds of it."""


class NotebookFigure:
    """A figure of Matplotlib, as PNG, SVG or PDF.

    Attributes
    ----------
    figure
        The figure itself, which can be changed before it is saved.
    name
        Its name.
    """

    def __init__(self, figure: Figure, name: str) -> None:
        self.figure, self.name = figure, name

    @explained()
    def save(
        self, file: str | os.PathLike[str], width: float | Literal["column", "page"] | None = None
    ) -> Path:
        """Save the figure.

        Parameters
        ----------
        file
            Its ending, ``.png``, ``.svg`` or ``.pdf``, gives the format.
        width
            In inches, or that of a column (3.4) or a page (7); its own if None. The height follows,
            and the size of the text stays.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        HelixscopeError
            It cannot be written, has another ending, or does not fit the width.
        """
        path = Path(file)
        if path.suffix.lower() not in ENDINGS:
            raise HelixscopeError(
                f"A figure cannot be saved as {path.name}.", f"Use one of {', '.join(ENDINGS)}."
            )
        figure = self.figure if width is None else self._with_width(width)
        with writing(path):
            write_bytes(drawn(figure, path.suffix.lower().lstrip(".")), path)
        return path

    def _with_width(self, width: float | str) -> Figure:
        inches = FIGURE_WIDTHS.get(str(width), width)
        if isinstance(inches, str) or not LEAST <= inches <= MOST:
            parts = " or ".join(f'"{part}" ({size})' for part, size in FIGURE_WIDTHS.items())
            raise HelixscopeError(
                f"{width!r} is not a width.",
                f"Use inches from {LEAST} to {MOST}, {parts}.",
            )
        return with_width(self.figure, inches, self.name)

    def _repr_png_(self) -> bytes:
        picture = drawn(self.figure, "png", INLINE)
        if len(picture) > MAX_INLINE:
            picture = drawn(self.figure, "png", INLINE * (MAX_INLINE / len(picture)) ** 0.6)
        return picture

    def __repr__(self) -> str:
        width, height = self.figure.get_size_inches()
        return f"<figure {self.name!r}, {width:.1f} × {height:.1f} inches>"


def draw(name: str, models: Sequence[Subject]) -> NotebookFigure:
    """Draw a figure of a report; see :meth:`gui.notebook.opened.OpenedModel.figure`."""
    if name not in FIGURES:
        near = get_close_matches(name, FIGURES) or FIGURES
        raise HelixscopeError(f"There is no figure {name!r}.", f"Use one of {', '.join(near)}.")
    spec = next((entry.spec for entry in PANELS.values() if name in entry.figures), None)
    if spec is None:
        if len(models) > 1:
            raise HelixscopeError(f"The figure {name!r} shows one model.", "Draw each by itself.")
        return NotebookFigure(report_figure(name, _reported(models[0], name))[0], name)
    views = [report_view(spec, _reported(one, name), name) for one in models]
    first, *others = (
        replace(view, color=model_color(number, LIGHT)) if number else view
        for number, view in enumerate(views)
    )
    if others:
        first = replace(first, own_color=model_color(0, LIGHT), others=tuple(others))
    return NotebookFigure(spec.figure(first), name)


def _reported(model: Subject, name: str) -> Reported:
    measured, check = model
    return Reported(measured, check() if name in PANELS["claims"].figures else (), 0, False)
