"""The base of panels that draw the compared models' curves beside the open model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.panels.overlay_legend import OverlayLegend
from gui.panels.result_panel import ResultPanel
from gui.services.overlay_curves import (
    OverlayCurve,
    OverlayCurves,
    OverlayLine,
    overlay_color,
    overlay_columns,
)
from gui.state.session import Session
from gui.style.theme import LIGHT, Theme

XY = tuple[np.ndarray, np.ndarray]


class OverlayPanel(ResultPanel):
    """A panel with a curve of each model: the open one's, and behind it those of the others.

    Subclasses say what to ask of any model, and what of an answer is drawn; they draw
    :meth:`overlay_lines` with their own curves, and write their scripts and numbers by model.
    """

    overlayAsked = Signal(int, object, bool)
    """A compared model's key, a question about it, and whether a large download is agreed to."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.others: OverlayCurves | None = None
        super().__init__(session, theme, parent)
        self.overlay_legend = OverlayLegend(theme)
        self.overlay_legend.hide()
        page = self.layout()
        assert isinstance(page, QVBoxLayout)
        page.insertWidget(1, self.overlay_legend)
        self.overlay_legend.toggled.connect(self._on_toggled)
        self.overlay_legend.fetchRequested.connect(self._on_fetch)

    # What subclasses say.

    def question_of(self, session: Session) -> Any | None:
        """Return what to ask now about a session's model; None where others are not drawn."""
        raise NotImplementedError

    def question(self) -> Any | None:
        """Ask it about the open model."""
        return self.question_of(self.session)

    def overlay_words(self) -> str:
        """Return what is drawn of other models, as a few words."""
        raise NotImplementedError

    def overlay_xy(self, result: Any) -> Mapping[str, XY]:
        """Return the curves that are drawn of an answer about another model, by their plots."""
        raise NotImplementedError

    def overlay_said(self, result: Any) -> str:
        """Return what sums another model's curve up, for its tooltip."""
        raise NotImplementedError

    def overlay_numbers(self, result: Any) -> Mapping[str, np.ndarray]:
        """Return the numbers behind another model's curve, by names for columns."""
        raise NotImplementedError

    def overlay_python(self, session: Session, result: Any) -> str:
        """Return a script that computes another model's curve, and prints it."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw the curves anew; there is a result."""
        raise NotImplementedError

    # What subclasses call.

    def overlay_lines(self, plot: str = "", theme: Theme | None = None) -> tuple[OverlayLine, ...]:
        """Return other models' lines in one of the plots, in the colours of a theme."""
        found = []
        for curve in self._drawn():
            curves = self.overlay_xy(curve.result)
            if plot in curves:
                color = overlay_color(curve.color, theme or self.theme)
                found.append(OverlayLine(curve.name, color, *curves[plot]))
        return tuple(found)

    @property
    def overlaid(self) -> bool:
        """Whether other models' lines are drawn: then theirs are the colours."""
        return bool(self._drawn())

    def printed_lines(self, plot: str = "") -> tuple[OverlayLine, ...]:
        """Return the same for print, on white."""
        return self.overlay_lines(plot, LIGHT)

    def with_others(self, own: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return numbers with those of the other models that are drawn."""
        others = [(curve.name, self.overlay_numbers(curve.result)) for curve in self._drawn()]
        return overlay_columns(own, others) if others else own

    def with_other_scripts(self, own: str) -> str:
        """Return a script with those of the other models that are drawn behind it."""
        sessions = {c.key: c.session for c in self.session.compared}
        parts = [
            f"# Beside it, {curve.name}:\n{self.overlay_python(sessions[curve.key], curve.result)}"
            for curve in self._drawn()
        ]
        return "\n".join([own, *parts])

    def show_overlay_legend(self) -> None:
        """Say anew what is drawn of which model."""
        curves = () if self.others is None or self.result is None else self.others.curves
        words = self.overlay_words() if curves else ""
        self.overlay_legend.setVisible(bool(words))
        if words:
            self.overlay_legend.show_curves(words, curves, self._said)

    # Asking and following.

    def ask(self) -> None:
        """Ask about the open model, and about the others."""
        super().ask()
        if self.others is None:
            # After a subclass has all that its question takes.
            self.others = OverlayCurves(
                self.session,
                self.slot,
                self.question_of,
                lambda key, question: self.overlayAsked.emit(key, question, False),
                self._on_others_changed,
            )
            self._on_others_changed()
        self.others.ask(asking=self._in_front and self.isVisible())
        self.show_overlay_legend()

    def set_in_front(self, in_front: bool) -> None:
        """Ask no more of others while nobody looks."""
        super().set_in_front(in_front)
        if not in_front and self.others is not None:
            self.others.ask(asking=False)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.overlay_legend.set_theme(theme)

    def release(self) -> None:
        """Stop listening."""
        if self.others is not None:
            self.others.close()
        super().release()

    def _show_answer(self) -> None:
        super()._show_answer()
        if self.others is not None:
            self.show_overlay_legend()

    def _on_others_changed(self) -> None:
        if self.others is None:  # it is being made
            return
        self.show_overlay_legend()
        if self.result is not None:
            self.redraw()

    def _drawn(self) -> tuple[OverlayCurve, ...]:
        if self.others is None or not self.overlay_words():
            return ()
        return tuple(curve for curve in self.others.curves if curve.drawn)

    def _said(self, curve: OverlayCurve) -> str:
        return "" if curve.result is None else self.overlay_said(curve.result)

    # What the user wants.

    def _on_toggled(self, key: int) -> None:
        assert self.others is not None
        self.fieldRequested.emit("hidden_curves", self.others.toggled(key))

    def _on_fetch(self, key: int) -> None:
        assert self.others is not None
        question = self.others.question_about(key)
        if question is not None:
            self.overlayAsked.emit(key, question, True)
