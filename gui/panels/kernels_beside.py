"""Kernels of the models beside the open one: what the kernels panel draws and says of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gui.panels.kernels_question import HeadsOf, Kernels, NearestHead, NearestHeadOf
from gui.panels.kernels_text import python_of
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.services.snippets import opening
from gui.state.session import Session
from gui.style.theme import format_number
from gui.widgets.segmented import Segmented


class KernelsBeside(OverlayPanel):
    """The part of the panel that is about other models: their heads that look nearest."""

    curves: Segmented

    def heads_of(self) -> HeadsOf:
        """Return which queries and keys are chosen."""
        raise NotImplementedError

    def question_of(self, session: Session) -> NearestHeadOf:
        """Ask other models for the head that looks nearest: numbers of heads mean nothing there."""
        return NearestHeadOf(self.heads_of(), session.positions)

    def overlay_words(self) -> str:
        """Say which head it is."""
        what = "Attention" if self.curves.value() == "attention" else "Score"
        return f"{what} of the head that looks nearest"

    def overlay_xy(self, result: NearestHead) -> Mapping[str, XY]:
        """Return its attention and score by lag."""
        curves = {"attention": result.attention, "score": result.scores}
        return {name: (result.lags, values) for name, values in curves.items()}

    def overlay_said(self, result: NearestHead) -> str:
        """Say which head it is, and what sums it up."""
        previous, lag = format_number(result.previous_token), format_number(result.mean_lag, 1)
        return f"Head {result.head}: previous token {previous}, mean lag {lag}"

    def overlay_numbers(self, result: NearestHead) -> Mapping[str, np.ndarray]:
        """Return its attention and score by lag."""
        return {
            "lag": result.lags,
            f"attention_of_head_{result.head}": result.attention,
            f"score_of_head_{result.head}": result.scores,
        }

    def overlay_python(self, session: Session, result: Kernels | NearestHead) -> str:
        """Return a script that prints the scores of all heads."""
        assert session.model is not None
        return python_of(opening(session.model), result)
