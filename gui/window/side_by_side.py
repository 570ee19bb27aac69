"""Several models in the window: adding them, and related commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFileDialog, QMenu

from gui.panels.norms.overlay_menu import overlay_choices
from gui.services.loading import remembered_name
from gui.state.session import MAIN
from gui.state.values import Notice
from gui.style.listening import Listening
from gui.style.theme import Theme
from gui.viewport.grid import ViewGrid

if TYPE_CHECKING:
    from gui.window.host import HostWindow

ARTICLE = ("OpenAI's GPT-2", "Stanford's GPT-2 small")
"""Catalogue groups of the nine models in the helix article."""


class SideBySide:
    """The grid of a window, and its commands.

    Parameters
    ----------
    window
        A window with session, controller and viewport.
    theme
        Initial colours.
    """

    def __init__(self, window: HostWindow, theme: Theme) -> None:
        self._window = window
        self._comparing = window.controller.comparing
        self._others: tuple[str, list[str]] = "", []
        self._waiting = Listening()
        self.grid = ViewGrid(window.viewport, window.session, self._comparing, theme, self.choose)

    def choose(self) -> None:
        """Show a menu of models to add."""
        button = self.grid.bar.add
        under = button.mapToGlobal(QPoint(0, button.height()))
        self.choose_at(under if button.isVisible() else QCursor.pos())

    def choose_at(self, at: QPoint) -> None:
        """Show a menu of models to add, at a point of the screen."""
        menu = self._make_menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def _make_menu(self) -> QMenu:
        menu, comparing = QMenu(self._window), self._comparing
        shown = {remembered_name(one.source) for one in self._window.session.compared}
        for source, title in overlay_choices(self._window.session):
            action = menu.addAction(title.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(remembered_name(source) in shown)
            action.setEnabled(bool(comparing.room))
            action.triggered.connect(lambda _=False, source=source: comparing.add(source))
        menu.addSeparator()
        menu.addAction("The nine GPT-2s of the article").triggered.connect(self.show_nine)
        menu.addSeparator()
        for text, slot in (("Folder…", self._add_folder), ("File…", self._add_file)):
            menu.addAction(text).triggered.connect(slot)
        return menu

    def show_nine(self) -> None:
        """Show the nine models of the article, downloading those that are not local."""
        session, controller = self._window.session, self._window.controller
        nine = [row for row in session.models if row.entry.group in ARTICLE]
        here = [row.entry.id for row in nine if row.state != "online" or not session.offline]
        if not here:
            session.notice = Notice(
                "None of the nine GPT-2s is on this machine, and Helixscope is offline.",
                "Switch off “Work offline” in the File menu, then try again.",
            )
            return
        opened = "" if session.model is None else remembered_name(session.model.source)
        self._comparing.clear()
        self._waiting.stop()
        if opened in map(remembered_name, here):
            self._comparing.add_all(here)
            return
        first, *others = here
        if opened:
            controller.open(first)
            self._comparing.add_all(others)
            return
        # A grid needs an open model, so the others wait for the first one.
        self._others = first, others
        self._waiting.to(session.events.shown, self._on_first_shown)
        self._waiting.to(session.events.opening, self._on_opening_changed)
        controller.open(first)

    def _on_first_shown(self) -> None:
        self._waiting.stop()
        model, (first, others) = self._window.session.model, self._others
        if model is not None and remembered_name(model.source) == remembered_name(first):
            self._comparing.add_all(others)

    def _on_opening_changed(self, opening: str) -> None:
        if not opening and self._window.session.model is None:
            self._waiting.stop()  # the opening was cancelled

    def go_on(self, step: int) -> None:
        """Make the next model of the grid, or the previous one, the open one."""
        keys = self._comparing.keys
        key = keys[(keys.index(MAIN) + step) % len(keys)]
        if key != MAIN:
            alone = self.grid.alone
            self._comparing.make_main(key)
            if alone is not None:
                self.grid.show_alone(MAIN)

    def toggle_alone(self) -> None:
        """Let the open model fill the grid, or show all models."""
        self.grid.show_alone(MAIN if self.grid.alone is None else None)

    def _add_folder(self) -> None:
        title = "Show a Hugging Face model folder beside the open model"
        folder = QFileDialog.getExistingDirectory(self._window, title)
        if folder:
            self._comparing.add(folder)

    def _add_file(self) -> None:
        from gui.window.host import FILE_FILTER

        title = "Show a tensor file beside the open model"
        file, _ = QFileDialog.getOpenFileName(self._window, title, "", FILE_FILTER)
        if file:
            self._comparing.add(file)
