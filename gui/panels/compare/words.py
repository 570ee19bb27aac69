"""Texts of the table of models, also for files. Independent of Qt."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.number_files import cell
from geometry.claims import scalar_results
from geometry.claims.scalar_results import Quantity, Scalar
from geometry.models.model import PositionalModel
from gui.panels.compare.question import DISTANCES, LATER, MeasuredRow
from gui.services.snippets import opened, python_script
from gui.state.values import ColumnWidths
from gui.style.outcomes import SIGNS
from gui.style.sentences import markdown_text
from gui.style.theme import LIGHT, SMALL, TEXT, Theme, format_count, format_number
from gui.widgets.table_text import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTITIES = (*scalar_results.QUANTITIES, *DISTANCES)
"""In the order of the columns."""
INTERVALS = (*scalar_results.INTERVALS, DISTANCES[0].key)
MARK = "●"
NO_NUMBER = "–"
PENDING = "…"
SCOPES = {
    "model": "Of all rows.",
    "range": "Of the shown range.",
    "components": "Of the shown range, in the shown components.",
}
BESIDE = " Its 95 % interval is in brackets."
FIXED = 2
"""Number of fixed columns: the mark and the name."""
COLUMNS = (
    Column("", f"{MARK} marks the open model, which the panels analyse", 20),
    Column("Model\n", "Double-click or Enter to make it the open model", left=True),
    Column(
        "Range\n",
        "First and last shown position, both inclusive, and the shown components if they are not "
        "the first three",
        left=True,
    ),
    *(
        Column(
            f"{quantity.title}\n{quantity.unit}",
            f"{quantity.meaning}\n{SCOPES[quantity.of]}"
            + (BESIDE if quantity.key in INTERVALS else ""),
            left=quantity.kind == "text",
        )
        for quantity in QUANTITIES
    ),
)
RANGE = "range"
ALL = (RANGE, *(quantity.key for quantity in QUANTITIES))
"""Keys of the columns that can be hidden and moved, in the order of :data:`COLUMNS`."""
STANDARD = (
    RANGE,
    "shape_distance",
    "n_positions",
    "d_model",
    "variance_3",
    "effective_rank",
    "verdict",
    "turning_share",
    "helix_r2",
    "turns",
    "norm_mean",
    "lookback_r2",
)
"""Default columns."""
MAX_WIDTH = 1000
"""Maximum width of a column in pixels."""


def columns_of(wanted: ColumnWidths) -> tuple[str, ...]:
    """Return the keys of the shown columns, in order; those of a later release are left out."""
    keys = tuple(dict.fromkeys(key for key, _ in wanted if key in ALL))
    return keys or STANDARD


def widths_of(wanted: ColumnWidths) -> dict[str, int]:
    """Return the widths that were chosen, by key, in pixels."""
    return {key: min(width, MAX_WIDTH) for key, width in wanted if width > 0}


def number_of(key: str) -> int:
    """Return the number of a column among :data:`COLUMNS`."""
    return FIXED + ALL.index(key)


def title_of(key: str) -> str:
    """Return the title of a column in one line."""
    return COLUMNS[number_of(key)].title.partition("\n")[0]


def written(scalar: Scalar) -> str:
    """Return the formatted value; a dash for none, "…" while it is unknown."""
    value, quantity = scalar.value, scalar.quantity
    if value is None:
        return PENDING if scalar.why == LATER else NO_NUMBER
    if isinstance(value, str):
        return value
    if quantity.kind == "count":
        return format_count(int(value))
    return format_number(100 * value if quantity.kind == "share" else value, quantity.decimals)


def marked(line: MeasuredRow, scalar: Scalar) -> str:
    """Return the formatted value, after the mark of its outcome and before its interval, if any."""
    outcome, key = line.outcome(scalar), scalar.quantity.key
    text = written(scalar) if outcome is None else f"{SIGNS[outcome]} {written(scalar)}"
    if key not in INTERVALS or scalar.value is None:
        return text
    ends = [line.value(f"{key}_{end}") for end in ("low", "high")]
    decimals = min(scalar.quantity.decimals, 2)
    numbers = [format_number(end, decimals) for end in ends if isinstance(end, float)]
    return f"{text} ({'–'.join(numbers)})" if len(numbers) == len(ends) else text


def named(quantity: Quantity) -> str:
    """Return a quantity with its unit."""
    return f"{quantity.title} ({quantity.unit})" if quantity.unit else quantity.title


def shown(line: MeasuredRow) -> str:
    """Return range and components: ``1–1023``, and the components if they are not 1, 2, 3."""
    first, last = line.row.positions
    components = line.row.components
    beside = "" if components == (1, 2, 3) else f" · PC {', '.join(map(str, components))}"
    return f"{first}–{last}{beside}" if line.row.model is not None else NO_NUMBER


def cells(line: MeasuredRow) -> tuple[str, ...]:
    """Return the texts of a row."""
    span, empty, scalars = shown(line), NO_NUMBER, line.scalars
    if line.row.model is None:
        span = "could not be opened" if line.row.failed else "loading…"
    elif line.why:
        span += " · not measured"
    elif scalars is None:
        span, empty = f"{span} · computing…", PENDING
    numbers = [empty] * len(QUANTITIES)
    if scalars is not None:
        numbers = [marked(line, scalar) for scalar in scalars]
    return (MARK if line.row.current else "", line.row.name, span, *numbers)


def sort_key(line: MeasuredRow, column: int) -> Any:
    """Return a line's sort key in a column; None if it has no value there."""
    if column == 1:
        return line.row.name.casefold()
    if column == FIXED:
        return None if line.row.model is None else (*line.row.positions, *line.row.components)
    return line.value(ALL[column - FIXED])


def in_order(
    lines: Sequence[MeasuredRow], column: int, *, falling: bool
) -> tuple[MeasuredRow, ...]:
    """Sort by a column; lines without a value come last."""
    with_value = [line for line in lines if sort_key(line, column) is not None]
    without = [line for line in lines if sort_key(line, column) is None]
    with_value.sort(key=lambda line: sort_key(line, column), reverse=falling)
    return (*with_value, *without)


def numbers(lines: Sequence[MeasuredRow]) -> dict[str, np.ndarray]:
    """Return columns by name for files, shares from 0 to 1, NaN for missing values."""
    measured = [line for line in lines if line.scalars is not None]
    columns = {
        "model": np.array([line.row.name for line in measured], dtype=np.str_),
        "first_position": np.array([line.row.positions[0] for line in measured], dtype=np.int64),
        "last_position": np.array([line.row.positions[1] for line in measured], dtype=np.int64),
        "components": np.array([line.row.components for line in measured]).reshape(-1, 3),
    }
    for quantity in QUANTITIES:
        values = [line.value(quantity.key) for line in measured]
        if quantity.kind == "text":
            columns[quantity.key] = np.array([value or "" for value in values], dtype=np.str_)
        else:
            filled = [np.nan if value is None else value for value in values]
            columns[quantity.key] = np.array(filled, dtype=np.float64)
        outcomes = [line.outcomes.get(quantity.key) for line in measured]
        if any(outcomes):
            weighed = [outcome or "" for outcome in outcomes]
            columns[f"{quantity.key}_outcome"] = np.array(weighed, dtype=np.str_)
    return columns


def tab_separated(lines: Sequence[MeasuredRow], columns: Sequence[str] = ALL) -> str:
    """Write the table for a spreadsheet, numbers in full precision, shares from 0 to 1."""
    return _separated(lines, columns, delimiter="\t")


def comma_separated(lines: Sequence[MeasuredRow], columns: Sequence[str] = ALL) -> str:
    """Write the table as CSV, with empty cells for missing values."""
    return _separated(lines, columns, delimiter=",")


def _separated(lines: Sequence[MeasuredRow], columns: Sequence[str], *, delimiter: str) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    span = ("first_position", "last_position", "components")
    names = (span if key == RANGE else (key,) for key in columns)
    writer.writerow(("model", *chain.from_iterable(names)))
    for line in lines:
        if line.scalars is not None:
            values = (_values(line, key) for key in columns)
            writer.writerow(map(cell, (line.row.name, *chain.from_iterable(values))))
    return file.getvalue()


def _values(line: MeasuredRow, key: str) -> tuple[float | int | str, ...]:
    if key == RANGE:
        return (*line.row.positions, " ".join(map(str, line.row.components)))
    value = line.value(key)
    return ("" if value is None else value,)


def as_json(lines: Sequence[MeasuredRow], columns: Sequence[str] = ALL) -> str:
    """Write the lines and the meaning of each quantity as JSON, null for missing values.

    Range and components are always included: the numbers depend on them.
    """
    chosen = [QUANTITIES[ALL.index(key) - 1] for key in columns if key != RANGE]
    models = [
        {
            "model": line.row.name,
            "positions": list(line.row.positions),
            "components": list(line.row.components),
            **{quantity.key: line.value(quantity.key) for quantity in chosen},
            "outcomes": {key: outcome for key, outcome in line.outcomes.items() if key in columns},
        }
        for line in lines
        if line.scalars is not None
    ]
    meanings = {quantity.key: f"{quantity.meaning} {SCOPES[quantity.of]}" for quantity in chosen}
    return (
        json.dumps({"models": models, "quantities": meanings}, indent=2, ensure_ascii=False) + "\n"
    )


def transposed(
    lines: Sequence[MeasuredRow], columns: Sequence[str] = ALL
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return titles and rows with the models as columns, to fit a page in portrait format."""
    measured = [line for line in lines if line.scalars is not None]
    titles = ("", *(line.row.name for line in measured))
    rows = []
    for key in columns:
        if key == RANGE:
            rows.append(("Range", *(shown(line) for line in measured)))
            continue
        number = ALL.index(key) - 1
        values = (written(line.scalars[number]) for line in measured if line.scalars is not None)
        rows.append((named(QUANTITIES[number]), *values))
    return titles, rows


def markdown(lines: Sequence[MeasuredRow], columns: Sequence[str] = ALL) -> str:
    """Write the table as Markdown, the models side by side."""
    titles, rows = transposed(lines, columns)
    ruled = "|---|" + "---:|" * (len(titles) - 1)
    body = [titles, *rows]
    text = [f"| {' | '.join(map(markdown_text, row))} |" for row in body]
    return "\n".join([text[0], ruled, *text[1:]]) + "\n"


_TEX = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "°": r"$^\circ$",
    "²": "$^2$",
    "‖": r"$\|$",
    "–": "--",
    "\N{MINUS SIGN}": "$-$",
    "\N{THIN SPACE}": r"\,",
    "\N{NO-BREAK SPACE}": "~",
}


def latex(lines: Sequence[MeasuredRow], columns: Sequence[str] = ALL) -> str:
    """Write the table as a LaTeX tabular, the models side by side; it needs no package."""
    titles, rows = transposed(lines, columns)

    def row(texts: Sequence[str]) -> str:
        return " & ".join("".join(_TEX.get(sign, sign) for sign in text) for text in texts) + r" \\"

    sides = "l" + "r" * (len(titles) - 1)
    text = [rf"\begin{{tabular}}{{{sides}}}", r"\hline", row(titles), r"\hline"]
    return "\n".join([*text, *map(row, rows), r"\hline", r"\end{tabular}"]) + "\n"


def script(
    models: Sequence[tuple[PositionalModel, tuple[int, int], tuple[int, ...]]], reference: int = 0
) -> str:
    """Return a script that prints the scalars of models, each in its range and components.

    And the distances of their shapes from that of one of them, ``reference``.
    """
    rows = "".join(f"    ({opened(model)}, {span}, {axes}),\n" for model, span, axes in models)
    lines = f"""
shown = [
{rows}]
for model, positions, components in shown:
    print(model.name)
    for one in scalar_results(model, positions, components):
        percent = one.quantity.unit == "%" and one.value is not None
        value = 100 * one.value if percent else one.value
        print("", one.quantity.title, value, one.quantity.unit, sep="\\t")
    rows = model.W_pos[positions[0] : positions[1] + 1]
    scores = fit_pca(model.W_pos, positions, max(components)).project(rows)
    if len(rows) >= 8 and scores.shape[1] >= max(components):
        chosen = [number - 1 for number in components]
        rest = None if sorted(components) == [1, 2, 3] else scores[:, chosen]
        print("", "Turning share", turning_share(rows, rest).outcome, sep="\\t")
"""
    if len(models) > 1:
        lines += f"""
model, (first, last), _ = shown[{reference}]
for other, (start, end), _ in shown:
    rows = slice(max(first, start), min(last, end) + 1)
    if other is not model and rows.stop - rows.start > 1:
        found = shape_distance(model.W_pos[rows], other.W_pos[rows])
        print(other.name, found.degrees, found.interval, found.same_curve, sep="\\t")
"""
    return python_script(lines)


# ---- a page for print ----

LINE, MARGIN, NAMES, MODEL = 0.19, 0.2, 2.2, 1.3
"""Line height, margin, and widths of the names and of a model, in inches."""
CHARACTERS = 20
"""Maximum number of characters of a model's name."""


def compare_figure(
    lines: Sequence[MeasuredRow], theme: Theme = LIGHT, columns: Sequence[str] = ALL
) -> Figure:
    """Draw the table.

    Parameters
    ----------
    lines
        The models in order; those without scalars are omitted.
    theme
        Its colours.
    columns
        The keys of the numbers, in order.
    """
    from matplotlib.figure import Figure

    from gui.plots.figure_base import POINTS

    titles, rows = transposed(lines, columns)
    width = 2 * MARGIN + NAMES + MODEL * max(len(titles) - 1, 1)
    height = 2 * MARGIN + LINE * (len(rows) + 3)
    figure = Figure(figsize=(width, height), facecolor=theme.viewport)
    at = height - MARGIN

    def write(x: float, text: str, color: str, size: int = SMALL, side: str = "left") -> None:
        figure.text(
            x / width, at / height, text, color=color, fontsize=size * POINTS, ha=side, va="top"
        )

    write(MARGIN, "Position tables in numbers", theme.text, TEXT)
    at -= 1.8 * LINE
    for row in (titles, *rows):
        write(MARGIN, row[0], theme.muted)
        for number, text in enumerate(row[1:], start=1):
            color = theme.muted if row is titles else theme.text
            write(MARGIN + NAMES + MODEL * number, _short(text), color, side="right")
        at -= LINE
    return figure


def _short(name: str) -> str:
    return name if len(name) <= CHARACTERS else f"…{name[1 - CHARACTERS :]}"
