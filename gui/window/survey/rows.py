"""The rows of a survey as a table model, sorted by any column without moving them."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from geometry.checkpoints.plain_text import visible
from geometry.survey.read import Survey, SurveyColumn
from gui.style.theme import format_count, format_number, format_percent
from gui.widgets.tooltips import wrapped

Index = QModelIndex | QPersistentModelIndex
NONE = "–"
"""Text of an undefined number."""
ARROWS = {False: " ▴", True: " ▾"}
"""Marks in the title of the sorted column: ascending, descending."""
TIP = "A click sorts, a right-click hides columns."
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def value_text(column: SurveyColumn, row: int) -> str:
    """Return a row's value as text: "–" for a missing number, "" for a missing text."""
    value = column.values[row]
    if column.kind == "text":
        return visible(value)
    if np.isnan(value):
        return NONE
    if column.kind == "count":
        return format_count(int(value))
    if column.kind == "share":
        return format_percent(value, column.decimals)
    return format_number(value, column.decimals)


def common_folder(sources: Sequence[str]) -> str:
    """Return the folder of all of several paths, with its last separator; "" if there is none."""
    if len(sources) < 2 or not all(map(os.path.isabs, sources)):
        return ""
    try:
        return os.path.join(os.path.commonpath(list(map(os.path.dirname, sources))), "")
    except ValueError:  # they are on several drives
        return ""


def titled(column: SurveyColumn) -> str:
    """Return a column's title with its unit: "Norm (units of P)"."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


def sorted_rows(column: SurveyColumn, *, descending: bool) -> np.ndarray:
    """Return the rows in a column's order, those without a value at the end: (n,) int."""
    known = column.known
    rows = np.flatnonzero(known)
    keys = column.keys[rows]
    order = np.argsort(-keys if descending else keys, kind="stable")
    return np.concatenate([rows[order], np.flatnonzero(~known)])


class SurveyRows(QAbstractTableModel):
    """Rows of a survey, sorted; numbers are formatted when they are painted.

    Attributes
    ----------
    survey, columns
        The survey, and its columns in order.
    order
        (n,): the survey's row at each place of the table.
    by
        The column by which it is sorted, and whether descending; None for the file's order.
    """

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.by: tuple[int, bool] | None = None
        self._set_survey(survey)

    def _set_survey(self, survey: Survey) -> None:
        self.survey = survey
        self.columns = tuple(survey.columns.values())
        self._folder = common_folder(list(survey.columns["source"].values))
        self._sides = tuple(_LEFT if c.kind == "text" else _RIGHT for c in self.columns)
        self._sort()

    def _sort(self) -> None:
        if self.by is None:
            self.order = np.arange(len(self.survey))
        else:
            column, descending = self.by
            self.order = sorted_rows(self.columns[column], descending=descending)
        self._places = np.argsort(self.order)

    def show_survey(self, survey: Survey) -> None:
        """Replace the survey by a newer one with the same columns; the sort column is kept."""
        self.beginResetModel()
        self._set_survey(survey)
        self.endResetModel()

    def place_of(self, row: int) -> int:
        """Return the place of a survey's row in the table."""
        return int(self._places[row])

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; −1 for the file's order."""
        self.beginResetModel()
        self.by = None if column < 0 else (column, order is Qt.SortOrder.DescendingOrder)
        self._sort()
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = self.columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title + self._mark(section)
            case Qt.ItemDataRole.ToolTipRole:
                lines = (titled(column), column.meaning, TIP)
                return wrapped("\n".join(filter(None, lines)))
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._sides[section]
        return None

    def _mark(self, section: int) -> str:
        return ARROWS[self.by[1]] if self.by is not None and self.by[0] == section else ""

    def text(self, row: int, column: SurveyColumn) -> str:
        """Return the text of a survey's row in a cell: of a source, without the folder of all."""
        text = value_text(column, row)
        return text.removeprefix(visible(self._folder)) if column.name == "source" else text

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(self.order[index.row()], self.columns[index.column()])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._sides[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return wrapped(self._tip(int(self.order[index.row()]), self.columns[index.column()]))
        return None

    def _tip(self, row: int, column: SurveyColumn) -> str:
        source, error = (self.survey.columns[name] for name in ("source", "error"))
        named = f"{titled(column)}: {value_text(column, row)}"
        lines = [value_text(source, row), *([named] if column.name != "source" else [])]
        if column is not error and error.values[row]:
            lines.append(value_text(error, row))
        return "\n".join(lines)
