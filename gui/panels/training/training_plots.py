"""The curves of a training side by side, with one cursor through all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.panels.training.training_curves import (
    loss_lines,
    norm_lines,
    places_of,
    share_lines,
    turn_lines,
    verdict,
)
from gui.panels.training.training_question import Training
from gui.plots.scrub_plot import CurveLegend, ScrubPlot
from gui.plots.spec import Line
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.opening_row import FixedText

NUMBERS_MS = 100
"""Between two changes of the numbers beside the cursor: more would take frames from the viewport,
and nobody reads faster."""
NO_TURNS = "no step comes near a helix"
NO_LOSS = "its loss is not told"


class TrainingPlots(QWidget):
    """Shares, norms, and the turns or the loss, against the step; below them the riddle's verdict.

    Parameters
    ----------
    theme
        Colours.
    """

    snapshotRequested = Signal(int)
    """The user presses or drags at this snapshot."""
    stepped = Signal(int)
    """An arrow key: one back (−1) or on (+1)."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._training: Training | None = None
        self._selection: tuple[int, ...] = ()
        self._snapshot: int | None = None
        self.shares = ScrubPlot(theme, "share, R²")
        self.norms = ScrubPlot(theme, "norm", log_y=True)
        self.turns = ScrubPlot(theme, "turns")
        self.loss = ScrubPlot(theme, "loss (nats)")
        self.plots = (self.shares, self.norms, self.turns, self.loss)
        self.legends = {plot: CurveLegend(theme) for plot in self.plots}
        self.verdict = FixedText(2, SMALL)
        self._columns: dict[ScrubPlot, QWidget] = {}
        self._lines: dict[ScrubPlot, tuple[Line, ...]] = {}
        self._places = np.zeros(0)
        self._soon = QTimer(self, interval=NUMBERS_MS, singleShot=True)
        self._soon.timeout.connect(self._show_numbers)
        self._lay_out()
        for plot in self.plots:
            plot.markerDragged.connect(self._on_scrubbed)
            plot.stepped.connect(lambda way, _: self.stepped.emit(way))
        self.set_theme(theme)
        self.show_third("turns")

    def _lay_out(self) -> None:
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        row = QHBoxLayout()
        row.setSpacing(GRID)
        for plot in self.plots:
            column = QWidget()
            stack = QVBoxLayout(column)
            stack.setContentsMargins(0, 0, 0, 0)
            stack.setSpacing(0)
            stack.addWidget(self.legends[plot])
            stack.addWidget(plot, 1)
            self._columns[plot] = column
            row.addWidget(column, 1)
        page.addLayout(row, 1)
        page.addWidget(self.verdict)

    # What is shown.

    def show_training(self, training: Training, selection: Sequence[int]) -> None:
        """Show the curves of a training; what is drawn already is left alone."""
        same = self._training is not None and self._training.timelapse is training.timelapse
        chosen = same and self._selection == tuple(selection)
        self._training, self._selection = training, tuple(selection)
        self._places = places_of(training.history.steps)
        theme = self._theme
        self._draw(self.shares, share_lines(training, theme))
        self._draw(self.turns, turn_lines(training, theme))
        if not same:
            self._draw(self.loss, loss_lines(training, theme))
            self._show_verdict()
        if not chosen:
            self._draw(self.norms, norm_lines(training, selection, theme))
        self._move_cursor()
        self._show_numbers()

    def show_selection(self, selection: Sequence[int]) -> None:
        """Show the norms of other positions."""
        if self._training is not None and self._selection != tuple(selection):
            self._selection = tuple(selection)
            self._draw(self.norms, norm_lines(self._training, selection, self._theme))
            self._show_numbers()

    def show_third(self, which: str) -> None:
        """Show the "turns", the "loss" or "both" beside the others."""
        self._columns[self.turns].setVisible(which != "loss")
        self._columns[self.loss].setVisible(which != "turns")

    def show_snapshot(self, snapshot: int | None) -> None:
        """Move the cursor, and the numbers soon; None takes it away."""
        self._snapshot = snapshot
        self._move_cursor()
        if not self._soon.isActive():
            self._soon.start()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        self.verdict.set_color(theme.muted)
        for plot in self.plots:
            plot.set_theme(theme)
            self.legends[plot].set_theme(theme)
        if self._training is not None:
            training, self._training = self._training, None
            self.show_training(training, self._selection)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the verdict anew."""
        super().resizeEvent(event)
        self._show_verdict()

    def _show_verdict(self) -> None:
        if self._training is None:
            return
        font = QFont(self.font())
        font.setPixelSize(SMALL)
        metrics, words = QFontMetrics(font), verdict(self._training).split(" ")
        fitting = range(len(words), 0, -1)
        width = self.width() - GRID
        cut = next((k for k in fitting if _width(metrics, words[:k]) <= width), 1)
        self.verdict.set_text(" ".join(words[:cut]), " ".join(words[cut:]))

    def stop(self) -> None:
        """Leave the cursor where it is; the owner goes away."""
        self._soon.stop()

    def _draw(self, plot: ScrubPlot, lines: tuple[Line, ...]) -> None:
        self._lines[plot] = lines
        plot.show_lines(lines, self._places)

    def _move_cursor(self) -> None:
        at = self._snapshot
        place = None if at is None or at >= len(self._places) else float(self._places[at])
        for plot in self.plots:
            plot.set_marker(place)

    def _show_numbers(self) -> None:
        self._soon.stop()
        if self._training is None:
            return
        last, at = self._training.history.n_snapshots - 1, self._snapshot
        for plot, lines in self._lines.items():
            empty = {self.turns: NO_TURNS, self.loss: NO_LOSS}.get(plot, "")
            known = [line for line in lines if np.isfinite(line.values).any()]
            self.legends[plot].show_lines(known, last if at is None else min(at, last), empty)

    # What the user wants.

    def _on_scrubbed(self, x: float) -> None:
        if self._training is not None:
            places = np.log(self._places)
            self.snapshotRequested.emit(int(np.abs(places - np.log(max(x, 1e-9))).argmin()))


def _width(metrics: QFontMetrics, words: Sequence[str]) -> int:
    return metrics.horizontalAdvance(" ".join(words))
