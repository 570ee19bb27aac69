"""A window that watches a training: from a record to its step on the screen, and a long training.

The time goes from the end of writing a record to the frame that shows it. In the long training
another process logs 10,000 tables while the window shows them with the panel Training in front.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from memory import resident_megabytes
from PySide6.QtWidgets import QApplication
from ratios import Report, scratch
from windows import our_window, rest, run_until

from geometry.history.position_log import PositionLog
from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt

SHAPE, RECORDS = (1024, 768), 12
SMALL, MANY, WARM = (64, 32), 10_000, 2_000


def main() -> int:
    report = Report("Watching a training")
    qt = prepare_qt()
    with scratch() as folder:
        waits = shown_after(qt, folder / "run")
        report.add(
            "s from a record to its frame, GPT-2's size", max(waits), None, unit="s", limit=3
        )
        report.add("    median", statistics.median(waits), None, unit="s")
        soak(qt, folder / "long", report)
    return report.close()


def shown_after(qt: QApplication, folder: Path) -> list[float]:
    """Return the seconds from each record to the frame that shows it."""
    rng, waits = np.random.default_rng(0), []
    table = 0.02 * rng.standard_normal(SHAPE).astype(np.float32)
    with PositionLog(folder) as log:
        log(0, table)
        application = our_window(qt, str(folder))
        session, viewport = application.session, application.window.viewport
        for step in range(1, RECORDS + 1):
            table += 0.002 * rng.standard_normal(SHAPE).astype(np.float32)
            log(step, table)
            start, state, drawn = time.perf_counter(), f"step {step}, running", [False]

            def on_swapped(wanted: str = state, drawn: list[bool] = drawn) -> None:
                drawn[0] = drawn[0] or session.training_state == wanted

            viewport.interactor.frameSwapped.connect(on_swapped)
            run_until(qt, lambda drawn=drawn: drawn[0])
            waits.append(time.perf_counter() - start)
            viewport.interactor.frameSwapped.disconnect(on_swapped)
            rest(qt, application)
    close(application)
    return waits


def soak(qt: QApplication, folder: Path, report: Report) -> None:
    """Watch a long training; compare the memory at its end with that after a part of it."""
    # As another training left it, which has not ended.
    PositionLog(folder)(0, np.zeros(SMALL, np.float32) + np.arange(SMALL[0])[:, None])
    application = our_window(qt, str(folder))
    application.window.focus_on("training")
    run_until(qt, lambda: application.session.history is not None)
    session, notices = application.session, []
    session.events.notice.connect(notices.append)
    child = Path(__file__).with_name("child_training.py")
    writer = subprocess.Popen([sys.executable, child, folder, *map(str, (*SMALL, MANY))])
    sizes = list[tuple[int, float]]()
    while not session.training_state.endswith("ended"):
        before = session.training_state
        run_until(qt, lambda before=before: session.training_state != before)
        if session.history.n_snapshots >= WARM + len(sizes) * (MANY - WARM) // 8:
            sizes.append((session.history.n_snapshots, resident_megabytes()))
    run_until(qt, lambda: session.history.n_snapshots == MANY)
    rest(qt, application)
    assert writer.wait() == 0
    assert not any(notices), notices
    for count, megabytes in sizes:
        report.note(f"    {count:>6} records: {megabytes:.0f} MB")
    quantity = f"memory after {MANY:,} records, vs after {WARM:,}"
    report.add(quantity, resident_megabytes(), sizes[0][1], unit="MB", at_most=1.1)
    close(application)


def close(application: Application) -> None:
    """Close the window."""
    application.close()
    application.window.deleteLater()


if __name__ == "__main__":
    raise SystemExit(main())
