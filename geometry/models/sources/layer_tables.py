"""Positions inside a model, layer by layer, as a run of ``helixscope positions`` has measured them.

A run's folder opens like a model: in the layer in which the two halves of the texts agree most, or,
with "/layer 3" after the folder's path, in layer 3; 0 is the embedding. The file's tensors are
described in :mod:`geometry.inside.record`, which writes it, and a description of the run, with
the notes on the making of the model.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.config import load_json, read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.safetensors_store import read_header
from geometry.checkpoints.result import result
from geometry.checkpoints.stores import (
    FloatArray,
    LocalFile,
    OnThisMachine,
    Region,
    TensorInfo,
    numbers,
    reading_file,
    stored_dtype,
)
from geometry.measures.norms import norm_profile
from geometry.models.model import PositionalModel
from geometry.models.notes import Making, parse_making
from geometry.models.recognition.architecture import Architecture
from geometry.models.sources.source import Source
from geometry.pca.components import Array

FILE_NAME, DESCRIPTION = "positions.safetensors", "positions.json"
FORMAT, VERSION = "helixscope-positions", "1"
AGAIN = "Measure the positions again, or remove this folder."
RESOLVED = 0.9
"""Cosine of the halves' positions from which on they count as resolved."""
MAX_COLUMN = 4096
"""Numbers of a column: one for each layer or special token, of which models have some hundred."""

_LAYER = re.compile(r"layer (\d{1,5})")
_FLOAT = np.dtype("<f4")
MEASURED = ("share", "share_noise", "halves_cosine")
AMOUNTS = ("energy", "probe_error", "probe_chance")
"""Columns of later versions."""


@result
class LayerTables:
    """The positions of all layers, in a file.

    Attributes
    ----------
    file
        ``positions.safetensors``.
    name, source
        Of the network, and what it was opened from; the latter "" if unknown.
    shape
        (n_layers, length, d_model), the embedding included.
    windows : (2,) int64
        Number of windows of text in each half.
    special
        Positions of special tokens.
    share, share_noise
        (n_layers,) share of a token's variance that depends on its position, and what sampling
        noise adds to it in a mean over these texts.
    halves_cosine
        (n_layers,) between the two halves' positions.
    random_share
        (n_layers,) ``share`` of the same network with random weights; None if not measured.
    energy, probe_error, probe_chance
        (n_layers,) as of :class:`geometry.inside.layers.LayerPositions`; None in earlier files.
    """

    file: LocalFile
    name: str
    source: str
    shape: tuple[int, int, int]
    windows: npt.NDArray[np.int64]
    special: tuple[int, ...]
    share: Array
    share_noise: Array
    halves_cosine: Array
    random_share: Array | None
    energy: Array | None
    probe_error: Array | None
    probe_chance: Array | None
    _halves: tuple[Region, Region]

    def means(self, layer: int) -> tuple[FloatArray, FloatArray]:
        """Return the mean of the residual stream over each half, (length, d_model) each.

        Raises
        ------
        SourceError
            The file cannot be read, has changed, or holds numbers that are not finite.
        """
        halves = []
        nbytes = self.shape[1] * self.shape[2] * _FLOAT.itemsize
        info = TensorInfo(f"layer {layer}", self.shape[1:], "F32", nbytes)
        with reading_file(self.file.path, AGAIN):
            self.file.check()
            for half in self._halves:
                data = self.file.read_at(half.offset + layer * nbytes, nbytes)
                halves.append(numbers(Region(self.file, 0, info), data))
        if not all(np.isfinite(half).all() for half in halves):
            raise SourceError(
                f"Layer {layer} of {self.file.path} has numbers that are not finite.", AGAIN
            )
        return halves[0], halves[1]

    def table(self, layer: int) -> npt.NDArray[np.float32]:
        """Return pos: the mean over all texts, without the mean over positions.

        The latter is that of the positions after the first that are neither special tokens nor
        outliers; (length, d_model).
        """
        half_a, half_b = self.means(layer)
        weight = self.windows[0] / self.windows.sum()
        mean = weight * half_a.astype(np.float64) + (1 - weight) * half_b
        rows = self._ordinary()
        ordinary = np.setdiff1d(rows, rows[[*norm_profile(mean[rows]).outliers]])
        table: npt.NDArray[np.float32] = (mean - mean[ordinary].mean(axis=0)).astype(np.float32)
        return table

    def resolved(self) -> npt.NDArray[np.bool_]:
        """(n_layers,) bool: whether the two halves agree."""
        resolved: npt.NDArray[np.bool_] = self.halves_cosine >= RESOLVED
        return resolved

    def clearest(self) -> int:
        """Return the layer in which the halves agree most."""
        return int(np.argmax(self.halves_cosine))

    def windows_needed(self) -> Array:
        """Return the windows of text with which each layer's halves would have a cosine of 0.9.

        (n_layers,) float64; infinite where what was measured is not above zero.
        """
        with np.errstate(divide="ignore"):
            # A half has twice the noise of the mean over all windows.
            ratio = 2 * np.maximum(self.share_noise, 0) / np.maximum(self.share, 0)
        needed: Array = self.windows.sum() * ratio * RESOLVED / (1 - RESOLVED)
        return needed

    def _ordinary(self) -> npt.NDArray[np.int64]:
        left_out = {0, *self.special}
        return np.array([i for i in range(self.shape[1]) if i not in left_out], np.int64)


class LayerStore(OnThisMachine):
    """A :class:`geometry.checkpoints.stores.TensorStore` of one layer's positions.

    Attributes
    ----------
    tables, layer
        The file's tables, and which of them.
    """

    def __init__(self, tables: LayerTables, layer: int) -> None:
        self.tables, self.layer = tables, layer
        _, length, d_model = tables.shape
        name = f"layer {layer}"
        info = TensorInfo(name, (length, d_model), "F32", length * d_model * _FLOAT.itemsize)
        self.tensors = MappingProxyType({name: info})
        self.bytes_read = info.nbytes

    def check_files(self) -> None:
        """Raise FileChanged if the file is not the one that was opened."""
        self.tables.file.check()

    def read(self, name: str) -> FloatArray:
        """Return the layer's positions; KeyError for any other name."""
        shape = self.tensors[name].shape
        return self.tables.table(self.layer).reshape(shape)


def find_layers(path: Path) -> tuple[Path, int | None] | None:
    """Return the file and the layer that a path stands for; None if it is not of a run.

    A folder that also holds a checkpoint is a model.
    """
    match = _LAYER.fullmatch(path.name)
    folder = path.parent if match else path
    file = folder if folder.name == FILE_NAME else folder / FILE_NAME
    if not file.is_file() or (file.parent / "config.json").is_file():
        return None
    return file, int(match[1]) if match else None


def open_layer(file: Path, layer: int | None, source: Source) -> PositionalModel:
    """Open a layer's positions as a model without tokens and weights.

    Parameters
    ----------
    file
        ``positions.safetensors``.
    layer
        From 0, the embedding; None for the one in which the halves agree most.
    source
        What the user opened.

    Raises
    ------
    SourceError
        The file is damaged, or has no such layer.
    """
    tables = read_layers(file)
    number = tables.clearest() if layer is None else layer
    if number >= tables.shape[0]:
        raise SourceError(
            f"{tables.name} has the layers 0 to {tables.shape[0] - 1}; there is no layer {number}.",
            "Open one of them.",
        )
    name = f"layer {number}"
    return PositionalModel(
        LayerStore(tables, number),
        Architecture(table=name),
        source=source,
        name=f"{tables.name} · {name}",
        folder=file.parent,
        making=_making(file.parent),
    )


def _making(folder: Path) -> Making:
    """Return the notes on the making of the model, which earlier runs have not written."""
    with suppress(SourceError):
        return parse_making(read_json(folder / DESCRIPTION).get("model", {}))
    return Making()


def read_layers(file: Path) -> LayerTables:
    """Read a file's header and columns; its tables are read on demand.

    Raises
    ------
    SourceError
        It is not a file of a run, or is damaged.
    """
    with reading_file(file, AGAIN):
        opened = LocalFile(file)
        regions = read_header(opened).regions
        length = int.from_bytes(opened.read_at(0, 8).tobytes(), "little")
        header = load_json(f"The header of {file.name}", opened.read_at(8, length).tobytes())
        metadata = header.get("__metadata__")
        metadata = metadata if isinstance(metadata, dict) else {}
        if metadata.get("format") != FORMAT or metadata.get("version") != VERSION:
            raise SourceError(f"{file} does not hold positions of layers.", AGAIN)
        columns = {name: _column(region) for name, region in regions.items()}
        half_a, half_b = (regions.get(name) for name in ("half_a", "half_b"))
        windows, special = columns.get("windows"), columns.get("special")
        if half_a is None or half_b is None or windows is None or special is None:
            raise SourceError(f"{file} lacks tensors.", AGAIN)
        shape = half_a.info.shape
        if len(shape) != 3 or 0 in shape or half_b.info.shape != shape:
            raise SourceError(f"The tables of {file} have shapes that do not fit.", AGAIN)
        if {stored_dtype(half.info) for half in (half_a, half_b)} != {_FLOAT}:
            raise SourceError(f"The tables of {file} are not float32.", AGAIN)
        _check_counts(file, windows, special, shape[1])
        by_layer = {
            name: column
            for name, column in columns.items()
            if column is not None and column.shape == shape[:1]
        }
        if not by_layer.keys() >= {*MEASURED}:
            raise SourceError(f"{file} lacks a number for each layer.", AGAIN)
        return LayerTables(
            opened,
            name=str(metadata.get("name") or file.parent.name),
            source=str(metadata.get("source") or ""),
            shape=shape,
            windows=windows.astype(np.int64),
            special=tuple(int(i) for i in special),
            share=by_layer["share"],
            share_noise=by_layer["share_noise"],
            halves_cosine=by_layer["halves_cosine"],
            random_share=by_layer.get("random_share"),
            **{name: by_layer.get(name) for name in AMOUNTS},
            _halves=(half_a, half_b),
        )


def _column(region: Region) -> npt.NDArray[Any] | None:
    """Read a short list of whole or real numbers; None for anything else."""
    info, kinds = region.info, {"I64": "<i8", "F64": "<f8"}
    if info.dtype not in kinds or len(info.shape) != 1 or info.nbytes > 8 * MAX_COLUMN:
        return None
    values = region.file.read_at(region.offset, info.nbytes).view(kinds[info.dtype])
    return values.astype(values.dtype.newbyteorder("="))


def _check_counts(
    file: Path, windows: npt.NDArray[Any], special: npt.NDArray[Any], length: int
) -> None:
    sound = len(windows) == 2 and bool((windows >= 0).all()) and windows.sum() > 0
    sound = sound and bool(((special >= 0) & (special < length)).all())
    if not sound or len({0, *special.tolist()}) >= length - 1:
        raise SourceError(f"{file} has counts that no run writes.", AGAIN)
