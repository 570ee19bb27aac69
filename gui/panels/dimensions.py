"""The dimensions panel: single entries of P over position, each with its best sinusoid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSpinBox, QWidget

from gui.panels.dimensions_question import Dimensions, DimensionsOf
from gui.panels.dimensions_text import (
    columns,
    described,
    entry_row,
    fit,
    scope,
    script,
    summary,
    values,
)
from gui.panels.figure_text import dimensions_title
from gui.panels.result_panel import ResultPanel
from gui.state.session import Session
from gui.style.theme import GRID, SERIES, Theme
from gui.widgets.choice_table import ChoiceTable, choose
from gui.widgets.segmented import Segmented
from gui.widgets.table_text import Column
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.plots.position_curves import PositionCurves

COLORS = {name: colors[1:] for name, colors in SERIES.items()}
"""Of the entries; the first colour is that of the text, and of the waves."""
MOST = 6
"""So many entries can be told apart in one plot."""
COLUMNS = (
    Column("entry", "Index of the entry in the rows of P, from 0", 48),
    Column("variance", "Of the entry over the shown range, before projection, in units of P²", 64),
    Column("cycles", "Periods of the best sinusoid in the shown range", 52),
    Column("R² wave", "Share of the variance that the best sinusoid explains", 58),
    Column("R² PCs", "Share that is left after projection on the shown components", 58),
)
ROW_TIP = "Click draws entry {position}, Shift-click adds it or takes it out"
ENTRY_TIP = "The entry that is drawn: an index into the rows of P, from 0"
FIT_TIP = "The entries that their sinusoid explains best come first"
SIZE_TIP = "The entries of the greatest variance over the range come first"
RAW_TIP = "Entries as they are stored"
PROJECTED_TIP = "Entries after projection on the shown components; pale, as they are stored"


class DimensionsPanel(ResultPanel):
    """Entries over position with their sinusoids, and a list of all entries beside them."""

    slot = "dimensions"
    formula = "Pᵢ[d]"
    meaning = "single entries over position"
    explanation = (
        "One entry d of every row of P against position, and, dashed, the mean plus one sinusoid "
        "that explains it best by least squares. After projection on the shown components an "
        "entry is a shadow of the helix, so that what is left of it there, the helix explains."
    )
    empty = "Open a model to see single entries of its embeddings as waves over position."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plot: PositionCurves
        self.table: ChoiceTable
        self._drawn: tuple[int, ...] = ()
        self._picked = False
        self._curve = 0
        self.entry = QSpinBox()
        self.entry.setPrefix("entry ")
        self.entry.setKeyboardTracking(False)
        self.entry.setToolTip(wrapped(ENTRY_TIP))
        self.entry.setAccessibleName("Entry")
        self.entry.valueChanged.connect(lambda entry: self._pick((entry,)))
        self.order = Segmented(
            (("size", "By size", SIZE_TIP), ("fit", "By fit", FIT_TIP)), "Order of the entries"
        )
        self.rows = Segmented(
            (("raw", "Raw", RAW_TIP), ("projected", "Projected", PROJECTED_TIP)), "Rows"
        )
        for control in (self.entry, self.order, self.rows):
            self.header.add(control)
        self.order.chosen.connect(self._on_order_changed)
        self.rows.chosen.connect(self.ask)
        events = session.events
        self.listen_throttled(events.positions, self.ask)
        self.listen(events.components, self.ask)
        self.listen(events.model, self._forget_choice)
        for signal in (events.hover, events.tokens):
            self.listen(signal, self._on_hover_changed)
        self.listen(events.selection, self._on_selection_changed)

    # What it asks.

    def question(self) -> DimensionsOf:
        """Ask for all entries over the shown range."""
        components = tuple(sorted(set(self.session.components)))
        return DimensionsOf(self.session.positions, components, self.rows.value() == "projected")

    def configure(self, **options: Any) -> None:
        """Show ``dimension``, an entry, or several ``dimensions``; ``rows`` and their ``order``.

        ``rows`` is "raw" or "projected", ``order`` "size" or "fit".
        """
        self.rows.show_value(options.pop("rows", self.rows.value()))
        self.order.show_value(options.pop("order", self.order.value()))
        self._on_order_changed()
        if "dimension" in options:
            self._pick((int(options.pop("dimension")),))
        if dimensions := options.pop("dimensions", ()):
            self._pick(tuple(dimensions))
        self.ask()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes; no entries as long as nobody has chosen any."""
        dimensions = list(self._drawn) if self._picked else []
        return {
            "dimensions": dimensions, "rows": self.rows.value(), "order": self.order.value()
        }  # fmt: skip

    # What it shows.

    def build(self) -> QWidget:
        """Make the plot and the list."""
        from gui.plots.position_curves import PositionCurves
        from gui.plots.position_gestures import PositionGestures

        self.plot = PositionCurves(self.theme, "position (tokens)", "entry (units of P)")
        self.plot.setAccessibleName("Entries over position")
        self.plot.pointHovered.connect(self._on_point_hovered)
        PositionGestures(self.plot, self.session, self.selectionRequested.emit)
        self.table = ChoiceTable(COLUMNS, ROW_TIP, spare=(1, 2))
        self.table.setAccessibleName("All entries")
        self.table.fit(self.width())
        self.table.chosen.connect(self._on_row_chosen)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.plot, 1)
        row.addWidget(self.table)
        return content

    def show_result(self, result: Dimensions) -> None:
        """List all entries and draw the chosen ones."""
        self._list()
        self._draw()

    def order_of(self, result: Dimensions) -> np.ndarray:
        """Return all entries, those first that the order wants first."""
        key = result.variance if self.order.value() == "size" else result.sinusoids.r2
        return np.argsort(-key, kind="stable")

    def drawn(self, result: Dimensions) -> tuple[int, ...]:
        """Return the entries that are drawn: the chosen ones, or the first of the list."""
        inside = tuple(entry for entry in self._drawn if entry < len(result.variance))
        return inside if self._picked and inside else (int(self.order_of(result)[0]),)

    def _list(self) -> None:
        entries = self.order_of(self.result).tolist()
        self.table.set_rows(entry_row(self.result, entry) for entry in entries)

    def _draw(self) -> None:
        result: Dimensions = self.result
        if result is None:
            return
        from gui.plots.spec import Curve

        first, last = result.positions
        x, colors = np.arange(first, last + 1), self._colors()
        curves = []
        for entry, color in colors.items():
            # What has a voice comes first, so that the number of a curve is that of its entry.
            curves.append(Curve(x, values(result, self.answered, entry), color))
        for entry, color in colors.items():
            wave = result.sinusoids.values(entry)
            if self.answered.projected:
                curves.append(Curve(x, result.rows[:, entry], color, "dotted", silent=True))
            curves.append(Curve(x, wave, self.theme.text, "dashed", 1.2, silent=True))
        self.plot.set_curves(curves, (first - 0.5, last + 0.5))
        self.table.show_drawn(colors)
        self.table.show_row(next(iter(colors)))
        blocked = self.entry.blockSignals(True)
        self.entry.setRange(0, len(result.variance) - 1)
        self.entry.setValue(next(iter(colors)))
        self.entry.blockSignals(blocked)
        self._on_selection_changed()
        self._on_hover_changed()
        self.show_caption()

    def _colors(self) -> dict[int, str]:
        return dict(zip(self.drawn(self.result), COLORS[self.theme.name], strict=False))

    # Choosing entries.

    def _pick(self, entries: tuple[int, ...]) -> None:
        self._drawn, self._picked = entries, True
        self._draw()

    def _on_row_chosen(self, entry: int, modifiers: Qt.KeyboardModifier) -> None:
        self._pick(choose(self.drawn(self.result), entry, modifiers, MOST))

    def _on_order_changed(self) -> None:
        if self.result is not None:
            self._list()
            self._draw()

    def _forget_choice(self) -> None:
        self._drawn, self._picked = (), False

    # Brushing.

    def _on_point_hovered(self, point: tuple[int, int] | None) -> None:
        self._curve = 0 if point is None else point[0]
        position = None if point is None else self.result.positions[0] + point[1]
        if position != self.session.hover:
            self.hoverRequested.emit(position)
        # Another curve of the same position is another point.
        self._on_hover_changed()

    def _on_hover_changed(self) -> None:
        if self.result is None:
            return
        (first, last), position = self.result.positions, self.session.hover
        if position is None or not first <= position <= last:
            self.plot.set_hover(None)
            return
        entries, token = list(self._colors()), self.session.token_at(position)
        curve = min(self._curve, len(entries) - 1)
        text = described(self.result, self.answered, entries[curve], position, token)
        self.plot.set_hover((curve, position - first), text)

    def _on_selection_changed(self) -> None:
        if self.result is not None:
            self.plot.set_selected(self.session.selection)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave a narrow panel's room to the plots."""
        super().resizeEvent(event)
        if self.content is not None:
            self.table.fit(self.width())

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.plot.set_theme(theme)
            self._draw()

    # What it says, and what can be taken away.

    def caption(self, result: Dimensions) -> str:
        """Name the scope, the fit of what is drawn, and how many entries are waves."""
        assert self.session.model is not None
        fits = "; ".join(fit(result, entry) for entry in self._colors())
        where = scope(result, self.answered)
        return f"{self.session.model.name} · {where} · {fits} · {summary(result)}"

    def figure(self, result: Dimensions) -> Callable[[], Figure]:
        """Return what draws the same for print."""
        assert self.session.model is not None
        title, question = dimensions_title(self.session.model), self.answered
        drawn = tuple(self._colors())

        def draw() -> Figure:
            from gui.panels.dimensions_figure import dimensions_figure

            return dimensions_figure(result, question, drawn, title=title)

        return draw

    def numbers(self, result: Dimensions) -> Mapping[str, np.ndarray]:
        """Return the drawn entries over position, and the fits of all."""
        return columns(result, self.answered, tuple(self._colors()))

    def python(self) -> str:
        """Return a script that prints the fits of the drawn entries."""
        assert self.session.model is not None
        return script(self.session.model, self.answered, tuple(self._colors()))
