"""The widgets of a panel's controls, as defined in :mod:`gui.panels.kit.choices`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from geometry.models.model import PositionalModel
from gui.panels.kit.choices import (
    Choice,
    Control,
    Layer,
    Matrices,
    Number,
    OtherModel,
    Play,
    Saved,
    Shared,
    Toggle,
)
from gui.panels.kit.matrix_chips import MatrixChips
from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import AnyView
from gui.style.theme import Theme
from gui.widgets.buttons import SignButton, push_button
from gui.widgets.drop_down import DropDown
from gui.widgets.number_slider import NumberSlider
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

Change = Callable[[str, object], None]
"""Called with a choice's field and its new value."""


class ControlRow:
    """The widgets of one panel's controls.

    Parameters
    ----------
    spec
        The panel.
    change
        Called when the user changes a control.
    """

    def __init__(self, spec: AnyPanel, theme: Theme, change: Change) -> None:
        self._spec, self._change = spec, change
        self._model: PositionalModel | None = None
        shown = [control for control in spec.controls if _has_widget(control)]
        self.widgets = {control.field: self._make(control, theme) for control in shown}
        self._controls = {control.field: control for control in shown}

    def show(self, choices: Any) -> None:
        """Show choices without emitting a signal."""
        for name, widget in self.widgets.items():
            value, control = getattr(choices, name), self._controls[name]
            with QSignalBlocker(widget):
                if isinstance(widget, QCheckBox):
                    widget.setChecked(value)
                elif isinstance(control, OtherModel) or (
                    isinstance(control, Number) and control.shown is not None
                ):
                    pass  # its value depends on the result
                elif isinstance(widget, NumberSlider):
                    widget.show_value(value)
                elif isinstance(widget, Segmented):
                    widget.show_value(str(value))
                elif isinstance(widget, DropDown):
                    widget.setCurrentIndex(widget.findData(value))
                elif isinstance(widget, MatrixChips):
                    widget.show_subjects(value)
                elif isinstance(widget, QPushButton):
                    widget.setEnabled(value != getattr(self._spec.defaults, name))
                elif isinstance(widget, SignButton) and isinstance(control, Play):
                    widget.show_sign(
                        *(("pause", control.stop_tip) if value else ("play", control.tip))
                    )
            if isinstance(control, Layer) and control.enabled is not None:
                widget.setEnabled(control.enabled(choices))
            if control.when is not None:
                widget.setVisible(control.when(choices))

    def follow_model(self, model: PositionalModel | None) -> None:
        """Offer the layers and switches of another model."""
        if model is None or model is self._model:
            return
        self._model = model
        for name, widget in self.widgets.items():
            control = self._controls[name]
            if isinstance(control, Layer) and isinstance(widget, DropDown):
                _offer_layers(widget, control, max(model.n_layers or 1, 1))
            elif isinstance(widget, MatrixChips):
                widget.set_model(model.n_layers, model.missing)
            elif isinstance(control, Toggle) and control.offered is not None:
                widget.setVisible(control.offered(model))
            elif isinstance(control, Toggle) and control.unavailable is not None:
                why = control.unavailable(model)
                widget.setEnabled(not why)
                widget.setToolTip(
                    wrapped(f"{control.tip} (not available: {why})" if why else control.tip)
                )

    def follow_view(self, view: AnyView) -> None:
        """Set the bounds of numbers, and enable the controls that have an effect."""
        result = view.result
        for name, widget in self.widgets.items():
            control = self._controls[name]
            if isinstance(control, Number) and isinstance(widget, NumberSlider):
                if control.stops is None:
                    widget.set_bounds(
                        control.minimum, max(control.maximum(result), control.minimum)
                    )
                else:
                    widget.set_stops(control.stops(result))
                value = getattr(view.choices, name)
                widget.show_value(value if control.shown is None else control.shown(value, result))
            elif isinstance(control, OtherModel) and isinstance(widget, DropDown):
                _offer_models(widget, control, view)
            if control.works is not None:
                widget.setEnabled(control.works(view))

    @property
    def number(self) -> NumberSlider | None:
        """The number that is changed by keys, if there is one."""
        for name, widget in self.widgets.items():
            control = self._controls[name]
            if isinstance(control, Number) and isinstance(widget, NumberSlider) and control.keys:
                return widget
        return None

    @property
    def play(self) -> SignButton | None:
        """The play button, if there is one."""
        buttons = (widget for widget in self.widgets.values() if isinstance(widget, SignButton))
        return next(buttons, None)

    def keys(self) -> dict[int, Callable[[], None]]:
        """Return actions by key, for any focus in the panel."""
        acts: dict[int, Callable[[], None]] = {}
        number, play = self.number, self.play
        if number is not None:
            count = number.slider.maximum()
            for key, step in (
                (Qt.Key.Key_Left, -1),
                (Qt.Key.Key_Right, 1),
                (Qt.Key.Key_Home, -count),
                (Qt.Key.Key_End, count),
            ):
                acts[key] = partial(number.step, step)
        if play is not None:
            acts[Qt.Key.Key_Space] = play.click
            if play.sign == "pause":
                acts[Qt.Key.Key_Escape] = play.click
        return acts

    def offer(self, field: str, value: object, offered: bool) -> None:
        """Show or hide a control, or one option of it unless ``value`` is None."""
        widget = self.widgets[field]
        if value is not None:
            assert isinstance(widget, Segmented)
            widget = widget.buttons[str(value)]
        widget.setVisible(offered)

    def set_theme(self, theme: Theme) -> None:
        for widget in self.widgets.values():
            if isinstance(widget, SignButton):
                widget.set_theme(theme)

    def _make(self, control: Control, theme: Theme) -> QWidget:
        def change(value: object) -> None:
            self._change(control.field, value)

        if isinstance(control, Toggle):
            box = QCheckBox(control.text)
            box.setToolTip(wrapped(control.tip))
            box.toggled.connect(change)
            if control.offered is not None:
                box.hide()  # until a model offers it
            return box
        if isinstance(control, Number):
            default = getattr(self._spec.defaults, control.field)
            first = default if isinstance(default, int) else control.minimum
            # The default is the bound until there is a result.
            number = NumberSlider(control.text, control.minimum, first, first, control.tip)
            number.slider.setVisible(control.slider)
            chosen = control.chosen
            number.changed.connect(change if chosen is None else lambda n: change(chosen(n)))
            return number
        if isinstance(control, Matrices):
            chips = MatrixChips()
            chips.changed.connect(change)
            return chips
        if isinstance(control, Choice) and not control.listed:
            values = {str(option.value): option.value for option in control.options}
            options = [(str(option.value), option.text, option.tip) for option in control.options]
            segmented = Segmented(options, control.label)
            segmented.chosen.connect(lambda value: change(values[value]))
            return segmented
        if isinstance(control, Saved):
            button = push_button(control.reset, control.tip)
            button.clicked.connect(lambda: change(getattr(self._spec.defaults, control.field)))
            return button
        if isinstance(control, Play):
            sign = SignButton("play", control.tip)
            sign.set_theme(theme)
            sign.clicked.connect(lambda: change(sign.sign == "play"))
            return sign
        menu = DropDown()
        menu.setToolTip(wrapped(control.tip))
        if isinstance(control, Choice):
            menu.setAccessibleName(control.label)
            for option in control.options:
                menu.addItem(option.text, option.value)
        elif isinstance(control, Layer):
            menu.setAccessibleName("Layer")
            _offer_layers(menu, control, 1)
        elif isinstance(control, OtherModel):
            menu.setAccessibleName(control.label)
            menu.hide()  # until there are several
        else:
            raise TypeError(f"there is no widget for {type(control).__name__}")
        menu.currentIndexChanged.connect(lambda: change(menu.currentData()))
        return menu


def _has_widget(control: Control) -> bool:
    return bool(control.reset) if isinstance(control, Saved) else not isinstance(control, Shared)


def _offer_layers(menu: DropDown, control: Layer, count: int) -> None:
    with QSignalBlocker(menu):
        before = menu.currentData()
        menu.clear()
        for layer in range(count):
            menu.addItem(f"Layer {layer}", layer)
            if control.note is not None:
                menu.setItemData(layer, wrapped(control.note(layer)), Qt.ItemDataRole.ToolTipRole)
        menu.setCurrentIndex(max(menu.findData(before), 0))


def _offer_models(menu: DropDown, control: OtherModel, view: AnyView) -> None:
    others = [shown for shown in view.scope.grid if not shown.current]
    with QSignalBlocker(menu):
        menu.clear()
        for other in others:
            menu.addItem(f"{control.label}: {other.name}", other.key)
        menu.setCurrentIndex(menu.findData(control.shown(view)))
    menu.setVisible(len(others) > 1)
