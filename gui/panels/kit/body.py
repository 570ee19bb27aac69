"""Base classes of panels' contents and controls other than plots and a row of controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QMenu, QWidget

from gui.panels.kit.views import AnyView
from gui.state.session import Session
from gui.style.theme import Theme

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


class PanelBody(QWidget):
    """The content of a panel other than a row of plots.

    Parameters
    ----------
    session
        The session, for hover and selection.

    Attributes
    ----------
    focus_widget
        Gets the panel's focus, also on a click.
    """

    chosen = Signal(str, object)
    """A choice of the panel, by its name, and its new value."""
    changed = Signal(dict)
    """Several choices of the panel at once."""
    hoverRequested = Signal(object)
    """The position under the mouse, or None."""
    selectionRequested = Signal(tuple)
    """Positions; the last one becomes the current one."""
    intended = Signal(object)
    """An intent: one of the small classes of :mod:`gui.panels.kit.intents`."""
    offered = Signal(str, object, bool)
    """A choice of the panel, one of its options or None for all, and whether it is visible."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.focus_widget: QWidget | None = None

    def controls(self) -> Sequence[QWidget]:
        """Return widgets to add after the panel's controls."""
        return ()

    def show_choices(self, choices: Any) -> None:
        """Show the choices, with or without a result."""

    def draw(self, view: AnyView) -> None:
        """Show a view."""
        raise NotImplementedError

    def draw_without_result(self) -> None:
        """Show how to get a result.

        See :meth:`gui.panels.kit.spec.PanelSpec.helps_without_result`.
        """

    def show_marks(self) -> None:
        """Mark the hovered and selected positions."""

    def leave(self) -> None:
        """Stop what runs only while the panel is visible."""

    def forget(self) -> None:
        """Release the view, which holds models; it is drawn again before it is shown."""

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; the caller redraws."""
        self.theme = theme

    def keys(self) -> Mapping[int, Callable[[], None]]:
        """Return actions by key, without modifiers."""
        return {}

    def take_focus(self) -> None:
        """Give the focus to the main widget."""
        (self.focus_widget or self).setFocus()

    def fill_menu(self, menu: QMenu) -> None:
        """Add entries to the panel's menu, before those for saving and copying."""

    def stop(self) -> None:
        """Stop timers before deletion."""


class PanelForm(QWidget):
    """Controls beside the result or above it, if they do not fit in a row.

    They are visible in all states, so that the user can change an impossible choice.
    """

    changed = Signal(dict)
    """Choices of the panel, by their names, with their new values."""

    def set_choices(self, choices: Any, model: PositionalModel | None, theme: Theme) -> None:
        """Show choices without emitting a signal, and offer the options of a model."""
        raise NotImplementedError

    def stands_beside(self, room: QSize) -> bool:
        """Return whether to place it beside the result instead of above it."""
        return True
