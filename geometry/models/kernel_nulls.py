"""Attention of heads by position alone, for randomly rotated positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from geometry.checkpoints.result import result
from geometry.evidence.drawn_tables import MEANINGS
from geometry.evidence.null import FEW_DRAWS, Band, Null, band_of, null_of
from geometry.evidence.random_frames import random_frame
from geometry.measures.kernels import average_blocks, head_kernels
from geometry.models.head_projections import project_each
from geometry.models.model import PositionalModel
from geometry.pca.components import Array


@result
class KernelNulls:
    """Scores of a layer's heads for positions randomly rotated in the space of their columns.

    Attributes
    ----------
    previous_token, mass_lag_0_10
        For each head; see :class:`~geometry.measures.kernels.HeadKernels`.
    attention, scores
        For each head, the band by lag.
    """

    previous_token: tuple[Null, ...]
    mass_lag_0_10: tuple[Null, ...]
    attention: tuple[Band, ...]
    scores: tuple[Band, ...]


def kernel_nulls(
    model: PositionalModel,
    positions: tuple[int, int],
    layer: int = 0,
    *,
    content: bool = False,
    block: int = 1,
    draws: int = FEW_DRAWS,
    seed: int = 0,
    check: Callable[[], None] | None = None,
) -> KernelNulls:
    """Project randomly rotated positions through a layer's queries and keys.

    They have the same distances and angles as the model's positions, but nothing that the weights
    could have learned.

    Parameters
    ----------
    model
        The open model.
    positions
        First and last query, both inclusive.
    layer, content
        As of :func:`~geometry.models.head_projections.project_heads`.
    block
        Number of neighbouring rows to average first; 1 for none.
    draws, seed
        Number of tables, and seed of the random numbers.
    check
        Called before each draw; may raise to stop.

    Raises
    ------
    TensorUnavailable
        The checkpoint or the family lacks a tensor.
    RangeError
        The range is empty or leaves the table.
    """
    rows = average_blocks(model.W_pos, block) if block > 1 else np.asarray(model.W_pos)
    rng, d, drawn = np.random.default_rng((seed, layer)), rows.shape[1], []

    def rotated() -> Iterator[Array]:
        for _ in range(draws):
            if check is not None:
                check()
            yield rows @ random_frame(d, d, rng)

    for heads in project_each(model, rotated(), layer, content=content, dtype=np.float32):
        kernels = head_kernels(heads, positions)
        drawn.append(
            (kernels.previous_token, kernels.mass_lag_0_10, kernels.attention, kernels.scores)
        )
    meaning, heads_at = MEANINGS["turned"], range(len(drawn[0][0]))
    previous, mass, attention, scores = zip(*drawn, strict=True)

    def nulls(values: tuple[np.ndarray, ...]) -> tuple[Null, ...]:
        return tuple(
            null_of("turned", meaning, [draw[head] for draw in values]) for head in heads_at
        )

    def bands(curves: tuple[np.ndarray, ...]) -> tuple[Band, ...]:
        return tuple(
            band_of("turned", meaning, [draw[head] for draw in curves]) for head in heads_at
        )

    return KernelNulls(nulls(previous), nulls(mass), bands(attention), bands(scores))
