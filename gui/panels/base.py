"""What all panels share: they listen to the session, and stop listening when closed."""

from __future__ import annotations

from collections.abc import Callable

from psygnal import SignalInstance
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from gui.state.session import Session
from gui.state.values import Fields
from gui.style.listening import Listening
from gui.style.theme import Theme

INTERVAL_MS = 80
"""Time between two updates of what may wait during a drag."""


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
        self._listening = Listening()
        self._throttle: Throttle | None = None

    def listen(self, signal: SignalInstance, slot: Callable[..., object]) -> None:
        """Call ``slot`` on every change until :meth:`release`; a released panel hears nothing."""
        self._listening.to(signal, slot)

    def listen_throttled(self, signal: SignalInstance, slot: Callable[[], None]) -> None:
        """Listen to what changes with every tick of a drag, without holding up the curve.

        While a range is dragged, the slot is called a few times a second and once more at the
        end; otherwise on every change. A panel that is painted with each tick costs the viewport
        a third of its frames: Qt composes the whole window for either.
        """
        if self._throttle is None:
            self._throttle = Throttle(self.session, self)
            self.listen(self.session.events.dragging, self._throttle.on_dragging_changed)
        throttle = self._throttle
        self.listen(signal, lambda: throttle.call(slot))

    def configure(self, **options: object) -> None:
        """Make choices, as another panel, a lesson or saved work refers to them.

        Raises
        ------
        TypeError
            When the panel has no such choice.
        """
        if options:
            raise TypeError(f"{type(self).__name__} takes no options, got {sorted(options)}")

    def options(self) -> Fields:
        """Return what :meth:`configure` takes to show the same again; all of it is JSON."""
        return {}

    def set_in_front(self, in_front: bool) -> None:
        """Take notice of whether the panel is the one of its tabs that can be seen."""

    def take_focus(self) -> None:
        """Put the focus where the user types or chooses."""
        self.setFocus()

    def set_theme(self, theme: Theme) -> None:
        """Take new colours; panels that draw themselves extend this."""
        self.theme = theme

    def release(self) -> None:
        """Stop listening to the session; the owner calls this before the panel goes away."""
        self._listening.stop()
        if self._throttle is not None:
            self._throttle.stop()


class Throttle(QObject):
    """Gathers calls while a range is dragged; otherwise they are made at once.

    Parameters
    ----------
    session
        Tells whether a range is dragged.
    """

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._waiting: dict[Callable[[], None], None] = {}
        self._timer = QTimer(self, interval=INTERVAL_MS, singleShot=True)
        self._timer.timeout.connect(self.flush)

    def call(self, slot: Callable[[], None]) -> None:
        """Call a slot now, or soon."""
        if not self._session.dragging:
            slot()
            return
        self._waiting[slot] = None
        if not self._timer.isActive():
            self._timer.start()

    def on_dragging_changed(self, dragging: bool) -> None:
        """Catch up when a drag ends."""
        if not dragging:
            self.flush()

    def flush(self) -> None:
        """Make the calls that wait."""
        self._timer.stop()
        waiting, self._waiting = self._waiting, {}
        for slot in waiting:
            slot()

    def stop(self) -> None:
        """Forget the calls that wait; the owner goes away."""
        self._timer.stop()
        self._waiting = {}
