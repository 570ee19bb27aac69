"""The scatter of a survey: two columns, coloured by a third one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geometry.survey.read import Survey, SurveyColumn
from gui.export.survey_script import DrawnColumn
from gui.plots.scatter import Scatter, ScatterAxis
from gui.state.colors import MAX_CATEGORIES, ColorScale, categorical, measured
from gui.style.theme import format_number
from gui.window.survey.rows import titled, value_text

COLORMAP = "viridis"
NAMES = ("seed",)
"""Columns of numbers that serve as names."""
WIDE = 100.0
"""Ratio of the largest to the smallest positive value above which an axis is logarithmic."""
_USUAL_X = ("step", "tokens", "layer", "n_positions")
_USUAL_Y = ("turning_share", "helix_r2", "variance_3")
_USUAL_COLORS = ("seed", "group", "scheme")


@dataclass(frozen=True, slots=True)
class ScatterChoices:
    """Names of the drawn columns, and options."""

    x: str
    y: str
    color: str
    log_x: bool = False
    log_y: bool = False
    lines: bool = True  # Whether to join the steps of each training


def usual_choices(survey: Survey) -> ScatterChoices:
    """Return the initial choices: the progress of a training, if there is one."""
    x, y = _first(survey, _USUAL_X), _first(survey, _USUAL_Y)
    return ScatterChoices(x, y, _first(survey, _USUAL_COLORS), log_x=is_wide(survey.columns[x]))


def _first(survey: Survey, names: tuple[str, ...]) -> str:
    """Return the first of these columns with several values, otherwise the first with any."""
    columns = [survey.columns[name] for name in names if name in survey.columns]
    several = (c.name for c in columns if len(np.unique(c.values[c.known])) > 1)
    known = (c.name for c in columns if c.known.any())
    return next(several, next(known, "source"))


def is_wide(column: SurveyColumn) -> bool:
    """Return whether values are easier to distinguish on a logarithmic axis."""
    if column.kind != "count":
        return False
    positive = column.values[column.values > 0]
    return bool(positive.size) and float(positive.max() / positive.min()) > WIDE


def make_scatter(survey: Survey, choices: ScatterChoices) -> Scatter:
    """Return the scatter of a survey's columns."""
    columns = survey.columns
    x = _axis(columns[choices.x], log=choices.log_x)
    y = _axis(columns[choices.y], log=choices.log_y)
    return Scatter(
        x,
        y,
        _scale(columns[choices.color], drawn=~np.isnan(x.values) & ~np.isnan(y.values)),
        survey.runs if choices.lines else (),
    )


def drawn_column(column: SurveyColumn, *, log: bool = False) -> DrawnColumn:
    """Return a column for a script."""
    text = column.kind == "text" or column.name in NAMES
    return DrawnColumn(column.name, titled(column), column.kind == "share", log, text)


def point_text(survey: Survey, choices: ScatterChoices, row: int) -> str:
    """Return the label of a point: its checkpoint and its values."""
    lines = [value_text(survey.columns["source"], row)]
    for name in dict.fromkeys((choices.x, choices.y, choices.color)):
        column = survey.columns[name]
        if name != "source":
            lines.append(f"{column.title} {value_text(column, row)}")
    return "\n".join(lines)


def _axis(column: SurveyColumn, *, log: bool) -> ScatterAxis:
    if column.kind == "text":
        known = column.known
        names, at = np.unique(column.values[known], return_inverse=True)
        values = np.full(len(known), np.nan)
        values[known] = at
        return ScatterAxis(column.title, values, names=tuple(names))
    values = column.values * 100 if column.kind == "share" else column.values
    return ScatterAxis(titled(column), values, log, whole=column.kind == "count")


def _scale(column: SurveyColumn, *, drawn: np.ndarray) -> ColorScale:
    """Return the colours of a column: of names, those of the rows that have a point."""
    title = titled(column)
    if column.kind != "text" and column.name not in NAMES:
        values = column.values * 100 if column.kind == "share" else column.values
        return measured(title, values, slice(None), COLORMAP, whole=column.kind == "count")
    known = column.known & drawn
    categories, at = np.unique(column.values[known], return_inverse=True)
    names = [name if isinstance(name, str) else format_number(name, 0) for name in categories]
    if len(names) > MAX_CATEGORIES:
        texts = np.full(len(known), "", dtype=object)
        texts[known] = np.array(names, dtype=object)[at]
        return categorical(title, list(texts), len(texts))
    # Sorted, as the most frequent ones change while a survey runs.
    values = np.full(len(known), np.nan, dtype=np.float32)
    values[known] = at
    limits = (-0.5, max(len(names), 1) - 0.5)
    return ColorScale(title, values, limits, ("", ""), COLORMAP, tuple(names))
