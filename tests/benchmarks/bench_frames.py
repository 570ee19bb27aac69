"""Painting: a slider tick, a rotation, 100,000 points, each against an empty viewport; scrubbing.

Both windows are real and live in one process; their viewports are equally large and neither is
antialiased, as ours while it moves in software rendering. A frame counts from the change until Qt
has swapped its buffers. Ticks go the way of the slider's intent, rotations the way of the mouse.
Scrubbing through a training is measured against rotating the same curve.
"""

import math
import time
from collections.abc import Callable, Iterator
from itertools import chain, cycle
from pathlib import Path

import numpy as np
from bench_pca import JUMPS, read_table
from PySide6.QtWidgets import QApplication, QWidget
from ratios import Report, scratch
from safetensors.numpy import save_file
from windows import SIZE, BareWindow, Frames, our_window, rotation, run_until

from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt
from tests.small_models import gpt2_config, write_model

BLOCKS = 8
SETTLE_S = 0.1
MANY = 100_000
SNAPSHOTS = 40


class Stage:
    """Our window and the bare one, side by side."""

    def __init__(self, qt: QApplication, report: Report, source: Path) -> None:
        self.qt, self.report = qt, report
        self.bare = BareWindow()
        self.ours: Application = our_window(qt, str(source))
        self.viewport = self.ours.window.viewport
        self._our_frames = Frames(qt, self.viewport.interactor)
        self._bare_frames = Frames(qt, self.bare.interactor)

    def compare(self, title: str, change: Callable[[], object], at_most: float) -> None:
        """Report our frames after a change beside empty ones, turn by turn."""
        ours, bare = [], []
        for _ in range(BLOCKS):
            self._settle(self.ours.window)
            ours += self._our_frames.block(change)
            self._settle(self.bare.window)
            bare += self._bare_frames.block(self.bare.interactor.update)
        self.report.add_times(title, ours, bare, at_most)

    def turn(self, title: str, at_most: float) -> None:
        """Report our frames while the mouse turns the curve."""
        turn, release = rotation(self.viewport)
        self.compare(title, turn, at_most)
        release()
        run_until(self.qt, lambda: self.ours.idle)

    def scrub(self, title: str, at_most: float) -> None:
        """Report frames of scrubbing through a training beside those of rotating, turn by turn."""
        window = self.ours.window
        window.focus_on("training")
        run_until(self.qt, lambda: self.ours.idle and self.ours.session.timeline is not None)
        slider = window.panels["training"].content.player.slider
        snapshots = cycle(chain(range(SNAPSHOTS), range(SNAPSHOTS - 2, 0, -1)))
        scrubbed, turned = [], []
        self._settle(window)
        for _ in range(BLOCKS):
            scrubbed += self._our_frames.block(lambda: slider.setValue(next(snapshots)))
            turn, release = rotation(self.viewport)
            turned += self._our_frames.block(turn)
            release()
            run_until(self.qt, lambda: self.ours.idle)
        self.report.add_times(title, scrubbed, turned, at_most, median_at_most=at_most)

    def _settle(self, window: QWidget) -> None:
        """Raise a window and let it, and the one that it covers, repaint what that takes."""
        window.raise_()
        start = time.monotonic()
        run_until(self.qt, lambda: time.monotonic() > start + SETTLE_S)

    def ticks(self, ranges: Iterator[tuple[int, int]]) -> Callable[[], None]:
        """Return a function that moves the range slider by a tick."""
        positions = self.ours.window.panels["positions"]
        return lambda: positions.rangeRequested.emit(*next(ranges))

    def close(self) -> None:
        self.bare.close()
        self.ours.close()


def main() -> int:
    report = Report(f"Frames, {SIZE[0]}×{SIZE[1]}, against an empty viewport")
    qt = prepare_qt()
    name, table = read_table()
    with scratch() as folder:
        stage = Stage(qt, report, written(table, folder))
        report.note(f"on {name}, {_renderer(stage)}")
        session = stage.ours.session
        session.dragging = True
        # Back and forth by one position, as a handle is dragged.
        small = cycle(
            chain(((i, 1023) for i in range(2, 15)), ((i, 1023) for i in range(15, 1, -1)))
        )
        stage.compare("slider tick to painted frame, small steps", stage.ticks(small), 2.0)
        stage.compare("slider tick to painted frame, jumps", stage.ticks(cycle(JUMPS)), 2.0)
        session.outside = "faint"
        stage.compare("    with the other positions faint", stage.ticks(small), math.inf)
        session.outside = "hidden"
        session.color_span = "table"
        stage.compare("    with colours over the whole table", stage.ticks(small), math.inf)
        session.color_span, session.dragging = "range", False
        run_until(qt, lambda: stage.ours.idle)
        stage.turn("rotating with the mouse", 1.5)
        stage.close()
        stage = Stage(qt, report, written(many_positions(), folder))
        stage.turn(f"{MANY:,} points, rotating", 12.0)
        stage.close()
        stage = Stage(qt, report, trained(folder / "trained"))
        stage.scrub(f"scrubbing {SNAPSHOTS} snapshots, against rotating", 1.5)
        stage.close()
    return report.close()


def written(table: np.ndarray, folder: Path) -> Path:
    """Write a table to a file, and return that."""
    file = folder / f"{len(table)}.npy"
    np.save(file, table)
    return file


def trained(folder: Path) -> Path:
    """Write a model of 1,024 positions with the history of a helix that grows out of noise."""
    rng = np.random.default_rng(0)
    t, noise = np.linspace(0, 1, 1024), 0.02 * rng.standard_normal((1024, 64))
    helix = np.zeros((1024, 64))
    helix[:, :3] = np.column_stack([np.cos(20 * t), np.sin(20 * t), 2 * t])
    shares = np.linspace(0, 1, SNAPSHOTS)[:, None, None]
    tables = ((1 - shares) * noise + shares * helix + noise / 4).astype(np.float16)
    write_model(folder, gpt2_config(1024, 64), {"wpe.weight": tables[-1]})
    steps = np.geomspace(10, 10_000, SNAPSHOTS).astype(np.int64)
    told = {"format": "helixscope-history", "version": "1"}
    save_file({"steps": steps, "positions": tables}, folder / "history.safetensors", told)
    return folder


def many_positions() -> np.ndarray:
    """Return a helix of 100,000 positions: (100,000, 16)."""
    t = np.linspace(0, 1, MANY)
    table = 0.01 * np.random.default_rng(0).standard_normal((MANY, 16))
    table[:, :3] += np.column_stack([np.cos(40 * t), np.sin(40 * t), 2 * t])
    return table


def _renderer(stage: Stage) -> str:
    lines = stage.viewport.interactor.ren_win.ReportCapabilities().splitlines()
    found = (line.partition(":")[2] for line in lines if "renderer string" in line.lower())
    return next(found, "?").strip()


if __name__ == "__main__":
    raise SystemExit(main())
