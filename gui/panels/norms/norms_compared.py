"""Which models' norms are laid over the open one's: those of the panel's menu, and compared ones.

Knows no Qt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.services.loading import remembered_name
from gui.services.overlay_curves import overlay_curves
from gui.state.session import Overlay, Session

if TYPE_CHECKING:
    from geometry.measures.row_lengths import RowLengths
    from gui.services.questions import QuestionContext

SLOT = "norms"


@dataclass(frozen=True, slots=True)
class RowLengthsOf:
    """Norms and steps of all rows of a model's table, which is in memory."""

    def answer(self, about: QuestionContext) -> RowLengths:
        """Measure them."""
        from geometry.measures.row_lengths import row_lengths

        return row_lengths(about.model.W_pos)


def question_of(_: Session) -> RowLengthsOf:
    """Return what the panel asks about a compared model: the same of each."""
    return RowLengthsOf()


def laid_over(session: Session) -> tuple[Overlay, ...]:
    """Return the user's overlays, and then the compared models that are none of these."""
    sources = {remembered_name(overlay.source) for overlay in session.overlays}
    twice = {c.key for c in session.compared if sources and remembered_name(c.source) in sources}
    return (
        *session.overlays,
        *(
            Overlay(row_id(c.key), c.name, c.result, c.shown, c.color, c.key)
            for c in overlay_curves(session, SLOT, question_of)
            if c.key not in twice
        ),
    )


def row_id(key: int) -> str:
    """Return what stands for a compared model where overlays have their sources."""
    return f"compared {key}"


def note_of(session: Session, overlay: Overlay) -> str:
    """Return what an overlay's tooltip says: its source, and that it is shown beside as well."""
    if not overlay.key:
        return overlay.source
    source = next(c.source for c in session.compared if c.key == overlay.key)
    return f"{source}, shown beside the open model; all its positions"
