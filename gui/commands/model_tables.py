"""The tables that `helixscope models` prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from geometry.checkpoints.sizes import size_text
from geometry.models.sources.catalogue import find_entry, read_catalogue
from geometry.models.sources.local_models import cached_models, state
from geometry.models.sources.locating import is_here
from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.models.sources.catalogue import CatalogueEntry
    from geometry.models.sources.local_models import State

Rows = list[tuple[str, ...]]
Table = tuple[tuple[str, ...], Rows]


def catalogue_table() -> Table:
    """Return the catalogue and other local models, as titles and rows."""
    listed: list[tuple[CatalogueEntry, State]] = [(e, state(e)) for e in read_catalogue()]
    listed += [(e, "cached") for e in cached_models()]
    rows: Rows = [
        (e.id, e.group, f"{e.n_positions:,} × {e.d_model:,}", where, _cost(e, where))
        for e, where in listed
    ]
    return ("Model", "Group", "Positions", "State", "Download"), rows


def search_table(
    text: str, *, offline: bool, on_progress: Callable[[TransferProgress], None] | None
) -> Table:
    """Search the Hub; return the results, most downloaded first, as titles and rows.

    Raises HubError: The Hub cannot be reached.
    Raises KeyboardInterrupt: Ctrl+C was pressed.
    """
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.client import Hub
    from gui.commands.headless import for_command_line, interruptible

    hub, transfer = Hub(offline=offline), Transfer(on_progress)
    with for_command_line(offline=offline):
        models = interruptible(transfer, lambda: hub.search(text, transfer=transfer))
    rows: Rows = [(m.id, m.task, m.library, f"{m.downloads:,}", _state(m.id)) for m in models]
    return ("Model", "Task", "Library", "Downloads", "State"), rows


def _state(name: str) -> State:
    entry = find_entry(name)
    if entry is not None:
        return state(entry)
    return "cached" if is_here(Source.parse(name)) else "online"


def _cost(entry: CatalogueEntry, where: State) -> str:
    """Describe the download needed to open a model."""
    if where != "online":
        return ""
    return "index" if entry.index_only else size_text(entry.position_bytes)
