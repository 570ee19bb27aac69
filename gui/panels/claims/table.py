"""The ledger as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtCore import QModelIndex, QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from geometry.claims.claim import Claim, Verdict
from geometry.evidence.null import OUTCOMES, Outcome
from gui.panels.claims.published import PublishedTable
from gui.panels.claims.spec import OUTCOME_OF, Choices, Ledger
from gui.panels.claims.words import CELLS, article, below, by_fact, word
from gui.panels.kit.body import PanelBody
from gui.panels.kit.intents import ShowPanel
from gui.panels.kit.views import View
from gui.panels.table import OTHERS, PANELS
from gui.state.session import Session
from gui.style.outcomes import outcome_color
from gui.style.theme import GRID, SMALL, Theme
from gui.style.verdicts import expected, interval_text, kind, measured, null_text
from gui.widgets.boxes import vbox
from gui.widgets.fitted_table import FittedTable
from gui.widgets.fonts import sized
from gui.widgets.label import label
from gui.widgets.position_rows import Index, TitledRows
from gui.widgets.table_text import Column
from gui.widgets.tooltips import wrapped

Role = Qt.ItemDataRole

EDGE = 4
"""Pixels above and below the texts of a row."""
ROW_HEIGHT = 22
"""Minimum height of a row, in pixels."""
MARK = 12
"""Size of an outcome's mark, in pixels."""
CLAIM, VALUE, BOUND, NULL, P, ADJUSTED, OUTCOME = range(7)
_TIPS = (
    "The claim as the article states it; below it the article and the quantity measured for it",
    "The value for this model",
    "The condition on the value that the claim implies",
    "The range that covers 90 % of random tables of the kind that comes closest; below it their "
    "number, and what is drawn",
    "The share of such tables that reach the value, this one counted among them",
    "The same, corrected for the number of claims by Benjamini and Hochberg’s procedure",
    "Whether the claim holds for this model",
)
_COLUMNS = tuple(
    Column(title, tip, left=number in (CLAIM, BOUND, NULL, OUTCOME))
    for number, (title, tip) in enumerate(zip(CELLS, _TIPS, strict=True))
)
_WIDTHS = {VALUE: 8, BOUND: 9, P: 6, ADJUSTED: 6, OUTCOME: 16, NULL: 15}
_ROOM = {BOUND: 400, P: 480, ADJUSTED: 520, NULL: 600}
"""Minimum width of the table at which a column is shown, in pixels."""
_BY_TAB = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


CHECKING = "The claims are being checked…"
NOTHING = {
    "holds": "No claim holds for this model beyond what is expected by chance.",
    "usual": "No claim holds merely as for any smooth curve.",
    "fails": "No claim is refuted for this model.",
    "worse": "No number is further off than those of random tables.",
    "out": "All claims apply to this kind of table.",
    "unknown": "No claim is undetermined for this model.",
}
_PANELS = {
    "pca": "positions",
    "pca.not_a_line": "shape",
    "pca.fraying": "norms",
    "curve": "shape",
    "outlier": "norms",
    "steps": "norms",
    "read": "norms",
    "position": "training",
    "entries": "dimensions",
    "decoding": "layernorm",
    "overlap": "overlaps",
    "heads": "kernels",
    "group": "compare",
}
"""The panels of claims, by topic or by name, unless the panel has the topic's name."""


def panel_of(claim: Claim) -> str:
    """Return the name of the panel that shows what a claim is about; "" for none."""
    panel = _PANELS.get(claim.id) or _PANELS.get(claim.topic, claim.topic)
    return panel if panel in PANELS or panel in OTHERS else ""


class ClaimsBody(PanelBody):
    """The claims of the chosen outcome, or a message if there are none."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.table = ClaimsTable(theme)
        self.table.chosen.connect(self._open)
        self.nothing = label("", "muted")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.table)
        self.pages.addWidget(self.nothing)
        self.published = PublishedTable(theme)
        vbox(self.pages, self.published, parent=self)

    def draw(self, view: View[Choices, Ledger]) -> None:
        chosen = view.choices.outcome
        wanted = OUTCOME_OF.get(chosen)
        shown = [verdict for verdict in view.result.verdicts if wanted in (None, verdict.outcome)]
        self.table.show_verdicts(shown)
        pending = any(verdict.outcome is None for verdict in view.result.verdicts)
        self.nothing.setText(CHECKING if pending else NOTHING.get(chosen, ""))
        self.pages.setCurrentWidget(self.table if shown else self.nothing)
        self.published.show_compared(view.result.published)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.table.set_theme(theme)
        self.published.set_theme(theme)

    def _open(self, claim: Claim) -> None:
        panel = panel_of(claim)
        if not panel:
            return
        entry = PANELS.get(panel)
        known = entry is not None and entry.ready
        choices = entry.spec.claims.get(claim.id, {}) if entry is not None and known else {}
        self.intended.emit(ShowPanel(panel, choices))


class ClaimRows(TitledRows):
    """Verdicts as rows, under a heading for those of each fact."""

    lines: tuple[Verdict | str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    marks: Mapping[Outcome, QIcon] = {}

    def replace(self, verdicts: Iterable[Verdict]) -> None:
        """Set the verdicts; for the same claims, selection and scroll position are kept."""
        lines: list[Verdict | str] = []
        for fact, group in by_fact(verdicts).items():
            lines += [fact, *group]
        if [*map(_what, lines)] == [*map(_what, self.lines)]:
            self._set(tuple(lines))
            last = self.index(len(lines) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._set(tuple(lines))
        self.endResetModel()

    def _set(self, lines: tuple[Verdict | str, ...]) -> None:
        # Cached: the view requests the texts of all rows repeatedly, to fit its columns.
        self.lines = lines
        self.cells = tuple(
            tuple(read(line) for read in CELLS.values())
            if isinstance(line, Verdict)
            else (line, *("" for _ in self.columns[1:]))
            for line in lines
        )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.lines)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Headings cannot be selected, and keys pass over them."""
        heading = index.isValid() and isinstance(self.lines[index.row()], str)
        return Qt.ItemFlag.NoItemFlags if heading else super().flags(index)

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        """``UserRole`` is the lower text of a cell, "" for none, and None in a heading."""
        line, column = self.lines[index.row()], index.column()
        cell = self.cells[index.row()][column]
        if isinstance(line, str):
            return cell if role in (Role.DisplayRole, Role.AccessibleTextRole) else None
        match role:
            case Role.DisplayRole:
                return cell
            case Role.UserRole if column == CLAIM:
                made = "by construction" if line.by_construction else ""
                parts = (article(line), made, line.why_null or below(line))
                return " · ".join(filter(None, parts))
            case Role.UserRole:
                return kind(line) if column == NULL else ""
            case Role.DecorationRole if column == OUTCOME:
                return line.outcome and self.marks.get(line.outcome)
            case Role.ToolTipRole:
                return wrapped(self._tip(line))
            case Role.AccessibleTextRole:
                return f"{cell}. {self._tip(line)}"
            case Role.TextAlignmentRole:
                return self.alignment(column)
        return None

    def _tip(self, verdict: Verdict) -> str:
        claim = verdict.claim
        if verdict.why_null:
            value = f"{claim.quantity}: {word(verdict)}, {verdict.why_null}"
        elif verdict.outcome is None:
            value = f"{claim.quantity}: not checked yet, expected {expected(verdict)}"
        else:
            value = f"{claim.quantity}: {measured(verdict)}, expected {expected(verdict)}"
        bound = f"Reason for the bound: {claim.reason}."
        panel = panel_of(claim)
        title = PANELS[panel].title if panel in PANELS else panel.capitalize()
        opens = f"Click to open {title}." if panel else ""
        source = f"Source: {claim.article}"
        evidence = interval_text(verdict) or null_text(verdict)
        made = f"By construction: {verdict.by_construction}" if verdict.by_construction else ""
        lines = (claim.statement, value, bound, evidence, made, source, opens)
        return "\n".join(filter(None, lines))


def _what(line: Verdict | str) -> Claim | str:
    return line.claim if isinstance(line, Verdict) else line


class ClaimsTable(FittedTable):
    """Claims with their numbers, as in a paper: in groups, with all texts whole."""

    chosen = Signal(object)
    """The :class:`geometry.claims.claim.Claim` that was clicked, or on which Enter was pressed."""

    def __init__(self, theme: Theme) -> None:
        self.rows = ClaimRows(_COLUMNS)
        super().__init__(self.rows, "Claims", ROW_HEIGHT, CLAIM, _WIDTHS, _ROOM, kept=0.3)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        self._cells = WrappedCells(theme, self)
        self.setItemDelegate(self._cells)
        self.setWordWrap(True)
        # Qt tells of another width before the column has it.
        self.horizontalHeader().sectionResized.connect(
            self._on_resized, Qt.ConnectionType.QueuedConnection
        )
        self.set_theme(theme)

    def show_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Set the verdicts; a claim that is still shown stays selected."""
        marked = self.marked
        self.rows.replace(verdicts)
        self.clearSpans()
        for row, line in enumerate(self.rows.lines):
            if isinstance(line, str):
                self.setSpan(row, 0, 1, len(_COLUMNS))
            elif marked is not None and line.claim.id == marked.claim.id:
                self.selectRow(row)

    def set_theme(self, theme: Theme) -> None:
        ratio = self.devicePixelRatioF()
        self.rows.marks = {
            how: outcome_mark(how, outcome_color(how, theme), ratio) for how in OUTCOMES
        }
        self._cells.theme = theme
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            line = self.rows.lines[index.row()]
            if isinstance(line, Verdict):
                self.chosen.emit(line.claim)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if (marked := self.marked) is not None:
                self.chosen.emit(marked.claim)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first claim when the focus comes by Tab, so that it is visible."""
        super().focusInEvent(event)
        if event.reason() in _BY_TAB and self.marked is None and self.rows.lines:
            self.selectRow(1)

    @property
    def marked(self) -> Verdict | None:
        """The selected claim."""
        marked = self.selectionModel().selectedRows()
        line = self.rows.lines[marked[0].row()] if marked else None
        return line if isinstance(line, Verdict) else None

    @Slot()
    def _fit_anew(self) -> None:
        super()._fit_anew()
        self.resizeRowsToContents()

    @Slot(int)
    def _on_resized(self, column: int) -> None:
        if column == CLAIM:
            self.resizeRowsToContents()


class WrappedCells(QStyledItemDelegate):
    """Draws wrapped texts, in small below them what is in ``UserRole``, and headings."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the width of the longer text in one line, and the height of both as wrapped."""
        self.initStyleOption(option, index)
        room = _room(option)
        width, height = 0, 2 * EDGE
        for text, font, _ in self._texts(option, index):
            metrics = QFontMetrics(font)
            width = max(width, metrics.horizontalAdvance(text))
            height += metrics.boundingRect(room, _WRAPPED, text).height()
        return QSize(width + option.rect.width() - room.width(), height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        texts, room, icon = self._texts(option, index), _room(option), QIcon(option.icon)
        option.text, option.icon = "", QIcon()
        style = option.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        painter.save()
        if index.data(Role.UserRole) is None:
            painter.setPen(self.theme.line)
            painter.drawLine(option.rect.topLeft(), option.rect.topRight())
        middle = room.top() + option.fontMetrics.height() // 2
        icon.paint(painter, QRect(option.rect.left() + GRID, middle - MARK // 2, MARK, MARK))
        side = option.displayAlignment & Qt.AlignmentFlag.AlignHorizontal_Mask
        for text, font, color in texts:
            painter.setFont(font)
            painter.setPen(color)
            painter.drawText(room, side | _WRAPPED, text)
            room.setTop(painter.boundingRect(room, _WRAPPED, text).bottom() + 1)
        painter.restore()

    def _texts(
        self, option: QStyleOptionViewItem, index: Index
    ) -> Sequence[tuple[str, QFont, QColor]]:
        lower, small = index.data(Role.UserRole), sized(option.font, SMALL)
        muted = QColor(self.theme.muted)
        if lower is None:
            small.setBold(True)
            return ((option.text, small, muted),)
        upper = (option.text, option.font, option.palette.color(option.palette.ColorRole.Text))
        return (upper, (lower, small, muted)) if lower else (upper,)


_WRAPPED = Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


def _room(option: QStyleOptionViewItem) -> QRect:
    """Return the place of a cell's texts."""
    mark = 0 if option.icon.isNull() else MARK + GRID // 2
    return option.rect.adjusted(GRID + mark, EDGE, -GRID, -EDGE)


def outcome_mark(how: Outcome, color: str, ratio: float) -> QIcon:
    """Return the mark of an outcome: a shape that is distinct without colours."""
    pixmap = QPixmap(QSize(MARK, MARK) * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), 1.6))
    match how:
        case "holds":
            painter.drawPolyline([QPointF(1.5, 6.5), QPointF(4.5, 9.5), QPointF(10.5, 2.5)])
        case "as any smooth curve":
            for y in (4.0, 8.0):
                wave = QPainterPath(QPointF(1.5, y + 1))
                wave.cubicTo(QPointF(4.0, y - 2.5), QPointF(8.0, y + 3.5), QPointF(10.5, y))
                painter.drawPath(wave)
        case "does not hold":
            painter.drawLine(QPointF(2.5, 2.5), QPointF(9.5, 9.5))
            painter.drawLine(QPointF(9.5, 2.5), QPointF(2.5, 9.5))
        case "worse than any such curve":
            painter.drawLine(QPointF(6.0, 1.5), QPointF(6.0, 10.0))
            painter.drawPolyline([QPointF(2.5, 6.5), QPointF(6.0, 10.0), QPointF(9.5, 6.5)])
        case "not applicable":
            painter.drawLine(QPointF(2.5, 6.0), QPointF(9.5, 6.0))
        case "cannot tell":
            painter.drawEllipse(QRectF(2.0, 2.0, 8.0, 8.0))
    painter.end()
    icon = QIcon(pixmap)
    # Qt tints icons of selected rows otherwise.
    icon.addPixmap(pixmap, QIcon.Mode.Selected)
    return icon
