"""The norms panel: the length of every row of the position table, linked with the curve.

pyqtgraph is imported when there is first something to draw on a visible panel, so that the window
does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from geometry.norms import NormProfile
from gui import selection
from gui.loading import short_name
from gui.panels.base import Panel, label
from gui.panels.norms_header import NormsHeader
from gui.panels.norms_text import OUTLIER_RULE, bulk_span, describe, full_span
from gui.session import Session
from gui.theme import GRID, Theme

if TYPE_CHECKING:
    from gui.panels.line_plot import LinePlot

EMPTY = "Open a model to see the norm of every row of its position table."


class NormsPanel(Panel):
    """‖Pᵢ‖₂ against position, raw or row-centred, with its stability and outliers."""

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
        self.header = NormsHeader()
        self.header.centredRequested.connect(self.centredRequested)
        self.header.bulkToggled.connect(self._show_span)
        self.header.resetRequested.connect(self._show_all)
        self._build_layout()
        events = session.events
        for signal, slot in (
            (events.norms, self._on_norms_changed),
            (events.model, self._on_norms_changed),
            (events.opening, self._on_norms_changed),
            (events.norms_centred, self._on_centred_changed),
            (events.selection, self._on_selection_changed),
            (events.hover, self._on_hover_changed),
            (events.tokens, self._on_hover_changed),
        ):
            self.listen(signal, slot)
        self.listen_calmly(events.positions, self._on_positions_changed)
        self._on_centred_changed()
        self._on_norms_changed()

    def _build_layout(self) -> None:
        self._ready = QWidget()
        self._page = QVBoxLayout(self._ready)
        self._page.setContentsMargins(GRID, GRID // 2, GRID, GRID // 2)
        self._page.setSpacing(GRID // 2)
        self._page.addWidget(self.header)
        self._stack = QStackedLayout(self)
        # As a window of its own the panel would keep the least width of the widest arrangement.
        self._stack.setSizeConstraint(QStackedLayout.SizeConstraint.SetNoConstraint)
        self._stack.addWidget(self.message)
        self._stack.addWidget(self._ready)

    # What the session says.

    def _on_norms_changed(self) -> None:
        profile = self.session.norms
        if profile is None:
            self._drawn = None
            self.message.setText(self._waiting_for())
            self._stack.setCurrentWidget(self.message)
            return
        self._stack.setCurrentWidget(self._ready)
        self.header.show_profile(profile)
        self._draw()

    def _waiting_for(self) -> str:
        if self.session.opening:
            return f"Opening {short_name(self.session.opening)}: the norms come with it."
        return EMPTY if self.session.model is None else "Measuring the rows…"

    def _on_centred_changed(self) -> None:
        self.header.show_kind(self.session.norms_centred)

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
        plot.view.zoomed.connect(self.header.reset.setVisible)
        self._page.addWidget(plot, 1)
        self.plot = plot
        return plot

    def _show_span(self) -> None:
        profile = self._drawn
        if self.plot is not None and profile is not None:
            zoomed = self.header.bulk.isChecked()
            self.plot.view.set_home_y(bulk_span(profile) if zoomed else full_span(profile))

    def _show_all(self) -> None:
        if self.plot is not None:
            self.plot.view.show_all()

    # What the user wants.

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
