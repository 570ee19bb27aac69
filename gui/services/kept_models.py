"""The cache of downloads for the settings page: listing, removing, descriptions.

Functions that take a cache access the disk, so they run as jobs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from gui.style.theme import format_bytes

if TYPE_CHECKING:
    from geometry.hub.cached_commits import CachedCommit
    from geometry.hub.tensor_cache import TensorCache

# Those of Python's calendar are in the language of the system.
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True)
class Kept:
    """The content of the cache."""

    commits: tuple[CachedCommit, ...] = ()  # Commits of models, most recently used first
    usage: int = 0  # Size of all files, in bytes
    # Whether the folder exists, and is writable.
    folder_exists: bool = False
    writable: bool = True


@dataclass(frozen=True, slots=True)
class Removed:
    """The content after a removal, and its result."""

    kept: Kept  # The remaining content
    freed: int  # Bytes removed
    message: str  # One sentence; "" if there was nothing to remove


def list_kept(cache: TensorCache) -> Kept:
    """List the content of the cache.

    Raises HelixscopeError: the folder cannot be read.
    """
    try:
        with os.scandir(cache.root):
            pass
    except FileNotFoundError:
        return Kept()
    except OSError as error:
        raise HelixscopeError(
            f"{cache.root} cannot be read: {error.strerror or error}.",
            "Models opened meanwhile are downloaded but not cached.",
        ) from error
    writable = os.access(cache.root, os.W_OK | os.X_OK)
    return Kept(cache.commits(), cache.usage(), folder_exists=True, writable=writable)


def remove_commits(cache: TensorCache, commits: Sequence[CachedCommit]) -> Removed:
    """Remove some commits of models."""
    freed = sum(cache.remove(commit.repo, commit.commit) for commit in commits)
    return _removed(list_kept(cache), freed, commits)


def remove_all(cache: TensorCache) -> Removed:
    """Remove everything."""
    before = cache.commits()
    freed = cache.clear()
    return _removed(list_kept(cache), freed, before)


def change_limit(cache: TensorCache, max_bytes: int) -> Removed:
    """Set the size limit; entries beyond it are removed."""
    before = cache.usage()
    cache.max_bytes = max_bytes
    cache.trim()
    kept = list_kept(cache)
    freed = max(before - kept.usage, 0)
    return Removed(kept, freed, _freed(freed) if freed else "")


def _removed(kept: Kept, freed: int, wanted: Sequence[CachedCommit]) -> Removed:
    here = {(commit.repo, commit.commit) for commit in kept.commits}
    still = [commit for commit in wanted if (commit.repo, commit.commit) in here]
    if not still:
        return Removed(kept, freed, _freed(freed))
    what = short_name(still[0]) if len(still) == 1 else f"{len(still)} models"
    return Removed(kept, freed, f"{what} could not be removed; see the log for details.")


def _freed(nbytes: int) -> str:
    return f"Removed {format_bytes(nbytes)}."


def short_name(commit: CachedCommit) -> str:
    """Return the model's id and the first digits of its commit: ``openai-community/gpt2@607a30d``.

    The model can be opened by that name; the Hub and git shorten commits the same way.
    """
    return f"{commit.repo}@{commit.commit[:7]}"


def when(moment: float, now: float) -> str:
    """Format a time: ``today, 14:32``, ``3 March`` or ``3 March 2025``.

    Both are in seconds since 1970.
    """
    then, today = datetime.fromtimestamp(moment), datetime.fromtimestamp(now)
    if then.date() == today.date():
        return f"today, {then:%H:%M}"
    if then.date() == today.date() - timedelta(days=1):
        return f"yesterday, {then:%H:%M}"
    day = f"{then.day} {_MONTHS[then.month - 1]}"
    return day if then.year == today.year else f"{day} {then.year}"
