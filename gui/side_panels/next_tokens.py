"""The network's predictions for the prompt: its next tokens, or why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QWidget

from gui.style.theme import GRID, SMALL, Theme, format_percent
from gui.style.token_text import token_label
from gui.widgets.boxes import vbox
from gui.widgets.fitted_table import FittedTable
from gui.widgets.label import label
from gui.widgets.opening_row import FixedText
from gui.widgets.position_rows import TextRows
from gui.widgets.table_text import Column

if TYPE_CHECKING:
    from geometry.inside.prompt import PromptRun

Role = Qt.ItemDataRole
TOKEN, BEFORE, AFTER = range(3)
COLUMNS = (
    Column("Token", "What may follow the text, the likeliest first", left=True),
    Column("Probability", "Probability in the network as it is"),
    Column("Changed", "Probability after the change of the positions"),
)
ROW_HEIGHT = 20
WIDTHS = {BEFORE: 7, AFTER: 7}
MOVED_TIP = (
    "Total variation distance of the next token’s probabilities before and after: 0 % for the same "
    "ones, 100 % for disjoint ones"
)
ENCODER = "An encoder predicts no next token. Its attention over these tokens is in Kernels."


class TokenRows(TextRows):
    """Next tokens as rows."""

    cells: tuple[tuple[str, str, str], ...] = ()
    tips: tuple[str, ...] = ()

    def replace(self, run: PromptRun | None) -> None:
        """Set the tokens of a run; None for none."""
        tokens = () if run is None else run.next_tokens
        self.beginResetModel()
        self.cells = tuple(
            (
                token_label(token.text),
                format_percent(token.before),
                "" if token.after is None else format_percent(token.after),
            )
            for token in tokens
        )
        self.tips = tuple(f"{token_label(token.text)} · token {token.token}" for token in tokens)
        self.endResetModel()


class NextTokens(QWidget):
    """A small table of next tokens, and a sentence."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.rows = TokenRows(COLUMNS)
        self.table = FittedTable(self.rows, "Next tokens", ROW_HEIGHT, TOKEN, WIDTHS, {})
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.moved = FixedText(1, SMALL)
        self.message = label(role="muted", wrap=True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignTop)
        vbox((self.table, 1), self.moved, (self.message, 1), parent=self, spacing=GRID // 2)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours, and the height of rows for the size of text."""
        self.moved.set_color(theme.muted)
        self.table.verticalHeader().setMinimumSectionSize(theme.px(ROW_HEIGHT))
        self.table.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))

    def show_run(self, run: PromptRun | None, failure: str) -> None:
        """Show the tokens of a run, or a sentence why there are none."""
        self.table.setVisible(run is not None and bool(run.next_tokens))
        self.table.setColumnHidden(AFTER, run is None or run.moved is None)
        self.rows.replace(run)
        message = ENCODER if run is not None and not run.next_tokens else failure
        self.message.setText(message)
        self.message.setVisible(bool(message))
        moved = _moved(run)
        self.moved.set_text(moved)
        self.moved.tip = MOVED_TIP
        self.moved.setVisible(bool(moved))


def _moved(run: PromptRun | None) -> str:
    """Describe how much a change moves."""
    if run is None or run.change is None or run.moved is None:
        return ""
    # Imported late: the panel is built with the window.
    from gui.services.effects import named

    return f"{format_percent(run.moved)} moves: {named(run.change)}"
