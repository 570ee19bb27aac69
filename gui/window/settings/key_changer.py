"""The user's keys of commands, stored and applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gui.state.values import Notice
from gui.window.actions import COMMANDS
from gui.window.dialogs import show_in_front
from gui.window.settings.keys import usable

if TYPE_CHECKING:
    from gui.window.host import HostWindow
    from gui.window.settings.keys_dialog import KeysDialog


class KeyChanger:
    """The keys of a window's commands, and the dialog to change them.

    Attributes
    ----------
    damaged
        Notice of stored keys that cannot be used; None if all can.
    """

    def __init__(self, window: HostWindow) -> None:
        self._window = window
        self.changed, left_out = usable(window.settings.keys)
        self.damaged: Notice | None = None
        if left_out:
            titles = {command.name: command.title for command in COMMANDS}
            names = ", ".join(titles.get(name, name) for name in left_out)
            self.damaged = Notice(f"Stored keys that cannot be used are left out: {names}.")
            window.settings.keys = self.changed  # so that the notice is shown once
        self.dialog: KeysDialog | None = None
        if self.changed:
            window.commands.set_keys(self.changed)

    def show(self) -> None:
        """Show the dialog, with all commands."""
        from gui.window.settings.keys_dialog import KeysDialog

        if self.dialog is None:
            self.dialog = KeysDialog(self.changed, self._window)
            self.dialog.keysChanged.connect(self.apply)
        if not self.dialog.isVisible():
            self.dialog.search.clear()
        show_in_front(self.dialog)

    def apply(self, keys: Mapping[str, str]) -> None:
        """Use and store keys by their commands' names; other commands have their defaults."""
        self.changed = dict(keys)
        self._window.settings.keys = self.changed
        self._window.commands.set_keys(self.changed)
