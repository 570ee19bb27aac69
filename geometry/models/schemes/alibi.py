"""Models that lower attention scores by a slope times the distance: ALiBi."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from geometry.checkpoints.config import first_int, unusable
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import FLOATS, FloatArray, TensorInfo, TensorStore
from geometry.measures.lag_bias import alibi_slopes
from geometry.models.families.stack import Side
from geometry.models.schemes.lags import MAX_HEADS, Lags, in_order
from geometry.models.schemes.rotary import RIGHT
from geometry.models.schemes.rotary_settings import HEADS
from geometry.pca.components import Array

SHOWN_LAGS = 1024
"""Number of shown lags; the lines continue beyond."""
SMALLEST, LARGEST = 1e-3, 1e3
"""Bounds of the exponent in a configuration."""
MAX_STORED = 2**24
"""Maximum numbers of a stored bias that is read and compared."""
ROUNDING = 2.0**-7
"""Relative rounding of slopes stored in half precision, also as differences."""
ENCODERS = ("bert", "jina-bert-v2")
"""Families with ALiBi whose positions also attend to later ones; the second is of GGUF files."""
_STORED = re.compile(r"(^|[._])(alibi|alibi_bias|slopes?)$")


def find_alibi(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> Lags:
    """Return ALiBi's lags.

    Raises
    ------
    SourceError
        The configuration lacks the number of heads, or another setting of the family's formula.
    """
    heads = first_int(config, HEADS)
    if heads is None or not 0 < heads <= MAX_HEADS:
        given = "no number of heads" if heads is None else f"{heads} heads"
        raise SourceError(f"config.json has {given}, which cannot be.", RIGHT)
    kind = config.get("model_type")
    slopes = alibi_slopes(heads, most=_bias_max(config), every_other=kind == "mpt")
    note, stored = "", in_order(name for name in index if _is_slopes(index[name], heads))
    if kind in ("falcon", "RefinedWeb", "RefinedWebModel"):  # whose code computes its own
        slopes, stored = slopes / math.sqrt(_width(config, heads)), ()
        note = "Slopes are those after the division by √d of scores and penalty alike."
    if config.get("alibi_scaling"):  # of Jais, for longer texts
        note = "The alibi_scaling of config.json is not used."
    side: Side = "encoder" if kind in ENCODERS else "decoder"
    return Lags(
        "alibi",
        0,
        SHOWN_LAGS,
        tuple(slopes.tolist()),
        tensor="".join(stored[:1]),
        side=side,
        tensors=stored,
        note=note,
    )


def _bias_max(config: Mapping[str, Any]) -> float:
    """Return the number in place of 8 in the formula, from the settings of MPT or a GGUF file."""
    attention = config.get("attn_config")
    value = attention.get("alibi_bias_max") if isinstance(attention, dict) else None
    value = config.get("alibi_bias_max") if value is None else value  # of a GGUF file
    if value is None:
        return 8.0
    if type(value) not in (int, float) or not SMALLEST <= value <= LARGEST:
        raise unusable("alibi_bias_max", value, f"a number from {SMALLEST} to {LARGEST}")
    return float(value)


def _width(config: Mapping[str, Any], heads: int) -> int:
    hidden = first_int(config, ("hidden_size", "n_embed"))
    if hidden is None or hidden < heads:
        given = "no hidden_size" if hidden is None else f"a hidden_size of {hidden}"
        raise SourceError(f"config.json has {given} for {heads} heads, which cannot be.", RIGHT)
    return hidden // heads


def _is_slopes(info: TensorInfo, heads: int) -> bool:
    if not _STORED.search(info.name) or info.dtype not in FLOATS:
        return False
    return heads in info.shape and math.prod(info.shape) <= MAX_STORED


def compared(lags: Lags, store: TensorStore) -> Lags:
    """Return ALiBi's lags with the slopes of the checkpoint, if these differ.

    For a model on the Hub, only the first stored slopes are downloaded.

    Raises
    ------
    SourceError
        The stored bias is not a slope times the distance.
    """
    if lags.kind != "alibi" or not lags.tensors:
        return lags
    first, *further = lags.tensors
    names = [first, *(name for name in further if not store.bytes_to_fetch(name))]
    stored = {name: _slopes(name, store.read(name), len(lags.slopes)) for name in names}
    away = max(float(np.abs(slopes_of / lags.slopes - 1.0).max()) for slopes_of in stored.values())
    if away <= ROUNDING:
        return replace(lags, tensors=())
    note = (
        f"The slopes stored in {lags.tensor} are shown: stored ones differ from the formula by up "
        f"to {away:.2g} of its own."
    )
    slopes = tuple(stored[lags.tensor].tolist())
    return replace(lags, slopes=slopes, stored=True, note=f"{lags.note} {note}".strip())


def _slopes(name: str, stored: FloatArray, heads: int) -> Array:
    """Return the slopes in a stored tensor: a slope of each head, or a bias by query and key."""
    if not np.isfinite(stored).all():
        raise SourceError(f"{name} has NaN or infinite numbers.", "Open another checkpoint.")
    if stored.size == heads:
        slopes: Array = np.abs(stored.astype(np.float64).reshape(heads))
        straight = True
    elif stored.shape[-1] == heads and heads not in stored.shape[:-1]:
        slopes, straight = (
            np.zeros(heads),
            False,
        )  # there is no axis of keys after that of the heads
    else:
        axis = stored.shape.index(heads)
        # The last query's row, with decreasing distances of keys; leading axes are of a batch.
        last = stored[(0,) * axis].astype(np.float64).reshape(heads, -1, stored.shape[-1])[:, -1]
        steps = np.diff(last, axis=1)
        slopes = np.abs(steps.mean(axis=1)) if steps.shape[1] else np.zeros(heads)
        rounding = ROUNDING * np.abs(last).max(axis=1, initial=0.0)
        straight = bool(
            (np.abs(np.abs(steps) - slopes[:, None]).max(axis=1, initial=0.0) <= rounding).all()
        )
    if not slopes.all() or not straight:
        raise SourceError(
            f"{name} should be a slope times the distance for each of {heads} heads; its shape is "
            f"{stored.shape}, and it is not.",
            RIGHT,
        )
    return slopes
