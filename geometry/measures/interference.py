"""Whether one sum of token and position can be mistaken for another: E(a) + p_i for E(b) + p_j.

A model reads only the sum. Two sums are compared as they are and after LayerNorm, and then ranked:
what share of random pairs of sums is farther apart?

After "Insights into GPT-2's positional encodings" (2024): CAT at 3 might be embedded as APPLE at 6.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.measures.layernorm import check_tables, token_rows
from geometry.pca.components import Array, read_only, row_norms, unit_rows

SAMPLE = 4096
#: Pairs whose sums are computed at a time.
BLOCK_PAIRS = 256

Measure = Literal["distance", "cosine", "layernorm_distance", "layernorm_cosine"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

Indices = npt.NDArray[np.int64]


T = TypeVar("T")


@result
class ByMeasure(Generic[T]):
    """One value for each measure of similarity.

    Attributes
    ----------
    distance
        Euclidean, in the tables' units.
    cosine
        0 where a sum is zero.
    layernorm_distance, layernorm_cosine
        The same of √d_model · x / ‖x‖, with x the sum centred over d_model: LayerNorm before its
        gain and bias.
    """

    distance: T
    cosine: T
    layernorm_distance: T
    layernorm_cosine: T

    def of(self, measure: Measure) -> T:
        """Return one of the measures."""
        value: T = getattr(self, measure)
        return value


@result
class Likeness(ByMeasure[Array]):
    """Similarity of the two sums of each of n pairs: (n,) float64 for each measure."""


@result
class RandomPairs:
    """Random pairs of sums, for comparison.

    Attributes
    ----------
    tokens, positions : (n, 2) int
        Of the two sums of each pair, drawn uniformly, with repetition.
    likeness
        Their similarities.
    seed
        Seed they were drawn with.
    """

    tokens: Indices
    positions: Indices
    likeness: Likeness
    seed: int

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.tokens)


@result
class Interference(ByMeasure[float]):
    """Similarity of E(a) + p_i and E(b) + p_j.

    Attributes
    ----------
    one, other
        Token and position of each.
    token_distance, position_distance
        ‖E(a) − E(b)‖ and ‖p_i − p_j‖, in the tables' units.
    among
        The random pairs among which it is ranked.
    """

    one: tuple[int, int]
    other: tuple[int, int]
    token_distance: float
    position_distance: float
    among: RandomPairs

    def closer_than(self, measure: Measure) -> float:
        """Return the share of the random pairs that are farther apart by a measure."""
        drawn, value = self.among.likeness.of(measure), self.of(measure)
        farther = drawn > value if measure.endswith("distance") else drawn < value
        return float(farther.mean())


def random_pairs(
    W_E: npt.ArrayLike,
    W_pos: npt.ArrayLike,
    *,
    sample: int = SAMPLE,
    seed: int = 0,
    token_scale: float = 1.0,
    type_row: npt.ArrayLike | None = None,
) -> RandomPairs:
    """Draw pairs of sums and compare them.

    Parameters
    ----------
    W_E, W_pos : (d_vocab, d_model), (n_positions, d_model)
        The tables; only the sampled rows are copied.
    sample, seed
        Number of pairs, and random seed.
    token_scale, type_row
        As in :func:`geometry.measures.layernorm.layernorm_errors`.

    Raises
    ------
    ValueError
        When the tables have different widths.
    """
    E, table = check_tables(W_E, W_pos)
    rng = np.random.default_rng(seed)
    tokens = rng.integers(len(E), size=(sample, 2))
    positions = rng.integers(len(table), size=(sample, 2))
    read_only(tokens, positions)
    embed = partial(_sums, E, table, token_scale, type_row)
    return RandomPairs(tokens, positions, _compare(embed, tokens, positions), seed)


def interference(
    W_E: npt.ArrayLike,
    W_pos: npt.ArrayLike,
    one: tuple[int, int],
    other: tuple[int, int],
    *,
    among: RandomPairs | None = None,
    token_scale: float = 1.0,
    type_row: npt.ArrayLike | None = None,
) -> Interference:
    """Compare E(a) + p_i with E(b) + p_j, and rank the pair.

    Parameters
    ----------
    W_E, W_pos : (d_vocab, d_model), (n_positions, d_model)
        The tables.
    one, other
        (a, i) and (b, j): token and position of each.
    among
        Random pairs of the same tables; :func:`random_pairs` if None.
    token_scale, type_row
        As in :func:`geometry.measures.layernorm.layernorm_errors`.

    Raises
    ------
    ValueError
        When the tables have different widths.
    RangeError
        When the model has no such token or position.
    """
    E, table = check_tables(W_E, W_pos)
    (a, i), (b, j) = one, other
    check_rows("token", (a, b), len(E))
    check_rows("position", (i, j), len(table))
    if among is None:
        among = random_pairs(E, table, token_scale=token_scale, type_row=type_row)
    embed = partial(_sums, E, table, token_scale, type_row)
    found = _compare(embed, np.array([[a, b]]), np.array([[i, j]]))
    return Interference(
        distance=float(found.distance[0]),
        cosine=float(found.cosine[0]),
        layernorm_distance=float(found.layernorm_distance[0]),
        layernorm_cosine=float(found.layernorm_cosine[0]),
        one=(a, i),
        other=(b, j),
        token_distance=abs(token_scale) * float(np.linalg.norm(E[a].astype(np.float64) - E[b])),
        position_distance=float(row_norms((table[i] - table[j])[None])[0]),
        among=among,
    )


def check_rows(what: str, rows: Sequence[int], count: int) -> None:
    """Check that a table of ``count`` rows has these rows.

    Raises
    ------
    RangeError
        One is not from 0 to count − 1; ``what`` names it in the message.
    """
    for row in rows:
        if not 0 <= row < count:
            raise RangeError(
                f"{what} {row} does not exist in this model, which has 0–{count - 1}",
                f"Choose one from 0 to {count - 1}.",
            )


def _sums(
    E: npt.NDArray[np.floating],
    table: Array,
    scale: float,
    type_row: npt.ArrayLike | None,
    tokens: Indices,
    positions: Indices,
) -> Array:
    """(n, d_model) sums of n tokens and positions."""
    return token_rows(E, tokens, scale, type_row) + table[positions]


def _compare(
    embed: Callable[[Indices, Indices], Array], tokens: Indices, positions: Indices
) -> Likeness:
    """Compare the two sums of each pair: tokens and positions (n, 2)."""
    found = np.empty((len(MEASURES), len(tokens)))
    for start in range(0, len(tokens), BLOCK_PAIRS):
        part = slice(start, start + BLOCK_PAIRS)
        one, other = (embed(tokens[part, k], positions[part, k]) for k in (0, 1))
        found[:2, part] = _alike(one, other)
        found[2:, part] = _alike(_layernorm(one), _layernorm(other))
    read_only(found)
    return Likeness(*found)


def _alike(one: Array, other: Array) -> tuple[Array, Array]:
    """Return distance and cosine of corresponding rows."""
    cosine = np.einsum("nd,nd->n", unit_rows(one), unit_rows(other))
    return row_norms(one - other), cosine.clip(-1.0, 1.0)


def _layernorm(rows: Array) -> Array:
    """Centre each row and give it the norm √d_model; a constant row is zero."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    scaled: Array = np.sqrt(rows.shape[1]) * unit_rows(centred)
    return scaled
