"""The body of the panel "Line or helix": controls, one of four pages, and a table where it fits."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from geometry.measures.synthetic import KINDS, CurveKind
from gui.panels.experiment_form import ExperimentForm
from gui.panels.experiment_look import MOST_STEPS, colors_of, shares_of
from gui.panels.experiment_pictures import ExperimentPictures
from gui.panels.experiment_question import Experiment
from gui.panels.experiment_text import COLUMNS, NAMES, amount, cells
from gui.plots.curve_plot import CurvePlot
from gui.plots.spec import Curve
from gui.style.theme import GRID, Theme, format_count, format_number
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

WIDE = 960
"""A panel of so many pixels has room for the table beside what is shown."""
SWATCH = "●"


class PlotPage(QWidget):
    """A plot, and above it which curve is which.

    Parameters
    ----------
    plot
        Its curves are line, circle and helix.
    """

    def __init__(self, plot: CurvePlot) -> None:
        super().__init__()
        self.plot, self.legend = plot, QWidget()
        self._names = {kind: label(f"{SWATCH} {NAMES[kind]}") for kind in KINDS}
        row = QHBoxLayout(self.legend)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * GRID)
        for name in self._names.values():
            row.addWidget(name)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.legend)
        column.addWidget(plot, 1)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.plot.set_theme(theme)
        for kind, color in colors_of(theme).items():
            self._names[kind].setStyleSheet(f"color: {color};")


class NumbersTable(QWidget):
    """A row of numbers for each curve, which has its colour in the plots."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.rows: dict[CurveKind, list[QLabel]] = {}
        self._swatches: dict[CurveKind, QLabel] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID * 3 // 2)
        grid.setVerticalSpacing(GRID // 2)
        right = Qt.AlignmentFlag.AlignRight
        for column, (title, tip) in enumerate(COLUMNS, start=2):
            grid.addWidget(_told(title, tip, "small"), 0, column, right)
        for row, kind in enumerate(KINDS, start=1):
            self._swatches[kind] = label(SWATCH)
            self.rows[kind] = [_told("", tip) for _, tip in COLUMNS]
            grid.addWidget(self._swatches[kind], row, 0)
            grid.addWidget(label(NAMES[kind]), row, 1)
            for column, cell in enumerate(self.rows[kind], start=2):
                grid.addWidget(cell, row, column, right)
        # As a page of its own it is no wider than its numbers.
        grid.setColumnStretch(len(COLUMNS) + 2, 1)
        grid.setRowStretch(len(KINDS) + 1, 1)
        self.set_theme(theme)

    def show_result(self, result: Experiment, *, after: bool) -> None:
        """Write the numbers before or after LayerNorm."""
        for kind, one in result.curves.items():
            for cell, text in zip(self.rows[kind], cells(one, after=after), strict=True):
                cell.setText(text)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        for kind, color in colors_of(theme).items():
            self._swatches[kind].setStyleSheet(f"color: {color};")


class ExperimentView(QWidget):
    """Controls, pictures, plots, and the table.

    Parameters
    ----------
    theme
        Colours.
    """

    lengthRequested = Signal(int)
    """The number of positions that the mark in the plot of prices was dragged to."""
    widthChanged = Signal(bool)
    """Whether there is room for the table beside the other pages."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._shown: tuple[Experiment, str, bool] | None = None
        self._wide: bool | None = None
        self._page = "curves"
        self.form, self.pictures = ExperimentForm(theme), ExperimentPictures(theme)
        self.table = NumbersTable(theme)
        self.steps = CurvePlot(theme, "position", "step / mean step", whole_x=True)
        self.steps.setAccessibleName("Steps between neighbours")
        self.price = CurvePlot(theme, "positions", "mean ‖p‖²", log_x=True, log_y=True)
        self.price.setAccessibleName("Price in weight decay")
        self.steps.pointHovered.connect(self._on_step_hovered)
        self.price.pointHovered.connect(self._on_price_hovered)
        self.price.markerDragged.connect(lambda n: self.lengthRequested.emit(round(n)))
        self._plots = [PlotPage(plot) for plot in (self.steps, self.price)]
        self.stack = QStackedWidget()
        for page in (self.pictures, *self._plots, self.table):
            self.stack.addWidget(page)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2 * GRID)
        self._row.addWidget(self.form)
        self._row.addWidget(self.stack, 1)
        self.set_theme(theme)

    def show_page(self, page: str) -> None:
        """Show "curves", "steps", "price" or "table"; with room, the table is there anyway."""
        self._page = page
        steps, price = self._plots
        pages: dict[str, QWidget] = {"curves": self.pictures, "steps": steps, "price": price}
        self._draw_page()
        self.stack.setCurrentWidget(pages.get(page, self.pictures if self._wide else self.table))

    def show_result(self, result: Experiment, colormap: str, *, after: bool) -> None:
        """Show what was found, before or after LayerNorm."""
        self._shown = (result, colormap, after)
        self.form.show_settings(result.settings)
        self.table.show_result(result, after=after)
        self._draw_page()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self.theme = theme
        for page in self._plots:
            page.set_theme(theme)
        self.form.set_theme(theme)
        self.pictures.set_theme(theme)
        self.table.set_theme(theme)
        if self._shown is not None:
            result, colormap, after = self._shown
            self.show_result(result, colormap, after=after)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table beside the rest where there is room."""
        super().resizeEvent(event)
        wide = self.width() >= WIDE
        if wide == self._wide:
            return
        self._wide = wide
        for page in self._plots:  # the table says it too
            page.legend.setHidden(wide)
        if wide:
            self._row.addWidget(self.table)
            self.table.show()
        else:
            self.stack.addWidget(self.table)
        self.show_page(self._page)
        self.widthChanged.emit(wide)

    # What is drawn.

    def _draw_page(self) -> None:
        """Draw the page that is shown, and no other: a drag waits for it."""
        if self._shown is None:
            return
        result, colormap, after = self._shown
        if self._page == "steps":
            self._draw_steps(result, after=after)
        elif self._page == "price":
            self._draw_price(result)
        else:
            self.pictures.show_result(result, colormap, after=after)

    def _draw_steps(self, result: Experiment, *, after: bool) -> None:
        shown = [
            (kind, shares_of(one.after.steps if after else one.before.steps))
            for kind, one in result.curves.items()
        ]
        highest = max(float(shares.max()) for _, shares in shown)
        colors = colors_of(self.theme)
        self.steps.set_curves(
            [Curve(np.arange(1, len(y) + 1), y, colors[kind], width=1.5) for kind, y in shown],
            y=(0.0, min(MOST_STEPS, 1.05 * max(highest, 1.0))),
        )

    def _draw_price(self, result: Experiment) -> None:
        colors = colors_of(self.theme)
        self.price.set_curves(
            [Curve(result.lengths, y, colors[k], width=1.5) for k, y in result.prices.items()]
        )
        n = result.settings.curve.n_positions
        self.price.set_marker(n, f"{format_count(n)} positions: drag to another length")

    def _on_step_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None or self._shown is None:
            self.steps.set_hover(None)
            return
        curve, at = point
        share = self.steps.curves[curve].y[at]
        text = f"{NAMES[KINDS[curve]]}, {at} to {at + 1}: {format_number(share, 2)} mean steps"
        self.steps.set_hover(point, text)

    def _on_price_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None or self._shown is None:
            self.price.set_hover(None)
            return
        kind, n = KINDS[point[0]], int(self._shown[0].lengths[point[1]])
        value = amount(float(self._shown[0].prices[kind][point[1]]))
        self.price.set_hover(point, f"{NAMES[kind]}, {format_count(n)} positions: ‖p‖² {value}")


def _told(text: str, tip: str, role: str = "") -> QLabel:
    made = label(text, role)
    made.setToolTip(wrapped(tip))
    return made
