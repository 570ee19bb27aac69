"""The body of the panel of effects: settings, the table of changes, and plots."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QBoxLayout, QCheckBox, QFrame, QWidget

from geometry.inside.effects import Effects
from geometry.inside.interventions import (
    CHANGES,
    MAX_COMPONENTS,
    USUAL,
    helix_change,
    helix_factors,
    usual_length,
)
from gui.panels.effects.spec import (
    MAX_LENGTH,
    MAX_WINDOWS,
    MIN_LENGTH,
    MIN_WINDOWS,
    Choices,
    EffectsPanel,
    View,
    amount,
    details,
)
from gui.panels.kit.body import PanelBody
from gui.plots.qt_painter import PaintedRow, columns
from gui.services.effects import EffectsRun, kept, named
from gui.state.session import Session
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import grid, hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.fitted_table import FittedTable
from gui.widgets.label import label
from gui.widgets.number_slider import number_field
from gui.widgets.opening_row import FixedText
from gui.widgets.position_rows import TextRows
from gui.widgets.real_slider import RealSlider, Scale
from gui.widgets.table_text import Column
from gui.widgets.texts_choice import TextsChoice
from gui.widgets.tooltips import wrapped

Role = Qt.ItemDataRole
CHANGE, EFFECT, CONTROL, DIFFERENCE, INTERVAL = range(5)
COLUMNS = (
    Column("In place of P", "The changed table; click to see its curve", left=True),
    Column(
        "Effect",
        "By how much the loss grows, in nats per token; of an encoder, how far its "
        "last states move",
    ),
    Column(
        "Control",
        "The same after a displacement of the rows that is as large but leaves alone what the "
        "change is about: of several, the one with the nearest effect",
    ),
    Column("Difference", "What remains of the effect without that of the control"),
    Column("95 %", "The interval of the difference that covers 95 % of resampled texts and draws"),
)
ROW_HEIGHT = 22
WIDTHS = {EFFECT: 8, CONTROL: 8, DIFFERENCE: 9, INTERVAL: 15}
ROOM = {CONTROL: 380, DIFFERENCE: 300, INTERVAL: 520}
TABLE_WIDTH = 40 * GRID
"""Minimum width of the table, in pixels."""
LISTED = ("top 0", "top 1", "top 2", "top 3", *(name for name in USUAL if kept(name) is None))
"""The changes in the table; the plot shows the others, which keep more components."""
FACTOR = Scale(0, 3, 2)
HELIX = {
    "Radius": "Radius of the helix, as a multiple of the fitted one",
    "Pitch": "Climb of the helix, as a multiple of the fitted one",
}
TEXTS_TIP = (
    "The texts that run through the network: texts that come with Helixscope, or your own text "
    "file, or a folder of .txt and .md files. Intervals are over files: more files and windows "
    "make them smaller."
)
HEADS_TIP = (
    "Also measure how much of each head’s attention moves to other tokens. It takes longer, since "
    "the faster ways to compute attention do not return it."
)
MEASURE_TIP = (
    "Run the texts through the network once for each change and each control, in a process of its "
    "own. The bundled model takes a minute or two, GPT-2 much longer; Esc stops, and what was "
    "measured is kept."
)


class EffectsBody(PanelBody):
    """Settings in the header; the table, sliders of the helix, and plots below."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._choices = Choices()
        self._view: View | None = None
        self.texts = push_button("Texts…")
        self.texts.clicked.connect(self._open_settings)
        self.settings = TextSettings(self)
        self.settings.chosen.connect(self.chosen)
        self.measure = push_button("Measure", MEASURE_TIP)
        self.measure.clicked.connect(self._on_measure)
        self.table = ChangesTable()
        self.table.chosen.connect(lambda change: self.chosen.emit("change", change))
        self.sliders = {name: RealSlider(name, FACTOR, tip, theme) for name, tip in HELIX.items()}
        for slider in self.sliders.values():
            slider.changed.connect(self._on_helix)
        self.helix = QWidget()
        vbox(*self.sliders.values(), parent=self.helix, spacing=0)
        self.failure = FixedText(1, SMALL)
        self.failure.set_color(theme.warning)
        self.plots = PaintedRow(session, theme)
        self.plots.hoverRequested.connect(self.hoverRequested)
        self.plots.selectionRequested.connect(self.selectionRequested)
        self.plots.chosen.connect(lambda _, k: self._keep(k))
        self.plots.stepped.connect(
            lambda step: self._keep((kept(self._choices.change) or 0) + step)
        )
        left = QWidget()
        left.setMinimumWidth(TABLE_WIDTH)
        vbox((self.table, 1), self.helix, self.failure, parent=left, spacing=GRID // 2)
        self._parts = hbox((left, 1), (self.plots, 1), parent=self, spacing=2 * GRID)
        self.focus_widget = self.table

    def controls(self) -> tuple[QWidget, ...]:
        return self.texts, self.measure

    def show_choices(self, choices: Choices) -> None:
        self._choices = choices
        model = self.session.model
        if model is not None:
            self.settings.show_settings(choices, model.n_positions)
        self.texts.setToolTip(wrapped(f"{TEXTS_TIP}\n\n{self.settings.summary}"))
        factors = helix_factors(choices.change)
        self.helix.setVisible(factors is not None)
        for slider, factor in zip(self.sliders.values(), factors or (1.0, 1.0), strict=True):
            slider.show_value(factor)
        self.table.mark(choices.change)

    def draw(self, view: View) -> None:
        self._view = view
        self.table.show_effects(view.result.effects, view.choices)
        self.plots.draw(EffectsPanel().plots(view))
        self.failure.set_text(view.result.failure)

    def show_marks(self) -> None:
        self.plots.show_marks()

    def forget(self) -> None:
        self._view = None
        self.plots.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.failure.set_color(theme.warning)
        self.plots.set_theme(theme)
        for slider in self.sliders.values():
            slider.set_theme(theme)
        rows = self.table.verticalHeader()
        rows.setDefaultSectionSize(theme.px(ROW_HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        below, directions = columns(2, self.size()) == 1, QBoxLayout.Direction
        self._parts.setDirection(directions.TopToBottom if below else directions.LeftToRight)

    def _open_settings(self) -> None:
        self.settings.move(self.texts.mapToGlobal(QPoint(0, self.texts.height())))
        self.settings.show()

    def _on_measure(self) -> None:
        choices, before = self._choices, self._choices.run
        own = () if choices.change in USUAL else (choices.change,)
        more = tuple(dict.fromkeys((*(() if before is None else before.more), *own)))
        attempt = 0 if before is None else before.attempt + 1
        length = self.settings.length.value()
        run = EffectsRun(choices.texts, length, choices.windows, choices.heads, more, attempt)
        self.chosen.emit("run", run)

    def _on_helix(self) -> None:
        radius, pitch = (slider.value for slider in self.sliders.values())
        self.chosen.emit("change", helix_change(radius, pitch))

    def _keep(self, count: int) -> None:
        maximum = MAX_COMPONENTS if self._view is None else self._view.result.most
        self.chosen.emit("change", f"top {min(max(count, 0), maximum)}")


class TextSettings(QFrame):
    """The choice of texts, in a popup window."""

    chosen = Signal(str, object)
    """A choice of the panel, by its name, and its new value."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("role", "palette")
        self.setAccessibleName("Texts")
        self.source = TextsChoice()
        self.source.chosen.connect(lambda texts: self.chosen.emit("texts", texts))
        self.windows = number_field("Windows of text", 8 * GRID)
        self.length = number_field("Tokens of a window", 8 * GRID)
        self.windows.setRange(MIN_WINDOWS, MAX_WINDOWS)
        self.length.setRange(MIN_LENGTH, MAX_LENGTH)
        self.windows.valueChanged.connect(lambda n: self.chosen.emit("windows", n))
        self.length.valueChanged.connect(lambda n: self.chosen.emit("length", n))
        self.heads = QCheckBox("Attention of each head")
        self.heads.setToolTip(wrapped(HEADS_TIP))
        self.heads.toggled.connect(lambda on: self.chosen.emit("heads", on))
        rows = grid(self, 2 * GRID, GRID, margins=2 * GRID)
        fields = (("Texts", self.source), ("Windows", self.windows), ("Tokens", self.length))
        for row, (name, field) in enumerate(fields):
            rows.addWidget(label(name, "muted"), row, 0)
            rows.addWidget(field, row, 1)
        rows.addWidget(self.heads, len(fields), 1)

    @property
    def summary(self) -> str:
        """The settings as text."""
        return (
            f"{self.source.currentText()}: {self.windows.value()} windows of "
            f"{self.length.value()} tokens"
        )

    def show_settings(self, choices: Choices, n_positions: int) -> None:
        """Show choices without reporting a change."""
        self.source.show_value(choices.texts)
        with QSignalBlocker(self.length), QSignalBlocker(self.windows), QSignalBlocker(self.heads):
            self.heads.setChecked(choices.heads)
            self.length.setMaximum(max(n_positions, MIN_LENGTH))
            self.length.setValue(choices.length or usual_length(n_positions))
            self.windows.setValue(choices.windows)


class ChangeRows(TextRows):
    """Changes as rows."""

    changes: tuple[str, ...] = LISTED
    cells: tuple[tuple[str, ...], ...] = tuple((named(change), *4 * ("",)) for change in LISTED)
    tips: tuple[str, ...] = ("",) * len(LISTED)

    def replace(self, effects: Effects, chosen: str) -> None:
        """Set the effects; the chosen change is the last one if it is not among the others."""
        own = [effect.name for effect in effects.effects if effect.name not in USUAL]
        changes = tuple(dict.fromkeys((*LISTED, *own, *((chosen,) if chosen not in USUAL else ()))))
        cells = tuple(_cells(effects, change) for change in changes)
        tips = tuple(_tip(effects, change) for change in changes)
        same = changes == self.changes
        if not same:
            self.beginResetModel()
        self.changes, self.cells, self.tips = changes, cells, tips
        if same:
            self.dataChanged.emit(self.index(0, 0), self.index(len(changes) - 1, INTERVAL))
        else:
            self.endResetModel()


class ChangesTable(FittedTable):
    """Changes with their effects; a click or a key chooses one."""

    chosen = Signal(str)

    def __init__(self) -> None:
        self.rows = ChangeRows(COLUMNS)
        super().__init__(self.rows, "Changes", ROW_HEIGHT, CHANGE, WIDTHS, ROOM)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)

    def show_effects(self, effects: Effects, choices: Choices) -> None:
        """Set the rows."""
        self.rows.replace(effects, choices.change)
        self.mark(choices.change)

    def mark(self, change: str) -> None:
        """Select a change's row, or none."""
        if change in self.rows.changes:
            row = self.rows.changes.index(change)
            self.selectRow(row)
            self.scrollTo(self.rows.index(row, CHANGE))
        else:
            self.clearSelection()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            self.chosen.emit(self.rows.changes[index.row()])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        marked = self.selectionModel().selectedRows()
        if marked and event.isAccepted():
            self.chosen.emit(self.rows.changes[marked[0].row()])


def _cells(effects: Effects, change: str) -> tuple[str, str, str, str, str]:
    effect = effects.of(change)
    if effect is None or effect.why:
        return named(change), "" if effect is None else "–", "", "", ""
    own, control = amount(effects, effect.delta, signed=True), effect.nearest
    if control is None:
        return named(change), own, "", "", ""
    value, low, high = control.difference
    return (
        named(change),
        own,
        amount(effects, control.delta, signed=True),
        amount(effects, value, signed=True),
        f"{amount(effects, low)} to {amount(effects, high)}",
    )


def _tip(effects: Effects, change: str) -> str:
    effect = effects.of(change)
    about = (CHANGES[change].__doc__ or "").partition("\n")[0] if change in CHANGES else ""
    if effect is None or effect.why:
        return "\n".join(filter(None, (about, "" if effect is None else effect.why)))
    return "\n".join(filter(None, (about, *details(effects, effect))))
