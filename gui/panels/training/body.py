"""The body of the training panel: player, plots and verdict; or the form for checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from gui.panels.kit.body import PanelBody
from gui.panels.kit.intents import CancelCheckpoints, ChangeShared
from gui.panels.training.download import DownloadForm
from gui.panels.training.player import Player
from gui.panels.training.spec import WIDE, TrainingPanel, View, may_have_checkpoints, verdict
from gui.plots.qt_painter import PaintedRow
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import vbox
from gui.widgets.buttons import push_button
from gui.widgets.opening_row import FixedText

CHECKPOINTS_TIP = "Choose how many checkpoints of this training to load"


class TrainingBody(PanelBody):
    """Player, plots and verdict; a button shows the form instead."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._view: View | None = None
        self._offered = self._lacking = False
        self.player = Player(theme)
        self.player.snapshotRequested.connect(self._want_snapshot)
        self.plots = PaintedRow(session, theme)
        self.plots.chosen.connect(lambda _, snapshot: self.player.go_to(snapshot))
        self.plots.stepped.connect(self.player.step)
        self.verdict = FixedText(2, SMALL)
        self.verdict.set_color(theme.muted)
        self.download = DownloadForm(session, theme)
        self.download.intended.connect(self.intended)
        self.checkpoints = push_button("Checkpoints…", CHECKPOINTS_TIP)
        self.checkpoints.setCheckable(True)
        self.checkpoints.toggled.connect(self._arrange)
        self.focus_widget = self.player.slider
        self._lay_out()
        self._listening = Listening()
        for signal, slot in (
            (session.events.timeline, self._on_timeline_changed),
            (session.events.snapshot, self._on_snapshot_changed),
            (session.events.training_state, self.player.show_state),
            (session.events.gathered, lambda: self.checkpoints.setChecked(False)),
            (session.events.model, self._follow_model),
        ):
            self._listening.to(signal, slot)
        self._on_timeline_changed()
        self._on_snapshot_changed()
        self.player.show_state(session.training_state)
        self._follow_model()

    def _lay_out(self) -> None:
        self._played = QWidget()
        parts = self.player, (self.plots, 1), self.verdict
        vbox(*parts, parent=self._played, spacing=GRID // 2)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._played)
        self._stack.addWidget(self.download)

    def controls(self) -> Sequence[QWidget]:
        return (self.checkpoints,)

    def draw(self, view: View) -> None:
        before, self._view, self._lacking = self._view, view, False
        self.plots.draw(TrainingPanel().plots(view))
        if (
            before is None or before.result is not view.result
        ):  # it is slow, and scrubbing draws often
            self._show_verdict()
            self._offer_third()
        self._arrange()

    def draw_without_result(self) -> None:
        self._lacking = True
        self._arrange()

    def forget(self) -> None:
        self._view = None
        self.plots.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.verdict.set_color(theme.muted)
        for part in (self.player, self.plots, self.download):
            part.set_theme(theme)

    def leave(self) -> None:
        """Show the model itself while the panel is hidden."""
        self._want_snapshot(None)

    def stop(self) -> None:
        self._listening.stop()
        self.player.stop()
        self.download.release()

    def keys(self) -> Mapping[int, Callable[[], None]]:
        """Space plays, arrows step, Home and End go to the ends, Esc shows the model itself."""
        player, timeline, state = self.player, self.session.timeline, self.session.gathering
        acts: dict[int, Callable[[], None]] = {}
        if timeline is not None:
            last = timeline.n_snapshots - 1
            acts = {
                Qt.Key.Key_Space: player.toggle,
                Qt.Key.Key_Left: lambda: player.step(-1),
                Qt.Key.Key_Right: lambda: player.step(1),
                Qt.Key.Key_Home: lambda: player.go_to(0),
                Qt.Key.Key_End: lambda: player.go_to(last),
            }
        if state is not None and state.stage != "listed":
            acts[Qt.Key.Key_Escape] = lambda: self.intended.emit(CancelCheckpoints())
        elif self.session.snapshot is not None:
            acts[Qt.Key.Key_Escape] = lambda: self._want_snapshot(None)
        return acts

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._arrange()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Offer the choice of the third plot if not all fit, and wrap the verdict."""
        super().resizeEvent(event)
        self._offer_third()
        self._show_verdict()

    def _offer_third(self) -> None:
        """Offer the choice of the third plot of a training, where not all fit."""
        layers = self._view is not None and self._view.result.layers is not None
        self.offered.emit("third", None, self.width() < WIDE and not layers)

    def _follow_model(self) -> None:
        model = self.session.model
        self._offered = model is not None and may_have_checkpoints(model)
        self.checkpoints.setChecked(False)
        self._arrange()

    def _on_timeline_changed(self) -> None:
        self.player.show_timeline(self.session.timeline)

    def _on_snapshot_changed(self) -> None:
        self.player.show_snapshot(self.session.snapshot)

    def _arrange(self) -> None:
        """Show the form if requested, or without a result."""
        form = self._offered and (self._lacking or self.checkpoints.isChecked())
        self._stack.setCurrentWidget(self.download if form else self._played)
        self.checkpoints.setVisible(self._offered and not self._lacking and self.isVisible())

    def _show_verdict(self) -> None:
        if self._view is None:
            return
        font = QFont(self.font())
        font.setPixelSize(self.theme.px(SMALL))
        metrics, words = QFontMetrics(font), verdict(self._view.result).split(" ")
        fitting = range(len(words), 0, -1)
        width = self.width() - GRID
        cut = next((k for k in fitting if _width(metrics, words[:k]) <= width), 1)
        self.verdict.set_text(" ".join(words[:cut]), " ".join(words[cut:]))

    def _want_snapshot(self, snapshot: int | None) -> None:
        self.intended.emit(ChangeShared("snapshot", snapshot))


def _width(metrics: QFontMetrics, words: Sequence[str]) -> int:
    return metrics.horizontalAdvance(" ".join(words))
