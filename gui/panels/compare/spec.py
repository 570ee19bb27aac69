"""Compare: the open and the compared models, in all their scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from geometry.models.notes import sentences
from gui.panels.compare import words
from gui.panels.compare.question import DISTANCES, KEPT, Comparison, ComparisonOf, MeasuredRow
from gui.panels.compare.words import COLUMNS, compare_figure, in_order
from gui.panels.kit.choices import Button, Saved, Shared
from gui.panels.kit.intents import AddModel
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, Texts, View
from gui.plots.spec import Part
from gui.state.values import ColumnWidths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Sorting = tuple[Annotated[int, Meta(ge=1, lt=len(COLUMNS))], bool]
"""A column, and whether the order is descending."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The sorting of rows, None for the order of the views; and the shown columns."""

    sorted_by: Sorting | None = None
    compare_columns: ColumnWidths = ()


CompareView = View[Choices, Comparison]


class ComparePanel(PanelSpec[Choices, Comparison]):
    """A row for each model, a column for each scalar."""

    name = "compare"
    has_plots = False
    formula = "Models"
    meaning = "compared in numbers"
    explanation = (
        "Each row is a model in its shown range; each column is a quantity, defined in the "
        "tooltip of its title: the distance of its shape from that of the open model, variance and "
        "rank, the fitted helix, norms, roughness and number of loops. Click a title to sort, drag "
        "it to move the column, “Columns…” chooses which are shown; Ctrl+C copies the table as "
        "shown, with shares from 0 to 1."
    )
    empty = "Open a model to see how it compares with others in numbers."
    defaults = Choices()
    controls = (
        Saved(field="sorted_by", kind=Sorting | None),
        Shared(field="compare_columns"),
    )
    buttons = (
        Button(
            "Add model…",
            "Add another model for comparison: a row here and a view of its own",
            AddModel,
        ),
    )
    compares_all_models = keeps_result = True
    body = "gui.panels.compare.table:CompareBody"

    def question(self, scope: Scope, choices: Choices) -> ComparisonOf:
        return ComparisonOf(scope.grid, KEPT)

    def plots(self, view: CompareView) -> Sequence[Part]:
        return ()

    def heading(self, view: CompareView) -> tuple[str, str]:
        return "Position tables in numbers", ""

    def caption(self, view: CompareView) -> str:
        lines = view.result.lines
        count = "1 model" if len(lines) == 1 else f"{len(lines)} models"
        waiting = sum(line.scalars is None and not line.why for line in lines)
        pending = f" · {waiting} not measured yet" if waiting else ""
        (current,) = (line.row.name for line in lines if line.row.current)
        apart = [
            f" · shapes {words.marked(line, scalar)} ° apart"
            for line in lines
            for scalar in line.scalars or ()
            if len(lines) == 2 and scalar.quantity is DISTANCES[0] and scalar.value is not None
        ]
        made = [
            f" · {line.row.name}, by construction: {' '.join(found)}"
            for line in lines
            if line.row.open_model is not None
            and (found := sentences(line.row.open_model.notes, ""))
        ]
        return f"{count} · {current} is the open model{pending}{''.join((*apart, *made))}"

    def figure(self, view: CompareView) -> Figure:
        return compare_figure(sorted_lines(view), view.theme, shown_columns(view))

    def texts(self, view: CompareView) -> Sequence[Texts]:
        lines = sorted_lines(view)

        def of(title: str, columns: Sequence[str]) -> Texts:
            kinds = {
                "csv": ("CSV table (*.csv)", lambda: words.comma_separated(lines, columns)),
                "md": ("Markdown table (*.md)", lambda: words.markdown(lines, columns)),
                "tex": ("LaTeX table (*.tex)", lambda: words.latex(lines, columns)),
                "json": ("JSON (*.json)", lambda: words.as_json(lines, columns)),
            }
            return Texts(title, kinds)

        return of("Save table", shown_columns(view)), of("Save all columns", words.ALL)

    def numbers(self, view: CompareView) -> Mapping[str, np.ndarray]:
        return words.numbers(sorted_lines(view))

    def script(self, view: CompareView) -> str:
        rows = [line.row for line in sorted_lines(view) if line.row.open_model is not None]
        models = [
            (model, row.positions, row.components) for row in rows if (model := row.open_model)
        ]
        return words.script(models, [row.current for row in rows].index(True))


def shown_columns(view: CompareView) -> tuple[str, ...]:
    """Return the keys of the shown columns, in order."""
    return words.columns_of(view.choices.compare_columns)


def sorted_lines(view: CompareView) -> tuple[MeasuredRow, ...]:
    """Return the lines in the chosen order."""
    by = view.choices.sorted_by
    lines = view.result.lines
    return lines if by is None else in_order(lines, by[0], falling=by[1])
