"""Measurements of all rows of a model and its weights, independent of the shown range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.memo import Memo
from geometry.measures.directions import Directions, singular_directions
from geometry.measures.layernorm import TokenPositionCosines, token_position_cosines
from geometry.measures.norms import NormProfile, norm_profile
from geometry.measures.overlaps import (
    OverlapSums,
    Sparsity,
    capture,
    check_rank,
    sparsity,
    sum_overlaps,
)
from geometry.measures.probes import Probe, order_probe, position_probe
from geometry.measures.spectra import Spectrum, summarise
from geometry.models.addable_tokens import addable_tokens
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Name, ResidualStream, Subject
from geometry.pca.components import Array, read_only, with_signs
from geometry.pca.unit import in_unit

DEFAULT_RANK = 30
LEADING = 5

T = TypeVar("T")


class Captured(NamedTuple):
    """How much of each of E's directions lies in P's strongest ``rank``, of ``dimensions``."""

    values: Array
    rank: int
    dimensions: int

    @property
    def chance(self) -> float:
        """The same by chance."""
        return self.rank / self.dimensions


@dataclass(frozen=True, slots=True)
class Scope:
    """Settings of the measurements.

    Attributes
    ----------
    positions
        First and last position, both inclusive, of the range; those of
        :attr:`PositionalModel.usual_positions` if None.
    layer
        Layer of the weights.
    rank
        Number of P's directions that count as its subspace; if None, 30, or fewer for a smaller
        table.
    after
        First position of the stretch over which the norms' stability is measured.
    fold_ln
        Multiply the input of a weight by the gain of the LayerNorm before it.
    nulls
        Draw the null distributions, which takes seconds.
    """

    positions: tuple[int, int] | None = None
    layer: int = 0
    rank: int | None = None
    after: int = 100
    fold_ln: bool = False
    nulls: bool = True


class MeasuredModel:
    """Measurements that depend on the model and these settings, but not on the range.

    Parameters
    ----------
    model
        The open model; tensors are read on demand.
    scope
        The settings.
    stream
        The model's directions; new ones if None.
    once
        Cache of results, which may be shared, for this model only.
    tell
        Called regularly by long computations with a share from 0 to 1 and a description; may raise
        to stop.

    Raises
    ------
    RangeError
        When the model has no such layer, or P no such rank.
    """

    def __init__(
        self,
        model: PositionalModel,
        scope: Scope | None = None,
        *,
        stream: ResidualStream | None = None,
        once: Memo | None = None,
        tell: Callable[[float, str], None] | None = None,
    ) -> None:
        self.model, self.scope = model, scope or Scope()
        layer, rank = self.scope.layer, self.scope.rank
        directions = min(model.n_positions, model.d_model)
        self.rank = check_rank(min(DEFAULT_RANK, directions) if rank is None else rank, directions)
        if model.n_layers is not None and not 0 <= layer < max(model.n_layers, 1):
            raise RangeError(f"{model.name} has layers 0–{model.n_layers - 1}, got {layer}")
        self.stream = stream or ResidualStream(model)
        self.tell = tell
        if tell is not None:
            self.stream = self.stream.with_progress(tell)
        self.cache = once or Memo()

    def once(self, key: object, find: Callable[[], T]) -> T:
        """Return the value of ``find`` under these settings, computed once."""
        return self.cache(self._key(key), find)

    def known(self, key: object) -> object | None:
        """Return the cached value under these settings, or None."""
        return self.cache.known(self._key(key))

    def _key(self, key: object) -> tuple[object, ...]:
        return (self.scope.layer, self.rank, self.scope.after, self.scope.fold_ln, key)

    # ---- norms, directions ---------------------------------------------------------------

    @property
    def norms(self) -> NormProfile:
        """Raw norms."""
        return self.once("norms", lambda: norm_profile(self.model.W_pos, after=self.scope.after))

    def subject(self, name: Name, *, fold_ln: bool | None = None) -> Subject:
        """Return a matrix with these settings applied."""
        if name in ("P", "E"):
            return Subject(name)
        fold_ln = self.scope.fold_ln if fold_ln is None else fold_ln
        return Subject(name, self.scope.layer, fold_ln=fold_ln)

    def directions(self, name: Name, *, fold_ln: bool | None = None) -> Directions:
        """Directions of a matrix in the residual stream; TensorUnavailable if it is missing."""
        return self.stream.directions(self.subject(name, fold_ln=fold_ln))

    def spectrum(self, name: Name) -> Spectrum:
        """Singular values and their summaries."""
        return summarise(self.directions(name).singular_values)

    @property
    def contexts(self) -> Directions:
        """P's leading left singular vectors, up to five: its directions over position."""
        return self.once("contexts", self._find_contexts)

    def _find_contexts(self) -> Directions:
        (P, unit), found = in_unit(self.model.W_pos), self.directions("P")
        right = found.vectors[:LEADING]
        values = found.singular_values[: len(right)]
        if found.clear < len(right):  # then P·v/σ is rounding
            left = singular_directions(P, "output").vectors[: len(right)]
        else:
            left = with_signs((P @ right.T / (values / unit)).T)
        read_only(left)
        return Directions(values, left)

    @property
    def sparsity(self) -> Sparsity:
        """Sparsity of P's leading directions over the embedding's entries."""
        return self.once("sparsity", lambda: sparsity(self.directions("P").vectors[:LEADING]))

    @property
    def position_probe(self) -> Probe:
        """Errors of positions read from rows; RangeError for a table of fewer than 20 rows."""
        return self.once("position probe", lambda: position_probe(self.model.W_pos))

    @property
    def order_probe(self) -> Probe:
        """Errors in which of two rows is first; RangeError for a table of fewer than 20 rows."""
        return self.once("order probe", lambda: order_probe(self.model.W_pos))

    # ---- overlaps ------------------------------------------------------------------------

    def overlaps(self, rows: Name, columns: Name, *, fold_ln: bool | None = None) -> Array:
        """Squared overlaps of two matrices, not cached; TensorUnavailable if one is missing."""
        return self.stream.overlaps(
            self.subject(rows, fold_ln=fold_ln), self.subject(columns, fold_ln=fold_ln)
        )

    def overlap_sums(self, rows: Subject, columns: Subject) -> OverlapSums:
        """Squared overlaps of two matrices, reduced to sums over their parts."""
        return self.once(
            ("overlaps", rows, columns), lambda: sum_overlaps(*self.stream.pair(rows, columns))
        )

    def top3(self, rows: Name, columns: Name, *, fold_ln: bool | None = None) -> float:
        """Overlap of the three strongest directions of each: 0 to 3."""
        subjects = (self.subject(name, fold_ln=fold_ln) for name in (rows, columns))
        return self.overlap_sums(*subjects).top3

    def captured(self, rank: int) -> Captured:
        """Share of each of E's directions in P's strongest, at most ``rank`` of them."""

        def find() -> Captured:
            P, E = self.stream.pair(Subject("P"), Subject("E"))
            count = min(rank, len(P.vectors))
            return Captured(capture(P, E, count), count, P.vectors.shape[1])

        return self.once(("capture", rank), find)

    @property
    def capture(self) -> Array:
        """Share of each of E's directions in P's strongest :attr:`capture_rank`."""
        return self.captured(self.rank).values

    @property
    def capture_rank(self) -> int:
        """:attr:`rank`, or fewer where P has fewer directions."""
        return self.captured(self.rank).rank

    @property
    def capture_chance(self) -> float:
        """The same by chance: that rank over the dimensions of their space."""
        return self.captured(self.rank).chance

    # ---- LayerNorm -----------------------------------------------------------------------

    @property
    def cosines(self) -> TokenPositionCosines:
        """Cosines of all tokens with all positions; TensorUnavailable without embeddings."""
        return self.once("cosines", self._find_cosines)

    def _find_cosines(self) -> TokenPositionCosines:
        tokens, tell = addable_tokens(self.model), self.tell

        def report(share: float) -> None:
            if tell is not None:
                tell(share, "Comparing all tokens with all positions")

        return token_position_cosines(tokens, self.model.W_pos, on_block=report)
