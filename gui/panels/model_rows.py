"""What the model list says: groups of lines, and the words on each. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from gui.session import ModelRow, ModelState
from gui.theme import format_count

MAX_RECENT = 4
"""Recent sources listed: the rest of the panel's height is for the catalogue."""

_WORDS: dict[ModelState, str] = {
    "bundled": "here",
    "installed": "here",
    "cached": "cached",
    "online": "not here yet",
}
_MEANING: dict[ModelState, str] = {
    "bundled": "Comes with the application.",
    "installed": "Comes with a package that is installed here.",
    "cached": "In your Hub cache.",
    "online": "Not on this machine yet; opening from the hub comes with a later version.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the list.

    Attributes
    ----------
    source
        What to open: an id of the catalogue or a path.
    title, state
        The words at the left and at the right.
    tip
        Everything else there is to know, in lines.
    haystack
        The text that a search looks through, case-folded.
    here
        Whether it can be opened.
    """

    source: str
    title: str
    state: str
    tip: str
    haystack: str
    here: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A heading and its lines."""

    title: str
    lines: tuple[Line, ...]


def list_groups(models: Sequence[ModelRow], recent: Sequence[str]) -> tuple[Group, ...]:
    """Arrange the model list: recent folders and files first, then the catalogue's groups.

    A recent source that the catalogue lists is not listed twice.
    """
    known = {row.entry.id for row in models}
    paths = [source for source in recent if source not in known][:MAX_RECENT]
    groups: dict[str, list[Line]] = {}
    if paths:
        groups["Recent"] = [_path_line(path) for path in paths]
    for row in models:
        groups.setdefault(row.entry.group, []).append(_model_line(row))
    return tuple(Group(title, tuple(lines)) for title, lines in groups.items())


def source_title(source: str, models: Sequence[ModelRow]) -> str:
    """Return a short name of a source: its title in the catalogue, or its folder's or file's."""
    row = next((row for row in models if row.entry.id == source), None)
    return row.entry.title if row is not None else _path_title(source)


def not_here(line: Line) -> str:
    """Return the sentences that explain why a line cannot be opened, and what can be done."""
    return (
        f"{line.title} is not on this machine yet; opening from the hub comes with a later"
        " version. If you have its files, open their folder."
    )


def matches(haystack: str, search: str) -> bool:
    """Tell whether every word of a search occurs in a text; case and hyphens do not matter."""
    bare = haystack.replace("-", "")
    return all(
        word in haystack or word.replace("-", "") in bare for word in search.casefold().split()
    )


def _model_line(row: ModelRow) -> Line:
    entry = row.entry
    size = f"{format_count(entry.n_positions)} positions × {format_count(entry.d_model)} dimensions"
    tip = "\n".join((f"{entry.title} · {entry.id}", size, entry.note, _MEANING[row.state]))
    haystack = f"{entry.title} {entry.id} {entry.group}".casefold()
    return Line(entry.id, entry.title, _WORDS[row.state], tip, haystack, here=row.state != "online")


def _path_line(source: str) -> Line:
    parent = PurePath(source).parent.name
    return Line(source, _path_title(source), parent, source, source.casefold(), here=True)


def _path_title(source: str) -> str:
    path = PurePath(source)
    # A snapshot in the Hub cache is named by its commit; the model's name is two folders up.
    if path.parent.name == "snapshots" and path.parent.parent.name.startswith("models--"):
        return path.parent.parent.name.rsplit("--", 1)[-1]
    return path.name or source
