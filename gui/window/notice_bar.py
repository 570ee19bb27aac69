"""The bar for errors: a sentence, advice, and details on a click."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QToolButton

from gui.state.session import Session
from gui.state.values import Notice
from gui.style.sentences import thin_spaced
from gui.style.theme import GRID, Theme, format_bytes
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.window.dialogs import show_text


class NoticeBar(Panel):
    """Shows ``session.notice`` above the viewport; hidden if there is none."""

    dismissed = Signal()  # The user closed the notice
    tableRequested = Signal(object)  # To ask for the table of this notice's source
    insideRequested = Signal(str)  # To measure the positions inside this source
    retryRequested = Signal()  # The user wants to retry, or to open a changed model again
    wholeRequested = Signal()  # The user agrees to the download of a whole file

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.setObjectName("notice")
        self.setMinimumWidth(1)  # otherwise it would take width from the panels beside the viewport
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._text = label(selectable=True, wrap=True)
        self._advice = label(role="muted", selectable=True, wrap=True)
        self.whole_button = QPushButton()
        self.whole_button.setToolTip("Download it; tensors are cached if there is room")
        self.whole_button.clicked.connect(lambda: self.wholeRequested.emit())
        self.retry_button = QPushButton("Try again")
        self.retry_button.clicked.connect(lambda: self.retryRequested.emit())
        self.inside_button = QPushButton("Measure inside…")
        self.inside_button.setToolTip("Measure the positions in each of its layers")
        self.inside_button.clicked.connect(self._measure_inside)
        self.tables_button = QPushButton("Choose the table…")
        self.tables_button.clicked.connect(self._choose_table)
        self.details_button = QPushButton("Details…")
        self.details_button.clicked.connect(self._show_details)
        self.close_button = QToolButton()
        self.close_button.setText("✕")
        self.close_button.setToolTip("Close this notice")
        self.close_button.setAccessibleName("Close this notice")
        self.close_button.clicked.connect(self.dismissed)
        words = vbox(self._text, self._advice, spacing=0)
        offers = (self.whole_button, self.retry_button, self.inside_button, self.tables_button)
        parts = ((words, 1), *offers, self.details_button, self.close_button)
        hbox(*parts, parent=self, margins=(2 * GRID, GRID, GRID, GRID))
        self.listen(session.events.notice, self._on_notice_changed)
        self._on_notice_changed(session.notice)

    @property
    def text(self) -> str:
        """The displayed sentence."""
        return self._text.text()

    def _on_notice_changed(self, notice: Notice | None) -> None:
        self.setVisible(notice is not None)
        if notice is None:
            return
        self._text.setText(thin_spaced(notice.text))
        self._advice.setText(thin_spaced(notice.advice))
        self._advice.setVisible(bool(notice.advice))
        size = f" {format_bytes(notice.whole)}" if notice.whole > 0 else ""
        self.whole_button.setText(f"Download{size}")
        self.whole_button.setVisible(notice.whole != 0)
        again = "Look up" if notice.asks else "Try again"
        self.retry_button.setText(again if notice.again is None else "Open again")
        self.retry_button.setVisible(notice.retry or notice.again is not None)
        self.inside_button.setVisible(notice.inside)
        self.tables_button.setText(f"Choose the {'rows' if notice.first_rows else 'table'}…")
        self.tables_button.setVisible(bool(notice.candidates))
        self.details_button.setVisible(bool(notice.details))

    def _measure_inside(self) -> None:
        if self.session.notice is not None:
            self.insideRequested.emit(str(self.session.notice.source))

    def _choose_table(self) -> None:
        if self.session.notice is not None:
            self.tableRequested.emit(self.session.notice)

    def _show_details(self) -> None:
        notice = self.session.notice
        if notice is not None:
            message = "\n".join(filter(None, (notice.text, notice.advice)))
            details = notice.details
            parts = [details] if notice.text in details else [message, details]
            show_text(self, "Details", "\n\n".join(filter(None, parts)))
