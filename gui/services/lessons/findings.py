"""What is measured on the open model for a lesson's text. Knows no toolkit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gui.services.questions import QuestionContext

if TYPE_CHECKING:
    from geometry.checkpoints.memo import Memo
    from geometry.claims.measured_model import MeasuredModel
    from geometry.claims.measured_range import MeasuredRange
    from geometry.history.history import History
    from geometry.measures.kernels import HeadKernels
    from geometry.measures.lookback import Kind, LookBack, Scoring
    from geometry.measures.shape import ShapeName, Shapes
    from geometry.models.model import PositionalModel

HELICES: tuple[ShapeName, ...] = ("helix", "drifting_helix")
EARLY, LATE = 20, 100
"""A curve frays where positions before the first are farther out of sight than from the second on.
"""
BACK, CARRIES = (50, 20, 10, 5, 2, 1), 0.6
"""How far a lesson looks back: the farthest of these at which a turn and a shift explain so much.
"""


class Absent(Exception):
    """The model has no such number; a paragraph with it is left out."""


class Findings:
    """What facts are found with: the open model, and everything measured over one range.

    Parameters
    ----------
    about
        The open model as the question's thread sees it.
    positions
        The range, inclusive.
    """

    def __init__(self, about: QuestionContext, positions: tuple[int, int]) -> None:
        from geometry.claims.measured_range import MeasuredRange

        self.model, self.positions = about.model, positions
        self.of_model: MeasuredModel = about.measured()
        self.of_range: MeasuredRange = about.once(
            ("lesson", positions), lambda: MeasuredRange(about.model, positions)
        )
        self._once: Memo = about.once

    @property
    def shapes(self) -> Shapes:
        """Line, circle, helices of the range."""
        shapes = self.of_range.shapes
        if shapes is None:
            raise Absent
        return shapes

    @property
    def helix_r2(self) -> float:
        """R² of the better helix."""
        return max(self.shapes.fits[name].r2 for name in HELICES)

    def look_back(self, scoring: Scoring = "even_odd") -> LookBack:
        """Return the motions that look back, in three components, by :data:`BACK`."""
        from geometry.measures.lookback import longest_lag, look_back

        coordinates = self.of_range.pca.project(self.of_range.rows)[:, :3]
        lags = [lag for lag in BACK if lag <= longest_lag(*coordinates.shape)]
        if coordinates.shape[1] < 3 or not lags:
            raise Absent
        return look_back(coordinates, lags, scoring=scoring, first=self.positions[0])

    @property
    def back(self) -> int:
        """How far to look back; the shortest where the motion carries nowhere."""
        found = self.look_back()
        carries = found.lags[found.r2["screw"] >= CARRIES]
        return int(carries.max() if len(carries) else found.lags.min())

    def back_r2(self, kind: Kind, scoring: Scoring = "even_odd") -> float:
        """R² of a motion that looks back so far."""
        found = self.look_back(scoring)
        return float(found.r2[kind][found.index(self.back)])

    @property
    def back_angle(self) -> float:
        """How far that turns, in degrees."""
        found = self.look_back()
        return float(np.degrees(found.angles[found.index(self.back), 0]))

    @property
    def kernels(self) -> HeadKernels:
        """What the heads of the first layer attend to by position alone."""
        from geometry.measures.kernels import head_kernels
        from geometry.models.head_projections import project_heads

        return self._once(
            ("lesson kernels", self.positions),
            lambda: head_kernels(project_heads(self.model), self.positions),
        )

    @property
    def history(self) -> History:
        """The history of the model's training."""
        from geometry.history.here import history_here

        if not has_history(self.model):
            raise Absent
        return self._once("history", lambda: history_here(self.model))

    @property
    def energy(self) -> float:
        """Energy of P in its strongest directions."""
        squares = self.of_model.directions("P").singular_values ** 2
        return float(squares[: self.of_model.rank].sum() / squares.sum())

    @property
    def lowest(self) -> tuple[int, float]:
        """The lag with the lowest mean cosine, and that; the last lags are of a few pairs only."""
        by_lag = self.of_range.by_lag
        by_lag = by_lag[: max(2, len(by_lag) * 3 // 4)]
        lag = int(by_lag.argmin())
        return lag, float(by_lag[lag])

    @property
    def frays(self) -> float:
        """How much more of the first positions than of the later ones is outside the picture."""
        first, last = self.positions
        residual, early = self.of_range.residual, EARLY - first
        if early < 1 or last <= LATE:
            raise Absent
        return float(np.median(residual[:early]) / np.median(residual[LATE - first :]))

    def captured(self, first: float, last: float) -> float:
        """Mean capture of a part of the token directions, by shares of their number."""
        values = self.of_model.capture
        return float(values[int(first * len(values)) : max(int(last * len(values)), 1)].mean())

    @property
    def most_alike(self) -> tuple[float, str]:
        """The largest cosine of a token with a position, and which token that is."""
        from geometry.hub.faults import HubError
        from gui.style.token_text import token_label

        found = self.of_model.cosines.most_alike(1)[0]
        try:
            text = self.model.token_text(found.token)
        except HubError:  # its tokenizer was not fetched yet
            text = None
        named = f"number {found.token}" if text is None else f"“{token_label(text)}”"
        return found.value, named

    @property
    def nearest_head(self) -> int:
        """The head that spends most of its attention on the last ten positions and its own."""
        return int(self.kernels.mass_lag_0_10.argmax())

    @property
    def previous_head(self) -> int:
        """The head that attends most to the position before."""
        return int(self.kernels.previous_token.argmax())


def has_history(model: PositionalModel) -> bool:
    """Tell whether a model comes with its history; nothing is asked of any network."""
    from geometry.checkpoints.errors import HelixscopeError
    from geometry.history.origins import find_history

    try:
        origin = find_history(model)
    except HelixscopeError:
        return False
    return origin is not None and origin.kind != "hub"
