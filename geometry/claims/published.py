"""Numbers that papers give for named models, to stand beside those measured here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from geometry.claims.measurements import Measurements
from geometry.measures.probes import N_ROWS, centred_stable_rank
from geometry.models.model import PositionalModel
from geometry.pca.pca import fit_pca

Table = Literal["GPT-2", "BERT", "RoBERTa", "sinusoidal"]
Unit = Literal["positions", "%", ""]


@dataclass(frozen=True, slots=True)
class Published:
    """A number that a paper gives for a model.

    Attributes
    ----------
    source
        Authors, year, and where it is published.
    quantity
        What was measured, as a phrase.
    table
        Whose table.
    value
        The published number, in ``unit``.
    tolerance
        How far a number measured as in the paper may be from it.
    reason
        Where the tolerance comes from, as a sentence.
    measure
        Measures the same here.
    unit
        "%", "positions", or "" for none.
    decimals
        Decimals that the paper prints.
    """

    source: str
    quantity: str
    table: Table
    value: float
    tolerance: float
    reason: str
    measure: Callable[[Measurements], float]
    unit: Unit = ""
    decimals: int = 2


@dataclass(frozen=True, slots=True)
class Compared:
    """A published number, the one measured here, and whether it is within the tolerance."""

    published: Published
    ours: float

    @property
    def within(self) -> bool:
        """Whether they differ by no more than the tolerance."""
        return abs(self.ours - self.published.value) <= self.published.tolerance


@dataclass(frozen=True, slots=True)
class _Known:
    """How a table is recognised: by its size, and by the model's family and name or its digest."""

    family: str
    names: tuple[str, ...]
    shape: tuple[int, int]
    digest: str = ""


_KNOWN: Mapping[Table, _Known] = {
    "GPT-2": _Known(
        "gpt2",
        ("gpt2",),
        (1024, 768),
        "29c69587e2af826b7c159c38620a32e549a925e6d9a0dc37cb563f377f5be772",
    ),
    "BERT": _Known("bert", ("bert-base-uncased",), (512, 768)),
    "RoBERTa": _Known("roberta", ("roberta-base",), (512, 768)),
}
_SINUSOID_WIDTH = 768


def is_table(model: PositionalModel, table: Table) -> bool:
    """Return whether a model's table is the one that was measured.

    A checkpoint is recognised by its family, its size, and its name on the Hub or its folder's
    ("gpt2", "bert-base-uncased", "roberta-base"); GPT-2's also by its numbers, under any name. The
    sinusoidal one is the formula of "Attention Is All You Need", each sine followed by its cosine,
    768 wide and with at least the 512 rows that were measured.
    """
    n, d = model.n_positions, model.d_model
    if table == "sinusoidal":
        return model.computed and model.family == table and d == _SINUSOID_WIDTH and n >= N_ROWS
    known = _KNOWN[table]
    if (n, d) != known.shape:
        return False
    last = model.source.text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if model.family == known.family and {model.name, last} & set(known.names):
        return True
    return known.digest != "" and _digest(model) == known.digest


def published_for(model: PositionalModel) -> tuple[Published, ...]:
    """Return the numbers that papers give for this model; none for most models."""
    measured = [table for table in (*_KNOWN, "sinusoidal") if is_table(model, table)]
    return tuple(one for one in PUBLISHED if one.table in measured)


def compare(published: Published, measured: Measurements) -> Compared:
    """Measure what a paper did on this model.

    Parameters
    ----------
    published
        One of :func:`published_for` of the model.
    measured
        Its measurements; the range and the layer have no influence.
    """
    return Compared(published, published.measure(measured))


def compare_published(measured: Measurements) -> tuple[Compared, ...]:
    """Compare all that is published for a model with what is measured."""
    return tuple(compare(one, measured) for one in published_for(measured.model))


def _digest(model: PositionalModel) -> str:
    """SHA-256 of P as float32, row after row: the precision it was published in."""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(model.stored_W_pos, dtype="<f4")
    return hashlib.sha256(rows.data).hexdigest()


# ---- what was measured -----------------------------------------------------------------------


def _stable_rank(measured: Measurements) -> float:
    return centred_stable_rank(measured.model.W_pos[1:N_ROWS])


def _share(measured: Measurements, count: int) -> float:
    pca = fit_pca(measured.model.W_pos, (0, N_ROWS - 1), count)
    return 100 * float(pca.explained_variance_ratio.sum())


_PROBES = "Wang and Chen 2020, arXiv:2010.04903"
_RANK = "Song and Zhong 2023, arXiv:2310.04861"
_WAVES = "Yamamoto and Matsuzaki 2023, EMNLP 2023, paper 2"
_POSITION = "Position read linearly from each of 512 rows, mean error"
_ORDER = "Order of two of 512 rows, read linearly, errors"


def _position(table: Table, value: float) -> Published:
    return Published(
        _PROBES,
        _POSITION,
        table,
        value,
        max(0.1 * value, 0.005),
        "The paper uses one random split of the rows; over our splits GPT-2’s error has a "
        "standard deviation of 5 %, and twice that is allowed.",
        lambda measured: measured.position_probe.error,
        "positions",
    )


def _order(table: Table, value: float) -> Published:
    share = value / 100
    return Published(
        _PROBES,
        _ORDER,
        table,
        value,
        200 * math.sqrt(share * (1 - share) / N_ROWS),
        "The paper draws 512 random pairs once; twice the standard deviation of that many draws "
        "is allowed.",
        lambda measured: measured.order_probe.error,
        "%",
    )


def _wave(count: int, value: float) -> Published:
    return Published(
        _WAVES,
        f"Variance of 512 rows in {count} principal components",
        "RoBERTa",
        value,
        0.5,
        "The paper does not say whether padding rows count, two of 514.",
        partial(_share, count=count),
        "%",
    )


PUBLISHED: tuple[Published, ...] = (
    _position("BERT", 34.14),
    _position("RoBERTa", 6.06),
    _position("GPT-2", 1.03),
    _position("sinusoidal", 0.0),
    _order("BERT", 19.72),
    _order("RoBERTa", 7.23),
    _order("GPT-2", 1.56),
    _order("sinusoidal", 5.08),
    Published(
        _RANK,
        "Stable rank of the rows 1–511, centred",
        "GPT-2",
        2.05,
        0.02,
        "The paper gives two decimals, and adds the mean of sampled tokens to the rows.",
        _stable_rank,
    ),
    _wave(4, 50.51),
    _wave(12, 92.23),
)
"""In the order in which they are shown."""
