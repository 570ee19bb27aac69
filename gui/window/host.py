"""The interface of the window for its parts: session, docks, panels, dialogs."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray
from PySide6.QtWidgets import QDialog, QDockWidget, QFileDialog, QMainWindow, QToolBar

from geometry.models.sources.source import Source
from gui.services.save_folders import MODELS, folder_for, remember_folder

if TYPE_CHECKING:
    from gui.export.save_film import FilmSaver
    from gui.services.controller import Controller
    from gui.services.undo import Undo
    from gui.state.layout import Layout
    from gui.state.session import Session
    from gui.style.theme import Theme
    from gui.viewport.grid import ViewGrid
    from gui.viewport.viewport import Viewport
    from gui.widgets.panel import Panel
    from gui.window.actions import Actions
    from gui.window.arrangement.result_docks import ResultDocks
    from gui.window.settings.settings import Settings
    from gui.window.status_bar import StatusBar

TABLES = "Tables (*.csv *.tsv *.txt);;All files (*)"


def file_filter() -> str:
    """Return the kinds of files that open as models, for a file dialog."""
    from geometry.checkpoints.readers import READERS
    from geometry.checkpoints.suffixes import FILE_SUFFIXES, TABLE_SUFFIXES

    weights = [suffix for suffix in FILE_SUFFIXES if suffix not in TABLE_SUFFIXES]
    own = [f".{suffix}" for suffix in READERS]
    kinds = {"Weights": weights, "Tables": TABLE_SUFFIXES, "Of plugins": own}
    parts = [f"{kind} ({' '.join(f'*{s}' for s in kinds[kind])})" for kind in kinds if kinds[kind]]
    return ";;".join([*parts, "All files (*)"])


class HostWindow(QMainWindow):
    """The interface of the window for its parts.

    :class:`gui.window.main_window.MainWindow` creates the parts and sets these attributes;
    importing it in a part would be a cycle.
    """

    session: Session
    controller: Controller
    settings: Settings
    theme: Theme
    viewport: Viewport
    grid: ViewGrid
    films: FilmSaver
    docks: dict[str, QDockWidget]
    results: ResultDocks
    commands: Actions
    undo: Undo
    status_bar: StatusBar
    toolbar: QToolBar

    @property
    @abstractmethod
    def panels(self) -> dict[str, Panel]:
        """The panels by their docks' names, built on first use, after the first frame."""

    @abstractmethod
    def arrangement(self) -> Layout:
        """Return the places of the docks; a maximised one counts as restored."""

    @abstractmethod
    def arrange_as(self, layout: Layout) -> None:
        """Put the docks in their places, after restoring a maximised one."""

    @abstractmethod
    def restore_docks(self, state: QByteArray) -> None:
        """Restore the places of the docks from a ``saveState()``, but not the toolbar."""

    @abstractmethod
    def make_panel(self, dock: str) -> Panel:
        """Create the panel of a dock, unconnected."""

    def ask_folder(self, title: str, kind: str) -> str:
        """Ask for a folder, starting at the last one of this kind; "" if none is chosen."""
        folder = QFileDialog.getExistingDirectory(self, title, folder_for(self.session, kind))
        if folder:
            remember_folder(self.session, kind, Path(folder))
        return folder

    def ask_file(self, title: str, kind: str, kinds: str) -> str:
        """Ask for a file, starting in the last folder of this kind; "" if none is chosen.

        ``kinds`` are the dialog's file filters.
        """
        start = folder_for(self.session, kind)
        file, _ = QFileDialog.getOpenFileName(self, title, start, kinds)
        if file:
            remember_folder(self.session, kind, Path(file))
        return file

    def open_folder(self) -> None:
        """Ask for a model folder and open it."""
        if folder := self.ask_folder("Open a Hugging Face model folder", MODELS):
            self.controller.open(folder)

    def open_file(self) -> None:
        """Ask for a tensor file and open it."""
        if file := self.ask_file("Open a file", MODELS, file_filter()):
            self.controller.open(file)

    def open_tokens(self) -> None:
        """Ask for a list of tokens and a model, and open the embeddings."""
        from gui.window.token_dialog import TokenDialog

        model = self.session.model
        source = "" if model is None else model.source.model.text
        if model is not None and model.source.of is None and model.tokens_tensor is None:
            source = ""  # the model has no tokens
        dialog = TokenDialog(self, source)
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        if accepted:
            self.controller.open(dialog.source)

    def open_columns(self) -> None:
        """Ask for a table, and colour the curve by one of its columns."""
        title = "Colour by a column of a table"
        if file := self.ask_file(title, title, TABLES):
            self.controller.color_by_file(Path(file))

    def add_beside(self, source: str | Source) -> None:
        """Show a source beside the open model, in its own view."""
        comparing, source = self.controller.comparing, Source.of_any(source)
        key = comparing.find(source)
        if key in {model.key for model in self.session.others if not model.in_grid}:
            comparing.give_view(key)
        else:
            comparing.add_source(source)

    def set_field(self, field: str, value: object) -> None:
        """Set a field of the session that the user may set."""
        self.session.want(**{field: value})

    def focus_on(self, dock: str) -> None:
        """Bring a panel to the front, and focus it."""
        self.bring(dock)
        self.panels[dock].setFocus()

    def start_in(self, dock: str) -> None:
        """Bring a panel to the front, and focus its main control."""
        self.bring(dock)
        self.panels[dock].take_focus()

    def bring(self, dock: str) -> None:
        """Bring a panel to the front, without changing the focus."""
        self.results.bring(dock)
