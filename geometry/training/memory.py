"""Snapshots of P during a run, and the file they are written to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.history.record import FORMAT, VERSION
from geometry.models.sources.history_steps import FILE_NAME
from geometry.training.keeping import atomically
from geometry.training.settings import TrainingSettings


@dataclass(slots=True)
class Memory:
    """Snapshots of P.

    Attributes
    ----------
    steps
        Number of steps done at each snapshot.
    losses
        Loss of the last step before its update (at 0, of the first step), in nats per token.
    decays
        Factor by which weight decay alone would have shrunk P.
    tables : each (n_positions, d_model) float16
        P.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    decays: list[float] = field(default_factory=list)
    tables: list[npt.NDArray[np.float16]] = field(default_factory=list)

    def add(self, step: int, loss: float, decay: float, table: npt.NDArray[Any]) -> None:
        """Add a snapshot of P after a step."""
        self.steps.append(step)
        self.losses.append(loss)
        self.decays.append(decay)
        self.tables.append(table.astype(np.float16))

    def tensors(self, settings: TrainingSettings) -> dict[str, npt.NDArray[Any]]:
        """Return the tensors of :mod:`geometry.history.record`."""
        steps = np.asarray(self.steps, np.int64)
        shape = (len(steps), settings.positions, settings.width)
        return {
            "steps": steps,
            "tokens": steps * settings.tokens_per_step,
            "losses": np.asarray(self.losses, np.float32),
            "positions": np.asarray(self.tables, np.float16).reshape(shape),
            "decays": np.asarray(self.decays, np.float64),
        }

    @classmethod
    def of_tensors(cls, tensors: dict[str, npt.NDArray[Any]]) -> Memory:
        """Create from the tensors of :meth:`tensors`."""
        return cls(
            tensors["steps"].tolist(),
            [float(loss) for loss in tensors["losses"]],
            tensors["decays"].tolist(),
            list(tensors["positions"]),
        )

    def write(self, folder: Path, settings: TrainingSettings) -> None:
        """Write ``history.safetensors``."""
        from safetensors.numpy import save

        metadata = {"format": FORMAT, "version": VERSION, "settings": settings.to_json()}
        with atomically(folder / FILE_NAME) as temporary:
            temporary.write_bytes(save(self.tensors(settings), metadata=metadata))
