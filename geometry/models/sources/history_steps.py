"""A step of a training history, opened like a model: ``FOLDER/step 500``.

Of a folder with ``history.safetensors``, see :mod:`geometry.history.record`, or ``positions.log``,
see :mod:`geometry.checkpoints.formats.position_log`, only its positions are kept. A file may also
hold a list of state dicts, or a dictionary of them by step: ``run.pt/step 500``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import NoStepYet, SourceError
from geometry.checkpoints.formats.position_log import LOG_NAME, LoggedTables, read_log
from geometry.checkpoints.formats.safetensors_store import read_header
from geometry.checkpoints.steps import step_of, steps_of
from geometry.checkpoints.stores import (
    FloatArray,
    LocalFile,
    OnThisMachine,
    TensorInfo,
    TensorStore,
    part_of,
    read_part,
    reading_file,
)
from geometry.models.model import PositionalModel
from geometry.models.notes import read_making
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.candidates import named_like_positions
from geometry.models.sources.computed import OneTable
from geometry.models.sources.source import Source

FILE_NAME = "history.safetensors"
HISTORY_NAMES = (FILE_NAME, LOG_NAME)
AGAIN = "Write it again with the training script, or remove it."
_STEP = re.compile(r"step (\d{1,12})")


class NoStep(SourceError):
    """The history has no such step."""


class StepStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` of the positions at one step.

    Parameters
    ----------
    file
        The history.
    info
        Of its only tensor.
    read
        Reads its table.
    """

    def __init__(self, file: LocalFile, info: TensorInfo, read: Callable[[], FloatArray]) -> None:
        self._file, self._read = file, read
        self.tensors = MappingProxyType({info.name: info})
        self.bytes_read = info.nbytes

    def check_files(self) -> None:
        """Raise FileChanged if the file is not the one that was opened."""
        self._file.check()

    def read(self, name: str) -> FloatArray:
        """Return the positions, (n_positions, d_model); KeyError for any other name."""
        assert name in self.tensors
        with reading_file(self._file.path, AGAIN):
            return self._read()


class LastLogged(OneTable):
    """The last table of a log, which stays as it is while the training goes on.

    Parameters
    ----------
    name, values
        As of :class:`geometry.models.sources.computed.OneTable`.
    log
        The log as it was read.
    """

    def __init__(self, name: str, values: npt.NDArray[np.float64], log: LoggedTables) -> None:
        super().__init__(name, values)
        self.log = log


def find_step(path: Path) -> tuple[Path, int] | None:
    """Return the history and the step that a path stands for; None if it is not a step."""
    match = _STEP.fullmatch(path.name)
    if match is None or path.exists():
        return None
    file = path.parent if path.parent.is_file() else history_in(path.parent)
    return None if file is None else (file, int(match[1]))


def history_in(folder: Path) -> Path | None:
    """Return the history of a training in a folder; None if there is none."""
    return next((file for name in HISTORY_NAMES if (file := folder / name).is_file()), None)


def steps_inside(model: PositionalModel) -> dict[int, str]:
    """Return the tables of all state dicts in a model's file, by increasing step.

    They have one name but for a part before that of the table, which is a number, or names a step.
    Of a list, the steps count from 0. {} if there is only one.
    """
    place, tensors = model.layers.architecture, model.store.tensors
    table, parts = place.table, place.table.split(".")
    if place.lags is not None or table not in tensors:
        return {}
    if place.family is None:
        before = 1 if len(parts) > 1 and named_like_positions(".".join(parts[1:])) else 0
    else:
        before = place.root.count(".")
    for at in range(before):
        if step_of(parts[at]) is not None:
            start, end = (".".join(some) for some in (parts[:at], parts[at + 1 :]))
            start = f"{start}." if start else ""
            items = {
                name: name.removeprefix(start).removesuffix(f".{end}")
                for name in tensors
                if name.startswith(start) and name.endswith(f".{end}")
            }
            steps = steps_of(item for item in items.values() if "." not in item)
            found = {steps[item]: name for name, item in items.items() if item in steps}
            shape = tensors[table].shape
            found = {step: name for step, name in found.items() if tensors[name].shape == shape}
            if len(found) > 1 and table in found.values():
                return dict(sorted(found.items()))
    return {}


def open_step(
    file: Path, step: int | None, source: Source, whole: Callable[[], PositionalModel] | None = None
) -> PositionalModel:
    """Open the positions at a step as a model without weights.

    Parameters
    ----------
    file
        ``history.safetensors`` or ``positions.log``.
    step
        One of its steps; the last one of ``positions.log`` if None, as the model at the end.
    source
        What the user opened.
    whole
        Opens the folder as a model, which gives a prompt's tokens their positions.

    Raises
    ------
    NoStep
        The history has no such step.
    NoStepYet
        It has none.
    SourceError
        The file is damaged.
    """
    log = read_log(file) if file.name == LOG_NAME else None
    steps, store_of = _of_tensors(file) if log is None else _of_log(log)
    if not steps:
        raise NoStepYet(f"{file} has no step yet.", "Wait for the first one.")
    if step is not None and step not in steps:
        raise NoStep(
            f"{file.parent} has no step {step}.", f"It has {len(steps)}, up to step {steps[-1]}."
        )
    index = len(steps) - 1 if step is None else steps.index(step)
    name = f"step {steps[index]}"
    store: TensorStore = store_of(index, name)
    if step is None and log is not None:
        store = LastLogged(name, store.read(name).astype(np.float64), log)
    return PositionalModel(
        store,
        Architecture(table=name),
        source=source,
        name=f"{file.parent.name} · {name}",
        folder=file.parent,
        whole=whole,
        making=read_making(file.parent)[0].at(steps[index]),
    )


def _of_tensors(file: Path) -> tuple[list[int], Callable[[int, str], StepStore]]:
    """Return the steps of ``history.safetensors``, and what makes the store of one."""
    with reading_file(file, AGAIN):
        opened = LocalFile(file)
        regions = read_header(opened).regions
        positions, column = regions.get("positions"), regions.get("steps")
        if positions is None or column is None or not _fit(positions.info, column.info):
            raise SourceError(f"{file} lacks the tensors steps and positions.", AGAIN)
        steps = opened.read_at(column.offset, column.info.nbytes).view("<i8").tolist()

    def store(index: int, name: str) -> StepStore:
        info = part_of(positions, name)
        return StepStore(opened, info, lambda: read_part(positions, info, index))

    return steps, store


def _of_log(log: LoggedTables) -> tuple[list[int], Callable[[int, str], StepStore]]:
    """Return the steps of ``positions.log``, and what makes the store of one."""

    def store(index: int, name: str) -> StepStore:
        return StepStore(log.file, log.region(index, name).info, lambda: log.table(index))

    return log.records["step"].tolist(), store


def _fit(positions: TensorInfo, steps: TensorInfo) -> bool:
    """Return whether there is a table for each step."""
    counts = steps.dtype == "I64" and len(steps.shape) == 1 and len(positions.shape) == 3
    return counts and positions.shape[0] == steps.shape[0] and 0 not in positions.shape
