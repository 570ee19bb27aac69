"""What is said of something that went wrong. Knows no toolkit."""

from __future__ import annotations

import os
import traceback
from dataclasses import replace

from geometry.checkpoints.errors import HelixscopeError
from geometry.hub.faults import AccessDenied, HubError, Offline, WholeDownload
from gui.services.loading import short_name
from gui.state.session import Notice

ONLINE = "Switch off “Work offline” in the File menu, then try again."
"""What to do about the switch, in the words of the menu."""
_ARTICLES = frozenset({"A", "No", "The", "There", "This"})
UNSET = "Unset HF_HUB_OFFLINE and start Helixscope again."


def is_offline_by_environment() -> bool:
    """Tell whether HF_HUB_OFFLINE forbids requests, whatever the switch says."""
    if "HF_HUB_OFFLINE" not in os.environ:  # mostly so, and the client need not be imported
        return False
    from geometry.hub.connections import offline_by_environment

    return offline_by_environment()


def notice_of(error: Exception, what: str, source: str = "") -> Notice:
    """Say what an error means to the user.

    Parameters
    ----------
    error
        What was raised.
    what
        What could not be done, in words: for errors that do not say so themselves.
    source
        What could not be opened, if that is what failed.
    """
    details = "".join(traceback.format_exception(error))
    if not isinstance(error, HelixscopeError):
        return Notice(
            f"{what}: {type(error).__name__}: {error}",
            "This is a fault of Helixscope; the details help to mend it.",
            details,
        )
    candidates = tuple(info.name for info in getattr(error, "candidates", ()))
    text, advice, retry, whole = str(error), error.advice, False, 0
    if isinstance(error, HubError):
        # What has to be put right elsewhere first can be tried again as well.
        retry = error.retryable or isinstance(error, AccessDenied)
        if not source or short_name(source) not in text:
            text = f"{what}: {_inside(text)}"
    if isinstance(error, WholeDownload):
        text = str(error)
        whole = -1 if error.nbytes is None else error.nbytes
    if isinstance(error, Offline):
        retry = not is_offline_by_environment()
        advice = ONLINE if retry else UNSET
    return Notice(text, advice, details, candidates, source, retry, whole)


def notice_beside(error: Exception, what: str) -> Notice:
    """Say what an error means where a model was to be shown beside the open one.

    Without the notice's buttons: they would open it in place of the open one.

    Parameters
    ----------
    error, what
        As for :func:`notice_of`.
    """
    return replace(notice_of(error, what), candidates=(), retry=False, whole=0)


def _inside(sentence: str) -> str:
    """Let a sentence go on after a colon; names of hosts stay as they are."""
    word = sentence.partition(" ")[0]
    return sentence[0].lower() + sentence[1:] if word in _ARTICLES else sentence
