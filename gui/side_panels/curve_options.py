"""Sizes and opacity of the curve, in a popup beside the view panel."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from gui.state.session import Session
from gui.state.values import LINE_WIDTHS, OPACITIES, POINT_SIZES, CurveLook
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label
from gui.widgets.real_slider import NAME_WIDTH, RealSlider, Scale
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

WIDTH = 300
_SIZES = (
    ("line_width", "Line width", Scale(*LINE_WIDTHS, 1, power=2.0), "Of the line, in pixels"),
    ("point_size", "Point size", Scale(*POINT_SIZES, 1, power=2.0), "Of the points, in pixels"),
    ("opacity", "Opacity", Scale(*OPACITIES, 2), "Of line and points; 1 is solid"),
)
DEFAULTS = CurveLook()


class CurveOptions(QFrame):
    """Line width, point size, opacity, and the orientation after a refit.

    It closes with Esc, or a click anywhere else.
    """

    lookRequested = Signal(str, object)
    """The name of a field of the session, and its value."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("role", "palette")
        self.setAccessibleName("Curve")
        self.sliders = {
            field: RealSlider(name, scale, tip, theme) for field, name, scale, tip in _SIZES
        }
        self.after_drag = Segmented(
            (
                ("ease", "Turn back", "Rotate the curve back, so that the axes are the components"),
                (
                    "stay",
                    "Keep",
                    "Leave the curve's orientation unchanged; the axis arrows turn with it",
                ),
            ),
            "After refitting, when a handle of the range slider is released",
        )
        self.reset = push_button("Reset", "Restore the default line and points")
        self.reset.setAccessibleName("Reset line width, point size, opacity and parts")
        self._title = title = label("After refit", "muted")
        title.setToolTip(wrapped(self.after_drag.accessibleName()))
        vbox(
            *self.sliders.values(),
            hbox(1, self.reset),
            hbox(title, (self.after_drag, 1), spacing=GRID // 2),
            parent=self,
            spacing=GRID // 2,
            margins=(GRID, GRID, GRID, GRID),
        )
        for field, slider in self.sliders.items():
            slider.changed.connect(lambda value, field=field: self.lookRequested.emit(field, value))
        self.reset.clicked.connect(self._reset)
        self._fit(theme)

    def open_beside(self, button: QWidget) -> None:
        """Show it to the right of a button, its lower edge at the button's, within the screen."""
        self.adjustSize()
        corner = button.mapToGlobal(QPoint(button.width() + GRID, button.height() - self.height()))
        screen = button.screen().availableGeometry()
        corner.setX(min(corner.x(), screen.right() - self.width()))
        corner.setY(max(corner.y(), screen.top()))
        self.move(corner)
        self.show()
        self.sliders["line_width"].slider.setFocus()

    def show_session(self, session: Session) -> None:
        """Show the values of a session."""
        for field, slider in self.sliders.items():
            slider.show_value(getattr(session, field))
        self.after_drag.show_value("stay" if session.keep_turned else "ease")
        now = CurveLook(
            session.line_width, session.point_size, session.curve_parts, session.opacity
        )
        self.reset.setEnabled(now != DEFAULTS)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        for slider in self.sliders.values():
            slider.set_theme(theme)
        self._fit(theme)

    def _fit(self, theme: Theme) -> None:
        """Set the widths for the size of text."""
        self._title.setFixedWidth(theme.px(NAME_WIDTH))
        self.setFixedWidth(theme.px(WIDTH))

    def _reset(self) -> None:
        for field in self.sliders:
            self.lookRequested.emit(field, getattr(DEFAULTS, field))
        self.lookRequested.emit("curve_parts", DEFAULTS.curve_parts)
