"""Notices for errors."""

from __future__ import annotations

import os
import traceback
from dataclasses import replace

from geometry.checkpoints.errors import FileChanged, HelixscopeError, NoPositionalEmbeddings
from geometry.checkpoints.plugins import report_to
from geometry.hub.faults import (
    AccessDenied,
    BaseAway,
    HubError,
    LargeTensor,
    NeedsConsent,
    NotAsked,
    Offline,
)
from geometry.models.sources.source import Source
from gui.state.values import Notice

ONLINE = "Turn off “Work offline” in the File menu and try again."
"""Advice about the offline switch, with the menu's words."""
WHICH_TABLE = "Choose the tensor that has a row for each position."
WHICH_ROW = "Choose which of its rows is position 0."
_MAX_LINES = 12
_ARTICLES = frozenset({"A", "No", "The", "There", "This"})
UNSET = "Unset HF_HUB_OFFLINE and restart Helixscope."


def is_offline_by_environment() -> bool:
    """Return whether HF_HUB_OFFLINE disables requests, regardless of the switch."""
    if "HF_HUB_OFFLINE" not in os.environ:  # the usual case, without importing the client
        return False
    from geometry.hub.connections import offline_by_environment

    return offline_by_environment()


def notice_of(error: Exception, what: str, source: Source | None = None) -> Notice:
    """Return the notice for an error.

    Parameters
    ----------
    what
        Description of what failed, for errors without one.
    source
        The source that could not be opened, if any.
    """
    if not isinstance(error, HelixscopeError):
        return Notice(
            f"{what}: {type(error).__name__}: {error}",
            report_to(error),
            "".join(traceback.format_exception(error)),
        )
    details = _details(error, source)
    text, advice, retry, whole = str(error), error.advice, False, 0
    candidates, first_rows = getattr(error, "candidates", ()), getattr(error, "first_rows", ())
    if candidates:
        advice = WHICH_ROW if first_rows else WHICH_TABLE
    if isinstance(error, FileChanged) and source is not None:
        retry = True
    if isinstance(error, HubError):
        # Problems that have to be fixed elsewhere first can be retried as well.
        retry = error.retryable or isinstance(error, AccessDenied)
        if source is None or source.full_name not in text:
            text = f"{what}: {_inside(text)}"
    if isinstance(error, NotAsked):
        text = str(error)
    if isinstance(error, NeedsConsent):
        text = str(error)
        whole = -1 if error.nbytes is None else error.nbytes
    if isinstance(error, Offline):
        retry = not is_offline_by_environment()
        advice = ONLINE if retry else UNSET
    inside = source is not None and isinstance(error, NoPositionalEmbeddings)
    return Notice(
        text,
        advice,
        details,
        candidates,
        source,
        retry,
        whole,
        inside,
        first_rows=first_rows,
        asks=isinstance(error, NotAsked),
    )


def notice_beside(error: Exception, what: str, source: Source | None = None) -> Notice:
    """Return the notice for an error while opening a model beside the current one.

    Without buttons that would replace the open model.
    """
    notice = notice_of(error, what)
    if notice.candidates and source is not None:
        notice = replace(notice, text=f"{source.name}: {notice.text}", source=source)
    if isinstance(error, LargeTensor | BaseAway):
        notice = replace(notice, advice="Open it by itself first.")
    retry = notice.retry or isinstance(error, FileChanged)
    return replace(notice, beside=True, whole=0, retry=retry, inside=False)


def _details(error: HelixscopeError, source: Source | None) -> str:
    """Return the attempts, and the causes of an error; its traceback is in the log."""
    lines = [*getattr(error, "__notes__", ())] if source else []
    reason = error.__cause__
    while reason is not None and len(lines) < _MAX_LINES:
        own = isinstance(reason, HelixscopeError)
        lines.append(f"Reason: {reason}" if own else f"Reason: {type(reason).__name__}: {reason}")
        reason = reason.__cause__
    return "\n".join([*lines, "The log has the traceback."])


def _inside(sentence: str) -> str:
    """Return a sentence for use after a colon; names of hosts keep their case."""
    word = sentence.partition(" ")[0]
    return sentence[0].lower() + sentence[1:] if word in _ARTICLES else sentence
