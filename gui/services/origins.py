"""Origins of the histories of open models: determined once, in the job that opens the model."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from geometry.checkpoints.errors import SourceError
from geometry.models.model import PositionalModel

if TYPE_CHECKING:
    from collections.abc import Hashable

    from geometry.history.origins import Origin

log = logging.getLogger(__name__)

QUIET_MIN = 10
"""Minutes without a record after which a training may no longer run."""

_noted: WeakKeyDictionary[PositionalModel, Origin | SourceError | None] = WeakKeyDictionary()
_followed: WeakKeyDictionary[PositionalModel, Origin | None] = WeakKeyDictionary()
_progress: WeakKeyDictionary[PositionalModel, Hashable] = WeakKeyDictionary()


def note_origin(model: PositionalModel) -> None:
    """Look for a model's history, and store its origin, or the error, and how far it has come."""
    from geometry.history.going_on import end_of
    from geometry.history.origins import find_history, own_file
    from geometry.history.versions import log_version
    from geometry.models.sources.history_steps import LastLogged

    may_be_rewritten = log_version(model)
    try:
        _noted[model] = noted = find_history(model)
        _followed[model] = own_file(model) if noted is None and may_be_rewritten else noted
    except SourceError as error:
        _noted[model] = error
    # Not how far the log has come by now, but where the model is.
    store = model.store
    _progress[model] = (
        end_of(store.log) if isinstance(store, LastLogged) else training_progress(model)
    )


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


def may_go_on(model: PositionalModel) -> bool:
    """Return whether a model is of a training that may still write to its files."""
    return _progress.get(model) is not None


def training_progress(model: PositionalModel) -> Hashable:
    """Return how far a model's training has come by now; None if it has none, or is not readable.

    See :func:`geometry.history.going_on.progress_of`.
    """
    from geometry.history.going_on import progress_of

    origin = _followed.get(model)
    if origin is None or model.source.kind != "path":
        return None  # such as the bundled model, whose training is not going on
    try:
        # One of several steps that was opened by itself stays what it is.
        if origin.kind == "folder" and not os.path.samefile(model.source.id, origin.source):
            return None
        return progress_of(origin)
    except (SourceError, OSError) as error:
        log.info("%s is not followed: %s", origin.source, error)
        return None


def progress_shown(model: PositionalModel) -> Hashable:
    """Return how far a model's training had come when it was opened."""
    return _progress.get(model)


def training_state(progress: Hashable, now: float | None = None) -> str:
    """Describe how far a training has come; "" if its files do not tell.

    Parameters
    ----------
    progress
        As of :func:`training_progress`.
    now
        In seconds since 1970; the time by the clock if None.
    """
    from geometry.history.going_on import LoggedEnd
    from gui.style.theme import format_count

    if not isinstance(progress, LoggedEnd):
        return ""
    minutes = int(((time.time() if now is None else now) - progress.time) // 60)
    state = "running"
    if progress.ended:
        state = "ended"
    elif minutes >= QUIET_MIN:
        state = (
            f"no record for {minutes} min" if minutes < 120 else f"no record for {minutes // 60} h"
        )
    return f"step {format_count(progress.step)}, {state}"
