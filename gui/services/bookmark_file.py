"""Bookmarks in a file: in one of their own, or beside saved work in its file.

In a zip archive ``bookmarks/list.json`` names them in their order, with format and version first.
Of each there are ``bookmarks/KEY.helix``, its view as a file of saved work, and
``bookmarks/KEY.png``.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gui.services.bookmarks import MOST
from gui.services.file_writing import write_whole
from gui.services.work_file import (
    LARGEST,
    NewerVersion,
    WorkError,
    check_version,
    pack_work,
    unpack_work,
)
from gui.state.work import Bookmark

if TYPE_CHECKING:
    from gui.state.work import Work

FORMAT, VERSION = "helixscope bookmarks", 1
FOLDER = "bookmarks/"
LIST = f"{FOLDER}list.json"
_KEY = re.compile(r"[0-9a-f]{32}")
_AGAIN = "Make the bookmarks again."
BROKEN = (
    WorkError, ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What is raised by what is no archive of bookmarks, or only a part of one."""


def pack_bookmarks(bookmarks: Sequence[Bookmark]) -> dict[str, bytes]:
    """Return the files of an archive that hold bookmarks, by their names."""
    named = [
        {"key": one.key, "name": one.name, "note": one.note, "model": one.model}
        for one in bookmarks
    ]
    said = {"format": FORMAT, "version": VERSION, "bookmarks": named}
    parts = {LIST: json.dumps(said, indent=1, ensure_ascii=False).encode()}
    for one in bookmarks:
        parts[f"{FOLDER}{one.key}.helix"] = _packed(one.work)
        parts[f"{FOLDER}{one.key}.png"] = one.picture
    return parts


@lru_cache(2 * MOST)
def _packed(work: Work) -> bytes:
    """Pack a view once, however often the list of all is written."""
    return pack_work(work)


def unpack_bookmarks(
    archive: zipfile.ZipFile, *, leave_out: bool = False
) -> tuple[tuple[Bookmark, ...], int]:
    """Return the bookmarks of an archive, in their order.

    Parameters
    ----------
    archive
        Has a file :data:`LIST`.
    leave_out
        Leave out those that are damaged, where others are not.

    Returns
    -------
    bookmarks : tuple of Bookmark
        What could be read.
    left_out : int
        How many could not.

    Raises
    ------
    NewerVersion
        The list, or one of them, is of a later version.
    Exception
        One of :data:`BROKEN`, when the list, or unless ``leave_out`` one of them, cannot be read.
    """
    said = json.loads(_part(archive, LIST).decode())
    check_version(said, FORMAT, VERSION, LIST)
    found: dict[str, Bookmark] = {}
    left_out = 0
    for one in said["bookmarks"]:
        try:
            bookmark = _unpack(archive, one)
        except NewerVersion:
            raise  # it is whole, and must not get lost
        except BROKEN:
            if not leave_out:
                raise
            left_out += 1
        else:
            found[bookmark.key] = bookmark
    return tuple(found.values()), left_out


def _unpack(archive: zipfile.ZipFile, said: Mapping[str, Any]) -> Bookmark:
    texts = {name: said.get(name, "") for name in ("key", "name", "note", "model")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("a bookmark's name is no text")
    key = texts["key"]
    if _KEY.fullmatch(key) is None:
        raise ValueError(f"{key!r} is no bookmark's key")
    work = unpack_work(_part(archive, f"{FOLDER}{key}.helix"), f"The bookmark “{texts['name']}”")
    return Bookmark(**texts, work=work, picture=_part(archive, f"{FOLDER}{key}.png"))


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(f"{name} is too large")
    return archive.read(name)


def write_bookmarks(bookmarks: Sequence[Bookmark], path: Path) -> None:
    """Write bookmarks into a file of their own; the one before stays whole until it is.

    Raises
    ------
    WorkError
        When it cannot be written; it says why.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, part in pack_bookmarks(bookmarks).items():
            packed.writestr(zipfile.ZipInfo(name), part)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, archive.getvalue())
    except OSError as error:
        raise WorkError(
            f"The bookmarks cannot be written to {path}: {error.strerror or error}",
            "Make room on the disk, or see who may write there.",
        ) from error


def read_bookmarks(path: Path) -> tuple[tuple[Bookmark, ...], int]:
    """Read a file of bookmarks.

    Parameters
    ----------
    path
        The file; one that is not there has none.

    Returns
    -------
    bookmarks : tuple of Bookmark
        What could be read, in their order.
    left_out : int
        How many could not.

    Raises
    ------
    OSError
        It cannot be read now, and may be whole all the same.
    NewerVersion
        It, or one of the bookmarks, is of a later version.
    WorkError
        It is damaged from one end to the other.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return (), 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return unpack_bookmarks(archive, leave_out=True)
    except WorkError:
        raise
    except BROKEN as error:
        raise WorkError(f"The bookmarks in {path} cannot be read: {error}.", _AGAIN) from error
