"""The Hub's answers in JSON: files of a repository, its revisions, and found models.

What is not of the Hub's form raises ValueError, KeyError, TypeError or AttributeError. Entries of
that form with names that cannot be names are left out: nothing on the Hub is called so.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.plain_text import shortened, visible
from geometry.hub.address import HubAddress, parse_address

log = logging.getLogger(__name__)

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ETAG = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

MAX_FILES, MAX_REVISIONS = 100_000, 20_000
"""Files of a repository, its branches or tags: ten times as many as any has that holds a model."""

_LONGEST_PATH, _LONGEST_REVISION, _LONGEST_WORD = 1_000, 255, 100
"""Characters of a file's path, four times what file systems allow as a name; of a revision, as
much as they allow; of a model's task or library, which are single words."""

_MAX_COUNT = 2**63
"""No number of bytes or downloads is larger."""


@dataclass(frozen=True, eq=False, slots=True)
class Listing:
    """Files of a repository at a commit.

    Attributes
    ----------
    commit
        40 hexadecimal digits.
    files
        Names and sizes in bytes, None if unknown.
    etags
        Identities of their contents, by name, as far as known: SHA-256 of large files, the id in
        git of others.
    """

    commit: str
    files: Mapping[str, int | None]
    etags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Revision:
    """A branch or a tag of a repository, and its commit."""

    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A search result. Downloads are those of the last month; unknown texts are ""."""

    id: str
    downloads: int
    likes: int
    task: str
    library: str


def read_listing(answer: Any) -> Listing:
    """Read the answer about a model at a revision."""
    siblings = _entries(answer["siblings"], MAX_FILES)
    files: dict[str, int | None] = {}
    etags = {}
    for one in siblings:
        name, size = _text(one["rfilename"]), one.get("size")
        if _is_path(name):
            files[name] = None if size is None else _size(size)
            if etag := _etag(one):
                etags[name] = etag
        else:
            log.warning("A file is left out, for its name: %s", shortened(visible(name)))
    return Listing(_commit(answer["sha"]), MappingProxyType(files), MappingProxyType(etags))


def read_revisions(answer: Any) -> tuple[Revision, ...]:
    """Read the answer about a model's refs: branches, then tags."""
    listed = [
        revision
        for kind in ("branches", "tags")
        for revision in _entries(answer[kind], MAX_REVISIONS)
    ]
    revisions = (Revision(_text(one["name"]), _commit(one["targetCommit"])) for one in listed)
    return tuple(one for one in revisions if _is_revision(one.name))


def read_found(answer: Any, limit: int) -> tuple[FoundModel, ...]:
    """Read the first ``limit`` models of the answer to a search."""
    found = (_found(one) for one in _entries(answer, None)[:limit])
    return tuple(one for one in found if parse_address(one.id) == HubAddress(one.id))


def _found(one: Any) -> FoundModel:
    return FoundModel(
        id=_text(one["id"]),
        downloads=_count(one.get("downloads")),
        likes=_count(one.get("likes")),
        task=_word(one.get("pipeline_tag")),
        library=_word(one.get("library_name")),
    )


def _entries(value: Any, longest: int | None) -> list[Any]:
    if not isinstance(value, list) or (longest is not None and len(value) > longest):
        raise ValueError("no list, or too long a one")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _commit(value: Any) -> str:
    if not _COMMIT.fullmatch(_text(value)):
        raise ValueError("no commit")
    return str(value)


def _etag(one: Any) -> str:
    """Return the identity of a file's content, as the Hub's ETag has it; "" if not given."""
    large = one.get("lfs")
    etag = one.get("blobId") if large is None else large.get("sha256")
    return etag if isinstance(etag, str) and _ETAG.fullmatch(etag) else ""


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _MAX_COUNT:
        raise ValueError("no size")
    return value


def _count(value: Any) -> int:
    """Return a number to show, 0 if it is none: nothing depends on it."""
    return value if type(value) is int and 0 <= value < _MAX_COUNT else 0


def _word(value: Any) -> str:
    return shortened(visible(value), _LONGEST_WORD) if isinstance(value, str) else ""


def _is_path(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_PATH and visible(name) == name


def _is_revision(name: str) -> bool:
    fits = 0 < len(name) <= _LONGEST_REVISION and visible(name) == name
    return fits and parse_address(f"a@{name}") is not None
