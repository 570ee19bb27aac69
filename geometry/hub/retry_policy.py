"""The policy for retries of failed requests, and their delays."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from geometry.checkpoints.transfer import Transfer
from geometry.hub.faults import BrokenTransfer, HubBusy, HubError, NoNetwork, duration_text

log = logging.getLogger(__name__)

_PROGRESS = 65_536
"""A connection that delivered this many bytes before it broke does not count as a failure."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Limits on retries.

    Attributes
    ----------
    attempts
        Requests for the same bytes, including the first.
    first_wait_s, longest_wait_s
        The wait doubles with each retry, from the first to the longest.
    longest_retry_after_s
        If a server requests a longer wait, there is no retry.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_retry_after_s: float = 60.0


class RetryPolicy:
    """Decides, after each failure of a request, whether to retry it."""

    def __init__(self, retries: Retries, transfer: Transfer) -> None:
        self._retries = retries
        self._transfer = transfer
        self._failures = 0
        self._received = 0

    def wait_or_raise(self, error: HubError, received: int = 0) -> None:
        """Wait until it is time to retry, or raise the error.

        Parameters
        ----------
        error
            The failure.
        received
            Bytes of the piece received so far.

        Raises
        ------
        HubError
            ``error``, if it is permanent or all retries have failed.
        Cancelled
            The transfer was cancelled during the wait.
        """
        if received - self._received >= _PROGRESS:
            self._failures = 0
        fresh, self._received = received > self._received, received
        self._failures += 1
        # If bytes were received, the Hub is reachable, and the failure may be temporary.
        passing = error.passing or (isinstance(error, NoNetwork) and received > 0)
        if not passing or self._failures >= self._retries.attempts:
            raise error
        seconds = self._wait_s(error, fresh)
        log.info("%s Trying again in %.1f s (failure %d).", error, seconds, self._failures)
        if seconds:
            self._transfer.wait(
                seconds, lambda left: f"{error} Trying again in {duration_text(left)}."
            )

    def _wait_s(self, error: HubError, fresh: bool) -> float:
        if isinstance(error, HubBusy) and error.wait_s is not None:
            if error.wait_s > self._retries.longest_retry_after_s:
                raise error
            return error.wait_s
        if isinstance(error, BrokenTransfer) and (fresh or self._failures == 1):
            # An idle connection closed by the server, or one that broke: retry immediately.
            return 0.0
        doubled = self._retries.first_wait_s * 2.0 ** (self._failures - 1)
        return min(doubled, self._retries.longest_wait_s)
