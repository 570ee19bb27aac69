"""A model's matrices as directions in the residual stream, each decomposed once."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, cast, get_args

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.directions import (
    Directions,
    Side,
    existing_directions,
    singular_directions,
)
from geometry.measures.overlaps import squared_overlaps
from geometry.models.matrices import WeightName
from geometry.models.model import PositionalModel
from geometry.models.parts import check_finite, does_not_fit
from geometry.pca.components import Array, about_mean
from geometry.pca.unit import in_table_unit, in_unit

Name = Literal["P", "E", "W_Q", "W_K", "W_V", "W_O", "W_in"]
NAMES: tuple[Name, ...] = get_args(Name)

_READERS: dict[str, Literal["attention", "mlp"]] = {
    "W_Q": "attention",
    "W_K": "attention",
    "W_V": "attention",
    "W_in": "mlp",
}
"""Matrices that read the residual stream through a LayerNorm, and its reader."""
_BY_HEAD = ("W_Q", "W_K", "W_V", "W_O")

MAX_BYTES = 400_000_000
"""Limit on directions in memory; least recently used ones are removed first."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A matrix of a model, and options of its decomposition.

    Attributes
    ----------
    name
        P, E or a weight matrix.
    layer
        Layer of a weight, from 0.
    head
        An attention head, for its part of W_Q, W_K, W_V or W_O; None for all heads.
    side
        None for the side in the residual stream: the output of W_O, the input of all others (for P
        and E the row space).
    fold_ln
        Whether to multiply the input of a weight by the gain of the LayerNorm before it.
    centred
        Whether to subtract the mean row of P or E first, unlike the articles.
    """

    name: Name
    layer: int = 0
    head: int | None = None
    side: Side | None = None
    fold_ln: bool = False
    centred: bool = False


class KeptDirections(Protocol):
    """A persistent cache of directions; see :mod:`geometry.models.kept_directions`."""

    def get(self, subject: Subject, *, mapped: bool) -> Directions | None:
        """Return cached directions, or None."""

    def put(self, subject: Subject, directions: Directions, *, mapped: bool) -> None:
        """Cache directions; ``mapped``: through the model's map to the layers' size."""


class ResidualStream:
    """Cached directions of a model's matrices; thread-safe, each decomposed once.

    Parameters
    ----------
    model
        The open model; tensors are read on demand.
    kept
        Persistent cache, or None.
    """

    def __init__(self, model: PositionalModel, kept: KeptDirections | None = None) -> None:
        self._model = model
        self._on_disk = kept
        self._kept: OrderedDict[tuple[Subject, bool], Directions] = OrderedDict()
        self._turns: dict[tuple[Subject, bool], threading.Lock] = {}
        self._lock = threading.Lock()
        self._report: Callable[[float, str], None] | None = None

    def with_progress(self, report: Callable[[float, str], None]) -> ResidualStream:
        """Return the same stream, which reports the progress of a decomposition.

        Parameters
        ----------
        report
            Called regularly with a share from 0 to 1 and a message; may raise to stop.
        """
        stream = copy.copy(self)
        stream._report = report
        return stream

    def matrix(self, subject: Subject) -> npt.NDArray[np.floating]:
        """Return the matrix, (d_out, d_in) or (n, d_embedding) for P and E.

        Raises
        ------
        TensorUnavailable
            The checkpoint or the family lacks it, or has no such head.
        """
        if subject.name in ("P", "E"):
            table = self._model.W_pos if subject.name == "P" else self._model.W_E
            if subject.name == "E":
                check_finite("W_E", table)
            if not subject.centred:
                return table
            rows, unit = in_unit(table)
            return in_table_unit(about_mean(rows), unit)
        matrix = self._model.weight(cast(WeightName, subject.name), subject.layer)
        if subject.head is not None:
            matrix = self._of_head(matrix, subject)
        if subject.fold_ln and (reader := _READERS.get(subject.name)) is not None:
            gain = self._model.layers.norm_gain(reader, subject.layer)
            if gain is not None:
                if gain.shape != matrix.shape[1:]:
                    name = f"The gain before {subject.name}"
                    raise does_not_fit(name, gain.shape, f"{matrix.shape[1]} numbers")
                matrix = matrix * gain
        return matrix

    def directions(self, subject: Subject) -> Directions:
        """Return the existing singular directions of the matrix, in its own width.

        Raises
        ------
        TensorUnavailable
            As :meth:`matrix`; or it has numbers that are not finite.
        """
        return self._directions(subject, mapped=False)

    def overlaps(self, rows: Subject, columns: Subject) -> Array:
        """Return the squared overlaps of the directions of ``rows`` with those of ``columns``.

        Embeddings of another size than the layers (ALBERT, ELECTRA, OPT-350m) are mapped to that
        size by the model's own map.

        Returns
        -------
        (a, b) float64
            See :func:`geometry.measures.overlaps.squared_overlaps`.

        Raises
        ------
        TensorUnavailable
            The checkpoint lacks a matrix or a required map, or a matrix is zero.
        """
        return squared_overlaps(*self.pair(rows, columns))

    def pair(self, a: Subject, b: Subject) -> tuple[Directions, Directions]:
        """Return the directions of two matrices in the same space; see :meth:`overlaps`."""
        both = [self._directions(subject, mapped=False) for subject in (a, b)]
        if both[0].vectors.shape[1] != both[1].vectors.shape[1]:
            both = [self._directions(subject, mapped=True) for subject in (a, b)]
        for subject, directions in zip((a, b), both, strict=True):
            if not len(directions.vectors):
                raise TensorUnavailable(f"{subject.name} is zero throughout: it has no directions.")
        sizes = [directions.vectors.shape[1] for directions in both]
        if sizes[0] != sizes[1]:
            raise TensorUnavailable(
                f"{a.name} lies in {sizes[0]} dimensions and {b.name} in {sizes[1]}, and "
                "no map between them is in this checkpoint."
            )
        return both[0], both[1]

    def _directions(self, subject: Subject, *, mapped: bool) -> Directions:
        key = (subject, mapped)
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            directions = self._look_up(key)
            if directions is None and self._on_disk is not None:
                directions = self._on_disk.get(subject, mapped=mapped)
                self._keep(key, directions)
            if directions is None:
                directions = self._decompose(subject, mapped=mapped)
                self._keep(key, directions)
                if self._on_disk is not None:
                    self._on_disk.put(subject, directions, mapped=mapped)
        return directions

    def _look_up(self, key: tuple[Subject, bool]) -> Directions | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: tuple[Subject, bool], directions: Directions | None) -> None:
        if directions is None:
            return
        with self._lock:
            self._kept[key] = directions
            nbytes = sum(known.vectors.nbytes for known in self._kept.values())
            while len(self._kept) > 1 and nbytes > MAX_BYTES:
                nbytes -= self._kept.popitem(last=False)[1].vectors.nbytes

    def _decompose(self, subject: Subject, *, mapped: bool) -> Directions:
        matrix, side = self.matrix(subject), subject.side
        if mapped and subject.name in ("P", "E"):
            embedding: Literal["positions", "tokens"] = (
                "positions" if subject.name == "P" else "tokens"
            )
            through = self._model.layers.embedding_map(embedding)
            if through is not None:
                if through.shape[1] != matrix.shape[1]:
                    name = f"The map of {embedding}"
                    raise does_not_fit(name, through.shape, f"{matrix.shape[1]} columns")
                matrix = matrix @ through.T
        if not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
            raise TensorUnavailable(f"{subject.name} has NaN or infinite numbers.")
        default: Side = "output" if subject.name == "W_O" else "input"
        report = self._report
        if report is None:
            directions = singular_directions(matrix, side or default)
        else:
            message = f"Decomposing {subject.name}"
            report(0.0, message)
            directions = singular_directions(
                matrix, side or default, on_block=lambda share: report(share, message)
            )
        return existing_directions(directions, matrix)

    def _of_head(self, matrix: Array, subject: Subject) -> Array:
        heads, head = self._model.n_heads, cast(int, subject.head)
        if subject.name not in _BY_HEAD:
            raise TensorUnavailable(f"{subject.name} has no heads.")
        axis = 1 if subject.name == "W_O" else 0
        if heads is None or not 0 <= head < heads:
            have = "no known number of heads" if heads is None else f"heads 0–{heads - 1}"
            raise TensorUnavailable(f"{self._model.name} has no head {head}; it has {have}.")
        # Keys and values may be shared by groups of heads, so there may be fewer of them.
        size = (matrix.shape[1] if axis else self._model.layers.n_queries()) // heads
        start = head * matrix.shape[axis] // size // heads * size
        return matrix[start : start + size] if axis == 0 else matrix[:, start : start + size]
