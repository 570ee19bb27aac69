"""Names of models that differ, where several are shown together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from geometry.models.sources.source import Source


def name_apart(name: str, source: Source, others: Iterable[tuple[str, Source]]) -> str:
    """Return the name of a model, with its folder if another model has the same name.

    Parameters
    ----------
    name, source
        The model's.
    others
        Those of other models. The folder is the nearest one that all of the same name have
        otherwise; for models on the Hub, their owner.
    """
    own = PurePath(source.model.id).parts
    same = [
        PurePath(other.model.id).parts
        for other_name, other in others
        if other_name == name and other.model != source.model
    ]
    for depth in range(2, len(own) + 1) if same else ():
        folder = own[-depth]
        if folder != name and all(parts[-depth:][:1] != (folder,) for parts in same):
            return f"{folder}/{name}"
    return name
