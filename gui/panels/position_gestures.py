"""What clicks and keys on curves over position select, as everywhere else."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt

from gui import selection
from gui.panels.position_curves import PositionCurves
from gui.session import Session


class PositionGestures(QObject):
    """Turns a plot's gestures into selections of positions.

    A click selects, Shift-click adds or takes out, a drag with Shift selects a range, Left and
    Right step, and a double-click, which shows everything, selects nothing.

    Parameters
    ----------
    plot
        The plot; it owns this.
    session
        Tells what is selected.
    select
        Called with the positions to select.
    """

    def __init__(
        self, plot: PositionCurves, session: Session, select: Callable[[tuple[int, ...]], None]
    ) -> None:
        super().__init__(plot)
        self._plot, self._session, self._select = plot, session, select
        self._before: tuple[int, ...] = ()
        plot.pointClicked.connect(self._on_clicked)
        plot.clickRepeated.connect(self._on_click_repeated)
        plot.swept.connect(self._on_swept)
        plot.stepped.connect(self._on_stepped)

    def _on_clicked(self, curve: int, row: int, modifiers: Qt.KeyboardModifier) -> None:
        self._before = self._session.selection
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        position = int(self._plot.curves[curve].x[row])
        self._select(
            selection.click(self._before, position, toggle=shift, extend=shift and control)
        )

    def _on_click_repeated(self) -> None:
        # What the first half of the double-click selected is taken back.
        self._select(self._before)

    def _on_swept(self, first: int, last: int) -> None:
        start, end = (self._plot.position_of(point) for point in (first, last))
        self._select(selection.click((start,), end, extend=True))

    def _on_stepped(self, way: int, modifiers: Qt.KeyboardModifier) -> None:
        if not self._plot.curves:
            return
        x, current = self._plot.curves[0].x, self._session.current
        start = self._session.positions[0] - way if current is None else current
        position = int(min(max(start + way, x[0]), x[-1]))
        extend = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self._select(selection.click(self._session.selection, position, extend=extend))
        self._plot.view.reveal(position)
