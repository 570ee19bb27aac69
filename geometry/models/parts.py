"""Parts of a checkpoint besides its positions: read on demand, or missing with the reason.

A part that cannot be read, such as a quantised weight, does not affect the other parts.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.formats.gguf_store import QUANTISED
from geometry.checkpoints.stores import UNQUANTISED, FloatArray, TensorInfo, TensorStore, unreadable

_KINDS = {1: "vector", 2: "matrix"}


def undecodable(info: TensorInfo) -> str:
    """Return the reason why a tensor's numbers cannot be read, by its type; "" if they can."""
    if info.dtype not in QUANTISED:
        return unreadable(info)
    if find_spec("gguf"):
        return ""
    return f"{info.name} is quantised ({info.dtype}), which needs the package gguf"


def why_missing(info: TensorInfo, axes: int) -> str:
    """Return the reason why a part cannot be read, by the index alone; "" if there is none."""
    if why := undecodable(info):
        return why
    if len(info.shape) != axes or 0 in info.shape:
        return f"{info.name} should be a {_KINDS[axes]}, got shape {info.shape}"
    return ""


def read_part(store: TensorStore, name: str, axes: int) -> FloatArray:
    """Read a vector (one axis) or a matrix (two).

    Returns
    -------
    FloatArray
        As :meth:`geometry.checkpoints.stores.TensorStore.read`; all numbers are finite.

    Raises
    ------
    TensorUnavailable
        It is quantised, of another shape, or holds numbers that are not finite.
    FileChanged
        The checkpoint has changed since it was opened.
    SourceError
        Its file is damaged.
    """
    if why := why_missing(store.tensors[name], axes):
        raise TensorUnavailable(f"{why}.", UNQUANTISED)
    values = store.read(name)
    check_finite(name, values)
    return values


def check_finite(name: str, values: npt.NDArray[np.floating]) -> None:
    """Raise TensorUnavailable if a part has NaN or infinite numbers."""
    # A finite sum implies finite numbers; otherwise it may have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(values.sum()) or np.isfinite(values).all()
    if not finite:
        raise TensorUnavailable(
            f"{name} has NaN or infinite numbers.",
            "The checkpoint is damaged or its training diverged; open another one.",
        )


def does_not_fit(name: str, shape: tuple[int, ...], expected: str) -> TensorUnavailable:
    """Return the error of a part whose shape does not fit the model."""
    return TensorUnavailable(
        f"{name} should have {expected}, got shape {shape}.",
        "The weights and the configuration are of different models.",
    )
