"""The inspector: the current position, and the list of selected ones."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication, QPushButton, QStackedWidget, QWidget

from geometry.checkpoints.number_files import cell
from geometry.measures.neighbours import Neighbour, PositionDetails
from gui.side_panels.cards import PairCard, PositionCard
from gui.side_panels.go_to import GoTo
from gui.state import selection as select
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_count, format_number
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.clicks import selection_after_click
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.position_rows import REMOVE, Column, Row
from gui.widgets.position_table import PositionTableView
from gui.widgets.scroll_column import ScrollColumn
from gui.widgets.tooltips import wrapped

PATIENCE_MS = 120
"""Time for which the previous numbers stay while new ones are computed."""

_OTHERS = (
    Column("Position", "Another position; click to inspect it"),
    Column("Δ", "Number of positions away", 48),
    Column("Distance", "Euclidean distance of the two rows, in the table's own units"),
    Column("Cosine", "Cosine of the angle between the two stored rows"),
)


class _Scroll(ScrollColumn):
    """Scrolls with the wheel; keys are left to the window: the arrows step along the curve."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave every key to the window."""
        event.ignore()


class InspectorPanel(Panel):
    """Numbers of the current position, its neighbours, and the list of selected ones.

    Signals
    -------
    selectionRequested(object)
        A tuple of positions in the order of selection, the last one the current.
    hoverRequested(object)
        The position to highlight in all views, or None.
    measureRequested(bool)
        Whether to show a line between the two positions selected last.
    """

    selectionRequested = Signal(object)
    hoverRequested = Signal(object)
    measureRequested = Signal(bool)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.go_to = GoTo()
        self.card = PositionCard()
        self.copy = _button("Copy", "Copy these numbers as tab-separated text")
        self.beside = PositionTableView(_OTHERS, "Click to inspect position {position}", min_rows=2)
        self.nearest = PositionTableView(
            _OTHERS, "Click to inspect position {position}", header=False
        )
        self.pair = PairCard()
        self.listed = _selection_table()
        self.listed_title = label(role="heading")
        self.clear = _button("Clear", "Clear the selection")
        self.copy_list = _button("Copy list", "Copy the list as tab-separated text")
        self.sentence = label(role="muted", wrap=True)
        self._late = QTimer(self, interval=PATIENCE_MS, singleShot=True)
        self._details: PositionDetails | None = None
        self._lay_out()
        self._connect()
        self._show_all()

    def take_focus(self) -> None:
        self.go_to.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.go_to.field.selectAll()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._show_tints()

    # The session has changed.

    def _connect(self) -> None:
        events = self.session.events
        for event in (events.model, events.opening, events.selection):
            self.listen(event, self._show_all)
        self.listen_throttled(events.details, self._on_details_changed)
        self.listen(events.tokens, self._on_tokens_changed)
        for event in (events.norms, events.timeline):
            self.listen(event, self._on_norms_changed)
        self.listen_throttled(events.snapshot, self._on_norms_changed)
        self.listen_throttled(events.positions, self._show_flags)
        self.listen(events.hover, self._show_tints)
        self.listen_throttled(events.pair, self._show_pair)
        self.listen(events.measure, self._show_pair)
        self._late.timeout.connect(self._on_late)
        self.go_to.typed.connect(self.selectionRequested)
        self.go_to.stepped.connect(self._on_stepped)
        self.copy.clicked.connect(self._on_copy_clicked)
        self.copy_list.clicked.connect(self._on_copy_list_clicked)
        self.clear.clicked.connect(lambda: self.selectionRequested.emit(()))
        for table in (self.beside, self.nearest):
            table.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            table.hovered.connect(self.hoverRequested)
            table.chosen.connect(self._on_neighbour_chosen)
        self.listed.hovered.connect(self.hoverRequested)
        self.listed.chosen.connect(self._on_listed_chosen)
        self.listed.removed.connect(self._on_removed)
        self.pair.measureRequested.connect(self.measureRequested)

    def _on_details_changed(self) -> None:
        self._show_current()
        self._show_tints()

    def _on_tokens_changed(self) -> None:
        if self._details is not None:
            self._show_position(self._details.position)
        self._show_list()

    def _on_norms_changed(self) -> None:
        self._show_flags()
        self._show_list()

    def _show_position(self, position: int) -> None:
        model = self.session.model
        place = "" if model is None else model.place_of(position)
        label = self.session.label_at(position)
        if model is not None and model.rows is not None:
            label, place = None, label or ""
        self.card.show_position(position, label, place)

    def _on_late(self) -> None:
        """Clear another position's numbers if the new ones take long."""
        current = self.session.current
        if current is None:
            return
        self._details = None
        self._show_position(current)
        self.card.show_numbers(None, self.session.shown_components, 0)
        self._show_flags()
        self.copy.setEnabled(False)
        for table in (self.beside, self.nearest):
            table.set_rows(Row(r.position, ("…",) * 4) for r in table.rows)

    # What the user wants.

    def _on_stepped(self, step: int) -> None:
        current, model = self.session.current, self.session.model
        if model is None:
            return
        target = self.session.positions[0] if current is None else current + step
        if 0 <= target < model.n_positions:
            self.selectionRequested.emit((target,))

    def _on_neighbour_chosen(self, position: int, modifiers: Qt.KeyboardModifier) -> None:
        self.selectionRequested.emit(
            selection_after_click(self.session.selection, position, modifiers)
        )

    def _on_listed_chosen(self, position: int) -> None:
        self.selectionRequested.emit(select.make_current(self.session.selection, position))

    def _on_removed(self, positions: tuple[int, ...]) -> None:
        self.selectionRequested.emit(select.without(self.session.selection, *positions))

    def _on_copy_clicked(self) -> None:
        if self._details is not None:
            QGuiApplication.clipboard().setText(details_text(self.session, self._details))

    def _on_copy_list_clicked(self) -> None:
        QGuiApplication.clipboard().setText(selection_text(self.session))

    # Showing.

    def _show_all(self) -> None:
        model, current = self.session.model, self.session.current
        self.go_to.set_table(model.n_positions if model is not None else 0, current)
        for table in (self.beside, self.nearest, self.listed):
            table.name_rows(_row(self.session).capitalize())
        sentence = self._sentence()
        self.sentence.setText(sentence)
        if sentence:
            _clear_focus(self._scroll)
        self._pages.setCurrentIndex(0 if sentence else 1)
        self._show_current()
        self._show_list()
        self._show_pair()
        self._show_tints()

    def _sentence(self) -> str:
        if self.session.model is None:
            if (opening := self.session.opening) is not None:
                return f"Opening {opening.name}…"
            return "Open a model to inspect its positions."
        if self.session.current is None:
            return "Click a point or type a position to inspect it."
        return ""

    def _show_current(self) -> None:
        details, current = self.session.details, self.session.current
        if current is None or details is None or details.position != current:
            if current is None:
                self._late.stop()
                self._details = None
            elif not self._late.isActive():
                self._late.start()
            return
        self._late.stop()
        self._details = details
        fitted = len(self.session.pca.components) if self.session.pca is not None else 0
        self._show_position(current)
        self.card.show_numbers(details, self.session.shown_components, fitted)
        self._show_flags()
        self.copy.setEnabled(True)
        for table, near in ((self.beside, details.neighbours), (self.nearest, details.nearest)):
            table.set_rows(_neighbour_row(self.session, current, neighbour) for neighbour in near)

    def _show_flags(self) -> None:
        shown = self._details.position if self._details is not None else self.session.current
        if shown is not None:
            norms = self.session.norms
            of_model = self.session.shown_timeline is None
            outlier = of_model and norms is not None and shown in norms.outliers
            self.card.show_flags(shown, self.session.positions, outlier)

    def _show_list(self) -> None:
        selection = self.session.selection
        several = len(selection) > 1 and self.session.model is not None
        if not several:
            _clear_focus(self._list)
        self._list.setVisible(several)
        self.listed_title.setText(f"Selected · {format_count(len(selection))}")
        # Sorted by position, so that a click moves no row.
        self.listed.set_rows(map(self._listed_row, sorted(selection)) if several else ())
        if several:
            self.listed.show_row(selection[-1])

    def _show_pair(self) -> None:
        self.pair.show_pair(self.session.pair, drawn=self.session.measure)

    def _show_tints(self) -> None:
        hover, selection = self.session.hover, self.session.selection
        self.beside.set_tints(hover, selection, self.theme)
        self.nearest.set_tints(hover, selection, self.theme)
        # All in the list are selected, so the accent marks the current one.
        self.listed.set_tints(hover, selection[-1:], self.theme)

    def _listed_row(self, position: int) -> Row:
        norms, label = shown_norms(self.session), self.session.label_at(position)
        known = norms is not None and position < len(norms)
        norm = format_number(float(norms[position])) if norms is not None and known else "–"
        return Row(position, (str(position), label or "", norm, REMOVE))

    def _lay_out(self) -> None:
        self.setFocusProxy(self.go_to.field)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.card.heading.addWidget(self.copy)
        self.beside.setAccessibleName("Neighbouring positions")
        self.nearest.setAccessibleName("Nearest positions more than 8 away")
        near_title = label("Nearest elsewhere", "heading")
        near_title.setToolTip(
            wrapped(
                "The five rows nearest by Euclidean distance among positions more than 8 away, "
                "where the curve passes close to itself"
            )
        )
        content = QWidget()
        vbox(
            self.card,
            self.beside,
            near_title,
            self.nearest,
            (self._list_part(), 1),
            0,
            parent=content,
            spacing=GRID // 2,
        )
        self._scroll = _Scroll(content)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.sentence)
        self._pages.addWidget(self._scroll)
        margins = (GRID, GRID, GRID, 0)
        vbox(self.go_to, (self._pages, 1), parent=self, spacing=GRID, margins=margins)

    def _list_part(self) -> QWidget:
        self._list = QWidget()
        head = hbox((self.listed_title, 1), self.copy_list, self.clear, spacing=GRID // 2)
        # Spare height of a tall dock is below the list.
        vbox(
            self.pair,
            head,
            (self.listed, 100),
            1,
            parent=self._list,
            spacing=GRID // 2,
            margins=(0, GRID, 0, 0),
        )
        return self._list


def _clear_focus(part: QWidget) -> None:
    """Clear the focus of a part before it is hidden.

    Qt would move the focus to the next field, where arrow keys edit instead of stepping along the
    curve.
    """
    focused = QApplication.focusWidget()
    if focused is not None and part.isAncestorOf(focused):
        focused.clearFocus()


def _neighbour_row(session: Session, current: int, neighbour: Neighbour) -> Row:
    away = neighbour.position - current
    sign = "+" if away > 0 else ""
    rows = None if session.model is None else session.model.rows
    label = "" if rows is None else session.label_at(neighbour.position) or ""
    cells = (
        f"{neighbour.position} {label}".rstrip(),
        sign + format_count(away),
        format_number(neighbour.distance),
        format_number(neighbour.cosine),
    )
    return Row(neighbour.position, cells)


def _row(session: Session) -> str:
    """Return what a row of the open model is: "position", or "row" if rows have labels."""
    return "row" if session.model is not None and session.model.rows is not None else "position"


def _selection_table() -> PositionTableView:
    columns = (
        Column("Position", "A selected position; click to make it the current one", 60),
        Column("Token", "The prompt's token at this position, or the label of the row", left=True),
        Column("Norm", "Norm of the row, raw or row-centred as in the Norms panel", 60),
        Column("", "Remove from the selection", 24),
    )
    table = PositionTableView(
        columns, "Click to make position {position} the current one", scrolls_from=4
    )
    table.setAccessibleName("Selected positions")
    return table


def _button(text: str, tip: str) -> QPushButton:
    button = push_button(text, tip)
    # After a click, arrow keys still step along the curve.
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


# The texts that it copies: tab-separated, for a spreadsheet or a notebook.


def details_text(session: Session, details: PositionDetails) -> str:
    """Return the numbers of one position, one quantity per line, in full precision."""
    fitted = len(session.pca.components) if session.pca is not None else 0
    shown = [c for c in session.shown_components if c <= fitted]
    text = session.text_at(details.position)
    what = _row(session)
    lines = [(what, str(details.position))]
    if text is not None:
        lines.append((_title(session), _one_cell(text)))
    lines.append(("norm", _number(details.norm)))
    lines += [
        (f"PC {c}", _number(float(value)))
        for c, value in zip(shown, details.coordinates, strict=False)
    ]
    lines.append(("off-subspace residual", _number(details.residual)))
    copied = "".join(f"{name}\t{value}\n" for name, value in lines)
    copied += f"\n{what}\tdistance\tcosine\n"
    for row in (*details.neighbours, *details.nearest):
        copied += f"{row.position}\t{_number(row.distance)}\t{_number(row.cosine)}\n"
    return copied


def selection_text(session: Session) -> str:
    """Return the selected positions as a table: position, token or label, norm."""
    norms, centred = shown_norms(session), session.norms is not None and session.norms.centred
    norm_title = "norm (row-centred)" if centred else "norm"
    text = f"position\t{_title(session)}\t{norm_title}\n"
    for position in sorted(session.selection):
        norm = _number(float(norms[position])) if norms is not None else ""
        text += f"{position}\t{_one_cell(session.text_at(position) or '')}\t{norm}\n"
    return text


def shown_norms(session: Session) -> np.ndarray | None:
    """Return (n_positions,) norms of what is shown; None if unknown, as of a centred step."""
    norms, timeline = session.norms, session.shown_timeline
    if timeline is None or session.snapshot is None:
        return None if norms is None else norms.values
    centred = norms is not None and norms.centred
    return None if centred else timeline.timelapse.norms[session.snapshot]


def _title(session: Session) -> str:
    return "token" if session.model is None or session.model.rows is None else "label"


def _number(value: float) -> str:
    # ASCII minus and no thin spaces, for programs.
    return f"{value:.9g}"


def _one_cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("\t", "\\t")
    return str(cell(escaped.replace("\n", "\\n").replace("\r", "\\r")))
