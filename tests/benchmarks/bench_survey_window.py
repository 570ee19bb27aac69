"""The window of a survey of 20,000 rows: its table is scrolled and sorted, and an empty viewport.

Both windows are equally large and live in one process. A frame of the table counts from the change
until it is painted and on its way to the screen; that of the empty viewport until Qt has swapped
its buffers, as in ``bench_frames.py``.
"""

import math
import time
from collections.abc import Callable
from itertools import chain, count, cycle
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEvent, QEventLoop, QObject, Qt
from PySide6.QtWidgets import QApplication, QWidget
from ratios import Report, scratch
from windows import FRAMES, PATIENCE_S, SIZE, BareWindow, Frames, run_until

from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.read import read_survey
from geometry.survey.rows import RowSettings, columns
from gui.commands.qt_start import dress, prepare_qt
from gui.style.theme import LIGHT
from gui.window.survey.window import SurveyWindow

BLOCKS = 8
SETTLE_S = 0.1
ROWS, SEEDS = 20_000, 5


class PaintedFrames(QObject):
    """Waits until a widget has been painted after a change."""

    def __init__(self, qt: QApplication, widget: QWidget) -> None:
        super().__init__()
        self._qt, self._painted = qt, False
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self._painted |= event.type() == QEvent.Type.Paint
        return False

    def after(self, change: Callable[[], object]) -> float:
        """Make a change and return the milliseconds until it is painted."""
        self._painted = False
        start = time.perf_counter()
        change()
        while not self._painted:
            self._qt.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
            if time.perf_counter() - start > PATIENCE_S:
                raise TimeoutError(f"nothing was painted within {PATIENCE_S:g} s")
        return (time.perf_counter() - start) * 1e3


def main() -> int:
    report = Report(f"A survey of {ROWS:,} rows, {SIZE[0]}×{SIZE[1]}, against an empty viewport")
    qt = prepare_qt()
    dress(qt, LIGHT)
    with scratch() as folder:
        path = write_survey(folder / "survey.parquet")
        start = time.perf_counter()
        survey = read_survey(path)
        report.add("reading the file", (time.perf_counter() - start) * 1e3, None)
    owner = QWidget()
    start = time.perf_counter()
    window = SurveyWindow(survey, LIGHT, None, owner)  # type: ignore[arg-type]
    report.add("building the window", (time.perf_counter() - start) * 1e3, None)
    window.resize(*SIZE)
    window.show()
    bare = BareWindow()
    table = window.table
    ours, theirs = PaintedFrames(qt, table.viewport()), Frames(qt, bare.interactor)

    def compare(title: str, change: Callable[[], object], at_most: float) -> None:
        found, empty = [], []
        for _ in range(BLOCKS):
            settle(qt, window)
            found += [ours.after(change) for _ in range(FRAMES)][1:]
            settle(qt, bare.window)
            empty += theirs.block(bare.interactor.update)
        report.add_times(title, found, empty, at_most, median_at_most=at_most)

    bar, row = table.verticalScrollBar(), table.rowHeight(0)
    notches = cycle(chain([3 * row] * 40, [-3 * row] * 40))
    compare("scrolling by a notch", lambda: bar.setValue(bar.value() + next(notches)), 1.5)
    page = table.viewport().height()
    pages = cycle(chain([page] * 40, [-page] * 40))
    compare("scrolling by a page", lambda: bar.setValue(bar.value() + next(pages)), 1.5)
    places = (int(bar.maximum() * (0.618 * n % 1)) for n in count(1))
    compare("scrolling anywhere", lambda: bar.setValue(next(places)), 1.5)
    sideways = table.horizontalScrollBar()
    across = (int(sideways.maximum() * (0.618 * n % 1)) for n in count(1))
    compare("scrolling sideways", lambda: sideways.setValue(next(across)), 1.5)
    names = list(survey.columns)
    numbers = cycle((names.index("helix_r2"), names.index("turns")))
    ways = cycle((Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder))
    compare("sorting by a number", lambda: table.sort_by(next(numbers), next(ways)), math.inf)
    texts = cycle((names.index("verdict"), names.index("source")))
    compare("sorting by a text", lambda: table.sort_by(next(texts), next(ways)), math.inf)
    window.close()
    bare.close()
    return report.close()


def settle(qt: QApplication, window: QWidget) -> None:
    """Raise a window and let it, and the one that it covers, repaint what that takes."""
    window.raise_()
    start = time.monotonic()
    run_until(qt, lambda: time.monotonic() > start + SETTLE_S)


def write_survey(path: Path) -> Path:
    """Write a survey of steps of five trainings, with random numbers."""
    rng = np.random.default_rng(0)
    kinds = dict(columns(0))
    with SurveyFile(path, RowSettings()) as file:
        for seed in range(SEEDS):
            for step in range(ROWS // SEEDS):
                entry = Entry(f"own/small-x{seed}@checkpoint-{step}", "own", seed, step)
                row = {name: float(rng.random()) for name, kind in kinds.items() if kind != "text"}
                counts = {name: int(1000 * row[name]) for name in row if kinds[name] == "count"}
                named = {name: getattr(entry, name) for name in ("source", "group", "seed", "step")}
                word = ("helix", "line", "neither")[step % 3]
                file.add(
                    row | counts | named
                    | {"verdict": word, "scheme": "learned", "error": None, "temporary": False}
                )  # fmt: skip
    return path


if __name__ == "__main__":
    raise SystemExit(main())
