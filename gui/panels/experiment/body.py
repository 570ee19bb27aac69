"""The body of "Line or helix": sliders, one of four pages, and a table where there is room."""

from __future__ import annotations

from functools import partial

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QSizePolicy, QStackedWidget, QToolButton, QWidget

from geometry.measures.synthetic import KINDS, CurveKind
from gui.panels.experiment.question import MAX_POSITIONS, ExperimentSettings
from gui.panels.experiment.spec import ExperimentPanel, ExperimentView, colors_of, drawn, flat
from gui.panels.experiment.words import COLUMNS, NAMES, cells, reading
from gui.panels.kit.body import PanelBody
from gui.panels.kit.intents import OpenSource
from gui.plots.curve_picture import paint_curve, paint_ground, places_in, position_colors, thinned
from gui.plots.qt_painter import PaintedRow
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import grid, hbox, vbox
from gui.widgets.label import label
from gui.widgets.real_slider import RealSlider, Scale
from gui.widgets.scroll_column import ScrollColumn
from gui.widgets.shapes import shape_pixmap
from gui.widgets.tooltips import wrapped

WIDE = 960
"""Minimum width of a panel with the table beside the page, in pixels."""
MIN_POSITIONS = 16
WIDTH = 30 * GRID
FIELDS = (
    (
        "n_positions",
        "Positions",
        Scale(MIN_POSITIONS, MAX_POSITIONS, 0, 0),
        "Number of positions on the curve",
    ),
    (
        "turns",
        "Turns",
        Scale(0.25, 60, 2, 0),
        "Number of turns of the circle and the helix, from the first position to the last",
    ),
    (
        "climb",
        "Climb",
        Scale(0, 1, 3),
        "Share of each step of the helix that is along its axis: 0 is a circle, 1 is a line",
    ),
    (
        "token_norm",
        "Token",
        Scale(0, 100, 2, 3),
        "Length of the token embedding that is added to every position before LayerNorm, in units "
        "of the embedding; 0 for positions alone",
    ),
    (
        "offset",
        "Offset",
        Scale(0, 100, 2, 3),
        "Perpendicular distance of the origin from the middle of each curve, in units of the "
        "embedding; LayerNorm projects from the origin",
    ),
    (
        "spacing",
        "Spacing",
        Scale(0.001, 100, 4, 0),
        "Distance between neighbouring positions, in units of the embedding, equal on all three "
        "curves",
    ),
    (
        "noise",
        "Noise",
        Scale(0, 3, 2, 2),
        (
            "Length of the random displacement of each position from its curve, as a share of the "
            "spacing"
        ),
    ),
    (
        "lag",
        "Look back",
        Scale(1, MAX_POSITIONS // 2, 0, 0),
        "How many tokens a single rotation and shift looks back",
    ),
)
"""Name, label, scale and explanation of each; the first fields are visible without scrolling."""


class ExperimentBody(PanelBody):
    """Sliders, pictures, plots, and the table."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._view: ExperimentView | None = None
        self._shown: tuple[object, ...] = ()
        self._wide: bool | None = None
        self.form, self.pictures = ExperimentForm(theme), ExperimentPictures(theme)
        self.form.changed.connect(lambda settings: self.chosen.emit("settings", settings))
        self.pictures.openRequested.connect(self._open)
        self.table = NumbersTable(theme)
        self.plots = {page: PlotPage(session, theme) for page in ("steps", "price")}
        self.plots["price"].plot.chosen.connect(lambda _, n: self._change_length(n))
        self.stack = QStackedWidget()
        for page in (self.pictures, *self.plots.values(), self.table):
            self.stack.addWidget(page)
        self._row = hbox(self.form, (self.stack, 1), parent=self, spacing=2 * GRID)
        self._listening = Listening()
        self._listening.to(session.events.colormap, self._draw_page)

    def draw(self, view: ExperimentView) -> None:
        self._view = view
        self.form.show_settings(_settings(view))
        self._draw_page()

    def forget(self) -> None:
        self._view, self._shown = None, ()
        for page in self.plots.values():
            page.plot.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        for page in self.plots.values():
            page.set_theme(theme)
        self.form.set_theme(theme)
        self.pictures.set_theme(theme)
        self.table.set_theme(theme)

    def stop(self) -> None:
        self._listening.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        beside = self.width() >= 2 * WIDTH
        self._row.setDirection(directions.LeftToRight if beside else directions.TopToBottom)
        wide = self.width() >= WIDE
        if wide == self._wide:
            return
        self._wide = wide
        for page in self.plots.values():  # the table has the names too
            page.legend.setHidden(wide)
        if wide:
            self._row.addWidget(self.table)
            self.table.show()
        else:
            self.stack.addWidget(self.table)
        self.offered.emit("page", "table", not wide)
        self._draw_page()
        if wide and self._view is not None and self._view.choices.page == "table":
            self.chosen.emit("page", "curves")

    def _draw_page(self) -> None:
        """Draw the shown page only, for speed during a drag."""
        view = self._view
        if view is None:
            return
        page, colormap = view.choices.page, self.session.colormap
        shown = (view.result, view.choices.before, page, view.theme, colormap, self._wide)
        if shown == self._shown:  # only the sliders have moved
            return
        self._shown = shown
        self.table.show_numbers(view)
        if page in self.plots:
            steps, price = ExperimentPanel().plots(view)
            self.plots[page].plot.draw([steps if page == "steps" else price])
            self.stack.setCurrentWidget(self.plots[page])
        else:
            self.pictures.draw(view, colormap)
            table = page == "table" and not self._wide
            self.stack.setCurrentWidget(self.table if table else self.pictures)

    def _open(self, kind: CurveKind) -> None:
        if self._view is not None:
            source = self._view.result.settings.curve.of_kind(kind).source
            self.intended.emit(OpenSource(source))

    def _change_length(self, wanted: int) -> None:
        if self._view is not None:
            settings = _settings(self._view)
            n, curve = min(max(wanted, MIN_POSITIONS), MAX_POSITIONS), settings.curve
            # The same curve, shortened or extended, as its prices assume.
            turns = curve.turns * (n - 1) / (curve.n_positions - 1)
            self.chosen.emit("settings", settings.with_(n_positions=n, turns=turns))


def _settings(view: ExperimentView) -> ExperimentSettings:
    """Return the chosen settings, whose curves may be pending."""
    return view.choices.settings or view.result.settings


class ExperimentForm(ScrollColumn):
    """A slider with a field for each number."""

    changed = Signal(object)
    """The :class:`ExperimentSettings` that the user wants."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._settings: ExperimentSettings | None = None
        self.setFixedWidth(WIDTH)
        page = QWidget()
        self.sliders: dict[str, RealSlider] = {}
        for name, text, scale, tip in FIELDS:
            self.sliders[name] = slider = RealSlider(text, scale, tip, theme)
            slider.changed.connect(partial(self._on_changed, name))
        sliders = self.sliders.values()
        vbox(*sliders, 1, parent=page, spacing=GRID // 2, margins=(0, 0, GRID // 2, 0))
        self.setWidget(page)

    def show_settings(self, settings: ExperimentSettings) -> None:
        """Show other settings without a signal."""
        self._settings = settings
        for name, slider in self.sliders.items():
            slider.show_value(_value(settings, name))

    def set_theme(self, theme: Theme) -> None:
        for slider in self.sliders.values():
            slider.set_theme(theme)

    def _on_changed(self, name: str, value: float) -> None:
        if self._settings is None:
            return
        # Other numbers keep more digits than their fields show.
        self._settings = self._settings.with_(**{name: value})
        self.changed.emit(self._settings)


def _value(settings: ExperimentSettings, name: str) -> float:
    owner = settings if name in ("token_norm", "lag") else settings.curve
    return float(getattr(owner, name))


class PlotPage(QWidget):
    """A plot of line, circle and helix with a legend."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.plot, self.legend = PaintedRow(session, theme), QWidget()
        self._shapes = {kind: label() for kind in KINDS}
        named = (hbox(self._shapes[kind], label(NAMES[kind]), spacing=GRID // 2) for kind in KINDS)
        hbox(*named, 1, parent=self.legend, spacing=2 * GRID)
        vbox(self.legend, (self.plot, 1), parent=self, spacing=0)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self.plot.set_theme(theme)
        for kind, color in colors_of(theme).items():
            self._shapes[kind].setPixmap(shape_pixmap(color, self.devicePixelRatioF()))


class NumbersTable(QWidget):
    """A row of numbers for each curve."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.rows: dict[CurveKind, list[QLabel]] = {}
        self._shapes: dict[CurveKind, QLabel] = {}
        table = grid(self, GRID * 3 // 2, GRID // 2)
        right = Qt.AlignmentFlag.AlignRight
        for column, (title, tip) in enumerate(COLUMNS, start=2):
            table.addWidget(_tipped(title, tip, "small"), 0, column, right)
        for row, kind in enumerate(KINDS, start=1):
            self._shapes[kind] = label()
            self.rows[kind] = [_tipped("", tip) for _, tip in COLUMNS]
            table.addWidget(self._shapes[kind], row, 0)
            table.addWidget(label(NAMES[kind]), row, 1)
            for column, cell in enumerate(self.rows[kind], start=2):
                table.addWidget(cell, row, column, right)
        # As a page, the table is not wider than its numbers.
        table.setColumnStretch(len(COLUMNS) + 2, 1)
        table.setRowStretch(len(KINDS) + 1, 1)
        self.set_theme(theme)

    def show_numbers(self, view: ExperimentView) -> None:
        """Write the numbers before or after LayerNorm."""
        for kind, survival in view.result.curves.items():
            texts = cells(survival, after=not view.choices.before)
            for cell, text in zip(self.rows[kind], texts, strict=True):
                cell.setText(text)

    def set_theme(self, theme: Theme) -> None:
        for kind, color in colors_of(theme).items():
            self._shapes[kind].setPixmap(shape_pixmap(color, self.devicePixelRatioF()))


class CurvePicture(QWidget):
    """A curve as points coloured by position, joined by a line."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.points = np.zeros((0, 2))
        self._reach = np.ones(2)
        self._colors: list[QColor] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def minimumSizeHint(self) -> QSize:
        return QSize(8 * GRID, 5 * GRID)

    def sizeHint(self) -> QSize:
        return QSize(20 * GRID, 12 * GRID)

    def show_points(self, points: np.ndarray, reach: np.ndarray, colors: list[QColor]) -> None:
        """Draw other points, (n, 2) across and upwards, from the first position to the last.

        ``reach`` is the maximum of both to either side, shared by all pictures.
        """
        self.points, self._reach, self._colors = points, reach, colors
        self.update()

    def places(self) -> np.ndarray:
        """Return where the points are in the widget: (n, 2) pixels."""
        return places_in(QRectF(self.rect()), self.points, self._reach)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_ground(painter, QRectF(self.rect()), self.theme)
        if len(self.points):
            paint_curve(painter, self.places(), self._colors, self.theme)


class ExperimentPictures(QWidget):
    """The curves before or after LayerNorm, all on one scale."""

    openRequested = Signal(str)
    """The kind of a curve to open as a model."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.pictures: dict[CurveKind, CurvePicture] = {}
        self.buttons: dict[CurveKind, QToolButton] = {}
        self.readings = {kind: label("", "small", wrap=True) for kind in KINDS}
        self._cells = grid(self, GRID, GRID // 4)
        self._columns: list[tuple[QWidget, ...]] = []
        self._below: bool | None = None
        for kind in KINDS:
            self.pictures[kind] = picture = CurvePicture(theme)
            picture.setAccessibleName(NAMES[kind])
            text = self.readings[kind]
            text.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            self.buttons[kind] = button = _open_button(kind)
            button.clicked.connect(partial(self.openRequested.emit, kind))
            title = QWidget()
            hbox((label(NAMES[kind]), 1), button, parent=title)
            self._columns.append((title, picture, text))
        self._place(below=False)

    def _place(self, *, below: bool) -> None:
        """Put the curves one below the other, or side by side."""
        if below == self._below:
            return
        self._below = below
        for column, parts in enumerate(self._columns):
            first = 3 * column if below else 0
            self._cells.setColumnStretch(column, 0 if below and column else 1)
            for row, part in enumerate(parts):
                self._cells.addWidget(part, first + row, 0 if below else column)
            self._cells.setRowStretch(3 * column + 1, 1 if below or not column else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(below=self.height() > self.width())

    def draw(self, view: ExperimentView, colormap: str) -> None:
        """Draw all three, each with a sentence."""
        choices = view.choices
        curves = {
            kind: flat(thinned(drawn(survival, choices)))
            for kind, survival in view.result.curves.items()
        }
        reach = np.max([np.abs(points).max(axis=0) for points in curves.values()], axis=0)
        colors = position_colors(colormap, self.theme)
        for kind, points in curves.items():
            self.pictures[kind].show_points(points, reach, colors)
            self.readings[kind].setText(reading(view.result, kind, after=not choices.before))

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        for picture in self.pictures.values():
            picture.theme = theme
            picture.update()


def _open_button(kind: CurveKind) -> QToolButton:
    button = QToolButton()
    button.setText("Open")
    button.setProperty("class", "chip")
    button.setFixedWidth(6 * GRID)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    tip = f"Open this {kind} as a model, with its curve in 3D and all panels"
    button.setToolTip(wrapped(tip))
    button.setAccessibleName(f"Open the {kind}")
    return button


def _tipped(text: str, tip: str, role: str = "") -> QLabel:
    widget = label(text, role)
    widget.setToolTip(wrapped(tip))
    return widget
