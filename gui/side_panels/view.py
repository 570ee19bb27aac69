"""How the curve is drawn: colours, line and points, positions outside the range, projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from gui.state.colors import shown_column
from gui.state.session import Session
from gui.state.values import LINE_WIDTHS, OPACITIES, PERIODS, POINT_SIZES, CurveLook
from gui.style.theme import COLORMAPS, GRID, Theme
from gui.widgets.boxes import grid, hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.real_slider import NAME_WIDTH, RealSlider, Scale
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped
from gui.widgets.variance_bars import N_BARS

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn

_COLOR_BY = (
    ("position", "Position", "Index of the position"),
    ("period", "Position, modulo", "Position modulo a period that you choose"),
    ("norm", "Norm", "Length of each row"),
    (
        "residual",
        "Off-subspace residual",
        "Share of each centred row's length outside the shown components",
    ),
    ("component", "Component", "Coordinate along any component, including those on no axis"),
    ("token", "Token", "Token of the prompt, or label of the row; equal ones have the same colour"),
    (
        "column",
        "Column",
        "Row and column of a picture’s patches, what labelled rows have, or a column of a table of "
        "your own with a row for each position",
    ),
)
_OF_ROWS = {
    "position": ("Position", "Row"),
    "period": ("Position, modulo", "Row, modulo"),
    "token": ("Token", "Label"),
}
"""Names of quantities of positions, and of rows with labels."""
_PERIOD = Scale(*PERIODS, 1, power=0.0)
_SPAN = {
    "period": ("Period", "The period in positions"),
    "token": ("Tokens", "Tokens of the prompt, or labels of the rows"),
}
"""Titles and tooltips of the third row if it does not show the span."""

OPTIONS_WIDTH = 300
_SIZES = (
    ("line_width", "Line width", Scale(*LINE_WIDTHS, 1, power=2.0), "Of the line, in pixels"),
    ("point_size", "Point size", Scale(*POINT_SIZES, 1, power=2.0), "Of the points, in pixels"),
    ("opacity", "Opacity", Scale(*OPACITIES, 2), "Of line and points; 1 is solid"),
)
DEFAULTS = CurveLook()

_MAPS = {
    "jet": "As in the helix article. Vivid, but not perceptually uniform, and ambiguous for "
    "colour-blind readers.",
    "turbo": "Like jet without its false edges; not perceptually uniform, not colour-blind safe.",
    "viridis": "Perceptually uniform and colour-blind safe.",
    "plasma": "Perceptually uniform and colour-blind safe.",
    "cividis": "Perceptually uniform; nearly the same with and without red–green colour blindness.",
    "batlow": "Perceptually uniform and colour-blind safe.",
    "romaO": "Perceptually uniform, colour-blind safe and cyclic: the last colour is the first.",
}


class _Pages(QStackedWidget):
    """Pages as high as the first one, so that the height of the row is constant."""

    def sizeHint(self) -> QSize:
        first = self.widget(0)
        hint = super().sizeHint()
        return hint if first is None else QSize(hint.width(), first.sizeHint().height())


class ViewPanel(Panel):
    """Choices of how the curve is drawn, with or without a model.

    Signals
    -------
    colorByRequested
        One of :class:`gui.state.values.ColorBy`, and the component's number (1-based).
    colorSpanRequested
        "table" or "range".
    outsideRequested
        "hidden" or "faint".
    projectionRequested
        "perspective" or "parallel".
    keepTurnedRequested
        Whether the curve keeps its orientation after a drag.
    lookRequested
        A field of the session, and its value: one of :class:`gui.state.values.CurveLook`, the
        period, or a colour map.
    columnRequested
        A column of the last read file.
    columnFileRequested
        Choose a file with columns.
    """

    colorByRequested = Signal(str, int)
    colorSpanRequested = Signal(str)
    outsideRequested = Signal(str)
    projectionRequested = Signal(str)
    keepTurnedRequested = Signal(bool)
    lookRequested = Signal(str, object)
    columnRequested = Signal(object)
    columnFileRequested = Signal()

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.color_by, self.component = self._make_color_by()
        self.column = DropDown()
        self.column.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.column.setAccessibleName("Colour by which column")
        self.period = RealSlider("Period", _PERIOD, _SPAN["period"][1], theme, titled=False)
        self.hint = label(role="small")
        self.colormap = self._make_colormap()
        self.color_span = Segmented(
            (
                ("range", "Range", "The full colour map covers the shown range"),
                ("table", "Whole table", "Each colour has the same meaning in every range"),
            ),
            "Span of the colour map",
        )
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
        self.curve_parts = Segmented(
            (
                ("both", "Both", "A line through points"),
                ("points", "Points", "Only the points"),
                ("line", "Line", "Only the line"),
            ),
            "Parts of the curve that are drawn",
        )
        self.curve_options = CurveOptions(theme, self)
        self.after_drag = self.curve_options.after_drag
        self.more = QToolButton()
        self.more.setText("⋯")
        self.more.setProperty("class", "chip")
        self.more.setFixedWidth(4 * GRID)
        # As high as the choice beside it.
        self.more.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.more.setToolTip(wrapped("Line width, point size, opacity, orientation after a refit"))
        self.more.setAccessibleName("More options of the curve")
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
            combo.add_colormap("jet · article" if name == "jet" else name, name)
            combo.setItemData(index, wrapped(_MAPS.get(name, "")), Qt.ItemDataRole.ToolTipRole)
        combo.view().setMinimumWidth(180)
        combo.setAccessibleName("Colour map")
        return combo

    def _arrange(self) -> None:
        colors = hbox((self.color_by, 3), self.component, (self.column, 3), spacing=GRID // 2)
        # The content of the third row depends on the colours.
        self.spans = _Pages()
        for part in (self.color_span, self.period, self.hint):
            self.spans.addWidget(part)
        curve = hbox((self.curve_parts, 1), self.more, spacing=GRID // 2)
        cells = grid(self, GRID, GRID // 2, margins=(GRID, GRID // 2, GRID, GRID))
        cells.setColumnStretch(1, 1)
        rows: tuple[tuple[str, QWidget | QHBoxLayout, str], ...] = (
            ("Colour by", colors, "What the colours of the curve show"),
            ("Colours", self.colormap, ""),
            ("Span", self.spans, ""),
            ("Curve", curve, self.curve_parts.accessibleName()),
            ("Outside", self.outside, ""),
            ("Projection", self.projection, ""),
        )
        for row, (text, control, tip) in enumerate(rows):
            title = label(text, "muted")
            if control is self.spans:
                self.span_title = title
            cells.addWidget(title, row, 0)
            if isinstance(control, QWidget):
                cells.addWidget(control, row, 1)
                tip = tip or control.accessibleName()
            else:
                cells.addLayout(control, row, 1)
            title.setToolTip(wrapped(tip))
        cells.setRowStretch(len(rows), 1)

    def _connect(self) -> None:
        self.color_by.activated.connect(self._request_color_by)
        self.component.activated.connect(self._request_color_by)
        self.colormap.activated.connect(self._request_colormap)
        self.column.activated.connect(self._request_column)
        self.period.changed.connect(lambda value: self.lookRequested.emit("color_period", value))
        self.color_span.chosen.connect(self.colorSpanRequested)
        self.outside.chosen.connect(self.outsideRequested)
        self.projection.chosen.connect(self.projectionRequested)
        self.curve_parts.chosen.connect(lambda parts: self.lookRequested.emit("curve_parts", parts))
        self.more.clicked.connect(lambda: self.curve_options.open_beside(self.more))
        self.curve_options.lookRequested.connect(self.lookRequested)
        self.after_drag.chosen.connect(lambda value: self.keepTurnedRequested.emit(value == "stay"))
        events = self.session.events
        for changed in (
            events.color_by,
            events.color_component,
            events.color_period,
            events.color_column,
            events.columns,
            events.model,
            events.tokens,
            events.colormap,
            events.cyclic_colormap,
            events.color_span,
            events.line_width,
            events.point_size,
            events.curve_parts,
            events.opacity,
            events.outside,
            events.projection,
            events.keep_turned,
        ):
            self.listen(changed, self._on_session_changed)

    # -- what the user wants, and what the session has -------------------------------------

    def _request_color_by(self) -> None:
        quantity = self.color_by.currentData()
        columns = self._columns()
        if quantity == "column" and self.session.color_column not in columns:
            self._on_session_changed()
            if columns:
                before = self.session.color_column
                name = "" if before is None else before.name
                same = (column for column in columns if column.name == name)
                # Of labels, which differ from row to row, each would have a colour of its own.
                useful = (c for c in columns if c.numeric or len(set(c.values)) < len(c.values))
                self.columnRequested.emit(next(same, next(useful, columns[0])))
            else:
                self.columnFileRequested.emit()
            return
        self.component.setVisible(quantity == "component")
        self.colorByRequested.emit(quantity, self.component.currentIndex() + 1)

    def _request_colormap(self) -> None:
        field = "cyclic_colormap" if self.session.color_by == "period" else "colormap"
        self.lookRequested.emit(field, self.colormap.currentData())

    def _request_column(self, index: int) -> None:
        columns = self._columns()
        if index < len(columns):
            self.columnRequested.emit(columns[index])
        else:
            self._on_session_changed()
            self.columnFileRequested.emit()

    def _columns(self) -> tuple[PositionColumn, ...]:
        """Return the available columns: the model's, and those of the file or a saved project."""
        session = self.session
        own = () if session.model is None else session.model.columns
        known, column = session.columns, session.color_column
        if column is not None and column not in known and column.file:
            known = (column,)
        return (*own, *known)

    def _show_columns(self) -> None:
        columns, column = self._columns(), shown_column(self.session)
        self.column.setVisible(column is not None)
        if column is None:
            return
        self.column.clear()
        self.column.addItems([*(column.name for column in columns), "Other file…"])
        if column in columns:
            self.column.setCurrentIndex(columns.index(column))
            of = column.file or "this model"
            self.column.setToolTip(wrapped(f"“{column.name}” of {of}"))

    def _show_span(self) -> None:
        """Show the colours' options in the third row."""
        session = self.session
        title, tip = _SPAN.get(session.color_by, ("Span", self.color_span.accessibleName()))
        self.span_title.setText(title)
        self.span_title.setToolTip(wrapped(tip))
        self.period.show_value(session.color_period)
        different = len(set(session.texts))
        labelled = session.model is not None and session.model.rows is not None
        missing = "No labels" if labelled else "Enter text under Prompt"
        self.hint.setText(f"{different} different" if different else missing)
        parts = {"period": self.period, "token": self.hint}
        self.spans.setCurrentWidget(parts.get(session.color_by, self.color_span))

    def _on_session_changed(self) -> None:
        session = self.session
        column = shown_column(session)
        of_rows = session.model is not None and session.model.rows is not None
        for quantity, texts in _OF_ROWS.items():
            self.color_by.setItemText(self.color_by.findData(quantity), texts[of_rows])
        missing = session.color_by == "column" and column is None  # another model's own
        shown = "position" if missing else session.color_by
        self.color_by.setCurrentIndex(self.color_by.findData(shown))
        self.color_by.setToolTip(self.color_by.currentData(Qt.ItemDataRole.ToolTipRole))
        self.component.setCurrentIndex(session.color_component - 1)
        self.component.setVisible(session.color_by == "component")
        self._show_columns()
        self._show_span()
        periodic = session.color_by == "period"
        colormap = session.cyclic_colormap if periodic else session.colormap
        named = column is not None and not column.numeric
        # Categories have their own colours and no order, so there is no span.
        self.colormap.setEnabled(session.color_by != "token" and not named)
        self.color_span.setEnabled(not named)
        self.colormap.setCurrentIndex(self.colormap.findData(colormap))
        self.colormap.setToolTip(self.colormap.currentData(Qt.ItemDataRole.ToolTipRole))
        self.color_span.show_value(session.color_span)
        self.outside.show_value(session.outside)
        self.projection.show_value(session.projection)
        self.curve_parts.show_value(session.curve_parts)
        self.curve_options.show_session(session)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.curve_options.set_theme(theme)
        self.period.set_theme(theme)


class CurveOptions(QFrame):
    """Line width, point size, opacity, and the orientation after a refit.

    It closes with Esc, or a click anywhere else.
    """

    lookRequested = Signal(str, object)
    """The name of a field of the session, and its value."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("role", "palette")
        self.setAccessibleName("Curve")
        self.sliders = {
            field: RealSlider(name, scale, tip, theme) for field, name, scale, tip in _SIZES
        }
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
        self.reset = push_button("Reset", "Restore the default line and points")
        self.reset.setAccessibleName("Reset line width, point size, opacity and parts")
        self._title = title = label("After refit", "muted")
        title.setToolTip(wrapped(self.after_drag.accessibleName()))
        vbox(
            *self.sliders.values(),
            hbox(1, self.reset),
            hbox(title, (self.after_drag, 1), spacing=GRID // 2),
            parent=self,
            spacing=GRID // 2,
            margins=GRID,
        )
        for field, slider in self.sliders.items():
            slider.changed.connect(lambda value, field=field: self.lookRequested.emit(field, value))
        self.reset.clicked.connect(self._reset)
        self._fit(theme)

    def open_beside(self, button: QWidget) -> None:
        """Show it to the right of a button, its lower edge at the button's, within the screen."""
        self.adjustSize()
        corner = button.mapToGlobal(QPoint(button.width() + GRID, button.height() - self.height()))
        screen = button.screen().availableGeometry()
        corner.setX(min(corner.x(), screen.right() - self.width()))
        corner.setY(max(corner.y(), screen.top()))
        self.move(corner)
        self.show()
        self.sliders["line_width"].slider.setFocus()

    def show_session(self, session: Session) -> None:
        """Show the values of a session."""
        for field, slider in self.sliders.items():
            slider.show_value(getattr(session, field))
        self.after_drag.show_value("stay" if session.keep_turned else "ease")
        now = CurveLook(
            session.line_width, session.point_size, session.curve_parts, session.opacity
        )
        self.reset.setEnabled(now != DEFAULTS)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        for slider in self.sliders.values():
            slider.set_theme(theme)
        self._fit(theme)

    def _fit(self, theme: Theme) -> None:
        """Set the widths for the size of text."""
        self._title.setFixedWidth(theme.px(NAME_WIDTH))
        self.setFixedWidth(theme.px(OPTIONS_WIDTH))

    def _reset(self) -> None:
        for field in self.sliders:
            self.lookRequested.emit(field, getattr(DEFAULTS, field))
        self.lookRequested.emit("curve_parts", DEFAULTS.curve_parts)
