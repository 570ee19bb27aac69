"""The content of saved work: the shown model and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gui.state.camera import Place
from gui.state.layout import Layout
from gui.state.values import Fields

if TYPE_CHECKING:
    from geometry.models.sources.source import Source
    from gui.state.aligned_curve import CurveAlignment


MAX_OTHERS = 100
"""Maximum number of models beside the open one: each is opened again, with its own view."""
MAX_BOOKMARKS = 200
"""Maximum number of bookmarks, so that reading and searching them stays fast."""


@dataclass(frozen=True, eq=False, slots=True)
class OtherView:
    """A model beside the open one.

    Fields without a comment are as in :class:`Work`.
    """

    source: Source
    # None if it was still loading and no range was chosen: all, or those of the open model.
    positions: tuple[int, int] | None
    components: tuple[int, int, int]  # Those on its three axes, from 1
    beside: str = ""
    table: str | None = None
    commit: str | None = None
    place: Place | None = None
    in_grid: bool = True  # Whether it had its own view


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """The saved state of a window."""

    source: Source
    positions: tuple[int, int]  # First and last shown position, both inclusive
    fields: Fields  # Values of the session's fields, those in :data:`gui.state.session.SAVED`
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
    # The curve aligned with the shown one; another open model's key is its index in ``others``.
    alignment: CurveAlignment | None = None
    # The file it was opened from or saved to, "" for none, and whether it differs from that.
    file: str = ""
    changed: bool = False
    # The panels' options, by the names of their docks; see
    # :func:`gui.panels.kit.saved_choices.usable`.
    panels: Mapping[str, Fields] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # Names of the parts that are invalid in its file


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
