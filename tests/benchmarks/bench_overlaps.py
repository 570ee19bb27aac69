"""The overlaps of P and E, from file to numbers: time, error and memory against torch.

E has GPT-2's size, 50257 × 768, and its kind of spectrum: it falls slowly from 76 to 20, and the
last few values down to 0.1. The baseline is the article's notebook: ``torch.linalg.svd`` of both
matrices in single precision, and the product. Errors are those from the same in float64. Both sides
read the same file and use both cores.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from checkpoints import write_tensors
from ratios import Report, interleave, scratch
from safetensors.numpy import load_file

from geometry.claims.measurements import Measurements
from geometry.measures.directions import Directions
from geometry.measures.overlaps import capture, squared_overlaps
from geometry.models.sources.opening import open_model

VOCABULARY, D_MODEL, RANK = 50257, 768, 30
MEMORY_FACTOR = 2.2


def write_checkpoint(folder: Path) -> None:
    """Write P and E as a GPT-2 checkpoint."""
    random = np.random.default_rng(5)
    values = np.concatenate(
        [[160.0], np.geomspace(76, 20, D_MODEL - 9), np.geomspace(15, 0.1, 8)]
    ).astype(np.float32)
    U = random.standard_normal((VOCABULARY, D_MODEL), dtype=np.float32)
    U = np.linalg.qr(U)[0]
    V = np.linalg.qr(random.standard_normal((D_MODEL, D_MODEL)))[0].astype(np.float32)
    write_tensors(folder, {"wte.weight": (U * values) @ V})


def ours(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """What the panels do: the squared overlaps P × E and the capture of E."""
    measured = Measurements(open_model(folder))
    return measured.overlaps("P", "E"), measured.capture


def notebook(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """What the article's notebook does."""
    import torch
    from safetensors.torch import load_file as load_torch

    tensors = load_torch(folder / "model.safetensors")
    Vh_P, Vh_E = (
        torch.linalg.svd(tensors[name], full_matrices=False).Vh
        for name in ("wpe.weight", "wte.weight")
    )
    overlaps = (Vh_P @ Vh_E.T) ** 2
    return overlaps.numpy(), overlaps[:RANK].sum(axis=0).numpy()


def exact(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The answer in float64."""
    tensors = load_file(folder / "model.safetensors")
    P, E = (
        Directions(S, Vh)
        for _, S, Vh in (
            np.linalg.svd(tensors[name].astype(np.float64), full_matrices=False)
            for name in ("wpe.weight", "wte.weight")
        )
    )
    return squared_overlaps(P, E), capture(P, E, RANK)


def peak_of(folder: Path) -> float:
    """Peak memory above the process after its imports, in MB, in a process of its own."""
    code = (
        "import sys; from pathlib import Path; from memory import peak_megabytes; "
        "from bench_overlaps import ours; before = peak_megabytes(); ours(Path(sys.argv[1])); "
        "print(peak_megabytes() - before)"
    )
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=here, capture_output=True, text=True,
        check=True, env=os.environ | {"PYTHONPATH": f"{here}:{here.parent.parent}"},
    )  # fmt: skip
    return float(done.stdout)


def main() -> int:
    report = Report("Overlaps of positions and tokens")
    with scratch() as folder:
        write_checkpoint(folder)
        notebook(folder)  # its imports
        mine, theirs_ms = interleave(lambda: ours(folder), lambda: notebook(folder), repeats=7)
        report.note(f"E: {VOCABULARY} × {D_MODEL}")
        report.add("P × E and capture, from file", mine, theirs_ms, at_least=3)
        truth, found, theirs = exact(folder), ours(folder), notebook(folder)
        size = float(np.linalg.norm(truth[0]))
        errors = [float(np.linalg.norm(side[0] - truth[0])) / size for side in (found, theirs)]
        report.add("error of the overlaps (Frobenius)", errors[0], errors[1], unit="", at_most=1)
        report.add("    itself", errors[0], None, unit="", limit=1e-2)
        off = float(np.abs(found[1] - truth[1]).max())
        report.add("error of the capture (largest)", off, None, unit="", limit=1e-3)
        bound = MEMORY_FACTOR * 4e-6 * VOCABULARY * D_MODEL
        report.add("peak memory above the imports", peak_of(folder), None, unit="MB", limit=bound)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
