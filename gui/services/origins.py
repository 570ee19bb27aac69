"""Origins of the histories of open models: determined once, in the job that opens the model."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from geometry.checkpoints.errors import SourceError
from geometry.models.model import PositionalModel

if TYPE_CHECKING:
    from geometry.history.origins import Origin

_noted: WeakKeyDictionary[PositionalModel, Origin | SourceError | None] = WeakKeyDictionary()


def note_origin(model: PositionalModel) -> None:
    """Look for a model's history, and store its origin, or the error."""
    from geometry.history.origins import find_history

    try:
        _noted[model] = find_history(model)
    except SourceError as error:
        _noted[model] = error


def origin_of(model: PositionalModel) -> Origin | None:
    """Return the origin of a model's history when it was opened; None if it has none.

    Raises SourceError: its folder could not be read.
    """
    if model not in _noted:  # opened elsewhere, as by a command
        note_origin(model)
    origin = _noted[model]
    if isinstance(origin, SourceError):
        raise origin
    return origin
