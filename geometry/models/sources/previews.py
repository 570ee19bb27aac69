"""First looks at the tensors of a source that could be its table of positions."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.files import open_store, weights_in
from geometry.checkpoints.stores import TensorStore
from geometry.models.recognition.names_and_shapes import rows_and_width
from geometry.models.recognition.spellings import as_in_torch
from geometry.models.sources.local_models import locate_address
from geometry.models.sources.locating import local_path, located
from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca

MAX_NUMBERS = 16_000_000
"""Maximum numbers of a tensor that is read for a first look."""
MAX_ROWS = 256


def open_tensors(source: Source) -> TensorStore | None:
    """Open the tensors of a source on this machine; None if it is not here, or cannot be read."""
    source = located(source).model
    path = local_path(source) if source.address is None else locate_address(source.address)
    if path is None:
        return None
    with suppress(HelixscopeError, OSError), reading(source.text):
        return as_in_torch(open_store(weights_in(path) if path.is_dir() else path))
    return None


def curve_of(store: TensorStore, name: str) -> npt.NDArray[np.float64] | None:
    """Return the first three principal components of a tensor's rows.

    Parameters
    ----------
    store
        The tensors, of which only this one is read.
    name
        A tensor that can be a table.

    Returns
    -------
    (m, 3) float64 or None
        Of evenly spaced rows, at most :data:`MAX_ROWS`, in their order, with zeros for components
        that do not exist. None if the tensor is too large, would have to be downloaded, or cannot
        be drawn.
    """
    with suppress(HelixscopeError, OSError, ValueError, MemoryError):
        info = store.tensors[name]
        n_rows, width = rows_and_width(info)
        if n_rows < 2 or math.prod(info.shape) > MAX_NUMBERS or store.bytes_to_fetch(name):
            return None
        rows = np.linspace(0, n_rows - 1, min(n_rows, MAX_ROWS)).round().astype(np.intp)
        with reading(name):
            table = store.read(name).reshape(n_rows, width)[rows].astype(np.float64)
        if not np.isfinite(table).all():
            return None
        found = fit_pca(table, (0, len(table) - 1), 3).project(table)
        curve = np.zeros((len(table), 3))
        curve[:, : found.shape[1]] = found[:, :3]
        return curve
    return None
