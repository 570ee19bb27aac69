"""What the dimensions panel asks: the best sinusoid of every entry of P over the shown range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.pca.pca import PositionPCA, fit_pca
from gui.services.questions import Progress, Subjects

if TYPE_CHECKING:
    from geometry.measures.single_dimensions import Sinusoids


@dataclass(frozen=True, eq=False, slots=True)
class Dimensions:
    """Every entry of P over a range of positions.

    Attributes
    ----------
    rows : (m, d_model) float64
        The table's rows in the range.
    sinusoids
        The best sinusoid of every entry: of the rows as they are, or after projection.
    variance : (d_model,) float64
        Of each entry over the range, before projection, in squared units of P.
    after_projection_r2 : (d_model,) float64
        R² of the projected rows as a prediction of the rows themselves.
    mean : (d_model,) float64
        Mean of the rows.
    scores, basis : (m, k), (k, d_model) float64
        The rows in the shown components, and these.
    """

    rows: np.ndarray
    sinusoids: Sinusoids
    variance: np.ndarray
    after_projection_r2: np.ndarray
    mean: np.ndarray
    scores: np.ndarray
    basis: np.ndarray

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both included."""
        return self.sinusoids.positions

    def projected(self, entry: int) -> np.ndarray:
        """(m,) an entry of mean + projection on the shown components."""
        values: np.ndarray = self.mean[entry] + self.scores @ self.basis[:, entry]
        return values


@dataclass(frozen=True, slots=True)
class DimensionsOf:
    """The best sinusoids of all entries.

    Attributes
    ----------
    positions
        First and last position, both included.
    components
        The shown ones, from 1.
    projected
        Whether the waves are fitted to the rows after projection on these.
    """

    positions: tuple[int, int]
    components: tuple[int, ...]
    projected: bool = False

    def steps(self, about: Subjects) -> Iterator[Progress | Dimensions]:
        """Yield the :class:`Dimensions` last.

        Raises
        ------
        RangeError
            The range has too few positions for components.
        """
        # It brings parts of SciPy, which the window must not wait for.
        from geometry.measures.single_dimensions import best_sinusoids, r2_after_projection

        W_pos = about.model.W_pos
        yield Progress(None, "Fitting the components")
        pca = fit_pca(W_pos, self.positions, max(self.components))
        r2 = r2_after_projection(W_pos, pca, self.components)
        yield Progress(None, "Fitting a sinusoid to every entry")
        raw = None if self.projected else best_sinusoids(W_pos, self.positions)
        yield dimensions_of(W_pos, pca, self.components, r2, raw)


def dimensions_of(
    W_pos: np.ndarray,
    pca: PositionPCA,
    components: tuple[int, ...],
    after_projection_r2: np.ndarray,
    sinusoids: Sinusoids | None = None,
) -> Dimensions:
    """Put together what is known of every entry over the range of a PCA.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    pca, components
        Components of the range, and which of them are shown, from 1.
    after_projection_r2 : (d_model,)
        Of the projection on these.
    sinusoids
        Those of the rows as they are; if None, they are fitted to the rows after projection.
    """
    from geometry.measures.single_dimensions import best_sinusoids

    first, last = pca.positions
    rows, basis = W_pos[first : last + 1], _basis(pca, components)
    scores = (rows - pca.mean) @ basis.T
    if sinusoids is None:
        sinusoids = best_sinusoids(pca.mean + scores @ basis, (0, last - first))
        sinusoids = replace(sinusoids, positions=pca.positions)
    variance = rows.var(axis=0)
    for array in (variance, scores, basis):
        array.flags.writeable = False
    return Dimensions(rows, sinusoids, variance, after_projection_r2, pca.mean, scores, basis)


def _basis(pca: PositionPCA, components: tuple[int, ...]) -> np.ndarray:
    return np.array(pca.components[[c - 1 for c in components if c <= len(pca.components)]])
