"""Opens the guide at the section of the panel in use."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QTabBar

from gui.panels.table import GROUPS, PANELS
from gui.state.values import Notice
from gui.style.theme import Theme
from gui.window.arrangement.docks import DOCKS
from gui.window.dialogs import show_in_front

if TYPE_CHECKING:
    from gui.window.guide.window import GuideWindow
    from gui.window.host import HostWindow

log = logging.getLogger(__name__)
NO_GUIDE = "The user guide cannot be read. Reinstall Helixscope to restore it."


class GuideOpener:
    """The window of the guide, created on first use."""

    def __init__(self, window: HostWindow) -> None:
        self._window = window
        self.shown: GuideWindow | None = None

    def open(self) -> None:
        """Show the section about the panel in use, or the first page."""
        guide = self._guide_window()
        if guide is not None:
            title = self._panel_in_use()  # before another window is shown
            show_in_front(guide)
            guide.go(guide.guide.about_panel(title))  # only a visible page is laid out

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        if self.shown is not None:
            self.shown.set_theme(theme)

    def close(self) -> None:
        """Close it with the main window."""
        if self.shown is not None:
            self.shown.close()

    def _guide_window(self) -> GuideWindow | None:
        if self.shown is None:
            from gui.window.guide.pages import UserGuide
            from gui.window.guide.window import GuideWindow

            try:
                guide = UserGuide()
            except OSError as error:
                log.exception("The guide cannot be read")
                self._window.session.notice = Notice(NO_GUIDE, details=str(error))
                return None
            self.shown = GuideWindow(guide, self._window.viewport.scene.theme, self._window)
        return self.shown

    def _panel_in_use(self) -> str:
        """Return the title of the panel with the focus, or under the mouse, or ""."""
        at = QCursor.pos()
        under = QApplication.widgetAt(at)
        for widget in (QApplication.focusWidget(), under):
            for dock in DOCKS:
                if widget is not None and self._window.docks[dock.name].isAncestorOf(widget):
                    return dock.title
        if isinstance(under, QTabBar):
            title = under.tabText(under.tabAt(under.mapFromGlobal(at)))
            if title in GROUPS:
                latest = self._window.results.tabs.latest(title)
                return PANELS[latest or GROUPS[title][0].name].title
            return title
        return ""
