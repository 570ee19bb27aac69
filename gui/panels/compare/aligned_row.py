"""Controls of the aligned curve: which curve, how it is aligned, and how well it fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QGuiApplication, QStandardItemModel
from PySide6.QtWidgets import (
    QCheckBox,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QWidget,
)

from gui.services.alignment_text import other_model, readout, script
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange, OfStep
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_count
from gui.widgets.boxes import hbox, vbox
from gui.widgets.drop_down import DropDown
from gui.widgets.flow_row import FlowRow
from gui.widgets.label import label
from gui.widgets.panel import Panel
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

NOTHING, RANGE, STEP = "nothing", "range", "step"
WHATS = {
    NOTHING: "nothing",
    RANGE: "other positions",
    STEP: "a training step",
}
WHAT_TIP = (
    "Draw a second curve over the shown one, as a thin line with points. Compared models are "
    "matched by position; other positions of this model are matched in order, first to first"
)
HOWS = (
    (
        "scaled",
        "Scaled",
        "In its own components, translated, rotated and scaled to the best fit (orthogonal "
        "Procrustes with a scale)",
    ),
    ("turned", "Rigid", "Translated and rotated to the best fit, in its own size"),
    (
        "basis",
        "Same basis",
        "Not fitted: its rows are projected on the shown components of the open model. Both "
        "tables must have the same width",
    ),
)
MIDDLES = (
    ("own", "Own mean", "Subtract its own mean, as two models share no origin"),
    (
        "basis",
        "Shown mean",
        (
            "Subtract the mean of the shown positions, so that rows keep their place in the "
            "model's space"
        ),
    ),
)
COLORINGS = (
    (
        "hues",
        "Two hues",
        "The open model’s curve in orange, the other in blue, from light to dark along the values"
        " of the colour bar: matching positions are equally dark",
    ),
    ("grey", "Grey", "The open model’s curve keeps its colours, the other is grey"),
    (
        "matched",
        "Matched",
        "The other curve's points have the colours of the positions they match",
    ),
)
MIRROR_TIP = (
    "Allow a reflection where it fits better. The signs of principal components are arbitrary, so "
    "a curve and its mirror image are equivalent"
)
COPY_TIP = "Copy a script that computes this alignment with geometry and prints how well it fits"
READOUT_TIP = (
    "Disparity: the residual sum of squares after both are centred, scaled to unit size and "
    "optimally rotated (scipy.spatial.procrustes); 0 for identical shapes, at most 1. RMS: root "
    "mean square distance between matching positions as drawn, in the table’s units"
)
MIN_STRETCH = 10
"""Minimum number of positions of a curve."""
HIDDEN = "hidden while a training step is shown · "


class AlignedRow(Panel):
    """Shows ``session.alignment``, and requests another one."""

    alignmentRequested = Signal(object)
    """The requested :class:`CurveAlignment`; None for none."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.what = _drop_down("What to overlay on the shown curve", WHAT_TIP)
        self.first, self.last = _position("First position"), _position("Last position")
        self.step = _drop_down("Training step", "The step whose table is overlaid")
        self.how = _wide(Segmented(HOWS, "How"))
        self.mirror = QCheckBox("Allow reflection")
        self.mirror.setToolTip(wrapped(MIRROR_TIP))
        self.middle = _wide(Segmented(MIDDLES, "Mean"))
        self.coloring = _wide(Segmented(COLORINGS, "Colours of both curves"))
        self.copy = QToolButton()
        self.copy.setText("Copy as Python")
        self.copy.setProperty("class", "chip")
        self.copy.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.copy.setToolTip(wrapped(COPY_TIP))
        self.readout = label("", "small", selectable=True, wrap=True)
        self.readout.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.readout.setToolTip(wrapped(READOUT_TIP))
        self._lay_out()
        self._connect()
        self._fill()
        self._show_result()

    def _lay_out(self) -> None:
        controls = QWidget()
        row = FlowRow(controls)
        for widget in (
            label("Overlay", "muted"),
            self.what,
            self.first,
            self.last,
            self.step,
            self.how,
            self.mirror,
            self.middle,
            self.coloring,
        ):
            row.addWidget(widget)
        line = hbox((self.readout, 1), self.copy, spacing=GRID)
        vbox(controls, line, parent=self, spacing=GRID // 2)

    def _connect(self) -> None:
        self.what.activated.connect(self._on_what)
        self.first.valueChanged.connect(self._on_range)
        self.last.valueChanged.connect(self._on_range)
        self.step.activated.connect(lambda: self._change(what=OfStep(int(self.step.currentData()))))
        self.how.chosen.connect(lambda how: self._change(how=how))
        self.mirror.clicked.connect(lambda on: self._change(mirrored=on))
        self.middle.chosen.connect(lambda middle: self._change(middle=middle))
        self.coloring.chosen.connect(lambda coloring: self._change(coloring=coloring))
        self.copy.clicked.connect(self._copy)
        events = self.session.events
        for signal in (events.alignment, events.model, events.open_models, events.history):
            self.listen(signal, self._fill)
        for signal in (events.aligned, events.not_aligned, events.snapshot):
            self.listen_throttled(signal, self._show_result)

    # Changes of the session.

    def _fill(self) -> None:
        """Update the controls."""
        session, alignment = self.session, self.session.alignment
        self.setEnabled(session.model is not None)
        self._fill_what()
        self._fill_range()
        self._fill_steps()
        if alignment is not None:
            self.how.show_value(alignment.how)
            self.mirror.setChecked(alignment.mirrored)
            self.middle.show_value(alignment.taken_off)
            self.coloring.show_value(alignment.coloring)
        what = None if alignment is None else alignment.what
        how = "" if alignment is None else alignment.how
        self.first.setVisible(isinstance(what, OfRange))
        self.last.setVisible(isinstance(what, OfRange))
        self.step.setVisible(isinstance(what, OfStep))
        self.how.setVisible(alignment is not None)
        self.mirror.setVisible(how in ("turned", "scaled"))
        self.middle.setVisible(how == "basis")
        self.coloring.setVisible(alignment is not None)
        self.copy.setVisible(alignment is not None)
        self.readout.setVisible(alignment is not None)

    def _fill_what(self) -> None:
        alignment, history = self.session.alignment, self.session.history
        box = self.what
        box.clear()
        box.addItem(WHATS[NOTHING], NOTHING)
        for other in self.session.others:
            box.addItem(other.name, other.key)
        box.addItem(WHATS[RANGE], RANGE)
        box.addItem(WHATS[STEP], STEP)
        items = cast(QStandardItemModel, box.model())
        items.item(box.count() - 1).setEnabled(history is not None)
        why = "" if history is not None else "Open the Training panel first: it reads the steps"
        box.setItemData(box.count() - 1, wrapped(why), Qt.ItemDataRole.ToolTipRole)
        box.setCurrentIndex(max(box.findData(_kind(alignment)), 0))

    def _fill_range(self) -> None:
        model, alignment = self.session.model, self.session.alignment
        if model is None or alignment is None or not isinstance(alignment.what, OfRange):
            return
        for field, value in zip((self.first, self.last), alignment.what.positions, strict=True):
            with QSignalBlocker(field):
                field.setRange(0, model.n_positions - 1)
                field.setValue(value)

    def _fill_steps(self) -> None:
        history, alignment = self.session.history, self.session.alignment
        self.step.clear()
        for step in () if history is None else history.steps:
            assert history is not None
            self.step.addItem(f"{history.unit} {format_count(int(step))}", int(step))
        if alignment is not None and isinstance(alignment.what, OfStep):
            self.step.setCurrentIndex(self.step.findData(alignment.what.step))

    def _show_result(self) -> None:
        session, aligned = self.session, self.session.aligned
        self.copy.setEnabled(aligned is not None)
        if aligned is None:
            self.readout.setText(session.not_aligned)
        else:
            hidden = "" if session.snapshot is None else HIDDEN
            self.readout.setText(hidden + readout(aligned))

    # Requests of the user.

    def _on_what(self) -> None:
        kind = self.what.currentData()
        if kind == _kind(self.session.alignment):
            return
        if kind == NOTHING:
            self.alignmentRequested.emit(None)
        elif kind == RANGE:
            self._change(what=OfRange(self._others()), middle=None)
        elif kind == STEP:
            assert self.session.history is not None
            self._change(what=OfStep(int(self.session.history.steps[0])), middle=None)
        else:
            self._change(what=OfOther(kind), middle=None)

    def _others(self) -> tuple[int, int]:
        """Return initial positions: the longer range outside the shown one, or half of that."""
        first, last = self.session.positions
        model = self.session.model
        end = last if model is None else model.n_positions - 1
        before, after = (0, first - 1), (last + 1, end)
        longer = max(after, before, key=lambda stretch: stretch[1] - stretch[0])
        if longer[1] - longer[0] >= MIN_STRETCH:
            return longer
        return first + (last - first + 1) // 2, last

    def _on_range(self) -> None:
        first, last = sorted((self.first.value(), self.last.value()))
        self._change(what=OfRange((first, last)))

    def _change(self, **fields: Any) -> None:
        alignment = self.session.alignment
        if alignment is None:
            self.alignmentRequested.emit(CurveAlignment(**fields))
        elif (changed := replace(alignment, **fields)) != alignment:
            self.alignmentRequested.emit(changed)

    def _copy(self) -> None:
        aligned, model = self.session.aligned, self.session.model
        if aligned is None or model is None:
            return
        QGuiApplication.clipboard().setText(script(aligned, model, other_model(self.session)))
        self.session.status = "Copied as Python"


def _kind(alignment: CurveAlignment | None) -> str | int:
    """Return an alignment's entry in the drop-down list."""
    if alignment is None:
        return NOTHING
    if isinstance(alignment.what, OfOther):
        return alignment.what.key
    return RANGE if isinstance(alignment.what, OfRange) else STEP


def _drop_down(name: str, tip: str) -> DropDown:
    box = DropDown()
    box.setAccessibleName(name)
    box.setToolTip(wrapped(tip))
    box.setSizeAdjustPolicy(DropDown.SizeAdjustPolicy.AdjustToContents)
    return box


def _position(name: str) -> QSpinBox:
    field = QSpinBox()
    field.setAccessibleName(name)
    field.setToolTip(wrapped(f"{name} of the overlaid positions"))
    field.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    # No request for each typed digit.
    field.setKeyboardTracking(False)
    return field


def _wide(choice: Segmented) -> Segmented:
    # The options differ in length.
    choice.setMinimumWidth(choice.sizeHint().width() + 3 * GRID)
    return choice
