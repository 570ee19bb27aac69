"""A bias by lag as queries and keys, so that it is described as attention by position is."""

from __future__ import annotations

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.heads import HeadProjections
from geometry.models.model import PositionalModel

LONGEST = 512
"""Positions of the text at most: of 128 heads, whose scores then take 130 MB."""


def bias_heads(model: PositionalModel) -> HeadProjections:
    """Return queries and keys whose products are the bias that a model adds to attention scores.

    ALiBi, or a relative bias as T5's, which is the same in every layer that has one. The text is as
    long as the lags that have a bias of their own, 512 positions at most.

    Raises
    ------
    TensorUnavailable
        It has no bias by lag, or one by offsets in two directions.
    """
    lags = model.lags
    if lags is None or lags.kind == "relative table":
        raise TensorUnavailable(f"{model.name} adds no bias by lag to attention scores.")
    if lags.window is not None:
        raise TensorUnavailable(
            "Its bias is by offsets in two directions, and not by lag.",
            "Norms and Similarity show its heads as they are.",
        )
    n = min(lags.first + lags.count, LONGEST)
    lag = np.subtract.outer(np.arange(n), np.arange(n))
    rows = lag - lags.first if lags.first < 0 else np.abs(lag)
    queries = np.moveaxis(model.W_pos[rows], 2, 0).astype(np.float32)
    keys = np.broadcast_to(np.eye(n, dtype=np.float32), queries.shape)
    queries.flags.writeable = False
    return HeadProjections(0, queries, keys, 1.0, model.causal)
