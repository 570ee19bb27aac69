"""Measurements of the rows of a range, each computed once, on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self, TypeVar, overload

import numpy as np

from geometry.checkpoints.memo import cached_property
from geometry.evidence.bootstrap import Intervals
from geometry.evidence.null import Null
from geometry.evidence.turning_nulls import rule_nulls, turning_nulls
from geometry.evidence.turning_share import FEWEST, TurningShare, turning_share
from geometry.measures.layernorm import LayerNormErrors, layernorm_errors
from geometry.measures.lookback import (
    LookBack,
    Scoring,
    Turning,
    follow_turning,
    longest_lag,
    look_back,
)
from geometry.measures.shape import Shapes, fit_shapes, shape_intervals
from geometry.measures.similarity import Similarity, mean_by_lag, similarity
from geometry.measures.single_dimensions import Sinusoids, best_sinusoids, r2_after_projection
from geometry.models.addable_tokens import addable_tokens
from geometry.models.model import PositionalModel
from geometry.pca.components import Array, PositionPCA, check_range
from geometry.pca.pca import fit_pca, off_subspace_residual

N_COMPONENTS = 10
LAGS = (1, 5, 10, 20, 50, 100, 200)
"""Reported lags; angles use every lag up to the last of these."""
FAR_LAGS = (50, 100, 200)
"""Lags that claims are about: over these a curve of one or two turns rotates visibly."""

T = TypeVar("T")


class of_range(cached_property[T]):  # noqa: N801 – a decorator, like the one that it extends
    """A cached property that depends on the range, as ``range_was_read`` then shows."""

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if isinstance(instance, MeasuredRange):
            instance.range_was_read = True
        return super().__get__(instance, owner)

    def __set__(self, instance: object, value: object) -> None:
        """Refuse: only with a setter is each read seen, not the first one alone."""
        raise AttributeError("measurements cannot be changed")


class MeasuredRange:
    """Measurements that depend on the range, and on no other setting.

    All of them set :attr:`range_was_read`, also those that are known already, so that it shows
    whether a number depends on the range.

    Parameters
    ----------
    model
        The open model.
    positions
        First and last position, both inclusive.

    Raises
    ------
    RangeError
        When the range leaves the table.
    """

    nulls = True
    """Whether the null distributions are drawn."""
    lag_step = 1
    """Distance of the lags of :attr:`look_back`: more for a random curve, to be faster."""
    n_components = N_COMPONENTS
    """How many components :attr:`pca` has: three of a random curve."""
    find_sinusoids: Callable[[], Sinusoids] | None = None
    """Finds :attr:`sinusoids` of a random curve, together with those of others."""

    def __init__(self, model: PositionalModel, positions: tuple[int, int]) -> None:
        self.model, self.range_was_read = model, False
        self.shown = check_range(positions, model.n_positions)
        """The range, for a measurement that does not depend on it."""

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        self.range_was_read = True
        return self.shown

    @property
    def rows(self) -> Array:
        """(m, d_model) the range's rows."""
        first, last = self.positions
        return self.model.W_pos[first : last + 1]

    @of_range
    def pca(self) -> PositionPCA:
        """Exact components of the range, as far as they exist."""
        return fit_pca(self.model.W_pos, self.positions, self.n_components, alone=True)

    @of_range
    def residual(self) -> Array:
        """(m,) off-subspace residual of three components."""
        return off_subspace_residual(self.rows, self.pca)

    @of_range
    def similarity(self) -> Similarity:
        """Cosines of the raw rows, and their mean by lag."""
        return similarity(self.model.W_pos, self.positions)

    @of_range
    def similarity_projected(self) -> Similarity:
        """Cosines of the rows projected on the first three components."""
        return similarity(self.model.W_pos, self.positions, self.pca.first(3))

    @of_range
    def by_lag(self) -> Array:
        """(m,) mean cosine of raw rows by their distance, without the matrix of all pairs."""
        return mean_by_lag(self.model.W_pos, self.positions)

    @of_range
    def by_lag_projected(self) -> Array:
        """(m,) the same of the rows projected on the first three components."""
        return mean_by_lag(self.model.W_pos, self.positions, self.pca.first(3))

    @of_range
    def sinusoids(self) -> Sinusoids:
        """Best sinusoid of each entry."""
        if self.find_sinusoids is not None:
            return self.find_sinusoids()
        return best_sinusoids(self.model.W_pos, self.positions)

    @of_range
    def projected_r2(self) -> Array:
        """(d_model,) R² of the projection on three components as a prediction of each entry."""
        return r2_after_projection(self.model.W_pos, self.pca)

    @of_range
    def evidence(self) -> TurningShare | None:
        """How evenly the rows turn; None for fewer than eight, or if they do not vary."""
        enough = len(self.rows) >= FEWEST and self.pca.rank
        return turning_share(self.rows) if enough else None

    @of_range
    def turning_nulls(self) -> Mapping[str, Null]:
        """How evenly random curves of this size turn; empty without :attr:`evidence`."""
        return turning_nulls(self.rows) if self.nulls and self.evidence is not None else {}

    @of_range
    def rule_nulls(self) -> Mapping[str, Null]:
        """Strength of the shape rule, of such curves; empty without :attr:`evidence`."""
        return rule_nulls(self.rows) if self.nulls and self.evidence is not None else {}

    @of_range
    def shapes(self) -> Shapes | None:
        """Line, circle, helices; None for a range of fewer than 4 positions or 3 components.

        None too for one that does not vary.
        """
        if len(self.rows) < 4 or len(self.pca.components) < 3 or not self.pca.rank:
            return None
        return fit_shapes(self.pca.project(self.rows)[:, :3], self.evidence)

    @of_range
    def intervals(self) -> Intervals | None:
        """Intervals of the curve that describes the rows; None for fewer than 32 of them."""
        return None if self.shapes is None else shape_intervals(self.rows, self.shapes)

    @of_range
    def look_back(self) -> Mapping[Scoring, LookBack] | None:
        """Motions of the first three components for the lags 1, 2 … 200, as far as they fit.

        None for a range of fewer than 9 positions or 3 components, or one that does not vary.
        """
        if self._even_odd is None:
            return None
        halves = look_back(self._coordinates, self._even_odd.lags, scoring="halves")
        return {"even_odd": self._even_odd, "halves": halves}

    @property
    def _coordinates(self) -> Array:
        """(m, 3) the range's rows in the first three components."""
        return self.pca.project(self.rows)[:, :3]

    @property
    def longest_lag(self) -> int:
        """Longest reported lag that fits; 0 if there is none, or fewer than three components."""
        enough = len(self.pca.components) >= 3 and self.pca.rank > 0
        return max(0, min(longest_lag(len(self.rows), 3), LAGS[-1])) if enough else 0

    @of_range
    def _even_odd(self) -> LookBack | None:
        lags = np.arange(self.lag_step, self.longest_lag + 1, self.lag_step)
        if not len(lags):
            return None
        return look_back(self._coordinates, lags, first=self.positions[0])

    @of_range
    def far_back(self) -> Mapping[Scoring, LookBack]:
        """:attr:`look_back` for 50, 100 and 200 alone; empty if not even the first fits."""
        lags = [lag for lag in FAR_LAGS if lag <= self.longest_lag]
        if not lags:
            return {}
        return {
            "even_odd": look_back(self._coordinates, lags, first=self.positions[0]),
            "halves": look_back(self._coordinates, lags, scoring="halves"),
        }

    @of_range
    def turning(self) -> Turning | None:
        """Growth of the rotation with the lag; None if none fits."""
        return None if self._even_odd is None else follow_turning(self._even_odd)

    @of_range
    def layernorm(self) -> LayerNormErrors:
        """Errors of the two approximations; TensorUnavailable without token embeddings."""
        model = self.model
        return layernorm_errors(
            addable_tokens(model),
            model.W_pos,
            self.positions,
            token_scale=model.token_scale,
            type_row=model.token_type,
        )
