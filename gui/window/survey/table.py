"""The table of a survey: sorting, hidden columns, selection; only visible rows are formatted."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import numpy as np
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView

from geometry.survey.read import Survey
from gui.style.theme import GRID, Theme
from gui.widgets.label import without_keys
from gui.widgets.position_rows import MOVES, rows_style, set_up_rows
from gui.window.survey.rows import SurveyRows, titled

ROW_HEIGHT = 22
MAX_WIDTH, SAMPLE = 320, 200
"""Maximum width of a column in pixels, and number of rows whose texts are measured."""
CORNER = "QAbstractScrollArea::corner { background: transparent; border: none; }"
ASIDE = {"commit", "fingerprint", "first_position", "last_position", "tokens"}
"""Columns that are initially hidden, besides those without values."""


class SurveyTable(QTableView):
    """Rows of a survey.

    Signals
    -------
    chosen(object)
        The user has selected these rows of the survey, (m,) int.
    opened(int)
        A row was double-clicked.
    """

    chosen = Signal(object)
    opened = Signal(int)

    def __init__(self, survey: Survey, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._quiet = False
        self.rows = SurveyRows(survey)
        self.rows.setParent(self)
        self.setModel(self.rows)
        self.setAccessibleName("Checkpoints")
        self.setProperty("ring", True)
        self.setStyleSheet(rows_style(f"padding: 2px {GRID}px;") + CORNER)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names differ at their ends
        set_up_rows(self, theme.px(ROW_HEIGHT))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        titles = self.horizontalHeader()
        titles.setSectionsClickable(True)
        titles.setSectionsMovable(True)
        titles.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        titles.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        titles.customContextMenuRequested.connect(self._show_title_menu)
        titles.sectionClicked.connect(self._sort_by)
        self.doubleClicked.connect(lambda index: self.opened.emit(self._row(index.row())))
        self.selectionModel().selectionChanged.connect(self._on_selected)
        self.show_columns(self._usual())
        self._fit()

    # ---- content -----------------------------------------------------------------------

    @property
    def survey(self) -> Survey:
        """The shown survey."""
        return self.rows.survey

    @property
    def selected(self) -> np.ndarray:
        """Selected rows of the survey, in the table's order: (m,) int."""
        places = sorted(index.row() for index in self.selectionModel().selectedRows())
        rows: np.ndarray = self.rows.order[places]
        return rows

    @property
    def current(self) -> int | None:
        """The survey's row with the keyboard cursor; None if there is none."""
        index = self.currentIndex()
        return self._row(index.row()) if index.isValid() else None

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """Names of the shown columns, from left to right."""
        titles = self.horizontalHeader()
        order = (titles.logicalIndex(place) for place in range(titles.count()))
        return tuple(self.rows.columns[at].name for at in order if not self.isColumnHidden(at))

    def full_height(self) -> int:
        """Return the height at which all rows are visible, in pixels."""
        bar = self.horizontalScrollBar().sizeHint().height()
        titles = self.horizontalHeader().sizeHint().height()
        return self.verticalHeader().length() + titles + bar + 2 * self.frameWidth()

    def show_survey(self, survey: Survey) -> None:
        """Show newer rows without a signal; order, selection and scroll position stay."""
        fresh = list(survey.columns) != list(self.survey.columns)
        here = self.verticalScrollBar().value()
        sources = self.survey.columns["source"].values
        current = None if self.current is None else sources[self.current]
        kept = set(sources[self.selected])
        self._quiet = True
        self.rows.show_survey(survey)
        if fresh:
            self.show_columns(self._usual())
            self._fit()
        self._quiet = False
        sources = survey.columns["source"].values
        rows = [at for at, source in enumerate(sources) if source in kept] if kept else []
        at = next((row for row in rows if sources[row] == current), None)
        self._select(np.array(rows, dtype=np.intp), at, reveal=False)
        self.verticalScrollBar().setValue(here)

    def select_rows(self, rows: np.ndarray, current: int | None = None) -> None:
        """Select rows of the survey, and scroll to the current one, or the last."""
        self._select(rows, current, reveal=True)
        self.chosen.emit(self.selected)

    def move_to(self, row: int) -> None:
        """Move the keyboard cursor to a row of the survey; the selection stays."""
        index = self.rows.index(self.rows.place_of(row), max(self.currentIndex().column(), 0))
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        self.scrollTo(index)

    def _select(self, rows: np.ndarray, current: int | None, *, reveal: bool) -> None:
        places = np.sort([self.rows.place_of(row) for row in rows]).astype(int)
        picked = QItemSelection()
        last = self.rows.columnCount() - 1
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            if run.size:
                ends = self.rows.index(int(run[0]), 0), self.rows.index(int(run[-1]), last)
                picked.select(*ends)
        model, flag = self.selectionModel(), QItemSelectionModel.SelectionFlag
        self._quiet = True
        at = current if current is not None else (int(rows[-1]) if len(rows) else None)
        if at is not None:
            column = max(self.currentIndex().column(), 0)
            index = self.rows.index(self.rows.place_of(at), column)
            model.setCurrentIndex(index, flag.NoUpdate)
            if reveal:
                self.scrollTo(index)
        model.select(picked, flag.ClearAndSelect)
        self._quiet = False

    def set_theme(self, theme: Theme) -> None:
        """Set the sizes; the style sheet has the colours."""
        self._theme = theme
        self.verticalHeader().setMinimumSectionSize(theme.px(ROW_HEIGHT))
        self.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        self._fit()

    # ---- columns -----------------------------------------------------------------------

    def show_columns(self, names: Collection[str]) -> None:
        """Show these columns and hide all others."""
        for at, column in enumerate(self.rows.columns):
            self.setColumnHidden(at, column.name not in names)

    def make_columns_menu(self) -> QMenu:
        """Return a menu to show or hide each column."""
        menu = QMenu(self)
        menu.aboutToHide.connect(menu.deleteLater)
        shown = self.shown_columns
        for at, column in enumerate(self.rows.columns):
            action = menu.addAction(without_keys(titled(column)))
            action.setCheckable(True)
            action.setChecked(column.name in shown)
            action.setEnabled(column.name not in shown or len(shown) > 1)
            action.toggled.connect(lambda on, at=at: self.setColumnHidden(at, not on))
        menu.addSeparator()
        menu.addAction("Usual columns").triggered.connect(lambda: self.show_columns(self._usual()))
        return menu

    def _usual(self) -> set[str]:
        return {
            column.name
            for column in self.rows.columns
            if column.name not in ASIDE and (column.known.any() or column.name == "source")
        }

    def _fit(self) -> None:
        """Make columns as wide as their titles, and as a sample of their texts."""
        metrics, titles = QFontMetrics(self.font()), self.horizontalHeader()
        step = max(len(self.survey) // SAMPLE, 1)
        rows = range(0, len(self.survey), step)
        for at, column in enumerate(self.rows.columns):
            texts = (metrics.horizontalAdvance(self.rows.text(row, column)) for row in rows)
            needed = max(texts, default=0) + 2 * GRID + 4
            width = max(needed, titles.sectionSizeHint(at))
            self.setColumnWidth(at, min(width, self._theme.px(MAX_WIDTH)))

    def _sort_by(self, column: int) -> None:
        """Sort by a column: ascending, then descending, then in the file's order."""
        by = self.rows.by
        if by is None or by[0] != column:
            self.sort_by(column, Qt.SortOrder.AscendingOrder)
        elif by[1]:
            self.sort_by(-1)
        else:
            self.sort_by(column, Qt.SortOrder.DescendingOrder)

    def sort_by(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, −1 for the file's order; the selection stays."""
        selected, current = self.selected, self.current
        self._quiet = True
        self.rows.sort(column, order)
        self._quiet = False
        self.select_rows(selected, current)
        if current is None:
            self.scrollToTop()

    def _show_title_menu(self, at: QPoint) -> None:
        titles = self.horizontalHeader()
        column = titles.logicalIndexAt(at)
        menu = self.make_columns_menu()
        if column >= 0:
            first = menu.actions()[0]
            hide = menu.addAction(f"Hide “{without_keys(self.rows.columns[column].title)}”")
            hide.triggered.connect(partial(self.setColumnHidden, column, True))
            hide.setEnabled(len(self.shown_columns) > 1)
            menu.removeAction(hide)
            menu.insertAction(first, hide)
            menu.insertSeparator(first)
        menu.popup(titles.mapToGlobal(at))

    # ---- events ------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move and select all; other keys are left to the window."""
        key = event.key()
        if key in (*MOVES, Qt.Key.Key_Left, Qt.Key.Key_Right) or key == Qt.Key.Key_A:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def _row(self, place: int) -> int:
        return int(self.rows.order[place])

    def _on_selected(self) -> None:
        if not self._quiet:
            self.chosen.emit(self.selected)
