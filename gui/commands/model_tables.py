"""What `helixscope models` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.sizes import size_text
from geometry.models.sources.catalogue import find_entry, read_catalogue
from geometry.models.sources.local_models import cached_models, state
from geometry.models.sources.locating import is_here
from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.models.sources.catalogue import CatalogueEntry
    from geometry.models.sources.local_models import State

Record = dict[str, Any]
"""Properties of a model by their names, as ``--json`` prints them."""
Records = list[Record]
Rows = list[tuple[str, ...]]
Table = tuple[tuple[str, ...], Rows]


def listed_models() -> Records:
    """Return the catalogue and other local models.

    ``download_bytes`` is None where only an index has to be downloaded.
    """
    listed: list[tuple[CatalogueEntry, State]] = [(e, state(e)) for e in read_catalogue()]
    listed += [(e, "cached") for e in cached_models()]
    return [
        {
            "model": e.id,
            "group": e.group,
            "n_positions": e.n_positions,
            "d_model": e.d_model,
            "state": where,
            "download_bytes": _cost(e, where),
        }
        for e, where in listed
    ]


def found_models(
    text: str, *, offline: bool, on_progress: Callable[[TransferProgress], None] | None
) -> Records:
    """Search the Hub; return the results, most downloaded first.

    Raises HubError: The Hub cannot be reached.
    Raises KeyboardInterrupt: Ctrl+C was pressed.
    """
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.client import Hub
    from gui.commands.headless import for_command_line, interruptible

    hub, transfer = Hub(offline=offline), Transfer(on_progress)
    with for_command_line(offline=offline):
        models = interruptible(transfer, lambda: hub.search(text, transfer=transfer))
    return [
        {
            "model": m.id,
            "task": m.task,
            "library": m.library,
            "downloads": m.downloads,
            "state": _state(m.id),
        }
        for m in models
    ]


def as_table(records: Records, columns: Mapping[str, Callable[[Record], str]]) -> Table:
    """Return models as titles and rows."""
    return tuple(columns), [tuple(text(record) for text in columns.values()) for record in records]


def _state(name: str) -> State:
    entry = find_entry(name)
    if entry is not None:
        return state(entry)
    return "cached" if is_here(Source.parse(name)) else "online"


def _cost(entry: CatalogueEntry, where: State) -> int | None:
    """Return the bytes to download to open a model; None for an index alone."""
    if where != "online":
        return 0
    return None if entry.index_only else entry.position_bytes


def _cost_text(record: Record) -> str:
    nbytes = record["download_bytes"]
    return "index" if nbytes is None else size_text(nbytes) if nbytes else ""


LISTED: Mapping[str, Callable[[Record], str]] = {
    "Model": itemgetter("model"),
    "Group": itemgetter("group"),
    "Positions": "{0[n_positions]:,} × {0[d_model]:,}".format,
    "State": itemgetter("state"),
    "Download": _cost_text,
}
"""Columns of what :func:`listed_models` returns."""
FOUND: Mapping[str, Callable[[Record], str]] = {
    "Model": itemgetter("model"),
    "Task": itemgetter("task"),
    "Library": itemgetter("library"),
    "Downloads": "{0[downloads]:,}".format,
    "State": itemgetter("state"),
}
"""Columns of what :func:`found_models` returns."""
