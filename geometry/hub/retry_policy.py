"""When a request that failed is sent again, and after which wait."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from geometry.checkpoints.transfer import Transfer
from geometry.hub.faults import BrokenTransfer, HubBusy, HubError, NoNetwork, duration_text

log = logging.getLogger(__name__)

#: A connection that brought so many bytes before it broke did its work: it counts as no failure.
_PROGRESS = 65_536


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long.

    Attributes
    ----------
    attempts
        Requests for the same bytes, the first one included.
    first_wait_s, longest_wait_s
        The wait doubles from the one to the other.
    longest_retry_after_s
        A server that asks for a longer wait is not waited for.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_retry_after_s: float = 60.0


class RetryPolicy:
    """Bears the failures of one request, until it is lost."""

    def __init__(self, retries: Retries, transfer: Transfer) -> None:
        self._retries = retries
        self._transfer = transfer
        self._failures = 0
        self._received = 0

    def wait_or_raise(self, error: HubError, received: int = 0) -> None:
        """Wait until it is time to try again, or raise what failed.

        Parameters
        ----------
        error
            Why it failed.
        received
            Bytes of what is wanted that are here by now.

        Raises
        ------
        HubError
            ``error``: it was tried often enough, or it will not pass.
        Cancelled
            Someone cancelled during the wait.
        """
        if received - self._received >= _PROGRESS:
            self._failures = 0
        fresh, self._received = received > self._received, received
        self._failures += 1
        # Where bytes have come, there is a Hub and a way to it: the network went away just now.
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
            # A connection that was kept open too long, or one that broke on the way: go on.
            return 0.0
        doubled = self._retries.first_wait_s * 2.0 ** (self._failures - 1)
        return min(doubled, self._retries.longest_wait_s)
