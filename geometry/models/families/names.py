"""Lists and tables of names, written as texts: names have no spaces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

Row = TypeVar("Row")


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a text, which are separated by spaces or line breaks."""
    return tuple(text.split())


def by_name(rows: Mapping[str, Row]) -> Mapping[str, Row]:
    """Return the row of each name; a key of ``rows`` is one name, or several with the same row."""
    return MappingProxyType({name: row for key, row in rows.items() for name in names_in(key)})
