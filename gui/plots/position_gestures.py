"""Selection of positions by clicks and keys on a plot, as in other views."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from gui.state import selection
from gui.state.session import Session

if TYPE_CHECKING:
    from gui.plots.position_curves import PositionCurves


class PositionGestures(QObject):
    """Translates a plot's gestures to selections of positions.

    A click selects, Shift-click adds or removes, a drag with Shift selects a range, Left and Right
    step, and a double-click, which shows everything, selects nothing.
    """

    def __init__(
        self,
        plot: PositionCurves,
        session: Session,
        select: Callable[[tuple[int, ...]], None],
    ) -> None:
        super().__init__(plot)
        self._plot, self._session, self._select = plot, session, select
        self._before: tuple[int, ...] = ()
        plot.clicked.connect(self._on_clicked)
        plot.clickRepeated.connect(self._on_click_repeated)
        plot.swept.connect(self._on_swept)
        plot.stepped.connect(self._on_stepped)

    def _on_clicked(self, item: int, modifiers: Qt.KeyboardModifier) -> None:
        self._before = self._session.selection
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        position = self._plot.position_of(item)
        self._select(
            selection.click(self._before, position, toggle=shift, extend=shift and control)
        )

    def _on_click_repeated(self) -> None:
        # Undo the selection by the first half of the double-click.
        self._select(self._before)

    def _on_swept(self, first: int, last: int) -> None:
        start, end = (self._plot.position_of(point) for point in (first, last))
        self._select(selection.click((start,), end, extend=True))

    def _on_stepped(self, step: int, modifiers: Qt.KeyboardModifier) -> None:
        drawn, current = self._plot.positions(), self._session.current
        if drawn is None:
            return
        start = self._session.positions[0] - step if current is None else current
        position = min(max(start + step, drawn[0]), drawn[1])
        extend = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self._select(selection.click(self._session.selection, position, extend=extend))
        self._plot.view.reveal(position)
