"""The Hub's answers in JSON: files of a repository, its revisions, and found models.

Answers of another form raise ValueError, KeyError, TypeError or AttributeError. Entries with names
that are invalid on the Hub are left out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.plain_text import shortened, visible
from geometry.checkpoints.result import result
from geometry.hub.address import COMMIT, HubAddress, parse_address

log = logging.getLogger(__name__)

_ETAG = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

MAX_FILES, MAX_REVISIONS = 100_000, 20_000
"""Maximum files of a repository, and branches or tags: ten times those of any model."""

_MAX_PATH_LENGTH, _MAX_REVISION_LENGTH, _MAX_WORD_LENGTH = 1_000, 255, 100
"""Maximum characters of a file's path, four times the limit of file systems for a name; of a
revision, that limit; and of a model's task or library, which are single words."""

_MAX_COUNT = 2**63
"""Upper limit of numbers of bytes and downloads."""


@result
class Listing:
    """Files of a repository at a commit.

    Attributes
    ----------
    commit
        40 hexadecimal digits.
    files
        Names and sizes in bytes, None if unknown.
    etags
        Identities of their contents by name, as far as known: SHA-256 of large files, the git id of
        others.
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
    task: str
    library: str


def read_listing(answer: Any) -> Listing:
    """Read the answer about a model at a revision."""
    siblings = _entries(answer["siblings"], MAX_FILES)
    files: dict[str, int | None] = {}
    etags = {}
    for entry in siblings:
        name, size = _text(entry["rfilename"]), entry.get("size")
        if _is_path(name):
            files[name] = None if size is None else _size(size)
            if etag := _etag(entry):
                etags[name] = etag
        else:
            log.warning("A file with an invalid name is left out: %s", shortened(visible(name)))
    return Listing(_commit(answer["sha"]), MappingProxyType(files), MappingProxyType(etags))


def read_revisions(answer: Any) -> tuple[Revision, ...]:
    """Read the answer about a model's refs: branches, then tags."""
    listed = [
        revision
        for kind in ("branches", "tags")
        for revision in _entries(answer[kind], MAX_REVISIONS)
    ]
    revisions = (Revision(_text(entry["name"]), _commit(entry["targetCommit"])) for entry in listed)
    return tuple(revision for revision in revisions if _is_revision(revision.name))


def read_models(answer: Any, limit: int) -> tuple[FoundModel, ...]:
    """Read the first ``limit`` models of the answer to a search."""
    models = (_model(entry) for entry in _entries(answer, None)[:limit])
    return tuple(model for model in models if parse_address(model.id) == HubAddress(model.id))


def _model(entry: Any) -> FoundModel:
    return FoundModel(
        id=_text(entry["id"]),
        downloads=_count(entry.get("downloads")),
        task=_word(entry.get("pipeline_tag")),
        library=_word(entry.get("library_name")),
    )


def _entries(value: Any, longest: int | None) -> list[Any]:
    if not isinstance(value, list) or (longest is not None and len(value) > longest):
        raise ValueError("not a list, or too long")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _commit(value: Any) -> str:
    if not COMMIT.fullmatch(_text(value)):
        raise ValueError("not a commit")
    return str(value)


def _etag(entry: Any) -> str:
    """Return the identity of a file's content, as in the Hub's ETag; "" if not given."""
    large = entry.get("lfs")
    etag = entry.get("blobId") if large is None else large.get("sha256")
    return etag if isinstance(etag, str) and _ETAG.fullmatch(etag) else ""


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _MAX_COUNT:
        raise ValueError("not a size")
    return value


def _count(value: Any) -> int:
    """Return a number for display; 0 if the value is invalid."""
    return value if type(value) is int and 0 <= value < _MAX_COUNT else 0


def _word(value: Any) -> str:
    return shortened(visible(value), _MAX_WORD_LENGTH) if isinstance(value, str) else ""


def _is_path(name: str) -> bool:
    return 0 < len(name) <= _MAX_PATH_LENGTH and visible(name) == name


def _is_revision(name: str) -> bool:
    fits = 0 < len(name) <= _MAX_REVISION_LENGTH and visible(name) == name
    return fits and parse_address(f"a@{name}") is not None
