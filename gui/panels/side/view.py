"""How the curve is drawn: colours, positions outside the range, projection."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gui.panels.base import Panel
from gui.state.session import Session
from gui.style.theme import COLORMAPS, GRID, Theme
from gui.widgets.boxes import grid, hbox
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped
from gui.widgets.variance_bars import N_BARS

_COLOR_BY = (
    ("position", "Position", "Index of the position"),
    ("norm", "Norm", "Length of each row"),
    (
        "residual",
        "Off-subspace residual",
        "Share of each centred row's length outside the shown components",
    ),
    ("component", "Component", "Coordinate along any component, including those on no axis"),
)

_MAPS = {
    "jet": "As in the article. Vivid, but not perceptually uniform, and ambiguous for colour-blind "
    "readers.",
    "turbo": "Like jet without its false edges; not perceptually uniform, not colour-blind safe.",
    "viridis": "Perceptually uniform and colour-blind safe.",
    "plasma": "Perceptually uniform and colour-blind safe.",
    "cividis": "Perceptually uniform; nearly the same with and without red–green colour blindness.",
    "batlow": "Perceptually uniform and colour-blind safe.",
    "romaO": "Perceptually uniform, colour-blind safe and cyclic: the last colour is the first.",
}


class ViewPanel(Panel):
    """Choices of how the curve is drawn, with or without a model.

    Signals
    -------
    colorByRequested
        "position", "norm", "residual" or "component", and the component's number (1-based).
    colormapRequested
        One of :data:`gui.style.theme.COLORMAPS`.
    colorSpanRequested
        "table" or "range".
    outsideRequested
        "hidden" or "faint".
    projectionRequested
        "perspective" or "parallel".
    keepTurnedRequested
        Whether the curve stays turned after a drag.
    """

    colorByRequested = Signal(str, int)
    colormapRequested = Signal(str)
    colorSpanRequested = Signal(str)
    outsideRequested = Signal(str)
    projectionRequested = Signal(str)
    keepTurnedRequested = Signal(bool)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.color_by, self.component = self._make_color_by()
        self.colormap = self._make_colormap()
        self.color_span = Segmented(
            (
                ("table", "Whole table", "Each colour has the same meaning in every range"),
                ("range", "Range", "The full colour map covers the shown range"),
            ),
            "Span of the colour map",
        )  # fmt: skip
        self.outside = Segmented(
            (
                ("hidden", "Hidden", "Show only the positions of the range"),
                (
                    "faint",
                    "Faint",
                    "Show the other positions too, in a faint colour and in the same components",
                ),
            ),
            "Positions outside the range",
        )
        self.projection = Segmented(
            (
                ("perspective", "Perspective", "Nearer parts are drawn larger"),
                ("parallel", "Parallel", "Lengths do not depend on depth: for measuring"),
            ),
            "Projection",
        )
        self.after_drag = Segmented(
            (
                ("ease", "Turn back", "Rotate the curve back, so that the axes are the components"),
                (
                    "stay",
                    "Keep",
                    "Leave the curve's orientation unchanged; the axis arrows turn with it",
                ),
            ),
            "After refitting, when a handle of the range slider is released",
        )
        self._arrange()
        self._connect()
        self._on_session_changed()

    # -- building ---------------------------------------------------------------------------

    def _make_color_by(self) -> tuple[DropDown, DropDown]:
        quantity, component = DropDown(), DropDown()
        for index, (value, text, tip) in enumerate(_COLOR_BY):
            quantity.addItem(text, value)
            quantity.setItemData(index, wrapped(tip), Qt.ItemDataRole.ToolTipRole)
        quantity.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        quantity.setAccessibleName("Colour by")
        component.addItems([f"PC {number}" for number in range(1, N_BARS + 1)])
        component.setMaxVisibleItems(N_BARS)
        component.setAccessibleName("Component to colour by")
        component.setToolTip("The component whose coordinate sets the colour")
        return quantity, component

    def _make_colormap(self) -> DropDown:
        combo = DropDown()
        combo.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        for index, name in enumerate(COLORMAPS):
            combo.add_colormap("jet · the article’s" if name == "jet" else name, name)
            combo.setItemData(index, wrapped(_MAPS.get(name, "")), Qt.ItemDataRole.ToolTipRole)
        combo.view().setMinimumWidth(180)
        combo.setAccessibleName("Colour map")
        return combo

    def _arrange(self) -> None:
        colors = hbox((self.color_by, 3), self.component, spacing=GRID // 2)
        cells = grid(self, GRID, GRID // 2, margins=(GRID, GRID // 2, GRID, GRID))
        cells.setColumnStretch(1, 1)
        rows: tuple[tuple[str, QWidget | QHBoxLayout], ...] = (
            ("Colour by", colors),
            ("Colours", self.colormap),
            ("Span", self.color_span),
            ("Outside", self.outside),
            ("Projection", self.projection),
            ("After refit", self.after_drag),
        )
        for row, (text, control) in enumerate(rows):
            title = label(text, "muted")
            cells.addWidget(title, row, 0)
            if isinstance(control, QWidget):
                cells.addWidget(control, row, 1)
                title.setToolTip(wrapped(control.accessibleName()))
            else:
                cells.addLayout(control, row, 1)
                title.setToolTip("What the colours of the curve show")
        cells.setRowStretch(len(rows), 1)

    def _connect(self) -> None:
        self.color_by.activated.connect(self._request_color_by)
        self.component.activated.connect(self._request_color_by)
        self.colormap.activated.connect(
            lambda index: self.colormapRequested.emit(self.colormap.itemData(index))
        )
        self.color_span.chosen.connect(self.colorSpanRequested)
        self.outside.chosen.connect(self.outsideRequested)
        self.projection.chosen.connect(self.projectionRequested)
        self.after_drag.chosen.connect(lambda value: self.keepTurnedRequested.emit(value == "stay"))
        events = self.session.events
        for changed in (
            events.color_by,
            events.color_component,
            events.colormap,
            events.color_span,
            events.outside,
            events.projection,
            events.keep_turned,
        ):
            self.listen(changed, self._on_session_changed)

    # -- what the user wants, and what the session has -------------------------------------

    def _request_color_by(self) -> None:
        self.component.setVisible(self.color_by.currentData() == "component")
        self.colorByRequested.emit(self.color_by.currentData(), self.component.currentIndex() + 1)

    def _on_session_changed(self) -> None:
        session = self.session
        self.color_by.setCurrentIndex(self.color_by.findData(session.color_by))
        self.color_by.setToolTip(self.color_by.currentData(Qt.ItemDataRole.ToolTipRole))
        self.component.setCurrentIndex(session.color_component - 1)
        self.component.setVisible(session.color_by == "component")
        self.colormap.setCurrentIndex(self.colormap.findData(session.colormap))
        self.colormap.setToolTip(self.colormap.currentData(Qt.ItemDataRole.ToolTipRole))
        self.color_span.show_value(session.color_span)
        self.outside.show_value(session.outside)
        self.projection.show_value(session.projection)
        self.after_drag.show_value("stay" if session.keep_turned else "ease")
