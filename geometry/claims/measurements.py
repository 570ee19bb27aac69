"""All measurements of a model, each computed once, on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from geometry.claims.measured_model import DEFAULT_RANK, LEADING, MeasuredModel
from geometry.claims.measured_range import N_COMPONENTS, MeasuredRange
from geometry.evidence.null import Null
from geometry.evidence.turning_share import TurningShare
from geometry.measures.directions import Directions
from geometry.measures.heads import HeadProjections
from geometry.measures.kernels import HeadKernels, average_blocks, head_kernels
from geometry.measures.layernorm import LayerNormErrors, TokenPositionCosines
from geometry.measures.lookback import LookBack, Scoring, Turning
from geometry.measures.norms import NormProfile
from geometry.measures.overlaps import Contrast, Sparsity
from geometry.measures.probes import Probe
from geometry.measures.shape import Shapes
from geometry.measures.similarity import Similarity
from geometry.measures.single_dimensions import Sinusoids
from geometry.measures.spectra import Spectrum
from geometry.models.head_projections import project_heads
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Name, ResidualStream, Subject
from geometry.pca.components import Array, PositionPCA

__all__ = ["DEFAULT_RANK", "LEADING", "N_COMPONENTS", "Measurements", "Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Settings of the measurements.

    Attributes
    ----------
    positions
        First and last position, both inclusive, of the range; 1 to the last if None.
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


class Measurements:
    """The measurements of one model in one scope.

    Everything that depends on the range is accessed through :attr:`of_range`, so that
    :attr:`range_was_read` shows whether a number depends on it.

    Parameters
    ----------
    model
        The open model; tensors are read on demand.
    scope
        See :class:`Scope`.
    of_model
        Earlier measurements of the model, in the same scope except for the positions; new ones if
        None.

    Raises
    ------
    RangeError
        When the range leaves the table, the model has no such layer, or P no such rank.
    """

    def __init__(
        self,
        model: PositionalModel,
        scope: Scope | None = None,
        of_model: MeasuredModel | None = None,
    ) -> None:
        scope = scope or Scope()
        self.model = model
        self._range = MeasuredRange(model, scope.positions or model.usual_positions)
        self.of_model = of_model or MeasuredModel(
            model, layer=scope.layer, rank=scope.rank, after=scope.after, fold_ln=scope.fold_ln
        )
        self.nulls = scope.nulls
        self.range_was_read = False
        self.drawn: dict[str, Null | None] = {}
        """Null distributions of claims about rows, by the claim's id."""
        self._heads: dict[int, HeadProjections] = {}
        self._kernels: dict[tuple[int, bool], HeadKernels] = {}

    @property
    def stream(self) -> ResidualStream:
        """The model's directions."""
        return self.of_model.stream

    # ---- of the shown range ------------------------------------------------------------

    @property
    def of_range(self) -> MeasuredRange:
        """Measurements of the range."""
        self.range_was_read = True
        return self._range

    @property
    def shown(self) -> tuple[int, int]:
        """The range, for a measurement that does not depend on it."""
        return self._range.positions

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.of_range.positions

    @property
    def rows(self) -> Array:
        """(m, d_model) the range's rows."""
        return self.of_range.rows

    @property
    def pca(self) -> PositionPCA:
        """Exact components of the range: at least ten, as far as they exist."""
        return self.of_range.pca

    @property
    def residual(self) -> Array:
        """(m,) off-subspace residual of three components."""
        return self.of_range.residual

    @property
    def similarity(self) -> Similarity:
        """Cosines of the range's rows."""
        return self.of_range.similarity

    @property
    def similarity_projected(self) -> Similarity:
        """The same of the rows projected on the first three components."""
        return self.of_range.similarity_projected

    @property
    def by_lag(self) -> Array:
        """(m,) mean cosine of raw rows by their distance, without the matrix of all pairs."""
        return self.of_range.by_lag

    @property
    def by_lag_projected(self) -> Array:
        """(m,) the same of the rows projected on the first three components."""
        return self.of_range.by_lag_projected

    @property
    def sinusoids(self) -> Sinusoids:
        """The best sinusoid of each entry."""
        return self.of_range.sinusoids

    @property
    def projected_r2(self) -> Array:
        """(d_model,) R² of the projection on three components as a prediction of each entry."""
        return self.of_range.projected_r2

    @property
    def evidence(self) -> TurningShare | None:
        """How evenly the rows turn; None for fewer than eight."""
        return self.of_range.evidence

    @property
    def turning_nulls(self) -> Mapping[str, Null]:
        """How evenly random curves of this size turn; empty for fewer than eight rows."""
        return self.of_range.turning_nulls if self.nulls else {}

    @property
    def shapes(self) -> Shapes | None:
        """Line, circle, helices; None for a range of fewer than 4 positions or 3 components."""
        return self.of_range.shapes

    @property
    def look_back(self) -> Mapping[Scoring, LookBack] | None:
        """Looking back, in both scorings; None for a range that is too short."""
        return self.of_range.look_back

    @property
    def turning(self) -> Turning | None:
        """Growth of the rotation with the lag; None if none fits."""
        return self.of_range.turning

    def heads(self, layer: int) -> HeadProjections:
        """All heads' queries and keys of all positions; TensorUnavailable without their weights."""
        if layer not in self._heads:
            self._heads = {layer: project_heads(self.model, layer)}  # they are large
        return self._heads[layer]

    def kernels(self, layer: int | None = None, *, averaged: bool = False) -> HeadKernels:
        """Attention of a layer's heads by position alone, for the queries of the range.

        Parameters
        ----------
        layer
            The scope's layer if None.
        averaged
            Average P in blocks of ten neighbours first.

        Raises
        ------
        TensorUnavailable
            The checkpoint or the family lacks the required weights.
        """
        key = (self.of_model.layer if layer is None else layer, averaged)
        positions = self.positions
        if key not in self._kernels:
            if averaged:
                heads = project_heads(self.model, key[0], rows=average_blocks(self.model.W_pos))
            else:
                heads = self.heads(key[0])
            self._kernels[key] = head_kernels(heads, positions)
        return self._kernels[key]

    @property
    def layernorm(self) -> LayerNormErrors:
        """Errors of the two approximations; TensorUnavailable without token embeddings."""
        return self.of_range.layernorm

    # ---- of all stored rows, and of the weights ------------------------------------------

    @property
    def rank(self) -> int:
        """Number of P's directions that count as its subspace."""
        return self.of_model.rank

    @property
    def norms(self) -> NormProfile:
        """Raw norms."""
        return self.of_model.norms

    def subject(self, name: Name, *, fold_ln: bool | None = None) -> Subject:
        """Return a matrix with this scope's settings applied."""
        return self.of_model.subject(name, fold_ln=fold_ln)

    def directions(self, name: Name, *, fold_ln: bool | None = None) -> Directions:
        """Directions of a matrix in the residual stream; TensorUnavailable if it is missing."""
        return self.of_model.directions(name, fold_ln=fold_ln)

    def spectrum(self, name: Name) -> Spectrum:
        """Singular values and their summaries."""
        return self.of_model.spectrum(name)

    @property
    def contexts(self) -> Directions:
        """P's leading left singular vectors, up to five: its directions over position."""
        return self.of_model.contexts

    @property
    def sparsity(self) -> Sparsity:
        """Sparsity of P's leading directions over the embedding's entries."""
        return self.of_model.sparsity

    @property
    def position_probe(self) -> Probe:
        """Errors of positions read from rows; RangeError for a table of fewer than 20 rows."""
        return self.of_model.position_probe

    @property
    def order_probe(self) -> Probe:
        """Errors in which of two rows is first; RangeError for a table of fewer than 20 rows."""
        return self.of_model.order_probe

    def overlaps(self, rows: Name, columns: Name, *, fold_ln: bool | None = None) -> Array:
        """Squared overlaps of two matrices, not cached; TensorUnavailable if one is missing."""
        return self.of_model.overlaps(rows, columns, fold_ln=fold_ln)

    def contrast(self, rows: Name, columns: Name, *, fold_ln: bool | None = None) -> Contrast:
        """Corners of the squared overlaps, over chance."""
        return self.of_model.contrast(rows, columns, fold_ln=fold_ln)

    def top3(self, rows: Name, columns: Name, *, fold_ln: bool | None = None) -> float:
        """Overlap of the three strongest directions of each: 0 to 3."""
        return self.of_model.top3(rows, columns, fold_ln=fold_ln)

    @property
    def capture(self) -> Array:
        """Share of each of E's directions in P's strongest :attr:`capture_rank`."""
        return self.of_model.capture.values

    @property
    def capture_rank(self) -> int:
        """:attr:`rank`, or fewer where P has fewer directions."""
        return self.of_model.capture.rank

    @property
    def capture_chance(self) -> float:
        """The same by chance: that rank over the dimensions of their space."""
        return self.of_model.capture.chance

    @property
    def cosines(self) -> TokenPositionCosines:
        """Cosines of all tokens with all positions; TensorUnavailable without embeddings."""
        return self.of_model.cosines
