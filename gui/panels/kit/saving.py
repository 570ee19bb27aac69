"""Saving and copying of a panel's result, and its menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtWidgets import QMenu

from gui.export.save_result import ResultSaver
from gui.panels.kit.body import PanelBody
from gui.panels.kit.outputs import all_numbers, all_scripts, all_tables
from gui.panels.kit.spec import AnyPanel
from gui.panels.kit.views import AnyView, Texts
from gui.style.theme import FIGURE_WIDTHS, LIGHT, Theme
from gui.widgets.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ResultFiles:
    """Figure, numbers and script of a panel's result.

    Parameters
    ----------
    panel
        The panel, which is the parent of file dialogs.
    spec
        The panel's spec.
    view
        Returns the view of the shown result, with the colours of a theme or the panel's.

    Attributes
    ----------
    saver
        Writes files and copies; set before anything is saved or copied.
    """

    def __init__(
        self,
        panel: Panel,
        spec: AnyPanel,
        view: Callable[[Theme | None], AnyView],
        saver: ResultSaver | None,
    ) -> None:
        self._panel, self._spec, self._view = panel, spec, view
        self.saver = saver

    def figure(self) -> Callable[[], Figure]:
        """Return a function that draws the view for print, to be called on a thread."""
        spec, view = self._spec, self._view(LIGHT)
        return lambda: spec.figure(view)

    def numbers(self) -> dict[str, np.ndarray]:
        """Return the shown numbers, by column name."""
        return all_numbers(self._spec, self._view(None))

    def tables(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Return the shown numbers as tables, by name; the main one is called ""."""
        return all_tables(self._spec, self._view(None))

    def python(self) -> str:
        """Return a script that computes and prints the shown result."""
        return all_scripts(self._spec, self._view(None))

    def file_name(self) -> str:
        """Return the default file name, without an ending."""
        model = self._panel.session.model
        assert model is not None
        # A revision such as gpt2@refs/pr/1 has slashes.
        return f"{model.name.replace('/', '-')} {self._spec.name}"

    def menu(self, body: PanelBody | None, intend: Callable[[object], None]) -> QMenu:
        """Return the menu of saving and copying, with the entries of spec and body.

        Parameters
        ----------
        body
            The panel's, if it has one.
        intend
            Called with intents.
        """
        menu, view, name = QMenu(self._panel), self._view(None), self.file_name()
        for texts in self._spec.texts(view):
            menu.addAction(f"{texts.title}…", partial(self._save_text, texts))
        if body is not None:
            body.fill_menu(menu)
        menu.addAction("Save figure…", lambda: self._save_figure())
        for part, inches in FIGURE_WIDTHS.items() if self._spec.has_plots else ():
            save = partial(self._save_figure, inches)
            menu.addAction(f"Save figure as wide as a {part}…", save)
        menu.addAction("Save numbers…", self._save_numbers)
        menu.addAction("Copy figure", lambda: self._saver.copy_figure(self.figure()))
        if self._spec.script(view):
            menu.addAction("Copy as Python", lambda: self._saver.copy_text(self.python()))
        entries = [(entry.text, entry.make_intent(name)) for entry in self._spec.menu]
        entries = [*self._spec.acts(view), *entries]
        if entries:
            menu.addSeparator()
        for text, intent in entries:
            menu.addAction(text, partial(intend, intent))
        return menu

    @property
    def _saver(self) -> ResultSaver:
        assert self.saver is not None
        return self.saver

    def _save_figure(self, width: float | None = None) -> None:
        self._saver.save_figure(self._panel, self.file_name(), self.figure(), width)

    def _save_numbers(self) -> None:
        self._saver.save_numbers(self._panel, self.file_name(), self.numbers(), self.tables())

    def _save_text(self, texts: Texts) -> None:
        kinds = {ending: called for ending, (called, _) in texts.kinds.items()}
        written = {ending: write for ending, (_, write) in texts.kinds.items()}
        self._saver.save_text(self._panel, texts.title, self.file_name(), kinds, written)
