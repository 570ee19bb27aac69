"""Files of saved work, with the paths of their models: whole ones, and relative to the file.

Writing and reading them asks the disk for each model, so it is for jobs.
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
    """Write a file of saved work, with the relative paths of its models; return its whole path.

    Raises WorkError: when it cannot be written.
    """
    from gui.services.work_files.work_file import write_work

    write_work(_with_ways(work, path), path)
    return path.resolve()


def open_work(path: Path, check: Callable[[Work], None]) -> Work:
    """Read a file of saved work, with the models where they are now, and with its own whole path.

    Raises WorkError: as :func:`gui.services.work_files.work_file.read_work` does; and what
    ``check`` does, before any path in the work is looked at.
    """
    from gui.services.work_files.work_file import read_work

    read = read_work(path)
    check(read)
    work = _with_sources(read, path)
    for source in (work.source, *(other.source for other in work.others)):
        remembered_name(source)  # known from here on
    return replace(work, file=str(path.resolve()), changed=False)


def _with_ways(work: Work, path: Path) -> Work:
    return replace(
        work,
        source=remembered_name(work.source),
        beside=_beside(work.source, path),
        others=tuple(
            replace(one, source=remembered_name(one.source), beside=_beside(one.source, path))
            for one in work.others
        ),
        bookmarks=tuple(replace(one, work=_with_ways(one.work, path)) for one in work.bookmarks),
    )


def _with_sources(work: Work, path: Path) -> Work:
    return replace(
        work,
        source=_found(work, path),
        others=tuple(replace(one, source=_found(one, path)) for one in work.others),
        bookmarks=tuple(replace(one, work=_with_sources(one.work, path)) for one in work.bookmarks),
    )


def _found(work: Work | OtherView, path: Path) -> str:
    """Return the path of the model: the original one, or that relative to the file."""
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
