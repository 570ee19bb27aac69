"""The body of the panel on artefacts of PCA: the answer in sentences, and two plots."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from geometry.models.notes import sentences
from gui.panels.artefact.spec import ArtefactPanel, ArtefactView
from gui.panels.kit.body import PanelBody
from gui.panels.shape.spec import NOTED
from gui.plots.qt_painter import PaintedRow
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.scroll_column import ScrollColumn

WIDTH = 44 * GRID
"""Minimum width of the sentences beside the plots, in pixels; they take a quarter of the panel."""


class ArtefactBody(PanelBody):
    """The sentences, and the plots beside or below them."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.title, self.notes = label("", "title", wrap=True), label("", wrap=True)
        self.sentences = [label("", wrap=True, selectable=True) for _ in range(4)]
        words = QWidget()
        vbox(self.title, self.notes, *self.sentences, 1, parent=words, spacing=GRID)
        self._area = ScrollColumn(words)
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._area.setProperty("ring", True)
        self._area.setAccessibleName("The answer")
        self.plots = PaintedRow(session, theme)
        self.plots.hoverRequested.connect(self.hoverRequested)
        self.plots.selectionRequested.connect(self.selectionRequested)
        self._parts = hbox(self._area, (self.plots, 1), parent=self, spacing=2 * GRID)

    def draw(self, view: ArtefactView) -> None:
        self.title.setText(view.result.title)
        made = sentences(view.model.notes, *NOTED)
        self.notes.setText(f"By construction: {' '.join(made)}")
        self.notes.setVisible(bool(made))
        for line, sentence in zip(self.sentences, view.result.sentences, strict=True):
            line.setText(sentence)
        self.plots.draw(ArtefactPanel().plots(view))

    def show_marks(self) -> None:
        self.plots.show_marks()

    def forget(self) -> None:
        self.plots.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.plots.set_theme(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() >= 2 * WIDTH
        directions = QBoxLayout.Direction
        self._parts.setDirection(directions.LeftToRight if beside else directions.TopToBottom)
        self._area.setFixedWidth(max(WIDTH, self.width() // 4) if beside else self.width())
        self._area.setMaximumHeight(self.height() if beside else self.height() // 2)
