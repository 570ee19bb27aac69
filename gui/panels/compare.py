"""The table of models: the open one and those beside it, in all their single numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np
from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QPushButton, QVBoxLayout, QWidget

from gui.panels import compare_text as text
from gui.panels.base import label
from gui.panels.compare_question import Comparison, ComparisonOf, Kept, RowOf
from gui.panels.compare_table import CompareTable
from gui.panels.overlay_row import OverlayRow
from gui.panels.result_panel import ResultPanel
from gui.state.compared import MAIN
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID, Theme
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE = "Only the open model is here. “Add model…” puts others beside it, one line each."
ADD_TIP = "Show another model beside the open one: a line here, and a view of its own"


class ComparePanel(ResultPanel):
    """A line for the open model and for each that is compared with it; a column for each number.

    Attributes
    ----------
    above
        Where other controls about the compared models stand, over the table.
    """

    slot = "compare"
    formula = "Models"
    meaning = "side by side, in numbers"
    explanation = (
        "Each line is a model in the range that is shown of it, each column one number, defined in"
        " its title’s tip: variance and rank, the fitted helix, norms, how rough the curve is and"
        " how often it goes round. A click on a title sorts; Ctrl+C copies the table as it stands,"
        " shares from 0 to 1."
    )
    empty = "Open a model to see its numbers beside those of others."

    addRequested = Signal(QPoint)
    """Another model is to be shown beside the open one; where on the screen to ask which."""
    mainRequested = Signal(int)
    """The key of a model that is to be the open one."""
    removeRequested = Signal(int)
    """The key of a model that is to be shown no more."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.table: CompareTable
        self.overlay: OverlayRow
        self.above = QVBoxLayout()
        self._kept = Kept()
        self._others = Listening()
        self.add = QPushButton("Add model…")
        self.add.setToolTip(wrapped(ADD_TIP))
        self.add.clicked.connect(self._on_add)
        self.header.add(self.add)
        events = session.events
        for signal in (events.positions, events.components, events.dragging, events.main_at):
            self.listen(signal, self._ask_when_still)
        self.listen(events.compared, self._follow_compared)
        self._follow_compared()

    def question(self) -> ComparisonOf:
        """Ask for the open model and all beside it, as they are shown, in the grid's order."""
        rows = [_row(one.key, one.name, one.session) for one in self.session.compared]
        rows.insert(self.session.main_at, _row(MAIN, "", self.session))
        return ComparisonOf(tuple(rows), self._kept)

    def focus_overlay(self) -> None:
        """Let the keys choose what is laid over the shown curve."""
        (self if self.content is None else self.overlay.what).setFocus()

    # What it shows.

    def build(self) -> QWidget:
        """Make the table, and what stands above and below it."""
        self.table = CompareTable(self.theme)
        self.table.chosen.connect(self._on_chosen)
        self.table.removed.connect(self._on_removed)
        self.table.copyRequested.connect(self._copy)
        self.alone = label(ALONE, "muted")
        self.alone.setWordWrap(True)
        self.overlay = OverlayRow(self.session, self.theme)
        self.overlay.layingRequested.connect(partial(self.fieldRequested.emit, "laying"))
        self.above.addWidget(self.overlay)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(self.above)
        column.addWidget(self.table, 1)
        column.addWidget(self.alone)
        return content

    def show_result(self, result: Comparison) -> None:
        """Fill the table."""
        self.table.show_lines(result.lines)
        self.alone.setVisible(len(result.lines) == 1)

    def caption(self, result: Comparison) -> str:
        """Say how many models there are."""
        lines = result.lines
        count = "1 model" if len(lines) == 1 else f"{len(lines)} models"
        waiting = sum(line.scalars is None and not line.why for line in lines)
        rest = f" · {waiting} still to be measured" if waiting else ""
        (main,) = (line.row.name for line in lines if line.row.key == MAIN)
        return f"{count} · {main} is the open one{rest}"

    # What the user wants.

    def _on_add(self) -> None:
        self.addRequested.emit(self.add.mapToGlobal(QPoint(0, self.add.height())))

    def _on_chosen(self, key: int) -> None:
        if key != MAIN:
            self.mainRequested.emit(key)

    def _on_removed(self, key: int) -> None:
        if key != MAIN:
            self.removeRequested.emit(key)

    def _copy(self) -> None:
        if self.result is not None:
            QGuiApplication.clipboard().setText(text.tab_separated(self.table.rows.lines))
            self.session.status = "Copied the table"

    # What it follows.

    def _on_model_changed(self) -> None:
        """Keep the table in sight, and the keys in it, until what is new is known.

        Its lines say themselves which models they are about.
        """
        if self.session.model is None or self._ready is None:
            super()._on_model_changed()
        else:
            self._answer = None
            self.ask()

    def _ask_when_still(self) -> None:
        sessions = (self.session, *(one.session for one in self.session.compared))
        if not any(session.dragging for session in sessions):
            self.ask()

    def _follow_compared(self) -> None:
        """Listen to the models that are beside the open one now."""
        self._others.stop()
        for one in self.session.compared:
            events = one.session.events
            for signal in (events.model, events.positions, events.components, events.dragging):
                self._others.to(signal, self._ask_when_still)
        self.ask()

    def release(self) -> None:
        """Stop listening to all the sessions."""
        self._others.stop()
        if self.content is not None:
            self.overlay.release()
        super().release()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.table.set_theme(theme)

    # What can be taken away.

    def figure(self, result: Comparison) -> Callable[[], Figure]:
        """Draw the table for print, the models side by side."""
        lines = self.table.rows.lines

        def draw() -> Figure:
            from gui.panels.compare_figure import compare_figure

            return compare_figure(lines)

        return draw

    def numbers(self, result: Comparison) -> Mapping[str, np.ndarray]:
        """Return a column for each quantity, in the order of the lines as they are sorted."""
        return text.numbers(self.table.rows.lines)

    def python(self) -> str:
        """Return a script that prints the numbers of all these models."""
        shown = []
        for line in self.table.rows.lines:
            model = None if line.row.model is None else line.row.model()
            if model is not None:
                shown.append((model, line.row.positions, line.row.components))
        return text.script(shown)

    def menu(self) -> QMenu:
        """Return the usual menu, with the table as a text and its order first."""
        menu = super().menu()
        first, there = menu.actions()[0], self.result is not None
        save = menu.addAction("Save table…", self._save_table)
        copy = menu.addAction("Copy table", self._copy)
        order = menu.addMenu("Sort by")
        for number, column in enumerate(text.COLUMNS):
            if number:
                title = column.title.partition("\n")[0]
                order.addAction(title, partial(self.table.toggle_sorting, number))
        for action in (save, copy, order.menuAction()):
            action.setEnabled(there)
            menu.insertAction(first, action)
        menu.insertSeparator(first)
        return menu

    def _save_table(self) -> None:
        lines = self.table.rows.lines
        texts = {"csv": text.comma_separated, "md": text.markdown, "tex": text.latex,
                 "json": text.as_json}  # fmt: skip
        self.saver.save_text(
            self, "Save table", self.file_name(), text.KINDS,
            {ending: partial(write, lines) for ending, write in texts.items()},
        )  # fmt: skip


def _row(key: int, name: str, session: Session) -> RowOf:
    model = session.model
    if model is None:
        return RowOf(key, name, None, session.positions, session.components)
    return RowOf(key, model.name, ref(model), session.positions, session.components)
