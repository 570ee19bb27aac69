"""The norms panel: lengths of rows, steps and residuals by position, linked with the curve.

pyqtgraph is imported when there is first something to draw on a visible panel, so that the window
does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_not
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHideEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedLayout, QVBoxLayout, QWidget

from geometry.measures.stretches import AFTER
from gui.panels.base import Panel
from gui.panels.norms import norms_compared, norms_taking
from gui.panels.norms.norms_body import NormsBody
from gui.panels.norms.norms_header import NormsHeader
from gui.panels.norms.norms_reading import Beside, Reading, beside, read
from gui.panels.norms.norms_text import (
    AFTER_TIP,
    OUTLIER_RULE,
    axis_title,
    bulk_span,
    describe,
    full_span,
)
from gui.panels.result_menu import result_menu, show_menu
from gui.services.loading import short_name
from gui.services.overlay_curves import OverlayCurves, overlay_color
from gui.state.session import Session
from gui.style.theme import GRID, LIGHT, Theme
from gui.widgets.label import label

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from gui.panels.norms.norms_legend import NormsRow
    from gui.panels.norms.norms_plot import NormsPlot

EMPTY = "Open a model to see the norm of every row of its position table."
WAITING = "Measuring the rows…"
ONE_ROW = "There is one position, and no step from it to another."


class NormsPanel(Panel):
    """Norm, step or residual against position; its stability; other models beside it."""

    selectionRequested = Signal(tuple)
    """Positions, the last one becomes the current one."""
    hoverRequested = Signal(object)
    """The position under the mouse, or None."""
    quantityRequested = Signal(str)
    """Norms, steps or residuals."""
    centredRequested = Signal(bool)
    """Of rows centred over d_model (True) or raw ones."""
    afterRequested = Signal(int)
    """Where the stretch begins whose stability is measured."""
    relativeRequested = Signal(bool)
    """Models compared relative to their means, or in their own units."""
    sphereRequested = Signal(bool)
    """The sphere of mean norm in the viewport."""
    overlayRequested = Signal(str)
    """A source to lay over the open model."""
    overlayRemoved = Signal(str)
    """A source to take out again."""
    overlayToggled = Signal(str, bool)
    """A source whose line is to be drawn or hidden."""
    overlayAsked = Signal(int, object, bool)
    """A compared model's key, a question about it, and whether a download is agreed to."""
    hiddenRequested = Signal(object)
    """The session's ``hidden_curves`` that the user wants."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plot: NormsPlot | None = None
        self.saver: Any = None
        self._read: Reading | None = None
        self._told: tuple[object, ...] = ()
        self._drawn: Reading | None = None
        self._beside: tuple[Beside, ...] = ()
        self._drawn_beside: tuple[object, ...] = ()
        self.message = label(EMPTY, "muted")
        self.message.setWordWrap(True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setMargin(2 * GRID)
        self.body = NormsBody()
        self.body.removed.connect(self.overlayRemoved)
        self.body.toggled.connect(self._on_toggled)
        self.body.relativeRequested.connect(self.relativeRequested)
        self.header = self._make_header()
        self._build_layout()
        self._listen_to_session()
        self.others = OverlayCurves(
            session,
            norms_compared.SLOT,
            norms_compared.question_of,
            lambda key, question: self.overlayAsked.emit(key, question, False),
            self._refresh,
        )
        self._refresh()

    def _make_header(self) -> NormsHeader:
        header = NormsHeader()
        for signal, wish in (
            (header.quantityRequested, self.quantityRequested),
            (header.centredRequested, self.centredRequested),
            (header.afterRequested, self.afterRequested),
            (header.sphereRequested, self.sphereRequested),
            (header.bulkToggled, self._show_span),
            (header.resetRequested, self._show_all),
            (header.overlaysRequested, self._show_overlays),
            (header.menuRequested, lambda at: show_menu(self, at)),
        ):
            signal.connect(wish)
        return header

    def _build_layout(self) -> None:
        self._ready = QWidget()
        page = QVBoxLayout(self._ready)
        page.setContentsMargins(GRID, GRID // 2, GRID, GRID // 2)
        page.setSpacing(GRID // 2)
        page.addWidget(self.header)
        page.addWidget(self.body, 1)
        self._stack = QStackedLayout(self)
        # As a window of its own the panel would keep the least width of the widest arrangement.
        self._stack.setSizeConstraint(QStackedLayout.SizeConstraint.SetNoConstraint)
        self._stack.addWidget(self.message)
        self._stack.addWidget(self._ready)

    def _listen_to_session(self) -> None:
        events = self.session.events
        for signal in (
            events.norms, events.model, events.opening, events.lengths, events.overlays,
            events.norms_quantity, events.norms_centred, events.norms_after,
            events.norms_relative, events.sphere,
        ):  # fmt: skip
            self.listen(signal, self._refresh)
        self.listen(events.selection, self._on_selection_changed)
        self.listen(events.hover, self._on_hover_changed)
        self.listen(events.tokens, self._on_hover_changed)
        self.listen_throttled(events.positions, self._on_positions_changed)
        self.listen_throttled(events.curve, self._on_curve_changed)

    # What the session says.

    def _refresh(self) -> None:
        session = self.session
        self.header.show_choices(
            session.norms_quantity, centred=session.norms_centred, sphere=session.sphere
        )
        if session.norms is None:
            self._drawn = self._read = None
            self.message.setText(self._waiting_for())
            self._stack.setCurrentWidget(self.message)
            return
        self._stack.setCurrentWidget(self._ready)
        others = beside(session)
        reading = read(session, others)
        if reading is None:
            self._drawn = self._read = None
            self.header.show_nothing(session.norms_quantity)
            one = session.model is not None and session.model.n_positions == 1
            self.body.say(ONE_ROW if one else WAITING)
            return
        told = (session.model, session.overlays, self.others.curves, session.norms_relative)
        # Of what changes together each part is told of: most of it is said already.
        if not reading.same_words(self._read) or any(map(is_not, told, self._told)):
            self._read, self._told = reading, told
            self.body.say("")
            self.header.show_reading(reading, others)
            self._show_legend(reading)
        self._draw(reading, others)

    def _waiting_for(self) -> str:
        if self.session.opening:
            return f"Opening {short_name(self.session.opening)}: the norms come with it."
        return EMPTY if self.session.model is None else WAITING

    def _on_curve_changed(self) -> None:
        if self.session.norms_quantity == "residual":
            self._refresh()

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
        position, reading = self.session.hover, self._drawn
        if position is None or reading is None or not 0 <= position < len(reading.source):
            return ""
        return describe(reading, position, self.session.token_at(position), self._beside)

    # Drawing.

    def _draw(self, reading: Reading, others: tuple[Beside, ...]) -> None:
        """Draw what is read, once somebody can see it; only what is new of it."""
        if not self.isVisible():
            return
        plot = self.plot if self.plot is not None else self._make_plot()
        identities = tuple(
            (o.overlay.source, o.overlay.color, id(o.source), reading.relative and o.stretch.mean)
            for o in others
        )
        same = reading.same_picture(self._drawn) and identities == self._drawn_beside
        self._drawn, self._beside, self._drawn_beside = reading, others, identities
        plot.set_after(None if reading.stretch.whole else reading.after)
        if not same:
            self._draw_lines(plot, reading, others)
        if not same or self.header.bulk.isChecked():
            self._show_span()
        if not same:
            self._on_positions_changed()
            self._on_selection_changed()
            self._on_hover_changed()

    def _draw_lines(self, plot: NormsPlot, reading: Reading, others: tuple[Beside, ...]) -> None:
        from gui.plots.compared_plot import Thin

        plot.set_lines(
            reading.drawn,
            full_span(reading, others),
            reading.n_positions - 1,
            [Thin(o.drawn, self._color(o.overlay.color)) for o in others],
            axis_title(reading),
        )
        plot.marks.set_marked(reading.outliers)
        plot.setAccessibleName(f"{reading.quantity.capitalize()} of each position")

    def _color(self, number: int) -> str:
        return overlay_color(number, self.theme)

    def _make_plot(self) -> NormsPlot:
        from gui.panels.norms.norms_plot import NormsPlot
        from gui.plots.position_gestures import PositionGestures

        plot = NormsPlot(self.theme, "position (tokens)", "")
        plot.mark_tooltip = OUTLIER_RULE
        plot.after_tooltip = AFTER_TIP
        plot.hovered.connect(self.hoverRequested)
        PositionGestures(plot, self.session, self.selectionRequested.emit)
        plot.afterDragged.connect(self.afterRequested)
        plot.afterReset.connect(lambda: self.afterRequested.emit(AFTER))
        plot.view.zoomed.connect(self.header.reset.setVisible)
        self.body.put(plot)
        self.plot = plot
        return plot

    def _show_legend(self, reading: Reading) -> None:
        rows: list[NormsRow] = []
        others = self.session.overlays or self.session.compared
        if others and reading.quantity != "residual":
            from gui.panels.norms.norms_legend import legend_rows

            rows = legend_rows(self.session, reading, self.theme.text, self._color)
        self.body.show_rows(rows, relative=self.session.norms_relative)

    def _show_span(self) -> None:
        reading = self._drawn
        if self.plot is not None and reading is not None:
            span = bulk_span if self.header.bulk.isChecked() else full_span
            self.plot.view.set_home_y(span(reading, self._beside))

    def _show_all(self) -> None:
        if self.plot is not None:
            self.plot.view.show_all()

    # What the user wants.

    def _on_toggled(self, row: str, shown: bool) -> None:
        for compared in self.session.compared:
            if row == norms_compared.row_id(compared.key):
                self.hiddenRequested.emit(self.others.toggled(compared.key))
                return
        self.overlayToggled.emit(row, shown)

    def _show_overlays(self, at: QPoint) -> None:
        from gui.panels.norms.overlay_menu import overlay_menu

        menu = overlay_menu(
            self.session, self, self.overlayRequested.emit, self.overlayRemoved.emit
        )
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to save and copy."""
        if self.result is not None:
            show_menu(self, event.globalPos())

    # What can be taken away.

    @property
    def result(self) -> Any:
        """The :class:`gui.panels.norms.norms_reading.Reading` that is drawn; None if none is."""
        return self._drawn

    def menu(self) -> QMenu:
        """Return the menu of what can be done with it; the caller shows it."""
        return result_menu(self)

    def figure(self, result: Reading) -> Callable[[], Figure]:
        """Return what draws it for print; it is called on a thread, without the panel."""
        return norms_taking.drawing(self._name(), result, self._others())

    def numbers(self, result: Reading) -> Mapping[str, np.ndarray]:
        """Return the values by position, a column for each model."""
        return norms_taking.numbers(self._name(), result, self._others())

    def python(self) -> str:
        """Return a script that measures the open model's values, and prints them."""
        assert self._drawn is not None
        return norms_taking.python(self.session, self._drawn)

    def file_name(self) -> str:
        """Return the name that files are offered under, without an ending."""
        assert self._drawn is not None
        return f"{self._name().replace('/', '-')} {self._drawn.quantity}s"

    def _name(self) -> str:
        assert self.session.model is not None
        return self.session.model.name

    def _others(self) -> list[tuple[Beside, str]]:
        # On white paper, whatever the screen's colours are.
        return [(one, overlay_color(one.overlay.color, LIGHT)) for one in self._beside]

    # The widget's own life.

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.plot is not None:
            self.plot.set_theme(theme)
        if self.session.overlays or self.session.compared:
            self._drawn = self._read = None  # the lines' colours are the theme's
            self._refresh()

    def minimumSizeHint(self) -> QSize:
        """Return the least size of the three-row arrangement, whichever is in use."""
        return QSize(240, 176)

    def sizeHint(self) -> QSize:
        """Return a size for a dock under the viewport."""
        return QSize(960, 208)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came in while nobody could see it."""
        super().showEvent(event)
        self.others.ask()
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Ask no more of the compared models while nobody can see it."""
        super().hideEvent(event)
        self.others.ask(asking=False)

    def release(self) -> None:
        """Stop listening."""
        self.others.close()
        super().release()
