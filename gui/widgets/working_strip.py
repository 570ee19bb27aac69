"""Progress of an answer, with a button to cancel or to start again."""

from __future__ import annotations

from PySide6.QtCore import QRect, Signal
from PySide6.QtWidgets import QFrame, QPushButton

from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import hbox
from gui.widgets.label import label
from gui.widgets.opening_row import FixedText
from gui.widgets.share_bar import ShareBar
from gui.widgets.time_left import TimeLeft

WIDTH, BAR = 352, 64
"""Maximum width of the strip, and width of its bar, in pixels."""
CANCELLED = "Stopped before it was complete"


class WorkingStrip(QFrame):
    """A line with a message, a bar and "Cancel"; once cancelled, "Compute".

    Beside a result it is at the end of the caption's row, so that it covers nothing.
    """

    cancelRequested = Signal()
    againRequested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.message = FixedText(1, SMALL)
        self.bar = ShareBar("Progress")
        self.time_left = TimeLeft()
        self._of: object = None  # The question that is answered
        self.left = label("", "small")
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Cancel this figure (Esc); “Compute” starts it again")
        self.cancel.clicked.connect(self.cancelRequested)
        self.again = QPushButton("Compute")
        self.again.setToolTip("Compute the whole figure")
        self.again.clicked.connect(self.againRequested)
        self.again.hide()
        self.bar.setFixedWidth(BAR)
        parts = ((self.message, 1), self.left, self.bar, self.cancel, self.again)
        hbox(*parts, parent=self, spacing=GRID, margins=(GRID, 1, 1, 1))
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.message.set_color(theme.text)

    def stand_in(self, row: QRect) -> int:
        """Move to the right end of a row of text; return the width that the row must leave free."""
        self._fit(row.width())
        top = row.center().y() - self.height() // 2
        self.move(row.right() + 1 - self.width(), top)
        self.raise_()
        return self.width() + GRID

    def stand_amid(self, area: QRect) -> None:
        """Move to the middle of an empty area."""
        self._fit(area.width())
        self.move(area.center() - self.rect().center())
        self.raise_()

    def _fit(self, width: int) -> None:
        self.setFixedWidth(min(WIDTH, width))
        self.adjustSize()

    @property
    def is_working(self) -> bool:
        """Whether it is shown with the progress of work that can be cancelled."""
        return not self.isHidden() and not self.cancel.isHidden()

    def show_cancelled(self) -> None:
        """Show that the work was cancelled, with the button to start it again."""
        self.message.set_text(CANCELLED)
        self._of = None
        self._show_parts(working=False)

    def _show_parts(self, *, working: bool) -> None:
        self.bar.setVisible(working)
        self.left.setVisible(working)
        self.cancel.setVisible(working)
        self.again.setVisible(not working)

    def show_progress(self, fraction: float | None, message: str, of: object = None) -> None:
        """Show the progress of a question; ``fraction`` is 0 to 1, or None if unknown."""
        if of != self._of:
            self._of = of
            self.time_left.restart()
        self.message.set_text(f"{message or 'Computing'}…")
        self._show_parts(working=True)
        self.bar.show_share(fraction)
        self.left.setText(self.time_left.text(fraction))
