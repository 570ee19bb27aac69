"""The texts of the model list: groups of lines. Independent of Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from geometry.models.sources.catalogue import CatalogueEntry
from geometry.models.sources.source import FORMS, Source
from gui.services.work_files.projects import is_work
from gui.side_panels.models.model_line import (
    Group,
    ModelLine,
    identity,
    identity_of,
    is_explicit,
    is_local,
    matches,
    parsed,
)
from gui.state.session import Session
from gui.state.values import ModelRow, ModelState
from gui.style.theme import format_bytes, format_count, format_rough

MAX_RECENT = 4
"""Maximum number of recent sources, to leave room for the catalogue."""

DERIVED = "Made of a model when opened."
ONLY_THE_TABLE = "Opening it downloads only the position table, not the whole checkpoint."
_MEANING: dict[ModelState, str] = {
    "bundled": "Included with Helixscope.",
    "computed": "Computed when opened; it has no tokens or weights.",
    "installed": "Provided by an installed package.",
    "cached": "On this machine: opens without the network.",
}


def list_groups(session: Session, search: str = "", opened: str = "") -> tuple[Group, ...]:
    """Return the groups of the model list.

    Recent folders and files come first, then the catalogue's groups, then lines about the Hub
    for the search. Recent sources in the catalogue are listed once. ``opened`` is the id of the
    open source; "" for none.
    """
    text, typed = " ".join(search.split()), parsed(search.strip())
    exact = identity(typed) if text else None
    groups: list[Group] = []
    shown: set[str] = set()
    for group in _all_groups(session, identity_of(opened) if opened else None):
        lines = [
            line
            for line in group.lines
            if matches(line.haystack, text) or identity_of(line.source) == exact
        ]
        if lines:
            groups.append(replace(group, lines=tuple(lines)))
            shown.update(identity_of(line.source) for line in lines)
    if not text:
        return tuple(groups)
    hub = _hub_group(session, text, typed, shown)
    if hub is not None:
        groups.append(hub)
    line = None
    if is_made(typed):
        line = ModelLine(typed.text, f"Open {typed}", "computed", tip=_made_tip(typed), wraps=True)
    elif is_local(typed):
        tip = "A folder with a checkpoint, a file, or a step of a training."
        line = ModelLine(typed.text, f"Open {typed.text}", tip=tip, wraps=True)
    elif typed.address is not None and is_explicit(text):
        line = _address_line(typed, offline=session.offline)
    if line is not None and exact not in shown:
        groups.insert(0, Group("", (line,)))
    return _with_preferred(groups, exact if exact in shown else None)


def is_made(source: Source) -> bool:
    """Return whether a source is computed, or derived from a model."""
    return source.kind == "computed" or source.kind in FORMS


def source_title(source: Source, models: Sequence[ModelRow]) -> str:
    """Return a short name of a source: its title in the catalogue, or its folder's or file's."""
    same = identity(source)
    row = next((row for row in models if identity_of(row.entry.id) == same), None)
    return row.entry.title if row is not None else source.name


def _with_preferred(groups: list[Group], exact: str | None) -> tuple[Group, ...]:
    """Mark the line for Enter: the exact typed model, otherwise the first one that can be opened.

    A single word that may be an id is searched in the list first, then on the Hub.
    """
    lines = [line for group in groups for line in group.lines if line.kind != "note"]
    same = [line for line in lines if identity_of(line.source) == exact]
    ready = [line for line in lines if not line.refusal]
    first = next(iter(same or ready or lines), None)

    def marked(line: ModelLine) -> ModelLine:
        return replace(line, preferred=True) if line is first else line

    return tuple(replace(group, lines=tuple(map(marked, group.lines))) for group in groups)


def _all_groups(session: Session, opened: str | None) -> Iterable[Group]:
    known = {identity_of(row.entry.id) for row in session.models}
    recent = [
        source
        for source in session.recent
        if identity(source) not in known and not is_work(source.id)  # projects are in the File menu
    ][:MAX_RECENT]
    groups: dict[str, list[ModelLine]] = {}
    if recent:
        groups["Recent"] = [_recent_line(source) for source in recent]
    for row in session.models:
        groups.setdefault(row.entry.group, []).append(_model_line(row, session.offline))
    commit = session.model.commit if session.model is not None else None
    for title, lines in groups.items():
        yield Group(title, tuple(_marked(line, opened, commit) for line in lines))


def _marked(line: ModelLine, opened: str | None, commit: str | None) -> ModelLine:
    """Mark the line of the open model."""
    if opened is None or identity_of(line.source) != opened:
        return line
    tip = line.tip if commit is None else f"{line.tip}\nOpen at commit\n{commit}"
    return replace(line, state="open", tip=tip, is_open=True, refusal="")


def _model_line(row: ModelRow, offline: bool) -> ModelLine:
    entry = row.entry
    away = row.state == "online"
    size = f"{format_count(entry.n_positions)} positions × {format_count(entry.d_model)} dimensions"
    meaning = _away(entry, offline) if away else _MEANING[row.state]
    tip = (f"{entry.title} · {entry.id}", size if entry.n_positions else "", entry.note, meaning)
    return ModelLine(
        entry.id,
        entry.title,
        _state(row, offline),
        tip="\n".join(filter(None, tip)),
        haystack=f"{entry.title} {entry.id} {entry.group}".casefold(),
        refusal=_refusal(entry) if away and offline else "",
    )


def _state(row: ModelRow, offline: bool) -> str:
    if row.state != "online":
        return row.state if row.state in ("cached", "computed") else "here"
    if offline:
        return "offline"
    return "↓ index" if row.entry.index_only else f"↓ {format_bytes(row.entry.position_bytes)}"


def _away(entry: CatalogueEntry, offline: bool) -> str:
    """Describe the download needed to open a model that is not on this machine."""
    if offline:
        return "Not on this machine, and Helixscope is offline."
    if entry.index_only:
        return "Opening it downloads only its configuration and the index of its tensors."
    if entry.checkpoint_bytes is None:
        return ONLY_THE_TABLE
    part, whole = format_bytes(entry.position_bytes), format_bytes(entry.checkpoint_bytes)
    return f"Opening it downloads only the position table: {part} of {whole} in total."


def _refusal(entry: CatalogueEntry) -> str:
    """Return why a model cannot be opened, and advice."""
    part = "index" if entry.index_only else format_bytes(entry.position_bytes)
    return (
        f"{entry.title} is not on this machine, and Helixscope is offline. Turn off “Work "
        f"offline” in the File menu to download its {part}, or open its folder if you have the "
        "files."
    )


def _made_tip(source: Source) -> str:
    return DERIVED if source.kind in FORMS else _MEANING["computed"]


def _recent_line(source: Source) -> ModelLine:
    text = source.id
    if is_made(source):
        where, tip = "computed", f"{text}\n{_made_tip(source)}"
    elif source.address is None:
        where, tip = PurePath(text).parent.name, text
    else:
        where = source.address.repo.rpartition("/")[0]
        again = "Opened before; parts no longer on this machine are downloaded again."
        tip = f"{source.address}\n{again}"
    return ModelLine(text, source.name, where, tip=tip, haystack=text.casefold())


# ---- the Hub: a typed id, a search, and its results ------------------------------------------


def _address_line(source: Source, *, offline: bool) -> ModelLine:
    """Return a line that opens a model not in the list."""
    where = "if it is on this machine" if offline else "from the Hub"
    title, tip = f"Open {source.id} {where}", f"{source.id}\n{ONLY_THE_TABLE}"
    return ModelLine(source.id, title, tip=tip, wraps=True)


def _hub_group(session: Session, text: str, typed: Source, shown: set[str]) -> Group | None:
    """Return the lines about the Hub for a search; None if there are none.

    ``typed`` is the search as a source, ``shown`` are the identities of the models in the list.
    """
    if "@" in text or "://" in text or is_local(typed):
        return None  # not a search
    results = _results(session, text, shown)
    lines = results or _search(session, text)
    # Not during a search: a second Enter would open a model.
    is_id = not (is_explicit(text) or results or _same(session.searching, text))
    if typed.address is not None and not shown and is_id:
        lines = (*lines, _address_line(typed, offline=session.offline))
    return Group("On the Hub", lines, "downloads per month" if results else "")


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


def _results(session: Session, text: str, shown: set[str]) -> tuple[ModelLine, ...]:
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
