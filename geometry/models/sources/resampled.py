"""A model's table for another number of positions, or for a picture of another size.

``resampled:20x20,google/vit-base-patch16-224`` has a position for each of 20 × 20 patches, as the
family's own module makes them for a picture of another size.
``resampled:2048,openai-community/gpt2`` has 2,048 rows, at the places p · n / 2048 of the n that
there are, between rows by linear interpolation, as in position interpolation (Chen et al.,
arXiv:2306.15595).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.measures.extension import resample_rows
from geometry.models.families.stack import Resizing
from geometry.models.model import PositionalModel
from geometry.models.recognition.architecture import Architecture
from geometry.models.sources.computed import model_derived_from
from geometry.models.sources.source import FORMS, Source
from geometry.pca.components import Array

MAX_ROWS = 262_144
"""As for any table: twice the longest contexts that are in use."""
MAX_NUMBERS = 2**27
"""1 GB in float64."""
UNKNOWN = "has no resizing of its own that is known: shown is a bicubic interpolation."
_SIZE = re.compile(r"([1-9][0-9]{0,6})(?:\s*[x×]\s*([1-9][0-9]{0,6}))?", re.IGNORECASE)


def most_rows(d_model: int) -> int:
    """Return the number of rows that a table of a model may have at most."""
    return min(MAX_ROWS, MAX_NUMBERS // d_model)


def too_large(rows: int, d_model: int) -> SourceError:
    """Return the error for a table with more rows."""
    return SourceError(
        f"{rows:,} positions of {d_model} numbers are too many to make.",
        f"Ask for at most {most_rows(d_model):,}.",
    )


def resample_grid(
    table: npt.ArrayLike,
    grid: tuple[int, int],
    to: tuple[int, int],
    resizing: Resizing = "bicubic",
) -> Array:
    """Make the positions of a picture's patches fit another number of them.

    Parameters
    ----------
    table : (rows · columns, d)
        Patches row by row.
    grid
        Rows and columns of patches.
    to
        Rows and columns of the result.
    resizing
        How to resize; "" as "bicubic".

    Returns
    -------
    (rows · columns of ``to``, d) float64
    """
    P = np.array(table, dtype=np.float64).reshape(*grid, -1)
    if resizing in ("tiled", "buckets", "steps"):
        rows, columns = (_places(resizing, n, m) for n, m in zip(grid, to, strict=True))
        resampled = P[np.ix_(rows, columns)]
    elif resizing == "bilinear, cut":
        square = _interpolated(P, (max(to), max(to)), "bilinear", "")
        resampled = square[: to[0], : to[1]]
    else:
        mode, _, options = (resizing or "bicubic").partition(", ")
        resampled = _interpolated(P, to, mode, options)
    return resampled.reshape(to[0] * to[1], P.shape[2])


def _places(resizing: Resizing, size: int, to: int) -> npt.NDArray[np.int64]:
    """Return the row or column of the table for each of another number of them, (to,)."""
    if resizing == "tiled":
        return np.arange(to) % size
    import torch

    # In single precision as in the models, since it decides where two fractions are equal.
    before = (
        torch.arange(to) / to
        if resizing == "buckets"
        else torch.arange(to) * torch.tensor(1.0 / to)
    )
    edges = torch.arange(1 / size, 1.0, 1 / size)
    indices: npt.NDArray[np.int64] = torch.bucketize(before, edges, right=True).numpy()
    return indices


def _interpolated(P: Array, to: tuple[int, int], mode: str, options: str) -> Array:
    """Interpolate (rows, columns, d) as transformers' modules do it."""
    import torch

    picture = torch.from_numpy(P).permute(2, 0, 1)[None]
    corners = None if mode == "nearest" else options == "corners aligned"
    scaled = torch.nn.functional.interpolate(
        picture, size=to, mode=mode, align_corners=corners, antialias=options == "antialiased"
    )
    result: Array = scaled[0].permute(1, 2, 0).numpy()
    return result


def open_resampled(source: Source, model: PositionalModel) -> PositionalModel:
    """Open a model's table in another size, as a model without tokens and layers.

    Raises
    ------
    SourceError
        The size is invalid, too large, or not of this model's kind; the model has no table.
    """
    size = _SIZE.fullmatch(source.what)
    if size is None:
        raise SourceError(
            f"{source.what!r} is no size of a table.", f"Use the form {FORMS['resampled']}."
        )
    if model.no_table or model.rows is not None or model.lags is not None:
        raise SourceError(
            f"{model.name} has no table of positions to resample.", "Open a model with one."
        )
    rows, columns = int(size[1]), int(size[2]) if size[2] else None
    count, resizing = rows * (columns or 1), model.resizing
    if resizing == "bilinear, cut" and columns is not None:
        count = max(rows, columns) ** 2
    if count > most_rows(model.d_model):
        raise too_large(count, model.d_model)
    if (columns is None) is (model.grid is not None):
        given, form = ("one number", "20x20") if columns is None else ("two", "2048")
        kind = "the patches of a picture" if model.grid is not None else "positions of a text"
        raise SourceError(f"{model.name} has {kind}, and the size has {given}.", f"Use {form}.")
    place = Architecture(table="resampled positions")
    if columns is None or model.grid is None:
        table = resample_rows(model.W_pos, rows)
    else:
        table = resample_grid(model.W_pos, model.grid, (rows, columns), resizing)
        notes = () if resizing else (f"{model.family or 'This model'} {UNKNOWN}",)
        place = replace(place, net=(rows, columns), notes=notes)
    return model_derived_from(model, source, table, place)
