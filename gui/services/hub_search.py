"""Searching for models on the Hub."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from gui.services.fetching import Fetch, Fetching
from gui.services.jobs.jobs import Job, Jobs, OnError
from gui.services.notices import notice_of
from gui.state.session import Session

if TYPE_CHECKING:
    from geometry.hub.client import FoundModel
    from geometry.models.sources.catalogue import CatalogueEntry

HUB_GROUP = "On the Hub"
"""Group of the models found on the Hub."""
MISHAP = "The search on the Hub failed"


class HubSearch:
    """Writes search results to the session; a new search cancels the last one."""

    def __init__(self, session: Session, jobs: Jobs, fetching: Fetching, on_error: OnError) -> None:
        self._session, self._jobs = session, jobs
        self._fetching, self._on_error = fetching, on_error

    def search(self, text: str) -> None:
        """Search for models whose id contains a text; "" ends the search."""
        session, text = self._session, text.strip()
        if not text:
            self._jobs.cancel("search")
            session.change(searching="", hub_results=(), hub_query="", search_failed="")
            return
        if text == session.searching:
            return
        session.change(searching=text, search_failed="")
        hub = self._fetching
        fetch = Fetch(lambda transfer: tuple(map(_entry, hub.hub.search(text, transfer=transfer))))
        self._jobs.start(
            "search",
            Job(
                fetch,
                lambda entries: session.change(
                    hub_results=entries, hub_query=text, searching="", search_failed=""
                ),
                self._on_failed,
                on_progress=lambda _: None,  # a search is too short for a progress bar
                stop=fetch.stop,
            ),
        )

    def _on_failed(self, error: Exception) -> None:
        sentence = f"{MISHAP}."
        if isinstance(error, HelixscopeError):
            notice = notice_of(error, MISHAP)
            sentence = " ".join(filter(None, (notice.text, notice.advice)))
        else:
            self._on_error(error, MISHAP)
        self._session.change(
            hub_results=(), hub_query=self._session.searching, searching="", search_failed=sentence
        )


def _entry(model: FoundModel) -> CatalogueEntry:
    """Return a catalogue entry for a found model, without its table's shape."""
    from geometry.models.sources.catalogue import CatalogueEntry, find_entry

    known = find_entry(model.id)
    if known is not None and known.id == model.id:
        return replace(known, downloads=model.downloads)
    note = f"A model for {model.task.replace('-', ' ')}." if model.task else ""
    title = model.id.rsplit("/", 1)[-1]
    return CatalogueEntry(model.id, title, HUB_GROUP, 0, 0, note, downloads=model.downloads)
