"""The lines of the model list and their headings, and which of them a search means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from geometry.hub.address import HubAddress, parse_address
from geometry.models.catalogue import canonical

Kind = Literal["source", "search", "note"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the list.

    Attributes
    ----------
    source
        What to open: an id on the Hub or a path. For a search, its text.
    title, state
        The words at the left and at the right.
    kind
        A source that opens; a search of the Hub that begins; or a sentence, which does nothing.
    tip
        Everything else there is to know, in lines.
    haystack
        The text that a search looks through, case-folded.
    refusal
        Why it cannot be opened and what can be done, in sentences; "" if it can be.
    wraps
        Whether the title takes as many lines as it needs, instead of being elided.
    is_open
        Whether this is the open model.
    preferred
        Whether Enter in the search field means this line.
    """

    source: str
    title: str
    state: str = ""
    kind: Kind = "source"
    tip: str = ""
    haystack: str = ""
    refusal: str = ""
    wraps: bool = False
    is_open: bool = False
    preferred: bool = False

    @property
    def key(self) -> tuple[Kind, str]:
        """What makes it the same line in another list."""
        return self.kind, self.source


@dataclass(frozen=True, slots=True)
class Group:
    """A heading and its lines; ``unit`` is that of the numbers at the right, if any."""

    title: str
    lines: tuple[Line, ...]
    unit: str = ""


def matches(haystack: str, search: str) -> bool:
    """Tell whether every word of a search occurs in a text; case and hyphens do not matter."""
    bare = haystack.replace("-", "")
    return all(
        word in haystack or word.replace("-", "") in bare for word in search.casefold().split()
    )


def is_path(text: str) -> bool:
    """Tell whether a text is the path of a folder or a file, as it begins; nothing is looked up."""
    return text.startswith(("/", "~", ".")) or "\\" in text


@lru_cache(maxsize=4096)  # asked for each line with each letter of a search
def identity(source: str) -> str:
    """Return what is the same for all names of a source: "gpt2" is "openai-community/gpt2"."""
    address = parse_address(source)
    return source if address is None else address_identity(address)


def address_identity(address: HubAddress) -> str:
    """Return what is the same for all names of a model on the Hub."""
    known = canonical(address)
    return f"{known.repo.casefold()}@{known.revision}"
