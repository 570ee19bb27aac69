"""Before and after: how far each row of the open model's table moved from that of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.measures.row_changes import RowChanges, row_changes
from gui.panels.kit.choices import Button, OtherModel
from gui.panels.kit.intents import AddModel
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, Shown, View
from gui.plots.spec import Axis, Curve, Part, Plot, Table
from gui.services.questions import QuestionContext
from gui.services.snippets import opened, python_script
from gui.style.theme import format_count, format_number, format_percent
from gui.widgets.table_text import Column, Row

ALONE = "add the model before the change with “Add model…”"
COLUMNS = (
    Column("rows", "Kinds of rows of the table", 96, left=True),
    Column("number", "How many rows", 64),
    Column(
        "median",
        "Their median change, as a share of the norm before; of new rows, the distance to the "
        "nearest row before, as a share of their norm",
        72,
    ),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chooses."""

    before: int = -1  # Key of the model before the change; of any other, the panel chooses


@dataclass(frozen=True, eq=False, slots=True)
class Change:
    """The change, and the name of the model before it; "" if only one model is open."""

    rows: RowChanges
    before: str


@dataclass(frozen=True, slots=True)
class ChangeOf:
    """The change of the open model's table from that of another; None for none."""

    before: Shown | None

    def answer(self, context: QuestionContext) -> Change:
        after = context.model.W_pos
        if self.before is None:
            return Change(row_changes(after, after), "")
        model = self.before.open_model
        if model is None:
            raise RangeError(f"{self.before.name} is not open")
        if model.grid != context.model.grid:
            raise RangeError(
                f"{self.before.name} has other rows and columns of patches, so that its rows are "
                "other places"
            )
        return Change(row_changes(model.W_pos, after), self.before.name)


ChangeView = View[Choices, Change]


class ChangePanel(PanelSpec[Choices, Change]):
    """Each row's change from another model's table, new rows apart, and the kinds in numbers."""

    name = "change"
    formula = "‖P′ᵢ − Pᵢ‖ / ‖Pᵢ‖"
    meaning = "before and after a change"
    explanation = (
        "P′ is the open model's table, after fine-tuning or resizing, and P that of another open "
        "model, before it: each row's change is a share of its norm. New rows "
        "have no row before, so what is shown of them is the distance to the nearest one, as a "
        "share of their own norm."
    )
    empty = "Open a model to see how its table changed."
    compares_all_models = True
    defaults = Choices()
    controls = (
        OtherModel(
            field="before",
            label="Before",
            tip="The open model that is compared with, as it was before the change",
            shown=lambda view: view.question.before.key if view.question.before else -1,
        ),
    )
    buttons = (
        Button("Add model…", "Add the model before the change, such as the base model", AddModel),
    )

    def question(self, scope: Scope, choices: Choices) -> ChangeOf:
        others = [one for one in scope.grid if not one.current and one.open_model is not None]
        fitting = [one for one in others if _width(one) == scope.model.d_model]
        chosen = [one for one in others if one.key == choices.before]
        return ChangeOf(next(iter(chosen or fitting or others), None))

    def numbers(self, view: ChangeView) -> Mapping[str, np.ndarray]:
        rows = view.result.rows
        none = np.full(len(rows.new), np.nan)
        return {
            "position": np.arange(rows.n_after),
            "moved": np.concatenate([rows.moved, none]),
            "relative": np.concatenate([rows.relative, none]),
            "new_to_nearest": np.concatenate([np.full(len(rows.moved), np.nan), rows.new]),
        }

    def plots(self, view: ChangeView) -> Sequence[Part]:
        rows, n = view.result.rows, len(view.result.rows.moved)
        plots = [
            Plot(
                "Change of each row",
                Axis(view.along, whole=True),
                Axis("change / norm before", span=_from_zero(rows.relative)),
                [Curve(np.arange(float(n)), rows.relative, view.theme.text)],
                hover=lambda _, index: _describe(view, index),
                over="position",
                stretch=2,
            )
        ]
        if len(rows.new):
            x = n + np.arange(float(len(rows.new)))
            new = Plot(
                "New rows",
                Axis(view.along, whole=True),
                Axis("distance to nearest / norm", span=_from_zero(rows.new)),
                [Curve(x, rows.new, view.theme.text)],
                hover=lambda _, index: _describe(view, n + index),
                over="position",
            )
            plots.append(new)
        return [*plots, _table(view)]

    def caption(self, view: ChangeView) -> str:
        result, rows = view.result, view.result.rows
        if not result.before:
            return f"{view.model.name} · {ALONE}"
        parts = [f"{result.before} → {view.model.name}"]
        n, same = len(rows.moved), int(rows.unchanged.sum())
        parts.append(f"{format_count(same)} of {format_count(n)} rows unchanged")
        if same < n:
            most = int(rows.relative.argmax())
            parts.append(f"most {format_percent(rows.relative[most])} at {view.row} {most}")
        for count, what in (
            (rows.n_after - n, "new"),
            (rows.n_before - n, "removed"),
        ):
            if count:
                parts.append(f"{format_count(count)} {what}")
        return " · ".join(parts)

    def heading(self, view: ChangeView) -> tuple[str, str]:
        return f"{view.model.name} · {self.formula} {self.meaning}", self.caption(view)

    def script(self, view: ChangeView) -> str:
        before = view.question.before
        model = None if before is None else before.open_model
        source = "model" if model is None else opened(model)
        lines = f"""
changes = row_changes({source}.W_pos, model.W_pos)
for position, (moved, relative) in enumerate(zip(changes.moved, changes.relative)):
    print(position, moved, relative)
print("unchanged rows:", changes.unchanged.sum(), "new rows:", changes.new)
"""
        return python_script(lines, view.model)


def _from_zero(shares: np.ndarray) -> tuple[float, float]:
    """Return the span of an axis of shares, with a margin on both sides."""
    most = float(shares.max()) or 1.0
    return -0.04 * most, 1.05 * most


def _width(shown: Shown) -> int:
    model = shown.open_model
    return 0 if model is None else model.d_model


def _describe(view: ChangeView, position: int) -> str:
    rows, n = view.result.rows, len(view.result.rows.moved)
    where = f"{view.row} {view.at(position)}"
    if position >= n:
        return f"{where} · new, {format_percent(rows.new[position - n])} from the nearest"
    if rows.unchanged[position]:
        return f"{where} · unchanged"
    share, moved = rows.relative[position], rows.moved[position]
    return f"{where} · moved by {format_number(float(moved))}, {format_percent(share)}"


def _table(view: ChangeView) -> Table:
    rows = view.result.rows
    kinds = {
        "unchanged": rows.relative[rows.unchanged],
        "changed": rows.relative[~rows.unchanged],
        "new": rows.new,
        "removed": np.empty(max(rows.n_before - rows.n_after, 0)),
    }
    lines = [
        Row(
            key,
            (
                kind,
                format_count(len(values)),
                "–"
                if not len(values) or kind == "removed"
                else format_percent(float(np.median(values))),
            ),
        )
        for key, (kind, values) in enumerate(kinds.items())
    ]
    return Table("Rows before and after", COLUMNS, lines, {}, spare=(2,))
