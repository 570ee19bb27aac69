"""The table of models: fixed names, and numbers that scroll."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QTableView,
    QWidget,
)

from geometry.evidence.null import Outcome
from gui.panels.compare.aligned_row import AlignedRow
from gui.panels.compare.columns import ColumnChooser
from gui.panels.compare.question import MeasuredRow
from gui.panels.compare.spec import Choices, CompareView, Sorting, sorted_lines
from gui.panels.compare.words import (
    ALL,
    COLUMNS,
    FIXED,
    QUANTITIES,
    cells,
    columns_of,
    named,
    number_of,
    tab_separated,
    title_of,
    widths_of,
)
from gui.panels.kit.body import PanelBody
from gui.panels.kit.intents import AlignCurve, MakeCurrent, RemoveModel
from gui.state.session import Session
from gui.state.values import ColumnWidths
from gui.style.outcomes import SHORT, SIGNS, outcome_color
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import vbox
from gui.widgets.buttons import push_button
from gui.widgets.fonts import sized
from gui.widgets.label import label
from gui.widgets.position_rows import MOVES, Index, TitledRows, rows_style, set_up_rows
from gui.widgets.tooltips import wrapped

Role = Qt.ItemDataRole

ARROWS = {False: " ▴", True: " ▾"}
"""Marks in the title of the sorted column: ascending, descending."""
ROW_HEIGHT, TITLE_HEIGHT = 24, 34
MIN_NAME_WIDTH, MAX_NAME_WIDTH = 96, 240
"""Minimum and maximum width of the names, in pixels."""


TURNS = "More evenly than random smooth curves:"
"""Label of the outcome of the turning share."""
ALONE = "Only the open model is listed. Use “Add model…” to add others, one row each."


class CompareBody(PanelBody):
    """The controls of the aligned curve, and the table below them."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._view: CompareView | None = None
        self.table = CompareTable(theme)
        self.table.chosen.connect(self._on_chosen)
        self.table.removed.connect(self._on_removed)
        self.table.sorted.connect(lambda by: self.chosen.emit("sorted_by", by))
        self.table.copyRequested.connect(self._copy)
        self.table.arranged.connect(lambda columns: self.chosen.emit("compare_columns", columns))
        self.table.titleMenuRequested.connect(self._show_title_menu)
        self.columns = push_button(
            "Columns…", "Choose which columns the table has, and their order"
        )
        self.columns.clicked.connect(self.choose_columns)
        self.alone = label(ALONE, "muted", wrap=True)
        self.aligned = AlignedRow(session, theme)
        self.aligned.alignmentRequested.connect(
            lambda alignment: self.intended.emit(AlignCurve(alignment))
        )
        vbox(self.aligned, (self.table, 1), self.alone, parent=self, spacing=GRID // 2)

    def controls(self) -> Sequence[QWidget]:
        return (self.columns,)

    def show_choices(self, choices: Choices) -> None:
        self.table.arrange(choices.compare_columns)

    def draw(self, view: CompareView) -> None:
        self._view = view
        self.table.arrange(view.choices.compare_columns)
        self.table.show_lines(sorted_lines(view), view.choices.sorted_by)
        self.alone.setVisible(len(view.result.lines) == 1)

    def forget(self) -> None:
        self._view = None

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.table.set_theme(theme)

    def take_focus(self) -> None:
        """Focus the list of overlaid curves, and open it."""
        self.aligned.what.setFocus()
        if self.aligned.isEnabled():
            # Once the panel is laid out, or the list would not be below its box.
            QTimer.singleShot(0, self.aligned.what, self.aligned.what.showPopup)

    def choose_columns(self) -> None:
        """Show the dialog of the columns; the table follows it."""
        chooser = ColumnChooser(self.table.shown, self)
        chooser.finished.connect(chooser.deleteLater)
        chooser.chosen.connect(self._show_columns)
        chooser.open()

    def _show_columns(self, keys: Sequence[str]) -> None:
        """Request columns; those that were shown keep their widths."""
        widths = self.table.widths
        self.chosen.emit("compare_columns", tuple((key, widths.get(key, 0)) for key in keys))

    def title_menu(self, key: str) -> QMenu:
        """Return the menu of a column's title; the caller shows it. "" is a fixed column."""
        menu, shown = QMenu(self), list(self.table.shown)
        if key:
            at = shown.index(key)
            others = [other for other in shown if other != key]
            hide = menu.addAction(f"Hide “{title_of(key)}”", partial(self._show_columns, others))
            hide.setEnabled(bool(others))
            for text, to in (("Move left", at - 1), ("Move right", at + 1)):
                moved = [*others[: max(to, 0)], key, *others[max(to, 0) :]]
                action = menu.addAction(text, partial(self._show_columns, moved))
                action.setEnabled(0 <= to < len(shown))
            fit = menu.addAction(
                "Fit the width to its texts", partial(self.table.set_width, key, 0)
            )
            fit.setEnabled(key in self.table.widths)
            menu.addSeparator()
        self._add_columns(menu)
        return menu

    def _add_columns(self, menu: QMenu) -> None:
        menu.addAction("Columns…", self.choose_columns)
        menu.addAction("Standard columns", lambda: self.chosen.emit("compare_columns", ()))
        menu.addAction("All columns", partial(self._show_columns, ALL))

    def _show_title_menu(self, key: str, at: QPoint) -> None:
        menu = self.title_menu(key)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def fill_menu(self, menu: QMenu) -> None:
        menu.addAction("Copy table", self._copy)
        menu.addAction("Copy all columns", partial(self._copy, ALL))
        menu.addSeparator()
        self._add_columns(menu)
        order = menu.addMenu("Sort by")
        for number, column in enumerate(COLUMNS):
            if number:
                title = column.title.partition("\n")[0]
                order.addAction(title, partial(self.table.toggle_sorting, number))
        menu.addSeparator()

    def stop(self) -> None:
        self.aligned.release()

    def _on_chosen(self, key: int) -> None:
        if key != self.session.current_key:
            self.intended.emit(MakeCurrent(key))

    def _on_removed(self, key: int) -> None:
        if key != self.session.current_key:
            self.intended.emit(RemoveModel(key))

    def _copy(self, columns: Sequence[str] = ()) -> None:
        if self._view is not None:
            text = tab_separated(sorted_lines(self._view), columns or self.table.shown)
            QGuiApplication.clipboard().setText(text)
            self.session.status = "Copied the table"


class CompareRows(TitledRows):
    """The lines as rows."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(COLUMNS, parent)
        self.lines: tuple[MeasuredRow, ...] = ()
        self.sorted_by: Sorting | None = None
        self.muted, self.theme = QColor(theme.muted), theme

    def replace(self, lines: Sequence[MeasuredRow], sorted_by: Sorting | None) -> None:
        """Set the lines, sorted by a column or by none."""
        if sorted_by != self.sorted_by:
            self.sorted_by = sorted_by
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)
        same = [line.row.key for line in lines] == [line.row.key for line in self.lines]
        if same:
            self.lines = tuple(lines)
            if lines:
                last = self.index(len(lines) - 1, len(COLUMNS) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.lines = tuple(lines)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.lines)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole
    ) -> object:
        header = super().headerData(section, orientation, role)
        if role == Role.DisplayRole and self.sorted_by is not None and section:
            column, falling = self.sorted_by
            if column == section:
                title, _, unit = str(header).partition("\n")
                return f"{title}{ARROWS[falling]}\n{unit}"
        if role == Role.ToolTipRole and section:
            return f"{header}\nClick to sort"
        return header

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        line, column = self.lines[index.row()], index.column()
        match role:
            case Role.DisplayRole:
                return cells(line)[column]
            case Role.TextAlignmentRole:
                return self.alignment(column)
            case Role.ForegroundRole if line.scalars is None:
                return self.muted
            case Role.ForegroundRole if (outcome := _outcome(line, column)) is not None:
                return QColor(outcome_color(outcome, self.theme))
            case Role.ToolTipRole:
                return wrapped(self._tip(line, column))
            case Role.AccessibleTextRole:
                title = self.columns[column].title.replace("\n", " ")
                return f"{line.row.name}: {title} {cells(line)[column]}".replace("  ", " ")
        return None

    def _tip(self, line: MeasuredRow, column: int) -> str:
        if line.why:
            return f"{line.row.name}: {line.why}"
        if column <= FIXED or line.scalars is None:
            return f"{line.row.name}\n{self.columns[max(column, 1)].tip}"
        scalar = line.scalars[column - FIXED - 1]
        if scalar.value is None:
            return f"{scalar.quantity.title}: {scalar.why}"
        value = scalar.value if isinstance(scalar.value, str) else f"{scalar.value:.6g}"
        if scalar.quantity.kind == "share":
            value = f"{100 * float(scalar.value):.6g}"
        outcome = line.outcome(scalar)
        worth = "" if outcome is None else f"\n{TURNS} {SHORT[outcome]} {SIGNS[outcome]}"
        return f"{line.row.name} · {named(scalar.quantity)}: {value}{worth}"


def _outcome(line: MeasuredRow, column: int) -> Outcome | None:
    if column <= FIXED or line.scalars is None:
        return None
    return line.outcome(line.scalars[column - FIXED - 1])


class CompareTable(QWidget):
    """One row for each model."""

    chosen = Signal(int)
    """Key of a row that was double-clicked, or on which Enter was pressed."""
    removed = Signal(int)
    """Key of a row on which Delete was pressed."""
    copyRequested = Signal()
    """Ctrl+C was pressed."""
    sorted = Signal(object)
    """The requested sorting; None for none."""
    arranged = Signal(tuple)
    """The keys and widths of the columns, after one was moved or its width was changed."""
    titleMenuRequested = Signal(str, QPoint)
    """The key of a column whose title was right-clicked, "" for a fixed one, and where."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.rows = CompareRows(theme, self)
        self.names, self.values = _View(self.rows, self), _View(self.rows, self)
        self.names.setSelectionModel(self.values.selectionModel())
        self.names.setFocusProxy(self.values)
        self.names.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.names.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.values.setAccessibleName("Models")
        for column in range(len(COLUMNS)):
            self.names.setColumnHidden(column, column >= FIXED)
            self.values.setColumnHidden(column, column < FIXED)
        self._arrangement: ColumnWidths = ()
        for view in (self.names, self.values):
            view.horizontalHeader().sectionClicked.connect(self.toggle_sorting)
            view.doubleClicked.connect(self._on_double_clicked)
            view.keyed.connect(self._on_key)
            view.titles.customContextMenuRequested.connect(
                partial(self._on_title_menu, view.titles)
            )
        self.values.titles.setSectionsMovable(True)
        self.values.titles.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.values.titles.arranged.connect(self._on_arranged)
        self.values.titles.sectionHandleDoubleClicked.connect(
            lambda number: self.set_width(ALL[number - FIXED], 0)
        )
        left, right = self.names.verticalScrollBar(), self.values.verticalScrollBar()
        left.valueChanged.connect(right.setValue)
        right.valueChanged.connect(left.setValue)
        self.values.horizontalScrollBar().rangeChanged.connect(self._place)
        self.rows.modelReset.connect(self._fit)
        self.rows.dataChanged.connect(self._fit)
        self.set_theme(theme)
        self._show_arrangement()

    def show_lines(self, lines: Sequence[MeasuredRow], sorted_by: Sorting | None = None) -> None:
        """Set the lines; a model that is still shown stays selected."""
        marked = self.marked
        self.rows.replace(lines, sorted_by)
        if marked is None:
            return
        same = [n for n, line in enumerate(self.rows.lines) if line.row.key == marked.row.key]
        if same:
            self.values.selectRow(same[0])

    @property
    def shown(self) -> tuple[str, ...]:
        """The keys of the shown columns, in order."""
        return columns_of(self._arrangement)

    @property
    def widths(self) -> dict[str, int]:
        """The widths that the user chose, by key."""
        return widths_of(self._arrangement)

    def arrange(self, columns: ColumnWidths) -> None:
        """Show columns, in order, with their widths; the standard ones if there are none."""
        if columns != self._arrangement:
            self._arrangement = columns
            self._show_arrangement()

    def _show_arrangement(self) -> None:
        titles, shown = self.values.titles, self.shown
        for key in ALL:
            self.values.setColumnHidden(number_of(key), key not in shown)
        for place, key in enumerate(shown):
            titles.moveSection(titles.visualIndex(number_of(key)), FIXED + place)
        self._fit()

    def set_width(self, key: str, width: int) -> None:
        """Request a column's width; 0 for that of its texts."""
        widths = {**self.widths, key: width}
        self.arranged.emit(tuple((column, widths.get(column, 0)) for column in self.shown))

    def _on_arranged(self, resized: dict[int, int]) -> None:
        """Report the new order and widths after dragging."""
        titles = self.values.titles
        keys = sorted(self.shown, key=lambda key: titles.visualIndex(number_of(key)))
        widths = self.widths | {ALL[number - FIXED]: width for number, width in resized.items()}
        self.arranged.emit(tuple((key, widths.get(key, 0)) for key in keys))

    def _on_title_menu(self, titles: _Titles, at: QPoint) -> None:
        number = titles.logicalIndexAt(at)
        key = ALL[number - FIXED] if number >= FIXED else ""
        self.titleMenuRequested.emit(key, titles.viewport().mapToGlobal(at))

    @property
    def marked(self) -> MeasuredRow | None:
        """The selected line."""
        rows = self.values.selectionModel().selectedRows()
        return self.rows.lines[rows[0].row()] if rows else None

    def set_theme(self, theme: Theme) -> None:
        self.rows.muted, self.rows.theme = QColor(theme.muted), theme
        title_height = theme.px(TITLE_HEIGHT)
        self.setMinimumHeight(title_height + 2 * ROW_HEIGHT)
        for view in (self.names, self.values):
            view.titles.setFixedHeight(title_height)
            view.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # Requests of the user.

    def toggle_sorting(self, column: int) -> None:
        """Request a column's order, then the reverse, then none."""
        if not column:
            return
        first = column > FIXED and QUANTITIES[column - FIXED - 1].kind != "text"
        by = self.rows.sorted_by
        if by is None or by[0] != column:
            self.sorted.emit((column, first))
        else:
            self.sorted.emit((column, not first) if by[1] is first else None)

    def _on_double_clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(self.rows.lines[index.row()].row.key)

    def _on_key(self, key: int) -> None:
        marked = self.marked
        if key == Qt.Key.Key_C:
            self.copyRequested.emit()
        elif marked is not None and key == Qt.Key.Key_Delete:
            self.removed.emit(marked.row.key)
        elif marked is not None:
            self.chosen.emit(marked.row.key)

    # Layout.

    def _fit(self) -> None:
        """Fit the columns to their texts; the names within bounds, others as the user chose."""
        if self.values.titles.held:  # one is being dragged
            return
        titles, texts = QFontMetrics(sized(self.font(), SMALL)), QFontMetrics(self.values.font())
        rows = [cells(line) for line in self.rows.lines]
        space, widths = 2 * GRID + 4, self.widths
        for number, column in enumerate(COLUMNS):
            title, _, unit = column.title.partition("\n")
            wide = [titles.horizontalAdvance(text) for text in (title + ARROWS[True], unit)]
            wide += [texts.horizontalAdvance(row[number]) for row in rows]
            chosen = widths.get(ALL[number - FIXED], 0) if number >= FIXED else 0
            width = chosen or column.width or max(wide) + space
            if number == 1:
                width = min(
                    max(width, MIN_NAME_WIDTH),
                    MAX_NAME_WIDTH,
                    max(self.width() // 3, MIN_NAME_WIDTH),
                )
            for view in (self.names, self.values):
                view.setColumnWidth(number, width)
        self._place()

    def _place(self) -> None:
        """Place both halves side by side; the names end above the numbers' scroll bar."""
        bar, edge = self.values.horizontalScrollBar(), self.names.frameWidth()
        below = bar.sizeHint().height() if bar.maximum() else 0
        wide = sum(self.names.columnWidth(i) for i in range(FIXED))
        # Their invisible frames overlap, so that the line under the titles is continuous.
        self.names.setGeometry(0, 0, wide + 2 * edge, self.height() - below)
        self.values.setGeometry(wide, 0, self.width() - wide, self.height())


class _Titles(QHeaderView):
    """The titles of one half: clicked, dragged, right-clicked."""

    arranged = Signal(object)
    """The mouse has moved a title, or changed widths; the new widths by column number."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.held = False
        self._resized: dict[int, int] = {}
        self._moved = False
        self.setMinimumSectionSize(16)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.sectionResized.connect(self._on_resized)
        self.sectionMoved.connect(self._on_moved)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.held = event.button() == Qt.MouseButton.LeftButton
        self._resized, self._moved = {}, False
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        held, self.held = self.held, False
        if held and (self._resized or self._moved):
            self.arranged.emit(self._resized)

    def _on_resized(self, number: int, _before: int, width: int) -> None:
        if self.held and width:
            self._resized[number] = width

    def _on_moved(self) -> None:
        self._moved = self.held


class _View(QTableView):
    """One half of the table."""

    keyed = Signal(int)

    def __init__(self, rows: CompareRows, parent: QWidget) -> None:
        super().__init__(parent)
        self.setModel(rows)
        font = QFont(self.font())
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        self.setProperty("ring", True)
        self.setStyleSheet(rows_style(f"padding: 0 {GRID}px;"))
        self.titles = _Titles(self)
        self.setHorizontalHeader(self.titles)
        set_up_rows(self, ROW_HEIGHT)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.titles.setSectionsClickable(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows select and scroll; Enter, Delete and Ctrl+C are emitted."""
        bar = self.horizontalScrollBar()
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.matches(QKeySequence.StandardKey.Copy):
            self.keyed.emit(Qt.Key.Key_C)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Delete):
            self.keyed.emit(event.key())
        elif plain and event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = 8 * GRID * (1 if event.key() == Qt.Key.Key_Right else -1)
            bar.setValue(bar.value() + step)
        elif plain and event.key() in MOVES:
            self._mark(event.key())
        else:
            # The window's commands instead of the table's search by letter.
            event.ignore()

    def _mark(self, key: int) -> None:
        """Select another row without horizontal scrolling."""
        last, marked = self.model().rowCount() - 1, self.selectionModel().selectedRows()
        now = marked[0].row() if marked else -1
        page = max(self.viewport().height() // ROW_HEIGHT - 1, 1)
        row = {
            Qt.Key.Key_Up: now - 1,
            Qt.Key.Key_Down: now + 1,
            Qt.Key.Key_PageUp: now - page,
            Qt.Key.Key_PageDown: now + page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }[Qt.Key(key)]
        row, bar = min(max(row, 0), last), self.horizontalScrollBar()
        before = bar.value()
        self.selectRow(row)
        self.scrollTo(self.model().index(row, FIXED))
        bar.setValue(before)
