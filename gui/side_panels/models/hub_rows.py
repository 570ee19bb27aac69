"""The lines of the model list about the Hub: a typed id, a search, and its results."""

from __future__ import annotations

from collections.abc import Collection, Container

from geometry.models.sources.catalogue import CatalogueEntry
from geometry.models.sources.source import Source
from gui.side_panels.models.model_line import Group, ModelLine, identity_of, is_path
from gui.state.session import Session
from gui.style.theme import format_count, format_rough

TITLE = "On the Hub"
UNIT = "downloads per month"
ONLY_THE_TABLE = "Opening it downloads only the position table, not the whole checkpoint."


def is_explicit(text: str) -> bool:
    """Return whether a text is likely a model's full id or the address of its page.

    A single word is more often a search: only the oldest models have such ids.
    """
    return "/" in text or "@" in text


def address_line(source: Source, *, offline: bool) -> ModelLine:
    """Return a line that opens a model not in the list."""
    where = "if it is on this machine" if offline else "from the Hub"
    return ModelLine(
        source.id,
        f"Open {source.id} {where}",
        tip=f"{source.id}\n{ONLY_THE_TABLE}",
        wraps=True,
    )


def hub_group(session: Session, text: str, typed: Source, shown: Collection[str]) -> Group | None:
    """Return the lines about the Hub for a search; None if there are none.

    Parameters
    ----------
    session
        The session, with the search of the Hub.
    text
        The search, not empty.
    typed
        The search as a source.
    shown
        Identities of the models in the list.
    """
    if "@" in text or "://" in text or is_path(text):
        return None  # not a search
    results = _results(session, text, shown)
    lines = results or _search(session, text)
    # Not during a search: a second Enter would open a model.
    is_id = not (is_explicit(text) or results or _same(session.searching, text))
    if typed.address is not None and not shown and is_id:
        lines = (*lines, address_line(typed, offline=session.offline))
    return Group(TITLE, lines, UNIT if results else "")


def _search(session: Session, text: str) -> tuple[ModelLine, ...]:
    """Offer to search the Hub, or explain the result of the search."""
    again = ModelLine(
        text,
        f"Search the Hub for “{text}”",
        kind="search",
        tip="Search the Hub for models with this text in their ids",
        wraps=True,
    )
    if session.offline:
        return (_note("The Hub cannot be searched: Helixscope is offline."),)
    if _same(session.searching, text):
        return (_note(f"Searching the Hub for “{text}”…"),)
    if not _same(session.hub_query, text):
        return (again,)
    if session.search_failed:
        return (_note(session.search_failed), again)
    more = "other " if session.hub_results else ""
    return (_note(f"No {more}model on the Hub matches “{text}”."),)


def _results(session: Session, text: str, shown: Container[str]) -> tuple[ModelLine, ...]:
    if session.offline or not _same(session.hub_query, text) or _same(session.searching, text):
        return ()
    return tuple(
        _result(entry) for entry in session.hub_results if identity_of(entry.id) not in shown
    )


def _result(entry: CatalogueEntry) -> ModelLine:
    count = entry.downloads
    downloads = "" if count is None else f"{format_count(count)} downloads in the last month."
    tip = "\n".join(filter(None, (entry.id, entry.note, downloads, ONLY_THE_TABLE)))
    return ModelLine(entry.id, entry.id, "" if count is None else format_rough(count), tip=tip)


def _note(sentence: str) -> ModelLine:
    return ModelLine("", sentence, kind="note", wraps=True)


def _same(search: str, text: str) -> bool:
    return search.casefold().split() == text.casefold().split()
