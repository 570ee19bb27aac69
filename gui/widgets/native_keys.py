"""Keys as the system writes them."""

import re

from PySide6.QtGui import QKeySequence

_KEYS = re.compile(r"((?:(?:Ctrl|Alt|Shift|Meta)\+)+)(F\d+|[A-Za-z]+|\S)?")


def native_keys(text: str) -> str:
    """Return a text with its keys as the system writes them: “⌘K” on macOS for “Ctrl+K”."""
    return _KEYS.sub(lambda match: _native(match[1], match[2] or ""), text)


def _native(modifiers: str, key: str) -> str:
    """Return modifiers with a key, or with an action of the mouse, as the system writes them."""
    written = _sequence(modifiers + key)
    return written or _sequence(f"{modifiers}A").removesuffix("A") + key


def _sequence(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
