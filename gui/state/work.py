"""What saved work holds: which model was shown and how. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, TypeGuard, get_args

import numpy as np

from geometry.history.timelapse import Basis
from gui.state.camera import Place
from gui.state.values import ColorBy, Fields, Outside, Projection, Quantity
from gui.style.theme import COLORMAPS

if TYPE_CHECKING:
    from gui.state.aligned_curve import CurveAlignment


MOST_BOOKMARKS = 200
"""Bookmarks that are kept: more would neither be found again nor read in a moment."""


@dataclass(frozen=True, eq=False, slots=True)
class OtherView:
    """A model beside the open one.

    Attributes
    ----------
    source, beside, table, commit, positions, place
        As in :class:`Work`.
    components
        Those on its three axes, from 1.
    """

    source: str
    positions: tuple[int, int]
    components: tuple[int, int, int]
    beside: str = ""
    table: str | None = None
    commit: str | None = None
    place: Place | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """What was shown.

    Attributes
    ----------
    source
        What was opened: a folder, a file, a model's id.
    beside
        The same as a path from the saved file's folder; "" where there is none.
    table, commit
        The tensor that was chosen as the table; the commit that the files were of, if any.
    fingerprint
        Of the model, to tell whether the same one was found again.
    positions
        First and last shown position, both inclusive.
    fields
        Values of the session's fields, by the names in :data:`FIELDS`.
    place
        Where the camera was; None if nobody has looked yet.
    turn : (3, 3) float64
        The display transform.
    panel
        Name of the dock that was in front; "" for none.
    size
        Width and height of the window, in logical pixels; None if nobody told.
    layout, layout_version
        Where the docks were, as Qt writes it; empty if nobody told. And of which docks that is, see
        :data:`gui.window.settings.settings.LAYOUT_VERSION`: 2 in files that do not say it.
    bookmarks
        Other views, to go to.
    others, main_at
        The models beside this one in their order, and its place among them.
    laying
        What was laid over the curve; the key of a model beside it is its place in ``others``.
    panels
        What was chosen in panels, by the names of their docks: see :mod:`gui.panels.options`.
    """

    source: str
    positions: tuple[int, int]
    fields: Fields
    fingerprint: str = ""
    beside: str = ""
    table: str | None = None
    commit: str | None = None
    place: Place | None = None
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    panel: str = ""
    size: tuple[int, int] | None = None
    layout: bytes = b""
    layout_version: int = 2
    bookmarks: tuple[Bookmark, ...] = ()
    others: tuple[OtherView, ...] = ()
    main_at: int = 0
    laying: CurveAlignment | None = None
    panels: Mapping[str, Fields] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Bookmark:
    """A view to come back to.

    Attributes
    ----------
    key
        32 hexadecimal digits, its own for ever.
    name, note
        What the user calls it, and says of it.
    model
        What the model is called, as in captions.
    work
        What is shown.
    picture
        A small PNG of it.
    """

    key: str
    name: str
    note: str
    model: str
    work: Work
    picture: bytes

    @property
    def scope(self) -> str:
        """The model and the range: "gpt2 · positions 1–1023"."""
        first, last = self.work.positions
        return f"{self.model} · positions {first}–{last}"


class ModelFields(TypedDict):
    """What of a model is saved, as :class:`Work` and :class:`OtherView` have it."""

    source: str
    beside: str
    table: str | None
    commit: str | None


def _one_of(*allowed: object) -> Callable[[object], bool]:
    return lambda value: value in allowed


def whole(value: object, least: int = 0) -> TypeGuard[int]:
    """Tell whether a value is an integer, and not below the least."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def flag(value: object) -> TypeGuard[bool]:
    """Tell whether a value is true or false."""
    return isinstance(value, bool)


def three(value: object) -> TypeGuard[tuple[int, int, int]]:
    """Tell whether a value is three components, from 1."""
    return isinstance(value, tuple) and len(value) == 3 and all(whole(k, 1) for k in value)


FIELDS: Mapping[str, Callable[[object], bool]] = {
    "components": three,
    "color_by": _one_of(*get_args(ColorBy)),
    "color_component": lambda value: whole(value, 1),
    "colormap": lambda value: value in COLORMAPS,
    "outside": _one_of(*get_args(Outside)),
    "projection": _one_of(*get_args(Projection)),
    "keep_turned": flag,
    "selection": lambda value: isinstance(value, tuple) and all(map(whole, value)),
    "prompt": lambda value: isinstance(value, str),
    "norms_centred": flag,
    "norms_quantity": _one_of(*get_args(Quantity)),
    "norms_after": whole,
    "norms_relative": flag,
    "sphere": flag,
    "cameras_linked": flag,
    "ranges_linked": flag,
    "measure": flag,
    "basis": _one_of(*get_args(Basis)),
    "snapshot": lambda value: value is None or whole(value),
}
"""What of the session is saved, and which values each may have."""
