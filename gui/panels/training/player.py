"""Play, step and scrub through the snapshots of a training."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionSlider, QWidget

from gui.state.timeline import TrainingTimeline
from gui.style.theme import GRID, SMALL, Theme, format_count
from gui.widgets.boxes import hbox
from gui.widgets.buttons import Sign, SignButton, push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.number_slider import Slider
from gui.widgets.opening_row import FixedText
from gui.widgets.tooltips import wrapped

BASE_MS = 100
"""Time between two snapshots at speed 1."""
SPEEDS = (("¼×", 4.0), ("½×", 2.0), ("1×", 1.0), ("2×", 0.5), ("4×", 0.25))
READOUT = 160
"""Width of a step and its loss, in pixels."""
NOW_TIP = "Show the final model again (Esc)"
OPEN_TIP = "Show the open layer again (Esc)"
SCRUB_TIP = "Drag to see the model at a {thing}; ← and → step, Home and End go to the ends"


class Player(QWidget):
    """Controls of the snapshots of a training.

    The shown snapshot is the session's: this only requests another one.
    """

    snapshotRequested = Signal(object)
    """The requested snapshot; None for the model itself."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._timeline: TrainingTimeline | None = None
        self._snapshot: int | None = None
        self._state = ""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._advance)
        self.back = SignButton("back", "Previous step (←)")
        self.play = SignButton("play", "Play the training (Space)")
        self.on = SignButton("on", "Next step (→)")
        self.slider = Scrubber(Qt.Orientation.Horizontal)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setAccessibleName("Training step")
        self.slider.setToolTip(wrapped(SCRUB_TIP.format(thing="training step")))
        self.slider.setFixedHeight(22)
        self.first, self.last = label("", "small"), label("", "small")
        self.readout = FixedText(1, SMALL)
        self.readout.setMinimumWidth(READOUT)
        self.speed = DropDown()
        for text, factor in SPEEDS:
            self.speed.addItem(text, factor)
        self.speed.setCurrentIndex([factor for _, factor in SPEEDS].index(1.0))
        self.speed.setToolTip("Speed")
        self.speed.setAccessibleName("Speed")
        self.loop = QCheckBox("Loop")
        self.loop.setToolTip("Restart after the last step")
        self.now = push_button("Now", NOW_TIP)
        self._lay_out()
        self._connect()
        self.set_theme(theme)
        self.show_timeline(None)

    def _lay_out(self) -> None:
        row = hbox(
            self.back,
            self.play,
            self.on,
            self.first,
            (self.slider, 2),
            self.last,
            (self.readout, 1),
            self.speed,
            self.loop,
            self.now,
            parent=self,
            spacing=GRID // 2,
        )
        for part in (self.first, self.readout):
            row.insertSpacing(row.indexOf(part), GRID // 2)

    def _connect(self) -> None:
        self.play.clicked.connect(self.toggle)
        self.back.clicked.connect(lambda: self.step(-1))
        self.on.clicked.connect(lambda: self.step(1))
        self.now.clicked.connect(lambda: self._want(None))
        self.slider.valueChanged.connect(self.go_to)
        self.speed.currentIndexChanged.connect(self._on_speed_changed)

    # Display.

    def show_timeline(self, timeline: TrainingTimeline | None) -> None:
        """Set the timeline; stop without one."""
        self._timeline = timeline
        self.setEnabled(timeline is not None)
        if timeline is None:
            self.stop()
            self._show_ends("", "")
            return
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, timeline.n_snapshots - 1)
        history = timeline.history
        steps, unit = history.steps, history.unit
        thing = "training step" if unit == "step" else unit
        self.slider.setAccessibleName(thing.capitalize())
        self.slider.setToolTip(wrapped(SCRUB_TIP.format(thing=thing)))
        self.back.setToolTip(wrapped(f"Previous {unit} (←)"))
        self.on.setToolTip(wrapped(f"Next {unit} (→)"))
        self.now.setText("Now" if unit == "step" else "Open")
        self.now.setToolTip(NOW_TIP if unit == "step" else OPEN_TIP)
        self._show_ends(*(format_count(int(step)) for step in (steps[0], steps[-1])))
        self.show_snapshot(self._snapshot)

    def show_state(self, state: str) -> None:
        """Set how far a training has come, as a sentence; "" if it has ended long ago."""
        self._state = state
        self.show_snapshot(self._snapshot)

    def show_snapshot(self, snapshot: int | None) -> None:
        """Set the shown snapshot; None for the model itself, which stops playing."""
        self._snapshot = snapshot
        self.now.setEnabled(snapshot is not None)
        if snapshot is None:
            self.stop()
        if self._timeline is None:
            self.readout.set_text("")
            return
        history = self._timeline.history
        at = history.shown if snapshot is None else snapshot
        with QSignalBlocker(self.slider):
            self.slider.setValue(at)
        text = " · ".join(self._timeline.readout(at))
        if snapshot is None and history.unit == "step":
            text = self._state or "final model"
        self.readout.set_text(text)

    def set_theme(self, theme: Theme) -> None:
        self.readout.set_color(theme.text)
        for button in (self.back, self.play, self.on):
            button.set_theme(theme)

    def _show_ends(self, first: str, last: str) -> None:
        self.first.setText(first)
        self.last.setText(last)

    # Requests of the user.

    @property
    def playing(self) -> bool:
        """Whether it is playing."""
        return self._timer.isActive()

    def toggle(self) -> None:
        """Play, from the beginning if at the end; or pause."""
        if self.playing:
            self.stop()
            return
        if self._timeline is None:
            return
        if self._at() >= self._timeline.n_snapshots - 1:
            self._want(0)
        self._timer.start(self._interval())
        self._show_sign("pause")

    def stop(self) -> None:
        """Pause."""
        self._timer.stop()
        self._show_sign("play")

    def step(self, steps: int) -> None:
        """Step by a number of snapshots; stop playing."""
        self.stop()
        self.go_to(self._at() + steps)

    def go_to(self, snapshot: int) -> None:
        """Go to a snapshot, within the range."""
        if self._timeline is not None:
            self._want(min(max(snapshot, 0), self._timeline.n_snapshots - 1))

    def _at(self) -> int:
        return int(self.slider.value())

    def _want(self, snapshot: int | None) -> None:
        if snapshot != self._snapshot:
            self.snapshotRequested.emit(snapshot)

    def _advance(self) -> None:
        assert self._timeline is not None
        following = self._at() + 1
        if following < self._timeline.n_snapshots:
            self._want(following)
        elif self.loop.isChecked():
            self._want(0)
        else:
            self.stop()

    def _interval(self) -> int:
        return round(BASE_MS * float(self.speed.currentData()))

    def _on_speed_changed(self) -> None:
        if self.playing:
            self._timer.start(self._interval())

    def _show_sign(self, sign: Sign) -> None:
        tip = "Play the training (Space)" if sign == "play" else "Pause (Space)"
        self.play.show_sign(sign, tip)


class Scrubber(Slider):
    """A slider that jumps to the mouse when pressed."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style, parts = self.style(), QStyle.SubControl
        kind = QStyle.ComplexControl.CC_Slider
        groove = style.subControlRect(kind, option, parts.SC_SliderGroove, self)
        handle = style.subControlRect(kind, option, parts.SC_SliderHandle, self)
        if event.button() is Qt.MouseButton.LeftButton and not handle.contains(
            event.position().toPoint()
        ):
            at = round(event.position().x()) - groove.left() - handle.width() // 2
            room = groove.width() - handle.width()
            self.setValue(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), at, room))
        super().mousePressEvent(event)
