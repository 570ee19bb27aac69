"""The components on the axes, and their share of the variance."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from geometry.pca.pca import PositionPCA
from gui.style.theme import Theme, format_percent
from gui.widgets.boxes import hbox, vbox
from gui.widgets.drop_down import DropDown
from gui.widgets.label import label
from gui.widgets.readout import Readout
from gui.widgets.tooltips import wrapped
from gui.widgets.variance_bars import N_BARS, VarianceBars

Axes = tuple[int, int, int]


def put_on_axis(components: Axes, axis: int, component: int) -> Axes:
    """Put a component on an axis (0–2); if it was on another axis, the two are swapped.

    No component is on two axes.
    """
    changed = list(components)
    if component in changed:
        changed[changed.index(component)] = changed[axis]
    changed[axis] = component
    return (changed[0], changed[1], changed[2])


class ComponentChooser(QWidget):
    """Three axes to choose components for, the bars of their variance, and their total.

    A click on the bar of a component that is not shown puts it on an axis: z first, at the next
    such click y, then x, then z again, so that three clicks choose three components. A click on
    a shown component moves it to the next axis (x, y, z, x), and swaps it with the one there.
    """

    componentsRequested = Signal(tuple)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._components: Axes = (1, 2, 3)
        self._next_axis = 2
        self._complete: list[float] = []
        self.combos = tuple(self._make_combo(axis, name) for axis, name in enumerate("xyz"))
        self.bars = VarianceBars(theme)
        self.bars.setToolTip("Share of the range's variance along each component, in %")
        self.bars.componentClicked.connect(self._on_bar_clicked)
        self.foot = Readout(theme)
        self.foot.setToolTip(
            wrapped(
                "Share of the range's variance in the shown components, and how they were fitted: "
                "quickly while a handle is dragged, exactly afterwards"
            )
        )
        row = hbox(spacing=4)
        for combo, name in zip(self.combos, "xyz", strict=True):
            title = label(name, "muted")
            title.setToolTip(wrapped(_axis_tip(name)))
            row.addWidget(title)
            row.addWidget(combo, 1)
        # Spare height of a tall dock is below, not between.
        vbox(row, (self.bars, 100), self.foot, 1, parent=self, spacing=4)

    def set_theme(self, theme: Theme) -> None:
        self.bars.set_theme(theme)
        self.foot.set_theme(theme)

    def forget(self) -> None:
        """Discard the bars of the previous model."""
        self._complete = []

    def show_components(self, components: Axes, pca: PositionPCA | None) -> None:
        """Show the components on the axes and the variances of a fit, if any."""
        if components != self._components:
            self._components = components
            for combo, component in zip(self.combos, components, strict=True):
                combo.setCurrentIndex(component - 1)
        ratios = [] if pca is None else pca.explained_variance_ratio[:N_BARS].tolist()
        if pca is None or pca.exact:
            self._complete = ratios
        # A fit during a drag has only the shown components; the bars of the others keep the values
        # of the last exact fit, so that they do not flicker.
        self.bars.set_shares(ratios + self._complete[len(ratios) :], components, known=len(ratios))
        if pca is None:
            self.foot.set_text("")
            return
        share = sum(ratios[c - 1] for c in components if c <= len(ratios))
        names = " + ".join(str(component) for component in components)
        self.foot.set_text(f"PC {names} = {format_percent(share)}")

    def _make_combo(self, axis: int, name: str) -> DropDown:
        combo = DropDown()
        combo.addItems([f"PC {component}" for component in range(1, N_BARS + 1)])
        combo.setCurrentIndex(axis)
        combo.setMinimumContentsLength(4)
        combo.setMaxVisibleItems(N_BARS)
        combo.setAccessibleName(f"Component on {name}")
        combo.setToolTip(wrapped(_axis_tip(name)))
        # `activated` is not emitted by programmatic changes.
        combo.activated.connect(lambda index: self._request(axis, index + 1))
        return combo

    def _on_bar_clicked(self, component: int) -> None:
        axis = self.bars.axis_for(component)
        if component not in self._components:
            self._next_axis = (self._next_axis - 1) % 3
            self.bars.set_next_axis(self._next_axis)
        self._request(axis, component)

    def _request(self, axis: int, component: int) -> None:
        requested = put_on_axis(self._components, axis, component)
        # The axes show the session's components until these have changed.
        self.combos[axis].setCurrentIndex(self._components[axis] - 1)
        if requested != self._components:
            self.componentsRequested.emit(requested)


def _axis_tip(name: str) -> str:
    return (
        f"The principal component on the {name} axis; choosing one that is already shown "
        "swaps the two"
    )
