"""Logging positions from the Trainers of transformers and Lightning.

The classes are made when they are first asked for, as their bases are of other packages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from geometry.history.position_log import PositionLog


class _OfTransformers:
    """Logs the positions of a Trainer's model, see :class:`PositionLog`.

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

        trainer = Trainer(model, …, callbacks=[hx.TrainerCallback("run", every=100)])
    """

    def __init__(self, folder: str | os.PathLike[str], *, every: int = 100, **options: Any) -> None:
        self._log, self._every = PositionLog(folder, **options), max(every, 1)
        self._step, self._loss = -1, None

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Log the table as it is at the beginning."""
        self._record(state, given)

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep the loss, which the Trainer reports now and then."""
        self._loss = (given.get("logs") or {}).get("loss", self._loss)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Log the table every so many steps."""
        if state.global_step % self._every == 0:
            self._record(state, given)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Log the table at the end, and close the log."""
        self._record(state, given)
        self._log.close()

    def _record(self, state: Any, given: Any) -> None:
        if state.global_step != self._step and state.is_world_process_zero:
            self._step = state.global_step
            tokens = getattr(state, "num_input_tokens_seen", 0) or None
            self._log(self._step, given.get("model"), loss=self._loss, tokens=tokens)


class _OfLightning:
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


@cache
def _made(name: str) -> type:
    """Return one of the two classes."""
    own: type
    if name == "TrainerCallback":
        own, base = _OfTransformers, import_module("transformers").TrainerCallback
    else:
        package = "pytorch_lightning" if find_spec("lightning") is None else "lightning.pytorch"
        own, base = _OfLightning, import_module(package).Callback
    return type(name, (own, base), {"__doc__": own.__doc__, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name in ("TrainerCallback", "LightningCallback"):
        return _made(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
