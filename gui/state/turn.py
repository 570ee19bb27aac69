"""The display transform that keeps the curve from flipping while its components change.

Principal components are only defined up to sign, and two of them trade places where their
variances cross, so the true coordinates jump while a range is dragged. The *shown* curve is
therefore turned by the orthogonal matrix that lays it best onto what was shown just before
(orthogonal Procrustes); the component arrows are turned with it, so that the picture stays true.
"""

from __future__ import annotations

import numpy as np

from geometry.pca.curve import Curve
from geometry.pca.pca import procrustes_rotation

#: A turn by less (radians) moves no point by a pixel on the largest screen: it is none.
INVISIBLE = 1e-5


def turn_onto(curve: Curve, previous: Curve, previous_turn: np.ndarray) -> np.ndarray:
    """Turn a curve onto the one shown before it.

    Parameters
    ----------
    curve, previous
        The new curve and the one shown before, of the same table.
    previous_turn
        (3, 3) transform the previous one was shown with.

    Returns
    -------
    np.ndarray
        (3, 3) orthogonal; ``curve.coordinates @ turn.T`` is nearest to what was shown, compared
        over the positions that both ranges have (over the new range where they share fewer than
        four). The identity itself where nobody could see the difference.
    """
    first = max(curve.pca.positions[0], previous.pca.positions[0])
    last = min(curve.pca.positions[1], previous.pca.positions[1])
    if last - first < 3:
        first, last = curve.pca.positions
    rows = slice(first, last + 1)
    shown = previous.coordinates[rows] @ previous_turn.T
    found = curve.coordinates[rows]
    turn = procrustes_rotation(found - found.mean(axis=0), shown - shown.mean(axis=0))
    if np.allclose(turn, np.eye(3), rtol=0, atol=INVISIBLE):
        turn = np.eye(3)
    turn.setflags(write=False)
    return turn


def ease_to_true(turn: np.ndarray, fraction: float) -> np.ndarray:
    """Go part of the way from a display transform back to the identity.

    Parameters
    ----------
    turn
        (3, 3) orthogonal matrix, a rotation or a rotation with one axis mirrored.
    fraction
        0 gives ``turn``, 1 the identity.

    Returns
    -------
    np.ndarray
        (3, 3). A rotation goes along its own axis at constant speed. A mirrored one cannot be
        reached by turning alone: there, the mirrored axis is folded over at the same time.
    """
    # scipy's spatial package takes a while to import and is not needed to show a first curve.
    from scipy.spatial.transform import Rotation

    fold = np.eye(3)
    rotation = np.asarray(turn)
    if np.linalg.det(rotation) < 0:
        # Fold the component whose arrow is turned over the most: the shortest way.
        axis = int(np.argmin(np.diag(rotation)))
        mirror = np.eye(3)
        mirror[axis, axis] = -1.0
        rotation = rotation @ mirror
        fold[axis, axis] = 2 * fraction - 1
    eased: np.ndarray = Rotation.from_rotvec(
        (1 - fraction) * Rotation.from_matrix(rotation).as_rotvec()
    ).as_matrix()
    return eased @ fold
