"""A model that is shown beside the open one, in a view of its own. Knows no toolkit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.state.session import Session

MAIN = 0
"""The key of the open model, which no :class:`Compared` has."""


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """One of the models beside the open one.

    Attributes
    ----------
    key
        Tells it from the others for as long as the program runs; never used again.
    source
        What was opened for it.
    name
        What it is called: the same as in captions once it is open.
    session
        What is shown of it: its model (None while that is being read), range, components, curve
        and norms. How it is coloured, and which positions are selected and hovered, follow the
        open model's session, as far as its table has them.
    """

    key: int
    source: str
    name: str
    session: Session
