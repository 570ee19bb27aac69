"""The double-handled slider of positions: superqt's, with a keyboard and without jumps."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget
from superqt.sliders import QRangeSlider

from gui.style.theme import Theme

_HEIGHT = 22
_STILL = 2
"""A press is no drag before the mouse has moved this many pixels."""


class RangeSlider(QRangeSlider):
    """A slider for an inclusive range of integers.

    Handles drag one end, the bar between them drags both. Left and Right move the handle used
    last by one (Up and Down choose the last or the first handle), with Shift the whole range;
    Page Up and Page Down make larger steps; Home and End go to the limits; Esc takes back a drag.

    ``pressed`` comes before and ``released`` after all ``rangeChangedByUser`` of a drag. Steps by
    keyboard or wheel come alone: each is a complete change.
    """

    pressed = Signal()
    rangeChangedByUser = Signal(int, int)
    released = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setFixedHeight(_HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._active = 0
        self._press_at: QPoint | None = None
        self._before: list[int] = []
        self.valuesChanged.connect(self._on_values_changed)
        self.sliderReleased.connect(self.released)

    def show_range(self, first: int, last: int) -> None:
        """Move the handles without telling anybody."""
        blocked = self.blockSignals(True)
        self.setValue([first, last])
        self.blockSignals(blocked)

    def set_limits(self, first: int, last: int) -> None:
        """Change the limits without telling anybody."""
        blocked = self.blockSignals(True)
        self.setRange(first, last)
        self.blockSignals(blocked)

    def handle_rect(self, handle: int) -> QRect:
        """Return where a handle (0 the first, 1 the last) is drawn, in this widget's pixels."""
        return QRect(self._handleRect(handle))

    def set_theme(self, theme: Theme) -> None:
        """Take the theme's greys; the accent is for selections, which a range is not."""
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
        """Take hold of a handle or of the bar; holding alone changes nothing."""
        at = event.position().toPoint()
        held = any(self._handleRect(index).contains(at) for index in (0, 1))
        before = list(self.value())
        blocked = self.blockSignals(True)
        super().mousePressEvent(event)
        if self.isSliderDown() and held:
            # superqt centres the handle under the mouse, which changes the value by some
            # positions a pixel; taking hold of a handle must change nothing.
            self.setValue(before)
            self._setClickOffset(at)
        self.blockSignals(blocked)
        if not self.isSliderDown():
            return
        self._active = self._pressedIndex
        self._before, self._press_at = before, at
        self.pressed.emit()
        if list(self.value()) != before:
            self._on_values_changed(self.value())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag what is held."""
        if self._press_at is not None:
            if abs(event.position().x() - self._press_at.x()) < _STILL:
                event.accept()
                return
            self._press_at = None
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        self._press_at = None
        super().mouseReleaseEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Move the range, but only when the slider has the focus."""
        # A wheel that only passes over, on its way to scroll something, must not change the range.
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """Keep Esc for the drag that it takes back."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and self.isSliderDown()
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step the end used last, or with Shift the whole range."""
        key = event.key()
        if key == Qt.Key.Key_Escape and self.isSliderDown():
            self._take_back()
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

    def _take_back(self) -> None:
        self.setValue(self._before)
        self._pressedControl = self.style().SubControl.SC_None
        self.setSliderDown(False)

    def _offsetAllPositions(self, offset: float, ref: list[int] | None = None) -> None:
        # Rounding each end by itself would let the number of positions flicker by one.
        super()._offsetAllPositions(round(offset), ref)

    def _on_values_changed(self, values: tuple[int, int]) -> None:
        self.rangeChangedByUser.emit(int(values[0]), int(values[1]))
