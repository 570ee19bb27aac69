"""Looking back in the models beside the open one: what the look-back panel draws and says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gui.panels import lookback_text
from gui.panels.lookback_question import COUNTS, LookBackOf, OfPositions
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.state.session import Session
from gui.widgets.segmented import Segmented


class LookBackBeside(OverlayPanel):
    """The part of the panel that is about other models: R² and angles of their motions.

    Head 3 of one model is not head 3 of another: of heads only the open model's are shown.
    """

    space: Segmented
    scoring: Segmented

    @property
    def lag_shown(self) -> int:
        """The lag that the cursor is at."""
        raise NotImplementedError

    def question_of(self, session: Session) -> LookBackOf | None:
        """Ask for the range that is shown of a model, in the chosen space; of no heads."""
        space: Any = self.space.value()
        scoring: Any = self.scoring.value()
        return None if space == "heads" else LookBackOf(session.positions, space, scoring)

    def overlay_words(self) -> str:
        """Say which of the motions is compared."""
        if self.space.value() == "heads":
            return ""
        return f"R² of {lookback_text.NAMES['screw']}"

    def overlay_xy(self, result: OfPositions) -> Mapping[str, XY]:
        """Return R² by lag, and the angle by lag where it can be followed."""
        found = {"fits": (result.lags, result.turned.found.r2["screw"])}
        followed = result.turned.followed
        known = np.isfinite(followed)
        if known.any():
            found["angles"] = (result.lags[known], followed[known])
        return found

    def overlay_said(self, result: OfPositions) -> str:
        """Say what is so for the lag at the cursor."""
        return lookback_text.reading(result, 0, self._nearest_of(result))

    def overlay_numbers(self, result: OfPositions) -> Mapping[str, np.ndarray]:
        """Return R² and angles by lag."""
        return lookback_text.columns(result, self._nearest_of(result))

    def overlay_python(self, session: Session, result: OfPositions) -> str:
        """Return a script that fits the motions and prints them."""
        assert session.model is not None
        question = session.answers[self.slot].question
        lag, count = self._nearest_of(result), COUNTS[question.space]
        return lookback_text.script(session.model, result, question.scoring, count, lag)

    def _nearest_of(self, result: OfPositions) -> int:
        return int(result.lags[np.abs(result.lags - self.lag_shown).argmin()])
