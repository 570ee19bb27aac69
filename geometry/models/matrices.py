"""Matrices in one orientation and precision, for all families' formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.stores import UNQUANTISED, FloatArray, TensorStore
from geometry.measures.rotary import turning
from geometry.measures.sinusoids import sinusoid
from geometry.models.families.stack import Fused, Stack
from geometry.models.parts import undecodable
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.names_and_shapes import rows_and_width

WeightName = Literal["W_Q", "W_K", "W_V", "W_O", "W_in"]
MAX_ROTARY_POSITIONS = 4096
"""Maximum shown positions of a rotary model, as many as in the longest learned tables. A hundred
thousand would take a hundred megabytes."""
MAX_NUMBERS = 2**28
"""Size limit of a computed table, for damaged configurations."""
LARGEST = 2.0**1022
"""Upper limit of a table's numbers: the difference of larger ones may be infinite."""

WEIGHTS: tuple[WeightName, ...] = ("W_Q", "W_K", "W_V", "W_O", "W_in")


def read_positions(store: TensorStore, place: Architecture) -> FloatArray:
    """Read P: (n_positions, d_model), row i for position i, in stored precision, read-only.

    Raises
    ------
    SourceError
        P cannot be read, contradicts the configuration, or holds numbers that are not finite.
    """
    try:
        table = _rows(store, place)
    except TensorUnavailable as error:  # P is essential
        raise SourceError(str(error), error.advice) from error
    table = table[place.rows_of_positions(len(table))]
    if 0 in table.shape:
        raise SourceError(
            f"{place.table} has no positions: its shape is {store.tensors[place.table].shape}.",
            "Open another checkpoint.",
        )
    _check_finite(place, table)
    table.setflags(write=False)
    return table


def _rows(store: TensorStore, place: Architecture) -> FloatArray:
    table: FloatArray
    if place.rotary is not None:
        rotary = place.rotary
        n_positions = min(rotary.context or MAX_ROTARY_POSITIONS, MAX_ROTARY_POSITIONS)
        table = turning(rotary.rates, n_positions, rotary.factor)
    elif place.lags is not None:
        table = place.lags.table(store)
    elif not place.table:
        table = _computed(place)
    else:
        info = store.tensors[place.table]
        if why := undecodable(info):
            raise TensorUnavailable(f"{why}.", UNQUANTISED)
        shape = rows_and_width(info)
        _check_shape(place, shape)
        table = store.read(place.table).reshape(shape)
        if place.stack is not None and place.stack.divided:
            table = table / math.sqrt(shape[1])
    return table


def _check_finite(place: Architecture, table: FloatArray) -> None:
    numbers = table.reshape(-1)
    with np.errstate(all="ignore"):  # no number exceeds the root of the sum of squares
        if np.isfinite(numbers @ numbers):
            return
    # Finite rows have a finite minimum and maximum.
    largest = max(float(table.max()), -float(table.min()))
    if largest <= LARGEST:
        return
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise SourceError(
            f"{place.table} has NaN or infinite numbers in {len(bad)} of its rows, the first at "
            f"position {bad[0]}.",
            "The checkpoint is damaged or its training diverged; open another one.",
        )
    raise SourceError(
        f"{place.table} has numbers up to {largest:.2g}, whose differences are too large for any "
        "number.",
        "Divide the table by a constant.",
    )


def _computed(place: Architecture) -> npt.NDArray[np.float64]:
    of_speech = "max_target_positions" if place.family == "speech_to_text" else ""
    n_positions = place.setting("max_position_embeddings", "n_positions", of_speech)
    d_model = place.setting("d_model", "hidden_size", "n_embd", "embed_dim")
    if place.stack is None or place.stack.computed is None or not n_positions or not d_model:
        raise SourceError(
            f"{place.family} computes its positions, and its configuration does not give "
            "max_position_embeddings and d_model.",
            "Put the model's config.json in the folder of the weights.",
        )
    if min(n_positions, d_model) < 0 or n_positions * d_model > MAX_NUMBERS:
        raise SourceError(
            f"config.json specifies a computed table of {n_positions} × {d_model} numbers, more "
            "than any model has.",
            "Download or copy config.json again.",
        )
    return sinusoid(place.stack.computed, n_positions + place.row_of_position_0, d_model)


def _check_shape(place: Architecture, shape: tuple[int, ...]) -> None:
    """Check the table's shape against the configuration, as transformers does."""
    expected = shape if place.lenient else place.expected_shape(shape)
    if expected != shape:
        raise SourceError(
            f"{place.table} should have shape {expected} by config.json, got {shape}.",
            "The weights and the configuration are of different models: put the right config.json "
            "in the folder of the weights.",
        )


def orient(
    stored: FloatArray, stack: Stack | None, name: WeightName, n_heads: int | None
) -> FloatArray:
    """Return a (d_out, d_in) matrix, or a view of a part of a fused one.

    Raises TensorUnavailable: a fused matrix does not fit.
    """
    part = stored
    if stack is not None and stack.fused and name in ("W_Q", "W_K", "W_V"):
        part = _cut(part, name, stack.fused, n_heads, part.shape[1])
    return part


def orient_bias(
    stored: FloatArray, stack: Stack | None, name: WeightName, n_heads: int | None, d_model: int
) -> npt.NDArray[np.float64]:
    """Extract the bias of W_Q, W_K or W_V from that of a fused matrix."""
    column = stored[:, None]
    if stack is not None and stack.fused:
        column = _cut(column, name, stack.fused, n_heads, d_model)
    return np.array(column[:, 0], dtype=np.float64)


def _cut(
    matrix: FloatArray,
    name: WeightName,
    fused: Fused,
    n_heads: int | None,
    d_model: int,
) -> FloatArray:
    """Return W_Q, W_K or W_V of a fused (d_out of all three, d_model) matrix, or its bias."""
    rows, columns = matrix.shape
    if fused == "side by side":
        parts: Sequence[FloatArray] = np.split(matrix, 3) if rows == 3 * d_model else ()
    elif fused == "in thirds":
        parts = np.split(matrix, 3) if rows % 3 == 0 else ()
    elif n_heads is None or n_heads < 1 or d_model % n_heads:
        raise TensorUnavailable(
            "Without the number of heads, W_Q, W_K and W_V cannot be separated.",
            "Put the model's config.json in the folder of the weights.",
        )
    elif fused == "by head":
        d_head = d_model // n_heads
        by_head = matrix.reshape(n_heads, 3, d_head, columns) if rows == 3 * d_model else None
        parts = () if by_head is None else [by_head[:, i].reshape(-1, columns) for i in range(3)]
    else:
        # All queries, then the key and the value that all heads share.
        d_head = d_model // n_heads
        fits = rows == d_model + 2 * d_head
        parts = np.split(matrix, (d_model, d_model + d_head)) if fits else ()
    if not len(parts):
        raise TensorUnavailable(
            f"A matrix with W_Q, W_K and W_V ({fused}) does not fit {d_model} dimensions and "
            f"{n_heads} heads: its shape is {matrix.shape}.",
            "The weights and the configuration are of different models.",
        )
    return parts[("W_Q", "W_K", "W_V").index(name)]
