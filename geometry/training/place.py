"""The folder a run writes to: what is in it, and whether this run may go on there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.whole_files import part_of
from geometry.training.keeping import atomically, write_json
from geometry.training.settings import TrainingError, TrainingSettings

_ABOUT = "training.json"


class Place:
    """A run's folder, and in it the folder of what an interrupted run goes on from.

    Parameters
    ----------
    folder
        Made if need be.
    settings, corpus
        The run's settings, and its text's fingerprint.

    Attributes
    ----------
    finished
        Whether the run is over: its model is there.
    tokens
        The file of the text as tokens.
    schedules
        How many steps the run was to have, each with the step from which that held: whoever goes
        on with a run may change his mind.

    Raises
    ------
    TrainingError
        Something else is there already, or it cannot be written to.
    """

    def __init__(self, folder: Path, settings: TrainingSettings, corpus: str) -> None:
        self.folder, self._settings, self._corpus = folder, settings, corpus
        self.work = folder / "unfinished"
        self.tokens = self.work / "tokens.npy"
        self._about = folder / _ABOUT
        self.finished = False
        self.schedules = [[0, settings.steps]]
        try:
            if folder.exists() and not (folder.is_dir() and self._is_empty()):
                self._go_on()
            else:
                folder.mkdir(parents=True, exist_ok=True)
                self._note(finished=False)
            if not self.finished:
                self.work.mkdir(exist_ok=True)
        except OSError as error:
            raise TrainingError(f"{folder} cannot be written to: {error.strerror}.") from error

    def _is_empty(self) -> bool:
        """Return whether nothing is there, or what a run left that was killed at its first word."""
        return all(path == part_of(self._about) for path in self.folder.iterdir())

    def _go_on(self) -> None:
        if not self._about.is_file():
            raise TrainingError(
                f"{self.folder} is not empty, and no training run's.", "Choose another folder."
            )
        try:
            about = read_json(self._about)
            self.finished = bool(about["finished"])
            self.schedules = [[int(first), int(steps)] for first, steps in about["schedules"]]
            theirs = about["settings"]
            if not self.finished:
                theirs = {**theirs, "steps": self._settings.steps}
            difference = self._settings.difference(json.dumps(theirs))
            if about["corpus"] != self._corpus and not difference:
                difference = "another text"
        except (SourceError, KeyError, AttributeError, TypeError, ValueError) as error:
            raise TrainingError(
                f"{self._about} is damaged.", "Choose another folder, or remove this one."
            ) from error
        if not self.finished and not self.tokens.is_file():
            # It was refused, or stopped, before there was anything to go on from.
            self.schedules = [[0, self._settings.steps]]
            self._note(finished=False)
        elif difference:
            raise TrainingError(
                f"The run in {self.folder} has {difference}.",
                "Go on with its settings, or choose another folder.",
            )

    def _note(self, *, finished: bool) -> None:
        about = {
            "settings": json.loads(self._settings.to_json()),
            "schedules": self.schedules,
            "corpus": self._corpus,
            "finished": finished,
        }
        write_json(self._about, about)

    def write_model(self, network: Any, *, half: bool) -> None:
        """Write ``config.json`` and ``model.safetensors``, as transformers does."""
        import torch
        from safetensors.torch import save

        dtype = torch.float16 if half else torch.float32
        # The token embeddings are the last product too, and kept once.
        weights = {
            name: weight.detach().to("cpu", dtype).contiguous()
            for name, weight in network.named_parameters()
        }
        config = {
            **network.config.to_diff_dict(),
            "architectures": [type(network).__name__],
            "dtype": str(dtype).removeprefix("torch."),
        }
        write_json(self.folder / "config.json", config)
        with atomically(self.folder / "model.safetensors") as temporary:
            temporary.write_bytes(save(weights, metadata={"format": "pt"}))

    def go_on_from(self, step: int) -> None:
        """Note that from a step on the run is to have as many steps as the settings say.

        Raises
        ------
        TrainingError
            It has as many already.
        """
        steps = self._settings.steps
        if steps == self.schedules[-1][1]:
            return
        if steps <= step:
            raise TrainingError(
                f"The run in {self.folder} has done {step:,} steps already.",
                "Give more steps than that.",
            )
        self.schedules.append([step, steps])
        self._note(finished=False)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs out while the block runs; a run that was killed keeps nobody out.

        Raises
        ------
        TrainingError
            Another one is working there.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(self.work / "lock", timeout=0)
        try:
            with lock:
                yield
        except Timeout as error:
            raise TrainingError(
                f"Another run is working in {self.folder}.", "Wait for it, or stop it."
            ) from error

    def finish(self) -> None:
        """Note that the run is over, and remove what it would have gone on from."""
        self._note(finished=True)
        self.finished = True
        shutil.rmtree(self.work, ignore_errors=True)
