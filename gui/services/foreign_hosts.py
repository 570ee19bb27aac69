"""Other computers that sources from a file name: on Windows none is contacted unasked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.network_paths import host_of
from gui.services.loading import derived_from

if TYPE_CHECKING:
    from gui.state.session import Session

ON_WINDOWS = sys.platform == "win32"
"""Elsewhere a path names no computer."""


def check_hosts(session: Session, sources: Iterable[str], file: str) -> None:
    """Check that sources in a file are of this computer or of one that the user has opened from.

    Parameters
    ----------
    sources
        Sources, or other paths.
    file
        The path of the file; what is on the same computer as the file may be opened.

    Raises
    ------
    SourceError
        One is of another computer.
    """
    if not ON_WINDOWS:
        return
    own = () if session.model is None else (session.model.source,)
    known = {host_of(part) for one in (*session.recent, *session.surveys, *own, file)
             for part in _parts(one)}  # fmt: skip
    for source in sources:
        for part in _parts(source):
            if (host := host_of(part)) and host not in known:
                raise SourceError(
                    f"Files on the computer “{host}” are named here, from which nothing has been "
                    f"opened yet: {part}.",
                    "If you trust that computer, open a model from there yourself first.",
                )


def _parts(source: str) -> Iterator[str]:
    """Yield the paths in a source."""
    derived = derived_from(source)
    if derived is None:
        yield source
    else:
        yield derived.what
        yield from _parts(derived.of)
