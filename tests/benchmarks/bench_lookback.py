"""Looking back by another number of tokens, to the painted frame, against a slider tick.

Both in one window with the look-back panel in front, turn by turn: a tick of the range slider, and
a step of the slider of N, which moves the carried positions in the viewport and the cursor in the
plots. And a frame of the movement while it is played.
"""

from itertools import chain, cycle
from pathlib import Path

import numpy as np
from bench_pca import read_table
from ratios import Report, scratch
from windows import SIZE, Frames, our_window, run_until

from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt

BLOCKS = 8
WHOLE = (1, 1023)


class Stage:
    """The window with the look-back panel in front."""

    def __init__(self, source: Path) -> None:
        self.qt = prepare_qt()
        self.app: Application = our_window(self.qt, str(source))
        self.app.window.focus_on("lookback")
        run_until(self.qt, lambda: self.app.idle and "lookback" in self.app.window.panels)
        self.panel = self.app.window.panels["lookback"]
        run_until(self.qt, lambda: self.panel.result is not None and self.app.idle)
        self._frames = Frames(self.qt, self.app.window.viewport.interactor)

    def ticks(self, ranges: cycle) -> list[float]:
        """Move the range slider by some ticks, and back."""
        session, positions = self.app.session, self.app.window.panels["positions"]
        session.dragging = True
        took = self._frames.block(lambda: positions.rangeRequested.emit(*next(ranges)))
        positions.rangeRequested.emit(*WHOLE)
        session.dragging = False
        run_until(self.qt, lambda: self.app.idle and self.panel.result.positions == WHOLE)
        return took

    def lags(self, lags: cycle) -> list[float]:
        """Move the slider of N by some steps."""
        slider = self.panel.controls.number.slider
        took = self._frames.block(lambda: slider.setValue(next(lags)))
        run_until(self.qt, lambda: self.app.idle)
        return took

    def played(self, shares: cycle) -> list[float]:
        """Draw the positions at some shares of their way."""
        panel = self.panel
        panel.configure(play=True)
        panel.playback.stop()
        took = self._frames.block(lambda: panel.playback.moved.emit(next(shares)))
        panel.configure(play=False)
        return took


def main() -> int:
    report = Report(f"Looking back, {SIZE[0]}×{SIZE[1]}, against a slider tick")
    name, table = read_table()
    with scratch() as folder:
        file = folder / "table.npy"
        np.save(file, table)
        stage = Stage(file)
        report.note(f"on {name}")
        ranges = cycle([(first, 1023) for first in chain(range(2, 15), range(15, 1, -1))])
        every = cycle(chain(range(51, 120), range(120, 50, -1)))
        shares = cycle(np.linspace(0.0, 0.99, 30))
        ticked, stepped, played = [], [], []
        for _ in range(BLOCKS):
            ticked += stage.ticks(ranges)
            stepped += stage.lags(every)
            played += stage.played(shares)
        stage.app.close()
    for title, took in (("another N to painted frame", stepped), ("a frame of the play", played)):
        report.add_times(title, took, ticked, 2)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
