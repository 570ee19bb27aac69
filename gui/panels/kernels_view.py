"""The wall of heads, the curves by lag, and the map, side by side; it needs pyqtgraph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from gui.panels.head_wall import SHADES, HeadCard, HeadWall, WallArea
from gui.panels.kernels_figure import DEEPEST
from gui.panels.kernels_question import LEAST, Kernels
from gui.panels.kernels_text import described, lag_text, order_of, score_of
from gui.plots.color_bar import ColorBar
from gui.plots.curve_plot import CurvePlot
from gui.plots.heatmap import Heatmap
from gui.plots.spec import Curve
from gui.services.overlay_curves import OverlayLine
from gui.style.theme import GRID, Theme, format_number

LEVELS = (LEAST, 1.0)
"""Attention at the ends of the map's colours, before anybody drags them."""
COVERED = 0.99
"""The curve of attention reaches so far that this share of it is seen."""
LEAST_REACH = 24
"""But at least to this lag."""
NARROW = 640
"""Pixels below which the wall stands alone beside the map."""


class KernelsView(QWidget):
    """What the kernels panel shows of an answer.

    Parameters
    ----------
    theme
        Colours.
    """

    headChosen = Signal(int)
    cellHovered = Signal(object)
    """The cell of the map under the mouse, (query, position), or None."""
    cellClicked = Signal(int, int)
    """Query and position of a clicked cell of the map."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.levels = LEVELS
        self.result: Kernels | None = None
        self.query: int | None = None
        self.others: tuple[OverlayLine, ...] = ()
        self._cell: tuple[int, int] | None = None
        self.wall = HeadWall(theme)
        self.wall.chosen.connect(self.headChosen)
        self.area = WallArea(self.wall)
        x_title = "lag Δ (positions back)"
        self.attention = CurvePlot(theme, x_title, "mean attention", log_y=True, whole_x=True)
        self.attention.setAccessibleName("Mean attention by lag")
        self.score = CurvePlot(theme, x_title, "mean score κ(Δ)", whole_x=True)
        self.score.setAccessibleName("Mean score by lag")
        self.plots = QStackedWidget()
        for plot in (self.attention, self.score):
            plot.pointHovered.connect(self._on_point_hovered)
            self.plots.addWidget(plot)
        self.map = Heatmap(theme, "position j", "query i")
        self.map.setAccessibleName("Attention of every query of the range")
        self.map.cellHovered.connect(self._on_cell_hovered)
        self.map.cellClicked.connect(self._on_cell_clicked)
        self.bar = ColorBar(theme, "Attention")
        self.bar.levelsRequested.connect(self._set_levels)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.area, 5)
        row.addWidget(self.plots, 6)
        row.addWidget(self.map, 5)
        row.addWidget(self.bar)

    # What is shown.

    def show_result(self, result: Kernels, sort: str, curve: str, query: int | None) -> None:
        """Show another answer; the other arguments are those of the methods below."""
        self.result = result
        self.query = query
        self.show_wall(result, sort)
        self.show_curves(curve)
        self._color()
        first = result.positions[0]
        self.map.set_image(result.picture, (first, first))

    def show_wall(self, result: Kernels, sort: str) -> None:
        """Show the heads in another order."""
        found = result.found
        self.wall.show_heads(
            [
                HeadCard(
                    head, found.maps[head], score_of(found, sort, head), described(found, head)
                )
                for head in (int(number) for number in order_of(found, sort))
            ]
        )
        self.area.show_head(result.head)

    def show_curves(self, curve: str) -> None:
        """Show "attention" or "score" by lag."""
        self.plots.setCurrentWidget(self.score if curve == "score" else self.attention)
        self._draw_curves()

    def show_query(self, query: int | None) -> None:
        """Mark the row of a query, and draw what it attends to; None for none."""
        if query != self.query:
            self.query = query
            self._draw_curves()
        self.map.set_selected([] if query is None else [query], [])

    def show_hover(self, position: int | None, token_at: Callable[[int], str | None]) -> None:
        """Show a position as hovered."""
        assert self.result is not None
        first, last = self.result.positions
        if self._cell is not None and self._cell[1] == position:
            self.map.set_hover(*self._cell, self._described(*self._cell, token_at))
        elif position is not None and first <= position <= last:
            self.map.set_hover(position, position)
        else:
            self.map.set_hover(None, None)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.theme = theme
        for part in (self.wall, self.attention, self.score, self.map, self.bar):
            part.set_theme(theme)
        self._color()
        self._draw_curves()

    # Curves.

    def _draw_curves(self) -> None:
        result = self.result
        if result is None:
            return
        log = self.plots.currentWidget() is self.attention
        curves = []
        if result.before is not None:
            values = result.before.attention if log else result.before.scores
            curves.append(
                Curve(result.before.lags, values[result.head], self.theme.muted, "dashed")
            )
        values = result.found.attention if log else result.found.scores
        if log and self.query is not None:
            curves.append(self._of_query(result, self.query))
        curves.append(Curve(result.found.lags, values[result.head], self.theme.text, width=1.5))
        curves += [Curve(other.x, other.y, other.color, name=other.name) for other in self.others]
        plot = self.attention if log else self.score
        plot.set_curves(curves, *((_reach(result), (DEEPEST, 1.5)) if log else ()))

    def _of_query(self, result: Kernels, query: int) -> Curve:
        first, last = result.positions
        row = result.weights[query - first]
        lags = query - np.arange(first, last + 1)
        return Curve(lags[::-1], row[::-1].astype(float), self.theme.accent)

    def _on_point_hovered(self, point: tuple[int, int] | None) -> None:
        plot = self.attention if self.plots.currentWidget() is self.attention else self.score
        if point is None or self.result is None:
            plot.set_hover(None)
            return
        curve = plot.curves[point[0]]
        lag, value = int(curve.x[point[1]]), float(curve.y[point[1]])
        what = f"head {self.result.head}"
        if curve.name:
            what = curve.name
        elif curve.style == "dashed":
            what += ", as it is"
        elif curve.color == self.theme.accent:
            what = f"position {self.query}"
        elif self.result.before is not None:
            what += ", averaged"
        plot.set_hover(point, f"{what} · {lag_text(lag)} · {format_number(value)}")

    # The map.

    def _color(self) -> None:
        shades = SHADES[self.theme.name]
        low, high = np.log10(self.levels)
        self.map.set_colors(shades, (float(low), float(high)))
        self.bar.show_scale(shades, self.levels, LEVELS, log=True)

    def _set_levels(self, low: float, high: float) -> None:
        self.levels = max(low, LEAST), min(high, 1.0)
        self._color()

    def _described(self, query: int, position: int, token_at: Callable[[int], str | None]) -> str:
        names = []
        for at in (query, position):
            token = token_at(at)
            names.append(f"{at}" if token is None else f"{at} {token!r}")
        assert self.result is not None
        first = self.result.positions[0]
        value = format_number(float(self.result.weights[query - first, position - first]))
        return f"{names[0]} → {names[1]}\nattention {value} · {lag_text(query - position)}"

    def _on_cell_hovered(self, cell: tuple[int, int] | None) -> None:
        self._cell = cell
        self.cellHovered.emit(cell)

    def _on_cell_clicked(self, query: int, position: int, _: Qt.KeyboardModifier) -> None:
        self.cellClicked.emit(query, position)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Do without the curves where there is no room."""
        super().resizeEvent(event)
        self.plots.setHidden(self.width() < NARROW)


def _reach(result: Kernels) -> tuple[float, float]:
    """Return the lags that the curve of a head's attention shows: nearly all that has any."""
    found = result.found
    by_distance = np.zeros(int(np.abs(found.lags).max()) + 1)
    np.add.at(by_distance, np.abs(found.lags), found.attention[result.head])
    total = np.cumsum(by_distance)
    far = int(np.searchsorted(total, COVERED * total[-1]))
    far = min(max(2 * far, LEAST_REACH), len(by_distance) - 1)
    margin = 0.02 * far
    return max(float(found.lags[0]), -far) - margin, far + margin
