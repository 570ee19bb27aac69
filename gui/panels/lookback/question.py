"""The questions of the look-back panel: motions for all lags, of positions or of heads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.claims.measured_range import first_three
from geometry.measures.head_lookback import HeadLookBack, look_back_heads
from geometry.measures.lookback import LookBack, Scoring, Turning, all_lags, follow_turning
from geometry.measures.lookback_range import RangeLookBack, look_back_nulls, look_back_range
from geometry.pca.curve import why_fewer
from gui.panels.kit.nulls import RANDOM_NAMES, RandomCurves
from gui.services.questions import QuestionContext, Tensor

if TYPE_CHECKING:
    from geometry.claims.measurements import Measurements
    from geometry.evidence.null import CurveNull

Space = Literal["3", "6", "all", "heads"]
COUNTS: dict[str, int | None] = {"3": 3, "6": 6, "all": None}
"""How many of the range's components; None for all."""


@dataclass(frozen=True, eq=False)
class Turned:
    """The motions of one set of points, and their angles.

    Attributes
    ----------
    found
        For every lag.
    turning
        The angle by lag in three dimensions; None if no rotation fits, or in other dimensions.
    degrees : (L, planes) float64
        Angle of each plane, 0 to 180, descending; no planes if there are too many.
    """

    found: LookBack
    turning: Turning | None
    degrees: np.ndarray

    @cached_property
    def followed(self) -> np.ndarray:
        """(L,) float64: unwrapped angle about one axis in degrees; NaN where no rotation fits."""
        angles = np.full(len(self.found.lags), np.nan)
        if self.turning is not None:
            angles[: len(self.turning.angles)] = np.degrees(self.turning.angles)
        return angles

    @property
    def degrees_per_token(self) -> float | None:
        """The slope of the line through the angles; None without one."""
        return None if self.turning is None else float(np.degrees(self.turning.slope))


@dataclass(frozen=True, eq=False, slots=True)
class OfPositions:
    """Looking back among the positions.

    Attributes
    ----------
    back, turned
        The motions, and their angles.
    by_halves
        The same, fitted and scored by halves, in a report.
    """

    back: RangeLookBack
    turned: Turned
    by_halves: LookBack | None = None

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.back.positions

    @property
    def lags(self) -> np.ndarray:
        """The fitted lags, ascending."""
        return self.back.found.lags


@dataclass(frozen=True, eq=False, slots=True)
class OfHeads:
    """Looking back in the heads of the first layer."""

    back: HeadLookBack
    queries: tuple[Turned, ...]
    keys: tuple[Turned, ...]

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.back.positions

    @property
    def lags(self) -> np.ndarray:
        """The fitted lags, ascending."""
        return self.queries[0].found.lags


LookedBack = OfPositions | OfHeads


@dataclass(frozen=True, slots=True)
class LookBackOf:
    """Looking back in the first components of a range, or all.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    space
        "3", "6" or "all".
    scoring
        See :class:`geometry.measures.lookback.LookBack`.
    """

    positions: tuple[int, int]
    space: Space
    scoring: Scoring

    def answer(self, about: QuestionContext) -> OfPositions:
        about.report(None, "Finding the components")
        back = look_back_range(
            about.model.W_pos,
            self.positions,
            COUNTS[self.space],
            scoring=self.scoring,
            tell=lambda share: about.report(share, "Fitting a motion for every lag"),
        )
        back.found.motion(1).course(back.coordinates[:1])  # imports, which take a while
        return OfPositions(back, turned(back.found))


@dataclass(frozen=True, slots=True)
class HeadsLookBackOf:
    """Looking back in the queries and keys of the first layer's heads."""

    positions: tuple[int, int]
    scoring: Scoring

    def tensors(self) -> tuple[Tensor, ...]:
        return (("W_Q", 0), ("W_K", 0))

    def answer(self, about: QuestionContext) -> OfHeads:
        from geometry.models.head_projections import project_heads

        about.report(None, "Projecting positions into all heads")
        heads = project_heads(about.model)
        back = look_back_heads(
            heads,
            self.positions,
            scoring=self.scoring,
            tell=lambda share: about.report(share, "Fitting a motion for every head and lag"),
        )
        queries, keys = (
            tuple(turned(found) for found in side) for side in (back.queries, back.keys)
        )
        return OfHeads(back, queries, keys)


@dataclass(frozen=True, slots=True)
class LookBackNullsOf:
    """R² by lag of random curves, by name, in their three components; fields as of LookBackOf."""

    positions: tuple[int, int]
    scoring: Scoring

    def answer(self, about: QuestionContext) -> dict[RandomCurves, CurveNull]:
        table = about.model.W_pos
        return {
            kind: look_back_nulls(
                table, self.positions, kind=kind, scoring=self.scoring, check=about.pause
            )
            for kind in RANDOM_NAMES
        }


def of_measured(measured: Measurements) -> OfPositions:
    """Return a report's measurements in three components, in both scorings.

    They are for lags up to 200, as far as the panel has them.

    Raises
    ------
    RangeError
        The range or the table is too small.
    """
    found, (first, last) = measured.look_back, measured.positions
    if found is None:
        if measured.model.d_model < 3:
            raise RangeError(
                f"looking back is measured in three components, but {why_fewer(measured.pca)}"
            )
        raise RangeError(f"the range {first}–{last} has too few positions for looking back")
    pca, n = first_three(measured.pca), len(all_lags(last - first + 1, 3))
    even_odd, halves = found["even_odd"].first(n), found["halves"].first(n)
    back = RangeLookBack(pca, pca.project(measured.rows), even_odd)
    turned = Turned(even_odd, follow_turning(even_odd), np.degrees(even_odd.angles))
    return OfPositions(back, turned, halves)


def turned(found: LookBack) -> Turned:
    """Compute the angles of motions."""
    k = found.rotations.shape[1]
    every = len(found.lags) == found.lags[-1]
    turning = follow_turning(found) if k == 3 and every else None
    degrees = np.degrees(found.angles) if k <= 6 else np.zeros((len(found.lags), 0))
    degrees.flags.writeable = False
    return Turned(found, turning, degrees)
