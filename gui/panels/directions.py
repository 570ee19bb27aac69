"""The directions panel: P's strongest singular vectors, over position and over embedding index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QWidget

from geometry.checkpoints.stores import RegionStore
from geometry.measures.overlaps import LARGE
from geometry.models.model import PositionalModel
from gui.panels.directions_question import TOP, DirectionsOf, TopDirections
from gui.panels.directions_text import (
    RANDOM,
    columns,
    described_index,
    described_position,
    home_of,
    rows,
    script,
    summary,
)
from gui.panels.figure_text import directions_scope, directions_title
from gui.panels.result_panel import ResultPanel
from gui.state.session import Session
from gui.style.theme import GRID, SERIES, Theme, ThemeName
from gui.widgets.choice_table import ChoiceTable, choose
from gui.widgets.table_text import Column
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.plots.curve_plot import CurvePlot
    from gui.plots.position_curves import PositionCurves

COLORS = {name: colors[1:] for name, colors in SERIES.items()}
PLOT_WIDTH = 104
TABLE = (
    Column(
        "i", "The direction of P, from the strongest; last, the mean of as many random ones", 66
    ),
    Column("σ", "Singular value, in the units of P", 46),
    Column("> 0.1", "Entries of magnitude above 0.1", 40),
    Column("PR", "Participation ratio 1/Σv⁴: how many entries carry the direction", 46),
    Column("top 40", "Σv² of the 40 entries of largest magnitude", 48),
)
ROW_TIP = "Click draws this direction alone, Shift-click adds it or takes it out"
E_TIP = "Read the token embeddings, to tell how much of them lives on the entries that are large"
BULK_TIP = "Show most positions at full height; the few that stand out go beyond the plot"


class DirectionsPanel(ResultPanel):
    """Left and right singular vectors side by side, and how sparse the right ones are."""

    slot = "directions"
    formula = "P = Σ σᵢ uᵢ vᵢᵀ"
    meaning = "strongest directions"
    explanation = (
        "The strongest singular directions of P: at the left how much of each is in the row of "
        "every position, at the right which entries of the embedding it takes. A random direction "
        "takes nearly all entries a little, one that is sparse takes few, and a click on one of "
        "these opens it in Dimensions."
    )
    empty = "Open a model to see its strongest directions over position and embedding index."
    instead = "Without E above, the directions themselves are shown."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.over_position: PositionCurves
        self.over_index: CurvePlot
        self.table: ChoiceTable
        self._drawn = tuple(range(1, TOP + 1))
        self._model: PositionalModel | None = None
        self._curve = 0
        self.E = QCheckBox("Share of E")
        self.E.setToolTip(wrapped(E_TIP))
        self.E.toggled.connect(self.ask)
        self.bulk = QCheckBox("Bulk")
        self.bulk.setChecked(True)
        self.bulk.setToolTip(wrapped(BULK_TIP))
        self.bulk.toggled.connect(self._show_span)
        for control in (self.E, self.bulk):
            self.header.add(control)
        events = session.events
        for signal in (events.hover, events.tokens):
            self.listen(signal, self._on_hover_changed)
        self.listen(events.selection, self._on_selection_changed)

    # What it asks.

    def question(self) -> DirectionsOf:
        """Ask for all five, whichever are drawn."""
        self._follow_model()
        return DirectionsOf(self.E.isChecked())

    def configure(self, **options: Any) -> None:
        """Show ``directions``, numbers from 1; whether the share of ``E``, whether the ``bulk``."""
        self._follow_model()
        self._drawn = tuple(options.pop("directions", self._drawn))
        self._draw()
        self.E.setChecked(options.pop("E", self.E.isChecked()))
        self.bulk.setChecked(options.pop("bulk", self.bulk.isChecked()))
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        drawn = list(self._drawn)
        return {"directions": drawn, "E": self.E.isChecked(), "bulk": self.bulk.isChecked()}

    def _follow_model(self) -> None:
        """Read E without being asked where it need not be fetched."""
        model = self.session.model
        if model is None or model is self._model:
            return
        self._model = model
        blocked = self.E.blockSignals(True)
        self.E.setChecked(isinstance(model.store, RegionStore))
        self.E.blockSignals(blocked)

    # What it shows.

    def build(self) -> QWidget:
        """Make the two plots and the table."""
        from gui.plots.curve_plot import CurvePlot
        from gui.plots.position_curves import PositionCurves
        from gui.plots.position_gestures import PositionGestures

        self.over_position = PositionCurves(self.theme, "position (tokens)", "uᵢ")
        self.over_position.setAccessibleName("Directions over position")
        self.over_position.pointHovered.connect(self._on_position_hovered)
        PositionGestures(self.over_position, self.session, self.selectionRequested.emit)
        self.over_index = CurvePlot(self.theme, "embedding index", "vᵢ", whole_x=True)
        self.over_index.setAccessibleName("Directions over embedding index")
        self.over_index.pointHovered.connect(self._on_index_hovered)
        self.over_index.pointClicked.connect(self._on_index_clicked)
        self.table = ChoiceTable(TABLE, ROW_TIP, spare=(1, 3, 4))
        self.table.setAccessibleName("Directions")
        self.table.fit(self.width())
        self.table.chosen.connect(self._on_row_chosen)
        for plot in (self.over_position, self.over_index):
            plot.setMinimumWidth(PLOT_WIDTH)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.over_position, 1)
        row.addWidget(self.over_index, 1)
        row.addWidget(self.table, 0, Qt.AlignmentFlag.AlignTop)
        return content

    def show_result(self, result: TopDirections) -> None:
        """List the directions and draw those that are chosen."""
        self.table.set_rows(rows(result))
        self._draw()

    def drawn(self, result: TopDirections) -> tuple[int, ...]:
        """Return the directions that are drawn, from 1; a small table has fewer."""
        inside = tuple(n for n in self._drawn if 1 <= n <= len(result.singular_values))
        return inside or (1,)

    def _draw(self) -> None:
        result: TopDirections = self.result
        if result is None:
            return
        from gui.plots.spec import Curve

        colors = self._colors(self.theme.name)
        for plot, vectors in (
            (self.over_position, result.over_position),
            (self.over_index, result.over_index),
        ):
            x = np.arange(vectors.shape[1])
            curves = [Curve(x, vectors[n - 1], color) for n, color in colors.items()]
            if plot is self.over_index:
                ends = np.array([0, max(len(x) - 1, 1)])
                curves += [
                    Curve(ends, np.full(2, y), self.theme.muted, "dashed", silent=True)
                    for y in (-LARGE, LARGE)
                ]
            plot.set_curves(curves)
        self._show_span()
        self.table.show_drawn(colors)
        self._on_selection_changed()
        self._on_hover_changed()
        self.show_caption()

    def _show_span(self) -> None:
        """Show most values over position, or all of them."""
        if self.result is None:
            return
        values = self.result.over_position[[n - 1 for n in self.drawn(self.result)]]
        margin = 0.03 * float(np.ptp(values)) or 0.5
        whole = float(values.min()) - margin, float(values.max()) + margin
        span = home_of(self.result, self.drawn(self.result)) if self.bulk.isChecked() else whole
        self.over_position.view.set_home_y((max(span[0], whole[0]), min(span[1], whole[1])))

    def _colors(self, theme: ThemeName) -> dict[int, str]:
        """Return the drawn directions with their colours, which are theirs whatever is drawn."""
        return {number: COLORS[theme][number - 1] for number in self.drawn(self.result)}

    def _on_row_chosen(self, number: int, modifiers: Qt.KeyboardModifier) -> None:
        if number != RANDOM:
            self._drawn = choose(self.drawn(self.result), number, modifiers, TOP)
            self._draw()

    # The embedding index.

    def _on_index_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None:
            self.over_index.set_hover(None)
            return
        number = self.drawn(self.result)[point[0]]
        self.over_index.set_hover(point, described_index(self.result, number, point[1]))

    def _on_index_clicked(self, _: int, index: int, modifiers: Qt.KeyboardModifier) -> None:
        self.showRequested.emit("dimensions", {"dimension": index})

    # Brushing.

    def _on_position_hovered(self, point: tuple[int, int] | None) -> None:
        self._curve = 0 if point is None else point[0]
        position = None if point is None else point[1]
        if position != self.session.hover:
            self.hoverRequested.emit(position)
        # Another curve of the same position is another point.
        self._on_hover_changed()

    def _on_hover_changed(self) -> None:
        result, position = self.result, self.session.hover
        if result is None:
            return
        if position is None or not 0 <= position < result.over_position.shape[1]:
            self.over_position.set_hover(None)
            return
        drawn, token = self.drawn(result), self.session.token_at(position)
        curve = min(self._curve, len(drawn) - 1)
        text = described_position(result, drawn[curve], position, token)
        self.over_position.set_hover((curve, position), text)

    def _on_selection_changed(self) -> None:
        if self.result is not None:
            self.over_position.set_selected(self.session.selection)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave a narrow panel's room to the plots."""
        super().resizeEvent(event)
        if self.content is not None:
            self.table.fit(self.width())

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.over_position.set_theme(theme)
            self.over_index.set_theme(theme)
            self._draw()

    # What it says, and what can be taken away.

    def caption(self, result: TopDirections) -> str:
        """Name the scope, the union of large entries and E's share on it."""
        assert self.session.model is not None
        words = summary(result, self.drawn(result))
        return f"{self.session.model.name} · {self._scope()} · {words}"

    def _scope(self) -> str:
        assert self.session.model is not None
        return directions_scope(self.session.model)

    def figure(self, result: TopDirections) -> Callable[[], Figure]:
        """Return what draws both for print."""
        assert self.session.model is not None
        title = directions_title(self.session.model)
        scope, drawn = self._scope(), tuple(self._colors("light").items())

        def draw() -> Figure:
            from gui.panels.directions_figure import directions_figure

            return directions_figure(result, drawn, title=title, scope=scope)

        return draw

    def numbers(self, result: TopDirections) -> Mapping[str, np.ndarray]:
        """Return the drawn directions, their sparsity, and the union."""
        return columns(result, self.drawn(result))

    def python(self) -> str:
        """Return a script that prints the sparsity of the drawn directions."""
        assert self.session.model is not None
        return script(self.session.model, self.result, self.drawn(self.result))
