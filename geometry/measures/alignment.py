"""Alignment of two curves: the orthogonal Procrustes fit, and one in the other's components.

The rows of both correspond one to one; the caller decides how (usually by position). Components of
different models differ in sign and order, so the fit may mirror unless this is disabled: whether a
curve or its mirror image is seen in three of many dimensions depends on signs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.measures.rigid_motion import best_rotations
from geometry.pca.components import Array, PositionPCA, about_mean
from geometry.pca.curve import shown_rows
from geometry.pca.pca import procrustes_rotation
from geometry.pca.unit import in_unit, unit_of

Middle = Literal["own", "basis"]
"""What is subtracted from rows before projecting them: their own mean, or that of the basis."""
MISSING = "an alignment needs at least two rows that differ"


@result
class Alignment:
    """x → scale · rotation · (x − source_mean) + target_mean, and how well that fits.

    Attributes
    ----------
    rotation : (k, k) float64
        Orthogonal; determinant −1 where it mirrors.
    scale
        1 unless it was fitted too.
    source_mean, target_mean : (k,) float64
        Of the rows that were fitted.
    disparity
        Sum of squared distances once both are centred, scaled to unit Frobenius norm, and optimally
        rotated *and scaled*, as in ``scipy.spatial.procrustes``: 0 for curves of one shape, at most
        1. Symmetric in source and target, and independent of ``scale``.
    rms
        Root mean square distance of corresponding rows after the alignment, in the target's units.
    unexplained
        Sum of squares of these distances, as a share of the target's sum of squares about its
        mean. Equals the disparity if the scale was fitted; without, it can exceed 1.
    """

    rotation: Array
    scale: float
    source_mean: Array
    target_mean: Array
    disparity: float
    rms: float
    unexplained: float

    @property
    def mirrors(self) -> bool:
        """Whether the rotation is a reflection."""
        return bool(np.linalg.det(self.rotation) < 0.0)

    def carry(self, points: npt.ArrayLike) -> Array:
        """Map any points (m, k) of the source's space to the target's."""
        centred = np.asarray(points, dtype=np.float64) - self.source_mean
        return self.scale * centred @ self.rotation.T + self.target_mean


def align(
    source: npt.ArrayLike, target: npt.ArrayLike, *, scaled: bool = False, mirrored: bool = True
) -> Alignment:
    """Align one set of points with another, in least squares.

    Parameters
    ----------
    source, target : (m, k)
        Corresponding points.
    scaled
        Whether to fit a scale.
    mirrored
        Whether to allow a reflection where that fits better.

    Raises
    ------
    ValueError
        The shapes differ, or all points of one set are the same.

    References
    ----------
    Schönemann and Carroll, "Fitting one matrix to another under choice of a central dilation and a
    rigid motion", 1970.
    """
    a, b, mean_a, mean_b = _centred(source, target)
    unit = unit_of(a, b)
    a, b = a / unit, b / unit
    size_a, size_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if not size_a or not size_b:
        raise ValueError(f"{MISSING}, and of comparable size")
    if mirrored:
        rotation = procrustes_rotation(a / size_a, b / size_b)
    else:
        rotation = best_rotations(((b / size_b).T @ (a / size_a))[None])[0]
    turned = a @ rotation.T
    # In one dimension, without mirroring, the best scale may be zero.
    agreement = max(float(np.vdot(turned, b)) / (size_a * size_b), 0.0)
    scale = agreement * size_b / size_a if scaled else 1.0
    left = float(np.linalg.norm(b - scale * turned))
    apart = float(np.linalg.norm(b / size_b - agreement * turned / size_a))
    return Alignment(
        rotation,
        scale,
        mean_a,
        mean_b,
        disparity=min(apart**2, 1.0),
        rms=left / float(np.sqrt(len(b))) * unit,
        unexplained=(left / size_b) ** 2,
    )


def disparity(source: npt.ArrayLike, target: npt.ArrayLike) -> float:
    """Return :attr:`Alignment.disparity` alone, reflections allowed: fast in many dimensions.

    Parameters
    ----------
    source, target : (m, d)
        Corresponding rows.

    Raises
    ------
    ValueError
        As :func:`align`.
    """
    from scipy.linalg import svdvals  # slow to import, so not at start-up

    (a, _), (b, _) = (in_unit(x) for x in _centred(source, target)[:2])
    if len(a) < a.shape[1]:
        # aᵀb has the singular values of a small matrix, because all rows lie in m dimensions.
        product = np.asarray(np.linalg.qr(a.T, "r")) @ np.asarray(np.linalg.qr(b.T, "r")).T
    else:
        product = a.T @ b
    sizes = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    agreement = float(svdvals(product, check_finite=False).sum()) / sizes
    return min(max(1.0 - agreement**2, 0.0), 1.0)


def _centred(source: npt.ArrayLike, target: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Return both about their means, and the means."""
    a, b = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"expected two sets (m, k) of one shape, got {a.shape} and {b.shape}")
    if any(np.ptp(x, axis=0).max(initial=0.0) == 0.0 if len(x) else True for x in (a, b)):
        raise ValueError(MISSING)
    return about_mean(a), about_mean(b), a.mean(axis=0), b.mean(axis=0)


def common_positions(*ranges: tuple[int, int]) -> tuple[int, int]:
    """Return the positions, first and last, that inclusive ranges have in common.

    Raises
    ------
    RangeError
        There is none.
    """
    first, last = max(r[0] for r in ranges), min(r[1] for r in ranges)
    if first > last:
        named = " and ".join(f"{a}–{b}" for a, b in ranges)
        raise RangeError(f"positions {named} do not overlap", "Choose ranges that overlap.")
    return first, last


def in_basis(
    rows: npt.ArrayLike,
    pca: PositionPCA,
    components: Sequence[int] = (1, 2, 3),
    middle: Middle = "basis",
) -> Array:
    """Coordinates of any rows in components that were fitted to other rows.

    Parameters
    ----------
    rows : (m, d_model)
        Rows of a table as wide as the one that was fitted.
    pca
        The fitted components.
    components
        Which of its components, counted from 1; missing ones give zeros.
    middle
        "basis" subtracts the fitted mean: rows of the same model keep their place. "own" subtracts
        the mean of these rows: tables of two models have no common origin, and the distance of
        their means would hide everything else.

    Returns
    -------
    (m, len(components)) float64

    Raises
    ------
    ValueError
        The rows are of another width.
    """
    table = _as_wide(rows, pca)
    chosen = shown_rows(pca, components)
    basis = pca.components[chosen].T
    projected = table @ basis
    # The projected mean equals the mean of the projections, so the table is read only once.
    taken = projected.mean(axis=0) if middle == "own" else pca.mean @ basis
    found = np.zeros((len(table), len(components)))
    found[:, [i for i, c in enumerate(components) if c <= pca.rank]] = projected - taken
    return found


def share_held(
    rows: npt.ArrayLike, pca: PositionPCA, components: Sequence[int] = (1, 2, 3)
) -> float:
    """Share of the rows' variance, about their own mean, that explained by some components.

    For the fitted rows this is the sum of their explained variance ratios; 0 for rows
    that do not vary.

    Raises
    ------
    ValueError
        The rows are of another width.
    """
    table = _as_wide(rows, pca)
    centred = about_mean(in_unit(table)[0])
    total = float(np.vdot(centred, centred))
    inside = centred @ pca.components[shown_rows(pca, components)].T
    return min(float(np.vdot(inside, inside)) / total, 1.0) if total > 0.0 else 0.0


def angles_between(
    one: PositionPCA,
    other: PositionPCA,
    components: Sequence[int] = (1, 2, 3),
    others: Sequence[int] | None = None,
) -> Array:
    """Principal angles between the spans of two sets of components, in radians, increasing.

    Parameters
    ----------
    one, other
        Fitted to tables of one width.
    components
        Which of the first's components, from 1.
    others
        Which of the second's; the same numbers if None.

    Returns
    -------
    (n,) float64
        0 to π/2, as many as the smaller set has components.

    Raises
    ------
    ValueError
        The widths differ, or one of them has none of the components.
    """
    from scipy.linalg import subspace_angles

    a = one.components[shown_rows(one, components)]
    b = other.components[shown_rows(other, others or components)]
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"components of width {a.shape[1]} and {b.shape[1]} have no angles")
    if not len(a) or not len(b):
        raise ValueError("one of the two has none of these components")
    return subspace_angles(a.T, b.T)[::-1]


def _as_wide(rows: npt.ArrayLike, pca: PositionPCA) -> Array:
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != pca.mean.size or not len(table):
        raise ValueError(f"expected rows (m, {pca.mean.size}), got {table.shape}")
    return table
