"""Lines and headings of the model list, and matching of searches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from geometry.checkpoints.plain_text import visible
from geometry.models.sources.source import PART, Source

Kind = Literal["source", "search", "note"]


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One line of the list."""

    source: str  # An id on the Hub or a path. For a search, its text.
    # Texts at the left and at the right
    title: str
    state: str = ""
    # A source to open, a search of the Hub, or a note, which cannot be chosen
    kind: Kind = "source"
    tip: str = ""  # Tooltip, in lines
    haystack: str = ""  # Case-folded text to search
    refusal: str = ""  # Why it cannot be opened and what can be done, in sentences; "" if it can be
    wraps: bool = False  # Whether the title is wrapped instead of elided
    is_open: bool = False  # Whether this is the open model
    preferred: bool = False  # Whether Enter in the search field means this line

    def __post_init__(self) -> None:
        for name in ("title", "state"):  # names of folders and ids of the Hub are not trusted
            object.__setattr__(self, name, visible(getattr(self, name)))

    @property
    def key(self) -> tuple[Kind, str]:
        """Identity of the line in other lists."""
        return self.kind, self.source


@dataclass(frozen=True, slots=True)
class Group:
    """A heading and its lines; ``unit`` is that of the numbers at the right, if any."""

    title: str
    lines: tuple[ModelLine, ...]
    unit: str = ""


def matches(haystack: str, search: str) -> bool:
    """Return whether every word of a search occurs in a text, ignoring case and hyphens."""
    bare = haystack.replace("-", "")
    return all(
        word in haystack or word.replace("-", "") in bare for word in search.casefold().split()
    )


def is_path(text: str) -> bool:
    """Return whether a text looks like a path, without access to the file system."""
    return text.startswith(("/", "~", ".")) or "\\" in text


def is_local(source: Source) -> bool:
    """Return whether a typed source is certainly on this machine, such as "run/step 500"."""
    folder, _, last = source.text.rpartition("/")
    part = bool(folder) and (source.kind == "bundled" or PART.fullmatch(last) is not None)
    return part or is_path(source.text)


def is_explicit(text: str) -> bool:
    """Return whether a text is likely a model's full id or the address of its page.

    A single word is more often a search: only the oldest models have such ids.
    """
    return "/" in text or "@" in text


@lru_cache(maxsize=4096)  # lists are made anew with each letter of a search
def parsed(text: str) -> Source:
    """Parse a source that is listed or typed."""
    return Source.parse(text)


def identity(source: Source) -> str:
    """Return the identity of a source in lists: its id, on the Hub without upper case."""
    if source.address is None:
        return source.id
    name, at, revision = source.id.partition("@")
    return f"{name.casefold()}{at}{revision}"


def identity_of(text: str) -> str:
    """Return the :func:`identity` of a source by its text."""
    return identity(parsed(text))
