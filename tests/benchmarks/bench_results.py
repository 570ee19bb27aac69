"""What the panels compute: a whole report, the window meanwhile, and a heatmap that is there.

- All numbers of ``report`` on all-MiniLM-L6-v2, with its imports done, against the bare
  eigendecompositions in double precision of the Gram matrices that it needs, those of the rows
  from which each fifth of the positions is read among them.
- The ledger of claims with the null distribution of every number, against the numbers alone.
- How long the window's event loop takes to answer while the heaviest result is computed: the
  ledger of claims about a checkpoint of GPT-2's size. Something is asked of the loop every few
  milliseconds; the 99th percentile of what is waited for counts.
- The peak of memory, and the seconds, of a whole report of 100,000 random rows, figures included,
  in a process of its own.
- Showing a heatmap whose numbers are there, against pyqtgraph drawing an image of its size.
- The mosaic of 37 × 37 patches, as of DINOv2 at 518 pixels: until it is drawn from its cosines on,
  and a hover over it, which is also marked on the curve, against a frame of that alone.
"""

import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from bench_overlaps import write_checkpoint
from children import run_child
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from ratios import Report, interleave, scratch
from windows import our_window, run_until

from geometry.claims.claims import check_claims
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import report
from geometry.measures.probes import FOLDS, N_ROWS, SHUFFLES
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from geometry.models.sources.opening import open_model
from gui.commands.qt_start import prepare_qt
from tests.small_models import write_model

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
EVERY_MS = 5
HEATMAP = (900, 620)
MANY = (100_000, 64)
PATCHES = 37
"""On each side of the picture."""


def bare_grams(model: PositionalModel) -> None:
    """Decompose what a report on MiniLM has to: P, E, the first layer's weights, probed rows."""
    weights = [model.weight(name) for name in ("W_Q", "W_K", "W_V", "W_O", "W_in")]
    for matrix in (model.W_pos, model.W_E, *weights):
        wide = np.asarray(matrix, dtype=np.float64)
        np.linalg.eigh(wide.T @ wide)
    probed = np.asarray(model.W_pos[: N_ROWS * (FOLDS - 1) // FOLDS], dtype=np.float64)
    for _ in range(SHUFFLES * FOLDS):
        np.linalg.eigh(probed @ probed.T)


def gpt2_table() -> str | None:
    """Return the folder of GPT-2's table and first layer, as far as the tests have them."""
    shared = os.environ.get("HELIXSCOPE_SHARED")
    folder = Path(shared) / "checkpoints" / "gpt2" if shared else None
    return str(folder) if folder is not None and folder.is_dir() else None


def ledger(source: str, *, nulls: bool = True) -> None:
    """Open a model and check all claims."""
    check_claims(Measurements(open_model(source), Scope(nulls=nulls)))


def report_of_many(folder: Path) -> tuple[float, float]:
    """Return the peak of memory in MB, and the seconds, of `helixscope report`."""
    table = np.random.default_rng(0).standard_normal(MANY).astype(np.float32)
    np.save(folder / "many.npy", table)
    printed = run_child("child_report.py", str(folder / "many.npy"), settings=folder)
    return float(printed["peak"]), float(printed["seconds"])


class Heartbeat:
    """Asks something of the event loop every few milliseconds, and how long it takes to answer."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._due = time.perf_counter()
        self._timer = QTimer(interval=EVERY_MS)
        self._timer.timeout.connect(self._on_beat)
        self._timer.start()

    def _on_beat(self) -> None:
        now = time.perf_counter()
        # A loop that was busy for long has kept all those waiting that were due meanwhile.
        while self._due <= now:
            self.waits.append(1e3 * (now - self._due))
            self._due += EVERY_MS / 1e3

    def stop(self) -> float:
        """Return the 99th percentile of what was waited, in milliseconds."""
        self._timer.stop()
        return float(np.percentile(self.waits, 99))


def wait_while_computing(qt: QApplication, folder: Path) -> tuple[float, float]:
    """Return the 99th percentile of the loop's answers in ms, and the seconds of the work."""
    application = our_window(qt, str(folder), HEATMAP)
    window, session = application.window, application.session
    # From the moment that it is asked for: making the panel and its first lines are part of it.
    window.bring("claims")
    run_until(qt, lambda: "claims" in window.panels)
    start, heart = time.perf_counter(), Heartbeat()

    def done() -> bool:
        answer = session.answers.get("claims")
        return answer is not None and answer.state == "ready"

    run_until(qt, done)
    waited, took = heart.stop(), time.perf_counter() - start
    application.close()
    return waited, took


def show_heatmaps(qt: QApplication) -> tuple[float, float, tuple[int, int]]:
    """Return the milliseconds of showing a known heatmap, and of a bare image of its size."""
    import pyqtgraph as pg

    application = our_window(qt, MINILM, HEATMAP)
    window, session = application.window, application.session
    window.bring("overlaps")
    run_until(qt, lambda: "overlaps" in window.panels)
    panel = window.panels["overlaps"]
    pairs = [(Subject("P"), Subject("E")), (Subject("W_Q"), Subject("W_K"))]

    def shown() -> bool:
        if panel.result is None:
            return False
        view = panel.view()
        asked = panel.spec.question(view.scope, panel.choices)
        return bool(view.question == asked and view.nulls is not None)

    for rows, columns in pairs:
        panel.configure(rows=rows, columns=columns)
        run_until(qt, shown)
    turn = 0

    def ours() -> None:
        nonlocal turn
        turn += 1
        rows, columns = pairs[turn % 2]
        panel.configure(rows=rows, columns=columns)
        if not shown():
            raise RuntimeError("expected a result that is kept")
        qt.processEvents()

    values = np.asarray(session.answers["overlaps"].result.values)
    heatmap = panel.content.pair.painted[0].widget
    bare = pg.PlotWidget()
    bare.resize(heatmap.size())
    image = pg.ImageItem(axisOrder="row-major")
    bare.addItem(image)
    bare.show()
    images = (values, values[::-1].copy())

    def theirs() -> None:
        image.setImage(images[turn % 2])
        qt.processEvents()

    run_until(qt, lambda: application.idle)
    times = interleave(ours, theirs, repeats=15)
    application.close()
    bare.close()
    return *times, values.shape


def show_mosaic(qt: QApplication) -> tuple[float, float, float]:
    """Return milliseconds: until a mosaic is drawn, of a hover over it, of a frame of the curve."""
    with scratch() as folder:
        rows = np.random.default_rng(0).standard_normal((PATCHES**2 + 1, 384)).astype("f4")
        config = {"model_type": "dinov2", "image_size": 518, "patch_size": 14, "hidden_size": 384}
        write_model(folder, config, {"embeddings.position_embeddings": rows[None]})
        application = our_window(qt, str(folder), HEATMAP)
    window = application.window
    window.bring("norms")  # its group is there, as after the first look at it
    run_until(qt, lambda: application.idle and "norms" in window.panels)
    start = time.perf_counter()
    window.bring("similarity")
    run_until(qt, lambda: "similarity" in window.panels)
    panel = window.panels["similarity"]
    run_until(qt, lambda: panel.result is not None)
    qt.processEvents()
    drawn = 1e3 * (time.perf_counter() - start)
    run_until(qt, lambda: application.idle)
    mosaic = next(one for one in panel.content.painted if one.part.tiles is not None).widget
    session, middle, turn = application.session, PATCHES**2 // 2, 0
    viewport, frames = window.viewport.interactor, 0

    def on_swapped() -> None:
        nonlocal frames
        frames += 1

    def until_painted() -> None:
        before = frames
        run_until(qt, lambda: frames > before)

    viewport.frameSwapped.connect(on_swapped)

    def frame() -> None:
        viewport.update()
        until_painted()

    def hover() -> None:
        nonlocal turn
        turn += 1
        tile, patch = turn * 7 % PATCHES, turn * 17 % PATCHES  # another patch with each move
        before, point = session.hover, mosaic.point_of(middle, tile * PATCHES + patch)
        nothing = Qt.MouseButton.NoButton
        qt.sendEvent(mosaic.viewport(), QMouseEvent(
            QEvent.Type.MouseMove, point, mosaic.viewport().mapToGlobal(point), nothing, nothing,
            Qt.KeyboardModifier.NoModifier,
        ))  # fmt: skip
        until_painted()
        assert session.hover not in (None, before)

    times = interleave(hover, frame, repeats=25)
    application.close()
    return drawn, *times


def main() -> int:
    table = Report("Results")
    model = open_model(MINILM)
    report(model)  # the imports
    ours, grams = interleave(
        lambda: report(open_model(MINILM), nulls=False), lambda: bare_grams(model), repeats=7
    )
    table.add("report on MiniLM, vs the bare Gram decompositions", ours, grams, at_most=4)
    for name, source in (("MiniLM", MINILM), ("GPT-2's table", gpt2_table())):
        if source is None:
            table.note("GPT-2's table is not here")
            continue
        ours, without = interleave(
            partial(ledger, source), partial(ledger, source, nulls=False), repeats=7
        )
        most = None if source == MINILM else 4.0
        table.add(f"the ledger of {name} with nulls, vs without", ours, without, at_most=most)
    with scratch() as folder:
        peak, took = report_of_many(folder)
    table.add("peak memory of a report of 100,000 × 64", peak, None, unit="MB", limit=1000)
    table.add("    its time", took, None, unit="s", limit=60)
    qt = prepare_qt()
    with scratch() as folder:
        write_checkpoint(folder)
        waited, took = wait_while_computing(qt, folder)
    table.note(f"the ledger of GPT-2's size took {took:.1f} s")
    table.add("the event loop meanwhile, 99th percentile", waited, None, limit=50)
    ours, bare, shape = show_heatmaps(qt)
    table.note(f"heatmap: {shape[0]} × {shape[1]}")
    table.add("a heatmap that is kept, vs pyqtgraph's image", ours, bare, at_most=3)
    drawn, hovered, frame = show_mosaic(qt)
    table.add(
        f"the mosaic of {PATCHES} × {PATCHES} patches, until it is drawn", drawn, None, limit=500
    )
    table.add("a hover over it, vs a frame of the curve", hovered, frame, at_most=2)
    return table.close()


if __name__ == "__main__":
    raise SystemExit(main())
