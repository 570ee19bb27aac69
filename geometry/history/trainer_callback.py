"""Logging positions from the Trainer of transformers."""

from __future__ import annotations

import os
from typing import Any

from transformers import TrainerCallback as _TrainerCallback

from geometry.history.position_log import PositionLog


class TrainerCallback(_TrainerCallback):  # type: ignore[misc]
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
