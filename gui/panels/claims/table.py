"""The ledger as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QModelIndex, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
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
from gui.panels.claims.words import article, below, word
from gui.panels.kit.body import PanelBody
from gui.panels.kit.intents import ShowPanel
from gui.panels.kit.views import View
from gui.panels.table import PANELS
from gui.state.session import Session
from gui.style.outcomes import outcome_color
from gui.style.theme import GRID, SMALL, TEXT, Theme
from gui.style.verdicts import DRAWN, band, expected, interval_text, measured, null_text, p_text
from gui.widgets.boxes import vbox
from gui.widgets.fitted_table import FittedTable
from gui.widgets.fonts import sized
from gui.widgets.label import label
from gui.widgets.position_rows import Index, TitledRows
from gui.widgets.table_text import Column
from gui.widgets.tooltips import wrapped

Role = Qt.ItemDataRole

UPPER, LOWER, EDGE = 18, 14, 2
"""Heights of a row's two lines, and of the edge around both, for the default text size."""
ROW_HEIGHT = UPPER + LOWER + 2 * EDGE
MARK = 12
"""Size of an outcome's mark, in pixels."""
OUTCOME, CLAIM, MEASURED, EXPECTED, P = range(5)
_COLUMNS = (
    Column("Outcome", "Whether the claim holds for this model", left=True),
    Column(
        "Claim",
        "The claim as the article states it; below it the article and the quantity measured for it",
        left=True,
    ),
    Column("Measured", "The value for this model"),
    Column(
        "Expected",
        "The bound implied by the claim; below it the range that covers 90 % of random tables of "
        "the kind that comes closest",
        left=True,
    ),
    Column(
        "p",
        "The share of such tables that reach the value, this one counted among them, and the same "
        "corrected for the number of claims; below it what is drawn, and how often",
        left=True,
    ),
)
_WIDTHS = {OUTCOME: 12, MEASURED: 7, EXPECTED: 14, P: 16}
_ROOM = {EXPECTED: 480, P: 640}
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
    """Return the name of the panel that shows what a claim is about."""
    return _PANELS.get(claim.id) or _PANELS.get(claim.topic, claim.topic)


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
        entry = PANELS.get(panel)
        choices = {} if entry is None else entry.spec.claims.get(claim.id, {})
        self.intended.emit(ShowPanel(panel, choices))


class ClaimRows(TitledRows):
    """Verdicts as rows."""

    verdicts: tuple[Verdict, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    marks: Mapping[Outcome, QIcon] = {}

    def replace(self, verdicts: tuple[Verdict, ...]) -> None:
        """Set the verdicts; for the same claims, selection and scroll position are kept."""
        if [verdict.claim for verdict in verdicts] == [verdict.claim for verdict in self.verdicts]:
            self._set(verdicts)
            last = self.index(len(verdicts) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._set(verdicts)
        self.endResetModel()

    def _set(self, verdicts: tuple[Verdict, ...]) -> None:
        # Cached: the view requests the texts of all rows repeatedly, to fit its columns.
        self.verdicts, self.cells = verdicts, tuple(map(_cells, verdicts))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, Qt's signature
        return 0 if parent.isValid() else len(self.verdicts)

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        """``UserRole`` is the lower line of a cell, "" for none."""
        verdict, column = self.verdicts[index.row()], index.column()
        cell = self.cells[index.row()][column]
        match role:
            case Role.DisplayRole:
                return cell
            case Role.UserRole if column == CLAIM:
                made = "by construction" if verdict.by_construction else ""
                facts = (verdict.claim.fact, made, verdict.why_null or below(verdict))
                return " · ".join(filter(None, (article(verdict), *facts)))
            case Role.UserRole if column == P:
                null = verdict.null
                return "" if null is None else f"{null.draws} {DRAWN.get(null.name, null.name)}"
            case Role.UserRole:
                return f"random {band(verdict)}" if verdict.null is not None else ""
            case Role.DecorationRole if column == OUTCOME:
                return verdict.outcome and self.marks.get(verdict.outcome)
            case Role.ToolTipRole:
                return wrapped(self._tip(verdict))
            case Role.AccessibleTextRole:
                return f"{cell}. {self._tip(verdict)}"
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
        opens = f"Click to open {PANELS[panel].title if panel in PANELS else panel.capitalize()}."
        source = f"Source: {claim.article}"
        evidence = interval_text(verdict) or null_text(verdict)
        made = f"By construction: {verdict.by_construction}" if verdict.by_construction else ""
        lines = (claim.statement, value, bound, evidence, made, source, opens)
        return "\n".join(filter(None, lines))


class ClaimsTable(FittedTable):
    """Claims, each in two lines."""

    chosen = Signal(object)
    """The :class:`geometry.claims.claim.Claim` that was clicked, or on which Enter was pressed."""

    def __init__(self, theme: Theme) -> None:
        self.rows = ClaimRows(_COLUMNS)
        super().__init__(self.rows, "Claims", ROW_HEIGHT, CLAIM, _WIDTHS, _ROOM)
        self.setIconSize(QSize(MARK, MARK))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        self._lines = TwoLines(theme, self)
        for column in (CLAIM, EXPECTED, P):
            self.setItemDelegateForColumn(column, self._lines)
        self.set_theme(theme)

    def show_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Set the verdicts; a claim that is still shown stays selected."""
        marked = self._marked()
        self.rows.replace(tuple(verdicts))
        for row, verdict in enumerate(verdicts):
            if marked is not None and verdict.claim.id == marked.claim.id:
                self.selectRow(row)

    def set_theme(self, theme: Theme) -> None:
        ratio = self.devicePixelRatioF()
        self.rows.marks = {
            how: outcome_mark(how, outcome_color(how, theme), ratio) for how in OUTCOMES
        }
        self._lines.theme = theme
        rows = self.verticalHeader()
        rows.setMinimumSectionSize(theme.px(ROW_HEIGHT))
        rows.setDefaultSectionSize(theme.px(ROW_HEIGHT))
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            self.chosen.emit(self.rows.verdicts[index.row()].claim)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if (marked := self._marked()) is not None:
                self.chosen.emit(marked.claim)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first row when the focus comes by Tab, so that it is visible."""
        super().focusInEvent(event)
        if event.reason() in _BY_TAB and self._marked() is None and self.rows.verdicts:
            self.selectRow(0)

    def _marked(self) -> Verdict | None:
        marked = self.selectionModel().selectedRows()
        return self.rows.verdicts[marked[0].row()] if marked else None


def _cells(verdict: Verdict) -> tuple[str, ...]:
    claim = verdict.claim
    return (
        word(verdict),
        claim.statement,
        measured(verdict),
        expected(verdict),
        "" if verdict.p is None else p_text(verdict),
    )


class TwoLines(QStyledItemDelegate):
    """Draws a cell with a second line of small text."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the size of the longer line."""
        small = QFontMetrics(sized(option.font, SMALL))
        lower = small.horizontalAdvance(index.data(Qt.ItemDataRole.UserRole)) + 3 * GRID
        return super().sizeHint(option, index).expandedTo(QSize(lower, 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        option.text = ""
        style, widget = option.widget.style(), option.widget
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        px, left = self.theme.px, option.rect.adjusted(GRID, EDGE, -GRID, -EDGE)
        below = index.data(Qt.ItemDataRole.UserRole)
        upper = QRect(left.left(), left.top(), left.width(), px(UPPER))
        lower = QRect(left.left(), upper.bottom(), left.width(), px(LOWER))
        if not below:
            upper = left
        painter.save()
        for text, rect, pixels, color in (
            (index.data(), upper, TEXT, option.palette.color(option.palette.ColorRole.Text)),
            (below, lower, SMALL, QColor(self.theme.muted)),
        ):
            painter.setFont(sized(option.font, pixels))
            painter.setPen(color)
            shown = painter.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideRight, rect.width()
            )
            middle = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
            painter.drawText(rect, middle, shown)
        painter.restore()


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
