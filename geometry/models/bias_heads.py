"""Attention of heads by a bias alone: by lag in a text, by offset in a picture.

A bias by lag is given as queries and keys, so that it is described like attention by position.
"""

from __future__ import annotations

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.heads import HeadProjections
from geometry.models.model import PositionalModel
from geometry.pca.components import Array

LONGEST = 512
"""Maximum positions of the text, so that the scores of 128 heads take 130 MB."""


def bias_heads(model: PositionalModel) -> HeadProjections:
    """Return queries and keys whose products are the bias that a model adds to attention scores.

    ALiBi, or a relative bias as in T5, which is the same in every layer that has one. The text is
    as long as the lags with a bias of their own, at most 512 positions.

    Raises
    ------
    TensorUnavailable
        It has no bias by lag, or one by offsets in two directions.
    """
    lags = model.lags
    if lags is None or lags.kind == "relative table":
        raise TensorUnavailable(f"The model {model.name} adds no bias by lag to attention scores.")
    if lags.window is not None:
        raise TensorUnavailable(
            "Its bias is by offsets in two directions, and not by lag: see offset_attention."
        )
    n = min(lags.first + lags.count, LONGEST)
    lag = np.subtract.outer(np.arange(n), np.arange(n))
    rows = lag - lags.first if lags.first < 0 else np.abs(lag)
    queries = np.moveaxis(model.W_pos[rows], 2, 0).astype(np.float32)
    keys = np.broadcast_to(np.eye(n, dtype=np.float32), queries.shape)
    queries.flags.writeable = False
    return HeadProjections(0, queries, keys, 1.0, model.causal)


def offset_attention(model: PositionalModel) -> tuple[Array, Array]:
    """Return the bias of each head by the offset of a patch, and the attention by the bias alone.

    Returns
    -------
    bias : (n_heads, 2 rows − 1, 2 columns − 1)
        By the query's row and column minus the key's, which increase along the axes and are zero in
        the middle. The heads are those of all blocks with windows of this size, in order.
    attention : the same
        Its softmax over all offsets, for a query whose window reaches equally far on every side.

    Raises
    ------
    TensorUnavailable
        The model has no bias by offsets in two directions.
    """
    lags = model.lags
    if lags is None or lags.net is None:
        raise TensorUnavailable(f"{model.name} adds no bias by offset to attention scores.")
    bias = model.W_pos.T.reshape(-1, *lags.net).astype(np.float64)
    weights = np.exp(bias - bias.max(axis=(1, 2), keepdims=True))
    attention: Array = weights / weights.sum(axis=(1, 2), keepdims=True)
    return bias, attention
