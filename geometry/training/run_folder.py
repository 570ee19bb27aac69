"""The output folder of a run: its files, its state, and whether a run may continue there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.folder_lock import lock_folder
from geometry.checkpoints.whole_files import WORK_FOLDER, parts_in, whole_file, write_json, writing
from geometry.models.notes import FILE_NAME
from geometry.training.making import making_of
from geometry.training.settings import TrainingError, TrainingSettings


@contextmanager
def atomically(file: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``file`` when the block succeeds.

    Raises TrainingError: it cannot be written.
    """
    with writing(file, TrainingError), whole_file(file) as temporary:
        yield temporary


class RunFolder:
    """A run's output folder, with a subfolder for its saved state.

    Parameters
    ----------
    folder
        Created if necessary.
    settings, corpus
        The run's settings, and its text's fingerprint.

    Attributes
    ----------
    finished
        Whether the run is complete, with its model written.
    tokens
        The file of the text as tokens.
    schedules
        Planned number of steps, each with the step from which it holds, since it may be changed
        when a run is continued.

    Raises
    ------
    TrainingError
        The folder contains something else, or is not writable.
    """

    def __init__(self, folder: Path, settings: TrainingSettings, corpus: str) -> None:
        self.folder, self._settings, self._corpus = folder, settings, corpus
        self.work = folder / WORK_FOLDER
        self.tokens = self.work / "tokens.npy"
        self._about = folder / FILE_NAME
        self.finished = False
        self.schedules = [[0, settings.steps]]
        with writing(folder, TrainingError):
            if folder.exists() and not (folder.is_dir() and self._is_empty()):
                self._go_on()
            else:
                folder.mkdir(parents=True, exist_ok=True)
                self._note(finished=False)
            if not self.finished:
                self.work.mkdir(exist_ok=True)
        if self.finished:  # a run that was killed at its end leaves its saved state
            shutil.rmtree(self.work, ignore_errors=True)

    def _is_empty(self) -> bool:
        """Return whether the folder is empty, except for remains of a run killed at its start."""
        return set(parts_in(self.folder)) == set(self.folder.iterdir())

    def _go_on(self) -> None:
        if not self._about.is_file():
            raise TrainingError(
                f"{self.folder} is not empty and not a training run.", "Choose another folder."
            )
        damaged = "Choose another folder, or remove this one."
        try:
            record = read_json(self._about)
        except SourceError as error:
            raise TrainingError(f"{self._about} is damaged.", damaged) from error
        with reading(str(self._about), damaged, error=TrainingError):
            self.finished = bool(record["finished"])
            self.schedules = [[int(first), int(steps)] for first, steps in record["schedules"]]
            theirs = record["settings"]
            if not self.finished:
                theirs = {**theirs, "steps": self._settings.steps}
            difference = self._settings.difference(json.dumps(theirs))
            if record["corpus"] != self._corpus and not difference:
                difference = "another text"
        if not self.finished and not self.tokens.is_file():
            # The previous run was refused or stopped before its first saved state.
            self.schedules = [[0, self._settings.steps]]
            self._note(finished=False)
        elif difference:
            raise TrainingError(
                f"The run in {self.folder} has {difference}.",
                "Continue with its settings, or choose another folder.",
            )

    def _note(self, *, finished: bool) -> None:
        record = {
            "settings": json.loads(self._settings.to_json()),
            "schedules": self.schedules,
            "corpus": self._corpus,
            "finished": finished,
            **making_of(self._settings).to_json(),
        }
        write_json(record, self._about, TrainingError)

    def write_model(self, network: Any, *, half: bool) -> None:
        """Write ``config.json`` and ``model.safetensors``, as transformers does."""
        import torch
        from safetensors.torch import save

        dtype = torch.float16 if half else torch.float32
        # The token embeddings are also the output matrix, and stored once.
        weights = {
            name: weight.detach().to("cpu", dtype).contiguous()
            for name, weight in network.named_parameters()
        }
        config = {
            **network.config.to_diff_dict(),
            "architectures": [type(network).__name__],
            "dtype": str(dtype).removeprefix("torch."),
        }
        write_json(config, self.folder / "config.json", TrainingError)
        with atomically(self.folder / "model.safetensors") as temporary:
            temporary.write_bytes(save(weights, metadata={"format": "pt"}))

    def go_on_from(self, step: int) -> None:
        """Record that from a step on, the settings' number of steps holds.

        Raises TrainingError: that number of steps is done already.
        """
        steps = self._settings.steps
        if steps == self.schedules[-1][1]:
            return
        if steps <= step:
            raise TrainingError(
                f"The run in {self.folder} has already done {step:,} steps.",
                "Set a larger number of steps.",
            )
        self.schedules.append([step, steps])
        self._note(finished=False)

    def alone(self) -> AbstractContextManager[None]:
        """Lock the folder; TrainingError if another run is using it."""
        return lock_folder(self.work, TrainingError, named=self.folder)

    def finish(self) -> None:
        """Mark the run as complete, and remove its saved state."""
        self._note(finished=True)
        self.finished = True
        shutil.rmtree(self.work, ignore_errors=True)
