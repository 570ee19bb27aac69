"""A model's table for another number of positions, or for a picture of another size.

``resampled:20x20,google/vit-base-patch16-224`` has a position for each of 20 × 20 patches, by
bicubic interpolation, as vision models of transformers do it themselves for pictures of another
size. ``resampled:2048,openai-community/gpt2`` has 2,048 rows, at the places p · n / 2048 of the n
that there are, between rows by linear interpolation, as in position interpolation (Chen et al.,
arXiv:2306.15595).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.measures.extension import resample_rows
from geometry.models.architecture import Architecture
from geometry.models.computed import OneTable
from geometry.models.derived import FORMS, Derived
from geometry.models.model import PositionalModel
from geometry.pca.components import Array

MOST_ROWS = 262_144
"""As many as those of any table: twice the longest contexts that are in use."""
MOST_NUMBERS = 2**27
"""1 GB in float64."""
SHARPNESS = -0.75
"""The parameter of the cubic kernel that torch has (Keys, 1981)."""
_SIZE = re.compile(r"([1-9][0-9]{0,6})(?:\s*[x×]\s*([1-9][0-9]{0,6}))?", re.IGNORECASE)


def resample_grid(
    table: npt.ArrayLike, grid: tuple[int, int], to: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """Interpolate the positions of a picture's patches to another number of them.

    Parameters
    ----------
    table : (rows · columns, d)
        Patches row by row.
    grid
        Rows and columns of patches.
    to
        Those of the result.

    Returns
    -------
    (rows · columns of ``to``, d) float64
        As ``torch.nn.functional.interpolate`` with ``mode="bicubic"`` and without aligned corners.
    """
    rows, columns = grid
    P = np.asarray(table, dtype=np.float64).reshape(rows, columns, -1)
    down, across = _cubic(rows, to[0]), _cubic(columns, to[1])
    made: Array = np.einsum("ir,rcd,jc->ijd", down, P, across, optimize=True)
    return made.reshape(to[0] * to[1], P.shape[2])


def open_resampled(derived: Derived, model: PositionalModel) -> PositionalModel:
    """Open a model's table in another size, as a model without tokens and layers.

    Raises
    ------
    SourceError
        The size is none, too large, or not one of this model's kind; the model has no table.
    """
    size = _SIZE.fullmatch(derived.what)
    if size is None:
        raise SourceError(
            f"{derived.what!r} is no size of a table.", f"Use the form {FORMS['resampled']}."
        )
    if model.no_table or model.rows is not None or model.lags is not None:
        raise SourceError(
            f"{model.name} has no table of positions to resample.", "Open a model with one."
        )
    rows, columns = int(size[1]), int(size[2]) if size[2] else None
    count = rows * (columns or 1)
    if count > MOST_ROWS or count * model.d_model > MOST_NUMBERS:
        raise SourceError(
            f"{count:,} positions of {model.d_model} numbers are too many to make.",
            f"Ask for at most {min(MOST_ROWS, MOST_NUMBERS // model.d_model):,}.",
        )
    if (columns is None) is (model.grid is not None):
        asked, form = ("one number", "20x20") if columns is None else ("two", "2048")
        of = "the patches of a picture" if model.grid is not None else "positions of a text"
        raise SourceError(f"{model.name} has {of}, and the size has {asked}.", f"Use {form}.")
    place = Architecture(None, None, "", "resampled positions", {})
    if columns is None or model.grid is None:
        table = resample_rows(model.W_pos, rows)
    else:
        table = resample_grid(model.W_pos, model.grid, (rows, columns))
        place = replace(place, net=(rows, columns))
    return PositionalModel(
        OneTable(place.table, table, of=model),
        place,
        source=derived.source,
        name=derived.name(model.name),
        commit=model.commit,
    )


def _cubic(size: int, to: int) -> Array:
    """Return the weights of a bicubic interpolation along one direction, (to, size)."""
    places = (np.arange(to) + 0.5) * size / to - 0.5
    first = np.floor(places).astype(np.intp)
    weights = np.zeros((to, size))
    for tap in range(-1, 3):
        away = np.abs(places - (first + tap))
        near = ((SHARPNESS + 2) * away - (SHARPNESS + 3)) * away**2 + 1
        far = SHARPNESS * (((away - 5) * away + 8) * away - 4)
        value = np.where(away <= 1, near, np.where(away < 2, far, 0.0))
        # Beyond an edge are the values at it.
        np.add.at(weights, (np.arange(to), np.clip(first + tap, 0, size - 1)), value)
    return weights
