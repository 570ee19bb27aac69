"""Models in the memory of this process, held under their sources."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import SourceError
from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

_HELD: dict[str, Callable[[Source, str | None], PositionalModel]] = {}


def hold(name: str, opener: Callable[[Source, str | None], PositionalModel]) -> Source:
    """Hold a model until the process ends, and return the source by which it opens.

    Parameters
    ----------
    name
        For captions.
    opener
        Opens it, from that source and a choice of a table or None.
    """
    source = Source.in_memory(name, secrets.token_hex(8))
    _HELD[source.id] = opener
    return source


def open_held(source: Source, table: str | None) -> PositionalModel:
    """Open a model that is held.

    Raises
    ------
    SourceError
        It is not held here, or has no such table.
    """
    opener = _HELD.get(source.id)
    if opener is None:
        raise SourceError(
            f"{source.name} was opened from the memory of a process.",
            "Save the model, and open the file.",
        )
    return opener(source, table)
