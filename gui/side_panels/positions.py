"""The shown and fitted positions, and the components on the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QSizePolicy,
    QSpinBox,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.side_panels.components import ComponentChooser
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_count
from gui.widgets.boxes import hbox, vbox
from gui.widgets.label import label
from gui.widgets.number_slider import number_field
from gui.widgets.panel import Panel
from gui.widgets.range_slider import RangeSlider
from gui.widgets.readout import Readout
from gui.widgets.tooltips import wrapped

_EMPTY = "Open a model to choose the positions and components to show."


class PositionsPanel(Panel):
    """A range slider with exact fields and presets, and the choice of components.

    Signals
    -------
    rangeRequested
        First and last position, inclusive; live while a handle is dragged.
    dragStarted, dragFinished
        Before and after the range requests of a drag.
    componentsRequested
        Three component numbers, 1-based, for x, y and z.
    """

    rangeRequested = Signal(int, int)
    dragStarted = Signal()
    dragFinished = Signal()
    componentsRequested = Signal(tuple)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.slider = RangeSlider()
        self.setFocusProxy(self.slider)  # so that the arrows change the range
        self.slider.setAccessibleName("Range of positions")
        self.slider.setToolTip(
            wrapped(
                "Drag an end, or the bar between the ends to move the whole range. "
                "←\N{NO-BREAK SPACE}→ move the end last used by one position, with Shift the "
                "whole range; ↑\N{NO-BREAK SPACE}↓ choose which end that is: last or first."
            )
        )
        self.first, self.last = self._make_field("First"), self._make_field("Last")
        self.count = Readout(theme)
        self.count.setToolTip(wrapped("Positions in the range; the components are fitted to these"))
        self.presets = tuple(self._make_preset(index) for index in range(5))
        self.components = ComponentChooser(theme)
        self.message = label(_EMPTY, "muted", wrap=True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._arrange()
        self._connect()
        self.set_theme(theme)
        self._on_opening_changed()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.slider.set_theme(theme)
        for part in (self.count, self.components):
            part.set_theme(theme)

    # -- building ---------------------------------------------------------------------------

    def _make_field(self, which: str) -> QSpinBox:
        tip = (
            f"{which} position of the range; Enter applies it. A value beyond the other end moves "
            "the whole range."
        )
        return number_field(f"{which} position", 68, tip)

    def _make_preset(self, index: int) -> QToolButton:
        button = QToolButton()
        button.setProperty("class", "chip")
        button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        button.clicked.connect(lambda: self._on_preset_clicked(index))
        return button

    def _arrange(self) -> None:
        exact = hbox(self.first, (self.count, 1), self.last)
        # Widths by length of text, so that all five are elided a little in a narrow panel.
        shares = [len(preset.label) + 2 for preset in range_presets(0, None)]
        shortcuts = hbox(*zip(self.presets, shares, strict=True), spacing=GRID // 2)
        self._controls = QWidget()
        vbox(
            self.slider,
            exact,
            shortcuts,
            (self.components, 100),
            0,
            parent=self._controls,
            spacing=GRID // 2,
            margins=(GRID, GRID // 2, GRID, GRID),
        )
        empty = QWidget()
        QVBoxLayout(empty).addWidget(self.message)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty)
        self._stack.addWidget(self._controls)

    def _connect(self) -> None:
        self.slider.pressed.connect(self.dragStarted)
        self.slider.released.connect(self.dragFinished)
        self.slider.rangeChangedByUser.connect(self._request)
        self.first.valueChanged.connect(self._on_first_entered)
        self.last.valueChanged.connect(self._on_last_entered)
        self.components.componentsRequested.connect(self.componentsRequested)
        events = self.session.events
        self.listen(events.model, self._on_model_changed)
        self.listen(events.opening, self._on_opening_changed)
        self.listen(events.norms, self._on_norms_changed)
        self.listen(events.positions, self._on_positions_changed)
        self.listen(events.dragging, self._update_badge)
        self.listen(events.components, self._on_curve_changed)
        self.listen_throttled(events.curve, self._on_curve_changed)

    # -- what the user wants ----------------------------------------------------------------

    def _request(self, first: int, last: int) -> None:
        if (first, last) != self.session.positions:
            self.rangeRequested.emit(first, last)
        # Restore the session's range, if the request changed nothing.
        self._on_positions_changed()

    def _on_first_entered(self, first: int) -> None:
        before, last = self.session.positions
        if first > last:
            last = min(first + last - before, self.last.maximum())
        self._request(first, last)

    def _on_last_entered(self, last: int) -> None:
        first, before = self.session.positions
        if last < first:
            first = max(0, last - (before - first))
        self._request(first, last)

    def _on_preset_clicked(self, index: int) -> None:
        preset = self._offered()[index]
        if preset.positions is not None:
            self._request(*preset.positions)

    # -- the session has changed ------------------------------------------------------------

    def _offered(self) -> tuple[Preset, ...]:
        model, norms = self.session.model, self.session.norms
        known = norms is not None and model is not None and len(norms.values) == model.n_positions
        outliers = norms.outliers if known and norms is not None else None
        return range_presets(model.n_positions if model is not None else 0, outliers)

    def _on_model_changed(self) -> None:
        self.components.forget()  # first, so that no old bars are beside new ones
        self._on_opening_changed()

    def _on_opening_changed(self) -> None:
        model = self.session.model
        if model is None:
            self.message.setText("Opening the model…" if self.session.opening else _EMPTY)
            self._stack.setCurrentIndex(0)
            return
        self.slider.set_limits(0, max(1, model.n_positions - 1))
        several = model.n_positions > 1
        for field in (self.first, self.last):
            with QSignalBlocker(field):
                field.setRange(0, model.n_positions - 1)
        for control in (self.slider, self.first, self.last):
            control.setEnabled(several)
        self._stack.setCurrentIndex(1)
        self._on_norms_changed()
        self._on_positions_changed()
        self._on_curve_changed()

    def _on_norms_changed(self) -> None:
        for button, preset in zip(self.presets, self._offered(), strict=True):
            button.setText(preset.label)
            where = preset.positions
            button.setEnabled(where is not None)
            reach = "" if where is None else ": positions {}–{}".format(*where)
            button.setAccessibleName(preset.name)
            button.setToolTip(wrapped(f"{preset.name}{reach}\n{preset.why}"))

    def _on_positions_changed(self) -> None:
        first, last = self.session.positions
        self.slider.show_range(first, last)
        for field, value in ((self.first, first), (self.last, last)):
            with QSignalBlocker(field):
                field.setValue(value)
        count = last - first + 1
        model = self.session.model
        what = "position" if model is None or model.of_positions else "row"
        self.count.set_note(f"{format_count(count)} {what}{'' if count == 1 else 's'}")
        self._update_badge()

    def _on_curve_changed(self) -> None:
        self.components.show_components(self.session.components, self.session.pca)
        self._update_badge()

    def _update_badge(self) -> None:
        pca = self.session.pca
        badge = "fast fit" if self.session.dragging else "refitting…"
        if pca is not None and pca.exact and pca.positions == self.session.positions:
            badge = "exact fit {}–{}".format(*pca.positions)
        self.components.foot.set_note(badge)


# ---- the articles' ranges of positions, for any length of table -------------------------------


@dataclass(frozen=True, slots=True)
class Preset:
    """A named range of positions."""

    label: str  # Short text of a button
    name: str  # Full text
    # First and last position, inclusive; None if the table does not have the range
    positions: tuple[int, int] | None
    why: str  # Use of the range, or why the table does not have it, in one sentence


def longest_run(n_positions: int, outliers: Sequence[int]) -> tuple[int, int] | None:
    """Return the longest range without outliers; None if every position is one.

    Of equally long ones it is the first. Outliers may be in any order.
    """
    fences = [-1, *sorted(set(outliers)), n_positions]
    runs = [(left + 1, right - 1) for left, right in pairwise(fences)]
    longest = max(runs, key=lambda run: run[1] - run[0])
    return longest if longest[0] <= longest[1] else None


def range_presets(n_positions: int, outliers: Sequence[int] | None) -> tuple[Preset, ...]:
    """Return the presets for a table, always the same ones in the same order.

    ``outliers`` are positions with outlying norms; None if the norms are unknown.
    """
    last = n_positions - 1
    short = f"This table has only {n_positions} positions."

    def fixed(label: str, first: int, end: int, why: str) -> Preset:
        # At least two rows have variance.
        fits = 0 <= first < end <= last
        return Preset(label, label, (first, end) if fits else None, why if fits else short)

    return (
        Preset("All", "All positions", (0, last), "Every stored row, outliers included."),
        fixed("1–last", 1, last, "Without position 0, whose row is often much longer."),
        fixed("100–last", 100, last, "Without the early positions, where the curve frays."),
        fixed("1–99", 1, 99, "Only the early positions, where the curve frays."),
        _without_outliers(n_positions, outliers),
    )


def _without_outliers(n_positions: int, outliers: Sequence[int] | None) -> Preset:
    run = None if outliers is None else longest_run(n_positions, outliers)
    if run is not None and run[0] == run[1]:
        run = None
    if outliers is None:
        why = "The norms of this table are not known yet."
    elif run is None:
        why = "There is no range of two or more positions without outliers."
    elif outliers:
        why = "The longest range in which no norm is an outlier."
    else:
        why = "No norm of this table is an outlier."
    return Preset("No outliers", "Without outliers", run, why)
