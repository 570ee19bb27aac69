"""The policy for retries of failed requests, and their delays, also those that servers request."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

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


_MAX_WAIT_S = 30 * 24 * 3600.0
"""Maximum wait that a server can request, in seconds: 30 days."""


def wait_asked_for(headers: Mapping[str, str]) -> float | None:
    """Return the requested wait in seconds, from Retry-After (seconds or a date) or RateLimit.

    See RFC 9110, section 10.2.3. A date is relative to the answer's own Date, so that a wrong local
    clock has no effect. Waits are limited to 30 days.
    """
    try:
        wait = _wait(headers)
    except (ValueError, OverflowError, TypeError, LookupError):  # of parsers, for invalid dates
        return None
    return None if wait is None else min(max(wait, 0.0), _MAX_WAIT_S)


def _wait(headers: Mapping[str, str]) -> float | None:
    from huggingface_hub.utils import parse_ratelimit_headers

    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    until = _date(text)
    if until is not None:
        now = _date(headers.get("Date", "")) or datetime.now(UTC)
        return (until - now).total_seconds()
    limit = parse_ratelimit_headers(headers)
    return float(limit.reset_in_seconds) if limit is not None and not limit.remaining else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError, LookupError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
