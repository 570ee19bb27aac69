"""The double-handled slider of positions: superqt's, with keyboard control and without jumps."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from superqt.sliders import QRangeSlider

from gui.style.theme import Theme

_HEIGHT = 22
_STILL = 2
"""Minimum movement of a drag in pixels."""


class RangeSlider(QRangeSlider):
    """A slider for an inclusive range of integers.

    Handles drag one end, the bar between them drags both. Left and Right move the last-used handle
    by one (Up and Down choose the last or the first handle), with Shift the whole range; Page Up
    and Page Down make larger steps; Home and End go to the limits; Esc cancels a drag.

    ``pressed`` is emitted before and ``released`` after all ``rangeChangedByUser`` of a drag, but
    not for steps by keyboard or wheel.
    """

    pressed = Signal()
    rangeChangedByUser = Signal(int, int)
    released = Signal()

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setFixedHeight(_HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._active = 0
        self._press_at: QPoint | None = None
        self._before: list[int] = []
        self.valuesChanged.connect(self._on_values_changed)
        self.sliderReleased.connect(self.released)

    def show_range(self, first: int, last: int) -> None:
        """Move the handles without a signal."""
        with QSignalBlocker(self):
            self.setValue([first, last])

    def set_limits(self, first: int, last: int) -> None:
        """Change the limits without a signal."""
        with QSignalBlocker(self):
            self.setRange(first, last)

    def handle_rect(self, handle: int) -> QRect:
        """Return the rectangle of a handle (0 the first, 1 the last), in this widget's pixels."""
        return QRect(self._handleRect(handle))

    def set_theme(self, theme: Theme) -> None:
        """Set the theme's greys; the accent is for selections only."""
        self.setStyleSheet(
            f"""
QSlider::groove:horizontal {{ height: 4px; border-radius: 2px; background: {theme.line}; }}
QSlider::handle:horizontal {{
    width: 10px; height: 16px; margin: -7px 0; border-radius: 5px;
    background: {theme.field}; border: 1px solid {theme.muted};
}}
QSlider::handle:horizontal:hover {{ border-color: {theme.text}; background: {theme.line}; }}
QSlider::handle:horizontal:focus {{ border-color: {theme.text}; background: {theme.faint}; }}
QSlider::handle:horizontal:disabled {{ border-color: {theme.line}; }}
"""
        )
        self._style.brush_active = self._style.brush_inactive = theme.muted
        self._style.brush_disabled = theme.line

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        held = any(self._handleRect(index).contains(at) for index in (0, 1))
        before = list(self.value())
        with QSignalBlocker(self):
            super().mousePressEvent(event)
            if self.isSliderDown() and held:
                # superqt centres the handle under the mouse, which can change the value by several
                # positions; a press must not.
                self.setValue(before)
                self._setClickOffset(at)
        if not self.isSliderDown():
            return
        self._active = self._pressedIndex
        self._before, self._press_at = before, at
        self.pressed.emit()
        if list(self.value()) != before:
            self._on_values_changed(self.value())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press_at is not None:
            if abs(event.position().x() - self._press_at.x()) < _STILL:
                event.accept()
                return
            self._press_at = None
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press_at = None
        super().mouseReleaseEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        # A wheel that scrolls past must not change the range.
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """Keep Esc for cancelling a drag."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and self.isSliderDown()
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Escape and self.isSliderDown():
            self._cancel_drag()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._active = 1 if key == Qt.Key.Key_Up else 0
        elif (step := self._step_of(key)) and not self.isSliderDown():
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._offsetAllPositions(step)
            else:
                self.setSliderPosition(self._position[self._active] + step, self._active)
        else:
            event.ignore()

    def _step_of(self, key: int) -> int:
        span = int(self.maximum() - self.minimum())
        page = max(1, span // 20)
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_PageDown: -page,
            Qt.Key.Key_PageUp: page,
            Qt.Key.Key_Home: -span,
            Qt.Key.Key_End: span,
        }
        return steps.get(Qt.Key(key), 0)

    def _cancel_drag(self) -> None:
        self.setValue(self._before)
        self._pressedControl = self.style().SubControl.SC_None
        self.setSliderDown(False)

    def _offsetAllPositions(self, offset: float, ref: list[int] | None = None) -> None:
        # Rounding both ends separately would change the number of positions.
        super()._offsetAllPositions(round(offset), ref)

    def _on_values_changed(self, values: tuple[int, int]) -> None:
        self.rangeChangedByUser.emit(int(values[0]), int(values[1]))
