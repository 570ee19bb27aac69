"""Effects of changes of positions: what is measured of each, beside its controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import convert

from geometry.inside.resampling import Resampling
from geometry.inside.windows import Corpus

Attention = tuple[tuple[float, ...], ...]
"""Of each head of each layer: the total variation distance of its attention from that without the
change, 0 for the same and 1 for disjoint attention, as a mean over windows and over queries from
position 1 on. Empty if not measured.
"""


@dataclass(frozen=True, slots=True)
class Control:
    """The effect of a control of a change, in the same windows.

    Attributes
    ----------
    name
        See :func:`geometry.inside.controls.controls_of`.
    delta, low, high, displacement, draws, attention, by_window
        As of an :class:`Effect`.
    difference
        What the change costs beyond it, with the interval over texts and draws.
    """

    name: str
    delta: float
    low: float
    high: float
    difference: tuple[float, float, float]
    displacement: float | None = None
    draws: int = 1
    attention: Attention = ()
    by_window: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change.

    Attributes
    ----------
    name
        Of the change.
    delta, low, high
        Change of the loss in nats per token, or, of an encoder, relative change of its last
        layer's states; with the interval that resampled texts give. NaN if impossible.
    why
        Why the change is impossible for this model, as a sentence; else "".
    attention
        See :data:`Attention`.
    by_window
        delta of each window of text, in the same order for all changes: what two changes differ by
        can be compared in the same windows. Empty if impossible, and in partial results.
    displacement
        How far rows move, as a share of their norm, in root mean square; None if unknown.
    draws
        Number of draws of a random change: one for each batch of windows.
    length
        Tokens of a window, if shorter ones were needed for a shift; else None.
    controls
        Of displacements as large, by :func:`geometry.inside.controls.controls_of`.
    """

    name: str
    delta: float
    low: float
    high: float
    why: str = ""
    attention: Attention = ()
    by_window: tuple[float, ...] = ()
    displacement: float | None = None
    draws: int = 1
    length: int | None = None
    controls: tuple[Control, ...] = ()

    @property
    def nearest(self) -> Control | None:
        """The control whose cost is nearest to the change's."""
        return min(self.controls, key=lambda one: abs(one.difference[0]), default=None)

    def heads(self) -> list[tuple[int, int]]:
        """Return all heads as layer and head, those whose attention changes most first."""
        distances = {
            (layer, head): distance
            for layer, row in enumerate(self.attention)
            for head, distance in enumerate(row)
        }
        return sorted(distances, key=lambda one: -distances[one])


@dataclass(frozen=True)
class Effects:
    """The effects of changes on a network.

    Attributes
    ----------
    baseline
        Loss without a change, in nats per token; None for an encoder.
    effects
        In the order of the changes.
    windows
        Number of windows of text.
    layer
        Of the residual stream, where pos was changed; None if the table of positions was.
    fingerprint
        That of the changed positions: of the model, or of the layer; "" if unknown.
    files
        Name of the file of each window; empty if unknown.
    corpus
        What identifies the texts; None if unknown.
    seed
        Of windows, random changes and intervals; None if unknown.
    """

    baseline: float | None
    effects: tuple[Effect, ...]
    windows: int
    layer: int | None = None
    fingerprint: str = ""
    files: tuple[str, ...] = ()
    corpus: Corpus | None = None
    seed: int | None = None

    @cached_property
    def resampling(self) -> Resampling:
        """Resamplings of the texts."""
        return Resampling(self.files or range(self.windows), self.seed or 0)

    def of(self, change: str) -> Effect | None:
        """Return the effect of a change; None if it is not measured."""
        return next((effect for effect in self.effects if effect.name == change), None)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Effects:
        """Return the effects of which ``asdict`` made what JSON has."""
        return convert(content, cls)
