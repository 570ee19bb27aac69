"""Progress of an answer, with a button to cancel or to start again."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QPushButton

from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.opening_row import FixedText

WIDTH = 288
CANCELLED = "Stopped before it was complete"
_STEPS = 1000


class WorkingStrip(QFrame):
    """A message, a bar and "Cancel" over the panel's content; once cancelled, "Compute"."""

    cancelRequested = Signal()
    againRequested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("working")
        self.setFixedWidth(WIDTH)
        self.message = FixedText(1, SMALL)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.bar.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Cancel this figure (Esc); “Compute” starts it again")
        self.cancel.clicked.connect(self.cancelRequested)
        self.again = QPushButton("Compute")
        self.again.setToolTip("Compute the whole figure")
        self.again.clicked.connect(self.againRequested)
        self.again.hide()
        column = vbox(self.message, self.bar, spacing=GRID // 2)
        margins = (GRID, GRID // 2, GRID // 2, GRID // 2)
        hbox((column, 1), self.cancel, self.again, parent=self, spacing=GRID, margins=margins)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.message.set_color(theme.text)
        self.setStyleSheet(
            f"#working {{ background: {theme.panel}; border: 1px solid {theme.line};"
            " border-radius: 4px; }"
        )

    def place(self, area: QRect, shown: str) -> None:
        """Move to the middle or a corner of an area.

        Parameters
        ----------
        area
            The area of the result.
        shown
            The state of the answer whose result is shown; "" for none. Over a "ready" result the
            strip is at the top; over a partial one at the bottom, where it is most likely
            incomplete.
        """
        self.adjustSize()
        if not shown:
            place = area.center() - self.rect().center()
        elif shown == "ready":
            place = area.topRight() - QPoint(self.width() + GRID, -GRID)
        else:
            place = area.bottomRight() - QPoint(self.width() + 2 * GRID, self.height() + GRID)
        self.move(place)
        self.raise_()

    @property
    def is_working(self) -> bool:
        """Whether it is shown with the progress of work that can be cancelled."""
        return not self.isHidden() and not self.cancel.isHidden()

    def show_cancelled(self) -> None:
        """Show that the work was cancelled, with the button to start it again."""
        self.message.set_text(CANCELLED)
        self._show_parts(working=False)

    def _show_parts(self, *, working: bool) -> None:
        self.bar.setVisible(working)
        self.cancel.setVisible(working)
        self.again.setVisible(not working)

    def show_progress(self, fraction: float | None, message: str) -> None:
        """Show the progress; ``fraction`` is 0 to 1, or None if unknown."""
        self.message.set_text(f"{message or 'Computing'}…")
        self._show_parts(working=True)
        if fraction is None:
            self.bar.setRange(0, 0)
            return
        if self.bar.maximum() != _STEPS:
            self.bar.setRange(0, _STEPS)
        self.bar.setValue(round(_STEPS * min(max(fraction, 0.0), 1.0)))
