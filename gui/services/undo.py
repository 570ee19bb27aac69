"""Undo and redo of changes of the view."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from gui.state.camera import Place
from gui.state.session import UNDONE, Session
from gui.state.values import Fields
from gui.style.listening import Listening

if TYPE_CHECKING:
    from gui.services.arrangement import Arrangement
    from gui.services.comparing import Comparing, Ranges

CHOICES = "choices of "
"""Begins the key of a panel's choices; its dock's name follows."""
CAMERA = "camera"
MODELS = "models"
"""The open models, as an :class:`gui.services.arrangement.Arrangement`."""
RANGES = "ranges"
"""Ranges of the models but the current one, as :class:`gui.services.comparing.Ranges`."""
MAX_CHANGES = 200
"""Maximum number of remembered changes."""
LINKED = "same positions and components"
"""Name of the change that links all models to the open one's range."""
MAX_MODELS = 18
"""Maximum number of models kept open for undo alone: two full grids, as their tables and token
embeddings stay in memory."""
ANY_FIELDS, SAME_FIELDS = 0.05, 0.7
"""Seconds within which changes of any fields, and of the same fields, are merged."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A change: fields with their values before and after, the camera's, or the models."""

    before: Fields
    after: Fields
    at: float
    dragged: bool = False
    step: str = ""  # The name of a change of the models
    title: str = ""  # The panel whose choices these are

    @property
    def name(self) -> str:
        if self.title:
            return f"options of {self.title}"
        return self.step or UNDONE.get(next(iter(self.before)), CAMERA)


class Undo:
    """Undo history of the view, the selection, panels' choices, and the models side by side.

    Continuous changes, by a drag or a key held down, are undone together. Opening another model can
    be undone too, which restores the previous models.
    """

    def __init__(
        self,
        session: Session,
        comparing: Comparing,
        camera_place: Callable[[], Place],
        move_camera: Callable[[Place], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._comparing = comparing
        comparing.on_step, comparing.on_linked = self._on_step, self._on_linked
        comparing.camera_place = camera_place
        self._session, self._clock = session, clock
        self._camera_place, self._move_camera = camera_place, move_camera
        self._done: list[_Change] = []
        self._undone: list[_Change] = []
        self._replaying = False
        self.on_changed: Callable[[], None] = lambda: None
        # Shows a panel's choices, by its dock's name, and returns its previous ones.
        self.show_choices: Callable[[str, Fields], Fields] = lambda _, choices: choices
        self._listening = Listening()
        for name in UNDONE:
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
            self._done.append(replace(change, before=self._show(change.after), at=-ANY_FIELDS))
            self.on_changed()

    def separate(self) -> None:
        """Do not merge the next change with the last one."""
        if self._done:
            self._done[-1] = replace(self._done[-1], at=-SAME_FIELDS, dragged=False)

    def choices_changed(self, panel: str, title: str, before: Fields, after: Fields) -> None:
        """Record a change of a panel's choices by the user."""
        if not self._replaying:
            self._remember(CHOICES + panel, before, after, title)

    def camera_left(self, place: Place) -> None:
        """Record the camera's place before the user moves it."""
        if not self._replaying and self._session.model is not None:
            self._remember(CAMERA, place, None)

    def _show(self, values: Fields) -> Fields:
        """Show values, and return the previous ones."""
        session, comparing = self._session, self._comparing
        fields = {name: v for name, v in values.items() if not _is_separate(name)}
        choices = {name: v for name, v in values.items() if name.startswith(CHOICES)}
        now: Fields = {name: getattr(session, name) for name in fields}
        self._replaying = True
        try:
            if CAMERA in values:
                now = {**now, CAMERA: self._camera_place()}
            if MODELS in values:
                now = {MODELS: comparing.arrangement(), **now}
                comparing.restore(cast("Arrangement", values[MODELS]))
            if RANGES in values:
                now = {**now, RANGES: comparing.ranges}
            session.change(**fields)
            for name, chosen in choices.items():
                panel = name.removeprefix(CHOICES)
                now = {**now, name: self.show_choices(panel, cast("Fields", chosen))}
            if RANGES in values:  # after unlinking them
                comparing.show_ranges(cast("Ranges", values[RANGES]))
            if CAMERA in values:
                self._move_camera(cast("Place", values[CAMERA]))
            return now
        finally:
            self._replaying = False

    def _on_field_changed(self, name: str, value: object, before: object) -> None:
        if not self._replaying and not self._comparing.in_step and value != before:
            self._remember(name, before, value)

    def _on_step(self, name: str, before: Arrangement, after: Arrangement) -> None:
        """Remember a change of the models, with the fields that it changed."""
        if self._replaying:
            return
        self._undone.clear()
        was: dict[str, object] = {MODELS: before, **before.differing(after)}
        now: Fields = {MODELS: after, **after.differing(before)}
        if before[before.current].model is not after[after.current].model:
            was[CAMERA] = before.place
        there = {id(arranged.model) for arranged in after.models}
        for arranged in before.models:
            if arranged.model is not None and id(arranged.model) not in there:
                arranged.model.forget_embeddings()
        self._done.append(_Change(was, now, self._clock(), step=name))
        del self._done[:-MAX_CHANGES]
        self._bound_models()
        self.on_changed()

    def _on_linked(self, before: Ranges) -> None:
        """Remember that all models took the open one's range and components."""
        if self._replaying:
            return
        self._undone.clear()
        was: dict[str, object] = {"ranges_linked": False, RANGES: before}
        now: dict[str, object] = {"ranges_linked": True, RANGES: self._comparing.ranges}
        self._done.append(_Change(was, now, self._clock(), step=LINKED))
        del self._done[:-MAX_CHANGES]
        self.on_changed()

    def _bound_models(self) -> None:
        """Forget the oldest changes if more models than allowed are kept for undo alone."""
        kept: set[int] = set()
        for at in reversed(range(len(self._done))):
            arrangement = self._done[at].before.get(MODELS)
            if arrangement is not None:
                kept.update(
                    id(arranged.model) for arranged in cast("Arrangement", arrangement).models
                )
            if len(kept) > MAX_MODELS:
                del self._done[: at + 1]
                return

    def _on_model_shown(self) -> None:
        if not self._comparing.in_step:  # the first model
            self.clear()

    def clear(self) -> None:
        """Forget all changes."""
        self._done.clear()
        self._undone.clear()
        self.on_changed()

    def _remember(self, name: str, before: object, after: object, title: str = "") -> None:
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
            self._done.append(_Change({name: before}, {name: after}, now, dragged, title=title))
            del self._done[:-MAX_CHANGES]
        self.on_changed()

    def _continues(self, last: _Change, name: str, now: float, dragged: bool) -> bool:
        """Return whether a change is merged with the last one."""
        if last.step or (name == CAMERA) != (CAMERA in last.before):
            return False
        if dragged or (name in last.before and last.dragged and now - last.at < SAME_FIELDS):
            return name in last.before and last.dragged
        return now - last.at < (SAME_FIELDS if name in last.before else ANY_FIELDS)


def _is_separate(name: str) -> bool:
    """Return whether a part of a change is not a field of the session."""
    return name in (CAMERA, MODELS, RANGES) or name.startswith(CHOICES)
