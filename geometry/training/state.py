"""Snapshots of P during a run, and its saved state, from which an interrupted one continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import reading
from geometry.history.record import FORMAT, VERSION
from geometry.models.sources.history_steps import FILE_NAME
from geometry.training.position_rows import PositionRows
from geometry.training.run_folder import atomically
from geometry.training.settings import TrainingError, TrainingSettings

if TYPE_CHECKING:
    import torch

_NAME = "state.safetensors"
_OF_ADAMW = ("exp_avg", "exp_avg_sq")


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


def write_state(
    folder: Path,
    settings: TrainingSettings,
    network: Any,
    optimizer: torch.optim.AdamW,
    rows: PositionRows,
    memory: Memory,
    step: int,
    decay: float,
) -> None:
    """Write weights, the optimizer's state, rows in use, snapshots of P and the number of steps."""
    import torch
    from safetensors.torch import save

    tensors = {
        f"memory.{name}": torch.from_numpy(value)
        for name, value in memory.tensors(settings).items()
    }
    tensors |= {f"rows.{name}": value for name, value in rows.tensors().items()}
    tensors["decay"] = torch.tensor(decay, dtype=torch.float64)
    for name, weight in network.named_parameters():
        tensors[f"weight.{name}"] = weight.detach()
        for average in _OF_ADAMW:
            if weight in optimizer.state:
                tensors[f"{average}.{name}"] = optimizer.state[weight][average]
    with atomically(folder / _NAME) as temporary:
        temporary.write_bytes(save(tensors, metadata={"step": str(step)}))


def read_state(
    folder: Path, network: Any, optimizer: torch.optim.AdamW, rows: PositionRows
) -> tuple[Memory, int, float] | None:
    """Restore a network, its optimizer and the rows in use.

    Returns
    -------
    The snapshots of P, the number of steps done, and the factor of weight decay so far; None if
    there is no saved state.

    Raises
    ------
    TrainingError
        The file is damaged.
    """
    import torch
    from safetensors import safe_open

    path = folder / _NAME
    if not path.is_file():
        return None
    with (
        reading(str(path), "Remove its folder to start again.", error=TrainingError),
        safe_open(path, framework="pt") as file,
    ):
        step = int(file.metadata()["step"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        recorded = _under("memory.", tensors)
        memory = Memory.of_tensors({name: value.numpy() for name, value in recorded.items()})
        for name, weight in network.named_parameters():
            with torch.no_grad():
                weight.copy_(tensors[f"weight.{name}"])
            if step:
                averages = {average: tensors[f"{average}.{name}"] for average in _OF_ADAMW}
                optimizer.state[weight] = {
                    "step": torch.tensor(float(step), device=weight.device),
                    **{name: value.to(weight.device) for name, value in averages.items()},
                }
        rows.restore(_under("rows.", tensors))
        return memory, step, float(tensors["decay"])


def _under(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
