"""Paints plots on the screen, with pyqtgraph; see :mod:`gui.plots.spec`.

Importing pyqtgraph is slow: panels import this module when they first draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QToolButton, QWidget

from gui.plots.color_bar import ColorBar
from gui.plots.curve_plot import CurvePlot
from gui.plots.heatmap import Heatmap
from gui.plots.position_curves import PositionCurves, PositionGestures
from gui.plots.scrub_plot import CurveLegend, ScrubPlot
from gui.plots.spec import Band, Curve, Entry, Image, Legend, Part, Plot, Rule, Span, Table
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.choice_table import ChoiceTable, choose
from gui.widgets.label import label
from gui.widgets.scroll_column import ScrollColumn
from gui.widgets.shapes import draw_sample
from gui.widgets.tooltips import wrapped

MIN_PLOT_WIDTH = 104
"""Minimum width of a plot beside others, in pixels."""
MIN_ROW_HEIGHT = 200
"""Minimum height of one of several rows of plots, in pixels."""
SHAPE = 1.6
"""Preferred aspect ratio of a plot."""
MIN_BAR_HEIGHT, BAR_ENDS = 64, 10
"""Minimum height of a colour bar, and space beyond its ends, in pixels."""
LEGEND_WIDTH = 264
SWATCH = QSize(20, 12)
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class _OnScreen:
    """Base of parts on the screen: what they emit, and what most of them need not do."""

    chosen = Signal(str, object)
    """A choice of the panel, by name, and its new value."""
    hovered = Signal(object)
    """The position under the mouse, or None."""

    def show_marks(self, hover: int | None, selection: tuple[int, ...]) -> None:
        """Mark the hovered and the selected positions."""

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; drawn parts keep theirs until they are drawn again."""

    def forget(self) -> None:
        """Release the part's functions, which refer to a panel's view, until it is drawn again."""


class PaintedPlot(_OnScreen, QWidget):
    """A :class:`gui.plots.spec.Plot` on the screen."""

    intended = Signal(object)
    """The intent of a click on a point."""
    stepped = Signal(int)
    """An arrow key in a scrubbed plot: to the previous (−1) or next number."""

    def __init__(self, plot: Plot, theme: Theme) -> None:
        super().__init__()
        self.part = plot
        self._drawn: Plot | None = None
        self._curve = 0
        self._marks: tuple[int | None, tuple[int, ...]] = (None, ())
        self.readings = CurveLegend(theme) if plot.readings else None
        if plot.over:
            self.widget: CurvePlot = PositionCurves(theme, plot.x.title, plot.y.title)
        elif plot.scrubs:
            self.widget = ScrubPlot(theme, plot.x, plot.y, plot.scrub_tip)
            self.widget.stepped.connect(lambda step, _: self.stepped.emit(step))
        else:
            self.widget = CurvePlot(theme, plot.x, plot.y)
        self.widget.setAccessibleName(plot.name)
        self.widget.pointHovered.connect(self._on_hovered)
        self.widget.pointClicked.connect(self._on_clicked)
        self.widget.markerDragged.connect(self._on_dragged)
        self.widget.markerReset.connect(self._on_reset)
        self.nothing = label("", "muted", wrap=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.hide()
        above = () if self.readings is None else (self.readings,)
        vbox(*above, (self.widget, 1), (self.nothing, 1), parent=self, spacing=0)

    def accepts(self, part: Part) -> bool:
        """Return whether this widget can show another part."""
        return isinstance(part, Plot) and _kind(part) == _kind(self.part)

    def draw(self, plot: Plot) -> None:
        """Show a plot."""
        self.part = plot
        for axis, spec in ((self.widget.x_axis, plot.x), (self.widget.y_axis, plot.y)):
            if axis.title != spec.title:
                axis.set_title(spec.title, self.widget.theme)
        # While scrubbing, the curves are unchanged, and painting them is slow.
        if not (isinstance(self.widget, ScrubPlot) and _same_curves(plot, self._drawn)):
            self.widget.set_curves(
                plot.curves,
                plot.x.span,
                plot.y.span,
                plot.rules,
                home_y=plot.y.home,
                bands=plot.bands,
            )
        self._drawn = plot
        if self.readings is not None:
            self.readings.show_readings(plot.readings)
            self._show_nothing(plot)
        self.widget.set_marker(self._marker())
        if isinstance(self.widget, PositionCurves):
            rings = plot.rings
            self.widget.marks.set_ringed(() if rings is None else rings.positions)
            self.widget.ring_tooltip = "" if rings is None else rings.tip
        self.show_marks(*self._marks)

    def _show_nothing(self, plot: Plot) -> None:
        """Show why there are no curves in place of axes without any."""
        assert self.readings is not None
        words = "" if plot.curves or plot.bands else " ".join(one.name for one in plot.readings)
        self.nothing.setText(words[:1].upper() + words[1:] + "." * bool(words))
        for widget in (self.widget, self.readings):
            widget.setVisible(not words)
        self.nothing.setVisible(bool(words))

    def show_marks(self, hover: int | None, selection: tuple[int, ...]) -> None:
        self._marks = hover, selection
        plot, widget = self.part, self.widget
        if plot.over != "position" or not isinstance(widget, PositionCurves):
            return
        widget.set_selected(selection)
        if plot.rings is not None:
            widget.marks.set_current(selection[-1] if selection else None)
        drawn = widget.positions()
        if hover is None or drawn is None or not drawn[0] <= hover <= drawn[1]:
            widget.set_hover(None)
        else:
            # Keep the hovered curve: other curves have other points at the same position.
            curve = min(self._curve, sum(not curve.silent for curve in plot.curves) - 1)
            point = curve, hover - int(plot.curves[curve].x[0])
            inside = 0 <= point[1] < len(plot.curves[curve].x)
            widget.set_hover(
                point if inside else None, plot.hover(*point) if inside and plot.hover else ""
            )

    def show_range(self, positions: tuple[int, int]) -> None:
        """Draw positions outside the shown range pale, if the plot requests it."""
        if self.part.veiled and isinstance(self.widget, PositionCurves):
            self.widget.marks.set_shown(positions)

    def show_point(self, index: int | None) -> None:
        """Hover a point of the first curve, or none."""
        if index is None or self.part.hover is None:
            self.widget.set_hover(None)
        else:
            self.widget.set_hover((0, index), self.part.hover(0, index))

    def set_theme(self, theme: Theme) -> None:
        self.widget.set_theme(theme)
        if self.readings is not None:
            self.readings.set_theme(theme)

    def forget(self) -> None:
        self.part, self._drawn = replace(self.part, hover=None, click=None), None

    def _marker(self) -> Rule | None:
        return next((rule for rule in self.part.rules if rule.axis == "x"), None)

    def _on_hovered(self, point: tuple[int, int] | None) -> None:
        plot = self.part
        if plot.over == "position":
            self._curve = 0 if point is None else point[0]
            at = None if point is None else int(plot.curves[point[0]].x[point[1]])
            self.hovered.emit(at)
        elif point is None or plot.hover is None:
            self.widget.set_hover(None)
        else:
            self.widget.set_hover(point, plot.hover(*point))

    def _on_clicked(self, curve: int, index: int, _: object) -> None:
        if self.part.click is not None:
            self.intended.emit(self.part.click(curve, index))

    def _on_dragged(self, x: float) -> None:
        marker = self._marker()
        if self.part.scrubs:
            stops = self.part.scrub_stops
            to = max(round(x), 1) if stops is None else self._nearest(stops, x)
            self.chosen.emit(self.part.scrubs, to)
        elif marker is not None and marker.drags:
            low, high = marker.bounds
            self.chosen.emit(marker.drags, min(max(round(x), low), high))

    def _on_reset(self) -> None:
        marker = self._marker()
        if marker is not None and marker.drags:
            self.chosen.emit(marker.drags, marker.back)

    def _nearest(self, stops: np.ndarray, x: float) -> int:
        """Return the index of the nearest stop on the screen."""
        if self.part.x.log:
            stops, x = np.log(stops), float(np.log(x))
        return int(np.abs(stops - x).argmin())


class PaintedImage(_OnScreen, QWidget):
    """A :class:`gui.plots.spec.Image` on the screen, with its colour bar."""

    selected = Signal(tuple, bool)
    """Clicked positions, the last one as the current one; True to add them."""
    pointed = Signal(object)
    """Index of the hovered cell's point in the plot beside, or None."""

    def __init__(self, image: Image, theme: Theme) -> None:
        super().__init__()
        self.part = image
        self._levels: Span | None = None
        self._cell: tuple[int, int] | None = None
        self.widget = Heatmap(theme, image.x.title, image.y.title, selects=image.over == "position")
        self.widget.setAccessibleName(image.name)
        self.widget.cellHovered.connect(self._on_hovered)
        self.widget.cellClicked.connect(self._on_clicked)
        self.bar = ColorBar(theme, image.unit)
        self.bar.levelsRequested.connect(self._set_levels)
        row = hbox((self.widget, 1), self.bar, parent=self, spacing=0)
        # Cells are square; the other parts get the remaining room.
        row.setSizeConstraint(QHBoxLayout.SizeConstraint.SetMinAndMaxSize)
        # The bar is as high as the cells; the hover label may cover it.
        row.setAlignment(self.bar, Qt.AlignmentFlag.AlignTop)
        self.widget.view.sigResized.connect(self._fit_bar)
        self.widget.label_over(self)

    def accepts(self, part: Part) -> bool:
        """Return whether this widget can show another part."""
        return isinstance(part, Image) and part.over == self.part.over

    def draw(self, image: Image) -> None:
        """Show a matrix, keeping the levels set by the user."""
        if image.levels != self.part.levels:
            self._levels = None
        before, self.part = self.part, image
        if (image.tiles, image.first, image.step, image.values.shape) != (
            before.tiles,
            before.first,
            before.step,
            before.values.shape,
        ):
            self._cell = None  # cells have changed
        if self.widget.accessibleName() != image.name:
            self.widget.setAccessibleName(image.name)
        for axis, spec in ((self.widget.x_axis, image.x), (self.widget.y_axis, image.y)):
            if axis.title != spec.title:
                axis.set_title(spec.title, self.widget.theme)
        if image.values is not self.widget.values and image.over != "position":
            self.widget.set_hover(None, None)
        tiles = image.tiles
        self.widget.set_tile(None if tiles is None else (tiles.rows, tiles.columns))
        self._color()
        self.widget.set_image(image.values, image.first, image.step)

    def show_marks(self, hover: int | None, selection: tuple[int, ...]) -> None:
        image, pair = self.part, self._pair(self._cell)
        if image.over != "position":
            return
        own: tuple[int, int] | tuple[None, None] = (None, None)
        if image.tiles is not None:
            count, cell = image.tiles.rows * image.tiles.columns, image.tiles.cell
            chosen = [cell(patch, patch) for patch in selection if patch < count]
            down, across = [row for row, _ in chosen], [column for _, column in chosen]
            if hover is not None and hover < count:
                own = cell(hover, hover)
        else:
            (y, x), (rows, columns) = image.first, (image.step * n for n in image.values.shape)
            marked = selection[-1:] if image.row_is_current else selection
            down = [p for p in marked if y <= p < y + rows]
            across = [p for p in selection if x <= p < x + columns and not image.row_is_current]
            if hover is not None and y <= hover < y + rows and x <= hover < x + columns:
                own = hover, hover
        self.widget.set_selected(down, across)
        if self._cell is not None and pair is not None and pair[1] == hover:
            self.widget.set_hover(*self._cell, image.hover(*pair) if image.hover else "")
        else:
            self.widget.set_hover(*own)

    def _pair(self, cell: tuple[int, int] | None) -> tuple[int, int] | None:
        """Return what a cell is about: its row and column, or two patches of a picture."""
        tiles = self.part.tiles
        return cell if cell is None or tiles is None else tiles.pair(*cell)

    def set_theme(self, theme: Theme) -> None:
        self.widget.set_theme(theme)
        self.bar.set_theme(theme)

    def forget(self) -> None:
        self.part = replace(self.part, hover=None, beside=None)

    @property
    def levels(self) -> Span:
        """The values at the ends of the colour scale."""
        return self.part.ends or self._levels or self.part.levels

    def _color(self) -> None:
        image = self.part
        self.widget.set_colors(image.colormap, self.levels, log=image.log)
        self.bar.show_scale(image.colormap, self.levels, image.levels, log=image.log)

    def _fit_bar(self, *_: object) -> None:
        self.bar.setFixedHeight(max(MIN_BAR_HEIGHT, round(self.widget.view.height()) + BAR_ENDS))

    def _set_levels(self, low: float, high: float) -> None:
        if self.part.drags:
            self.chosen.emit(self.part.drags, (low, high))
            return
        lowest, highest = self.part.levels
        self._levels = max(low, lowest), min(high, highest)
        self._color()

    def _on_hovered(self, cell: tuple[int, int] | None) -> None:
        self._cell = cell
        image, pair = self.part, self._pair(cell)
        if image.beside is not None:
            self.pointed.emit(None if pair is None else image.beside(*pair))
        if image.over == "position":
            self.hovered.emit(None if pair is None else pair[1])
        elif cell is None or pair is None:
            self.widget.set_hover(None, None)
        else:
            self.widget.set_hover(*cell, image.hover(*pair) if image.hover else "")

    def _on_clicked(self, row: int, column: int, modifiers: Qt.KeyboardModifier) -> None:
        pair = self._pair((row, column))
        if self.part.over == "position" and pair is not None:
            added = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
            self.selected.emit(pair[::-1] if self.part.row_is_current else pair, added)


class PaintedTable(_OnScreen, QWidget):
    """A :class:`gui.plots.spec.Table` on the screen."""

    def __init__(self, table: Table, theme: Theme) -> None:
        super().__init__()
        self.part = table
        self.widget = ChoiceTable(table.columns, table.tip, spare=table.spare)
        self.widget.setAccessibleName(table.name)
        self.widget.chosen.connect(self._on_chosen)
        vbox((self.widget, 1), 0, parent=self)  # the stretch is below a few rows

    def accepts(self, part: Part) -> bool:
        """Return whether this widget can show another part."""
        return isinstance(part, Table) and part.columns == self.part.columns

    def draw(self, table: Table) -> None:
        """Show a table."""
        self.part = table
        self.widget.set_rows(table.rows)
        self.widget.show_drawn(table.colors)
        if table.scroll_to is not None:
            self.widget.show_row(table.scroll_to)

    def sizeHint(self) -> QSize:
        """Return the size of all rows."""
        titles = self.widget.horizontalHeader().sizeHint().height()
        rows = len(self.part.rows) * self.widget.verticalHeader().defaultSectionSize()
        return QSize(super().sizeHint().width(), titles + rows)

    def fit(self, room: int, *, alone: bool = False) -> None:
        """Adapt to the width of the panel in pixels, with or without plots beside the table."""
        self.widget.fit(room, alone=alone)
        self.setVisible(not self.widget.isHidden())

    def _on_chosen(self, key: int, modifiers: Qt.KeyboardModifier) -> None:
        if self.part.chooses and key not in self.part.fixed:
            drawn, max_chosen = tuple(self.part.colors), self.part.max_chosen
            several = max_chosen > 1
            value = choose(drawn, key, modifiers, max_chosen) if several else key
            self.chosen.emit(self.part.chooses, value)


class PaintedLegend(_OnScreen, ScrollColumn):
    """A :class:`gui.plots.spec.Legend` on the screen."""

    def __init__(self, legend: Legend) -> None:
        super().__init__()
        self.part = legend
        self.setFixedWidth(LEGEND_WIDTH)

    def accepts(self, part: Part) -> bool:
        """Return whether this widget can show another part."""
        return isinstance(part, Legend)

    def draw(self, legend: Legend) -> None:
        """Show a legend."""
        self.part = legend
        holder = QWidget()
        grid = QGridLayout(holder)
        grid.setContentsMargins(GRID, GRID // 2, GRID // 2, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for column, title in enumerate(legend.titles, start=2):
            grid.addWidget(label(title, "small"), 0, column, RIGHT)
        for row, entry in enumerate(legend.entries, start=1):
            self._add(grid, row, entry)
        grid.setRowStretch(len(legend.entries) + 1, 1)
        # This may be called by the press of a button in the previous widget.
        before = self.takeWidget()
        if before is not None:
            before.deleteLater()
        self.setWidget(holder)

    def _add(self, grid: QGridLayout, row: int, entry: Entry) -> None:
        name = label(entry.name, "" if entry.color else "muted")
        name.setToolTip(wrapped(entry.tip))
        if entry.color:
            grid.addWidget(_Swatch(entry.color), row, 0)
        grid.addWidget(name, row, 1)
        titles = len(self.part.titles)
        for column, text in enumerate(entry.numbers, start=2):
            number = label(text, "" if entry.color else "small")
            number.setToolTip(wrapped(entry.tip))
            grid.addWidget(
                number, row, column, 1, titles if len(entry.numbers) == 1 else 1, alignment=RIGHT
            )
        if not self.part.removes:
            return
        button = QToolButton()
        button.setText("✕")
        button.setProperty("role", "title button")
        button.setToolTip(wrapped(f"Remove {entry.name}"))
        button.setAccessibleName(f"Remove {entry.name}")
        button.clicked.connect(lambda: self.chosen.emit(self.part.removes, entry.without))
        grid.addWidget(button, row, 2 + titles)


class _Swatch(QWidget):
    """A short piece of a curve."""

    def __init__(self, color: str) -> None:
        super().__init__()
        self._color = QColor(color)
        self.setFixedSize(SWATCH)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        middle = self.height() // 2
        draw_sample(painter, self._color, 0, self.width(), middle, QPen(self._color, 2))


Painted = PaintedPlot | PaintedImage | PaintedTable | PaintedLegend


class PaintedRow(QWidget):
    """Parts side by side, in several rows if that gives each a better shape.

    A part of the same kind keeps its widget, with its zoom. ``before`` is a widget of the panel
    before the parts, ``stretch`` its share of the width.
    """

    chosen = Signal(str, object)
    hoverRequested = Signal(object)
    selectionRequested = Signal(tuple)
    intended = Signal(object)
    stepped = Signal(int)
    """An arrow key in a scrubbed plot: to the previous (−1) or next number."""

    def __init__(
        self, session: Session, theme: Theme, before: QWidget | None = None, stretch: int = 1
    ) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self._parts: tuple[Part, ...] = ()
        self.painted: list[Painted] = []
        self._before = () if before is None else ((before, stretch),)
        self._column = vbox(parent=self, spacing=GRID)
        self._rows: list[QHBoxLayout] = []
        self._placed: list[list[tuple[QWidget, int]]] = []
        self._place([list(self._before)])

    def draw(self, parts: Sequence[Part]) -> None:
        """Show parts."""
        self._parts = tuple(parts)
        if len(parts) != len(self.painted):
            self._make(keep=False)
        elif not all(w.accepts(part) for w, part in zip(self.painted, parts, strict=True)):
            self._make(keep=True)
        for widget, part in zip(self.painted, parts, strict=True):
            widget.draw(part)  # type: ignore[arg-type]
        self._fit()
        self.show_marks()

    def show_marks(self) -> None:
        """Mark hovered and selected positions."""
        for widget in self.painted:
            widget.show_marks(self._session.hover, self._session.selection)
            if isinstance(widget, PaintedPlot):
                widget.show_range(self._session.positions)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        for widget in self.painted:
            widget.set_theme(theme)

    def forget(self) -> None:
        """Release the panel's view, which refers to models, until the next :meth:`draw`."""
        for widget in self.painted:
            widget.forget()
        self._parts = tuple(widget.part for widget in self.painted)

    def minimumSizeHint(self) -> QSize:
        """Return the size for one row; several are kept only while there is room."""
        high = max((row.minimumSize().height() for row in self._rows), default=0)
        return QSize(super().minimumSizeHint().width(), high)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _make(self, *, keep: bool) -> None:
        """Create widgets for parts that have none yet."""
        before = self.painted
        self._clear_rows()
        self.painted = [
            before[at] if keep and before[at].accepts(part) else self._create(part)
            for at, part in enumerate(self._parts)
        ]
        for widget in before:
            if widget not in self.painted:
                widget.hide()
                widget.deleteLater()
        for widget in self.painted:
            if len(self._parts) > 1 and isinstance(widget, PaintedPlot):
                widget.widget.setMinimumWidth(MIN_PLOT_WIDTH)
        self._place([self._stretched()])  # before new ones are shown with their own size

    def _create(self, part: Part) -> Painted:
        painted: Painted
        if isinstance(part, Plot):
            painted = PaintedPlot(part, self._theme)
            painted.intended.connect(self.intended)
            painted.stepped.connect(self.stepped)
            if part.over == "position" and isinstance(painted.widget, PositionCurves):
                PositionGestures(painted.widget, self._session, self.selectionRequested.emit)
        elif isinstance(part, Image):
            painted = PaintedImage(part, self._theme)
            painted.selected.connect(self._on_selected)
            painted.pointed.connect(self._on_pointed)
        elif isinstance(part, Legend):
            painted = PaintedLegend(part)
        else:
            painted = PaintedTable(part, self._theme)
        painted.chosen.connect(self.chosen)
        painted.hovered.connect(self._on_hovered)
        return painted

    def _fit(self) -> None:
        drawn = sum(isinstance(part, Plot | Image) for part in self._parts) + len(self._before)
        stacked = columns(drawn, self.size()) < drawn  # each has at most half a row
        for widget, part in zip(self.painted, self._parts, strict=True):
            if isinstance(widget, PaintedTable):
                widget.fit(self.width())
            elif isinstance(part, Plot | Image):
                widget.setVisible(stacked or self.width() >= part.min_width)
        self._arrange()

    def _stretched(self) -> list[tuple[QWidget, int]]:
        """Return all parts with their shares of the width."""
        drawn = zip(self.painted, self._parts, strict=True)
        return [
            *self._before,
            *(
                (widget, part.stretch if isinstance(part, Plot | Image) else 0)
                for widget, part in drawn
            ),
        ]

    def _arrange(self) -> None:
        """Arrange the parts in rows."""
        parts = self._stretched()
        across = columns(sum(not widget.isHidden() for widget, _ in parts), self.size())
        rows: list[list[tuple[QWidget, int]]] = [[]]
        shown = 0
        for part in parts:
            hidden = part[0].isHidden()
            if shown == across and not hidden:  # no row has only hidden parts
                rows.append([])
                shown = 0
            rows[-1].append(part)
            shown += not hidden
        if rows != self._placed:
            self._clear_rows()
            self._place(rows)
        for row in rows:
            visible = [part for part, _ in row if not part.isHidden()]
            if len(visible) == 1 and isinstance(visible[0], PaintedTable):
                visible[0].fit(self.width(), alone=True)
        self._share_height()

    def _place(self, rows: list[list[tuple[QWidget, int]]]) -> None:
        """Put parts into rows, which are empty."""
        self._placed = rows
        for _ in rows[len(self._rows) :]:
            # The stretch takes the width that a single image with square cells does not need.
            self._rows.append(hbox(0, spacing=GRID))
            self._column.addLayout(self._rows[-1])
        for at, row in enumerate(self._rows):
            for place, (part, stretch) in enumerate(rows[at] if at < len(rows) else []):
                row.insertWidget(place, part, stretch)
        self._share_height()
        self.updateGeometry()
        self._column.activate()

    def _share_height(self) -> None:
        """Give the height that a row of a few lines of text does not need to the plots above it."""
        for at, row in enumerate(self._rows):
            parts = [part for part, _ in self._placed[at]] if at < len(self._placed) else []
            few = all(
                isinstance(part, PaintedTable | PaintedLegend)
                and part.sizeHint().height() <= MIN_ROW_HEIGHT
                for part in parts
            )
            alone = len(parts) > 0 and len(self._placed) == 1
            self._column.setStretchFactor(row, 1 if alone or not few else 0)

    def _clear_rows(self) -> None:
        """Remove all parts from the rows, which stay."""
        for row, placed in zip(self._rows, self._placed, strict=False):
            for part, _ in placed:
                row.removeWidget(part)
        self._placed = []

    def _on_hovered(self, position: int | None) -> None:
        if position != self._session.hover:
            self.hoverRequested.emit(position)
        self.show_marks()

    def _on_selected(self, clicked: tuple[int, int], added: bool) -> None:
        before = self._session.selection if added else ()
        self.selectionRequested.emit((*before, *clicked))

    def _on_pointed(self, index: int | None) -> None:
        plot = next((part for part in self.painted if isinstance(part, PaintedPlot)), None)
        if plot is not None:
            plot.show_point(index)


def columns(count: int, room: QSize) -> int:
    """Return the number of parts side by side at which their shape is nearest to `SHAPE`.

    Parameters
    ----------
    count
        Number of parts.
    room
        Width and height of all, in pixels; a row has at least :data:`MIN_ROW_HEIGHT`.
    """

    def misfit(across: int) -> float:
        rows = -(-count // across)
        return abs(math.log(room.width() * rows / (across * room.height() * SHAPE)))

    if room.isEmpty():
        return max(count, 1)
    max_rows = min(max(room.height() // MIN_ROW_HEIGHT, 1), count)
    even = {-(-count // rows) for rows in range(1, max_rows + 1)}
    return min(even, key=misfit, default=1)


def _kind(plot: Plot) -> tuple[object, ...]:
    axes = plot.x.log, plot.x.whole, plot.y.log, plot.y.whole
    return plot.over, *axes, plot.scrubs, plot.scrub_tip, bool(plot.readings)


def _same_curves(new: Plot, old: Plot | None) -> bool:
    """Return whether two plots differ only in a vertical rule and texts."""
    if old is None or (new.x.span, new.y.span) != (old.x.span, old.y.span):
        return False
    horizontal = [[rule for rule in plot.rules if rule.axis == "y"] for plot in (new, old)]
    return (
        horizontal[0] == horizontal[1]
        and len(new.curves) == len(old.curves)
        and len(new.bands) == len(old.bands)
        and all(map(_same_curve, new.curves, old.curves))
        and all(map(_same_band, new.bands, old.bands))
    )


def _same_curve(new: Curve, old: Curve) -> bool:
    """Return whether two curves look the same."""
    looks = [(curve.color, curve.style, curve.width, curve.name) for curve in (new, old)]
    return new is old or (
        looks[0] == looks[1] and np.array_equal(new.x, old.x) and np.array_equal(new.y, old.y)
    )


def _same_band(new: Band, old: Band) -> bool:
    """Return whether two bands look the same."""
    if new is old:
        return True
    if new.color != old.color or (new.middle is None) is not (old.middle is None):
        return False
    edges = [(band.x, band.low, band.high, band.middle) for band in (new, old)]
    return all(
        ours is None or theirs is None or np.array_equal(ours, theirs)
        for ours, theirs in zip(*edges, strict=True)
    )
