"""What LayerNorm preserves of a curve of positions, and its cost under weight decay.

Why would a model wind up its positions? LayerNorm makes all rows equally long: a straight line
through the origin becomes two points, one beside the origin an arc crowded at its ends, and a
circle is unchanged. And weight decay penalises ‖p_i‖², which grows with the square of a line's
length. After the discussion of "GPT-2's positional embedding matrix is a helix" (2023).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.spatial import cKDTree

from geometry.checkpoints.result import result
from geometry.checkpoints.threads import one_thread
from geometry.measures.block_norm import BlockNorm
from geometry.measures.lookback import longest_lag, look_back
from geometry.measures.synthetic import DIRECTIONS, KINDS, CurveKind, SyntheticCurve
from geometry.pca.components import Array, read_only

#: Rows that are not neighbours count as alike if they are nearer than this share of the mean step.
#: A circle that overlaps itself passes each of its rows at half a step at most.
ALIKE = 0.75
#: In more dimensions, a k-d tree is slower than all pairwise products.
TREE_DIMENSIONS = 8
BLOCK_ROWS = 256
#: Components in which a screw looks back.
COMPONENTS = 3


@result
class Distances:
    """Distances between the rows of a curve.

    Attributes
    ----------
    steps : (n − 1,) float64
        From each position to the next one.
    others : (n,) float64
        From each position to the nearest one that is not its neighbour.
    """

    steps: Array
    others: Array

    @property
    def mean_step(self) -> float:
        """Mean distance of neighbours."""
        return float(self.steps.mean())

    @property
    def evenness(self) -> float:
        """The shortest step as a share of the mean: 1 where all are equal, 0 for a point."""
        return float(self.steps.min() / self.mean_step) if self.mean_step > 0.0 else 0.0

    @property
    def alike(self) -> int:
        """Number of rows with a non-neighbour nearer than 3/4 of a mean step."""
        return int(np.count_nonzero(self.others <= ALIKE * self.mean_step))

    @property
    def nearest_other(self) -> float:
        """The smallest distance of rows that are not neighbours, in mean steps; 2 on a line."""
        return float(self.others.min() / self.mean_step) if self.mean_step > 0.0 else 0.0


@result
class Survival:
    """One curve before and after LayerNorm.

    Attributes
    ----------
    curve
        The curve.
    before, after
        Distances of its rows, and after LayerNorm.
    look_back_before, look_back_after
        R² of looking back ``lag`` tokens by one screw in the first three components, fitted on the
        first half of the pairs and scored on the second; None where there are too few positions.
    drawn_before, drawn_after : (n, 4) float64
        Coordinates around the axis (two), along it, and away from the origin: along its offset
        and the token together.
    mean_square
        Mean ‖p_i‖², which weight decay penalises.
    """

    curve: SyntheticCurve
    before: Distances
    after: Distances
    look_back_before: float | None
    look_back_after: float | None
    drawn_before: Array
    drawn_after: Array
    mean_square: float

    @property
    def kept(self) -> Array:
        """(n − 1,) ratios of steps after to before LayerNorm, as shares of their mean."""
        ratio = self.after.steps / self.before.steps
        mean = float(ratio.mean())
        return np.asarray(ratio / mean if mean > 0.0 else ratio)


def line_or_helix(
    curve: SyntheticCurve, token_norm: float = 0.0, lag: int = 1
) -> Mapping[CurveKind, Survival]:
    """Apply LayerNorm to a line, circle and helix of the same spacing.

    Parameters
    ----------
    curve
        Their common parameters; its kind is ignored.
    token_norm
        Length of the token embedding that is added to every row, at right angles to all of them; 0
        for positions alone.
    lag
        Number of tokens to look back, from 1.
    """
    return {kind: survival(curve.of_kind(kind), token_norm, lag) for kind in KINDS}


def survival(curve: SyntheticCurve, token_norm: float = 0.0, lag: int = 1) -> Survival:
    """Apply LayerNorm to a curve and measure the effect; see :func:`compare`."""
    with one_thread():
        rows = curve.coordinates()
        after = normalised(rows, curve.d_model, token_norm)
        drawn = (rows[:, :DIRECTIONS].copy(), after[:, :DIRECTIONS].copy())
        if token_norm:
            drawn[1][:, -1] = np.hypot(after[:, DIRECTIONS - 1], after[:, -1])
        mean_square = float(np.einsum("ij,ij->", rows, rows) / len(rows))
        read_only(*drawn)
        return Survival(
            curve,
            distances(rows),
            distances(after),
            look_back_r2(rows, lag),
            look_back_r2(after, lag),
            *drawn,
            mean_square,
        )


def normalised(coordinates: Array, d_model: int, token_norm: float = 0.0) -> Array:
    """LayerNorm before its gain, in the coordinates of :meth:`SyntheticCurve.coordinates`.

    Parameters
    ----------
    coordinates : (n, m)
        Rows in an orthonormal basis at right angles to (1, …, 1): they have no mean to subtract.
    d_model
        Dimensions of the table.
    token_norm
        See :func:`compare`.

    Returns
    -------
    (n, m) float64; (n, m + 1) with a token, whose component is the last column. All rows have norm
    √d_model, except rows of zeros.
    """
    if token_norm:
        coordinates = np.column_stack([coordinates, np.full(len(coordinates), token_norm)])
    scale = np.sqrt(d_model / coordinates.shape[1])
    rows: Array = BlockNorm(None, None, epsilon=0.0, centred=False)(coordinates)
    rows *= scale
    return rows


def look_back_r2(rows: Array, lag: int) -> float | None:
    """Return R² of looking back by one screw, as defined in :class:`Survival`.

    Parameters
    ----------
    rows : (n, m)
        Rows in order.
    lag
        From 1.
    """
    if lag > longest_lag(len(rows), COMPONENTS):
        return None
    centred = rows - rows.mean(axis=0)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, : -COMPONENTS - 1 : -1]
    found = look_back(centred @ directions, [lag], scoring="halves")
    return float(found.r2["screw"][0])


def distances(rows: Array) -> Distances:
    """Measure the distances between rows.

    Parameters
    ----------
    rows : (n, m)
        In order; at least 4 of them.
    """
    steps = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    others = _by_tree(rows) if rows.shape[1] <= TREE_DIMENSIONS else _by_products(rows)
    read_only(steps, others)
    return Distances(steps, others)


def _by_tree(rows: Array) -> Array:
    # Among the four nearest, at most three are the row itself and its neighbours.
    tree = cKDTree(rows, compact_nodes=False, balanced_tree=False)
    apart, which = tree.query(rows, k=4)
    near = np.abs(which - np.arange(len(rows))[:, None]) < 2
    found: Array = np.where(near, np.inf, apart).min(axis=1)
    return found


def _by_products(rows: Array) -> Array:
    squares = np.einsum("ij,ij->i", rows, rows)
    found = np.empty(len(rows))
    for first in range(0, len(rows), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        apart = (-2 * rows[block]) @ rows.T
        apart += squares
        at = np.arange(len(apart))
        for near in (-1, 0, 1):
            column = at + first + near
            inside = (column >= 0) & (column < len(rows))
            apart[at[inside], column[inside]] = np.inf
        found[block] = apart.min(axis=1) + squares[block]
    return np.sqrt(np.maximum(found, 0.0))
