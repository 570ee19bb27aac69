"""Validation of stored keys, and the keys that commands may have."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QKeySequence

from gui.window.actions import COMMANDS, MENUS, OWN_WORKSPACES, Command

PANEL_KEYS = "123456789"
_MENU_KEYS = {f"Alt+{title.partition('&')[2][0].upper()}" for title in MENUS.values()}
_NAVIGATION = ("Tab", "Backtab", "Return", "Enter")
OWN = {command.name: command.shortcut for command in COMMANDS}
"""The default keys of commands."""


def usable(stored: object) -> tuple[dict[str, str], list[str]]:
    """Return the stored keys that can be used, and the names of those that cannot.

    If two commands have the same key, the changed one gets its default again.
    """
    if stored is None:
        return {}, []
    if not isinstance(stored, dict):
        return {}, ["all of them"]
    keys = {
        name: key
        for name, key in stored.items()
        if name in OWN and isinstance(key, str) and (not key or not why_not(key))
    }
    while (conflict := _first_conflict(keys)) is not None:
        del keys[conflict]
    return keys, [str(name)[:40] for name in stored if name not in keys]


def _first_conflict(keys: Mapping[str, str]) -> str | None:
    """Return a changed command whose key another command has, too; None if there is none."""
    return next((name for name, key in keys.items() if user_of(key, keys, name)), None)


def user_of(key: str, keys: Mapping[str, str], but: str = "") -> Command | None:
    """Return the command that has a key, other than ``but``."""
    now = {**OWN, **keys}
    users = (c for c in COMMANDS if key and now[c.name] == key and c.name != but)
    return next(users, None)


def why_not(key: str) -> str:
    """Return why a key cannot be given to a command, as a sentence; "" if it can."""
    sequence = QKeySequence(key)
    if sequence.count() != 1 or sequence.toString() != key:
        return "This is not a key."
    if key in PANEL_KEYS:
        return "The keys 1 to 9 open panels."
    if key in OWN_WORKSPACES:
        return f"{OWN_WORKSPACES[0]} to {OWN_WORKSPACES[-1]} choose your own workspaces."
    if key in _MENU_KEYS:
        return "This key opens a menu."
    if key.rpartition("+")[2] in _NAVIGATION and "Ctrl" not in key:
        return "Tab and Enter are reserved for moving between controls and using them."
    return ""
