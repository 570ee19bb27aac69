"""The wait that a server requests before the next request."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_S = 30 * 24 * 3600.0
"""Maximum wait, 30 days in seconds."""


def wait_asked_for(headers: Mapping[str, str]) -> float | None:
    """Return the requested wait in seconds, from Retry-After (seconds or a date) or RateLimit.

    See RFC 9110, section 10.2.3. A date is relative to the answer's own Date, so that a wrong local
    clock has no effect. Waits are limited to 30 days.
    """
    try:
        wait = _wait(headers)
    except (ValueError, OverflowError, TypeError, LookupError):  # of parsers, for invalid dates
        return None
    return None if wait is None else min(max(wait, 0.0), _LONGEST_S)


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
