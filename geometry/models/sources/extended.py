"""The first rows of a model's table, taken to more positions.

``extended:helix:768:1024,openai-community/gpt2`` has the first 768 rows of the table, and after
them 256 of the helix that is fitted to these; ``fourier`` in its place continues their waves, and
``interpolate`` stretches the 768 rows to 1,024 (:mod:`geometry.measures.extension`).
"""

from __future__ import annotations

import re
from typing import cast

from geometry.checkpoints.errors import SourceError
from geometry.measures.extension import FEWEST, METHODS, Method, extend_table
from geometry.models.model import PositionalModel
from geometry.models.recognition.architecture import Architecture
from geometry.models.sources.computed import model_derived_from
from geometry.models.sources.resampled import most_rows, too_large
from geometry.models.sources.source import FORMS, Source

_PARAMETERS = re.compile(r"([a-z]+):([1-9][0-9]{0,6}):([1-9][0-9]{0,6})")


def extended_source(
    method: Method, kept: int, length: int, model: PositionalModel
) -> Source | None:
    """Return the source of a model's first rows, extended to a number of positions.

    None if it cannot be made: the model is derived or its table was chosen, or the result would be
    too large.
    """
    derived = model.table_choice is not None or model.source.of is not None
    if derived or length > most_rows(model.d_model):
        return None
    return Source.derive("extended", f"{method}:{kept}:{length}", model.source)


def why_not_extended(model: PositionalModel) -> str:
    """Return why a model has no table that could be continued, as a sentence; "" if it has."""
    if model.no_table:
        return f"The model {model.name} has no table of positions to continue."
    if model.grid is not None:
        return f"The positions of {model.name} are the patches of a picture, which has no next one."
    if model.lags is not None:
        return f"The rows of {model.name} are distances, and no positions to continue."
    if model.rows is not None:
        return f"The rows of {model.name} have labels of their own, and none that comes next."
    return ""


def open_extended(source: Source, model: PositionalModel) -> PositionalModel:
    """Open an extended table, as a model without tokens and layers.

    Raises
    ------
    SourceError
        The method or the numbers are invalid, or the model has no table that can be extended.
    """
    match = _PARAMETERS.fullmatch(source.what)
    if match is None or match[1] not in METHODS:
        raise SourceError(
            f"{source.what!r} is no way to extend a table: it has a method, {', '.join(METHODS)}, "
            "the number of rows to keep, and that of positions to make.",
            f"Use the form {FORMS['extended']}.",
        )
    if why := why_not_extended(model):
        raise SourceError(why, "Open a model with a table of positions.")
    method, kept, length = cast(Method, match[1]), int(match[2]), int(match[3])
    n = model.n_positions
    if kept > n:
        raise SourceError(
            f"{model.name} has {n:,} positions, fewer than the {kept:,} to be kept.",
            f"Keep {FEWEST} to {n:,} of them.",
        )
    if kept < FEWEST or length <= kept:
        raise SourceError(
            f"The first {kept:,} positions of {model.name} cannot be extended to {length:,}.",
            f"Keep {FEWEST} to {n:,} of them, and ask for more than are kept.",
        )
    if length > most_rows(model.d_model):
        raise too_large(length, model.d_model)
    place = Architecture(table="extended positions")
    table = extend_table(model.W_pos[:kept], length, method)
    return model_derived_from(model, source, table, place)
