"""Choices, pictures and texts of overlaps. Independent of Qt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from geometry.measures.overlaps import Contrast
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.kit.subject_text import TABLES
from gui.panels.kit.views import View
from gui.panels.overlaps.question import (
    WITH_HEADS,
    Gain,
    Missing,
    Overlap,
    OverlapFigure,
    in_one_space,
    side_of,
)
from gui.style.theme import format_count, format_level, format_number

TIMES = "\N{MULTIPLICATION SIGN}"
MAX_BLUR = 3.0
GREY = "gray_r"
"""The article's colours: white for no overlap, black for full overlap."""
BRIGHT = 99.7
"""Percentile with the initial darkest grey: a few cells are far above the others."""
W_Q, P = Subject("W_Q"), Subject("P")
Levels = tuple[float, float]
Shown = Overlap | OverlapFigure
Viewed = Literal["pair", "attention", "mlp"]


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture is drawn."""

    # Gaussian standard deviation in pixels, one pixel being one cell; 0 to 3
    blur: Annotated[float, Meta(ge=0, le=MAX_BLUR)] = 1.0
    colormap: str = GREY  # A name for :func:`gui.state.colors.lookup_table`
    log: bool = False  # Whether colours follow the logarithm


@dataclass(frozen=True, slots=True)
class Ends:
    """Colour levels that were dragged, and the view and the scale for which they are valid."""

    levels: Levels
    view: Viewed
    log: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """One pair or a figure of the article; the matrices; how their picture looks; other layers.

    A figure has the layer, head and gain of the rows. The gain is folded, and the mean row
    subtracted, on both sides if on either.
    """

    view: Viewed = "pair"
    rows: Subject = W_Q
    columns: Subject = P
    look: Look = Look()
    ends: Ends | None = None
    layers: bool = False

    @property
    def pair(self) -> tuple[Subject, Subject]:
        """Both matrices, with the switches of either."""
        fold = self.rows.fold_ln or self.columns.fold_ln
        centred = self.rows.centred or self.columns.centred
        return (
            replace(self.rows, fold_ln=fold, centred=centred),
            replace(self.columns, fold_ln=fold, centred=centred),
        )


OverlapsView = View[Choices, Shown]


# ---- the picture -----------------------------------------------------------------------------


def cells_of(result: Shown) -> tuple[Overlap | Missing, ...]:
    """Return the cells; a pair is one cell."""
    return (result,) if isinstance(result, Overlap) else result.cells


@lru_cache(maxsize=2)
def pictures_of(cells: tuple[Overlap | Missing, ...], blur: float) -> tuple[np.ndarray | None, ...]:
    """Return (a, b) float32 values of each cell, perhaps blurred; None for missing ones.

    The last two are cached, for other colours and for going back and forth.
    """
    return tuple(
        blurred(cell.values, blur) if isinstance(cell, Overlap) else None for cell in cells
    )


def blurred(values: np.ndarray, blur: float) -> np.ndarray:
    """Return a blurred picture for display, with replicated edges."""
    if blur <= 0.0:
        return values
    from scipy.ndimage import gaussian_filter

    shown: np.ndarray = gaussian_filter(values, blur, truncate=3.0, mode="nearest")
    return shown


@lru_cache(maxsize=2)
def home_levels(cells: tuple[Overlap | Missing, ...], blur: float, *, log: bool) -> Levels:
    """Return the initial colour levels of cells, not all missing; parameters as of a `Look`."""
    chance = max(cell.contrast.chance for cell in cells if isinstance(cell, Overlap))
    pictures = [picture for picture in pictures_of(cells, blur) if picture is not None]
    # A ninth of the cells gives nearly the same percentile, faster.
    some = np.concatenate([np.ravel(picture[::3, ::3]) for picture in pictures])
    bright = max(float(np.percentile(some, BRIGHT)), 3.0 * chance)
    return (chance / 10.0, 10.0 * bright) if log else (0.0, bright)


def levels_of(view: OverlapsView) -> Levels:
    """Return the colour levels."""
    ends, look = view.choices.ends, view.choices.look
    if ends is not None and (ends.view, ends.log) == (view.choices.view, look.log):
        return ends.levels
    return home_levels(cells_of(view.result), look.blur, log=look.log)


# ---- texts -----------------------------------------------------------------------------------


def cell_text(overlap: Overlap, i: int, j: int) -> str:
    """Return a description of a value; i and j count from 1, the strongest direction."""
    value = float(overlap.values[i - 1, j - 1])
    times = value / overlap.contrast.chance
    shown = format_number(times, 1) if times >= 0.1 else format_level(times)
    return f"i {i} · j {j} · {format_level(value)} · {shown} {TIMES} chance"


def title_of(overlap_rows: Subject, columns: Subject) -> str:
    """Return a short title: W_Q × P."""
    return f"{overlap_rows.name} {TIMES} {columns.name}"


def describe(subject: Subject, gain: Gain = "") -> str:
    """Return a description of a matrix: W_Q layer 0 input, gain not folded."""
    if subject.name in TABLES:
        return f"{subject.name} {'centred' if subject.centred else 'uncentred'}"
    head = "" if subject.head is None else f" head {subject.head}"
    described = f"{subject.name} layer {subject.layer}{head} {side_of(subject)}"
    return f"{described}, {gain}" if gain else described


def corners(contrast: Contrast) -> str:
    """Return the four corners over chance."""
    named = (("TL", contrast.TL), ("TR", contrast.TR), ("BL", contrast.BL), ("BR", contrast.BR))
    return " ".join(f"{name} {format_number(value, 2)}" for name, value in named)


def blur_text(blur: float) -> str:
    """Return a note about the blur; "" without one."""
    digits = 0 if blur == round(blur) else 1
    return f"blur {format_number(blur, digits)} px, display only" if blur else ""


def caption_of(model: PositionalModel, overlap: Overlap, blur: float) -> str:
    """Return a one-line summary of a pair."""
    rows, columns = overlap.rows, overlap.columns
    compared = f"{describe(rows, overlap.gains[0])} {TIMES} {describe(columns, overlap.gains[1])}"
    if {rows.name, columns.name} & set(TABLES):
        compared += ", all rows"
    return _joined(
        model.name,
        compared,
        f"{corners(overlap.contrast)} {TIMES} chance",
        f"3{TIMES}3 sum {sum_text(overlap.top3)}",
        "" if in_one_space(rows, columns) else "two different spaces, of equal size",
        blur_text(blur),
    )


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def sum_text(top3: float) -> str:
    """Return the formatted sum of the 3 × 3 corner, with enough decimals."""
    return format_number(top3, 2 if top3 >= 0.1 else 4)


def figure_caption(model: PositionalModel, figure: OverlapFigure, blur: float) -> str:
    """Return a one-line description of the common properties of all cells."""
    rows = [cell.rows for cell in figure.cells]
    first = figure.overlaps[0]
    gains = sorted({cell.gains[0] for cell in figure.overlaps} - {""})
    where = f"layer {rows[0].layer}"
    if rows[0].name in WITH_HEADS:
        where += ", all heads" if rows[0].head is None else f", head {rows[0].head}"
    centred = "centred" if first.columns.centred else "uncentred"
    writes = any(row.name == "W_O" for row in rows)
    sides = "input sides, of W_O the output side" if writes else "input side"
    return _joined(
        model.name,
        where,
        sides,
        ", ".join(gains),
        f"P and E {centred}, all stored rows",
        f"chance 1/{format_count(round(1 / first.contrast.chance))}",
        blur_text(blur),
    )
