"""The summary at the right end of the menu bar: model, range and variance."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QHBoxLayout, QMenuBar

from gui.state.session import Session
from gui.style.sentences import ranged
from gui.style.theme import GRID, Theme, format_percent
from gui.widgets.label import label
from gui.widgets.panel import Panel


class Summary(Panel):
    """Shows model, range and variance in the corner of a menu bar."""

    def __init__(self, session: Session, theme: Theme, bar: QMenuBar) -> None:
        super().__init__(session, theme)
        self._bar = bar
        self._text = label(role="muted")
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID // 2, 2 * GRID, GRID // 2)
        row.addWidget(self._text)
        bar.setCornerWidget(self)
        bar.installEventFilter(self)
        self.listen(session.events.model, self._on_changed)
        self.listen_throttled(session.events.curve, self._on_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.FontChange):
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """Show the summary only if there is room for all menus: title and caption have it, too."""
        metrics = self._bar.fontMetrics()
        menus = (metrics.horizontalAdvance(menu.text()) + 2 * GRID for menu in self._bar.actions())
        self._text.setVisible(sum(menus) + self._needed <= self._bar.width())

    @property
    def _needed(self) -> int:
        return self._text.sizeHint().width() + 4 * GRID

    def _on_changed(self) -> None:
        model, curve = self.session.model, self.session.curve
        if model is None or curve is None:
            self._text.setText("")
            return
        total = format_percent(sum(curve.explained_variance_ratio))
        self._text.setText(f"{model.name} · {ranged(model, curve.pca.positions)} · {total}")
        self._fit()
        # Resizing causes a new layout of the window, so not on each tick of the range slider.
        if self.sizeHint().width() > self.width():
            self._bar.setCornerWidget(self)
