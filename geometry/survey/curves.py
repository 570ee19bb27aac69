"""The curves of a survey's checkpoints, of which its file has the components."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.pca.pca import procrustes_rotation
from geometry.survey.read import Stamp, Survey, read_unchanged, reading_survey

if TYPE_CHECKING:
    from pathlib import Path

Array = npt.NDArray[np.float64]

#: Rows whose components are unpacked at once.
BATCH = 16

#: Points of two curves by which one is turned onto the other.
POINTS = 64

#: Columns of the file that make a curve.
CURVE_COLUMNS = ("source", "n_positions", "first_position", "last_position", "coordinates")


def read_curves(survey: Survey, sources: Collection[str]) -> dict[str, Array]:
    """Read the curves of some checkpoints.

    Returns
    -------
    dict
        For each of them that has components in the file: its first three in its range of
        positions, (m, 3), with zeros where there are fewer.

    Raises
    ------
    SourceError
        The file is damaged, or cannot be read.
    """
    wanted = frozenset(sources)

    def read(files: Sequence[Path], _: Stamp) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for file in files:  # newer rows come later
            found |= _read(file, wanted)
        return found

    return read_unchanged(survey.path, read)


def _read(path: Path, wanted: frozenset[str]) -> dict[str, Array]:
    from pyarrow import parquet

    found: dict[str, Array] = {}
    with reading_survey(path), path.open("rb") as raw:
        file = parquet.ParquetFile(raw, page_checksum_verification=True)
        if any(name not in file.schema_arrow.names for name in CURVE_COLUMNS):
            return {}
        for group in range(file.metadata.num_row_groups):
            here = file.read_row_group(group, ["source"]).column("source").to_pylist()
            if wanted.isdisjoint(here):
                continue
            at = 0
            for batch in file.iter_batches(BATCH, [group], list(CURVE_COLUMNS)):
                some, at = here[at : at + len(batch)], at + len(batch)
                if wanted.isdisjoint(some):
                    continue
                for row in batch.to_pylist():
                    if row["source"] in wanted and (curve := _curve(row)) is not None:
                        found[row["source"]] = curve
    return found


def _curve(row: Mapping[str, Any]) -> Array | None:
    """Return the curve of a row; None if it has none, or one that cannot be."""
    n, stored = row["n_positions"], row["coordinates"]
    first, last = row["first_position"], row["last_position"]
    if not stored or None in (n, first, last) or not 0 <= first < last < n:
        return None
    if len(stored) % (2 * n):
        return None
    coordinates = np.frombuffer(stored, "<f2").reshape(n, -1)[first : last + 1, :3]
    curve = np.zeros((len(coordinates), 3))
    curve[:, : coordinates.shape[1]] = coordinates
    return curve if np.isfinite(curve).all() else None


def turned_alike(curves: Mapping[str, Array]) -> dict[str, Array]:
    """Turn curves onto the last of them, each centred and with points at distance 1, on average.

    Components have signs and orders of their own in each checkpoint, so that the same curve may
    look different. Each is turned, or reflected, onto the one after it, by points at the same
    share of its length, since the steps of a training change little from one to the next.

    Parameters
    ----------
    curves
        (m, 3) each, in an order in which neighbours are alike.

    Returns
    -------
    dict
        Of the same names in the same order, (m, 3) each: root mean square distance 1 from the mean.
    """
    turned: dict[str, Array] = {}
    after: Array | None = None
    for name, curve in reversed(list(curves.items())):
        centred = curve - curve.mean(axis=0)
        size = math.sqrt(float(np.square(centred).sum(axis=1).mean()))
        one: Array = centred / (size or 1.0)
        if after is not None:
            one = one @ procrustes_rotation(_thinned(one), after).T
        turned[name], after = one, _thinned(one)
    return {name: turned[name] for name in curves}


def _thinned(curve: Array) -> Array:
    at = np.linspace(0, len(curve) - 1, POINTS)
    places = np.arange(len(curve))
    return np.column_stack([np.interp(at, places, column) for column in curve.T])
