"""One selection and one hover for several models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gui.state.session import Session
from gui.style.listening import Listening


class LinkedMarks:
    """Selects and hovers the same positions in several models, if their tables have them.

    Parameters
    ----------
    session
        The application's session, whose selection and hover those of the other models follow.

    Attributes
    ----------
    selected
        The selected positions, including those outside the current model's table.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.selected: tuple[int, ...] = ()
        self._hovered: int | None = None
        self._showing = False
        self._listening = Listening()
        self._listening.to(session.events.selection, self._on_selected)
        self._listening.to(session.events.hover, self._on_hovered)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def select(self, positions: tuple[int, ...]) -> None:
        """Select positions in each model that has them, keeping the hover."""
        self.selected = positions
        self.show()

    def hover(self, position: int | None) -> None:
        """Hover a position in each model that has it, keeping the selection."""
        self._hovered = position
        self.show()

    def show(self) -> None:
        """Apply selection and hover to all models, after one has changed."""
        self._showing = True
        for session in (self._session, *(model.session for model in self._session.others)):
            n = 0 if session.model is None else session.model.n_positions
            session.selection = tuple(p for p in self.selected if p < n)
            hover = self._hovered
            session.hover = hover if hover is not None and hover < n else None
        self._showing = False

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore selection and hover at the end of the block."""
        selected, hovered = self.selected, self._hovered
        yield
        self.selected, self._hovered = selected, hovered
        self.show()

    def narrow(self) -> None:
        """Reduce the selection to the current model's positions, when it is alone."""
        self.selected, self._hovered = self._session.selection, self._session.hover

    def _on_selected(self) -> None:
        self._follow(self._session.selection)

    def _on_hovered(self) -> None:
        # The selection is kept even beyond the current model's table.
        self._follow(self.selected)

    def _follow(self, selected: tuple[int, ...]) -> None:
        if self._showing:
            return
        if self._session.others:
            self.selected, self._hovered = selected, self._session.hover
            self.show()
        else:
            self.narrow()
