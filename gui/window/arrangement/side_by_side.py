"""Several models in the window: adding them, and related commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu

from geometry.models.sources.source import Source
from gui.services.save_folders import MODELS
from gui.services.work_files.projects import is_work
from gui.side_panels.models.model_line import identity, identity_of, parsed
from gui.side_panels.models.model_rows import source_title
from gui.state.session import Session
from gui.state.values import Notice
from gui.style.listening import Listening
from gui.style.theme import Theme
from gui.viewport.grid import ViewGrid
from gui.widgets.label import without_keys
from gui.window.palette import AddPalette

if TYPE_CHECKING:
    from gui.window.host import HostWindow

NINE = "the nine GPT-2s"
"""Name of the command in the Edit menu."""
ARTICLE = ("OpenAI's GPT-2", "Stanford's GPT-2 small")
"""Catalogue groups of the nine models in the helix article."""
MAX_RECENT = 4


class SideBySide:
    """The grid of a window, and its commands."""

    def __init__(self, window: HostWindow, theme: Theme) -> None:
        self._window = window
        self._comparing = window.controller.comparing
        self._others: tuple[Source | None, Sequence[Source]] = None, ()
        self._failed: Notice | None = None  # The notice if the first one failed
        self._name = NINE
        self._waiting = Listening()
        self.grid = ViewGrid(window.viewport, window.session, self._comparing, theme, self.choose)

    def choose(self) -> None:
        """Show a menu of models to add."""
        button = self.grid.bar.add
        under = button.mapToGlobal(QPoint(0, button.height()))
        self.choose_at(under if button.isVisible() else QCursor.pos())

    def choose_at(self, at: QPoint, in_grid: bool = True) -> None:
        """Show a menu of models to add, at a point of the screen.

        With ``in_grid`` the chosen model gets its own view; otherwise only panels draw it.
        """
        menu = self._make_menu() if in_grid else self._make_panels_menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def _make_menu(self) -> QMenu:
        menu, comparing = QMenu(self._window), self._comparing
        self._add_typed(menu, self._window.add_beside)
        shown = {model.source for model in self._window.session.others}
        for source, title in models_at_hand(self._window.session):
            action = menu.addAction(without_keys(title))
            action.setCheckable(True)
            action.setChecked(source in shown)
            action.setEnabled(bool(comparing.room))
            action.triggered.connect(lambda _=False, source=source: self._window.add_beside(source))
        menu.addSeparator()
        menu.addAction("The nine GPT-2 models of the article").triggered.connect(self.show_nine)
        menu.addSeparator()
        for text, slot in (("Folder…", self._add_folder), ("File…", self._add_file)):
            menu.addAction(text).triggered.connect(slot)
        return menu

    def _add_typed(self, menu: QMenu, add: Callable[[Source], object]) -> None:
        """Add the menu entry for typing any source."""
        action = menu.addAction("Id, path or formula…")
        action.setEnabled(bool(self._comparing.room))
        action.triggered.connect(lambda: AddPalette(self._window, add).popup())
        menu.addSeparator()

    def _make_panels_menu(self) -> QMenu:
        """Make the menu of models to draw in panels; choosing a drawn one removes it."""
        menu, comparing, session = QMenu(self._window), self._comparing, self._window.session
        drawn = [model.key for model in session.others if not model.in_grid]
        self._add_typed(menu, partial(comparing.add_source, in_grid=False))
        for source, title in models_at_hand(session):
            key = comparing.find(source)
            action = menu.addAction(without_keys(title))
            action.setCheckable(True)
            action.setChecked(key is not None)
            action.setEnabled(bool(comparing.room) if key is None else key in drawn)
            if key is None:
                action.triggered.connect(
                    lambda _=False, source=source: comparing.add_source(source, in_grid=False)
                )
            else:
                action.triggered.connect(lambda _=False, key=key: comparing.remove(key))
        if len(menu.actions()) == 2:
            menu.addAction("No other model on this machine; open one first").setEnabled(False)
        if drawn:
            menu.addSeparator()
            away = menu.addAction("Remove all")
            for key in drawn:
                away.triggered.connect(lambda _=False, key=key: comparing.remove(key))
        return menu

    def show_nine(self) -> None:
        """Show the nine models of the article, downloading those that are not local."""
        session = self._window.session
        nine = [row for row in session.models if row.entry.group in ARTICLE]
        here = [
            parsed(row.entry.id) for row in nine if row.state != "online" or not session.offline
        ]
        if not here:
            session.notice = Notice(
                "None of the nine GPT-2 models is on this machine, and Helixscope is offline.",
                "Turn off “Work offline” in the File menu and try again.",
            )
            return
        self.show_several(NINE, here)

    def show_several(self, name: str, sources: Sequence[Source]) -> None:
        """Replace the models side by side, as a step of undo with a name."""
        session, controller = self._window.session, self._window.controller
        self._name = name
        self._waiting.stop()
        if session.model is not None and session.model.source in sources:
            self._add_all(sources)
            return
        # The others wait for the first one: a grid needs an open model, and the shown models stay
        # if it cannot be opened.
        self._others = sources[0], sources
        self._wait()
        controller.open(sources[0])

    def _wait(self) -> None:
        events = self._window.session.events
        self._waiting.to(events.shown, self._on_first_shown)
        self._waiting.to(events.opening, self._on_opening_changed)
        self._waiting.to(events.notice, self._on_notice)

    def choose_table(self, notice: Notice, table: str) -> None:
        """Open a notice's source with a chosen table, and then the models that wait for it."""
        if notice is self._failed:
            self._waiting.stop()
            self._wait()
        self._window.controller.choose_table(notice, table)

    def _add_all(self, sources: Sequence[Source]) -> None:
        with self._comparing.step(self._name, renames=True):
            self._comparing.clear()
            self._comparing.add_all(sources)

    def _on_first_shown(self) -> None:
        self._waiting.stop()
        model, (first, sources) = self._window.session.model, self._others
        self._others = None, ()
        if model is not None and model.source == first:
            self._add_all(sources)

    def _on_opening_changed(self, opening: Source | None) -> None:
        model, (first, _) = self._window.session.model, self._others
        is_first = model is not None and model.source == first
        if opening is None and not is_first:
            self._waiting.stop()  # the opening was cancelled

    def _on_notice(self, notice: Notice | None) -> None:
        if notice is not None and notice.source is not None and notice.source == self._others[0]:
            self._waiting.stop()  # it could not be opened
            self._failed = notice

    def go_on(self, step: int) -> None:
        """Make the next or previous model of the list the current one."""
        keys = self._comparing.keys
        if keys:
            key = keys[(keys.index(self._window.session.current_key) + step) % len(keys)]
            if self._comparing.make_current(key) and self.grid.alone is not None:
                self.grid.show_alone(key)

    def toggle_alone(self) -> None:
        """Let the current model fill the grid, or show all models."""
        key = self._window.session.current_key
        self.grid.show_alone(key if self.grid.alone is None else None)

    def _add_folder(self) -> None:
        title = "Add a Hugging Face model folder for comparison"
        if folder := self._window.ask_folder(title, MODELS):
            self._comparing.add_source(folder)

    def _add_file(self) -> None:
        from gui.window.host import file_filter

        title = "Add a tensor file for comparison"
        if file := self._window.ask_file(title, MODELS, file_filter()):
            self._comparing.add_source(file)


def models_at_hand(session: Session) -> tuple[tuple[Source, str], ...]:
    """Return sources and titles of other models: recent files and folders, then models here.

    Models to download, saved work, the open model and those in the grid are left out.
    """
    here = [row.entry for row in session.models if row.state != "online"]
    known = {identity_of(row.entry.id) for row in session.models}
    recent = [
        source
        for source in session.recent
        if identity(source) not in known
        and (source.kind == "path" or source.of is not None)
        and source.id not in session.missing
        and not is_work(source.id)
    ]
    models = {
        identity(source): (source, source_title(source, session.models))
        for source in recent[: MAX_RECENT + 1]
    }
    for entry in here:
        models.setdefault(identity_of(entry.id), (parsed(entry.id), entry.title))
    if session.model is not None:
        beside = (model.source for model in session.others if model.in_grid)
        for source in (session.model.source, *beside):
            models.pop(identity(source), None)
    return tuple(models.values())
