"""What stands in the place of a plugin's panel until it is imported, or if it cannot be."""

from __future__ import annotations

from gui.panels.kit.result_header import ResultHeader
from gui.panels.table import GROUPS, PanelEntry
from gui.state.session import Session
from gui.state.values import Fields
from gui.style.theme import GRID, Theme
from gui.widgets.boxes import vbox
from gui.widgets.panel import Panel
from gui.widgets.words_page import WordsPage


class LoadingPanel(Panel):
    """A message below the panels of the group; keeps the options that the panel will have.

    Parameters
    ----------
    entry
        That of the panel.
    """

    def __init__(self, session: Session, theme: Theme, entry: PanelEntry) -> None:
        super().__init__(session, theme)
        self.header = ResultHeader("", "", "", theme, GROUPS[entry.group], entry.name)
        self.header.help.hide()
        self.header.more.hide()
        self.words = WordsPage()
        self.words.show_message(f"Loading {entry.title}…")
        margins = (GRID, GRID // 2, GRID, GRID // 2)
        vbox(self.header, (self.words, 1), parent=self, margins=margins)
        self._options: dict[str, object] = {}

    def configure(self, **options: object) -> None:
        self._options |= options

    def restore(self, options: Fields) -> None:
        self._options = dict(options)

    def options(self) -> Fields:
        return self._options

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.header.set_theme(theme)

    def show_failure(self, why: str, advice: str) -> None:
        """Show why there is no panel."""
        self.words.show_message(why, advice)
