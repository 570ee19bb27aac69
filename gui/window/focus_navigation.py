"""From panel to panel and from control to control by keys: only to what can be seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

from gui.window.docks import DOCKS

if TYPE_CHECKING:
    from gui.window.host import HostWindow

MOST_STEPS = 2_000
"""Controls that are passed by at most, looking for one that can be seen."""


def in_front(dock: QDockWidget) -> bool:
    """Tell whether a dock can be seen, and is not a tab behind another.

    Qt leaves what is in such a tab visible, beside the window.
    """
    return dock.isVisible() and (dock.isFloating() or not dock.visibleRegion().isEmpty())


def go_round(window: HostWindow, step: int) -> None:
    """Put the focus into the next panel in sight, or the one before; the 3D view is one of them."""
    seen = [dock.name for dock in DOCKS if in_front(window.docks[dock.name])]
    places: list[tuple[QWidget, Callable[[], object]]] = [
        (window.grid, partial(focus_view, window)),
        *((window.docks[name], partial(_enter, window, name)) for name in seen),
    ]
    focus = QApplication.focusWidget()
    at = [i for i, (part, _) in enumerate(places) if focus and part.isAncestorOf(focus)]
    places[((at[0] if at else 0) + step) % len(places)][1]()


def focus_view(window: HostWindow) -> None:
    """Put the focus into the 3D view, so that it is seen to be there."""
    window.activateWindow()  # the focus may be in a panel that floats
    window.viewport.interactor.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _enter(window: HostWindow, name: str) -> None:
    window.focus_on(name)
    panel = window.docks[name].widget()
    if panel is not None and panel.hasFocus() and panel.focusProxy() is None:
        panel.focusNextChild()


def past_hidden(window: HostWindow, step: Callable[[], bool]) -> bool:
    """Step to another control, and on from each that is in a tab behind another.

    Parameters
    ----------
    window
        Whose controls they are.
    step
        Puts the focus into the next control; False if there is none.
    """
    hidden = [dock for dock in window.docks.values() if not in_front(dock)]
    for _ in range(MOST_STEPS):
        if not step():
            return False
        focus = QApplication.focusWidget()
        if focus is None or not any(dock.isAncestorOf(focus) for dock in hidden):
            break
    return True
