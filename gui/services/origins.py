"""Where the history of an open model is: looked for once, on the job that opens the model."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from geometry.checkpoints.errors import SourceError
from geometry.models.model import PositionalModel

if TYPE_CHECKING:
    from geometry.history.origins import Origin

_noted: WeakKeyDictionary[PositionalModel, Origin | SourceError | None] = WeakKeyDictionary()


def note_origin(model: PositionalModel) -> None:
    """Look for a model's history, and note where it is, or why this cannot be known."""
    from geometry.history.origins import find_history

    try:
        _noted[model] = find_history(model)
    except SourceError as error:
        _noted[model] = error


def origin_of(model: PositionalModel) -> Origin | None:
    """Return where a model's history was when it was opened; None if it has none.

    Raises
    ------
    SourceError
        Its folder could not be read.
    """
    if model not in _noted:  # opened elsewhere, as by a command
        note_origin(model)
    found = _noted[model]
    if isinstance(found, SourceError):
        raise found
    return found
