"""Looking back in the query space and in the key space of every attention head.

If a head finds "N tokens back" by a rotation and a shift, then its positional queries and keys must
move by one too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.measures.heads import HeadProjections
from geometry.measures.lookback import LookBack, Scoring, check_length, look_back_each
from geometry.pca.components import Array, check_range, read_only

N_COMPONENTS = 3


@result
class HeadLookBack:
    """The motions that look back, in every head of a layer.

    Attributes
    ----------
    layer
        From 0; beyond the first an extrapolation, see :mod:`geometry.models.head_projections`.
    positions
        First and last position, both inclusive.
    preferred : (n_heads,) int64
        The lag, 0 or more, with the largest mean score of a query with the key that far back.
    queries, keys
        For each head, the motions of its queries' or keys' first three components.
    query_share, key_share : (n_heads,) float64
        Share of their variance over the range explained by these components.
    """

    layer: int
    positions: tuple[int, int]
    preferred: npt.NDArray[np.int64]
    queries: tuple[LookBack, ...]
    keys: tuple[LookBack, ...]
    query_share: Array
    key_share: Array

    @property
    def n_heads(self) -> int:
        """Number of heads."""
        return len(self.preferred)


def look_back_heads(
    heads: HeadProjections,
    positions: tuple[int, int],
    lags: Sequence[int] | npt.NDArray[np.int64] | None = None,
    *,
    scoring: Scoring = "even_odd",
    tell: Callable[[float], None] | None = None,
) -> HeadLookBack:
    """Fit the motions that look back to each head's queries and keys.

    Parameters
    ----------
    heads
        Queries and keys of all positions of the table.
    positions
        First and last position, both inclusive.
    lags, scoring, tell
        As in :func:`geometry.measures.lookback.look_back`.

    Raises
    ------
    RangeError
        When the range leaves the table, or is too short for a lag of 1.
    """
    n_heads, n, d_head = heads.queries.shape
    first, last = check_range(positions, n)
    k = min(N_COMPONENTS, d_head)
    check_length((first, last), k)
    rows = slice(first, last + 1)
    (queries, query_share), (keys, key_share) = (
        _leading(np.asarray(found[:, rows], dtype=np.float64), k)
        for found in (heads.queries, heads.keys)
    )
    both = look_back_each(
        np.concatenate([queries, keys]), lags, scoring=scoring, first=first, tell=tell
    )
    preferred = preferred_lags(heads, (first, last))
    read_only(preferred, query_share, key_share)
    return HeadLookBack(
        heads.layer,
        (first, last),
        preferred,
        both[:n_heads],
        both[n_heads:],
        query_share,
        key_share,
    )


def preferred_lags(heads: HeadProjections, positions: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Lag at which each head's kernel is largest: the mean of q_i·k_{i−Δ} over i of the range.

    Over lags from 0 that have pairs for a quarter of the range and that the head may attend to.
    Keys are of all positions, as in :mod:`geometry.measures.kernels`.

    Returns
    -------
    (n_heads,) int64
    """
    from scipy import fft  # slow to import, so not at start-up

    n_heads, n, _ = heads.queries.shape
    first, last = check_range(positions, n)
    m = last - first + 1
    longest = min(last, max((m - 1) - m // 4, 0))
    if heads.window is not None:
        longest = min(longest, heads.window[0])
    lags = np.arange(longest + 1)
    # Queries of the range that have a key this far back.
    pairs = last + 1 - np.maximum(first, lags)
    length = fft.next_fast_len(n + longest, real=True)  # zero-padded: no lag wraps around
    found = np.empty(n_heads, dtype=np.int64)
    for head in range(n_heads):
        queries = np.zeros((n, heads.queries.shape[2]))
        queries[first : last + 1] = heads.queries[head, first : last + 1]
        keys = np.asarray(heads.keys[head], dtype=np.float64)
        one, other = (fft.rfft(x, n=length, axis=0) for x in (queries, keys))
        sums = fft.irfft(np.einsum("fd,fd->f", one, np.conj(other)), n=length)[: longest + 1]
        found[head] = int((heads.scale * sums / pairs).argmax())
    return found


def _leading(rows: Array, k: int) -> tuple[Array, Array]:
    """Coordinates of several sets of rows (h, m, d) in their first components, and their share."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(np.swapaxes(centred, 1, 2) @ centred)
    total = np.maximum(values.sum(axis=1), np.finfo(float).tiny)
    coordinates: Array = centred @ vectors[:, :, : -k - 1 : -1]
    share: Array = np.clip(values[:, -k:].sum(axis=1) / total, 0.0, 1.0)
    return coordinates, share
