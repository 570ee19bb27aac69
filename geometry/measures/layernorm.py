"""LayerNorm of token plus position, and two approximations that separate them.

With x = E_t + p_i centred over d_model, LN(x) = √d_model · x / ‖x‖ before its gain. The denominator
mixes token and position. Were the two orthogonal it would be √(‖E_t‖² + ‖p_i‖²); were the
positions' norms equal as well, √(‖E_t‖² + c²), independent of the position.

After "Positional embeddings in GPT-2 lie near(ish) the surface of a hypersphere" (2025), which
argues that GPT-2 comes close.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array, check_range, check_table, read_only, row_norms, unit_rows
from geometry.pca.unit import unit_of

#: Token rows converted to float64 at a time.
BLOCK_ROWS = 2048
RESAMPLES = 200
"""Draws of a bootstrap: five lie beyond each end of a 95 % interval."""
THINNED = 128
"""Positions of a bootstrap, evenly spaced: neighbours have nearly the same errors."""

Version = Literal["orthogonal", "constant_norm"]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ErrorIntervals:
    """95 % intervals of the median and the 95th percentile over tokens and positions."""

    median: Interval
    p95: Interval


@result
class LayerNormErrors:
    """Relative errors ‖approximate − exact‖ / ‖exact‖ of LayerNorm without the entanglement.

    Attributes
    ----------
    tokens : (m,) int
        The tokens of the sample, increasing.
    vocabulary
        Number of tokens that the sample is of.
    positions
        First and last position, both inclusive; every one is combined with every token.
    orthogonal : (m, p) float64
        Errors with the denominator √(‖E_t‖² + ‖p_i‖²).
    constant_norm : (m, p) float64
        Errors with the denominator √(‖E_t‖² + c²).
    mean_norm
        c, the mean norm of the range's centred rows.
    """

    tokens: npt.NDArray[np.int64]
    vocabulary: int
    positions: tuple[int, int]
    orthogonal: Array
    constant_norm: Array
    mean_norm: float

    def intervals(self, version: Version, seed: int = 0) -> ErrorIntervals | None:
        """Return how far the errors depend on the sample of tokens; None if it has all of them.

        By a bootstrap: whole tokens are drawn again, with all their positions, because the errors
        of one token are alike. Narrowed by √(1 − m/vocabulary), as the tokens of a sample differ.

        Parameters
        ----------
        version
            Which of the two approximations.
        seed
            Of the random numbers.
        """
        m = len(self.tokens)
        if m == self.vocabulary:
            return None
        errors: Array = getattr(self, version)
        n = errors.shape[1]
        thinned = errors[:, np.linspace(0, n - 1, min(n, THINNED)).round().astype(int)]
        order = np.argsort(thinned, axis=None)
        values, of_token = thinned.ravel()[order], order // thinned.shape[1]

        def percentiles(times: npt.NDArray[np.int64]) -> Array:
            """Return both percentiles where each token counts so many times."""
            so_far = np.cumsum(times[of_token])
            found: Array = values[np.searchsorted(so_far, np.array((0.5, 0.95)) * so_far[-1])]
            return found

        rng, even = np.random.default_rng(seed), np.full(m, 1.0 / m)
        drawn = np.array([percentiles(rng.multinomial(m, even)) for _ in range(RESAMPLES)])
        away = (drawn - percentiles(np.ones(m, dtype=np.int64))) * np.sqrt(1 - m / self.vocabulary)
        # Thinning may move the percentiles; how far draws are from them stays the same.
        ends = np.percentile(errors, (50, 95)) + np.percentile(away, (2.5, 97.5), axis=0)
        (low, low95), (high, high95) = np.maximum(ends, 0.0).tolist()
        return ErrorIntervals((low, high), (low95, high95))


def layernorm_errors(
    W_E: npt.ArrayLike,
    W_pos: npt.ArrayLike,
    positions: tuple[int, int],
    *,
    sample: int = 512,
    seed: int = 0,
    token_scale: float = 1.0,
    type_row: npt.ArrayLike | None = None,
) -> LayerNormErrors:
    """Errors of the two approximations over tokens × positions.

    Parameters
    ----------
    W_E : (d_vocab, d_model)
        Token embeddings; only the sampled rows are copied.
    W_pos : (n_positions, d_model)
        The table.
    positions
        First and last position, both inclusive.
    sample, seed
        Number of tokens drawn without repetition (all of a smaller vocabulary), and random seed.
    token_scale
        The family's factor of token embeddings (√d_model in some).
    type_row : (d_model,)
        Vector the family adds to every token (BERT's first token type), or None.

    Raises
    ------
    RangeError
        When the range is empty or leaves the table.
    ValueError
        When the tables have different widths.
    """
    tokens, table = check_tables(W_E, W_pos)
    first, last = check_range(positions, len(table))
    chosen = np.arange(len(tokens))
    if sample < len(tokens):
        chosen = np.sort(np.random.default_rng(seed).choice(len(tokens), sample, replace=False))
    # Beside huge rows tokens vanish, and beside tokens tiny rows do.
    unit = max(unit_of(table[first : last + 1]), 1.0)
    E = token_rows(tokens, chosen, token_scale, type_row) / unit
    E -= E.mean(axis=1, keepdims=True)
    rows = table[first : last + 1] / unit
    p = rows - rows.mean(axis=1, keepdims=True)
    of_tokens, of_positions = row_norms(E) ** 2, row_norms(p) ** 2
    mean_norm = float(np.sqrt(of_positions).mean())
    orthogonal = of_tokens[:, None] + of_positions
    exact = np.maximum(orthogonal + 2 * (E @ p.T), 0.0)
    constant = np.broadcast_to(of_tokens[:, None] + mean_norm**2, exact.shape)
    # Both keep the direction of x and change only its length, so comparing lengths suffices.
    errors = (_length_error(exact, orthogonal), _length_error(exact, constant))
    read_only(chosen, *errors)
    return LayerNormErrors(chosen, len(tokens), (first, last), *errors, mean_norm * unit)


def _length_error(exact: Array, approximate: Array) -> Array:
    """Relative error of 1/√approximate for 1/√exact, both squared norms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error: Array = np.abs(np.sqrt(exact / approximate) - 1.0)
    return np.where(approximate > 0.0, error, 0.0)


@dataclass(frozen=True, slots=True)
class TokenPosition:
    """A token and a position with the cosine of their raw embeddings."""

    value: float
    token: int
    position: int


@result
class TokenPositionCosines:
    """Largest |cos(E_t, P_i)| of each token over all positions.

    Attributes
    ----------
    largest : (d_vocab,) float64
        For each token.
    position : (d_vocab,) int
        The position of that largest value.
    histogram : (bins,) int
        Counts of |cos| of all tokens with all positions, in equal bins from 0 to 1.
    """

    largest: Array
    position: npt.NDArray[np.int64]
    histogram: npt.NDArray[np.int64]

    def most_alike(self, count: int = 10) -> tuple[TokenPosition, ...]:
        """Return the tokens most similar to some position, most similar first."""
        order = np.argsort(-self.largest, kind="stable")[:count]
        return tuple(
            TokenPosition(float(self.largest[t]), int(t), int(self.position[t])) for t in order
        )


def token_position_cosines(
    W_E: npt.ArrayLike,
    W_pos: npt.ArrayLike,
    bins: int = 200,
    *,
    on_block: Callable[[float], None] | None = None,
) -> TokenPositionCosines:
    """Cosines of all tokens with all positions, raw, block by block.

    Parameters
    ----------
    W_E : (d_vocab, d_model)
        Token embeddings.
    W_pos : (n_positions, d_model)
        The table: all stored rows.
    bins
        Number of histogram bins, at most 256.
    on_block
        Called after each block with the share of tokens done; may raise to stop.

    Raises
    ------
    ValueError
        When the tables have different widths.

    Notes
    -----
    Products are in single precision: cosines are accurate to 1e-6. Rows of zeros have cosine 0.
    """
    tokens, table = check_tables(W_E, W_pos)
    positions = unit_rows(table).astype(np.float32).T
    largest = np.empty(len(tokens))
    where = np.empty(len(tokens), dtype=np.int64)
    histogram = np.zeros(bins, dtype=np.int64)
    for start in range(0, len(tokens), BLOCK_ROWS):
        block = tokens[start : start + BLOCK_ROWS].astype(np.float32, copy=False)
        cosines = block @ positions
        np.abs(cosines, out=cosines)
        cosines *= _inverse_norms(block)[:, None]
        part = slice(start, start + len(block))
        where[part] = cosines.argmax(axis=1)
        largest[part] = cosines[np.arange(len(block)), where[part]].clip(max=1.0)
        cosines *= bins
        histogram += _count(np.minimum(cosines, bins - 1, out=cosines).astype(np.uint8))[:bins]
        if on_block is not None:
            on_block((start + len(block)) / len(tokens))
    read_only(largest, where, histogram)
    return TokenPositionCosines(largest, where, histogram)


def _count(numbers: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Count each number from 0 to 255, two at a time, which is twice as fast."""
    flat = numbers.ravel()
    pairs = np.bincount(flat[: len(flat) // 2 * 2].view(np.uint16), minlength=256**2)
    square = pairs.reshape(256, 256)
    counts: npt.NDArray[np.int64] = square.sum(axis=0) + square.sum(axis=1)
    if len(flat) % 2:
        counts[flat[-1]] += 1
    return counts


def _inverse_norms(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    # Shorter rows have no inverse norm in single precision.
    seen = norms > np.finfo(np.float32).tiny
    inverse: npt.NDArray[np.float32] = np.zeros(len(norms), dtype=np.float32)
    inverse[seen] = 1.0 / norms[seen]
    return inverse


def check_tables(
    W_E: npt.ArrayLike, W_pos: npt.ArrayLike
) -> tuple[npt.NDArray[np.floating], Array]:
    """Return the token embeddings unchanged, and the table as an array.

    Raises
    ------
    ValueError
        When one is not a matrix, or they have different widths.
    """
    table, tokens = check_table(W_pos), np.asarray(W_E)
    if tokens.ndim != 2 or tokens.shape[1] != table.shape[1]:
        raise ValueError(
            f"expected token embeddings (d_vocab, {table.shape[1]}), got {tokens.shape}"
        )
    return tokens, table


def token_rows(
    tokens: npt.NDArray[np.floating],
    chosen: npt.NDArray[np.int64],
    scale: float,
    type_row: npt.ArrayLike | None,
) -> Array:
    """Return (m, d_model) embeddings of m tokens as the family adds them to positions."""
    rows: Array = scale * tokens[chosen].astype(np.float64)
    if type_row is not None:
        rows += np.asarray(type_row, dtype=np.float64)
    return rows
