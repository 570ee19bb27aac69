"""The table of cached models."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from geometry.checkpoints.plain_text import visible
from gui.services.kept_models import short_name, when
from gui.style.theme import GRID, format_bytes, format_count
from gui.widgets.label import label
from gui.widgets.position_rows import Index, TitledRows, set_up_rows
from gui.widgets.table_text import Column
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.hub.cached_commits import CachedCommit

Role = Qt.ItemDataRole

ROW_HEIGHT = 24
MODEL, REVISION, SIZE, USED = range(4)
_COLUMNS = (
    Column("Model", "The model’s id on the Hub, and its commit", left=True),
    Column(
        "Revision", "The branches and tags that pointed to this commit when last checked", left=True
    ),
    Column("Size", "How much of it has been downloaded"),
    Column("Last used", "When any of it was last read or downloaded", left=True),
)


class KeptRows(TitledRows):
    """Commits of models as rows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_COLUMNS, parent)
        self.commits: tuple[CachedCommit, ...] = ()

    def replace(self, commits: tuple[CachedCommit, ...]) -> None:
        """Set the commits."""
        self.beginResetModel()
        self.commits = commits
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.commits)

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        """Return a cell's text, tooltip or alignment; as ``UserRole``, its sort key."""
        commit, column = self.commits[index.row()], index.column()
        if role == Role.DisplayRole:
            return _texts(commit)[column]
        if role == Role.UserRole:
            revisions = ", ".join(commit.revisions)
            return (commit.repo.lower(), revisions, commit.nbytes, commit.last_used)[column]
        if role == Role.ToolTipRole:
            return wrapped(_tip(commit))
        if role == Role.TextAlignmentRole:
            return self.alignment(column)
        return None


class KeptTable(QTableView):
    """Rows that can be selected, sorted, copied, and removed with Delete."""

    selectionCountChanged = Signal()  # The number of selected rows has changed
    removeRequested = Signal()  # Delete was pressed while rows are selected

    def __init__(self) -> None:
        super().__init__()
        self._rows = KeptRows(self)
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(self._rows)
        self._sorted.setSortRole(Role.UserRole)
        self.setModel(self._sorted)
        self._set_up_look()
        self.message = self._make_message()
        self.setSortingEnabled(True)
        self.sortByColumn(USED, Qt.SortOrder.DescendingOrder)
        self.selectionModel().selectionChanged.connect(lambda: self.selectionCountChanged.emit())

    def show_message(self, text: str) -> None:
        """Show a message instead of the rows; "" shows the rows again."""
        self.message.setText(text)
        self.message.setVisible(bool(text))
        self.horizontalHeader().setVisible(not text)

    def show_commits(self, commits: Sequence[CachedCommit]) -> None:
        """Set the commits; those still present stay selected."""
        if tuple(commits) == self._rows.commits:
            return
        selected = {(kept.repo, kept.commit) for kept in self.selected()}
        self._rows.replace(tuple(commits))
        for row in range(self._sorted.rowCount()):
            kept = self._commit(row)
            if (kept.repo, kept.commit) in selected:
                self.selectionModel().select(
                    self._sorted.index(row, 0),
                    self.selectionModel().SelectionFlag.Select
                    | self.selectionModel().SelectionFlag.Rows,
                )
        self.selectionCountChanged.emit()

    def selected(self) -> tuple[CachedCommit, ...]:
        """Return the commits of the selected rows."""
        return tuple(self._commit(index.row()) for index in self.selectionModel().selectedRows())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Remove the selected rows on Delete, copy their ids on Ctrl+C."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            if self.selected():
                self.removeRequested.emit()
        elif event.matches(QKeySequence.StandardKey.Copy):
            lines = [visible(f"{kept.repo}@{kept.commit}") for kept in self.selected()]
            if lines:
                QGuiApplication.clipboard().setText("\n".join(lines))
        else:
            super().keyPressEvent(event)

    def _commit(self, row: int) -> CachedCommit:
        return self._rows.commits[self._sorted.mapToSource(self._sorted.index(row, 0)).row()]

    def _make_message(self) -> QLabel:
        message = label(role="muted", wrap=True)
        message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column = QVBoxLayout(self.viewport())
        column.setContentsMargins(4 * GRID, 0, 4 * GRID, 0)
        column.addWidget(message)
        return message

    def _set_up_look(self) -> None:
        self.setAccessibleName("Cached models")
        # An item has a further margin of 3 px.
        self.setStyleSheet(
            f"QTableView::item {{ padding: 0 {GRID - 3}px; }}"
            f"QHeaderView::section {{ padding: {GRID // 2}px {GRID}px; }}"
        )
        set_up_rows(self, ROW_HEIGHT)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        titles = self.horizontalHeader()
        titles.setSectionsClickable(True)
        titles.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        titles.setSectionResizeMode(MODEL, QHeaderView.ResizeMode.Stretch)
        for column, width in ((REVISION, 18 * GRID), (SIZE, 11 * GRID), (USED, 18 * GRID)):
            self.setColumnWidth(column, width)


def _texts(kept: CachedCommit) -> tuple[str, ...]:
    return (
        visible(short_name(kept)),
        visible(", ".join(kept.revisions)),
        format_bytes(kept.nbytes),
        when(kept.last_used, time.time()),
    )


def _tip(kept: CachedCommit) -> str:
    used = datetime.fromtimestamp(kept.last_used)
    lines = [kept.repo, f"Commit {kept.commit}"]
    if kept.revisions:
        lines.append(f"Revision {', '.join(kept.revisions)}")
    lines.append(f"{format_count(kept.nbytes)} bytes, last used {used:%Y-%m-%d %H:%M:%S}")
    return "\n".join(lines)
