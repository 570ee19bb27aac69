"""Outputs of a view: numbers, tables and scripts; views for reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, count

import numpy as np

from geometry.checkpoints.number_files import stacked
from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import AnyView, Reported, View
from gui.services.questions import resolve


def all_numbers(spec: AnyPanel, view: AnyView) -> dict[str, np.ndarray]:
    """Return the numbers of a view: the open model's, then the others' with their names."""
    columns = dict(_labelled(spec.numbers(view), spec, view))
    names = unique_names(other.name for other in view.others)
    for name, other in zip(names, view.others, strict=True):
        numbers = _labelled(spec.numbers(other), spec, other)
        columns |= {f"{name}: {key}": values for key, values in numbers.items()}
    return columns


def unique_names(names: Iterable[str]) -> list[str]:
    """Return unique names, with numbers after repeated ones: a, a (2), a (3)."""
    unique: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        unique[
            next(candidate for candidate in chain((name,), numbered) if candidate not in unique)
        ] = None
    return list(unique)


def _labelled(
    numbers: Mapping[str, np.ndarray], spec: AnyPanel, view: AnyView
) -> Mapping[str, np.ndarray]:
    """Return a table with the labels of its rows, if there are any, after their positions."""
    if "position" not in numbers or not spec.of_rows or view.model.rows is None:
        return numbers
    labels = np.array(view.model.rows.labels)
    columns: dict[str, np.ndarray] = {}
    for name, values in numbers.items():
        columns |= {name: values}
        if name == "position":
            columns |= {"label": labels[values]}
    return columns


def all_tables(spec: AnyPanel, view: AnyView) -> dict[str, Mapping[str, np.ndarray]]:
    """Return the tables of a view; with other models, their rows follow the open model's."""

    def tables(shown: AnyView) -> dict[str, Mapping[str, np.ndarray]]:
        return {name: _labelled(table, spec, shown) for name, table in spec.tables(shown).items()}

    if not view.others:
        return tables(view)
    models, views = unique_names([view.name, *(o.name for o in view.others)]), (view, *view.others)
    of_each = {m: tables(shown) for m, shown in zip(models, views, strict=True)}
    names = dict.fromkeys(name for tables in of_each.values() for name in tables)
    return {
        name: stacked({m: tables[name] for m, tables in of_each.items() if name in tables})
        for name in names
    }


def all_scripts(spec: AnyPanel, view: AnyView) -> str:
    """Return the script of a view, followed by those of the other models."""
    parts = [f"# Beside it, {other.name}:\n{spec.script(other)}" for other in view.others]
    return "\n".join([spec.script(view), *parts])


def report_view(spec: AnyPanel, reported: Reported, figure: str) -> AnyView:
    """Return the view of a report's figure, beside its null distributions if it has any.

    Raises HelixscopeError: as :meth:`PanelSpec.result_for_report`.
    """
    choices = spec.choices_for_report(reported, figure)
    question, result = spec.result_for_report(reported, choices)
    nulls, asked = None, spec.nulls_question(reported.scope, choices)
    if asked is not None and reported.measured.nulls:
        nulls = resolve(asked, reported.context)
    return View(reported.scope, choices, question, result, name=reported.model.name, nulls=nulls)
