"""Undo and redo of changes of the view."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from gui.state.camera import Place
from gui.state.session import Session
from gui.state.values import Fields
from gui.style.listening import Listening

NAMES = {
    "positions": "range",
    "components": "components",
    "color_by": "colours",
    "color_component": "colours",
    "colormap": "colours",
    "outside": "positions outside the range",
    "projection": "projection",
    "selection": "selection",
    "sphere": "sphere",
    "measure": "measuring",
    "alignment": "curve laid over",
    "norms_quantity": "norms",
    "norms_centred": "norms",
    "norms_after": "norms",
    "norms_relative": "norms",
}
"""Fields that can be undone, and their names in the menu."""
CAMERA = "camera"
MOST = 200
"""Maximum number of remembered changes."""
AT_ONCE, IN_ONE_GO = 0.05, 0.7
"""Seconds within which changes of any fields, and of the same fields, are merged."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A change: fields with their values before and after, or the camera's."""

    before: Fields
    after: Fields
    at: float
    dragged: bool = False

    @property
    def name(self) -> str:
        return NAMES.get(next(iter(self.before)), CAMERA)


class Undo:
    """Undo history of the view and the selection, for one model.

    Continuous changes, by a drag or a key held down, are undone together. Opening another model
    clears the history.
    """

    def __init__(
        self,
        session: Session,
        camera_place: Callable[[], Place],
        move_camera: Callable[[Place], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session, self._clock = session, clock
        self._camera_place, self._move_camera = camera_place, move_camera
        self._done: list[_Change] = []
        self._undone: list[_Change] = []
        self._replaying = False
        self.on_changed: Callable[[], None] = lambda: None
        self._listening = Listening()
        for name in NAMES:
            self._listening.to(session.events[name], partial(self._on_field_changed, name))
        self._listening.to(session.events.shown, self._on_model_shown)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()

    @property
    def undoes(self) -> str:
        """Name of the change to undo; "" for none."""
        return self._done[-1].name if self._done else ""

    @property
    def redoes(self) -> str:
        """Name of the change to redo; "" for none."""
        return self._undone[-1].name if self._undone else ""

    def undo(self) -> None:
        """Undo the last change."""
        if self._done:
            change = self._done.pop()
            self._undone.append(replace(change, after=self._show(change.before)))
            self.on_changed()

    def redo(self) -> None:
        """Redo the change undone last."""
        if self._undone:
            change = self._undone.pop()
            # Later changes are not merged with it.
            self._done.append(replace(change, before=self._show(change.after), at=-AT_ONCE))
            self.on_changed()

    def separate(self) -> None:
        """Do not merge the next change with this one, however soon it comes."""
        if self._done:
            self._done[-1] = replace(self._done[-1], at=-IN_ONE_GO, dragged=False)

    def camera_left(self, place: Place) -> None:
        """Record the camera's place before the user moves it."""
        if not self._replaying and self._session.model is not None:
            self._remember(CAMERA, place, None)

    def _show(self, values: Fields) -> Fields:
        """Show values, and return the previous ones."""
        session = self._session
        self._replaying = True
        try:
            if CAMERA in values:
                now: Fields = {CAMERA: self._camera_place()}
                self._move_camera(cast("Place", values[CAMERA]))
                return now
            now = {name: getattr(session, name) for name in values}
            session.change(**values)
            return now
        finally:
            self._replaying = False

    def _on_field_changed(self, name: str, value: object, before: object) -> None:
        if not self._replaying and value != before:
            self._remember(name, before, value)

    def _on_model_shown(self) -> None:
        self._done.clear()
        self._undone.clear()
        self.on_changed()

    def _remember(self, name: str, before: object, after: object) -> None:
        now, dragged = self._clock(), self._session.dragging
        last = self._done[-1] if self._done else None
        self._undone.clear()
        if last is not None and self._continues(last, name, now, dragged):
            self._done[-1] = replace(
                last,
                before={name: before, **last.before},
                after={**last.after, name: after},
                at=now,
            )
        else:
            self._done.append(_Change({name: before}, {name: after}, now, dragged))
            del self._done[:-MOST]
        self.on_changed()

    def _continues(self, last: _Change, name: str, now: float, dragged: bool) -> bool:
        """Return whether a change is merged with the last one."""
        if (name == CAMERA) != (CAMERA in last.before):
            return False
        if dragged or (name in last.before and last.dragged and now - last.at < IN_ONE_GO):
            return name in last.before and last.dragged
        return now - last.at < (IN_ONE_GO if name in last.before else AT_ONCE)
