"""Attention of each head by position alone: kernel by lag, map, scores.

Score S(i, j) = scale · q_i·k_j; attention A(i, ·) is its softmax over all j that the model allows,
including those outside the range of i. A lag Δ = i − j counts backwards.

Idea: "Look back N" (comments on "GPT-2's positional embedding matrix is a helix", 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.checkpoints.threads import one_thread
from geometry.measures.heads import HeadProjections
from geometry.pca.components import Array, block_means, check_range, check_table, read_only

#: Queries whose scores are in memory at a time.
BLOCK_ROWS = 128
#: Scores in memory at a time, of so many heads together as have no more, or of one.
TOGETHER = 2**17
#: Lags from 0 to this are near.
NEAR = 10
#: Maximum rows and columns of a small map.
SMALL = 64
#: Exponents are clipped here: subnormal numbers are slow, and e^-60 is negligible beside 1.
LEAST = -60.0
#: Neighbouring rows that are averaged in the helix author's ablation.
BLOCK = 10

Floats = npt.NDArray[np.floating]


@result
class HeadKernels:
    """What all heads of a layer attend to, averaged over the queries of a range.

    Attributes
    ----------
    layer
        From 0; beyond the first an extrapolation, see :mod:`geometry.models.head_projections`.
    positions
        First and last query, both inclusive.
    lags : (L,) int
        Every lag that some query of the range may attend to (ahead, where negative).
    scores : (n_heads, L) float64
        κ(Δ), the mean of S(i, i − Δ) over the queries i that have such a position.
    attention : (n_heads, L) float64
        The mean of A(i, i − Δ) over the same queries.
    previous_token, own : (n_heads,) float64
        The mean of A(i, i − 1) and of A(i, i); 0 where there is no such pair.
    mass_lag_0_10 : (n_heads,) float64
        The mean of Σ A(i, i − Δ), Δ = 0 … 10.
    mean_lag : (n_heads,) float64
        The mean distance |i − j| weighted by A.
    by_lag_alone : (n_heads,) float64
        Share of the variance of all S(i, j) that κ(i − j) has: 1 where the score depends on the lag
        alone, the same at every position; 0 for scores that are all equal.
    maps : (n_heads, s, s) float32
        Each head's map, averaged to at most 64 × 64 cells: queries of the range down, positions of
        the range across.
    """

    layer: int
    positions: tuple[int, int]
    lags: npt.NDArray[np.int64]
    scores: Array
    attention: Array
    previous_token: Array
    own: Array
    mass_lag_0_10: Array
    mean_lag: Array
    by_lag_alone: Array
    maps: npt.NDArray[np.float32]

    @property
    def n_heads(self) -> int:
        """Number of heads."""
        return len(self.own)


def head_kernels(
    heads: HeadProjections,
    positions: tuple[int, int],
    *,
    on_head: Callable[[float], None] | None = None,
) -> HeadKernels:
    """Compute what all heads of a layer attend to.

    Parameters
    ----------
    heads
        Queries and keys of all positions of the table.
    positions
        First and last query, both inclusive.
    on_head
        Called after each head with the share of heads done; may raise to stop.

    Raises
    ------
    RangeError
        When the range is empty or leaves the table.

    Notes
    -----
    Products and exponentials are in the projections' precision, sums over blocks in float64. Memory
    use is that of one block of scores, for any number of positions.
    """
    n_heads, n, _ = heads.queries.shape
    first, last = check_range(positions, n)
    least, most = _lags(heads, first, last)
    lags = np.arange(least, most + 1)
    kind = heads.queries.dtype
    averaging = _averaging(last - first + 1, kind)
    scores, attention = np.zeros((2, n_heads, len(lags)))
    squares = np.zeros(n_heads)
    maps = np.zeros((n_heads, averaging.shape[1], averaging.shape[1]), np.float32)
    count = min(BLOCK_ROWS, last - first + 1)
    together = max(1, TOGETHER // (count * (n + count)))
    for start in range(0, n_heads, together):
        some = slice(start, start + together)
        with one_thread():
            for block in _blocks(heads, some, first, last):
                sums = block.sum_by_lag(np.ones((1, len(block.rows)), kind))
                into = slice(block.least_lag - least, block.least_lag - least + sums.shape[1])
                scores[some, into] += sums
                squares[some] += block.sum_of_squares()
                inverse = block.soften()
                attention[some, into] += block.sum_by_lag(inverse)
                _add_small(maps[some], block, inverse, averaging, first)
        for head in range(n_heads)[some]:
            if on_head is not None:
                on_head((head + 1) / n_heads)
    queries = last - first + 1
    near = attention[:, (lags >= 0) & (lags <= NEAR)].sum(axis=1) / queries
    distance = attention @ np.abs(lags) / queries
    # Queries of the range that have a position this far back.
    pairs = np.minimum(last, n - 1 + lags) - np.maximum(first, lags) + 1
    scores /= pairs
    attention /= pairs
    by_lag = _share_by_lag(scores, pairs, squares)
    one, none = (
        attention[:, lags == lag][:, 0] if lag in lags else np.zeros(n_heads) for lag in (1, 0)
    )
    arrays = (lags, scores, attention, one, none, near, distance, by_lag, maps)
    read_only(*arrays)
    return HeadKernels(heads.layer, (first, last), *arrays)


def _share_by_lag(scores: Array, pairs: Array, squares: Array) -> Array:
    """Return the share of the scores' variance that their means by lag have, (n_heads,)."""
    mean = (scores @ pairs / pairs.sum())[:, None]
    within = np.square(scores - mean) @ pairs
    total = squares - pairs.sum() * mean[:, 0] ** 2
    # Sums of squares of equal scores differ by rounding.
    known = total > 1e-6 * squares
    share: Array = np.divide(within, total, out=np.zeros_like(total), where=known)
    return np.clip(share, 0.0, 1.0)


def attention_map(heads: HeadProjections, head: int, positions: tuple[int, int]) -> Floats:
    """Return (m, m) attention of a head: queries of a range down, positions of it across.

    A row's sum is below 1 where the query attends to positions outside the range.

    Raises
    ------
    RangeError
        When the range is empty or leaves the table.
    """
    first, last = check_range(positions, heads.queries.shape[1])
    size = last - first + 1
    found = np.zeros((size, size), heads.queries.dtype)
    with one_thread():
        for block in _blocks(heads, slice(head, head + 1), first, last):
            (inverse,) = block.soften()
            low, high = max(first, block.start), min(last + 1, block.stop)
            rows = slice(block.rows.start - first, block.rows.stop - first)
            part = block.cells[0, :, low - block.start : high - block.start]
            np.multiply(part, inverse[:, None], out=found[rows, low - first : high - first])
    read_only(found)
    return found


def _add_small(
    small: Floats, block: _Block, inverse: Floats, averaging: Floats, first: int
) -> None:
    """Add a block's attention to the small maps of a range."""
    low, high = max(first, block.start), min(first + len(averaging), block.stop)
    rows = averaging[block.rows.start - first : block.rows.stop - first]
    step = -(-len(averaging) // small.shape[1])
    into = slice((block.rows.start - first) // step, (block.rows.stop - 1 - first) // step + 1)
    cells = block.cells[:, :, low - block.start : high - block.start]
    down = (rows[:, into].T * inverse[:, None]) @ cells
    small[:, into] += down @ averaging[low - first : high - first]


def average_blocks(rows: npt.ArrayLike, size: int = BLOCK) -> Array:
    """Replace every ``size`` neighbouring rows, counted from position 0, by their mean.

    The helix author's ablation: it removes what distinguishes neighbours.

    Parameters
    ----------
    rows : (n_positions, d)
        The table.
    size
        Positions in a block, at least 1; the last block may be shorter.

    Returns
    -------
    (n_positions, d) float64
    """
    table = check_table(rows)
    if size < 1:
        raise ValueError(f"a block has at least one position, got {size}")
    means, lengths = block_means(table, size)
    return np.repeat(means, lengths, axis=0)


class _Block:
    """Scores of some queries of some heads with all positions that any of them may attend to.

    Each row is shifted by one more place, so that a column of the underlying buffer holds one lag:
    a sum by lag is a product with the buffer, and masked scores, which depend on the lag alone, are
    the columns at either side.
    """

    def __init__(
        self, queries: Floats, keys: Floats, rows: range, start: int, lags: tuple[int, int]
    ) -> None:
        (heads, count, _), width = queries.shape, keys.shape[1]
        self.rows, self.start, self.stop = rows, start, start + width
        span = count + width - 1
        self._buffer = np.zeros((heads, count, span), queries.dtype)
        step = self._buffer.itemsize
        self.cells: Floats = np.lib.stride_tricks.as_strided(
            self._buffer.reshape(-1)[count - 1 :],
            (heads, count, width),
            (count * span * step, (span - 1) * step, step),
        )
        np.matmul(queries, keys.transpose(0, 2, 1), out=self.cells)
        # Lags decrease from column to column.
        most = rows.stop - 1 - start
        self._allowed = slice(max(0, most - lags[1]), min(span, most - lags[0] + 1))
        self.least_lag = most - self._allowed.stop + 1

    def sum_by_lag(self, weights: Floats) -> Floats:
        """Return weighted sums over the queries for each allowed lag, in increasing order.

        Parameters
        ----------
        weights : (heads or 1, rows)
        """
        sums: Floats = (weights[:, None] @ self._buffer[:, :, self._allowed])[:, 0]
        return sums[:, ::-1]

    def sum_of_squares(self) -> Array:
        """Return sums of all squared scores of allowed pairs, before :meth:`soften`, (heads,)."""
        part = self._buffer[:, :, self._allowed]
        squares: Array = np.einsum("hij,hij->h", part, part, dtype=np.float64)
        return squares

    def soften(self) -> Floats:
        """Exponentiate the scores in place; return the inverse of their sums, (heads, rows)."""
        beside = (slice(0, self._allowed.start), slice(self._allowed.stop, None))
        for columns in beside:
            self._buffer[:, :, columns] = -np.inf
        self.cells -= self.cells.max(axis=2, keepdims=True)
        np.maximum(self.cells, LEAST, out=self.cells)
        np.exp(self.cells, out=self.cells)
        for columns in beside:
            self._buffer[:, :, columns] = 0.0
        return 1 / (self._buffer @ np.ones(self._buffer.shape[2], self._buffer.dtype))


def _blocks(heads: HeadProjections, some: slice, first: int, last: int) -> Iterator[_Block]:
    """Yield the scores of the range's queries in some heads, block by block."""
    n = heads.queries.shape[1]
    lags = _lags(heads, first, last)
    queries = heads.queries[some, first : last + 1] * heads.queries.dtype.type(heads.scale)
    for begin in range(first, last + 1, BLOCK_ROWS):
        rows = range(begin, min(begin + BLOCK_ROWS, last + 1))
        start, stop = max(0, begin - lags[1]), min(n, rows.stop - lags[0])
        keys = heads.keys[some, start:stop]
        yield _Block(queries[:, begin - first : rows.stop - first], keys, rows, start, lags)


def _lags(heads: HeadProjections, first: int, last: int) -> tuple[int, int]:
    """Return the smallest and largest lag that a query of a range may attend to."""
    n = heads.queries.shape[1]
    back, ahead = heads.window or (n, n)
    return -min(0 if heads.causal else ahead, n - 1 - first), min(back, last)


def _averaging(size: int, kind: np.dtype[np.floating]) -> Floats:
    """Return the (size, s) matrix that averages columns in groups, to at most :data:`SMALL`."""
    step = -(-size // SMALL)
    of = np.arange(size) // step
    found: Floats = (of[:, None] == np.arange(of[-1] + 1)).astype(kind)
    found /= found.sum(axis=0)
    return found
