"""The content of saved work: the shown model and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, TypeGuard, get_args

import numpy as np

from geometry.checkpoints.column_files import PositionColumn
from geometry.history.timelapse import Basis
from gui.state.camera import Place
from gui.state.layout import Layout
from gui.state.values import (
    LINE_WIDTH,
    LINE_WIDTHS,
    MOST_COLUMNS,
    OPACITIES,
    PERIOD,
    PERIODS,
    POINT_SIZE,
    POINT_SIZES,
    ColorBy,
    ColorSpan,
    CurveParts,
    Fields,
    Outside,
    Projection,
    Quantity,
    within,
)
from gui.style.theme import COLORMAPS, CYCLIC

if TYPE_CHECKING:
    from gui.state.aligned_curve import CurveAlignment
    from gui.state.values import ColumnWidths


LARGEST_WHOLE = 2**31 - 1
"""Largest integer of saved work: Qt's controls hold none beyond."""
MOST_OTHERS = 100
"""Maximum number of models beside the open one: each is opened again, with a view of its own."""
MOST_SELECTED = 100_000
"""Maximum number of selected positions: no table has more."""
LONGEST_NAME = 10_000
"""Maximum number of characters of a name or a path in saved work: twice those of any path."""
LONGEST_TEXT = 1_000_000
"""Maximum number of characters of a note or a prompt in saved work: ten times those that are split
into tokens.
"""
MOST_BOOKMARKS = 200
"""Maximum number of bookmarks, so that reading and searching them stays fast."""


@dataclass(frozen=True, eq=False, slots=True)
class OtherView:
    """A model beside the open one.

    Fields without a comment are as in :class:`Work`.
    """

    source: str
    # None if it was still being read, and nobody had chosen any: all, or those of the open model.
    positions: tuple[int, int] | None
    components: tuple[int, int, int]  # Those on its three axes, from 1
    beside: str = ""
    table: str | None = None
    commit: str | None = None
    place: Place | None = None
    in_grid: bool = True  # Whether it had a view of its own


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """The saved state of a window."""

    source: str  # The opened source: a folder, a file, a model's id
    positions: tuple[int, int]  # First and last shown position, both inclusive
    fields: Fields  # Values of the session's fields, by the names in :data:`FIELDS`
    fingerprint: str = ""  # Fingerprint of the model, to recognise it
    beside: str = ""  # Its path relative to the saved file's folder; "" if there is none
    # The tensor chosen as the table; the commit of the files, if any.
    table: str | None = None
    commit: str | None = None
    place: Place | None = None  # The camera; None if there has been no view yet
    # (3, 3) float64: the display transform.
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    panel: str = ""  # Name of the front dock; "" for none
    # Width and height of the window, in logical pixels; None if unknown.
    size: tuple[int, int] | None = None
    layout: Layout | None = None  # The places of the docks; None if unknown
    bookmarks: tuple[Bookmark, ...] = ()  # Saved views
    # The models beside this one in order, and its place among them.
    others: tuple[OtherView, ...] = ()
    main_at: int = 0
    # The view that fills the grid: 0 for the open model's, from 1 the others'; None for all.
    alone: int | None = None
    # The curve aligned with the shown one; a compared model's key is its index in ``others``.
    alignment: CurveAlignment | None = None
    # The file it was opened from or saved to, "" for none, and whether it differs from that.
    file: str = ""
    changed: bool = False
    # The panels' options, by the names of their docks; see
    # :func:`gui.panels.kit.saved_choices.usable`.
    panels: Mapping[str, Fields] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # What its file has of these, but not in a valid form


@dataclass(frozen=True, eq=False, slots=True)
class Bookmark:
    """A saved view."""

    key: str  # 32 hexadecimal digits, unique and permanent
    name: str
    note: str
    model: str  # The model's name, as in captions
    work: Work
    picture: bytes  # A small PNG

    @property
    def scope(self) -> str:
        """The model and the range: "gpt2 · positions 1–1023"."""
        first, last = self.work.positions
        return f"{self.model} · positions {first}–{last}"


class ModelFields(TypedDict):
    """Saved fields of a model, common to :class:`Work` and :class:`OtherView`."""

    source: str
    beside: str
    table: str | None
    commit: str | None


def _one_of(*allowed: object) -> Callable[[object], bool]:
    return lambda value: value in allowed


def whole(value: object, least: int = 0) -> TypeGuard[int]:
    """Return whether a value is an integer from ``least`` to :data:`LARGEST_WHOLE`."""
    return (
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_WHOLE
    )


def flag(value: object) -> TypeGuard[bool]:
    """Return whether a value is a bool."""
    return isinstance(value, bool)


def three(value: object) -> TypeGuard[tuple[int, int, int]]:
    """Return whether a value is three components, from 1."""
    return isinstance(value, tuple) and len(value) == 3 and all(whole(k, 1) for k in value)


def column_widths(value: object) -> TypeGuard[ColumnWidths]:
    """Return whether a value is keys of columns with their widths."""
    return (
        isinstance(value, tuple) and len(value) <= MOST_COLUMNS and all(map(_column_width, value))
    )


def _column_width(value: object) -> bool:
    match value:
        case (str() as key, width):
            return len(key) <= LONGEST_NAME and whole(width)
        case _:
            return False


FIELDS: Mapping[str, Callable[[object], bool]] = {
    "components": three,
    "color_by": _one_of(*get_args(ColorBy)),
    "color_component": lambda value: whole(value, 1),
    "color_period": lambda value: within(value, PERIODS),
    "color_column": lambda value: value is None or isinstance(value, PositionColumn),
    "colormap": lambda value: value in COLORMAPS,
    "cyclic_colormap": lambda value: value in COLORMAPS,
    "color_span": _one_of(*get_args(ColorSpan)),
    "line_width": lambda value: within(value, LINE_WIDTHS),
    "point_size": lambda value: within(value, POINT_SIZES),
    "curve_parts": _one_of(*get_args(CurveParts)),
    "opacity": lambda value: within(value, OPACITIES),
    "outside": _one_of(*get_args(Outside)),
    "projection": _one_of(*get_args(Projection)),
    "keep_turned": flag,
    "selection": lambda value: (
        isinstance(value, tuple) and len(value) <= MOST_SELECTED and all(map(whole, value))
    ),
    "prompt": lambda value: isinstance(value, str) and len(value) <= LONGEST_TEXT,
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
    "compare_columns": column_widths,
}
"""Saved fields of the session, with the check of their values."""
LATER: Fields = {
    "color_span": "table", "color_period": PERIOD, "color_column": None,
    "cyclic_colormap": CYCLIC, "line_width": LINE_WIDTH, "point_size": POINT_SIZE,
    "curve_parts": "both", "opacity": 1.0,
}  # fmt: skip
"""Saved fields that files of 0.1 lack, with what 0.1 showed."""
