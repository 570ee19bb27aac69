"""The window of a survey: a scatter or curves above the table of its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QMenu,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from geometry.survey.read import Survey
from gui.export.survey_script import curves_script, survey_script
from gui.plots.color_bar import ColorBar
from gui.plots.scatter_plot import ScatterPlot
from gui.style.theme import GRID, Theme, format_count
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.native_keys import native_keys
from gui.widgets.segmented import Segmented
from gui.widgets.swatches import Swatches
from gui.widgets.tooltips import wrapped
from gui.window.dialogs import room_on_screen
from gui.window.survey.curves import SurveyCurves, drawn_rows
from gui.window.survey.scatter import (
    COLORMAP,
    drawn_column,
    is_wide,
    make_scatter,
    point_text,
    usual_choices,
)
from gui.window.survey.table import SurveyTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.export.save_result import ResultSaver

SIZE = QSize(1100, 760)
MAX_BESIDE = 9
"""Maximum number of checkpoints side by side."""
PAGES = (
    ("scatter", "Scatter", "Plot two columns, coloured by a third"),
    ("curves", "Curves", "Draw the curve of each selected checkpoint, or of some of all"),
)
EMPTY = "There are no rows yet. They appear here as they are measured."


class SurveyWindow(QWidget):
    """Shows a survey beside the main window.

    Signals
    -------
    openRequested(str), besideRequested(object)
        Open a checkpoint; show up to nine side by side, in order.
    curvesRequested(object)
        Read the curves of these sources, and pass them to :meth:`show_curves`.
    activated
        The window was activated: the files may have changed.
    """

    openRequested = Signal(str)
    besideRequested = Signal(object)
    curvesRequested = Signal(object)
    activated = Signal()

    def __init__(self, survey: Survey, theme: Theme, saver: ResultSaver, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._theme, self._saver = theme, saver
        self.choices = usual_choices(survey)
        self._names: list[str] = []
        self._drawn: dict[str, int] = {}
        self._curves: dict[str, np.ndarray | None] = {}
        self._controls = QWidget()
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._splitter_moved = False
        self.table = SurveyTable(survey, theme)
        self.plot = ScatterPlot(theme)
        self.plot.setAccessibleName("Scatter of two columns")
        self.curves = SurveyCurves(theme, COLORMAP)
        self.page = Segmented(PAGES, "What is drawn")
        self.page.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.pages = QStackedWidget()
        self._scatter_controls = QWidget()
        self.bar = ColorBar(theme, "the points")
        self.swatches = Swatches(theme)
        self.progress = label()
        self.note = label(role="muted", selectable=True)
        # A long sentence must not widen the window; the tooltip has all of it.
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.empty = label(EMPTY, "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._build_controls()
        self._arrange()
        self._connect()
        self.show_survey(survey)
        self.resize(SIZE.boundedTo(room_on_screen(self)))
        self.table.setFocus()

    # ---- content -----------------------------------------------------------------------

    @property
    def survey(self) -> Survey:
        """The shown survey."""
        return self.table.survey

    def show_survey(self, survey: Survey) -> None:
        """Show a survey, or newer rows of this one; choices and selection stay."""
        fresh = list(survey.columns) != self._names
        if not len(self.survey) or fresh:
            self.choices, fresh = usual_choices(survey), True
        if survey is not self.survey:
            self.table.show_survey(survey)
        if fresh:
            self._names = list(survey.columns)
            self._fill_columns()
        self.setWindowTitle(f"{survey.path.name} – Survey – Helixscope")
        self.show_message(f"Dashboard: {survey.dashboard}" if survey.dashboard else "")
        self.progress.setText(progress_text(survey))
        self.empty.setVisible(not len(survey))
        for part in (self._splitter, self._controls, self.open, self.beside):
            part.setVisible(len(survey) > 0)
        # Missing curves may have been measured since, and rows may differ.
        self._curves = {source: c for source, c in self._curves.items() if c is not None}
        self._drawn = {}
        self._draw()
        self._set_heights()

    def show_message(self, text: str) -> None:
        """Show a sentence beside the progress."""
        self.note.setText(text)
        self.note.setToolTip(wrapped(text))

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.plot.set_theme(theme)
        self.curves.set_theme(theme)
        self.bar.set_theme(theme)
        self.swatches.set_theme(theme)
        self.table.set_theme(theme)
        self._show_scale()

    # ---- building ----------------------------------------------------------------------

    def _build_controls(self) -> None:
        self.x_box, self.y_box, self.color_box = DropDown(), DropDown(), DropDown()
        self.log_x, self.log_y = QCheckBox("Log"), QCheckBox("Log")
        self.lines = QCheckBox("Join steps")
        self.lines.setToolTip(wrapped("Draw a line along the steps of each training"))
        for part, name in (
            (self.x_box, "Column along x"),
            (self.y_box, "Column along y"),
            (self.color_box, "Colour by"),
            (self.log_x, "Logarithmic x axis"),
            (self.log_y, "Logarithmic y axis"),
        ):
            part.setAccessibleName(name)
            part.setToolTip(wrapped(name))
        self._boxes = self.x_box, self.y_box, self.color_box
        for box in self._boxes:
            box.setMaxVisibleItems(24)
            box.setMinimumContentsLength(10)
        self.selection = label(role="muted")
        self.undrawn = label(role="muted")
        self.undrawn.setToolTip(wrapped("No value in x or y, or none above zero on a Log axis"))
        self.open = push_button("Open checkpoint", "Open the checkpoint in the main window (Enter)")
        self.beside = push_button(
            "Side by side",
            native_keys(f"Show up to {MAX_BESIDE} selected checkpoints side by side (Ctrl+Enter)"),
        )
        self.columns = push_button("Columns", "Choose which columns the table has")
        self.export = push_button("Export", "Save the figure or the table, or copy a script")
        self.export.setMenu(self._make_export_menu())

    def _make_export_menu(self) -> QMenu:
        menu = QMenu(self)
        for text, act in (
            ("Save figure…", self.save_figure),
            ("Copy figure", self.copy_figure),
            ("Save table…", self.save_table),
            ("Copy as Python", self.copy_script),
        ):
            menu.addAction(text).triggered.connect(act)
        return menu

    def _arrange(self) -> None:
        texts = (self.progress, self.undrawn, (self.note, 1), self.selection)
        top = hbox(*texts, self.open, self.beside, spacing=GRID)
        controls = hbox(parent=self._scatter_controls, spacing=GRID)
        for name, box, *more in (
            ("x", self.x_box, self.log_x),
            ("y", self.y_box, self.log_y),
            ("Colour", self.color_box),
        ):
            controls.addWidget(label(name, "muted"))
            controls.addWidget(box)
            for part in more:
                controls.addWidget(part)
            controls.addSpacing(GRID)
        controls.addWidget(self.lines)
        row = (self.page, self._scatter_controls, 1, self.columns, self.export)
        hbox(*row, parent=self._controls, spacing=2 * GRID)
        scatter = QWidget()
        hbox((self.plot, 1), self.bar, self.swatches, parent=scatter, spacing=GRID)
        self.pages.addWidget(scatter)
        self.pages.addWidget(self.curves)
        self._splitter.setHandleWidth(GRID)
        self._splitter.addWidget(self.pages)
        self._splitter.addWidget(self.table)
        self._splitter.setChildrenCollapsible(False)
        column = (top, self._controls, (self._splitter, 1), (self.empty, 1))
        vbox(*column, parent=self, spacing=GRID, margins=GRID)

    def _set_heights(self) -> None:
        """Set the table's height, at most half, unless the user has moved the splitter."""
        if not self._splitter_moved:
            height = self._splitter.height() - self._splitter.handleWidth()
            lower = min(self.table.full_height(), height // 2)
            self._splitter.setSizes([height - lower, lower])

    def _on_splitter_moved(self) -> None:
        self._splitter_moved = True

    def _connect(self) -> None:
        for box in self._boxes:
            box.activated.connect(self._on_column)
        for check in (self.log_x, self.log_y, self.lines):
            check.clicked.connect(self._on_checked)
        self.table.chosen.connect(self._show_selection)
        self.table.opened.connect(self._open_row)
        self.plot.clicked.connect(self._on_clicked)
        self.plot.encircled.connect(self._on_encircled)
        self.plot.opened.connect(self._open_row)
        self.plot.stepped.connect(self._step)
        self._splitter.splitterMoved.connect(self._on_splitter_moved)
        self.page.chosen.connect(self._show_page)
        self.curves.chosen.connect(self._on_curve)
        self.curves.opened.connect(self._open_row)
        self.bar.levelsRequested.connect(self._on_levels)
        self.open.clicked.connect(self.open_current)
        self.beside.clicked.connect(self.open_beside)
        self.columns.clicked.connect(self._show_columns_menu)

    def _fill_columns(self) -> None:
        chosen = (self.choices.x, self.choices.y, self.choices.color)
        for box, name in zip(self._boxes, chosen, strict=True):
            with QSignalBlocker(box):
                box.clear()
                for column in self.survey.columns.values():
                    if column.name in chosen or column.known.any():
                        box.addItem(column.title, column.name)
                box.setCurrentIndex(box.findData(name))

    # ---- choices -----------------------------------------------------------------------

    def _on_column(self) -> None:
        columns = self.survey.columns
        x, y, color = (box.currentData() for box in self._boxes)
        before = self.choices
        log_x = before.log_x if x == before.x else is_wide(columns[x])
        log_y = before.log_y if y == before.y else is_wide(columns[y])
        if color != before.color:
            self.plot.levels = None
        self.choices = replace(before, x=x, y=y, color=color, log_x=log_x, log_y=log_y)
        self._draw()

    def _on_checked(self) -> None:
        self.choices = replace(
            self.choices,
            log_x=self.log_x.isChecked(),
            log_y=self.log_y.isChecked(),
            lines=self.lines.isChecked(),
        )
        self._draw()

    def _on_levels(self, low: float, high: float) -> None:
        home = self._scatter.scale.limits
        self.plot.set_levels(None if (low, high) == home else (low, high))
        self._show_scale()

    # ---- drawing -----------------------------------------------------------------------

    def _draw(self) -> None:
        survey, choices = self.survey, self.choices
        self._scatter = make_scatter(survey, choices)
        self.plot.show_scatter(self._scatter, lambda row: point_text(survey, choices, row))
        none = int(np.isnan(self._scatter.places()[:, 0]).sum())
        rows = "1 row has" if none == 1 else f"{format_count(none)} rows have"
        self.undrawn.setText(f"{rows} no value, so no point" if none else "")
        self.undrawn.setVisible(none > 0 and self.page.value() == "scatter")
        for check, on, column in (
            (self.log_x, choices.log_x, choices.x),
            (self.log_y, choices.log_y, choices.y),
        ):
            check.setChecked(on)
            check.setEnabled(survey.columns[column].kind != "text")
        self.lines.setChecked(choices.lines)
        self.lines.setEnabled(bool(survey.runs))
        self._show_scale()
        self._show_selection()

    def _show_scale(self) -> None:
        scale = self._scatter.scale
        self.bar.setVisible(not scale.categories)
        self.swatches.setVisible(bool(scale.categories))
        if scale.categories:
            self.swatches.show_rows(partial(scale.legend, self._theme.viewport))
        else:
            self.bar.set_title(scale.title)
            self.bar.show_scale(scale.colormap, self.plot.scale.limits, scale.limits)

    # ---- selection ---------------------------------------------------------------------

    def _show_selection(self) -> None:
        rows = self.table.selected
        self.plot.select(rows)
        count = len(rows)
        self.selection.setText(f"{format_count(count)} selected" if count else "")
        self.open.setEnabled(self.table.current is not None)
        self.beside.setEnabled(2 <= count <= MAX_BESIDE)
        self.curves.list.show_current(self.table.current)
        self._request_curves()

    def _on_clicked(self, row: int, modifiers: Qt.KeyboardModifier) -> None:
        rows = [row]
        if modifiers & Qt.KeyboardModifier.ShiftModifier:
            before = [int(selected) for selected in self.table.selected]
            rows = [r for r in before if r != row] if row in before else [*before, row]
        self.table.select_rows(np.array(rows, dtype=np.intp), row if row in rows else None)

    def _on_encircled(self, rows: np.ndarray, modifiers: Qt.KeyboardModifier) -> None:
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            rows = np.union1d(self.table.selected, rows)
        self.table.select_rows(rows)

    def _step(self, step: int, _: object) -> None:
        """Select the next row of the table, or the previous one."""
        current, last = self.table.current, len(self.survey) - 1
        place = 0 if current is None else self.table.rows.place_of(current) + step
        row = int(self.table.rows.order[min(max(place, 0), last)])
        self.table.select_rows(np.array([row]))

    # ---- curves ------------------------------------------------------------------------

    def _show_page(self, page: str) -> None:
        self.pages.setCurrentIndex([name for name, *_ in PAGES].index(page))
        self._scatter_controls.setVisible(page == "scatter")
        self.undrawn.setVisible(page == "scatter" and bool(self.undrawn.text()))
        self._request_curves()

    def _request_curves(self) -> None:
        """Request the curves of the selected rows, or of some of all, if curves are shown."""
        if self.page.value() != "curves":
            return
        sources = self.survey.columns["source"].values
        rows = drawn_rows(self.table.rows.order, self.table.selected)
        requested = {sources[row]: int(row) for row in rows}
        if list(requested.items()) == list(self._drawn.items()):
            return
        self._drawn = requested
        missing = tuple(source for source in requested if source not in self._curves)
        if missing:
            self.curves.wait()
            self.curvesRequested.emit(missing)
        else:
            self.show_curves({})

    def show_curves(self, curves: Mapping[str, np.ndarray]) -> None:
        """Show requested curves by source, each (m, 3); missing ones are not in the file."""
        known = {**self._curves, **curves}
        self._curves = {source: known.get(source) for source in self._drawn}
        drawn = {source: c for source, c in self._curves.items() if c is not None}
        count = len(self.table.selected) or len(self.survey)
        self.curves.show_curves(self.survey, self._drawn, drawn, of=count)
        self.curves.list.show_current(self.table.current)

    def _on_curve(self, row: int) -> None:
        self.table.move_to(row)
        self.open.setEnabled(True)

    # ---- opening -----------------------------------------------------------------------

    def open_current(self) -> None:
        """Open the current checkpoint in the main window."""
        if self.table.current is not None:
            self._open_row(self.table.current)

    def _open_row(self, row: int) -> None:
        self.openRequested.emit(self._source(row))

    def _source(self, row: int) -> str:
        return str(self.survey.columns["source"].values[row])

    def open_beside(self) -> None:
        """Show the selected checkpoints side by side."""
        rows = self.table.selected
        if 2 <= len(rows) <= MAX_BESIDE:
            self.besideRequested.emit(tuple(self._source(int(row)) for row in rows))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Window managers keep it above its transient parent, which shows what it opens.
        self.windowHandle().setTransientParent(None)  # type: ignore[arg-type]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Enter, several with Ctrl+Enter; close with Esc."""
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                beside = event.modifiers() & Qt.KeyboardModifier.ControlModifier
                self.open_beside() if beside else self.open_current()
            case Qt.Key.Key_Escape:
                self.close()
            case _:
                super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_heights()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.activated.emit()

    # ---- menus and files ---------------------------------------------------------------

    def _show_columns_menu(self) -> None:
        below = self.columns.mapToGlobal(self.columns.rect().bottomLeft())
        self.table.make_columns_menu().popup(below)

    def save_figure(self) -> None:
        """Ask for a file, and save the scatter or the curves."""
        self._saver.save_figure(self, self.survey.path.stem, self._figure())

    def copy_figure(self) -> None:
        """Copy the scatter or the curves as a picture."""
        self._saver.copy_figure(self._figure())

    def _figure(self) -> Callable[[], Figure]:
        title, detail = self.survey.path.name, progress_text(self.survey)
        if self.page.value() == "curves":
            curves, names = self.curves.flat, self.curves.names

            def draw_curves() -> Figure:
                from gui.export.curves_figure import curves_figure

                return curves_figure(title, detail, curves, names, COLORMAP)

            return draw_curves
        scatter, scale = self._scatter, self.plot.scale

        def draw() -> Figure:
            from gui.export.scatter_figure import scatter_figure

            return scatter_figure(title, detail, scatter, scale)

        return draw

    def save_table(self) -> None:
        """Ask for a file, and write the shown columns of all rows, in the table's order."""
        numbers = self.table_numbers()
        self._saver.save_numbers(self, self.survey.path.stem, numbers, {"": numbers})

    def table_numbers(self) -> dict[str, np.ndarray]:
        """Return the shown columns in the table's order, as the file has them."""
        order, numbers = self.table.rows.order, {}
        for name in self.table.shown_columns:
            column = self.survey.columns[name]
            values = column.values[order]
            if column.kind == "text":
                values = values.astype(str)
            elif column.kind == "count" and not np.isnan(values).any():
                values = values.astype(np.int64)
            numbers[name] = values
        return numbers

    def copy_script(self) -> None:
        """Copy a script that draws the shown figure."""
        self._saver.copy_text(self.script())

    def script(self) -> str:
        """Return a script that draws the shown scatter or curves."""
        columns, choices, path = self.survey.columns, self.choices, self.survey.path
        if self.page.value() == "curves":
            return curves_script(
                path,
                self.curves.names,
                self.curves.view,
                colormap=COLORMAP,
                parts=self.survey.in_parts,
            )
        x = drawn_column(columns[choices.x], log=choices.log_x)
        y = drawn_column(columns[choices.y], log=choices.log_y)
        return survey_script(
            path,
            x,
            y,
            drawn_column(columns[choices.color]),
            lines=choices.lines and bool(self.survey.runs),
            parts=self.survey.in_parts,
            colormap=COLORMAP,
        )


def progress_text(survey: Survey) -> str:
    """Describe a survey's progress: "310 of 609 checkpoints, 2 failed"."""
    rows = len(survey)
    if survey.total is None:
        text = f"{format_count(rows)} checkpoint{'s' * (rows != 1)}"
    else:
        done = max(rows - survey.others, 0)
        text = f"{format_count(done)} of {format_count(survey.total)} checkpoints"
    return f"{text}, {format_count(survey.failed)} failed" if survey.failed else text
