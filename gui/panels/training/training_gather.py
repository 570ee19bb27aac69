"""Where the checkpoints of a training are chosen, priced, and gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSpinBox, QVBoxLayout, QWidget

from gui.panels.base import Panel
from gui.panels.training.training_gather_text import (
    about_text,
    budget_text,
    button_text,
    button_tip,
    first_words,
    progress_text,
    skipped_text,
)
from gui.state.checkpoint_download import DownloadState
from gui.state.session import Session
from gui.style.theme import GRID, SMALL, Theme, format_count
from gui.widgets.fetch_status import FetchBar
from gui.widgets.label import label
from gui.widgets.opening_row import FixedText
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.history.gathering import Gathered
    from geometry.history.history import Skipped
    from geometry.history.plan import HistoryPlan

BAR_WIDTH = 40 * GRID
_STEPS = 1000
TAKE_TIP = (
    "How many of the checkpoints are taken, at steps whose logarithms are as evenly spaced as they"
    " allow, the first and the last always among them"
)


class DownloadForm(Panel):
    """Looks for checkpoints when asked to, says what a choice of them costs, and how far it is.

    Parameters
    ----------
    session
        The state to show: ``session.gathering``.
    theme
        Colours.

    Signals
    -------
    lookRequested()
        It is to be found out which checkpoints there are.
    countRequested(int)
        What so many of them cost is to be said.
    gatherRequested(int)
        So many are to be gathered.
    wholeRequested(int)
        Likewise, and the user agrees to the download of whole files.
    cancelRequested()
        The user gives up on it; what has come stays.
    """

    lookRequested = Signal()
    countRequested = Signal(int)
    gatherRequested = Signal(int)
    wholeRequested = Signal(int)
    cancelRequested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.message, self.advice = _line(""), _line("muted")
        self.count = QSpinBox()
        self.count.setAccessibleName("Checkpoints to take")
        self.count.setToolTip(wrapped(TAKE_TIP))
        self.count.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.count.setFixedWidth(7 * GRID)
        # Each digit typed would be a plan of its own.
        self.count.setKeyboardTracking(False)
        self.budget = label()
        self.skipped = _line("badge")
        self.bar = FetchBar()
        self.bar.setAccessibleName("Checkpoints gathered")
        self.progress = FixedText(1, SMALL)
        self.button, self.cancel = QPushButton(), QPushButton("Cancel")
        self.cancel.setToolTip("Stop; what has come stays, and can be shown (Esc)")
        self._lay_out()
        self.count.valueChanged.connect(self.countRequested)
        self.button.clicked.connect(self._on_button)
        self.cancel.clicked.connect(self.cancelRequested)
        for signal in (session.events.gathering, session.events.model, session.events.offline):
            self.listen(signal, self._show)
        self.set_theme(theme)
        self._show()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        self.progress.set_color(theme.muted)

    # ---- what is shown ---------------------------------------------------------------------

    def _show(self) -> None:
        model, state = self.session.model, self.session.gathering
        if model is None:
            return
        if state is None:
            self._say(*first_words(model, offline=self.session.offline))
        elif state.stage == "looking":
            self._say("Looking for checkpoints…", "")
        elif state.plan is None:
            self._say(state.why, state.advice)
        else:
            self._say(state.why or about_text(state.plan), state.advice)
        self._show_choice(state)
        self._show_progress(state)
        self._show_skipped(() if state is None else state.skipped)
        self.button.setText(button_text(state))
        self.button.setToolTip(wrapped(button_tip(state)))
        working = state is not None and state.stage != "listed"
        self.button.setVisible(not working)
        self.cancel.setVisible(working)

    def _say(self, message: str, advice: str) -> None:
        self.message.setText(message)
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))

    def _show_choice(self, state: DownloadState | None) -> None:
        plan = None if state is None or state.stage != "listed" else state.plan
        self._choice.setVisible(plan is not None)
        if plan is not None and state is not None:
            blocked = self.count.blockSignals(True)
            self.count.setRange(1, plan.n_available)
            self.count.setValue(len(plan.snapshots))
            self.count.blockSignals(blocked)
            self.budget.setText(budget_text(plan, state.whole))
            self.budget.setToolTip(wrapped(_budget_tip(plan)))

    def _show_progress(self, state: DownloadState | None) -> None:
        working = state is not None and state.stage != "listed"
        self._working.setVisible(working)
        if state is None or not working:
            return
        so_far = state.progress
        self.progress.set_text(progress_text(so_far))
        if so_far is None or not so_far.total:
            self.bar.setRange(0, 0)
        else:
            self._fill(so_far)

    def _fill(self, so_far: Gathered) -> None:
        if self.bar.maximum() != _STEPS:
            self.bar.setRange(0, _STEPS)
        self.bar.setValue(_STEPS * so_far.done // so_far.total)

    def _show_skipped(self, skipped: Sequence[Skipped]) -> None:
        self.skipped.setVisible(bool(skipped))
        if skipped:
            text, tip = skipped_text(skipped)
            self.skipped.setText(text)
            self.skipped.setToolTip(tip)

    # ---- what the user wants ---------------------------------------------------------------

    def _on_button(self) -> None:
        state = self.session.gathering
        if state is None or state.plan is None:
            self.lookRequested.emit()
        elif state.whole:
            self.wholeRequested.emit(self.count.value())
        else:
            self.gatherRequested.emit(self.count.value())

    def _lay_out(self) -> None:
        self._choice, self._working = QWidget(), QWidget()
        choice = _row(self._choice)
        choice.insertWidget(1, label("Take", "muted"))
        choice.insertWidget(2, self.count)
        choice.insertWidget(3, self.budget)
        self._working.setFixedWidth(BAR_WIDTH)
        working = QVBoxLayout(self._working)
        working.setContentsMargins(0, 0, 0, 0)
        working.setSpacing(GRID // 2)
        working.addWidget(self.progress)
        working.addWidget(self.bar)
        self._buttons = QWidget()
        buttons = _row(self._buttons)
        buttons.insertWidget(1, self.button)
        buttons.insertWidget(2, self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        column.addStretch(1)
        column.addWidget(self.message)
        column.addWidget(self.advice)
        column.addWidget(self._choice)
        column.addWidget(self._working, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.skipped)
        column.addWidget(self._buttons)
        column.addStretch(1)


def _row(holder: QWidget) -> QHBoxLayout:
    """Make a row whose parts stand in the middle; they are put between two stretches."""
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(GRID)
    row.addStretch(1)
    row.addStretch(1)
    return row


def _line(role: str) -> QLabel:
    made = label("", role)
    made.setWordWrap(True)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return made


def _budget_tip(plan: HistoryPlan) -> str:
    steps = ", ".join(format_count(one.step) for one in plan.snapshots)
    return f"Of each checkpoint its table of positions is read, and no more. Steps: {steps}"
