"""What is said of something that went wrong. Knows no toolkit."""

from __future__ import annotations

import os
import traceback

from geometry.errors import HelixscopeError
from geometry.hub.faults import AccessDenied, HubError, Offline, WholeDownload
from gui.session import Notice

ONLINE = "Switch off “Work offline” in the File menu, then try again."
"""What to do about the switch, in the words of the menu."""
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
        What could not be done, in words: for errors that are faults of ours.
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
    advice, retry, whole = error.advice, False, 0
    if isinstance(error, HubError):
        # What has to be put right elsewhere first can be tried again as well.
        retry = error.retryable or isinstance(error, AccessDenied)
    if isinstance(error, WholeDownload):
        whole = -1 if error.nbytes is None else error.nbytes
    if isinstance(error, Offline):
        retry = not is_offline_by_environment()
        advice = ONLINE if retry else UNSET
    return Notice(str(error), advice, details, candidates, source, retry, whole)
