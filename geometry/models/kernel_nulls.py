"""What heads attend to by position alone where positions are turned at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geometry.evidence.drawn_tables import MEANINGS
from geometry.evidence.null import Band, Null, band_of, null_of
from geometry.evidence.random_frames import random_frame
from geometry.measures.kernels import average_blocks, head_kernels
from geometry.models.head_projections import project_heads
from geometry.models.model import PositionalModel

DRAWS = 19
"""As few as can have none that reaches a number in at most 5 % of cases; each projects the table
through all heads."""


@dataclass(frozen=True, eq=False, slots=True)
class KernelNulls:
    """Scores of a layer's heads, of positions turned at random in the space of their columns.

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
    draws: int = DRAWS,
    seed: int = 0,
    check: Callable[[], None] | None = None,
) -> KernelNulls:
    """Send positions that are turned at random through a layer's queries and keys.

    They have the same distances and angles to each other as the model's, and nothing that the
    weights could have learned about them.

    Parameters
    ----------
    model
        The open model.
    positions
        First and last query, both inclusive.
    layer, content
        As of :func:`~geometry.models.head_projections.project_heads`.
    block
        Number of neighbouring rows that are averaged first; 1 for none.
    draws, seed
        Number of tables, and of the random numbers.
    check
        Called before each draw; may raise to stop.

    Raises
    ------
    TensorUnavailable
        The checkpoint or the family lacks a tensor.
    RangeError
        When the range is empty or leaves the table.
    """
    rows = average_blocks(model.W_pos, block) if block > 1 else np.asarray(model.W_pos)
    rng, d, found = np.random.default_rng((seed, layer)), rows.shape[1], []
    for _ in range(draws):
        if check is not None:
            check()
        turned = rows @ random_frame(d, d, rng)
        heads = project_heads(model, layer, content=content, rows=turned, dtype=np.float32)
        one = head_kernels(heads, positions)
        found.append((one.previous_token, one.mass_lag_0_10, one.attention, one.scores))
    meaning, heads_at = MEANINGS["turned"], range(len(found[0][0]))
    previous, mass, attention, scores = zip(*found, strict=True)

    def nulls(values: tuple[np.ndarray, ...]) -> tuple[Null, ...]:
        return tuple(null_of("turned", meaning, [one[head] for one in values]) for head in heads_at)

    def bands(curves: tuple[np.ndarray, ...]) -> tuple[Band, ...]:
        return tuple(band_of("turned", meaning, [one[head] for one in curves]) for head in heads_at)

    return KernelNulls(nulls(previous), nulls(mass), bands(attention), bands(scores))
