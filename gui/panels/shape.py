"""The shape panel: line, circle, helix, or a helix that drifts, and which of them it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QScrollArea, QWidget

from gui.panels import shape_text
from gui.panels.figure_text import shape_scope, shape_title
from gui.panels.shape_beside import ShapeBeside
from gui.panels.shape_guide import shape_guide
from gui.panels.shape_numbers import NAMES, ShapeNumbers
from gui.panels.shape_question import Shape, ShapeOf
from gui.services.overlay_curves import said_at, span_with, top_of
from gui.state.session import Session
from gui.style.theme import GRID, Theme
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.plots.position_curves import PositionCurves

LEAST_PLOT = 200
"""A plot less wide than this, in pixels, is left out."""
SCROLL_BAR = 12
TURNING_TIP = (
    "Plot the angle by which the shown positions turn at each: between the step to it and the step"
    " from it"
)
TITLES = {"distance": "distance (units of P)", "turning": "turning angle (°)"}
VIEW_TIP = "Draw the chosen curve as a thin line among the positions, its axis dashed"


class ShapePanel(ShapeBeside):
    """How well simple curves describe the shown positions, and how far each is from one of them."""

    slot = "shape"
    formula = "pᵢ ≈ m + r(cos ωi · u + sin ωi · v) + c·i·w"
    meaning = "the best simple curve"
    explanation = (
        "Line, circle, helix and a helix whose radius drifts are fitted to the shown positions in"
        " the three shown components. It is a helix if the better of the two has R² ≥ 0.8, is above"
        " line and circle by ≥ 0.1 and makes ≥ 1 turn, and BIC says which of them; else it is the"
        " line or the circle if one has R² ≥ 0.8, and otherwise none of these."
    )
    empty = "Open a model to see which simple curve its positions follow."
    instead = "Norms and spectra need no curve."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.shown: ShapeNumbers
        self.plot: PositionCurves
        self.plotted = Segmented(
            (
                ("distance", "Distance", "Plot how far each position is from the chosen curve"),
                ("turning", "Turning", TURNING_TIP),
            ),
            "Plotted",
        )
        self.plotted.chosen.connect(lambda _: self._draw())
        self.header.add(self.plotted)
        self.in_view = QCheckBox("In the view")
        self.in_view.setChecked(True)
        self.in_view.setToolTip(wrapped(VIEW_TIP))
        self.in_view.toggled.connect(self._show_in_view)
        self.header.add(self.in_view)
        events = session.events
        # A fit takes up to a second: it waits for the end of a drag.
        for signal in (events.positions, events.dragging, events.components):
            self.listen(signal, self._ask_when_still)
        self.listen(events.model, lambda: self._pick(""))
        for signal in (events.hover, events.tokens):
            self.listen(signal, self._on_hover_changed)
        self.listen(events.selection, self._on_selection_changed)

    def question(self) -> ShapeOf:
        """Ask for the shown range in the shown components."""
        return self.question_of(self.session)

    def configure(self, **options: Any) -> None:
        """Show a ``curve``, by its name; whether it is ``in_view``; what is ``plotted``."""
        self.plotted.show_value(options.pop("plotted", self.plotted.value()))
        self.in_view.setChecked(options.pop("in_view", self.in_view.isChecked()))
        self._pick(options.pop("curve", self.picked))
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        plotted, in_view = self.plotted.value(), self.in_view.isChecked()
        return {"curve": self.picked, "in_view": in_view, "plotted": plotted}

    # What it shows.

    def build(self) -> QWidget:
        """Make the table, and the plot beside it."""
        from gui.plots.position_curves import PositionCurves
        from gui.plots.position_gestures import PositionGestures

        self.shown = ShapeNumbers()
        self.shown.chosen.connect(self._pick)
        self._area = QScrollArea()
        self._area.setProperty("ring", True)
        self._area.setAccessibleName("The numbers of the curves")
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(self.shown)
        self.plot = PositionCurves(self.theme, "position (tokens)", TITLES["distance"])
        self.plot.setAccessibleName("What is plotted of each position")
        self.plot.hovered.connect(self._on_plot_hovered)
        PositionGestures(self.plot, self.session, self.selectionRequested.emit)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2 * GRID)
        row.addWidget(self._area)
        row.addWidget(self.plot, 1)
        self._fit()
        return content

    def show_result(self, result: Shape) -> None:
        """Fill the table, and draw the distances from the chosen curve."""
        self.shown.show_shape(result)
        self._draw()

    def _draw(self) -> None:
        result: Shape = self.result
        if result is None:
            return
        from gui.plots.spec import Curve

        (first, last), name = result.positions, self.chosen(result)
        x, y, level = self._plotted(result, name)
        others = self.overlay_lines(self._what(result))
        self.plot.y_axis.set_title(TITLES[self._what(result)], self.theme)
        self.plot.set_curves(
            [
                Curve(x, y, self.theme.text),
                Curve(x, np.full(len(x), level), self.theme.muted, "dashed", silent=True),
                *(Curve(o.x, o.y, o.color, silent=True, name=o.name) for o in others),
            ],
            span_with(first - 0.5, last + 0.5, others),
            (0.0, 1.05 * top_of(y, others) or 1.0),
        )
        self.shown.show_chosen(name, self.theme)
        self._on_selection_changed()
        self._on_hover_changed()
        self._show_in_view()
        self.show_caption()
        self.show_overlay_legend()

    def redraw(self) -> None:
        """Draw the curves anew."""
        self._draw()

    def _what(self, result: Shape) -> str:
        """Return what is plotted: of too few positions there are no angles."""
        return "distance" if result.rough is None else self.plotted.value()

    def _plotted(self, result: Shape, name: str) -> tuple[np.ndarray, np.ndarray, float]:
        """Return positions, what is plotted of each, and its RMS or median."""
        first, last = result.positions
        if self._what(result) == "turning" and result.rough is not None:
            # Beside a step of no length there is no angle, and the curve stays where it is.
            angles = np.nan_to_num(result.rough.turning_angles)
            return np.arange(first + 1, last), angles, result.rough.turning_angle
        return np.arange(first, last + 1), result.distances(name), result.rms(name)

    def _show_in_view(self) -> None:
        """Draw the chosen curve among the positions, or not."""
        result: Shape = self.result
        wanted = result is not None and self.in_view.isChecked()
        self.show_guide(shape_guide(result, self.chosen(result)) if wanted else None)

    # What the user wants.

    def _pick(self, name: str) -> None:
        if name and name not in NAMES:
            raise ValueError(f"expected one of {tuple(NAMES)}, got {name!r}")
        self.picked = name
        if self.content is not None:
            self._draw()

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    # Brushing.

    def _on_plot_hovered(self, item: int | None) -> None:
        self.hoverRequested.emit(None if item is None else self.plot.position_of(item))

    def _on_hover_changed(self) -> None:
        result: Shape = self.result
        if result is None:
            return
        position, plotted = self.session.hover, self.plot.positions()
        if position is None or plotted is None or not plotted[0] <= position <= plotted[1]:
            self.plot.set_hover(None)
            return
        token = self.session.token_at(position)
        if self._what(result) == "turning":
            text = shape_text.turned(result, position, token)
        else:
            text = shape_text.described(result, self.chosen(result), position, token)
        text = " · ".join([text, *said_at(position, self.overlay_lines(self._what(result)))])
        self.plot.set_hover((0, position - plotted[0]), text)

    def _on_selection_changed(self) -> None:
        if self.result is not None:
            self.plot.set_selected(self.session.selection)

    # How it looks.

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what there is no room for."""
        super().resizeEvent(event)
        if self.content is not None:
            self._fit()

    def _fit(self) -> None:
        room = self.width() - 2 * GRID
        needed = self.shown.fit(room - SCROLL_BAR) + SCROLL_BAR
        beside = room - needed - 2 * GRID >= LEAST_PLOT
        self.plot.setVisible(beside)
        self._area.setMaximumWidth(needed if beside else room)
        self._area.setMinimumWidth(min(needed, room))

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.plot.set_theme(theme)
            self._draw()

    # What it says, and what can be taken away.

    def caption(self, result: Shape) -> str:
        """Name the scope, what it is, and how near the shown curve comes."""
        return shape_text.caption(result, self.chosen(result), self._scope(result))

    def figure(self, result: Shape) -> Callable[[], Figure]:
        """Draw each component over position, with the shown curve and the distances from it."""
        name = self.chosen(result)
        title, detail = shape_title(result, name), self._scope(result)
        others = self.printed_lines("distance")
        called = self.session.model.name if self.session.model is not None else ""

        def draw() -> Figure:
            from gui.panels.shape_figure import shape_figure

            return shape_figure(result, title, detail, name=name, others=others, called=called)

        return draw

    def numbers(self, result: Shape) -> Mapping[str, np.ndarray]:
        """Return a line for each curve, the distances from each by position, and the roughness."""
        return self.with_others(shape_text.columns(result))

    def python(self) -> str:
        """Return a script that fits the curves and prints them."""
        assert self.session.model is not None
        return self.with_other_scripts(
            shape_text.script(self.session.model, self.answered, self.chosen(self.result))
        )

    def _scope(self, result: Shape) -> str:
        assert self.session.model is not None
        return shape_scope(self.session.model, result)
