"""``history.safetensors``: the history that a training run writes next to its model.

That of ``positions.log``, see :mod:`geometry.checkpoints.formats.position_log`, is read as well.

Tensors: ``steps`` int64 [n], ``positions`` float16 (or 32) [n, n_positions, d_model]; optionally
``tokens`` int64 [n] seen by each step, ``losses`` float32 [n] in nats per token, and ``decays``
float64 [n], the factor of weight decay alone. Metadata: ``format``, ``version``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.config import load_json
from geometry.checkpoints.errors import NoStepYet, SourceError
from geometry.checkpoints.formats.position_log import LOG_NAME, read_log
from geometry.checkpoints.formats.safetensors_store import read_header
from geometry.checkpoints.stores import (
    FLOATS,
    LocalFile,
    Region,
    part_of,
    read_part,
    reading_file,
)
from geometry.history.history import Floats, History
from geometry.models.sources.history_steps import AGAIN

FORMAT, VERSION = "helixscope-history", "1"

_OPTIONAL = {"tokens": ("I64", "<i8"), "losses": ("F32", "<f4"), "decays": ("F64", "<f8")}
"""Optional values of each step, with their safetensors and numpy dtypes."""


def read_history(path: Path, *, name: str = "", shape: tuple[int, int] | None = None) -> History:
    """Open a history by its header and per-step values; tables are read on demand.

    All tables are of one version of the file: once it has changed, reading them raises an error.

    Parameters
    ----------
    path
        The file.
    name
        Of the model, for captions; the folder's if "".
    shape
        (n_positions, d_model) that the tables must have; any if None.

    Raises
    ------
    FileChanged
        It was replaced meanwhile, by a training run for example.
    SourceError
        It is not a history, is damaged, or belongs to another model.
    """
    if path.name == LOG_NAME:
        return _of_log(path, name, shape)
    with reading_file(path, AGAIN):
        return _read(path, name, shape)


def _of_log(path: Path, name: str, shape: tuple[int, int] | None) -> History:
    log = read_log(path)
    if not len(log.at):
        raise NoStepYet(f"{path} has no step yet.", "Wait for the first one.")
    _check_shape(path, log.shape, shape)
    tokens, losses = log.records["tokens"], log.records["loss"].astype(np.float32)
    return History(
        name or path.parent.name,
        str(path),
        log.records["step"].astype(np.int64),
        log.shape,
        log.table,
        tokens=None if (tokens < 0).any() else tokens.astype(np.int64),
        losses=None if np.isnan(losses).all() else losses,
        versions=log.records["table"].astype(np.int64),
    )


def _read(path: Path, name: str, shape: tuple[int, int] | None) -> History:
    file = LocalFile(path)
    regions = read_header(file).regions
    _check_format(file)
    steps = _column(file, regions, "steps", "I64", "<i8")
    if steps is None or "positions" not in regions:
        raise SourceError(f"{path} lacks the tensors steps and positions.", AGAIN)
    positions = regions["positions"]
    stored = positions.info.shape
    if len(stored) != 3 or stored[0] != len(steps) or 0 in stored:
        raise SourceError(
            f"The tables of {path} should have shape ({len(steps)}, n_positions, d_model), got "
            f"{stored}.",
            AGAIN,
        )
    _check_shape(path, (stored[1], stored[2]), shape)
    if positions.info.dtype not in FLOATS:
        raise SourceError(
            f"The tables of {path} hold {positions.info.dtype} numbers; only floating-point ones "
            "are read.",
            AGAIN,
        )
    optional: dict[str, Any] = {
        key: _column(file, regions, key, *kind) for key, kind in _OPTIONAL.items()
    }

    def read(index: int) -> Floats:
        with reading_file(path, AGAIN):
            return read_part(positions, part_of(positions, f"positions[{index}]"), index)

    return History(
        name or path.parent.name,
        str(path),
        steps,
        (stored[1], stored[2]),
        read,
        **optional,
    )


def _check_shape(path: Path, stored: tuple[int, int], shape: tuple[int, int] | None) -> None:
    if shape is not None and stored != shape:
        raise SourceError(
            f"{path} is the history of another model: its tables are {stored[0]} × {stored[1]}, "
            f"the model's is {shape[0]} × {shape[1]}.",
            AGAIN,
        )


def _column(
    file: LocalFile, regions: Mapping[str, Region], name: str, dtype: str, stored: str
) -> npt.NDArray[Any] | None:
    """Read a tensor of one number per step; None if there is none."""
    region = regions.get(name)
    if region is None:
        return None
    info = region.info
    if info.dtype != dtype or len(info.shape) != 1:
        raise SourceError(
            f"{name} in {file.path} should be {dtype} of one axis, got {info.dtype} {info.shape}.",
            AGAIN,
        )
    data = file.read_at(region.offset, info.nbytes).view(stored)
    return data.astype(np.dtype(stored).newbyteorder("="))


def _check_format(file: LocalFile) -> None:
    length = int.from_bytes(file.read_at(0, 8).tobytes(), "little")
    header = load_json(f"The header of {file.name}", file.read_at(8, length).tobytes())
    metadata = header.get("__metadata__")
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("format") != FORMAT:
        raise SourceError(f"{file.path} is not a training history.", AGAIN)
    version = metadata.get("version")
    if version != VERSION:
        raise SourceError(
            f"{file.path} is a training history of version {version!r}; only version "
            f"{VERSION} is read.",
            "Update Helixscope.",
        )
