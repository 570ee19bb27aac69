"""The training panel: the curve as it forms, and what changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QPushButton, QVBoxLayout, QWidget

from geometry.checkpoints.errors import SourceError
from geometry.history.origins import find_history
from gui.panels.result_panel import ResultPanel
from gui.panels.training.lapse_menu import lapse_menu
from gui.panels.training.training_curves import columns, verdict
from gui.panels.training.training_gather import DownloadForm
from gui.panels.training.training_player import Player
from gui.panels.training.training_question import Training, TrainingOf
from gui.panels.training.training_text import scope, script
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.history.history import History
    from geometry.models.model import PositionalModel
    from gui.panels.training.training_plots import TrainingPlots

BASES = (
    (
        "frozen",
        "Last step’s PCs",
        "Every step in the principal components of the last one: what moves on the screen moves in "
        "the model",
    ),
    (
        "aligned",
        "Own PCs, aligned",
        "Every step in its own principal components, turned onto those of the next step, so that "
        "nothing jumps",
    ),
)
THIRDS = (
    ("turns", "Turns", "Turns of the fitted helix, at the steps where its R² is 0.5 or more"),
    ("loss", "Loss", "Loss of the training, in nats for each token, where it is told"),
)


WIDE = 1200
"""Pixels from which on all plots have room."""
CHECKPOINTS_TIP = "Choose how many checkpoints of this training are gathered, and gather them"


class TrainingPanel(ResultPanel):
    """Plays the snapshots of a training in the viewport, beside what is measured on them."""

    slot = "training"
    formula = "P(step)"
    meaning = "the curve as it forms"
    explanation = (
        "The position table as it was at steps of the training, each centred and seen in three "
        "components; the plots show how much of its variance they hold, how much of a helix it is, "
        "and how long its rows are. Press Space to play, drag in a plot or over the slider to go "
        "to a step, Esc to see the model as it is again."
    )
    empty = "Open a model to see how its curve formed, if it comes with a history of its training."
    instead = (
        "The bundled model has one: open “sample”. So has a folder of checkpoint-N, or a model on "
        "the Hub with checkpoint branches, such as stanford-crfm/alias-gpt2-small-x21."
    )

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plots: TrainingPlots
        self._model: PositionalModel | None = None
        self._own: History | None = None
        self._offered = False
        self.films: Any = None
        self.gather = DownloadForm(session, theme)
        self._stack.addWidget(self.gather)
        self.checkpoints = QPushButton("Checkpoints…")
        self.checkpoints.setCheckable(True)
        self.checkpoints.setToolTip(wrapped(CHECKPOINTS_TIP))
        self.checkpoints.toggled.connect(self._show_answer)
        self.checkpoints.hide()
        self.player = Player(theme)
        self.player.snapshotRequested.connect(self._want_snapshot)
        self.basis = Segmented(BASES, "Components")
        self.basis.show_value(session.basis)
        self.basis.chosen.connect(lambda basis: self.fieldRequested.emit("basis", basis))
        self.third = Segmented(THIRDS, "Third plot")
        self.third.chosen.connect(self._arrange)
        for control in (self.basis, self.third, self.checkpoints):
            self.header.add(control)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        events = session.events
        for signal in (events.positions, events.dragging):
            self.listen(signal, self._ask_when_still)
        for signal, slot in (
            (events.history, self._on_history_changed),
            (events.lapse, self._on_lapse_changed),
            (events.snapshot, self._on_snapshot_changed),
            (events.selection, self._on_selection_changed),
            (events.basis, lambda: self.basis.show_value(session.basis)),
        ):
            self.listen(signal, slot)
        self._on_lapse_changed()
        self._on_snapshot_changed()

    # What it asks.

    def question(self) -> TrainingOf:
        """Ask for the shown range, of the history that was gathered or of the one that is here."""
        self._follow_model()
        return TrainingOf(self.session.positions, self._gathered())

    def configure(self, **options: Any) -> None:
        """Show a ``third`` plot, "turns" or "loss"."""
        self.third.show_value(options.pop("third", self.third.value()))
        self._arrange()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes; step and components are the session's."""
        return {"third": self.third.value()}

    def _follow_model(self) -> None:
        """Offer to gather checkpoints where a model may have some."""
        model = self.session.model
        if model is None or model is self._model:
            return
        self._model, self._offered = model, may_have_checkpoints(model)
        self.checkpoints.setChecked(False)
        self.checkpoints.setVisible(self._offered)

    def _gathered(self) -> History | None:
        """Return the history that somebody gathered; None for the one that a question found."""
        answer, history = self._current(), self.session.history
        if answer is not None and answer.result is not None and answer.question.given is None:
            self._own = answer.result.history
        return None if history is self._own else history

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    def _on_history_changed(self) -> None:
        current = self._current()
        known = None if current is None or current.result is None else current.result.history
        if known is not self.session.history:
            self.checkpoints.setChecked(False)  # there is something to see
            self.ask()

    # What it shows.

    def build(self) -> QWidget:
        """Make the player and the plots."""
        from gui.panels.training.training_plots import TrainingPlots

        self.plots = TrainingPlots(self.theme)
        self.plots.snapshotRequested.connect(self.player.go_to)
        self.plots.stepped.connect(self.player.step)
        self._arrange()
        content = QWidget()
        page = QVBoxLayout(content)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(GRID // 2)
        page.addWidget(self.player)
        page.addWidget(self.plots, 1)
        return content

    def show_result(self, result: Training) -> None:
        """Show the curves."""
        self.plots.show_training(result, self.session.selection)

    def _show_answer(self) -> None:
        """Show the state of things, or what gathers checkpoints where there is nothing else."""
        super()._show_answer()
        if self.session.model is None or not hasattr(self, "gather"):
            return
        lacking = self._answer is not None and self._answer.state == "impossible"
        self.checkpoints.setVisible(self._offered and not lacking)
        if self._offered and (lacking or self.checkpoints.isChecked()):
            self._stack.setCurrentWidget(self.gather)
        elif self._ready is not None:
            self._stack.setCurrentWidget(self._content_page)

    def _on_lapse_changed(self) -> None:
        self.player.show_lapse(self.session.lapse)

    def _on_snapshot_changed(self) -> None:
        self.player.show_snapshot(self.session.snapshot)
        if self.content is not None:
            self.plots.show_snapshot(self.session.snapshot)

    def _on_selection_changed(self) -> None:
        if self.content is not None:
            self.plots.show_selection(self.session.selection)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Hand the focus on; with a proxy, Tab would pass by the buttons before the slider."""
        self.player.slider.setFocus(event.reason())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many plots as there is room for."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Show turns and loss side by side, or the one that is chosen."""
        wide = self.width() >= WIDE
        self.third.setHidden(wide)
        if hasattr(self, "plots"):
            self.plots.show_third("both" if wide else self.third.value())

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.player.set_theme(theme)
        self.gather.set_theme(theme)
        if self.content is not None:
            self.plots.set_theme(theme)

    # What the user wants.

    def _want_snapshot(self, snapshot: int | None) -> None:
        self.fieldRequested.emit("snapshot", snapshot)

    def set_in_front(self, in_front: bool) -> None:
        """Show the model as it is while nobody looks at the panel."""
        if not in_front:
            self._want_snapshot(None)
        super().set_in_front(in_front)

    def showEvent(self, event: QShowEvent) -> None:
        """Be where the session is."""
        super().showEvent(event)
        self._on_snapshot_changed()

    def release(self) -> None:
        """Stop playing and listening."""
        self.player.stop()
        self.gather.release()
        if self.content is not None:
            self.plots.stop()
        super().release()

    def key_acts(self) -> dict[int, Callable[[], None]]:
        """Space plays, arrows step, Home and End go to the ends, Esc shows the model as it is."""
        player, lapse = self.player, self.session.lapse
        acts: dict[int, Callable[[], None]] = {}
        if lapse is not None:
            last = lapse.n_snapshots - 1
            acts = {
                Qt.Key.Key_Space: player.toggle,
                Qt.Key.Key_Left: lambda: player.step(-1),
                Qt.Key.Key_Right: lambda: player.step(1),
                Qt.Key.Key_Home: lambda: player.go_to(0),
                Qt.Key.Key_End: lambda: player.go_to(last),
            }
        gathering = self.session.gathering
        if gathering is not None and gathering.stage != "listed":
            acts[Qt.Key.Key_Escape] = self.gather.cancelRequested.emit
        elif self.session.snapshot is not None:
            acts[Qt.Key.Key_Escape] = lambda: self._want_snapshot(None)
        return acts

    # What it says, and what can be taken away.

    def menu(self) -> QMenu:
        """Return the menu of what can be done with the result, and with the time-lapse."""
        return lapse_menu(self, super().menu(), self.films)

    def caption(self, result: Training) -> str:
        """Name the model, its steps and the range."""
        assert self.session.model is not None
        return scope(self.session.model, result)

    def figure(self, result: Training) -> Callable[[], Figure]:
        """Draw the curves for print."""
        assert self.session.model is not None
        detail, selection = scope(self.session.model, result), self.session.selection
        snapshot = self.session.snapshot

        def draw() -> Figure:
            from gui.panels.training.training_figure import training_figure

            return training_figure(result, selection, detail, verdict(result), snapshot)

        return draw

    def numbers(self, result: Training) -> Mapping[str, np.ndarray]:
        """Return a line for each snapshot."""
        return columns(result, self.session.selection)

    def python(self) -> str:
        """Return a script that reads the history and prints what is shown."""
        assert self.session.model is not None
        asked: Any = self.answered
        return script(self.session.model, asked.positions, gathered=asked.given is not None)


def may_have_checkpoints(model: PositionalModel) -> bool:
    """Tell whether a model's history is, or may be, one of checkpoints to choose from."""
    try:
        origin = find_history(model)
    except SourceError:
        return False
    return origin is not None and origin.kind != "file"
