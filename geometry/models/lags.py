"""Models that know positions by the lag of query and key, inside attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geometry.checkpoints.config import first_int
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import FloatArray, TensorInfo, TensorStore
from geometry.measures.lag_bias import alibi_slopes, bucket_of
from geometry.models.rotary import RIGHT
from geometry.models.stack import Side
from geometry.pca.components import Array

MAX_HEADS = 2_000
"""Heads of a layer that a configuration can give: ten times those of any model."""
SHOWN_LAGS = 1024
"""Lags of ALiBi that are shown: its lines go on as they are."""
FARTHEST = 128
"""T5's distance from which on there is one bucket, where a configuration has none."""
MAX_FARTHEST = 4096
"""Such a distance that a configuration can give: four times that of any model."""
BIAS = "relative_attention_bias.weight"
EMBEDDINGS = "encoder.rel_embeddings.weight"


@dataclass(frozen=True, slots=True)
class Lags:
    """What a model has for each lag.

    Attributes
    ----------
    kind
        "alibi": a slope of each head, by formula; "relative": a learned bias of each head, by
        buckets of lags; "relative table": a learned vector for each lag, as in DeBERTa.
    first
        The lag of the first row; those of the following ones increase by one.
    count
        Number of rows.
    slopes
        Those of ALiBi's heads; empty for the others.
    tensor
        Of the bias or the vectors; "" for ALiBi.
    side
        The part of the model.
    farthest
        Distance from which on there is one bucket.
    buckets
        Whether the rows are buckets of lags, not lags, as in DeBERTa v2 and v3.
    """

    kind: Literal["alibi", "relative", "relative table"]
    first: int
    count: int
    slopes: tuple[float, ...] = ()
    tensor: str = ""
    side: Side = "decoder"
    farthest: int = FARTHEST
    buckets: bool = False

    @property
    def why(self) -> str:
        """Why there is no table of positions; "" if the rows are one, of lags."""
        return {
            "alibi": "this model lowers attention scores by distance: it has no table",
            "relative": "this model adds a bias by distance to attention scores, which is no table",
        }.get(self.kind, "")

    @property
    def words(self) -> str:
        """What the rows are, for a caption."""
        last = self.first + self.count - 1
        if self.kind == "alibi":
            return f"ALiBi, lags 0 to {last}, a column for each head"
        what = "buckets" if self.buckets else "lags"
        of = "relative embeddings" if self.kind == "relative table" else "relative bias"
        each = "" if self.kind == "relative table" else ", a column for each head"
        return f"{of}, {what} {self.first} to {last}{each}".replace("-", "\N{MINUS SIGN}")

    def place_of(self, row: int) -> str:
        """Return the lag of a row, "lag 3"; "lag −3, ahead" for a key after the query."""
        lag, what = self.first + row, "bucket" if self.buckets else "lag"
        return f"{what} {lag}" if lag >= 0 else f"{what} \N{MINUS SIGN}{-lag}, ahead"

    def table(self, store: TensorStore) -> FloatArray:
        """Return its rows: (count, n_heads) or (count, d)."""
        lags = np.arange(self.first, self.first + self.count)
        if self.kind == "alibi":
            falling: Array = -lags[:, None] * np.asarray(self.slopes)
            return falling
        stored = store.read(self.tensor)
        if self.kind == "relative table":
            return stored
        both_ways = self.first < 0
        return stored[bucket_of(lags, len(stored), self.farthest, both_ways=both_ways)]


def find_alibi(config: Mapping[str, Any]) -> Lags:
    """Return ALiBi's lags.

    Raises
    ------
    SourceError
        The configuration lacks the number of heads.
    """
    heads = first_int(config, ("n_head", "num_attention_heads", "n_heads", "num_heads"))
    if heads is None or not 0 < heads <= MAX_HEADS:
        what = "no number of heads" if heads is None else f"{heads} heads"
        raise SourceError(f"config.json has {what}, which cannot be.", RIGHT)
    slopes = alibi_slopes(heads, every_other=config.get("model_type") == "mpt")
    side: Side = "encoder" if config.get("position_embedding_type") == "alibi" else "decoder"
    return Lags("alibi", 0, SHOWN_LAGS, tuple(float(one) for one in slopes), side=side)


def find_lags(index: Mapping[str, TensorInfo], config: Mapping[str, Any]) -> list[Lags]:
    """Return what a model has for each lag, the encoder's first; empty if it is not known."""
    names = sorted(index, key=lambda name: (len(name), name))
    found = []
    for name in names:
        if name == EMBEDDINGS or name.endswith(f".{EMBEDDINGS}"):
            shape = index[name].shape
            if len(shape) == 2 and shape[0] >= 2 and shape[0] % 2 == 0 and shape[1] > 0:
                rows = shape[0]
                buckets = (first_int(config, ("position_buckets",)) or -1) > 0
                return [Lags("relative table", -(rows // 2), rows, tensor=name, side="encoder",
                             buckets=buckets)]  # fmt: skip
    farthest = first_int(config, ("relative_attention_max_distance",)) or FARTHEST
    for side in ("encoder", "decoder"):
        own = [name for name in names if _side_of(name) == side]
        if not own or not 1 < farthest <= MAX_FARTHEST:
            continue
        shape = index[own[0]].shape
        sound = len(shape) == 2 and shape[0] >= 4 and 0 < shape[1] <= MAX_HEADS
        if not sound or farthest <= shape[0] // 2:
            continue
        first, count = (-farthest, 2 * farthest + 1) if side == "encoder" else (0, farthest + 1)
        found.append(Lags("relative", first, count, tensor=own[0], side=side, farthest=farthest))
    return found


def _side_of(name: str) -> str:
    """Return the part of the model whose bias a tensor is; "" if it is none."""
    if name != BIAS and not name.endswith(f".{BIAS}"):
        return ""
    return "decoder" if "decoder" in name else "encoder"
