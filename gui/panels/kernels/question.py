"""The questions of the kernels panel: attention of a layer's heads by position alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.memo import Recent
from geometry.measures.kernels import (
    BLOCK,
    HeadKernels,
    attention_map,
    average_blocks,
    head_kernels,
)
from gui.services.questions import QuestionContext, Tensor
from gui.style.theme import format_count

if TYPE_CHECKING:
    from geometry.measures.heads import HeadProjections
    from geometry.models.kernel_nulls import KernelNulls
    from geometry.models.model import PositionalModel

MAX_POSITIONS = 4096
"""Maximum number of positions: a larger map needs too much memory."""
MIN_ATTENTION = 1e-5
"""Attention below which the colour is that of none."""
MINUS = "\N{MINUS SIGN}"
KEPT = 2
"""Number of cached projections of all heads: with and without a switch."""


@dataclass(frozen=True, slots=True)
class HeadsOf:
    """A choice of queries and keys."""

    layer: int = 0  # Their layer, from 0
    content: bool = False  # Whether a token is in LayerNorm's denominator
    averaged: bool = False  # Whether P is averaged in blocks of ten first

    def project(self, model: PositionalModel) -> HeadProjections:
        """Return the queries and keys in single precision, which exceeds the shown digits.

        For a model with a bias by lag, their products are the bias.
        """
        from geometry.models.bias_heads import bias_heads
        from geometry.models.head_projections import project_heads

        if model.lags is not None:
            return bias_heads(model)
        rows = average_blocks(model.W_pos, BLOCK) if self.averaged else None
        return project_heads(model, self.layer, content=self.content, rows=rows, dtype=np.float32)


@dataclass(frozen=True, eq=False, slots=True)
class Kernels:
    """Attention of all heads by lag, and the map of one."""

    of: HeadsOf  # Which queries and keys
    positions: tuple[int, int]  # First and last query, both inclusive
    by_head: HeadKernels  # The kernels of all heads
    before: HeadKernels | None  # The same without averaging, if P is averaged; else None
    head: int  # The head of the map
    # (m, m) float32: its attention: queries in rows, keys in columns, both of the range
    weights: np.ndarray
    # Whether attention is by a bias alone: positions are those of a text, not rows of the table
    by_lag: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class ByOffset:
    """The bias of all heads of a model for pictures, by offset in two directions."""

    head: int  # The head whose map is shown
    # (n_heads, rows, columns) float64: as of :func:`geometry.models.bias_heads.offset_attention`
    bias: np.ndarray
    attention: np.ndarray
    # (n_heads,) float64: the mean length of an offset, in patches, weighted by the attention
    distance: np.ndarray


@dataclass(frozen=True, slots=True)
class _OfHeads:
    """A question about a layer's heads over a range."""

    of: HeadsOf  # Which queries and keys
    positions: tuple[int, int]  # First and last query, both inclusive

    def tensors(self) -> tuple[Tensor, ...]:
        layer = self.of.layer
        tokens: tuple[Tensor, ...] = (("W_E", 0),) if self.of.content else ()
        return (("W_Q", layer), ("W_K", layer), *tokens)


@dataclass(frozen=True, slots=True)
class KernelsOf(_OfHeads):
    """The kernels of the heads, and the map of one head."""

    head: int | None = None  # The head of the map; None for the one with the smallest mean lag

    def answer(self, context: QuestionContext) -> Kernels | ByOffset:
        """Compute them; the map of another head is fast, as projections are cached."""
        if context.model.lags is not None and context.model.lags.net is not None:
            return self._by_offset(context.model)
        check_size(self.positions)
        projections = context.cache("last heads", lambda: Recent(KEPT))
        known = context.cache("last kernels", lambda: Recent(KEPT))

        def heads(of: HeadsOf) -> HeadProjections:
            return projections(of, lambda: _projected(of, context))

        by_lag = context.model.lags is not None
        positions = _all(heads(self.of)) if by_lag else self.positions

        def kernels(of: HeadsOf) -> HeadKernels:
            return known((of, positions), lambda: _kernels_of(heads(of), positions, context))

        by_head = kernels(self.of)
        before = kernels(replace(self.of, averaged=False)) if self.of.averaged else None
        nearest = int(by_head.mean_lag.argmin())
        head = nearest if self.head is None else min(self.head, by_head.n_heads - 1)
        context.report(None, f"Drawing the map of head {head}")
        weights = attention_map(heads(self.of), head, positions)
        return Kernels(self.of, positions, by_head, before, head, weights, by_lag)

    def _by_offset(self, model: PositionalModel) -> ByOffset:
        from geometry.models.bias_heads import offset_attention

        bias, attention = offset_attention(model)
        down, across = (size // 2 for size in bias.shape[1:])
        lengths = np.hypot(*np.mgrid[-down : down + 1, -across : across + 1])
        distance = (attention * lengths).sum(axis=(1, 2))
        nearest = int(distance.argmin())
        head = nearest if self.head is None else min(self.head, len(bias) - 1)
        return ByOffset(head, bias, attention, distance)


@dataclass(frozen=True, slots=True)
class KernelNullsOf(_OfHeads):
    """The kernels of all heads for randomly rotated positions."""

    def answer(self, context: QuestionContext) -> KernelNulls:
        from geometry.models.kernel_nulls import kernel_nulls

        return kernel_nulls(
            context.model,
            self.positions,
            self.of.layer,
            content=self.of.content,
            block=BLOCK if self.of.averaged else 1,
            check=context.pause,
        )


@dataclass(frozen=True, eq=False, slots=True)
class NearestHead:
    """The head of a layer with the smallest mean lag."""

    of: HeadsOf  # Which queries and keys
    positions: tuple[int, int]  # First and last query, both inclusive
    head: int  # Its number, from 0
    lags: np.ndarray  # (L,) int: as in :class:`geometry.measures.kernels.HeadKernels`
    # (L,) float64: its attention and score by lag
    attention: np.ndarray
    scores: np.ndarray
    previous_token: float
    mean_lag: float


@dataclass(frozen=True, slots=True)
class NearestHeadOf(_OfHeads):
    """The head with the smallest mean lag, without its map, to save memory."""

    def answer(self, context: QuestionContext) -> NearestHead:
        heads = _projected(self.of, context)
        positions = self.positions if context.model.lags is None else _all(heads)
        kernels = _kernels_of(heads, positions, context)
        head = int(kernels.mean_lag.argmin())
        return NearestHead(
            self.of,
            positions,
            head,
            kernels.lags,
            kernels.attention[head].copy(),
            kernels.scores[head].copy(),
            float(kernels.previous_token[head]),
            float(kernels.mean_lag[head]),
        )


def _projected(of: HeadsOf, context: QuestionContext) -> HeadProjections:
    context.report(None, "Projecting positions into all heads")
    return of.project(context.model)


def _all(heads: HeadProjections) -> tuple[int, int]:
    return 0, heads.queries.shape[1] - 1


def _kernels_of(
    heads: HeadProjections, positions: tuple[int, int], context: QuestionContext
) -> HeadKernels:
    return head_kernels(
        heads,
        positions,
        on_head=lambda share: context.report(share, "Computing attention by position"),
    )


def check_size(positions: tuple[int, int]) -> None:
    """Raise RangeError if the range is too long for a map."""
    first, last = positions
    if last - first + 1 > MAX_POSITIONS:
        raise RangeError(
            f"The range has {format_count(last - first + 1)} positions; a head's map can be shown "
            f"for at most {format_count(MAX_POSITIONS)}.",
            "Choose a shorter range.",
        )


def lag_text(lag: int) -> str:
    """Return a formatted lag."""
    if lag < 0:
        return f"Δ = {MINUS}{-lag} (ahead)"
    return f"Δ = {lag}" + (" (itself)" if lag == 0 else "")
