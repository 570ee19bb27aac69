"""Biases of attention scores by the distance of query and key.

A lag Δ = i − j counts from the query's position i back to the key's position j; of a key ahead it
is negative.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from geometry.pca.components import Array


def alibi_slopes(n_heads: int, *, most: float = 8.0, every_other: bool = False) -> Array:
    """Return the slopes of ALiBi (Press et al. 2021, arXiv:2108.12409): 2^(−8h/H), h from 1.

    Where the number of heads is no power of two, those of the next smaller one are followed by
    every other one of the next greater.

    Parameters
    ----------
    n_heads
        Heads of a layer, at least 1.
    most
        The 8 of the formula, which MPT has as a setting.
    every_other
        Whether all are of the next greater power instead, first the even and then the odd ones, as
        in MPT.

    Returns
    -------
    (n_heads,) float64
        A head's score is lowered by this, for each token of distance.
    """

    def of_power(count: int) -> Array:
        return 2.0 ** (-most * np.arange(1, count + 1) / count)

    below = 2 ** math.floor(math.log2(n_heads))
    if below == n_heads:
        return of_power(n_heads)
    above = of_power(2 * below)
    if every_other:
        return np.concatenate([above[1::2], above[::2]])[:n_heads]
    return np.concatenate([of_power(below), above[::2][: n_heads - below]])


def bucket_of(
    lags: npt.ArrayLike, n_buckets: int, farthest: int, *, both_ways: bool
) -> npt.NDArray[np.int64]:
    """Return the bucket of each lag, as in T5 (Raffel et al. 2020, arXiv:1910.10683).

    Half of the buckets have one lag each, the others logarithmically more.

    Parameters
    ----------
    lags
        Whole numbers.
    n_buckets
        Number of buckets, at least 2, and 4 for both ways.
    farthest
        From this distance on there is one bucket.
    both_ways
        Whether keys ahead have buckets of their own, the second half; otherwise they are in that of
        lag 0.
    """
    lags = np.asarray(lags, dtype=np.int64)
    ahead = np.zeros_like(lags)
    if both_ways:
        n_buckets //= 2
        ahead, distance = np.where(lags < 0, n_buckets, 0), np.abs(lags)
    else:
        distance = np.maximum(lags, 0)
    exact = n_buckets // 2
    # In single precision, as the models do, so that a lag at an edge is in the same bucket.
    ratio = np.maximum(distance, exact).astype(np.float32) / np.float32(exact)
    spread = np.log(ratio) / np.float32(math.log(farthest / exact))
    far = exact + (spread * np.float32(n_buckets - exact)).astype(np.int64)
    found: npt.NDArray[np.int64] = ahead + np.where(
        distance < exact, distance, np.minimum(far, n_buckets - 1)
    )
    return found
