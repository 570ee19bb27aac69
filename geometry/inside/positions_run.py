"""A run from texts to the positions in each layer, which can be interrupted and continued."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, Literal

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import read_json
from geometry.checkpoints.folder_lock import lock_folder
from geometry.checkpoints.result import result
from geometry.checkpoints.whole_files import WORK_FOLDER, parts_in, write_bytes, write_json, writing
from geometry.inside.counted import Counter, Counting
from geometry.inside.forward import batches_of, run
from geometry.inside.layers import LayerPositions, measure_layer
from geometry.inside.mixing import Mixing, measure_mixing
from geometry.inside.network import RunnableNetwork, load_network, making_of
from geometry.inside.probe import run_probes
from geometry.inside.published import Compared, compare
from geometry.inside.record import (
    Control,
    control_of_json,
    counters_as_json,
    layers_as_json,
    published_as_json,
    write_tensors,
)
from geometry.inside.settings import InsideError, PositionsSettings
from geometry.inside.sums import Sums
from geometry.inside.windows import Corpus, Window, corpus_of, digest, find_texts
from geometry.models.sources.layer_tables import DESCRIPTION

_SETTINGS = "run.json"
_AGAIN = "Remove this folder to start again."
KINDS: tuple[Literal["random", "shuffled"], ...] = ("random", "shuffled")
"""Controls: weights before any training, and trained weights in random order."""
_WITH = {"random": "with random weights", "shuffled": "with shuffled weights"}

Report = Callable[[str, int, int], None]
"""Called with the current step, the number of windows done, and the total; may raise to stop."""


@result
class PositionsResult:
    """Positions in each layer.

    Attributes
    ----------
    layers
        Layers of the residual stream, the embedding first.
    counters, mixing
        Counters of each layer; and how much LayerNorm mixes each pair of them.
    controls
        The same network with random and with shuffled weights, of several seeds; empty if not
        measured.
    windows
        Number of windows of the two halves.
    published
        Published numbers for this network, with ours.
    """

    layers: tuple[LayerPositions, ...]
    counters: tuple[tuple[Counter, ...], ...]
    controls: tuple[Control, ...]
    windows: tuple[int, int]
    published: tuple[Compared, ...] = ()
    mixing: tuple[tuple[Mixing, ...], ...] = ()

    @property
    def random_weights(self) -> tuple[LayerPositions, ...]:
        """Layers of the first network with random weights; empty if not measured."""
        return next((control.layers for control in self.controls if control.kind == "random"), ())


def measure_positions(
    settings: PositionsSettings,
    out: Path,
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> PositionsResult:
    """Measure the positions in each layer of a network, and write them to a folder.

    Sums are saved every half minute. Called again after an interruption, the run continues from
    there, with the same result.

    Parameters
    ----------
    settings
        Settings of the run.
    out
        Output folder for ``positions.safetensors`` and ``positions.json``.
    device
        Of torch: "cpu", "cuda", "mps".
    report
        See :data:`Report`; no work is lost by stopping.

    Raises
    ------
    InsideError
        The network cannot be loaded or run, the texts are too short, or the folder belongs to
        another run or cannot be written.
    """
    settings.check()
    report = report or (lambda *_: None)
    folder = _RunFolder(out, settings)
    with folder.alone():
        report("Loading the network", 0, 1)
        network = load_network(settings.source, device=device)
        length = min(settings.length, network.longest or settings.length)
        windows = network.windows_of(settings.texts, length, settings.texts_at_most, settings.seed)
        corpus = corpus_of(find_texts(settings.texts))
        identity = f"{network.files} {digest([w for batch in batches_of(windows) for w in batch])}"
        sums = _summed(folder, network, windows, "trained", identity, device, report)
        special = special_positions(network, len(windows[0].ids))
        network.module.to("meta")  # its weights are not needed any more
        controls = _controls(folder, settings, windows, special, identity, device, report)
        result = _measured(settings, network, sums, controls, special, report)
        metadata = {"name": network.name, "source": settings.source}
        write_tensors(out, sums, special, result.layers, result.random_weights, metadata)
        described = _described(settings, network, windows, corpus, special, result, sums)
        write_json(described, out / DESCRIPTION, InsideError, indent=1)
    folder.finish()
    return result


def special_positions(network: RunnableNetwork, length: int) -> tuple[int, ...]:
    """Return the positions of the special tokens that a tokenizer adds to a window."""
    before, after = len(network.splitter.before), len(network.splitter.after)
    return (*range(before), *range(length - after, length))


def _summed(
    folder: _RunFolder,
    network: RunnableNetwork,
    windows: Sequence[Window],
    what: str,
    identity: str,
    device: str,
    report: Report,
) -> Sums:
    """Return the sums over all windows, with their probes, continuing an earlier run."""
    batches = batches_of(windows)
    sums = folder.read_sums(what, identity)
    if sums is None:
        sums = Sums.empty(network.n_layers, len(windows[0].ids), network.d_model)
    step = " ".join(filter(None, (network.name, _WITH.get(what.partition("-")[0]))))

    def save(now: Sums) -> None:
        folder.write_sums(what, identity, now)

    def report_windows(done: int) -> None:
        report(f"Running {step}", done, len(windows))

    def report_probed(done: int, total: int) -> None:
        report(f"Reading positions in {step}", done, total)

    run(network, batches, sums, device=device, report=report_windows, save=save)
    if not sums.probed:
        save(sums)
        run_probes(network, batches, sums, device=device, report=report_probed)
        save(sums)
    return sums


def _controls(
    folder: _RunFolder,
    settings: PositionsSettings,
    windows: Sequence[Window],
    special: tuple[int, ...],
    identity: str,
    device: str,
    report: Report,
) -> tuple[Control, ...]:
    """Measure networks without what was learned, continuing an earlier run."""
    if not settings.control:
        return ()
    seeds = range(settings.seed, settings.seed + settings.control_seeds)
    controls = []
    for kind, seed in product(KINDS, seeds):
        what = f"{kind}-{seed}"
        control = folder.read_control(what, identity)
        if control is None:
            report(f"Creating a network {_WITH[kind]}", 0, 1)
            network = load_network(settings.source, device=device, weights=kind, seed=seed)
            sums = _summed(folder, network, windows, what, identity, device, report)
            del network  # only one network is in memory at a time
            layers = (measure_layer(sums, layer, special) for layer in range(sums.n_layers))
            control = Control(kind, seed, tuple(layers))
            folder.write_control(what, identity, control)
        controls.append(control)
    return tuple(controls)


def _measured(
    settings: PositionsSettings,
    network: RunnableNetwork,
    sums: Sums,
    controls: tuple[Control, ...],
    special: tuple[int, ...],
    report: Report,
) -> PositionsResult:
    layers, counters, mixing = [], [], []
    counting = Counting(sums, special)
    for layer in range(sums.n_layers):
        report("Measuring", layer, sums.n_layers)
        layers.append(measure_layer(sums, layer, special))
        counters.append(tuple(counting.counters(layer, settings.counters)))
        mixing.append(tuple(measure_mixing(sums, layer, counters[-1], special)))
    windows = int(sums.windows[0]), int(sums.windows[1])
    return PositionsResult(
        tuple(layers),
        tuple(counters),
        controls,
        windows,
        compare(network, sums, tuple(layers)),
        tuple(mixing),
    )


def _described(
    settings: PositionsSettings,
    network: RunnableNetwork,
    windows: Sequence[Window],
    corpus: Corpus,
    special: tuple[int, ...],
    result: PositionsResult,
    sums: Sums,
) -> dict[str, Any]:
    """Return the content of ``positions.json``."""
    return {
        "model": {
            "source": settings.source,
            "name": network.name,
            "causal": network.causal,
            "n_layers": network.n_layers - 1,
            "d_model": network.d_model,
            "notes": [asdict(note) for note in making_of(settings.source).notes],
        },
        "length": sums.length,
        "windows": list(result.windows),
        "layers": layers_as_json(result.layers),
        "counters": counters_as_json(settings.counters, result.counters, sums.d_model),
        "layernorm": [layers_as_json(pairs) for pairs in result.mixing],
        "random_weights": layers_as_json(result.random_weights),
        "controls": [control.as_json() for control in result.controls],
        "published": published_as_json(result.published),
        "texts": [{"file": window.file, "first_token": window.first_token} for window in windows],
        "special_tokens": list(special),
        "corpus": asdict(corpus),
        "seed": settings.seed,
    }


class _RunFolder:
    """The output folder of a run, with a subfolder for its sums."""

    def __init__(self, folder: Path, settings: PositionsSettings) -> None:
        self.folder, self._settings = folder, settings
        self._work = folder / WORK_FOLDER
        with writing(folder, InsideError):
            if folder.exists() and not (folder.is_dir() and self._is_empty()):
                self._go_on()
            else:
                folder.mkdir(parents=True, exist_ok=True)
            self._work.mkdir(exist_ok=True)
        write_json(self._as_json(), self._work / _SETTINGS, InsideError, indent=1)

    def _is_empty(self) -> bool:
        return set(parts_in(self.folder)) == set(self.folder.iterdir())

    def _go_on(self) -> None:
        """Check that the folder contains a run, with the same settings if it is unfinished.

        A finished run is repeated, and replaced when it is complete.
        """
        file = self._work / _SETTINGS
        if not file.is_file():
            if (self.folder / DESCRIPTION).is_file():
                return
            raise InsideError(
                f"{self.folder} is not empty and not a run of this command.",
                "Choose another folder.",
            )
        with reading(str(file), _AGAIN, error=InsideError):
            before = read_json(file)
        # Without sums, the run was refused or stopped before its first forward pass.
        if before != self._as_json() and any(self._work.glob("*.safetensors")):
            raise InsideError(
                f"{self.folder} has an unfinished run with other settings.",
                "Continue with its settings, or choose another folder.",
            )

    def _as_json(self) -> dict[str, Any]:
        written: dict[str, Any] = json.loads(json.dumps(asdict(self._settings)))
        return written

    def alone(self) -> AbstractContextManager[None]:
        """Lock the folder; InsideError if another run is using it."""
        return lock_folder(self._work, InsideError, named=self.folder)

    def read_sums(self, what: str, identity: str) -> Sums | None:
        """Return saved sums of a network over these windows; None if there are none.

        Raises InsideError: the file is damaged, or the texts or the network have changed.
        """
        from safetensors import safe_open

        path = self._work / f"{what}.safetensors"
        if not path.is_file():
            return None
        with reading(str(path), _AGAIN, error=InsideError):
            with safe_open(path, framework="numpy") as file:
                saved = (file.metadata() or {}).get("windows")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            sums = Sums.of_tensors(tensors)
        self._check_same(saved, identity)
        return sums

    def write_sums(self, what: str, identity: str, sums: Sums) -> None:
        """Save sums; see :meth:`read_sums`."""
        from safetensors.numpy import save

        path = self._work / f"{what}.safetensors"
        with writing(path, InsideError):
            write_bytes(save(sums.tensors(), metadata={"windows": identity}), path)

    def read_control(self, what: str, identity: str) -> Control | None:
        """Return a saved control over these windows; None if there is none.

        Raises InsideError: the file is damaged, or the texts or the network have changed.
        """
        path = self._work / f"{what}.json"
        if not path.is_file():
            return None
        with reading(str(path), _AGAIN, error=InsideError):
            content = read_json(path)
            control = control_of_json(content["control"])
        self._check_same(content.get("windows"), identity)
        return control

    def write_control(self, what: str, identity: str, control: Control) -> None:
        """Save a control, and remove its sums, which are not needed any more."""
        content = {"windows": identity, "control": control.as_json()}
        write_json(content, self._work / f"{what}.json", InsideError)
        (self._work / f"{what}.safetensors").unlink(missing_ok=True)

    def _check_same(self, saved: object, identity: str) -> None:
        if saved != identity:
            raise InsideError(
                f"The texts or the model of the run in {self.folder} have changed.", _AGAIN
            )

    def finish(self) -> None:
        """Remove the sums."""
        shutil.rmtree(self._work, ignore_errors=True)
