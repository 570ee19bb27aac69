"""Files of saved work, with the absolute and relative paths of their models.

Writing and reading them looks up each model on the disk, so it is for jobs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from gui.state.work import OtherView, Work

ENDING = ".helix"


def is_work(source: str) -> bool:
    """Return whether a source is a file of saved work, by its suffix."""
    return source.lower().endswith(ENDING)


def save_work(work: Work, path: Path) -> Path:
    """Write a file of saved work, with the relative paths of its models; return its absolute path.

    Raises WorkError: when it cannot be written.
    """
    from gui.services.work_files.work_file import write_work

    write_work(_with_paths(work, path), path)
    return path.resolve()


def open_work(path: Path, check: Callable[[Work], None]) -> Work:
    """Read a file of saved work, with the current paths of its models, and its absolute path.

    ``check`` is called before any path in the work is accessed. Raises WorkError: as
    :func:`gui.services.work_files.work_file.read_work`.
    """
    from gui.services.work_files.work_file import read_work

    read = read_work(path)
    check(read)
    work = _with_sources(read, path)
    return replace(work, file=str(path.resolve()), changed=False)


def _with_paths(work: Work, path: Path) -> Work:
    return replace(
        work,
        **_places(work.source, path),
        others=tuple(replace(other, **_places(other.source, path)) for other in work.others),
        bookmarks=tuple(
            replace(bookmark, work=_with_paths(bookmark.work, path)) for bookmark in work.bookmarks
        ),
    )


def _with_sources(work: Work, path: Path) -> Work:
    return replace(
        work,
        source=_current_source(work, path),
        others=tuple(replace(other, source=_current_source(other, path)) for other in work.others),
        bookmarks=tuple(
            replace(bookmark, work=_with_sources(bookmark.work, path))
            for bookmark in work.bookmarks
        ),
    )


def _current_source(work: Work | OtherView, path: Path) -> Source:
    """Return where the model is: at its original path, or at that relative to the file."""
    from geometry.models.sources.locating import located, path_exists

    if work.beside and not path_exists(work.source.text):
        beside = (path.parent / work.beside).resolve()
        if path_exists(beside):
            return located(Source.parse(str(beside)))
    return located(work.source)


def _places(source: Source, path: Path) -> dict[str, Any]:
    """Return where a model is, also relative to a file's folder; "" if that is impossible."""
    from geometry.models.sources.locating import located, path_exists

    source = located(source)
    beside = ""
    if source.kind == "path" and path_exists(source.id):
        with suppress(ValueError):  # on another drive
            beside = os.path.relpath(source.id, path.parent)
    return {"source": source, "beside": beside}
