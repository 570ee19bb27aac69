"""The kernels panel: where the heads of a layer look by position alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QWidget

from geometry.measures.kernels import BLOCK
from geometry.models.model import PositionalModel
from gui.panels.kernels_beside import KernelsBeside
from gui.panels.kernels_question import HeadsOf, Kernels, KernelsOf
from gui.panels.kernels_text import (
    SORTS,
    caption_of,
    extrapolation,
    kernels_scope,
    kernels_title,
)
from gui.state.guides import Guide
from gui.state.session import Session
from gui.style.theme import Theme
from gui.widgets.drop_down import DropDown
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.kernels_view import KernelsView

CURVES = (
    ("attention", "Attention", "Mean attention of the range's queries to each lag"),
    ("score", "Score", "Mean score κ(Δ) before the softmax"),
)
CONTENT = (
    "Let a token be there as LayerNorm sees it: its denominator is √(‖pᵢ‖² + e²) with e the mean "
    "norm of token embeddings, so that positions count for less"
)
AVERAGED = (
    f"Give every {BLOCK} neighbouring positions their mean row: what needs to tell neighbours "
    "apart cannot any more (dashed: as it is)"
)
IN_VIEW = "Make the positions larger on the curve that the current position attends to"
GLOW = 0.01
"""Attention below this share of the row's largest lights nothing up."""


class KernelsPanel(KernelsBeside):
    """A wall of all heads; of one of them its attention by lag and its map."""

    slot = "kernels"
    formula = "Aₕ(i, j) = softmaxⱼ(qᵢ·kⱼ/√d)"
    meaning = "where heads look by position alone"
    explanation = (
        "Queries and keys are made of positional embeddings alone, through the layer's own "
        "LayerNorm, weights and biases, as if there were no tokens: what is left of attention is "
        "a habit of looking so far back. This holds for the first layer, which reads tokens plus "
        "positions; deeper layers read what the ones before wrote, so there it is an extrapolation."
    )
    empty = "Open a model to see where its attention heads look by position alone."
    instead = "Another layer may be chosen above."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.view: KernelsView
        self._model: PositionalModel | None = None
        self._head: int | None = None
        self.layer, self.sort = DropDown(), DropDown()
        self.layer.addItem("Layer 0")
        self.layer.setAccessibleName("Layer")
        self.layer.setToolTip(wrapped("Whose heads; beyond layer 0 an extrapolation"))
        for name, words, _ in SORTS:
            self.sort.addItem(words, name)
        self.sort.setAccessibleName("Sorted by")
        self.sort.setToolTip(wrapped("What heads are sorted by; the number at each says it"))
        self.curves = Segmented(CURVES, "Curve")
        self.content_box = _switch("With tokens", CONTENT)
        self.averaged = _switch(f"Blocks of {BLOCK}", AVERAGED)
        self.in_view = _switch("In the view", IN_VIEW)
        self.in_view.setChecked(True)
        for control in (
            self.layer, self.sort, self.curves, self.content_box, self.averaged, self.in_view,
        ):  # fmt: skip
            self.header.add(control)
        self.layer.currentIndexChanged.connect(self.ask)
        for box in (self.content_box, self.averaged):
            box.toggled.connect(self.ask)
        self.sort.currentIndexChanged.connect(self._on_sort_changed)
        self.curves.chosen.connect(self._on_curves_changed)
        self.in_view.toggled.connect(self._light_up)
        events = session.events
        for signal in (events.positions, events.dragging):
            self.listen(signal, self._ask_when_still)
        self.listen(events.selection, self._on_selection_changed)
        self.listen(events.hover, self._on_hover_changed)
        self.listen(events.tokens, self._on_hover_changed)
        self.listen(events.curve, self._light_up)
        self._follow_model()

    # What it asks.

    def question(self) -> KernelsOf:
        """Ask for the chosen layer and head over the shown range."""
        self._follow_model()
        return KernelsOf(self.heads_of(), self.session.positions, self._head)

    def heads_of(self) -> HeadsOf:
        """Return which queries and keys are chosen."""
        return HeadsOf(
            max(self.layer.currentIndex(), 0),
            self.content_box.isChecked(),
            self.averaged.isChecked(),
        )

    def configure(self, **options: Any) -> None:
        """Show ``layer``, ``head``, ``sort``, ``curve``, ``content``, ``averaged``; ``in_view``.

        ``sort`` is one of :data:`gui.panels.kernels_text.SORTS`, ``curve`` "attention" or "score".
        """
        self._follow_model()
        self.layer.setCurrentIndex(options.pop("layer", self.layer.currentIndex()))
        self._head = options.pop("head", self._head)
        self.content_box.setChecked(options.pop("content", self.content_box.isChecked()))
        self.averaged.setChecked(options.pop("averaged", self.averaged.isChecked()))
        self.sort.setCurrentIndex(self.sort.findData(options.pop("sort", self.sort.currentData())))
        curve = options.pop("curve", self.curves.value())
        self.in_view.setChecked(options.pop("in_view", self.in_view.isChecked()))
        super().configure(**options)
        if curve != self.curves.value():
            self.curves.show_value(curve)
            self._on_curves_changed()
        self.ask()

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        of = self.heads_of()
        return {
            "layer": of.layer,
            "head": self._head,
            "sort": self.sort.currentData(),
            "curve": self.curves.value(),
            "content": self.content_box.isChecked(),
            "averaged": self.averaged.isChecked(),
            "in_view": self.in_view.isChecked(),
        }

    def _follow_model(self) -> None:
        """Offer what another model has."""
        model = self.session.model
        if model is None or model is self._model:
            return
        self._model, self._head = model, None
        blocked = self.layer.blockSignals(True), self.content_box.blockSignals(True)
        self.layer.clear()
        for layer in range(max(model.n_layers or 1, 1)):
            self.layer.addItem(f"Layer {layer}")
            note = "Exact: it reads positions" if layer == 0 else extrapolation(layer).capitalize()
            self.layer.setItemData(layer, note, Qt.ItemDataRole.ToolTipRole)
        why = model.missing.get("W_E", "")
        self.content_box.setEnabled(not why)
        self.content_box.setToolTip(wrapped(f"{CONTENT} (not here: {why})" if why else CONTENT))
        if why:
            self.content_box.setChecked(False)
        self.layer.blockSignals(blocked[0])
        self.content_box.blockSignals(blocked[1])

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    def _on_model_changed(self) -> None:
        # Before the base asks: another model may have fewer layers and heads.
        self._follow_model()
        super()._on_model_changed()

    # What it shows.

    def build(self) -> QWidget:
        """Make the wall, the plots and the map."""
        from gui.panels.kernels_view import KernelsView

        self.view = KernelsView(self.theme)
        self.view.headChosen.connect(self._on_head_chosen)
        self.view.cellHovered.connect(self._on_cell_hovered)
        self.view.cellClicked.connect(self._on_cell_clicked)
        return self.view

    def show_result(self, result: Kernels) -> None:
        """Draw everything."""
        query = self._query()
        self.view.others = self.overlay_lines(self.curves.value())
        self.view.show_result(result, self.sort.currentData(), self.curves.value(), query)
        self._on_selection_changed()
        self._on_hover_changed()

    def redraw(self) -> None:
        """Draw the curves by lag anew."""
        self.view.others = self.overlay_lines(self.curves.value())
        self.view.show_curves(self.curves.value())

    def _on_head_chosen(self, head: int) -> None:
        self._head = head
        self.ask()

    def _on_sort_changed(self) -> None:
        if self.result is not None:
            self.view.show_wall(self.result, self.sort.currentData())

    def _on_curves_changed(self) -> None:
        if self.result is not None:
            self.redraw()
            self.show_overlay_legend()

    # Brushing.

    def _query(self) -> int | None:
        """Return the current position, if it is among the queries."""
        if self.result is None or self.session.current is None:
            return None
        first, last = self.result.positions
        return self.session.current if first <= self.session.current <= last else None

    def _on_selection_changed(self) -> None:
        if self.result is not None:
            self.view.show_query(self._query())
            self._light_up()

    def _on_hover_changed(self) -> None:
        if self.result is not None:
            self.view.show_hover(self.session.hover, self.session.token_at)

    def _on_cell_hovered(self, cell: tuple[int, int] | None) -> None:
        hover = None if cell is None else cell[1]
        if hover != self.session.hover:
            self.hoverRequested.emit(hover)
        self._on_hover_changed()

    def _on_cell_clicked(self, query: int, position: int) -> None:
        # The query is the current position: what it attends to is shown.
        self.selectionRequested.emit((position, query) if position != query else (query,))

    def _light_up(self) -> None:
        query, curve = self._query(), self.session.curve
        if query is None or curve is None or not self.in_view.isChecked():
            self.show_guide(None)
            return
        result = self.result
        first = result.positions[0]
        row = result.weights[query - first]
        weights = row / max(float(row.max()), 1e-30)
        lit = np.flatnonzero(weights >= GLOW)
        self.show_guide(
            Guide(
                curve.pca,
                self.session.components,
                positions=first + lit,
                weights=weights[lit],
                caption=f"larger points: what position {query} attends to by position alone"
                f" (layer {result.of.layer}, head {result.head})",
            )
        )

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.view.set_theme(theme)
            if self.result is not None:
                self.redraw()

    # What it says, and what can be taken away.

    def caption(self, result: Kernels) -> str:
        """Name the head, its scores and the scope."""
        assert self.session.model is not None
        return caption_of(self.session.model, result)

    def figure(self, result: Kernels) -> Callable[[], Figure]:
        """Return what draws the curves of all heads and the map for print."""
        assert self.session.model is not None
        title = kernels_title(self.session.model, result.of, result.head)
        scope, levels = kernels_scope(result.of, result.positions), self.view.levels
        others = self.printed_lines("attention")

        def draw() -> Figure:
            from gui.panels.kernels_figure import kernels_figure

            return kernels_figure(
                result.found, result.head, result.weights,
                title=title, scope=scope, levels=levels, others=others,
            )  # fmt: skip

        return draw

    def numbers(self, result: Kernels) -> Mapping[str, np.ndarray]:
        """Return the scores of all heads, their curves by lag, and the map."""
        found = result.found
        columns = {
            "head": np.arange(found.n_heads),
            "previous_token": found.previous_token,
            "self": found.own,
            "mass_lag_0_10": found.mass_lag_0_10,
            "mean_lag": found.mean_lag,
            "lag": found.lags,
        }
        for head in range(found.n_heads):
            columns[f"attention_of_head_{head}"] = found.attention[head]
            columns[f"score_of_head_{head}"] = found.scores[head]
        return self.with_others({**columns, f"map_of_head_{result.head}": result.weights})

    def python(self) -> str:
        """Return a script that prints the scores of all heads."""
        return self.with_other_scripts(self.overlay_python(self.session, self.result))


def _switch(text: str, tip: str) -> QCheckBox:
    made = QCheckBox(text)
    made.setToolTip(wrapped(tip))
    return made
