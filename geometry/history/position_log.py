"""Logging the positions of one's own training, to be watched while it runs."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.formats.position_log import (
    HEADER,
    LOG_NAME,
    RECORD,
    LoggedTables,
    make_header,
    make_record,
    read_log,
    set_ended,
    table_size,
)
from geometry.checkpoints.live_store import is_tensor
from geometry.checkpoints.whole_files import whole_file
from geometry.models.model import PositionalModel
from geometry.models.sources.live import open_live


class PositionLog:
    """Appends a model's positions to ``positions.log`` in a folder.

    It never ends a training: what cannot be logged gives one warning. Of several processes of one
    training only the first writes. A training that starts again appends, and what it records again
    replaces the earlier steps from there on.

    Parameters
    ----------
    folder
        Created if it is missing, so that a window can wait there for the first record.
    single
        Store numbers as float32; else as float16.
    max_records
        The number of records at which half of them are left out, so that the rest is evenly spaced
        on a logarithmic scale of steps; all are kept if None.
    table, family, first_rows
        As of :func:`helixscope.open`, for models that are not recognised.

    Examples
    --------
    ::

        with PositionLog("run") as log:
            for step, batch in enumerate(batches):
                loss = train(model, batch)
                log(step, model, loss=loss)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        single: bool = False,
        max_records: int | None = None,
        table: str | None = None,
        family: str | None = None,
        first_rows: int | None = None,
    ) -> None:
        if max_records is not None and max_records < 4:
            raise HelixscopeError("max_records must be at least 4.")
        self.file = Path(folder) / LOG_NAME
        self._bits, self._max_records = 32 if single else 16, max_records
        self._open_live = partial(open_live, table=table, family=family, first_rows=first_rows)
        self._descriptor: int | None = None
        self._shape: tuple[int, int] | None = None
        self._steps: list[int] = []
        self._end = 0
        self._warned = False
        self._lock = Lock()
        if _is_first_process():
            with suppress(OSError):  # reported with the first record
                self.file.parent.mkdir(parents=True, exist_ok=True)

    def __call__(
        self,
        step: int,
        model: Any,
        *,
        loss: Any = None,
        tokens: int | None = None,
    ) -> None:
        """Append the positions at a step.

        Parameters
        ----------
        step
            Of the training.
        model
            A module of torch, or the table (n_positions, d_model) as an array or tensor.
        loss
            Of the step, in nats per token, as a number or a tensor of one.
        tokens
            Seen in training by now.
        """
        if not _is_first_process():
            return
        try:
            with self._lock:
                self._append(int(step), self._table(model), loss, tokens)
        except Exception as error:  # whatever it is, the training goes on
            self._warn(error)

    def close(self) -> None:
        """Mark the log as ended, and close it; more can be appended later."""
        with self._lock:
            if self._descriptor is not None:
                try:
                    set_ended(self._descriptor, True)
                except OSError as error:
                    self._warn(error)
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- writing ----------------------------------------------------------------------------

    def _append(self, step: int, rows: npt.NDArray[Any], loss: Any, tokens: int | None) -> None:
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(rows, f"<f{self._bits // 8}")
        if not np.isfinite(stored).all():
            raise SourceError(f"The table at step {step} exceeds float16.", "Use single=True.")
        if self._descriptor is None:
            self._open((rows.shape[0], rows.shape[1]))
        if rows.shape != self._shape:
            raise SourceError(
                f"{self.file} has tables of {self._shape}, and this one is {rows.shape}.",
                "Log to another folder.",
            )
        assert self._descriptor is not None
        table = stored.tobytes()
        value = math.nan if loss is None else float(loss.detach() if is_tensor(loss) else loss)
        count = -1 if tokens is None else int(tokens)
        record = make_record(step, count, time.time(), value, table).tobytes() + table
        try:
            _write(self._descriptor, self._end, record)
        except OSError:
            self._release()  # opening it again cuts off what was written of the record
            raise
        self._end += len(record)
        self._steps.append(step)
        if self._max_records is not None and len(self._steps) >= self._max_records:
            self._thin(self._max_records // 2)

    def _table(self, model: Any) -> npt.NDArray[Any]:
        """Return the positions of a model, a table, or an opened model."""
        opened = isinstance(getattr(model, "model", model), PositionalModel)
        rows: npt.NDArray[Any] = (model if opened else self._open_live(model)).W_pos
        return rows

    def _open(self, shape: tuple[int, int]) -> None:
        """Open the file, create it, or continue it, without what is torn at its end."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        known = self._known()
        if known is not None and (known.shape, known.bits) != (shape, self._bits):
            self._shape = known.shape
            if known.shape == shape:
                raise SourceError(f"{self.file} has numbers of {known.bits} bits.", "Log as those.")
            return
        mode = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.file, mode, 0o666)
        try:
            if known is None:
                os.ftruncate(descriptor, 0)
                _write(descriptor, 0, make_header(shape, self._bits).tobytes())
                written, self._steps = 0, []
            else:
                written, self._steps = known.written, known.records["step"].tolist()
                set_ended(descriptor, False)
            size = RECORD.itemsize + table_size(shape, self._bits)
            self._end = HEADER.itemsize + written * size
            os.ftruncate(descriptor, self._end)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor, self._shape = descriptor, shape

    def _known(self) -> LoggedTables | None:
        """Read the file; None if it has not even a header."""
        empty = not self.file.exists() or self.file.stat().st_size < HEADER.itemsize
        return None if empty else read_log(self.file)

    def _thin(self, count: int) -> None:
        """Rewrite the file with some of its records."""
        log = read_log(self.file)
        kept = _spread(log.records["step"], count)
        size = RECORD.itemsize + table_size(log.shape, log.bits)
        with whole_file(self.file) as part, self.file.open("rb") as old, part.open("wb") as new:
            new.write(make_header(log.shape, log.bits).tobytes())
            for index in kept:
                old.seek(HEADER.itemsize + int(log.at[index]) * size)
                new.write(old.read(size))
        self._release()
        self._open(log.shape)

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            advice = error.advice if isinstance(error, HelixscopeError) else ""
            text = f"Positions are not logged: {error} {advice}".strip()
            warnings.warn(text, RuntimeWarning, stacklevel=3)


def _is_first_process() -> bool:
    """Return whether this process is the first, or only, one of a training."""
    torch = sys.modules.get("torch")
    distributed = None if torch is None else torch.distributed
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return bool(distributed.get_rank() == 0)
    return os.environ.get("RANK", "0") == "0"


def _write(descriptor: int, at: int, data: bytes) -> None:
    os.lseek(descriptor, at, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _spread(steps: npt.NDArray[np.int64], count: int) -> list[int]:
    """Return the indices of steps that are evenly spaced on a logarithmic scale, ends included.

    One after the other, the step is left out that is nearest to the one before it.
    """
    scale = np.log1p(steps - min(0, int(steps[0])))
    kept = list(range(len(steps)))
    while len(kept) > max(count, 2):
        gaps = [scale[kept[i + 1]] - scale[kept[i - 1]] for i in range(1, len(kept) - 1)]
        del kept[1 + int(np.argmin(gaps))]
    return kept
