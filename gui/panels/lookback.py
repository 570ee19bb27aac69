"""The look-back panel: looking back N tokens as a rotation and a shift of the curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QWidget

from gui.panels import lookback_text
from gui.panels.lookback_beside import LookBackBeside
from gui.panels.lookback_controls import (
    COLUMNS,
    FIRST_LAG,
    NOT_SHOWN,
    PLAY_TIP,
    ROW_TIP,
    SCORINGS,
    STOP_TIP,
    VIEW_TIP,
    lag_slider,
    space_choice,
)
from gui.panels.lookback_guide import Carried, can_be_shown
from gui.panels.lookback_play import Way
from gui.panels.lookback_question import (
    COUNTS,
    HeadsLookBackOf,
    LookBackOf,
    LookedBack,
    OfHeads,
    OfPositions,
)
from gui.panels.training.training_player import SignButton
from gui.state.session import Session
from gui.style.theme import GRID, LIGHT, Theme
from gui.widgets.segmented import Segmented
from gui.widgets.table_text import Row
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.lookback_plots import LookBackPlots
    from gui.widgets.choice_table import ChoiceTable


class LookBackPanel(LookBackBeside):
    """Chooses N, plays the motion in the viewport, and shows how well motions fit at every N."""

    slot = "lookback"
    formula = "pᵢ₋ₙ ≈ R pᵢ + t"
    meaning = "looking back N tokens"
    explanation = (
        "One rotation R and one shift t are fitted that carry every position onto the one N tokens "
        "before it; beside them, the shift alone and the rotation alone. On a helix all positions "
        "move alike, so that looking back is the same everywhere, and the angle grows by the same "
        "amount with each token; it is followed for as long as R² ≥ 0.5; Space plays it."
    )
    empty = "Open a model to see whether looking back N tokens is one rotation and shift."
    instead = "The other spaces may have what this lacks."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plots: LookBackPlots
        self.heads: ChoiceTable
        self._head, self._wanted, self._at = 0, FIRST_LAG, FIRST_LAG
        self._carried: Carried | None = None
        self.way = Way(self)
        self.way.moved.connect(self._draw_guide)
        self.way.playing.connect(self._on_playing)
        self.lag = lag_slider(theme)
        self.lag.changed.connect(self.go_to)
        self.space = space_choice()
        self.scoring = Segmented(SCORINGS, "Scoring")
        self.play = SignButton("play", PLAY_TIP)
        self.play.clicked.connect(self.toggle)
        self.play.set_theme(theme)
        self.in_view = QCheckBox("In the view")
        self.in_view.setChecked(True)
        self.in_view.setToolTip(wrapped(VIEW_TIP))
        self.in_view.toggled.connect(self._show_in_view)
        for control in (self.lag, self.play, self.space, self.scoring, self.in_view):
            self.header.add(control)
        for choice in (self.space, self.scoring):
            choice.chosen.connect(self.ask)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        events = session.events
        # All lags take up to a second: they wait for the end of a drag.
        for signal in (events.positions, events.dragging):
            self.listen(signal, self._ask_when_still)
        self.listen(events.components, self._show_in_view)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Hand the focus on; with a proxy, Tab would pass by the buttons before the slider."""
        self.lag.slider.setFocus(event.reason())

    # What it asks.

    def question(self) -> LookBackOf | HeadsLookBackOf:
        """Ask for the shown range in the chosen space."""
        scoring: Any = self.scoring.value()
        of_heads = HeadsLookBackOf(self.session.positions, scoring)
        return self.question_of(self.session) or of_heads

    def configure(self, **options: Any) -> None:
        """Show a ``lag``, a ``space``, a ``scoring``, a ``head``; whether ``in_view``; ``play``."""
        self.in_view.setChecked(options.pop("in_view", self.in_view.isChecked()))
        self.space.show_value(options.pop("space", self.space.value()))
        self.scoring.show_value(options.pop("scoring", self.scoring.value()))
        self._head = options.pop("head", self._head)
        lag, play = options.pop("lag", self._wanted), options.pop("play", False)
        super().configure(**options)
        self.ask()
        self.go_to(lag)
        if play and not self.way.is_playing:
            self.toggle()

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes; whether it plays is none of it."""
        return {
            "lag": self._wanted,
            "space": self.space.value(),
            "scoring": self.scoring.value(),
            "head": self._head,
            "in_view": self.in_view.isChecked(),
        }

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    # What it shows.

    def build(self) -> QWidget:
        """Make the plots, and the list of heads before them."""
        from gui.panels.lookback_plots import LookBackPlots
        from gui.widgets.choice_table import ChoiceTable

        self.plots = LookBackPlots(self.theme)
        self.plots.lagRequested.connect(self.go_to)
        self.plots.stepped.connect(self.step)
        self.plots.numbersShown.connect(self._show_numbers)
        self.heads = ChoiceTable(COLUMNS, ROW_TIP, spare=())
        self.heads.setAccessibleName("All heads of the first layer")
        self.heads.chosen.connect(lambda head, _: self._pick(head))
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.heads)
        row.addWidget(self.plots, 1)
        return content

    def show_result(self, result: LookedBack) -> None:
        """Draw the curves, list the heads, and carry the positions."""
        self.lag.set_bounds(int(result.lags[0]), int(result.lags[-1]))
        self._at = self._nearest(self._wanted)
        self.lag.show_value(self._at)
        if isinstance(result, OfHeads):
            self._head = min(self._head, result.back.n_heads - 1)
        self._fit()
        self.redraw()
        self._show_in_view()

    def redraw(self) -> None:
        """Draw the curves anew, the other models' behind them."""
        others = {plot: self.overlay_lines(plot) for plot in ("fits", "angles")}
        self.plots.show_result(self.result, self._head, self._at, **others)

    @property
    def lag_shown(self) -> int:
        """The lag that the cursor is at."""
        return self._at

    def _nearest(self, lag: int) -> int:
        """Return the fitted lag that is nearest to one: with many dimensions not every one is."""
        lags = self.result.lags
        return int(lags[np.abs(lags - lag).argmin()])

    def _show_numbers(self) -> None:
        result: LookedBack = self.result
        if isinstance(result, OfHeads):
            cells = lookback_text.head_cells
            heads = range(result.back.n_heads)
            self.heads.set_rows(Row(head, cells(result, head, self._at)) for head in heads)
            self.heads.show_drawn({self._head: self.theme.text})
        if result is not None:
            self.show_caption()
            self.show_overlay_legend()

    def _fit(self) -> None:
        """Show the list of heads where there are some, and room for it."""
        if isinstance(self.result, OfHeads):
            self.heads.fit(self.width())
        else:
            self.heads.hide()

    def _pick(self, head: int) -> None:
        self._head = head
        if self.result is not None:
            self.plots.show_result(self.result, head, self._at)

    # What is drawn in the view.

    def _show_in_view(self) -> None:
        """Carry the positions, or take them out of the view."""
        result, shown = self.result, self.session.components
        movable = isinstance(result, OfPositions) and can_be_shown(result, shown)
        self._carried = Carried(result, self._at, shown) if movable else None
        self.play.setEnabled(movable)
        self.in_view.setEnabled(movable)
        if self._carried is None and self.way.is_playing:
            self.way.finish()
        self._draw_guide(self.way.share)
        self.show_caption()

    def _draw_guide(self, share: float) -> None:
        carried = self._carried if self.result is not None and self.in_view.isChecked() else None
        self.show_guide(None if carried is None else carried.at(share))

    def _on_playing(self, playing: bool) -> None:
        if playing:
            self.play.show_sign("pause", STOP_TIP)
        else:
            self.play.show_sign("play", PLAY_TIP)

    # What the user wants.

    def go_to(self, lag: int) -> None:
        """Look so many tokens back, or as many as the nearest lag that was fitted."""
        self._wanted = lag
        if self.result is None:
            return
        if abs(lag - self._at) == 1 and self._nearest(lag) == self._at:
            self.step(lag - self._at)  # where fitted lags are further apart
            return
        self._wanted = nearest = self._nearest(lag)
        self.lag.show_value(nearest)
        if nearest != self._at:
            self._at = nearest
            self.plots.show_lag(nearest)
            if self._carried is not None:
                self._carried = Carried(self.result, nearest, self.session.components)
                self._draw_guide(self.way.share)

    def step(self, way: int) -> None:
        """Go to the next lag that was fitted, or (−1) to the one before."""
        if self.result is not None:
            lags = self.result.lags
            at = int(np.searchsorted(lags, self._at)) + way
            self.go_to(int(lags[min(max(at, 0), len(lags) - 1)]))

    def toggle(self) -> None:
        """Play the movement, or end it."""
        if self._carried is not None:
            self.in_view.setChecked(True)
            self.way.toggle()

    def key_acts(self) -> dict[int, Callable[[], None]]:
        """Space plays, arrows step, Home and End go to the ends, Esc ends the movement."""
        if self.result is None:
            return {}
        ends = [int(lag) for lag in self.result.lags[[0, -1]]]
        acts: dict[int, Callable[[], None]] = {
            Qt.Key.Key_Space: self.toggle,
            Qt.Key.Key_Left: lambda: self.step(-1),
            Qt.Key.Key_Right: lambda: self.step(1),
            Qt.Key.Key_Home: lambda: self.go_to(ends[0]),
            Qt.Key.Key_End: lambda: self.go_to(ends[1]),
        }
        if self.way.is_playing:
            acts[Qt.Key.Key_Escape] = self.way.finish
        return acts

    def _on_model_changed(self) -> None:
        self._carried = None
        if self.way.is_playing:
            self.way.finish()
        super()._on_model_changed()

    # Being seen.

    def set_in_front(self, in_front: bool) -> None:
        """End the movement while nobody looks at the panel."""
        if not in_front and self.way.is_playing:
            self.way.finish()
        super().set_in_front(in_front)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave a narrow panel's room to the plots."""
        super().resizeEvent(event)
        if self.content is not None:
            self._fit()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.lag.set_theme(theme)
        self.play.set_theme(theme)
        if self.content is not None:
            self.plots.set_theme(theme)
            if self.result is not None:
                self.redraw()

    def release(self) -> None:
        """Stop playing and listening."""
        self.way.stop()
        if self.content is not None:
            self.plots.stop()
        super().release()

    # What it says, and what can be taken away.

    def caption(self, result: LookedBack) -> str:
        """Name the scope, what is so for this lag, and how it is scored."""
        assert self.session.model is not None
        parts = [
            lookback_text.scope(self.session.model, result),
            lookback_text.reading(result, self._head, self._at),
            lookback_text.SCORINGS[self.answered.scoring],
        ]
        if isinstance(result, OfPositions) and not can_be_shown(result, self.session.components):
            parts.append(NOT_SHOWN)
        return " · ".join(parts)

    def figure(self, result: LookedBack) -> Callable[[], Figure]:
        """Draw the curves for print."""
        assert self.session.model is not None
        title = lookback_text.title_of(self.session.model)
        if isinstance(result, OfHeads):
            title += f" in head {self._head}"
        scope, lag = self.caption(result), self._at
        fits = lookback_text.fit_lines(result, self._head, LIGHT, others=self.overlaid)
        angles = lookback_text.angle_lines(result, self._head, LIGHT)
        others = self.printed_lines("fits"), self.printed_lines("angles")

        def draw() -> Figure:
            from gui.panels.lookback_figure import lookback_figure

            return lookback_figure(
                result.lags, fits, angles, lag, title=title, scope=scope, others=others
            )

        return draw

    def numbers(self, result: LookedBack) -> Mapping[str, np.ndarray]:
        """Return R² and angles by lag."""
        return self.with_others(lookback_text.columns(result, self._at))

    def python(self) -> str:
        """Return a script that fits the motions and prints them."""
        assert self.session.model is not None
        question = self.answered
        count = COUNTS[question.space] if isinstance(question, LookBackOf) else None
        return self.with_other_scripts(
            lookback_text.script(self.session.model, self.result, question.scoring, count, self._at)
        )
