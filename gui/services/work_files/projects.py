"""Files of saved work, with the absolute and relative paths of their models.

Writing and reading them looks up each model on the disk, so it is for jobs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gui.services.loading import path_exists, remembered_name

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
    for source in (work.source, *(other.source for other in work.others)):
        remembered_name(source)  # for later calls of known_name
    return replace(work, file=str(path.resolve()), changed=False)


def _with_paths(work: Work, path: Path) -> Work:
    return replace(
        work,
        source=remembered_name(work.source),
        beside=_beside(work.source, path),
        others=tuple(
            replace(other, source=remembered_name(other.source), beside=_beside(other.source, path))
            for other in work.others
        ),
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


def _current_source(work: Work | OtherView, path: Path) -> str:
    """Return the model's path: the original one, or that relative to the file."""
    if work.beside and not path_exists(work.source):
        beside = (path.parent / work.beside).resolve()
        if path_exists(beside):
            return str(beside)
    return work.source


def _beside(source: str, path: Path) -> str:
    """Return a source as a path relative to a file's folder; "" if that is impossible."""
    if not path_exists(source):
        return ""
    try:
        return os.path.relpath(source, path.parent)
    except ValueError:  # on another drive
        return ""
