"""The questions of the overlaps panel: overlaps of two matrices' directions. Independent of Qt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.evidence.null import Null
from geometry.evidence.random_frames import shared_energy
from geometry.measures.overlaps import CORNER, Contrast, corner_contrast, squared_overlaps, top3
from geometry.models.matrices import WEIGHTS
from geometry.models.residual_stream import Name, Subject
from gui.panels.kit.subject_text import TABLES
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of
from gui.style.sentences import as_sentence

READERS = ("W_Q", "W_K", "W_V", "W_in")
"""Weights that read the residual stream, possibly after a LayerNorm."""
WITH_HEADS: tuple[Name, ...] = ("W_Q", "W_K", "W_V", "W_O")
"""Weights of attention: rows of the article's eight-panel figure; that of the MLP has W_in only."""

Gain = Literal["", "gain not folded", "gain folded", "no LayerNorm before it"]
"""Treatment of the LayerNorm gain; "" for matrices without one."""


@dataclass(frozen=True, eq=False, slots=True)
class Overlap:
    """Squared overlaps of two matrices' directions."""

    # Matrices of the rows and columns, whose directions are sorted from strong to weak
    rows: Subject
    columns: Subject
    values: np.ndarray  # (a, b) float32, read-only: O_ij = (u_i · v_j)², 0 to 1
    contrast: Contrast  # Means of the corners over chance
    top3: float  # Sum of the 3 × 3 corner of the strongest: 0 to 3
    gains: tuple[Gain, Gain]  # Treatment of the gain, for rows and columns


@dataclass(frozen=True, eq=False, slots=True)
class Missing:
    """Two matrices, one of which is not in this checkpoint, and the reason, as a sentence."""

    rows: Subject
    columns: Subject
    why: str


@dataclass(frozen=True, eq=False, slots=True)
class OverlapFigure:
    """Overlaps of several matrices with several others: cells row by row, in so many columns."""

    cells: tuple[Overlap | Missing, ...]
    columns: int

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """The overlaps that are not missing."""
        return tuple(cell for cell in self.cells if isinstance(cell, Overlap))


@dataclass(frozen=True, slots=True)
class OverlapsOf:
    """Overlaps of two matrices."""

    rows: Subject
    columns: Subject

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(self.rows, self.columns)

    def answer(self, context: QuestionContext) -> Overlap:
        try:
            return overlap_of(context, self.rows, self.columns)
        except TensorUnavailable as error:
            advice = f"{error.advice} {what_is_there(context)}"
            raise TensorUnavailable(str(error), advice.strip()) from error


@dataclass(frozen=True, slots=True)
class LayerCorner:
    """The strong corner of another layer: its number, mean over chance, and 3 × 3 sum."""

    layer: int
    TL: float
    top3: float


@dataclass(frozen=True, eq=False, slots=True)
class OverlapNulls:
    """Corners of unrelated matrices."""

    corner: Null  # The mean of a corner over chance, for random matrices
    top3: Null  # The sum of a 3 × 3 corner, for random matrices
    # Corners of other layers of the model, if requested and on this machine
    layers: tuple[LayerCorner, ...] = ()
    elsewhere: int = 0  # Number of layers that are not on this machine


@dataclass(frozen=True, slots=True)
class OverlapNullsOf:
    """Corners beside those of two matrices: of random ones, and optionally of other layers."""

    rows: Subject
    columns: Subject
    layers: bool

    def steps(self, context: QuestionContext) -> Iterator[Progress | OverlapNulls]:
        """Yield the random ones first, as a partial result."""
        first, second = context.stream.pair(self.rows, self.columns)
        d = first.vectors.shape[1]
        m, few = (min(limit, len(first.vectors), len(second.vectors)) for limit in (CORNER, 3))
        corner = shared_energy(m, m, d).scaled(d, m**2)
        nulls = OverlapNulls(corner, shared_energy(few, few, d))
        if self.layers:
            yield from self._of_layers(context, nulls)
        else:
            yield nulls

    def _of_layers(
        self, context: QuestionContext, nulls: OverlapNulls
    ) -> Iterator[Progress | OverlapNulls]:
        model, corners, elsewhere = context.model, [], 0
        own = {subject.layer for subject in (self.rows, self.columns) if subject.name not in TABLES}
        others = [layer for layer in range(model.n_layers or 0) if layer not in own]
        for number, layer in enumerate(others):
            yield Progress(number / len(others), f"Comparing layer {layer}", nulls)
            pair = [
                subject if subject.name in TABLES else replace(subject, layer=layer)
                for subject in (self.rows, self.columns)
            ]
            overlap = None
            with suppress(TensorUnavailable):
                if not model.bytes_to_fetch_for(tensors_of(*pair)):
                    overlap = overlap_of(context, *pair)
            if overlap is None:
                elsewhere += 1
            else:
                corners.append(LayerCorner(layer, overlap.contrast.TL, overlap.top3))
        yield replace(nulls, layers=tuple(corners), elsewhere=elsewhere)


@dataclass(frozen=True, slots=True)
class FigureOf:
    """Overlaps of several matrices with several others: a figure of the article."""

    rows: tuple[Subject, ...]
    columns: tuple[Subject, ...]

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(*self.rows, *self.columns)

    def steps(self, context: QuestionContext) -> Iterator[Progress | OverlapFigure]:
        """Yield the :class:`OverlapFigure` last; missing cells have the reason."""
        pairs = [(rows, columns) for rows in self.rows for columns in self.columns]
        cells: list[Overlap | Missing] = []
        for number, (rows, columns) in enumerate(pairs):
            yield Progress(number / len(pairs), f"Comparing {rows.name} with {columns.name}")
            try:
                cells.append(overlap_of(context, rows, columns))
            except TensorUnavailable as error:
                cells.append(Missing(rows, columns, as_sentence(str(error))))
                last = error
        if all(isinstance(cell, Missing) for cell in cells):
            advice = f"{last.advice} {what_is_there(context)}"
            raise TensorUnavailable(str(last), advice.strip()) from last
        yield OverlapFigure(tuple(cells), len(self.columns))


def article_figure(view: Literal["attention", "mlp"], of: Subject, *, centred: bool) -> FigureOf:
    """Return the question of a figure of the article.

    Parameters
    ----------
    view
        The eight panels of attention, or the two of the MLP.
    of
        Layer, head and gain of the weights.
    centred
        Whether the mean row is subtracted from P and E.
    """
    names: tuple[Name, ...] = WITH_HEADS if view == "attention" else ("W_in",)
    tables = (Subject("P", centred=centred), Subject("E", centred=centred))
    if view == "mlp":
        # The article's order: tokens first.
        tables = tables[::-1]
    weights = (replace(of, name=name, side=None, centred=False) for name in names)
    return FigureOf(tuple(plain(weight) for weight in weights), tables)


def overlap_of(context: QuestionContext, rows: Subject, columns: Subject) -> Overlap:
    """Compare two matrices.

    Raises TensorUnavailable: the checkpoint lacks one of them, or a necessary map.
    """
    first, second = context.stream.pair(rows, columns)
    context.raise_if_cancelled()
    values = squared_overlaps(first, second)
    contrast = corner_contrast(values, 1.0 / first.vectors.shape[1])
    shown = values.astype(np.float32)
    shown.flags.writeable = False
    gains = (gain_of(context, rows), gain_of(context, columns))
    return Overlap(rows, columns, shown, contrast, top3(values), gains)


def gain_of(context: QuestionContext, subject: Subject) -> Gain:
    """Return the treatment of the gain of the LayerNorm before a matrix."""
    if subject.name not in READERS:
        return ""
    if not subject.fold_ln:
        return "gain not folded"
    reader: Literal["attention", "mlp"] = "mlp" if subject.name == "W_in" else "attention"
    gain = context.model.layers.norm_gain(reader, subject.layer)
    return "gain folded" if gain is not None else "no LayerNorm before it"


def plain(subject: Subject) -> Subject:
    """Return a subject without irrelevant fields, so that equal questions are asked once."""
    if subject.name in TABLES:
        return Subject(subject.name, centred=subject.centred)
    return replace(
        subject,
        head=subject.head if subject.name in WITH_HEADS else None,
        side=None if subject.side == _stream_side(subject) else subject.side,
        fold_ln=subject.fold_ln and subject.name in READERS,
        centred=False,
    )


def side_of(subject: Subject) -> str:
    """Return the side of a weight: input or output."""
    return subject.side or _stream_side(subject)


def _stream_side(subject: Subject) -> str:
    """Return the side of a weight in the residual stream."""
    return "output" if subject.name == "W_O" else "input"


def in_one_space(first: Subject, second: Subject) -> bool:
    """Return whether two subjects' directions lie in the same space, beyond equal dimension.

    Weights that read the residual stream write queries, values or MLP neurons of their layer.
    """
    return _space(first) == _space(second)


def _space(subject: Subject) -> tuple[object, ...]:
    if subject.name in TABLES or side_of(subject) == _stream_side(subject):
        return ("residual stream",)
    kinds = {"W_Q": "keys", "W_K": "keys", "W_V": "values", "W_O": "values", "W_in": "neurons"}
    return kinds[subject.name], subject.layer, subject.head


def what_is_there(context: QuestionContext) -> str:
    """Return a sentence on the matrices that can be compared, by the checkpoint's index alone."""
    absent = context.model.missing
    names = ["P"] + (["E"] if "W_E" not in absent else [])
    names += [name for name in WEIGHTS if cast(str, name) not in absent]
    if names == ["P"]:
        return "Only its matrix P is available: Spectra and Directions show it."
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"Available for comparison: {listed}{' of layer 0' if len(names) > 2 else ''}."
