"""What all panels share: they listen to the session, and stop listening when closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psygnal import SignalInstance
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from gui.session import Session
from gui.theme import Theme


class Panel(QWidget):
    """A part of the window that shows some fields of the session.

    A panel reads the session and emits what the user wants as Qt signals named after the intent;
    it computes nothing, starts no work and knows no other panel.

    Parameters
    ----------
    session
        The state to show.
    theme
        The colours to start with; :meth:`set_theme` changes them.
    """

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.theme = theme
        self._listening: list[tuple[SignalInstance, Callable[..., Any]]] = []

    def listen(self, signal: SignalInstance, slot: Callable[..., Any]) -> None:
        """Call ``slot`` on every change until :meth:`release`; a released panel hears nothing."""
        # A psygnal callback that reaches a deleted widget raises, so each is undone by hand.
        signal.connect(slot)
        self._listening.append((signal, slot))

    def set_theme(self, theme: Theme) -> None:
        """Take new colours; panels that draw themselves extend this."""
        self.theme = theme

    def release(self) -> None:
        """Stop listening to the session; the owner calls this before the panel goes away."""
        for signal, slot in self._listening:
            signal.disconnect(slot, missing_ok=True)
        self._listening.clear()


def label(text: str = "", role: str = "", *, selectable: bool = False) -> QLabel:
    """Make a label of one of the style sheet's roles: muted, small, heading, title, badge."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        made.setProperty("role", role)
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made
