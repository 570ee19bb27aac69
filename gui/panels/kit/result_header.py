"""The header of a result: formula, explanation, controls, menu and caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QPushButton, QToolTip, QWidget

from geometry.evidence.null import Outcome
from gui.panels.kit.nulls import Finding
from gui.panels.table import PanelEntry
from gui.style.outcomes import outcome_color
from gui.style.theme import GRID, LIGHT, SMALL, Theme
from gui.widgets.boxes import grid, hbox
from gui.widgets.buttons import push_button
from gui.widgets.flow_row import FlowRow
from gui.widgets.label import ElidedLabel, label
from gui.widgets.opening_row import FixedText
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

MENU_TIP = "Save or copy the figure or its numbers (also by right-click)"
TALL = 480
"""Height of a panel, in pixels, from which on its caption has two lines."""


class Arrangement(NamedTuple):
    """An arrangement of the header."""

    # Whether the heading is in the first row, beside the panels of the group
    heading_beside: bool
    # Whether the controls are in the row of the heading; otherwise they are below it
    controls_beside: bool
    meaning: bool  # Whether the meaning of the formula is shown
    # Whether the actions are in the first row too; otherwise they are beside the heading
    actions_beside: bool = True


ARRANGEMENTS = (
    Arrangement(True, True, True),
    Arrangement(True, True, False),
    Arrangement(True, False, True),
    Arrangement(True, False, False),
    Arrangement(False, True, True),
    Arrangement(False, True, False),
    Arrangement(False, False, True),
    Arrangement(False, False, False),
    Arrangement(False, False, False, False),
)
"""The first arrangement that fits is used."""


class ResultHeader(QWidget):
    """The panels of a group, formula and controls: in one row, or in more if there is little room.

    Parameters
    ----------
    formula, meaning
        The quantity as a formula and in words; the words are hidden first.
    explanation
        Tooltip of the "?": two sentences.
    group
        The panels that share a tab with this one, itself included. A single panel is shown by its
        title, if the tab has a different one.
    name
        This panel's name.
    """

    menuRequested = Signal(QPoint)
    """The "⋯" button was pressed; the menu's position on the screen."""
    resized = Signal()
    """The caption may have another place."""
    panelRequested = Signal(str)
    """Another panel of the group, by its name."""

    def __init__(
        self,
        formula: str,
        meaning: str,
        explanation: str,
        theme: Theme,
        group: Sequence[PanelEntry] = (),
        name: str = "",
    ) -> None:
        super().__init__()
        self._name = name
        self.tabs = self._tabs(group)
        self.formula, self.meaning = ElidedLabel(formula), label(meaning, "muted")
        self.formula.setToolTip(wrapped(f"{formula} {meaning}"))
        self.help = _button("?", explanation, "What this shows")
        self.more = _button("⋯", MENU_TIP, "Save or copy")
        self.caption = FixedText(1, SMALL)
        self.finding = FindingLine()
        self.finding.hide()
        self._heading, self._controls = QWidget(self), QWidget(self)
        self._row = FlowRow(self._controls)
        hbox(self.formula, self.meaning, self.help, 1, parent=self._heading, spacing=GRID)
        self._grid = grid(self, 2 * GRID, GRID // 2)
        self._grid.setColumnStretch(2, 1)
        self._buttons: list[QWidget] = []
        self._actions = QWidget(self)
        self._actions_row = hbox(self.more, parent=self._actions, spacing=GRID)
        self._grid.addWidget(self.caption, 3, 0, 1, 4)
        self._grid.addWidget(self.finding, 4, 0, 1, 4)
        self._arrangement: Arrangement | None = None
        self.help.clicked.connect(self._explain)
        self.more.clicked.connect(self._ask_for_menu)
        self.set_theme(theme)
        self._arrange()

    def add(self, control: QWidget) -> None:
        """Append a control."""
        self._row.addWidget(control)
        self._arrange()

    def add_action(self, button: QWidget) -> None:
        """Append a button for a dialog, in front of the menu's."""
        self._buttons.append(button)
        self._actions_row.insertWidget(self._actions_row.count() - 1, button)
        QWidget.setTabOrder(button, self.more)
        self._arrange()

    def set_room(self, height: int) -> None:
        """Give the caption and the finding two lines each, in a panel whose height allows it."""
        for line in (self.caption, self.finding):
            line.set_room(2 if height >= TALL else 1)

    def set_controls_enabled(self, enabled: bool) -> None:
        """Enable or disable the controls."""
        for widget in (self._controls, *self._buttons):
            widget.setEnabled(enabled)

    def set_headline(self, formula: str, meaning: str, explanation: str) -> None:
        """Show another quantity."""
        self.formula.setText(formula)
        self.meaning.setText(meaning)
        self.formula.setToolTip(wrapped(f"{formula} {meaning}"))
        self.help.setToolTip(wrapped(explanation))
        self._arrange()

    def set_theme(self, theme: Theme) -> None:
        self.caption.set_color(theme.muted)
        self.finding.set_theme(theme)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._arrange()
        if event.type() is QEvent.Type.Resize:
            self.resized.emit()
        return super().event(event)

    def minimumSizeHint(self) -> QSize:
        """Return the width of the controls only, which may be below the heading."""
        width = max(self._row.minimumSize().width(), self._heading_width(False))
        return QSize(min(width, 30 * GRID), super().minimumSizeHint().height())

    def _arrange(self) -> None:
        fitting = (
            candidate for candidate in ARRANGEMENTS if self._needed(candidate) <= self.width()
        )
        arrangement = next(fitting, ARRANGEMENTS[-1])
        if arrangement == self._arrangement:
            return
        self._arrangement = arrangement
        self.meaning.setVisible(arrangement.meaning)
        if self.tabs is not None:
            self._grid.addWidget(self.tabs, 0, 0, 1, 1 if arrangement.actions_beside else 4)
        if arrangement.heading_beside:
            self._grid.addWidget(self._heading, 0, 1)
        else:
            alone = 4 if arrangement.actions_beside else 3
            span = 2 if arrangement.controls_beside else alone
            self._grid.addWidget(self._heading, 1, 0, 1, span)
        self._grid.addWidget(self._actions, 0 if arrangement.actions_beside else 1, 3)
        if arrangement.controls_beside:
            # Check boxes are lower than the button before them.
            row, span = (0, 1) if arrangement.heading_beside else (1, 2)
            middle = Qt.AlignmentFlag.AlignVCenter
            self._grid.addWidget(self._controls, row, 2, 1, span, middle)
        else:
            self._grid.addWidget(self._controls, 2, 0, 1, 4)

    def _needed(self, arrangement: Arrangement) -> int:
        gap = 2 * GRID
        heading, actions = (
            self._heading_width(arrangement.meaning),
            self._actions.sizeHint().width(),
        )
        tabs = 0 if self.tabs is None else self.tabs.sizeHint().width() + gap
        # In rows of their own they wrap.
        controls = self._controls.sizeHint().width() if arrangement.controls_beside else 0
        if arrangement.heading_beside:
            return tabs + heading + gap + controls + gap + actions
        if arrangement.controls_beside:  # below the tabs and the actions, in their columns
            return max(tabs, heading + gap) + max(controls, actions)
        if arrangement.actions_beside:
            return max(tabs + actions, heading)
        return max(tabs, heading + gap + actions)

    def _tabs(self, group: Sequence[PanelEntry]) -> Segmented | QLabel | None:
        """Return the panels of the group to choose from, or the title of the only one."""
        if len(group) == 1:
            (entry,) = group
            return None if entry.title == entry.group else label(entry.title, "heading")
        if not group:
            return None
        options = [(entry.name, entry.title, f"Show {entry.title}") for entry in group]
        tabs = Segmented(options, group[0].group)
        tabs.show_value(self._name)
        tabs.chosen.connect(self._on_tab)
        return tabs

    def _on_tab(self, name: str) -> None:
        assert isinstance(self.tabs, Segmented)
        self.tabs.show_value(self._name)  # the other panel shows itself as chosen
        self.panelRequested.emit(name)

    def _heading_width(self, meaning: bool) -> int:
        shown = (self.formula, self.meaning, self.help) if meaning else (self.formula, self.help)
        return sum(widget.sizeHint().width() + GRID for widget in shown) - GRID

    def _explain(self) -> None:
        corner = self.help.mapToGlobal(QPoint(0, self.help.height()))
        QToolTip.showText(corner, self.help.toolTip(), self.help)

    def _ask_for_menu(self) -> None:
        self.menuRequested.emit(self.more.mapToGlobal(QPoint(0, self.more.height())))


class FindingLine(FixedText):
    """A line about a number beside its null distribution: a coloured mark, then words."""

    def __init__(self) -> None:
        super().__init__(1, SMALL)
        self._mark, self._theme = "", LIGHT
        self._outcome: Outcome | None = None

    def show_finding(self, finding: Finding | None, instead: str = "") -> None:
        """Show a finding, or another text."""
        self._outcome = None if finding is None else finding.outcome
        self._mark = "" if finding is None else finding.mark
        self.set_text(instead if finding is None else str(finding))
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.set_color(theme.text)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._outcome is None:
            return
        # Painted over the same text, so that the mark is elided with it.
        painter = QPainter(self)
        painter.setFont(self._font())
        metrics = painter.fontMetrics()
        painter.setClipRect(0, 0, metrics.horizontalAdvance(self._mark), metrics.height())
        painter.fillRect(self.rect(), self.palette().window())
        painter.setPen(QColor(outcome_color(self._outcome, self._theme)))
        shown, *_ = self.rows(metrics)
        painter.drawText(0, 0, self.width(), metrics.height(), Qt.AlignmentFlag.AlignVCenter, shown)


def _button(text: str, tooltip: str, name: str) -> QPushButton:
    button = push_button(text, tooltip)
    button.setAccessibleName(name)
    button.setCursor(Qt.CursorShape.ArrowCursor)
    return button
