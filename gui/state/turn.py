"""The display transform that keeps the curve from flipping while its components change.

Principal components are defined only up to sign, and two of them swap where their variances cross,
so the true coordinates jump while a range is dragged. The *shown* curve is therefore transformed by
the orthogonal matrix that best aligns it with what was shown just before (orthogonal Procrustes);
the component arrows are transformed with it, so that the picture stays true.
"""

from __future__ import annotations

import numpy as np

from geometry.pca.curve import Curve
from geometry.pca.pca import procrustes_rotation

INVISIBLE = 1e-5
"""A smaller rotation, in radians, moves no point by a pixel on the largest screen."""


def turn_onto(curve: Curve, previous: Curve, previous_turn: np.ndarray) -> np.ndarray:
    """Rotate a curve onto the one shown before it.

    Parameters
    ----------
    curve, previous
        The new curve and the one shown before, of the same table.
    previous_turn
        (3, 3) transform the previous one was shown with.

    Returns
    -------
    np.ndarray
        (3, 3) orthogonal; ``curve.coordinates @ turn.T`` is nearest to the previous curve, compared
        over the positions that both ranges have (over the new range where they share fewer than
        four). The identity itself where the difference is invisible.
    """
    first = max(curve.pca.positions[0], previous.pca.positions[0])
    last = min(curve.pca.positions[1], previous.pca.positions[1])
    if last - first < 3:
        first, last = curve.pca.positions
    rows = slice(first, last + 1)
    shown = previous.coordinates[rows] @ previous_turn.T
    new = curve.coordinates[rows]
    turn = procrustes_rotation(new - new.mean(axis=0), shown - shown.mean(axis=0))
    if np.allclose(turn, np.eye(3), rtol=0, atol=INVISIBLE):
        turn = np.eye(3)
    turn.setflags(write=False)
    return turn


def ease_to_true(turn: np.ndarray, fraction: float) -> np.ndarray:
    """Interpolate from a display transform to the identity.

    Parameters
    ----------
    turn
        (3, 3) orthogonal matrix, a rotation or a rotation with one axis mirrored.
    fraction
        0 gives ``turn``, 1 the identity.

    Returns
    -------
    np.ndarray
        (3, 3). A rotation is interpolated about its axis at constant speed. In a mirrored transform
        the mirrored axis is flipped at the same time.
    """
    # Slow to import, and not needed to show the first curve.
    from scipy.spatial.transform import Rotation

    fold = np.eye(3)
    rotation = np.asarray(turn)
    if np.linalg.det(rotation) < 0:
        # Flip the component whose arrow is most reversed, which moves least.
        axis = int(np.argmin(np.diag(rotation)))
        mirror = np.eye(3)
        mirror[axis, axis] = -1.0
        rotation = rotation @ mirror
        fold[axis, axis] = 2 * fraction - 1
    eased: np.ndarray = Rotation.from_rotvec(
        (1 - fraction) * Rotation.from_matrix(rotation).as_rotvec()
    ).as_matrix()
    return eased @ fold
