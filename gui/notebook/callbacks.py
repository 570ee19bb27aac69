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


class _Logging:
    """Logs the positions of the model that a Trainer trains, see :class:`PositionLog`.

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
    With transformers, or with Lightning::

        trainer = Trainer(model, …, callbacks=[hx.TrainerCallback("run", every=100)])
        trainer = Trainer(callbacks=[hx.LightningCallback("run", every=100)])
    """

    def __init__(self, folder: str | os.PathLike[str], *, every: int = 100, **options: Any) -> None:
        self._log, self._every = PositionLog(folder, **options), max(every, 1)
        self._step, self._loss = -1, None

    def _record(self, step: int, model: Any, tokens: int | None = None) -> None:
        """Log a step, unless it is logged already."""
        if step != self._step:
            self._step = step
            self._log(step, model, loss=self._loss, tokens=tokens)


class _OfTransformers(_Logging):
    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Log the table as it is at the beginning."""
        self._record_state(state, given)

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep the loss, which the Trainer reports now and then."""
        self._loss = (given.get("logs") or {}).get("loss", self._loss)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Log the table every so many steps."""
        if state.global_step % self._every == 0:
            self._record_state(state, given)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Log the table at the end, and close the log."""
        self._record_state(state, given)
        self._log.close()

    def _record_state(self, state: Any, given: Mapping[str, Any]) -> None:
        if state.is_world_process_zero:
            tokens = getattr(state, "num_input_tokens_seen", 0) or None
            self._record(state.global_step, given.get("model"), tokens)


class _OfLightning(_Logging):
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Log the table as it is at the beginning."""
        self._record(trainer.global_step, pl_module)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log the table every so many steps."""
        self._loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if trainer.global_step % self._every == 0:
            self._record(trainer.global_step, pl_module)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the table at the end, and close the log."""
        self._record(trainer.global_step, pl_module)
        self._log.close()


@cache
def _made(name: str) -> type:
    """Return one of the two classes."""
    own: type
    if name == "TrainerCallback":
        own, base = _OfTransformers, import_module("transformers").TrainerCallback
    else:
        package = "pytorch_lightning" if find_spec("lightning") is None else "lightning.pytorch"
        own, base = _OfLightning, import_module(package).Callback
    return type(name, (own, base), {"__doc__": _Logging.__doc__, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name in ("TrainerCallback", "LightningCallback"):
        return _made(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
