"""Arrangements of the models side by side: recorded before and after a change, for undo."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.state.session import MAIN, SAVED, Session
from gui.state.values import Fields

if TYPE_CHECKING:
    from geometry.measures.norms import NormProfile
    from geometry.models.model import PositionalModel
    from geometry.pca.curve import Curve
    from gui.services.loading import OpenRequest
    from gui.state.camera import Place


@dataclass(frozen=True, eq=False, slots=True)
class ArrangedModel:
    """One of the models side by side, with everything needed to show it again.

    It lacks the preparation of fast fits, which takes most of an open model's memory.
    """

    key: int  # As in :class:`gui.state.session.ComparedModel`; MAIN for the open one
    wanted: OpenRequest
    components: tuple[int, int, int]
    in_grid: bool
    # None while it is loading, or if it could not be opened.
    model: PositionalModel | None = None
    curve: Curve | None = None
    norms: NormProfile | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Arrangement:
    """The models side by side, and the session's fields that may change with them."""

    models: tuple[ArrangedModel, ...]  # In the order of the grid, the open one included
    fields: Fields
    place: Place | None = None  # Of the open model's camera

    @property
    def main(self) -> ArrangedModel:
        """The open model."""
        return next(model for model in self.models if model.key == MAIN)

    def same_models(self, other: Arrangement) -> bool:
        """Return whether both have the same models in the same places."""
        return _places(self.models) == _places(other.models)

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
