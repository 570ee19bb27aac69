"""The questions of the look-back panel: motions for all lags, of positions or of heads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.checkpoints.errors import RangeError
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
"""Number of the range's components; None for all."""


@dataclass(frozen=True, eq=False)
class Motions:
    """The motions of one set of points, and their angles."""

    look_back: LookBack  # The motions for every lag
    # The angle by lag in three dimensions; None if no rotation fits, or in other dimensions
    turning: Turning | None
    # (L, planes) float64: angle of each plane, 0 to 180, descending; without planes if too many
    degrees: np.ndarray

    @cached_property
    def followed(self) -> np.ndarray:
        """(L,) float64: unwrapped angle about one axis in degrees; NaN where no rotation fits."""
        angles = np.full(len(self.look_back.lags), np.nan)
        if self.turning is not None:
            angles[: len(self.turning.angles)] = np.degrees(self.turning.angles)
        return angles

    @property
    def degrees_per_token(self) -> float | None:
        """The slope of the line through the angles; None without one."""
        return None if self.turning is None else float(np.degrees(self.turning.slope))


@dataclass(frozen=True, eq=False, slots=True)
class OfPositions:
    """Looking back among the positions."""

    back: RangeLookBack
    motions: Motions
    by_halves: LookBack | None = None  # The motions fitted and scored by halves, in a report

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
    queries: tuple[Motions, ...]
    keys: tuple[Motions, ...]

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.back.positions

    @property
    def lags(self) -> np.ndarray:
        """The fitted lags, ascending."""
        return self.queries[0].look_back.lags


LookedBack = OfPositions | OfHeads


@dataclass(frozen=True, slots=True)
class LookBackOf:
    """Looking back in the first components of a range, or all."""

    positions: tuple[int, int]  # First and last position, both inclusive
    space: Space  # "3", "6" or "all"
    scoring: Scoring  # See :class:`geometry.measures.lookback.LookBack`

    def answer(self, context: QuestionContext) -> OfPositions:
        context.report(None, "Finding the components")
        back = look_back_range(
            context.model.W_pos,
            self.positions,
            COUNTS[self.space],
            scoring=self.scoring,
            tell=lambda share: context.report(share, "Fitting a motion for every lag"),
        )
        back.found.motion(1).course(back.coordinates[:1])  # triggers slow imports
        return OfPositions(back, with_angles(back.found))


@dataclass(frozen=True, slots=True)
class HeadsLookBackOf:
    """Looking back in the queries and keys of the first layer's heads."""

    positions: tuple[int, int]
    scoring: Scoring

    def tensors(self) -> tuple[Tensor, ...]:
        return (("W_Q", 0), ("W_K", 0))

    def answer(self, context: QuestionContext) -> OfHeads:
        from geometry.models.head_projections import project_heads

        context.report(None, "Projecting positions into all heads")
        heads = project_heads(context.model)
        back = look_back_heads(
            heads,
            self.positions,
            scoring=self.scoring,
            tell=lambda share: context.report(share, "Fitting a motion for every head and lag"),
        )
        queries, keys = (
            tuple(with_angles(look_back) for look_back in side)
            for side in (back.queries, back.keys)
        )
        return OfHeads(back, queries, keys)


@dataclass(frozen=True, slots=True)
class LookBackNullsOf:
    """R² by lag of random curves, by name, in their three components; fields as of LookBackOf."""

    positions: tuple[int, int]
    scoring: Scoring

    def answer(self, context: QuestionContext) -> dict[RandomCurves, CurveNull]:
        table = context.model.W_pos
        return {
            kind: look_back_nulls(
                table, self.positions, kind=kind, scoring=self.scoring, check=context.pause
            )
            for kind in RANDOM_NAMES
        }


def of_measured(measured: Measurements) -> OfPositions:
    """Return a report's measurements in three components, in both scorings.

    The lags are those of the panel, up to 200.

    Raises RangeError: the range or the table is too small.
    """
    look_back, (first, last) = measured.look_back, measured.positions
    if look_back is None:
        if measured.model.d_model < 3:
            raise RangeError(
                f"looking back is measured in three components, but {why_fewer(measured.pca)}"
            )
        raise RangeError(f"the range {first}–{last} has too few positions for looking back")
    pca, n = measured.pca.first(3), len(all_lags(last - first + 1, 3))
    even_odd, halves = look_back["even_odd"].first(n), look_back["halves"].first(n)
    back = RangeLookBack(pca, pca.project(measured.rows), even_odd)
    motions = Motions(even_odd, follow_turning(even_odd), np.degrees(even_odd.angles))
    return OfPositions(back, motions, halves)


def with_angles(look_back: LookBack) -> Motions:
    """Compute the angles of motions."""
    k = look_back.rotations.shape[1]
    every = len(look_back.lags) == look_back.lags[-1]
    turning = follow_turning(look_back) if k == 3 and every else None
    degrees = np.degrees(look_back.angles) if k <= 6 else np.zeros((len(look_back.lags), 0))
    degrees.flags.writeable = False
    return Motions(look_back, turning, degrees)
