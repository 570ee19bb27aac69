"""Paths on other computers in files: on Windows they are not accessed without consent."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.network_paths import host_of
from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from gui.state.session import Session

ON_WINDOWS = sys.platform == "win32"
"""Only on Windows a path can name a computer."""


def check_hosts(session: Session, sources: Iterable[str | Source], file: str) -> None:
    """Check that sources in a file are on this computer, or on one that the user opened files from.

    Parameters
    ----------
    sources
        Sources, or other paths.
    file
        The path of the file; sources on the same computer as the file may be opened.

    Raises
    ------
    SourceError
        A source is on another computer.
    """
    if not ON_WINDOWS:
        return
    own = () if session.model is None else (session.model.source,)
    known = {
        host_of(part)
        for opened in (*session.recent, *session.surveys, *own, file)
        for part in _parts(opened)
    }
    for source in sources:
        for part in _parts(source):
            if (host := host_of(part)) and host not in known:
                raise SourceError(
                    f"Files on the computer “{host}” are named here, from which nothing has been "
                    f"opened yet: {part}.",
                    "If you trust that computer, open a model from there yourself first.",
                )


def _parts(source: str | Source) -> Iterator[str]:
    """Yield the paths in a source."""
    source = Source.of_any(source)
    if source.of is not None:
        yield source.what
    yield source.model.text
