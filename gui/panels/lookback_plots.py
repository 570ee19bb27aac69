"""R² and angle against the lag, with one cursor through both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.panels.lookback_figure import known, lowest
from gui.panels.lookback_question import LookedBack
from gui.panels.lookback_text import angle_lines, fit_lines, no_angles
from gui.plots.scrub_plot import CurveLegend, ScrubPlot
from gui.plots.spec import Line
from gui.services.overlay_curves import OverlayLine
from gui.style.theme import GRID, Theme

NUMBERS_MS = 60
"""Between two changes of what is said of a lag: more would take frames from the viewport."""
TIP = "Press or drag to look back by another number of tokens; wheel zooms"
X_TITLE = "lag N (tokens)"


class LookBackPlots(QWidget):
    """How well motions look back, and how far they turn, each with a legend over it.

    Parameters
    ----------
    theme
        Colours.
    """

    lagRequested = Signal(int)
    """The user presses or drags at this lag."""
    stepped = Signal(int)
    """An arrow key: one lag less (−1) or more (+1)."""
    numbersShown = Signal()
    """The legends say what is so for the lag now; others may follow."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._result: LookedBack | None = None
        self._head = 0
        self._at = 0
        self.fits = ScrubPlot(theme, "R²", X_TITLE, log_x=False, dots=False, tip=TIP)
        self.angles = ScrubPlot(theme, "angle (°)", X_TITLE, log_x=False, dots=False, tip=TIP)
        self.plots = (self.fits, self.angles)
        self.legends = {plot: CurveLegend(theme) for plot in self.plots}
        self._lines: dict[ScrubPlot, tuple[Line, ...]] = {}
        self._soon = QTimer(self, interval=NUMBERS_MS, singleShot=True)
        self._soon.timeout.connect(self._show_numbers)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for plot, stretch in zip(self.plots, (3, 2), strict=True):
            column = QVBoxLayout()
            column.setSpacing(0)
            column.addWidget(self.legends[plot])
            column.addWidget(plot, 1)
            row.addLayout(column, stretch)
            plot.markerDragged.connect(self._on_scrubbed)
            plot.stepped.connect(lambda way, _: self.stepped.emit(way))
        self.set_theme(theme)

    # What is shown.

    def show_result(
        self,
        result: LookedBack,
        head: int,
        lag: int,
        *,
        fits: Sequence[OverlayLine] = (),
        angles: Sequence[OverlayLine] = (),
    ) -> None:
        """Draw the curves of a result, of one head where it is of heads.

        Parameters
        ----------
        result, head, lag
            What is drawn, and where the cursor is.
        fits, angles
            R² and angles of other models, behind them.
        """
        self._result, self._head = result, head
        lags = result.lags.astype(np.float64)
        own = fit_lines(result, head, self._theme, others=bool(fits))
        turns = angle_lines(result, head, self._theme)
        self._lines = {self.fits: own, self.angles: turns}
        self.fits.show_lines(own, lags, (lowest((*own, *fits)) - 0.02, 1.03), fits)
        self.angles.show_lines(turns, lags[: known(turns)] if turns else lags, others=angles)
        self.show_lag(lag)
        self._show_numbers()

    def show_lag(self, lag: int) -> None:
        """Move the cursor, and the numbers soon."""
        if self._result is None:
            return
        self._at = int(np.searchsorted(self._result.lags, lag))
        for plot in self.plots:
            plot.set_marker(float(lag) if self._lines[plot] else None)
        if not self._soon.isActive():
            self._soon.start()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        self._theme = theme
        for plot in self.plots:
            plot.set_theme(theme)
            self.legends[plot].set_theme(theme)
        if self._result is not None:
            lag = int(self._result.lags[self._at])
            self.show_result(self._result, self._head, lag)

    def stop(self) -> None:
        """Leave the numbers as they are; the owner goes away."""
        self._soon.stop()

    def _show_numbers(self) -> None:
        self._soon.stop()
        if self._result is None:
            return
        self.legends[self.fits].show_lines(self._lines[self.fits], self._at)
        empty = no_angles(self._result)
        self.legends[self.angles].show_lines(self._lines[self.angles], self._at, empty)
        self.numbersShown.emit()

    # What the user wants.

    def _on_scrubbed(self, x: float) -> None:
        if self._result is not None:
            lags = self._result.lags
            self.lagRequested.emit(int(lags[np.abs(lags - x).argmin()]))
