"""The norms panel: the length of every row of the position table, linked with the curve.

pyqtgraph is imported when there is first something to draw on a visible panel, so that the window
does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QStackedLayout,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from geometry.norms import NormProfile
from gui import selection
from gui.panels.base import Panel, label
from gui.panels.norms_text import (
    HELP,
    OUTLIER_RULE,
    TITLES,
    bulk_note,
    bulk_span,
    describe,
    full_span,
    stretch_note,
    summary,
)
from gui.session import Session
from gui.theme import GRID, Theme

if TYPE_CHECKING:
    from gui.panels.line_plot import LinePlot

EMPTY = "Open a model to see the norm of every row of its position table."
CENTRED, BULK = "Row-centred", "Zoom to the bulk"
ONE_ROW, TWO_ROWS = 1000, 440
"""Widths in pixels from which the line above the plot takes one row, or two, instead of three."""


class NormsPanel(Panel):
    """‖P_i‖₂ against position, raw or row-centred, with its stability and outliers."""

    selectionRequested = Signal(tuple)
    """Positions, the last one becomes the current one."""
    hoverRequested = Signal(object)
    """The position under the mouse, or None."""
    centredRequested = Signal(bool)
    """Norms of rows centred over d_model (True) or raw ones."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plot: LinePlot | None = None
        self._drawn: NormProfile | None = None
        self._before_click: tuple[int, ...] = ()
        self.message = label(EMPTY, "muted")
        self.message.setWordWrap(True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setMargin(2 * GRID)
        self.formula, self.meaning = label(TITLES[False][0]), label(TITLES[False][1])
        self.readout = label("", "small", selectable=True)
        self.readout.setWordWrap(True)
        self.readout.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._build_controls()
        self._build_layout()
        events = session.events
        for signal, slot in (
            (events.norms, self._on_norms_changed),
            (events.model, self._on_norms_changed),
            (events.opening, self._on_norms_changed),
            (events.norms_centred, self._on_centred_changed),
            (events.positions, self._on_positions_changed),
            (events.selection, self._on_selection_changed),
            (events.hover, self._on_hover_changed),
            (events.tokens, self._on_hover_changed),
        ):
            self.listen(signal, slot)
        self._on_centred_changed()
        self._on_norms_changed()

    def _build_controls(self) -> None:
        self.help = _button("?", HELP, "What this shows")
        self.help.clicked.connect(self._explain)
        self.raw = _button("Raw", "Norms of the rows as they are stored", checkable=True)
        self.centred = _button(
            CENTRED,
            "Norms of the rows, each minus its mean over d_model, which LayerNorm removes anyway",
            checkable=True,
        )
        self._kinds = QButtonGroup(self)
        for button in (self.raw, self.centred):
            self._kinds.addButton(button)
        # "clicked" and not "toggled": only people press it, the session merely moves it.
        self._kinds.buttonClicked.connect(self._on_kind_clicked)
        self.bulk = _button(BULK, "", checkable=True)
        self.bulk.toggled.connect(self._show_span)
        self.reset = _button("Show all", "Show all positions again (F, or double-click)")
        self.reset.clicked.connect(self._show_all)
        self.reset.hide()

    def _build_layout(self) -> None:
        heading = QHBoxLayout()
        heading.setSpacing(GRID // 2)
        heading.addWidget(self.formula)
        heading.addWidget(self.meaning)
        heading.addWidget(self.help)
        heading.addStretch(1)
        controls = QHBoxLayout()
        controls.setSpacing(GRID // 2)
        for button in (self.raw, self.centred, self.bulk, self.reset):
            controls.addWidget(button)
        controls.addStretch(1)
        self._heading, self._controls = heading, controls
        self._rows = 0
        self._head = QGridLayout()
        self._head.setHorizontalSpacing(2 * GRID)
        self._head.setVerticalSpacing(0)
        self._ready = QWidget()
        self._page = QVBoxLayout(self._ready)
        self._page.setContentsMargins(GRID, GRID // 2, GRID, GRID // 2)
        self._page.setSpacing(GRID // 2)
        self._page.addLayout(self._head)
        self._stack = QStackedLayout(self)
        # As a window of its own the panel would keep the least width of the widest arrangement.
        self._stack.setSizeConstraint(QStackedLayout.SizeConstraint.SetNoConstraint)
        self._stack.addWidget(self.message)
        self._stack.addWidget(self._ready)
        self._arrange()

    def _arrange(self) -> None:
        """Put title, controls and readout into as few rows as the width allows."""
        rows = 1 if self.width() >= ONE_ROW else 2 if self.width() >= TWO_ROWS else 3
        if rows == self._rows:
            return
        self._rows = rows
        self.meaning.setVisible(rows < 3)
        self.bulk.setText(BULK if rows < 3 else "Bulk")
        self.centred.setText(CENTRED if rows < 3 else "Centred")
        for part in (self._heading, self._controls):
            self._head.removeItem(part)
            # A layout keeps its old parent when it is taken out, and then refuses a new place.
            part.setParent(None)
        self._head.removeWidget(self.readout)
        self._head.addLayout(self._heading, 0, 0)
        if rows == 1:
            self._head.addLayout(self._controls, 0, 1)
            self._head.addWidget(self.readout, 0, 2)
        elif rows == 2:
            self._head.addWidget(self.readout, 0, 2)
            self._head.addLayout(self._controls, 1, 0, 1, 3)
        else:
            self._head.addLayout(self._controls, 1, 0, 1, 3)
            self._head.addWidget(self.readout, 2, 0, 1, 3)
        self._head.setColumnStretch(2, 1)
        beside = Qt.AlignmentFlag.AlignRight if rows < 3 else Qt.AlignmentFlag.AlignLeft
        self.readout.setAlignment(beside | Qt.AlignmentFlag.AlignVCenter)

    # What the session says.

    def _on_norms_changed(self) -> None:
        profile = self.session.norms
        if profile is None:
            self._drawn = None
            self.message.setText(self._waiting_for())
            self._stack.setCurrentWidget(self.message)
            return
        self._stack.setCurrentWidget(self._ready)
        for part, text in zip((self.formula, self.meaning), TITLES[profile.centred], strict=True):
            part.setText(text)
        self.readout.setText(summary(profile))
        self.readout.setToolTip(f"{stretch_note(profile)}\n{OUTLIER_RULE}")
        self._draw()

    def _waiting_for(self) -> str:
        if self.session.opening:
            return f"Opening {self.session.opening}: the norms come with it."
        return EMPTY if self.session.model is None else "Measuring the rows…"

    def _on_centred_changed(self) -> None:
        (self.centred if self.session.norms_centred else self.raw).setChecked(True)

    def _on_positions_changed(self) -> None:
        if self.plot is not None:
            self.plot.marks.set_shown(self.session.positions)

    def _on_selection_changed(self) -> None:
        if self.plot is not None:
            self.plot.marks.set_selected(self.session.selection)

    def _on_hover_changed(self) -> None:
        if self.plot is not None:
            self.plot.set_hover(self.session.hover, self._describe_hover())

    def _describe_hover(self) -> str:
        position, profile = self.session.hover, self.session.norms
        if position is None or profile is None or not 0 <= position < len(profile.values):
            return ""
        return describe(profile, position, self.session.token_at(position))

    # Drawing.

    def _draw(self) -> None:
        """Draw the open model's norms, once somebody can see them."""
        profile = self.session.norms
        if profile is None or profile is self._drawn or not self.isVisible():
            return
        plot = self.plot if self.plot is not None else self._make_plot()
        self._drawn = profile
        self.bulk.setToolTip(bulk_note(profile))
        plot.set_values(profile.values, full_span(profile))
        plot.marks.set_marked(profile.outliers)
        self._show_span()
        self._on_positions_changed()
        self._on_selection_changed()
        self._on_hover_changed()

    def _make_plot(self) -> LinePlot:
        from gui.panels.line_plot import LinePlot

        plot = LinePlot(self.theme, "position (tokens)", "norm (units of P)")
        plot.setAccessibleName("Norm of each position")
        plot.mark_tooltip = OUTLIER_RULE
        plot.hovered.connect(self.hoverRequested)
        plot.clicked.connect(self._on_clicked)
        plot.clickRepeated.connect(self._on_click_repeated)
        plot.swept.connect(self._on_swept)
        plot.stepped.connect(self._on_stepped)
        plot.view.zoomed.connect(self.reset.setVisible)
        self._page.addWidget(plot, 1)
        self.plot = plot
        return plot

    def _show_span(self) -> None:
        profile = self._drawn
        if self.plot is not None and profile is not None:
            zoomed = self.bulk.isChecked()
            self.plot.view.set_home_y(bulk_span(profile) if zoomed else full_span(profile))

    def _show_all(self) -> None:
        if self.plot is not None:
            self.plot.view.show_all()

    # What the user wants.

    def _on_kind_clicked(self) -> None:
        self.centredRequested.emit(self.centred.isChecked())

    def _explain(self) -> None:
        QToolTip.showText(self.help.mapToGlobal(QPoint(0, self.help.height())), HELP, self.help)

    def _on_clicked(self, position: int, modifiers: Qt.KeyboardModifier) -> None:
        self._before_click = self.session.selection
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        self.selectionRequested.emit(
            selection.click(
                self.session.selection, position, toggle=shift, extend=shift and control
            )
        )

    def _on_click_repeated(self) -> None:
        # A double-click resets the view; what its first half selected is taken back.
        self.selectionRequested.emit(self._before_click)

    def _on_swept(self, first: int, last: int) -> None:
        self.selectionRequested.emit(selection.click((first,), last, extend=True))

    def _on_stepped(self, way: int, modifiers: Qt.KeyboardModifier) -> None:
        if self._drawn is None or self.plot is None:
            return
        current = self.session.current
        start = self.session.positions[0] - way if current is None else current
        position = min(max(start + way, 0), len(self._drawn.values) - 1)
        extend = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self.selectionRequested.emit(
            selection.click(self.session.selection, position, extend=extend)
        )
        self.plot.view.reveal(position)

    # The widget's own life.

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.plot is not None:
            self.plot.set_theme(theme)

    def minimumSizeHint(self) -> QSize:
        """Return the least size of the three-row arrangement, whichever is in use."""
        return QSize(240, 176)

    def sizeHint(self) -> QSize:
        """Return a size for a dock under the viewport."""
        return QSize(960, 208)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came in while nobody could see it."""
        super().showEvent(event)
        self._draw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the line above the plot for the new width."""
        super().resizeEvent(event)
        self._arrange()


def _button(text: str, tooltip: str, name: str = "", *, checkable: bool = False) -> QPushButton:
    made = QPushButton()
    made.setText(text)
    made.setToolTip(tooltip)
    made.setAccessibleName(name or text)
    made.setCheckable(checkable)
    return made
