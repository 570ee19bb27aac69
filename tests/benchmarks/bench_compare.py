"""Models side by side: frames of nine views, opening nine models, memory of one more.

All checkpoints have the shape and the positions of GPT-2 small, in files of their own. Nine views
that turn together are measured against one view of the same size, alone in a window; a frame
counts when all views have swapped their buffers. Opening is measured from the call until all views
have painted their curves. Memory is what the process has more of for each further model: without
a window that is the model with all that is computed of it, in the window also its view.
"""

import gc
import math
import time
from collections.abc import Callable
from pathlib import Path

from bench_open import coordinates
from checkpoints import SMALL, write_gpt2
from memory import resident_megabytes
from PySide6.QtWidgets import QApplication
from ratios import Report, scratch
from windows import Frames, our_window, rest, rotation, run_until

from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.fields import MAX_MODELS
from gui.state.session import Session
from gui.viewport.viewport import Viewport

GRID_SIZE = (1400, 900)
REPEATS, BLOCKS = 7, 6


class AllFrames(Frames):
    """Waits for a frame of each of several viewports."""

    def __init__(self, qt: QApplication, viewports: tuple[Viewport, ...]) -> None:
        self._qt = qt
        self._waiting: set[int] = set()
        for number, viewport in enumerate(viewports):
            viewport.interactor.frameSwapped.connect(
                lambda number=number: self._waiting.discard(number)
            )
        self._all = frozenset(range(len(viewports)))

    def after(self, change: Callable[[], object]) -> float:
        """Make a change and return the milliseconds until all show it."""
        self._waiting = set(self._all)
        start = time.perf_counter()
        change()
        run_until(self._qt, lambda: not self._waiting)
        return (time.perf_counter() - start) * 1e3


def add_all(qt: QApplication, application: Application, folders: list[Path]) -> float:
    """Show models beside the open one; return the seconds until all have painted their curves."""
    comparing, grid = application.controller.comparing, application.window.grid
    painted: set[int] = set()
    start = time.perf_counter()
    keys = [comparing.add(str(folder)) for folder in folders]
    for key in keys:
        cell = grid.cells[key]
        cell.viewport.firstPainted.connect(lambda key=key: painted.add(key))
    run_until(qt, lambda: len(painted) == len(keys))
    taken = time.perf_counter() - start
    rest(qt, application)
    return taken


def race_opening(report: Report, qt: QApplication, folders: list[Path]) -> None:
    """Report opening all beside the open one, against opening and drawing one."""
    application = our_window(qt, str(folders[0]), GRID_SIZE)
    others, times = folders[1:], {"read": [], "one": [], "all": []}
    for number in range(REPEATS + 1):
        gc.collect()
        start = time.perf_counter()
        coordinates(others[number % len(others)])
        times["read"].append(time.perf_counter() - start)
        for name, which in (("one", others[:1]), ("all", others)):
            times[name].append(add_all(qt, application, which))
            application.controller.comparing.clear()
            rest(qt, application)
    read, one, nine = (1e3 * min(times[name][1:]) for name in ("read", "one", "all"))
    slowest = 1e3 * max(times["read"][1:])
    report.note(f"reading one: {read:.0f} ms; one more view, read and painted: {one:.0f} ms")
    allowed = 2 * slowest + MAX_MODELS * max(one - read, 0.0)
    report.add("opening eight more, vs 2 readings and 9 views", nine, allowed, at_most=1.0)
    application.close()


def race_frames(report: Report, qt: QApplication, folders: list[Path]) -> None:
    """Report frames of nine views that turn together, against those of one, turn by turn."""
    ours = our_window(qt, str(folders[0]), GRID_SIZE)
    add_all(qt, ours, folders[1:])
    viewport = ours.window.viewport
    size = viewport.interactor.size()
    single = our_window(qt, str(folders[0]), (850, 620))
    for dock in single.window.docks.values():
        dock.hide()  # a viewport as small as one of nine
    single.window.viewport.setFixedSize(size)
    rest(qt, single)
    nine = AllFrames(qt, ours.window.grid.viewports)
    one = Frames(qt, single.window.viewport.interactor)
    measured: dict[str, list[float]] = {"nine": [], "one": []}
    for _ in range(BLOCKS):
        for name, application, frames in (("nine", ours, nine), ("one", single, one)):
            application.window.raise_()
            rest(qt, application)
            turn, release = rotation(application.window.viewport)
            measured[name] += frames.block(turn)
            release()
    report.note(f"views of {viewport.interactor.width()}×{viewport.interactor.height()} pixels")
    report.add_times("nine views turning together, vs one", measured["nine"], measured["one"], 10.8)
    ours.close()
    single.close()


def weigh(report: Report, qt: QApplication, folders: list[Path]) -> None:
    """Report what the process has more of for each further model."""
    nbytes = SMALL.d_model * 1024 * 4 / 1e6
    session = Session()
    controller = Controller(session, InlineJobs())
    controller.open(str(folders[0]))
    controller.comparing.add(str(folders[1]))  # what is loaded with the first is not the model's
    before = resident_megabytes()
    for folder in folders[2:]:
        controller.comparing.add(str(folder))
    each = (resident_megabytes() - before) / len(folders[2:])
    report.add("memory of one more model, vs its P", each, nbytes, unit="MB", at_most=3)
    controller.close()
    application = our_window(qt, str(folders[0]), GRID_SIZE)
    add_all(qt, application, folders[1:3])
    before = resident_megabytes()
    add_all(qt, application, folders[3:])
    each = (resident_megabytes() - before) / len(folders[3:])
    report.add("    with its view in the window", each, nbytes, unit="MB", at_most=math.inf)
    application.close()


def main() -> int:
    report = Report("Models side by side")
    qt = prepare_qt()
    with scratch() as folder:
        folders = [write_gpt2(folder / str(k), SMALL, sparse=True) for k in range(MAX_MODELS)]
        weigh(report, qt, folders)
        race_opening(report, qt, folders)
        race_frames(report, qt, folders)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
