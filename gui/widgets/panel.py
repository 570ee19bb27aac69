"""The base of all panels, which listen to the session until they are closed."""

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
"""Interval of updates while a range is dragged, or the steps of a training history change."""


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

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session = session
        self.theme = theme
        self._listening = Listening()
        self._throttle: Throttle | None = None

    def listen(self, signal: SignalInstance, slot: Callable[..., object]) -> None:
        """Call ``slot`` on every change until :meth:`release`."""
        self._listening.to(signal, slot)

    def listen_throttled(self, signal: SignalInstance, slot: Callable[[], None]) -> None:
        """Like :meth:`listen`, but less often during a drag, so that the curve is not delayed.

        While a range is dragged, the slot is called a few times a second and once more at the
        end; otherwise on every change. Painting a panel on each tick would cost the viewport a
        third of its frames, as Qt composes the whole window for both.
        """
        if self._throttle is None:
            self._throttle = Throttle(self.session, self)
            self.listen(self.session.events.dragging, self._throttle.on_dragging_changed)
        throttle = self._throttle
        self.listen(signal, lambda: throttle.call(slot))

    def min_height_for(self, width: int) -> int:
        """Return the minimum height at which the panel is not cut off, at a given width."""
        return max(self.minimumSizeHint().height(), self.minimumHeight())

    def configure(self, **options: object) -> None:
        """Set choices, as other panels, lessons and saved work store them.

        Raises
        ------
        TypeError
            If the panel has no such choice.
        """
        if options:
            raise TypeError(f"{type(self).__name__} takes no options, got {sorted(options)}")

    def configure_lesson(self, **options: object) -> None:
        """As :meth:`configure`, for a step of a lesson: other choices become the initial ones."""
        self.configure(**options)

    def options(self) -> Fields:
        """Return the arguments of :meth:`configure` for the current choices, as JSON values."""
        return {}

    def restore(self, options: Fields) -> None:
        """Set the choices of a file of saved work, and the defaults for missing ones."""

    def all_choices(self) -> object:
        """Return all choices, also those that no file has; None for a panel without choices."""
        return None

    def restore_all(self, choices: object) -> None:
        """Set the choices to :meth:`all_choices` from before, of the same model."""

    def set_in_front(self, in_front: bool) -> None:
        """Set whether the panel is the visible one of its tabs."""

    @property
    def is_settled(self) -> bool:
        """Whether no drawing is pending."""
        return True

    def take_focus(self) -> None:
        """Give the focus to the main control."""
        self.setFocus()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; panels that draw themselves extend this."""
        self.theme = theme

    def release(self) -> None:
        """Stop listening to the session; called by the owner before deletion."""
        self._listening.stop()
        if self._throttle is not None:
            self._throttle.stop()


class Throttle(QObject):
    """Delays calls while a range is dragged.

    Parameters
    ----------
    session
        ``session.dragging`` is whether a range is dragged.
    """

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._waiting: dict[Callable[[], None], None] = {}
        self._timer = QTimer(self, interval=INTERVAL_MS, singleShot=True)
        self._timer.timeout.connect(self.flush)

    def call(self, slot: Callable[[], None]) -> None:
        """Call a slot now, or delayed during a drag."""
        if not self._session.dragging:
            slot()
            return
        self._waiting[slot] = None
        if not self._timer.isActive():
            self._timer.start()

    def on_dragging_changed(self, dragging: bool) -> None:
        """Make the pending calls when a drag ends."""
        if not dragging:
            self.flush()

    def flush(self) -> None:
        """Make the pending calls."""
        self._timer.stop()
        waiting, self._waiting = self._waiting, {}
        for slot in waiting:
            slot()

    def stop(self) -> None:
        """Discard the pending calls."""
        self._timer.stop()
        self._waiting = {}
