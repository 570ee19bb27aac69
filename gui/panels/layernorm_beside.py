"""LayerNorm's errors in the models beside the open one: what the panel draws and says of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gui.panels import layernorm_text
from gui.panels.layernorm_question import Errors, ErrorsOf, LayerNorms, OnlyErrors
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.state.session import Session
from gui.style.theme import format_number
from gui.widgets.segmented import Segmented


class LayerNormBeside(OverlayPanel):
    """The part of the panel that is about other models: the median error at each position."""

    page: Segmented
    version: Segmented

    def question_of(self, session: Session) -> ErrorsOf:
        """Ask for the errors alone: all tokens with all positions take longer."""
        return ErrorsOf(session.positions)

    def found(self, result: LayerNorms | OnlyErrors) -> Errors:
        """Return the errors of the chosen version."""
        return result.orthogonal if self.version.value() == "orthogonal" else result.constant_norm

    def overlay_words(self) -> str:
        """Say what is drawn; of two sums, nothing."""
        return "Median error" if self.page.value() == "errors" else ""

    def overlay_xy(self, result: OnlyErrors) -> Mapping[str, XY]:
        """Return the median error by position, of either version."""
        first, last = result.positions
        at = np.arange(first, last + 1)
        return {
            "": (at, self.found(result).median),
            "orthogonal": (at, result.orthogonal.median),
        }

    def overlay_said(self, result: OnlyErrors) -> str:
        """Say what the caption says of the open model."""
        median, p95 = self.found(result).overall
        return f"Median {format_number(median)}, 95 % below {format_number(p95)}"

    def overlay_numbers(self, result: OnlyErrors) -> Mapping[str, np.ndarray]:
        """Return errors by position."""
        return layernorm_text.error_columns(result)

    def overlay_python(self, session: Session, result: OnlyErrors) -> str:
        """Return a script that prints the errors and the most position-like tokens."""
        assert session.model is not None
        return layernorm_text.script(session.model, result.positions)
