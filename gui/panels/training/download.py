"""The form for choosing and downloading checkpoints of a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from geometry.models.sources.source import Source
from gui.panels.kit.intents import (
    CancelCheckpoints,
    DownloadCheckpoints,
    LookForCheckpoints,
    PlanCheckpoints,
)
from gui.state.checkpoint_download import DownloadState
from gui.state.session import Session
from gui.style.theme import GRID, SMALL, Theme, format_bytes, format_count
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.fetch_status import FetchBar
from gui.widgets.label import label
from gui.widgets.number_slider import number_field
from gui.widgets.opening_row import FixedText
from gui.widgets.panel import Panel
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.history.gathering import Gathered
    from geometry.history.history import Skipped
    from geometry.history.plan import HistoryPlan
    from geometry.models.model import PositionalModel

BAR_WIDTH = 40 * GRID
MAX_NAMED = 12
"""Maximum number of omitted checkpoints in the tooltip."""
TAKE_TIP = (
    "Number of checkpoints to load, at steps as evenly spaced on a logarithmic scale as possible; "
    "always includes the first and the last"
)

CANCEL_TIP = "Stop; checkpoints already loaded are kept and can be shown"


class DownloadForm(Panel):
    """Searches for checkpoints, shows the size of their download, and the progress."""

    intended = Signal(object)
    """:class:`gui.panels.kit.intents.LookForCheckpoints` or another intent about checkpoints."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.message, self.advice = _line(""), _line("muted")
        self.count = number_field("Checkpoints to load", 7 * GRID, TAKE_TIP)
        self.budget = label()
        self.skipped = _line("badge")
        self.bar = FetchBar()
        self.bar.setAccessibleName("Checkpoints loaded")
        self.progress = FixedText(1, SMALL)
        self.button, self.cancel = push_button(""), push_button("Cancel", CANCEL_TIP)
        self._lay_out()
        self.count.valueChanged.connect(lambda count: self.intended.emit(PlanCheckpoints(count)))
        self.button.clicked.connect(self._on_button)
        self.cancel.clicked.connect(lambda: self.intended.emit(CancelCheckpoints()))
        for signal in (session.events.gathering, session.events.model, session.events.offline):
            self.listen(signal, self._show)
        self.set_theme(theme)
        self._show()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.progress.set_color(theme.muted)

    # ---- display ---------------------------------------------------------------------------

    def _show(self) -> None:
        model, state = self.session.model, self.session.gathering
        if model is None:
            return
        if state is None:
            self._show_message(*_first_words(model, offline=self.session.offline))
        elif state.stage == "looking":
            self._show_message("Searching for checkpoints…", "")
        elif state.plan is None:
            self._show_message(state.why, state.advice)
        else:
            self._show_message(state.why or _about_text(state.plan), state.advice)
        self._show_choice(state)
        self._show_progress(state)
        self._show_skipped(() if state is None else state.skipped)
        self.button.setText(_button_text(state))
        self.button.setToolTip(wrapped(_button_tip(state)))
        working = state is not None and state.stage != "listed"
        self.button.setVisible(not working)
        self.cancel.setVisible(working)

    def _show_message(self, message: str, advice: str) -> None:
        self.message.setText(message)
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))

    def _show_choice(self, state: DownloadState | None) -> None:
        plan = None if state is None or state.stage != "listed" else state.plan
        self._choice.setVisible(plan is not None)
        if plan is not None and state is not None:
            with QSignalBlocker(self.count):
                self.count.setRange(1, plan.n_available)
                self.count.setValue(len(plan.snapshots))
            self.budget.setText(_budget_text(plan, state.whole))
            self.budget.setToolTip(wrapped(_budget_tip(plan)))

    def _show_progress(self, state: DownloadState | None) -> None:
        working = state is not None and state.stage != "listed"
        self._working.setVisible(working)
        if state is None or not working:
            return
        so_far = state.progress
        self.progress.set_text(_progress_text(so_far))
        share = so_far.done / so_far.total if so_far is not None and so_far.total else None
        self.bar.show_share(share)

    def _show_skipped(self, skipped: Sequence[Skipped]) -> None:
        self.skipped.setVisible(bool(skipped))
        if skipped:
            text, tip = skipped_text(skipped)
            self.skipped.setText(text)
            self.skipped.setToolTip(wrapped(tip))

    # ---- requests of the user --------------------------------------------------------------

    def _on_button(self) -> None:
        state = self.session.gathering
        if state is None or state.plan is None:
            self.intended.emit(LookForCheckpoints())
        else:
            self.intended.emit(DownloadCheckpoints(self.count.value(), whole=bool(state.whole)))

    def _lay_out(self) -> None:
        self._choice, self._working = QWidget(), QWidget()
        take = label("Take", "muted")
        hbox(1, take, self.count, self.budget, 1, parent=self._choice, spacing=GRID)
        self._working.setFixedWidth(BAR_WIDTH)
        vbox(self.progress, self.bar, parent=self._working, spacing=GRID // 2)
        self._buttons = QWidget()
        hbox(1, self.button, self.cancel, 1, parent=self._buttons, spacing=GRID)
        working = (self._working, 0, Qt.AlignmentFlag.AlignHCenter)
        vbox(
            1,
            self.message,
            self.advice,
            self._choice,
            working,
            self.skipped,
            self._buttons,
            1,
            parent=self,
            spacing=GRID,
        )


def _line(role: str) -> QLabel:
    line = label("", role, wrap=True)
    line.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return line


def _budget_tip(plan: HistoryPlan) -> str:
    steps = ", ".join(format_count(snapshot.step) for snapshot in plan.snapshots)
    return f"Only the position table of each checkpoint is read. Steps: {steps}"


# ---- texts -----------------------------------------------------------------------------------


def _first_words(model: PositionalModel, *, offline: bool) -> tuple[str, str]:
    """Return a sentence and advice before the search for checkpoints."""
    name = model.source.name
    if model.source.address is None:
        return f"There may be checkpoints of {name}’s training in the same folder.", ""
    if offline:
        return (
            f"The Hub may have checkpoints of {name}’s training.",
            "Helixscope is offline: only checkpoints downloaded before are found.",
        )
    return (
        f"The Hub may have checkpoints of {name}’s training.",
        "The search makes one request to the Hub and downloads nothing.",
    )


def _about_text(plan: HistoryPlan) -> str:
    """Return the number of checkpoints: "609 checkpoints on the Hub"."""
    of_hub = plan.origin.kind == "hub"
    where = "on the Hub" if of_hub else f"in {Source.parse(plan.origin.source).name}"
    return f"{_checkpoints(plan.n_available)} of {plan.origin.name}’s training {where}."


def _budget_text(plan: HistoryPlan, whole: int = 0) -> str:
    """Return a description of a choice of checkpoints, with its download size.

    ``whole`` is the size if whole files are necessary, -1 if it is unknown; else 0.
    """
    n, away = len(plan.snapshots), len(plan.to_fetch)
    first, last = (format_count(plan.snapshots[i].step) for i in (0, -1))
    parts = [f"of {format_count(plan.n_available)}"]
    parts.append(f"log-spaced, steps {first}–{last}" if n > 1 else f"step {last}")
    if whole:
        parts.append(f"{format_bytes(whole)} as whole files" if whole > 0 else "as whole files")
    elif not away:
        parts.append("nothing to download")
    else:
        here = f" ({format_count(n - away)} already here)" if n > away else ""
        parts.append(f"at most {format_bytes(plan.bytes_to_fetch)} to download{here}")
    return " · ".join(parts)


def _button_text(state: DownloadState | None) -> str:
    if state is None:
        return "Find checkpoints"
    if state.plan is None:
        return "Search again"
    if state.whole:
        size = format_bytes(state.whole) if state.whole > 0 else "whole files"
        return f"Download {size}"
    some = state.plan.to_fetch and len(state.plan.to_fetch) < len(state.plan.snapshots)
    return "Load the rest" if some else "Load"


def _button_tip(state: DownloadState | None) -> str:
    if state is None or state.plan is None:
        return "List the available checkpoints; nothing is downloaded yet"
    if state.whole:
        return "Download whole files and cache as much of them as there is room for"
    if state.plan.to_fetch:
        return (
            "Download the position tables that are not on this machine, and show how the curve "
            "formed"
        )
    return "Read the position tables and show how the curve formed"


def _progress_text(progress: Gathered | None) -> str:
    if progress is None:
        return ""
    if progress.waiting:
        return progress.waiting
    text = f"{format_count(progress.done)} of {_checkpoints(progress.total)}"
    if progress.bytes_received:
        text += f" · {format_bytes(progress.bytes_received)}"
    if progress.bytes_per_second is not None:
        text += f" · {format_bytes(progress.bytes_per_second)}/s"
    return text


def skipped_text(skipped: Sequence[Skipped]) -> tuple[str, str]:
    """Return the number of omitted checkpoints, and a tooltip with the reasons."""
    text = f"{_checkpoints(len(skipped))} left out"
    if len(skipped) == 1:
        text += f": step {format_count(skipped[0].step)}. {skipped[0].why}"
    lines = [
        f"Step {format_count(checkpoint.step)}: {checkpoint.why}"
        for checkpoint in skipped[:MAX_NAMED]
    ]
    if len(skipped) > MAX_NAMED:
        lines.append(f"And {format_count(len(skipped) - MAX_NAMED)} more.")
    return text, wrapped("\n".join(lines))


def _checkpoints(count: int) -> str:
    return f"{format_count(count)} checkpoint{'' if count == 1 else 's'}"
