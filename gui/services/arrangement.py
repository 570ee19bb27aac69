"""Arrangements of the open models: recorded before and after a change, for undo."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.state.session import SAVED, Session
from gui.state.values import Fields

if TYPE_CHECKING:
    from geometry.measures.norms import NormProfile
    from geometry.models.model import PositionalModel
    from geometry.pca.curve import Curve
    from gui.services.loading import OpenRequest
    from gui.state.camera import Place


@dataclass(frozen=True, eq=False, slots=True)
class ArrangedModel:
    """One of the open models, with everything needed to show it again.

    It lacks the preparation of fast fits, which takes most of an open model's memory.
    """

    key: int  # As in :class:`gui.state.session.OpenModel`
    wanted: OpenRequest
    components: tuple[int, int, int]
    in_grid: bool
    color: int
    # None while it is loading, or if it could not be opened.
    model: PositionalModel | None = None
    curve: Curve | None = None
    norms: NormProfile | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Arrangement:
    """The open models, and the session's fields that may change with them."""

    models: tuple[ArrangedModel, ...]  # In the order of the list
    current: int  # The key of the current one
    fields: Fields
    place: Place | None = None  # Of the current model's camera

    def __getitem__(self, key: int) -> ArrangedModel:
        return next(model for model in self.models if model.key == key)

    def same_models(self, other: Arrangement) -> bool:
        """Return whether both have the same models in the same places, and the same current one."""
        same_places = _places(self.models) == _places(other.models)
        return same_places and self.current == other.current

    def differing(self, other: Arrangement) -> Fields:
        """Return the fields with other values in another arrangement."""
        return {name: v for name, v in self.fields.items() if v != other.fields[name]}


def _places(models: Iterable[ArrangedModel]) -> list[tuple[object, ...]]:
    return [
        (model.key, model.in_grid, model.wanted.source if model.model is None else id(model.model))
        for model in models
    ]


def arranged_fields(session: Session) -> Fields:
    """Return the fields that opening work, or adding and removing models, may change."""
    # A training step refers to a history that is dropped when another model is opened.
    names = {*SAVED, "alignment", "hidden_curves", "work_file"} - {"snapshot"}
    return {name: getattr(session, name) for name in names}
