"""What the similarity panel asks: cosines of the shown range, raw or in the shown components."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.measures.similarity import Similarity, mean_by_lag, similarity
from geometry.pca.pca import PositionPCA, fit_pca
from gui.services.questions import Subjects
from gui.style.theme import format_count

LEVELS = (-1.0, 1.0)
"""The least and the largest cosine: the ends of the colours, before anybody drags them."""
MOST = 4096
"""More positions than this make a matrix that nothing can show and little memory can hold."""


@dataclass(frozen=True, slots=True)
class SimilarityOf:
    """Cosines of all rows of a range.

    Attributes
    ----------
    positions
        First and last position, both included.
    components
        If given, rows are first projected: the range's mean and these components, from 1.
    """

    positions: tuple[int, int]
    components: tuple[int, ...] | None = None

    def answer(self, about: Subjects) -> Similarity:
        """Compute them.

        Raises
        ------
        RangeError
            There are too many positions.
        """
        check_size(self.positions)
        W_pos = about.model.W_pos
        if self.components is None:
            return similarity(W_pos, self.positions)
        about.tell(None, "Fitting the components")
        pca = fit_pca(W_pos, self.positions, max(self.components))
        about.tell(None, "Comparing all pairs")
        return similarity(W_pos, self.positions, chosen(pca, self.components))


@dataclass(frozen=True, slots=True)
class ByLagOf:
    """The mean cosine by lag alone; fields as of :class:`SimilarityOf`."""

    positions: tuple[int, int]
    components: tuple[int, ...] | None = None

    def answer(self, about: Subjects) -> ByLag:
        """Compute it without the cosines of all pairs."""
        W_pos, pca = about.model.W_pos, None
        if self.components is not None:
            about.tell(None, "Fitting the components")
            pca = fit_pca(W_pos, self.positions, max(self.components))
            pca = chosen(pca, self.components)
        return ByLag(self.positions, self.components, mean_by_lag(W_pos, self.positions, pca))


@dataclass(frozen=True, eq=False, slots=True)
class ByLag:
    """The mean cosine by lag.

    Attributes
    ----------
    positions, components
        Of which rows, as in :class:`SimilarityOf`.
    by_lag : (m,) float64
        For lags 0, 1, …, m − 1.
    """

    positions: tuple[int, int]
    components: tuple[int, ...] | None
    by_lag: np.ndarray


def check_size(positions: tuple[int, int]) -> None:
    """Refuse a range whose cosines nothing can show."""
    first, last = positions
    if last - first + 1 > MOST:
        raise RangeError(
            f"The range has {format_count(last - first + 1)} positions, and cosines of all "
            f"pairs are shown for up to {format_count(MOST)}.",
            "Choose a shorter range.",
        )


def chosen(pca: PositionPCA, components: tuple[int, ...]) -> PositionPCA:
    """Return a fit with only some of its components, counted from 1; absent ones left out."""
    kept = [c - 1 for c in components if c <= len(pca.components)]
    return replace(
        pca,
        components=pca.components[kept],
        singular_values=pca.singular_values[kept],
        explained_variance_ratio=pca.explained_variance_ratio[kept],
    )
