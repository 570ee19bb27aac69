"""The page of LayerNorm's errors: by position, the cosines behind them, and which tokens."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.panels.layernorm_question import Errors, LayerNorms
from gui.plots.curve_plot import CurvePlot
from gui.plots.spec import Curve
from gui.services.overlay_curves import OverlayLine, said_at, top_of
from gui.style.theme import GRID, Theme, format_count, format_number
from gui.widgets.position_rows import Column, Row
from gui.widgets.position_table import PositionTable

COLUMNS = (
    Column("Token", "The tokens most like a position; blanks are made visible", left=True),
    Column("Position", "The stored position that it is most like", 8 * GRID),
    Column("|cos|", "Cosine of the two rows as they are stored, its sign left out", 7 * GRID),
)


class ErrorsView(QWidget):
    """Two plots and a table.

    Parameters
    ----------
    theme
        Colours.
    """

    hoverRequested = Signal(object)
    """The position under the mouse, or None."""
    selectionRequested = Signal(tuple)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._result: LayerNorms | None = None
        self.others: tuple[OverlayLine, ...] = ()
        self._found: Errors
        self.errors = CurvePlot(theme, "position", "relative error", whole_x=True)
        self.errors.setAccessibleName("Error by position")
        self.errors.pointHovered.connect(self._on_error_hovered)
        self.errors.pointClicked.connect(self._on_error_clicked)
        self.cosines = CurvePlot(theme, "|cos(Eₜ, Pᵢ)|", "share of pairs", log_y=True)
        self.cosines.setAccessibleName("Cosines of tokens with positions")
        self.cosines.pointHovered.connect(self._on_cosine_hovered)
        self.tokens = PositionTable(COLUMNS, "Click to select position {position}", scrolls_from=3)
        self.tokens.setAccessibleName("Tokens most like a position")
        self.tokens.hovered.connect(self.hoverRequested)
        self.tokens.chosen.connect(lambda position, _: self.selectionRequested.emit((position,)))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.errors, 3)
        row.addWidget(self.cosines, 3)
        row.addWidget(self.tokens, 3, Qt.AlignmentFlag.AlignTop)

    def show_result(self, result: LayerNorms, found: Errors) -> None:
        """Draw the errors of one version, and the cosines; list the tokens."""
        self._result = result
        self.show_errors(found)
        self._draw_cosines(result)
        self.tokens.set_rows(
            Row(one.position, (one.text, str(one.position), format_number(one.cosine)))
            for one in result.most_alike
        )

    def show_errors(self, found: Errors) -> None:
        """Draw the errors of a version of the result that is shown."""
        if self._result is None:
            return
        self._found = found
        first, last = self._result.positions
        at = np.arange(first, last + 1.0)
        self.errors.set_curves(
            [
                Curve(at, found.p95, self.theme.muted, "dashed"),
                Curve(at, found.median, self.theme.text),
                *(Curve(o.x, o.y, o.color, silent=True, name=o.name) for o in self.others),
            ],
            y=(0.0, 1.05 * top_of(found.p95, self.others) or 1.0),
        )

    def show_marks(self, hover: int | None, selection: tuple[int, ...]) -> None:
        """Point out the hovered and the selected positions."""
        if self._result is None:
            return
        first, last = self._result.positions
        self.tokens.set_tints(hover, selection, self.theme)
        if hover is None or not first <= hover <= last:
            self.errors.set_hover(None)
            return
        found, at = self._found, hover - first
        said = f"{hover}: {format_number(found.median[at])}, "
        said += f"95 % below {format_number(found.p95[at])}"
        self.errors.set_hover((1, at), " · ".join([said, *said_at(hover, self.others)]))

    def set_theme(self, theme: Theme) -> None:
        """Take new colours; what is drawn keeps its own until it is shown anew."""
        self.theme = theme
        self.errors.set_theme(theme)
        self.cosines.set_theme(theme)
        if self._result is not None:
            self.show_result(self._result, self._found)

    def _draw_cosines(self, result: LayerNorms) -> None:
        counts = result.histogram
        shares, bins = counts / counts.sum(), len(counts)
        centres = (np.arange(bins) + 0.5) / bins
        last = int(np.flatnonzero(counts)[-1]) + 1
        self.cosines.set_curves([Curve(centres[:last], shares[:last], self.theme.text)])

    # The mouse.

    def _on_error_hovered(self, point: tuple[int, int] | None) -> None:
        if self._result is not None:
            first = self._result.positions[0]
            self.hoverRequested.emit(None if point is None else first + point[1])

    def _on_error_clicked(self, _: int, index: int, modifiers: object) -> None:
        if self._result is not None:
            self.selectionRequested.emit((self._result.positions[0] + index,))

    def _on_cosine_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None or self._result is None:
            self.cosines.set_hover(None)
            return
        counts, at = self._result.histogram, point[1]
        span = f"{format_number(at / len(counts))} to {format_number((at + 1) / len(counts))}"
        self.cosines.set_hover(point, f"|cos| {span} · {format_count(int(counts[at]))} pairs")
