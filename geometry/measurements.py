"""Everything that is measured on a model, each once and only when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from geometry.components import Array, PositionPCA, check_range
from geometry.directions import Directions, singular_directions
from geometry.errors import RangeError, TensorUnavailable
from geometry.layernorm import (
    LayerNormErrors,
    TokenPositionCosines,
    layernorm_errors,
    token_position_cosines,
)
from geometry.model import PositionalModel
from geometry.norms import NormProfile, norm_profile
from geometry.overlaps import (
    Contrast,
    Sparsity,
    capture,
    check_rank,
    corner_contrast,
    sparsity,
    squared_overlaps,
)
from geometry.pca import fit_pca, off_subspace_residual
from geometry.residual_stream import Name, ResidualStream, Subject
from geometry.shape import Shapes, fit_shapes
from geometry.similarity import Similarity, similarity
from geometry.single_dimensions import Sinusoids, best_sinusoids, r2_after_projection
from geometry.spectra import Spectrum, summarise

N_COMPONENTS = 10
DEFAULT_RANK = 30
LEADING = 5


@dataclass(frozen=True, slots=True)
class Scope:
    """What is measured.

    Attributes
    ----------
    positions
        First and last position, both inclusive, for what is of the shown range only; 1 to the last
        if None.
    layer
        Of the weights.
    rank
        How many of P's directions count as its subspace; 30, or all that a smaller table has, if
        None.
    after
        First position of the stretch whose norms' stability is measured.
    fold_ln
        Multiply what a weight reads by the gain of the LayerNorm before it.
    """

    positions: tuple[int, int] | None = None
    layer: int = 0
    rank: int | None = None
    after: int = 100
    fold_ln: bool = False


class Measurements:
    """What is measured on one model in one scope.

    Parameters
    ----------
    model
        The open model; tensors are read when something needs them.
    scope
        See :class:`Scope`.

    Raises
    ------
    RangeError
        When the range leaves the table, the model has no such layer, or P no such rank.
    """

    def __init__(self, model: PositionalModel, scope: Scope | None = None) -> None:
        self.model, self.scope = model, scope or Scope()
        last = model.n_positions - 1
        self.positions = check_range(self.scope.positions or (min(1, last), last), last + 1)
        directions = min(model.n_positions, model.d_model)
        self.rank = min(DEFAULT_RANK, directions) if self.scope.rank is None else self.scope.rank
        if not 1 <= self.rank <= directions:
            raise RangeError(
                f"rank {self.rank} is none that this table has: it has {directions} directions",
                f"Choose a rank from 1 to {directions}.",
            )
        if model.n_layers is not None and not 0 <= self.scope.layer < max(model.n_layers, 1):
            raise RangeError(
                f"{model.name} has layers 0–{model.n_layers - 1}, got {self.scope.layer}"
            )
        self.stream = ResidualStream(model)

    # ---- of the shown range ------------------------------------------------------------

    @property
    def rows(self) -> Array:
        """(m, d_model) the range's rows."""
        first, last = self.positions
        rows: Array = self.model.W_pos[first : last + 1]
        return rows

    @cached_property
    def pca(self) -> PositionPCA:
        """Exact components of the range: at least ten, as far as they exist."""
        return fit_pca(self.model.W_pos, self.positions, N_COMPONENTS)

    @cached_property
    def residual(self) -> Array:
        """(m,) off-subspace residual of three components."""
        return off_subspace_residual(self.rows, self.pca)

    @cached_property
    def similarity(self) -> Similarity:
        """Cosines of the range's rows."""
        return similarity(self.model.W_pos, self.positions)

    @cached_property
    def similarity_projected(self) -> Similarity:
        """The same of the rows projected on the first three components."""
        return similarity(self.model.W_pos, self.positions, first_three(self.pca))

    @cached_property
    def sinusoids(self) -> Sinusoids:
        """The best sinusoid of each entry."""
        return best_sinusoids(self.model.W_pos, self.positions)

    @cached_property
    def projected_r2(self) -> Array:
        """(d_model,) R² of the projection on three components as a prediction of each entry."""
        return r2_after_projection(self.model.W_pos, self.pca)

    @cached_property
    def shapes(self) -> Shapes | None:
        """Line, circle, helices; None for a range of fewer than 4 positions or 3 components."""
        if len(self.rows) < 4 or len(self.pca.components) < 3:
            return None
        return fit_shapes(self.pca.project(self.rows)[:, :3])

    # ---- of all stored rows ------------------------------------------------------------

    @cached_property
    def norms(self) -> NormProfile:
        """Raw norms."""
        return norm_profile(self.model.W_pos, after=self.scope.after)

    def directions(self, name: Name, *, fold_ln: bool | None = None) -> Directions:
        """Directions of a matrix in the residual stream; TensorUnavailable if it is not there."""
        return self.stream.directions(self.subject(name, fold_ln=fold_ln))

    def overlaps(self, rows: Name, columns: Name, *, fold_ln: bool | None = None) -> Array:
        """Squared overlaps of two matrices; TensorUnavailable if one is not there."""
        return self.stream.overlaps(
            self.subject(rows, fold_ln=fold_ln), self.subject(columns, fold_ln=fold_ln)
        )

    def subject(self, name: Name, *, fold_ln: bool | None = None) -> Subject:
        """Return a matrix as this scope looks at it."""
        if name in ("P", "E"):
            return Subject(name)
        fold = self.scope.fold_ln if fold_ln is None else fold_ln
        return Subject(name, self.scope.layer, fold_ln=fold)

    def spectrum(self, name: Name) -> Spectrum:
        """Singular values and what sums them up."""
        return summarise(self.directions(name).singular_values)

    def width(self, name: Name) -> int:
        """Dimensions of the space that a matrix's directions lie in."""
        return int(self.directions(name).vectors.shape[1])

    def contrast(self, rows: Name, columns: Name) -> Contrast:
        """Corners of the squared overlaps, over chance."""
        one, other = self.stream.pair(self.subject(rows), self.subject(columns))
        return corner_contrast(squared_overlaps(one, other), 1 / one.vectors.shape[1])

    @cached_property
    def capture(self) -> Array:
        """How much of each of E's directions lies in P's strongest ``rank``."""
        P, E = self.stream.pair(self.subject("P"), self.subject("E"))
        return capture(P, E, check_rank(self.rank, P))

    @cached_property
    def contexts(self) -> Directions:
        """P's left singular vectors: its leading directions over position."""
        return singular_directions(self.model.W_pos, "output")

    @cached_property
    def sparsity(self) -> Sparsity:
        """Sparsity of P's leading directions over the embedding's entries."""
        return sparsity(self.directions("P").vectors[:LEADING])

    # ---- LayerNorm ---------------------------------------------------------------------

    @cached_property
    def layernorm(self) -> LayerNormErrors:
        """Errors of the two approximations; TensorUnavailable without token embeddings."""
        tokens, type_row = self._tokens, self.model.token_type
        return layernorm_errors(tokens, self.model.W_pos, self.positions, type_row=type_row)

    @cached_property
    def cosines(self) -> TokenPositionCosines:
        """Cosines of all tokens with all positions; TensorUnavailable without embeddings."""
        return token_position_cosines(self._tokens, self.model.W_pos)

    @property
    def _tokens(self) -> npt.NDArray[np.float32]:
        """(d_vocab, d_model) token embeddings that positions can be added to as they are."""
        tokens, width = self.model.W_E, self.model.d_model
        if tokens.shape[1] != width:
            raise TensorUnavailable(
                f"{self.model.name} has tokens of {tokens.shape[1]} dimensions and positions of "
                f"{width}: as they are stored the two cannot be added."
            )
        return tokens


def first_three(pca: PositionPCA) -> PositionPCA:
    """Return a PCA with its first three components only."""
    return PositionPCA(
        pca.positions,
        pca.mean,
        pca.components[:3],
        pca.singular_values[:3],
        pca.explained_variance_ratio[:3],
        pca.exact,
    )
