"""Logging positions from the Trainer of Lightning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from geometry.history.position_log import PositionLog

if TYPE_CHECKING or find_spec("lightning") is not None:
    from lightning.pytorch import Callback
else:
    from pytorch_lightning import Callback


class LightningCallback(Callback):  # type: ignore[misc]
    """Logs the positions of a LightningModule, see :class:`PositionLog`.

    Parameters
    ----------
    folder
        Of ``positions.log``.
    every
        Number of steps between two records; the first and the last step are logged, too.
    options
        Of :class:`PositionLog`.

    Examples
    --------
    ::

        trainer = Trainer(callbacks=[hx.LightningCallback("run", every=100)])
    """

    def __init__(self, folder: str | os.PathLike[str], *, every: int = 100, **options: Any) -> None:
        self._log, self._every = PositionLog(folder, **options), max(every, 1)
        self._step, self._loss = -1, None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Log the table as it is at the beginning."""
        self._record(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log the table every so many steps."""
        self._loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if trainer.global_step % self._every == 0:
            self._record(trainer, pl_module)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the table at the end, and close the log."""
        self._record(trainer, pl_module)
        self._log.close()

    def _record(self, trainer: Any, module: Any) -> None:
        if trainer.global_step != self._step and trainer.is_global_zero:
            self._step = trainer.global_step
            self._log(self._step, module, loss=self._loss)
