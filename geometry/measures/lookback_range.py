"""Looking back in a range's first three, first six or all principal components."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.evidence.drawn_tables import MEANINGS, drawn_tables
from geometry.evidence.drawn_tables import Kind as Drawn
from geometry.evidence.null import CurveNull
from geometry.measures.lookback import (
    Kind,
    LookBack,
    Scoring,
    all_lags,
    check_length,
    look_back,
    look_back_each,
)
from geometry.pca.components import Array, PositionPCA, read_only, rows_of_range
from geometry.pca.pca import fit_pca

SHARE = 0.999
"""Share of variance explained by the components that count as all."""
MOST = 64
"""Upper limit of components: with more, a single lag would take milliseconds."""
MANY = 6
"""With more components, only some lags are fitted."""
MAX_LAGS = 256
TOGETHER = 10
"""Random curves looked back in at once: their moments are summed together, in a few megabytes."""


@result
class RangeLookBack:
    """The motions that look back, and their coordinates.

    Attributes
    ----------
    pca
        The components used, and no others.
    coordinates : (m, k) float64
        The range's rows in these, about the range's mean.
    found
        The motions.
    """

    pca: PositionPCA
    coordinates: Array
    found: LookBack

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.pca.positions

    @property
    def variance_share(self) -> float:
        """Share of the range's variance explained by these components."""
        return float(self.pca.explained_variance_ratio.sum())


def look_back_range(
    W_pos: npt.ArrayLike,
    positions: tuple[int, int],
    n_components: int | None = 3,
    lags: Sequence[int] | npt.NDArray[np.int64] | None = None,
    *,
    scoring: Scoring = "even_odd",
    tell: Callable[[float], None] | None = None,
) -> RangeLookBack:
    """Fit the motion that looks back in a range's principal components.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    positions
        First and last position, both inclusive.
    n_components
        Number of components, or fewer if the range has fewer; None for as many as explain 99.9 % of
        its variance, at most 64.
    lags, scoring, tell
        As in :func:`geometry.measures.lookback.look_back`. With more than six components the lags
        are :func:`spread_lags` by default.

    Raises
    ------
    RangeError
        When the range leaves the table, or is too short for a lag of 1.
    """
    rows, positions = rows_of_range(W_pos, positions)
    m = len(rows)
    pca = fit_pca(W_pos, positions, MOST if n_components is None else n_components)
    k = len(pca.components)
    if n_components is None:
        k = int((np.cumsum(pca.explained_variance_ratio) < SHARE).sum()) + 1
        k = min(k, len(pca.components), max(1, (m - 3) // 2))
    check_length(positions, k)
    pca = pca.first(k)
    coordinates = pca.project(rows)
    read_only(coordinates)
    if lags is None:
        lags = all_lags(m, k) if k <= MANY else spread_lags(m, k)
    found = look_back(coordinates, lags, scoring=scoring, first=positions[0], tell=tell)
    return RangeLookBack(pca, coordinates, found)


def look_back_nulls(
    W_pos: npt.ArrayLike,
    positions: tuple[int, int],
    n_components: int = 3,
    *,
    motion: Kind = "screw",
    kind: Drawn = "process",
    scoring: Scoring = "even_odd",
    draws: int = 60,
    seed: int = 0,
    check: Callable[[], None] | None = None,
) -> CurveNull:
    """Draw R² by lag of random curves of a range's size, in their own first components.

    Parameters
    ----------
    W_pos, positions
        As of :func:`look_back_range`.
    n_components
        Number of components, or fewer if the curves have fewer.
    motion, scoring
        As in :class:`~geometry.measures.lookback.LookBack`.
    kind, draws, seed
        As of :func:`geometry.evidence.drawn_tables.drawn_tables`.
    check
        Called between some draws; may raise to stop.

    Returns
    -------
    CurveNull
        At each of :func:`~geometry.measures.lookback.all_lags`.

    Raises
    ------
    RangeError
        When the range leaves the table, or is too short for a lag of 1.
    """
    rows, positions = rows_of_range(W_pos, positions)
    m, found = len(rows), []
    k = min(n_components, rows.shape[1], m - 1)
    check_length(positions, k)
    lags, waiting = all_lags(m, k), []
    for number, drawn in enumerate(drawn_tables(rows, kind, draws, seed), 1):
        # Long tables are thinned, and so are their lags.
        step = -(-m // len(drawn))
        pca = fit_pca(drawn, (0, len(drawn) - 1), k)
        waiting.append(pca.project(drawn))
        if len(waiting) == TOGETHER or number == draws:
            if check is not None:
                check()
            found += [
                np.interp(lags, step * one.lags, one.r2[motion])
                for one in look_back_each(np.array(waiting), scoring=scoring, first=positions[0])
            ]
            waiting = []
    return CurveNull(kind, MEANINGS[kind], np.array(found))


def spread_lags(n_points: int, n_components: int, most: int = MAX_LAGS) -> npt.NDArray[np.int64]:
    """Return some of :func:`geometry.measures.lookback.all_lags`, increasingly sparse."""
    longest = len(all_lags(n_points, n_components))
    if longest <= most:
        return np.arange(1, longest + 1)
    each = most // 2
    thinner = np.geomspace(each, longest, most - each + 1).round().astype(np.int64)
    return np.union1d(np.arange(1, each + 1), thinner)
