"""Intersection of a sphere around the origin with the shown subspace."""

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array
from geometry.pca.unit import in_table_unit, unit_of

FLAT = 1e-9
"""Below this share, a component's length counts as zero: the surface is unbounded there."""


@result
class SphereSection:
    """The points of an affine subspace whose vectors have a given norm.

    Attributes
    ----------
    centre : (k,) float64
        The subspace's point nearest to the origin, in the components' coordinates.
    axes : (k, k) float64 or None
        The surface is ``centre + axes @ u`` for all unit vectors u; for norms of uncentred rows, a
        multiple of the identity. None where no point of the subspace has that norm, or where the
        surface is unbounded.
    distance
        The smallest norm in the subspace, in the table's units.
    """

    centre: Array
    axes: Array | None
    distance: float

    @property
    def radii(self) -> tuple[float, ...]:
        """Semi-axes of the surface, in decreasing order; empty if there is no surface."""
        if self.axes is None:
            return ()
        return tuple(float(r) for r in np.linalg.svd(self.axes, compute_uv=False))

    def corners(self) -> Array:
        """Return the ends of the semi-axes, (2 k, k); empty if there is no surface."""
        if self.axes is None:
            return np.zeros((0, len(self.centre)))
        return self.centre + np.vstack([self.axes.T, -self.axes.T])


def sphere_section(
    mean: npt.ArrayLike, components: npt.ArrayLike, norm: float, *, centred: bool = False
) -> SphereSection:
    """Intersect the sphere ‖x‖ = norm with the subspace x = mean + Cᵀ·y.

    With orthonormal rows in C, ‖mean + Cᵀy‖² = ‖y + C·mean‖² + ‖mean‖² − ‖C·mean‖²: a sphere around
    −C·mean of radius √(norm² − ‖mean − CᵀC·mean‖²), if that is real. For norms of rows minus their
    mean over d_model, it is an ellipsoid: the same with J·mean and J·Cᵀ, J = I − 11ᵀ/d_model.

    Parameters
    ----------
    mean : (d_model,)
        A point of the subspace, such as the mean of the shown range.
    components : (k, d_model)
        Orthonormal rows that span it.
    norm
        The norm, in the table's units.
    centred
        Whether the norm is of rows minus their mean over d_model.

    Raises
    ------
    ValueError
        When the shapes do not fit, or `norm` is negative.
    """
    m, C = np.asarray(mean, dtype=np.float64), np.asarray(components, dtype=np.float64)
    if C.ndim != 2 or m.shape != C.shape[1:] or norm < 0.0:
        raise ValueError(f"expected (d,), (k, d) and a norm, got {m.shape}, {C.shape}, {norm}")
    unit = unit_of(m, np.array(float(norm)))
    m, norm = m / unit, norm / unit
    if centred:
        m, C = m - m.mean(), C - C.mean(axis=1, keepdims=True)
    scales, directions = np.linalg.eigh(C @ C.T)
    unbounded = bool((scales < FLAT).any())
    # Along a direction of zero length, all points are equally near to the origin.
    inverse = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales >= FLAT)
    centre: Array = -(directions * inverse) @ directions.T @ (C @ m)
    nearest = m + centre @ C
    distance = float(np.sqrt(nearest @ nearest))
    centre_in_table_unit = in_table_unit(centre, unit)
    if unbounded or distance > norm:
        return SphereSection(centre_in_table_unit, None, distance * unit)
    radius = np.sqrt((norm - distance) * (norm + distance))
    axes = in_table_unit(radius * (directions * np.sqrt(inverse)) @ directions.T, unit)
    return SphereSection(centre_in_table_unit, axes, distance * unit)
