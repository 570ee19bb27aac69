"""Rigid motions of points: the best one between two sets, and the path from one to the other.

A motion x → R·x + t with R a rotation is, in three dimensions, a screw: a rotation about an axis
and a translation along it. In more dimensions R rotates several planes at once, each by its own
angle.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array, row_norms

# Singular values below this share of the first do not determine the rotation.
FREE = 1e-10
# Smaller rotations (radians) have no meaningful axis: the shift's direction is used.
NO_TURN = 1e-9


@result
class Screw:
    """A rigid motion in 3D, as a rotation about an axis and a translation along it.

    Attributes
    ----------
    angle
        Of the rotation, in radians, 0 to π, right-handed about the axis.
    axis : (3,) float64
        Its direction, a unit vector; that of the shift where there is no rotation.
    step
        Translation along the axis, in the points' units; negative for a left-handed screw.
    centre : (3,) float64
        The axis' point nearest to the origin.
    """

    angle: float
    axis: Array
    step: float
    centre: Array


@result
class Motion:
    """x → rotation · x + shift.

    Attributes
    ----------
    rotation : (k, k) float64
        Orthogonal, determinant +1.
    shift : (k,) float64
        In the points' units.
    """

    rotation: Array
    shift: Array

    def carry(self, points: npt.ArrayLike) -> Array:
        """Map points (m, k)."""
        return np.asarray(points, dtype=np.float64) @ self.rotation.T + self.shift

    @property
    def angles(self) -> Array:
        """(k // 2,) rotation angle of each plane, in radians, 0 to π, decreasing."""
        turned = np.sort(np.abs(_planes(self.rotation)[1]))[::-1]
        return np.pad(turned, (0, len(self.shift) // 2 - len(turned)))

    @property
    def screw(self) -> Screw:
        """The motion as a screw; ValueError unless the points have three dimensions."""
        if len(self.shift) != 3:
            raise ValueError(f"only a motion in 3 dimensions is a screw, not in {len(self.shift)}")
        basis, angles = _planes(self.rotation)
        if not len(angles) or abs(angles[0]) < NO_TURN:
            step = float(row_norms(self.shift[None])[0])
            axis = self.shift / step if step > 0.0 else np.array([0.0, 0.0, 1.0])
            return Screw(0.0, axis, step, np.zeros(3))
        angle = float(angles[0])
        axis = np.cross(basis[:, 0], basis[:, 1]) * (1.0 if angle > 0.0 else -1.0)
        # Fixed point c of the rotation in its plane: c = R c + t without the translation along the
        # axis.
        across = self.shift - (axis @ self.shift) * axis
        half = 0.5 / np.tan(abs(angle) / 2)
        return Screw(
            abs(angle), axis, float(axis @ self.shift), across / 2 + half * np.cross(axis, across)
        )

    def course(self, points: npt.ArrayLike) -> Callable[[float], Array]:
        """Return the path of points during the motion, at constant speed.

        Every plane rotates about its own centre, and the rest translates, so each part of the path
        is a rigid motion too.

        Parameters
        ----------
        points : (m, k)
            Their start.

        Returns
        -------
        callable
            Maps a share of the path to (m, k) float64: the points themselves at 0, :meth:`carry` of
            them at 1.
        """
        basis, angles = _planes(self.rotation)
        n = len(angles)
        start, shift = np.asarray(points, dtype=np.float64) @ basis, self.shift @ basis
        turning = start[:, : 2 * n : 2] + 1j * start[:, 1 : 2 * n : 2]
        pull = shift[: 2 * n : 2] + 1j * shift[1 : 2 * n : 2]

        def at(share: float) -> Array:
            # Sum of the shifts on the path: (e^{iθs} − 1)/(e^{iθ} − 1), also for θ near 0.
            part = share * np.sinc(share * angles / (2 * np.pi)) / np.sinc(angles / (2 * np.pi))
            part = part * np.exp(0.5j * (share - 1.0) * angles)
            turned = turning * np.exp(1j * share * angles) + part * pull
            moved = start + share * shift
            moved[:, : 2 * n : 2], moved[:, 1 : 2 * n : 2] = turned.real, turned.imag
            return moved @ basis.T

        return at


def fit_motion(source: npt.ArrayLike, target: npt.ArrayLike) -> Motion:
    """Rotation and shift that bring points closest to others, in least squares.

    Parameters
    ----------
    source, target : (m, k)
        Corresponding points.

    Returns
    -------
    Motion
        A proper rotation, never a reflection. In directions in which the points do not extend, the
        smallest rotation is chosen.

    Raises
    ------
    ValueError
        When the shapes differ, or there are no points.

    References
    ----------
    Kabsch, "A solution for the best rotation to relate two sets of vectors", 1976.
    """
    a, b = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or 0 in a.shape:
        raise ValueError(f"expected two sets (m, k) of one shape, got {a.shape} and {b.shape}")
    middle_a, middle_b = a.mean(axis=0), b.mean(axis=0)
    rotation = best_rotations(((b - middle_b).T @ (a - middle_a))[None])[0]
    return Motion(rotation, middle_b - rotation @ middle_a)


def best_rotations(products: Array) -> Array:
    """Rotations R with the largest Σ y·R·x, for many sets of points at once.

    Parameters
    ----------
    products : (…, k, k) float64
        Σ y xᵀ of each set: targets in rows, sources in columns.

    Returns
    -------
    (…, k, k) float64
        Orthogonal, determinant +1.
    """
    U, sizes, Vh = np.linalg.svd(products)
    signs = np.ones_like(sizes)
    signs[..., -1] = np.where(np.linalg.det(U) * np.linalg.det(Vh) < 0.0, -1.0, 1.0)
    rotations: Array = (U * signs[..., None, :]) @ Vh
    if products.shape[-1] > 1:
        for at in np.argwhere(sizes[..., -2] <= FREE * sizes[..., 0]):
            index = tuple(at)
            rotations[index] = _least_turn(U[index], sizes[index], Vh[index])
    return rotations


def _least_turn(U: Array, sizes: Array, Vh: Array) -> Array:
    """Return the best rotation nearest to the identity, where some directions are undetermined."""
    free = sizes <= FREE * sizes[0] if sizes[0] > 0.0 else np.ones(len(sizes), dtype=bool)
    a, _, bh = np.linalg.svd(Vh[free] @ U[:, free])
    flip = np.ones(len(a))
    inside = (a @ bh).T
    flip[-1] = np.sign(np.linalg.det(U) * np.linalg.det(Vh) * np.linalg.det(inside)) or 1.0
    rotation: Array = U[:, ~free] @ Vh[~free] + U[:, free] @ ((bh.T * flip) @ a.T) @ Vh[free]
    return rotation


def _planes(rotation: Array) -> tuple[Array, Array]:
    """Return a basis that starts with the axes of the rotated planes, in pairs, and the angles.

    Returns
    -------
    (k, k), (p,)
        Orthonormal columns; the angle of columns 2j and 2j + 1, −π to π, none of them zero.
    """
    from scipy.linalg import schur  # slow to import, so not at start-up

    T, basis = schur(rotation, output="real")
    k = len(T)
    turned = [(j, j + 1) for j in range(k - 1) if T[j + 1, j] != 0.0]
    angles = [float(np.arctan2(T[b, a] - T[a, b], T[a, a] + T[b, b])) for a, b in turned]
    # Half a turn has no block of its own: the −1s come in pairs, as there is no reflection.
    in_blocks = {j for pair in turned for j in pair}
    halves = [j for j in range(k) if j not in in_blocks and T[j, j] < 0.0]
    for pair in zip(halves[::2], halves[1::2], strict=False):
        turned.append(pair)
        angles.append(np.pi)
    order = [j for pair in turned for j in pair]
    order += [j for j in range(k) if j not in order]
    return basis[:, order], np.array(angles)
