"""Published numbers of positions inside named models, for comparison with those measured here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geometry.inside.layers import LayerPositions, largest_variance, position_means
from geometry.inside.network import RunnableNetwork
from geometry.inside.sums import Sums

SOURCE = "Song and Zhong, arXiv:2310.04861"
CONDITIONS = "OpenWebText, windows of 512 tokens, position 0 left out"
QUANTITIES = STABLE_RANK, RELATIVE_NORM = "stable rank", "relative norm"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with published numbers.

    A network is recognised by its family, its size, and its name on the Hub or that of its folder,
    since another training of the same size would have other numbers.

    Attributes
    ----------
    family
        The ``model_type`` of transformers.
    n_layers, d_model
        Its blocks, and the size of the residual stream.
    numbers
        By quantity, the numbers of the layers from 0, the embedding.
    """

    family: str
    n_layers: int
    d_model: int
    numbers: Mapping[str, tuple[float, ...]]


KNOWN: Mapping[str, KnownModel] = {
    "gpt2": KnownModel(
        "gpt2",
        12,
        768,
        {
            STABLE_RANK: (2.05, 1.92, 1.91, 1.89, 1.88, 1.88),
            RELATIVE_NORM: (0.807, 0.463, 0.411, 0.371, 0.344, 0.324),
        },
    ),
    "bert-base-uncased": KnownModel("bert", 12, 768, {STABLE_RANK: (9.19,)}),
    "Llama-2-7b-hf": KnownModel("llama", 32, 4096, {STABLE_RANK: (52.23, 1.00)}),
}
"""Models by the last part of their name."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A published number with those measured here.

    Attributes
    ----------
    quantity
        One of :data:`QUANTITIES`.
    layer
        Layer, from 0, the embedding.
    published
        The number in :data:`SOURCE`.
    ours
        Measured by products of the halves, without sampling noise, outliers and special tokens.
    as_there
        Measured as published: of the mean over all texts and positions but the first, with noise.
    """

    quantity: str
    layer: int
    published: float
    ours: float
    as_there: float


def find_known(network: RunnableNetwork) -> KnownModel | None:
    """Return the published numbers of a network; None if there are none."""
    last = network.source.replace("\\", "/").rstrip("/").rpartition("/")[2].partition("@")[0]
    sizes = network.module.config.model_type, network.n_layers - 1, network.d_model
    for name, known in KNOWN.items():
        if name in (network.name, last) and sizes == (known.family, known.n_layers, known.d_model):
            return known
    return None


def compare(
    network: RunnableNetwork, sums: Sums, layers: tuple[LayerPositions, ...]
) -> tuple[Compared, ...]:
    """Compare the published numbers of a network with the measured ones; () if there are none."""
    known = find_known(network)
    if known is None:
        return ()
    comparisons = []
    for quantity, values in known.numbers.items():
        for layer, (value, ours) in enumerate(zip(values, layers, strict=False)):
            stable_rank, relative_norm = as_published(sums, layer)
            pair = {
                STABLE_RANK: (ours.stable_rank, stable_rank),
                RELATIVE_NORM: (ours.relative_norm, relative_norm),
            }[quantity]
            comparisons.append(Compared(quantity, layer, value, *pair))
    return tuple(comparisons)


def as_published(sums: Sums, layer: int) -> tuple[float, float]:
    """Return stable rank and relative norm of the plain mean over texts, without position 0."""
    table = position_means(sums, layer)[2][1:]
    values = np.linalg.svd(table - table.mean(axis=0), compute_uv=False) ** 2
    largest = largest_variance(sums, layer)
    if values[0] <= 0 or largest <= 0:
        return math.nan, math.nan
    return float(values.sum() / values[0]), math.sqrt(float(values[0]) / len(table) / largest)
