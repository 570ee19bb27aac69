"""Keyboard navigation between visible panels and controls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

from gui.window.arrangement.docks import DOCKS

if TYPE_CHECKING:
    from gui.window.host import HostWindow

MAX_STEPS = 2_000
"""Maximum number of skipped controls in the search for a visible one."""


def in_front(dock: QDockWidget) -> bool:
    """Return whether a dock is visible, and not a tab behind another one.

    Qt considers the content of such a tab visible, but outside the window.
    """
    return dock.isVisible() and (dock.isFloating() or not dock.visibleRegion().isEmpty())


def focus_next_panel(window: HostWindow, step: int) -> None:
    """Focus the next visible panel, or the previous one; the 3D view counts as a panel."""
    visible = [dock.name for dock in DOCKS if in_front(window.docks[dock.name])]
    places: list[tuple[QWidget, Callable[[], object]]] = [
        (window.docks[name], partial(_enter, window, name)) for name in visible
    ]
    if window.grid.isVisible():  # not while a panel is maximised
        places.insert(0, (window.grid, partial(focus_view, window)))
    if not places:
        return
    focus = QApplication.focusWidget()
    at = [i for i, (part, _) in enumerate(places) if focus and part.isAncestorOf(focus)]
    places[((at[0] if at else 0) + step) % len(places)][1]()


def focus_view(window: HostWindow) -> None:
    """Focus the 3D view, with its focus ring."""
    window.activateWindow()  # the focus may be in a floating panel
    window.viewport.interactor.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _enter(window: HostWindow, name: str) -> None:
    window.focus_on(name)
    panel = window.panels[name]
    if panel.hasFocus() and panel.focusProxy() is None:
        panel.focusNextChild()


def past_hidden(window: HostWindow, step: Callable[[], bool]) -> bool:
    """Step to another control, skipping those in hidden tabs.

    ``step`` focuses the next control; it returns False if there is none.
    """
    hidden = [dock for dock in window.docks.values() if not in_front(dock)]
    for _ in range(MAX_STEPS):
        if not step():
            return False
        focus = QApplication.focusWidget()
        if focus is None or not any(dock.isAncestorOf(focus) for dock in hidden):
            break
    return True
