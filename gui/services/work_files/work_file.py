"""Files of saved work, ``.helix``.

A zip archive: ``helix.json`` has all named values, ``arrays.npz`` the camera; bookmarks, if any,
are described below. The JSON starts with the format and its version. Files of a later version are
refused, since they could be shown only in part; fields that an earlier version lacks have their
defaults. Version 2 added bookmarks, 3 models side by side, 4 the aligned curve and the panels'
options, 6 periods, tokens and columns to colour by; a file has the first version that supports its
content. The docks' places are in "docks", which 0.1 ignores.
"""

from __future__ import annotations

import io
import json
import logging
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np
from msgspec import Meta, convert

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.column_files import PositionColumn
from geometry.checkpoints.config import load_json
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.formats.array_store import open_member, read_array
from geometry.checkpoints.formats.zip_records import open_archive
from geometry.checkpoints.stores import open_regular
from geometry.checkpoints.whole_files import write_bytes, writing
from geometry.models.sources.source import Source
from gui.services.work_files.work_parts import (
    LeftOut,
    pack_alignment,
    pack_place,
    unpack_alignment,
    unpack_column,
    unpack_place,
    unpack_turn,
)
from gui.state.fields import MAX_WHOLE, Counting, Name, Text, Three, Whole, as_json
from gui.state.layout import Layout, pack_layout, unpack_layout
from gui.state.session import SAVED
from gui.state.values import Fields
from gui.state.work import (
    MAX_BOOKMARKS,
    MAX_OTHERS,
    Bookmark,
    OtherView,
    Work,
)

log = logging.getLogger(__name__)

FORMAT, VERSION = "helixscope", 6
JSON, ARRAYS = "helix.json", "arrays.npz"
COLUMN = "color_column"
"""The field that is written separately, and only if the curve has its colours."""
LARGEST = 50_000_000
"""Size limit of the file and its unpacked content."""
_MAX_ARRAY = 1_000
"""Size limit of an array in bytes: the largest is a matrix of 3 × 3."""
_KNOWN = re.compile(r"turn|camera_(position|focal_point|up|parallel_scale)(_\d{1,3})?")
_Others = Annotated[list[Fields], Meta(max_length=MAX_OTHERS)]
_Size = tuple[Counting, Counting]
_AGAIN = "Save the project again, or open the model directly."


class WorkError(HelixscopeError):
    """A file of saved work that cannot be read or written."""


class NewerVersion(WorkError):
    """A file of a later version than this program's."""


def write_work(work: Work, path: Path, *, durable: bool = True) -> None:
    """Write a file of saved work atomically.

    Parameters
    ----------
    durable
        Whether to wait until it is on the disk, safe from a power cut.

    Raises
    ------
    WorkError
        When it cannot be written.
    """
    data = pack_work(work)
    with writing(path, WorkError):
        write_bytes(data, path, durable=durable)


def pack_work(work: Work) -> bytes:
    """Return the content of a file of saved work, identical for equal work."""
    content = {
        "format": FORMAT,
        "version": _version(work),
        "model": {**_model(work), "fingerprint": work.fingerprint},
        "positions": work.positions,
        "session": {
            name: None if name == COLUMN else work.fields[name]
            for name in SAVED
            if name in work.fields
        },
        "follows": work.place is not None and work.place.follows,
        "panel": work.panel,
        "window": work.size,
    }
    if work.layout is not None:
        content["docks"] = pack_layout(work.layout)
    arrays = {"turn": work.turn, **pack_place(work.place)}
    if work.others:
        content |= {
            "main_at": work.main_at,
            "alone": work.alone,
            "others": [
                {
                    **_model(other),
                    "positions": other.positions,
                    "components": other.components,
                    "follows": other.place is not None and other.place.follows,
                    "in_grid": other.in_grid,
                }
                for other in work.others
            ],
        }
        for number, other in enumerate(work.others):
            arrays |= {f"{name}_{number}": part for name, part in pack_place(other.place).items()}
    if work.alignment is not None:
        content["laying"] = pack_alignment(work.alignment)
    column = work.fields.get(COLUMN)
    if isinstance(column, PositionColumn) and work.fields.get("color_by") == "column":
        content["column"] = as_json(column)
    if work.panels:
        content["panels"] = {name: dict(options) for name, options in work.panels.items()}
    if work.file:  # as kept while the window is open
        content["file"] = {"path": work.file, "changed": work.changed}
    packed_arrays, archive = io.BytesIO(), io.BytesIO()
    np.savez(packed_arrays, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(archive, "w") as packed:
        for name, part in (
            (JSON, _json(content)),
            (ARRAYS, packed_arrays.getvalue()),
        ):
            # With a fixed date, so that the bytes do not depend on the time.
            packed.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
        if work.bookmarks:
            for name, part in pack_bookmarks(work.bookmarks).items():
                packed.writestr(zipfile.ZipInfo(name), part)
    return archive.getvalue()


def _json(content: Fields) -> bytes:
    # In ASCII: a path that is not UTF-8 has lone surrogates, which only escapes can represent.
    return json.dumps(content, indent=1).encode("ascii")


def _version(work: Work) -> int:
    if work.fields.get("color_by") in ("period", "token", "column"):
        own = 6
    elif any(other.positions is None for other in work.others):
        own = 5
    elif work.alignment is not None or work.panels:
        own = 4
    elif work.others:
        own = 3
    else:
        own = 2 if work.bookmarks else 1
    return max([own, *(_version(bookmark.work) for bookmark in work.bookmarks)])


def _model(work: Work | OtherView) -> dict[str, str | None]:
    return {
        "source": work.source.id,
        "beside": work.beside,
        "table": work.table,
        "commit": work.commit,
    }


def read_work(path: Path) -> Work:
    """Read a file of saved work.

    Raises WorkError: when it cannot be read, is not one, is of a later version, or has invalid
    values.
    """
    try:
        data = read_content(path)
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {error.strerror or error}", _AGAIN) from error
    return unpack_work(data, path.name)


def read_content(path: Path) -> bytes:
    """Return the content of a regular file of limited size.

    Raises WorkError: it is too large, or not a regular file.
    Raises OSError: it cannot be read.
    """
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST + 1)
    except SourceError as error:
        raise WorkError(str(error), error.advice) from error
    if len(data) > LARGEST:
        raise WorkError(f"{path} is too large to be a saved project.", _AGAIN)
    return data


def unpack_work(data: bytes, file: str) -> Work:
    """Parse the content of a file; ``file`` is its name for messages.

    Raises WorkError: as :func:`read_work` does.
    """
    # A damaged file may fail anywhere in zipfile, json and numpy.
    with reading(file, _AGAIN, error=WorkError):
        try:
            with open_archive(data) as archive:
                parts = _Parts(archive)
                work = _unpack_view(parts, file)
                bookmarks = _unpack_bookmarks(parts)[0] if LIST in parts else ()
                return replace(work, bookmarks=bookmarks)
        except WorkError:
            raise
        except (zipfile.BadZipFile, OSError, EOFError) as error:
            raise WorkError(f"{file} is not a saved project, or is incomplete.", _AGAIN) from error
        except HelixscopeError as error:
            raise WorkError(f"{file} is damaged.", _AGAIN) from error


class _Parts:
    """The parts of an archive, which together unpack to at most :data:`LARGEST` bytes."""

    def __init__(self, archive: zipfile.ZipFile, whole: _Parts | None = None) -> None:
        self._archive = archive
        self._whole = whole
        self._left = LARGEST

    def __contains__(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def read(self, name: str) -> bytes:
        """Unpack a part; raises any exception if there is none or it is damaged or too large."""
        size = self._archive.getinfo(name).file_size
        self._take(size, name)
        with open_member(self._archive, "it", name) as file:
            return file.read(size)  # without a size, zipfile unpacks all before it truncates

    def _take(self, nbytes: int, name: str) -> None:
        if self._whole is not None:
            self._whole._take(nbytes, name)
        self._left -= nbytes
        if self._left < 0:
            raise ValueError(f"with {name} it would unpack to more than {LARGEST} bytes")


def _unpack_view(parts: _Parts, file: str) -> Work:
    """Return the saved work of an archive, without bookmarks."""
    for name in (JSON, ARRAYS):
        if name not in parts:
            raise WorkError(f"{file} is not a saved project: it has no {name}.", _AGAIN)
    content = check_version(load_json(JSON, parts.read(JSON)), FORMAT, VERSION, file)
    return _unpack(content, _arrays(parts.read(ARRAYS)))


def _arrays(part: bytes) -> dict[str, np.ndarray]:
    """Return the arrays with known names; others are not unpacked."""
    with open_archive(part) as archive:
        known = (name.removesuffix(".npy") for name in archive.NameToInfo)
        return {
            name: read_array(archive, ARRAYS, f"{name}.npy", _MAX_ARRAY)
            for name in known
            if _KNOWN.fullmatch(name)
        }


def check_version(content: object, expected: str, newest: int, file: str) -> Fields:
    """Check the format and version of a JSON object, and return it.

    Raises WorkError: it has another format, or a later version.
    Raises ValueError: it has no version.
    """
    if not isinstance(content, dict) or content.get("format") != expected:
        raise WorkError(f"{file} was not saved by Helixscope.", _AGAIN)
    version = convert(content.get("version"), Counting)
    if version > newest:
        raise NewerVersion(
            f"{file} was saved by a newer version of Helixscope (format {version}; this version "
            f"reads up to {newest}).",
            "Install a newer version, then open it again.",
        )
    return content


class _Model(TypedDict):
    source: Name
    beside: NotRequired[Name]
    table: NotRequired[Name | None]
    commit: NotRequired[Name | None]


class _MainModel(_Model):
    fingerprint: NotRequired[Text]


def _read_model(value: object, kind: Any) -> dict[str, Any]:
    fields = convert(value, kind)
    return {**fields, "source": Source.parse(fields["source"])}


def _unpack(content: Fields, arrays: dict[str, np.ndarray]) -> Work:
    model = _read_model(content["model"], _MainModel)
    file = convert(content.get("file", {}), Fields)
    listed = convert(content.get("others", ()), _Others)
    left = LeftOut()
    others = tuple(_unpack_other(other, arrays, n, left) for n, other in enumerate(listed))
    n_others = len(others)
    view = Annotated[int, Meta(ge=0, le=n_others)]
    return Work(
        **model,
        positions=left.read("positions", lambda: _range(content["positions"]), (0, MAX_WHOLE)),
        fields=_session(content, left),
        place=left.read("camera", lambda: unpack_place(arrays, _follows(content)), None),
        others=others,
        main_at=left.convert("order", content.get("main_at", 0), view, 0),
        alone=left.convert("grid", content.get("alone"), view | None, None),
        alignment=left.read(
            "alignment", lambda: unpack_alignment(content.get("laying"), n_others), None
        ),
        # The panels check the values.
        panels=left.convert("panels", content.get("panels", {}), Mapping[str, Fields], {}),
        file=convert(file.get("path", ""), Name),
        changed=bool(file.get("changed", False)),
        turn=left.read("turn", lambda: unpack_turn(arrays), np.eye(3)),
        panel=left.convert("panel", content.get("panel", ""), Name, ""),
        size=left.convert("window", content.get("window"), _Size | None, None),
        layout=_layout(content),
        left_out=tuple(left.names),
    )


def _session(content: Fields, left: LeftOut) -> Fields:
    """Return the saved fields of the session that are valid."""
    session = left.convert("session", content.get("session"), Fields, {})
    invalid = object()
    fields = {
        name: left.convert(name, session[name], kind, invalid)
        for name, kind in SAVED.items()
        if name in session
    }
    if content.get("column") is not None:
        fields[COLUMN] = left.read("column", lambda: unpack_column(content["column"]), None)
    return {name: value for name, value in fields.items() if value is not invalid}


def _follows(content: Fields) -> bool:
    return bool(content.get("follows", False))


def _unpack_other(
    view: Fields, arrays: dict[str, np.ndarray], number: int, left: LeftOut
) -> OtherView:
    return OtherView(
        **_read_model(view, _Model),
        positions=left.read(
            "positions",
            lambda: None if view["positions"] is None else _range(view["positions"]),
            None,
        ),
        components=left.convert("components", view.get("components"), Three, (1, 2, 3)),
        place=left.read("camera", lambda: unpack_place(arrays, _follows(view), f"_{number}"), None),
        in_grid=bool(view.get("in_grid", True)),
    )


def _range(value: object) -> tuple[int, int]:
    first, last = convert(value, tuple[Whole, Whole])
    if last < first:
        raise ValueError(f"positions {first}–{last} are not a range")
    return first, last


def _layout(content: Fields) -> Layout | None:
    """Return the places of docks; None without any, or if they are damaged.

    The "layout" of 0.1 is ignored: bytes for Qt, which does not validate them.
    """
    if "docks" not in content:
        return None
    try:
        return unpack_layout(content["docks"])
    except ValueError as error:
        log.warning("A layout is left out: %s", error)
        return None


# ---- bookmarks: in a separate file, or in that of saved work ----

BOOKMARKS_FORMAT, BOOKMARKS_VERSION = "helixscope bookmarks", 1
FOLDER = "bookmarks/"
LIST = f"{FOLDER}list.json"
_BOOKMARKS_AGAIN = "Make the bookmarks again."
_Bookmarks = Annotated[list[object], Meta(max_length=MAX_BOOKMARKS)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A bookmark in the list."""

    key: Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    name: Name = ""
    note: Text = ""
    model: Name = ""


def pack_bookmarks(bookmarks: Sequence[Bookmark]) -> dict[str, bytes]:
    """Return the files of an archive of bookmarks, by name."""
    named = [
        {"key": bookmark.key, "name": bookmark.name, "note": bookmark.note, "model": bookmark.model}
        for bookmark in bookmarks
    ]
    content = {"format": BOOKMARKS_FORMAT, "version": BOOKMARKS_VERSION, "bookmarks": named}
    parts = {LIST: _json(content)}
    for bookmark in bookmarks:
        parts[f"{FOLDER}{bookmark.key}.helix"] = _packed(bookmark.work)
        parts[f"{FOLDER}{bookmark.key}.png"] = bookmark.picture
    return parts


@lru_cache(2 * MAX_BOOKMARKS)
def _packed(work: Work) -> bytes:
    """Pack a view; cached, because each change writes the whole list."""
    return pack_work(work)


def _unpack_bookmarks(
    parts: _Parts, *, leave_out: bool = False
) -> tuple[tuple[Bookmark, ...], int]:
    """Return the bookmarks of an archive, in their order.

    Parameters
    ----------
    parts
        Those of an archive with a file :data:`LIST`.
    leave_out
        Whether to leave out damaged ones if others are readable.

    Returns
    -------
    bookmarks : tuple of Bookmark
        The readable ones.
    left_out : int
        Number of unreadable ones.

    Raises
    ------
    NewerVersion
        The list or a bookmark has a later version.
    Exception
        Any, if the list or, unless ``leave_out``, a bookmark is damaged.
    """
    content = check_version(
        load_json(LIST, parts.read(LIST)), BOOKMARKS_FORMAT, BOOKMARKS_VERSION, LIST
    )
    readable: dict[str, Bookmark] = {}
    left_out = 0
    for entry in convert(content["bookmarks"], _Bookmarks):
        try:
            bookmark = _unpack_bookmark(parts, convert(entry, _Entry))
        except NewerVersion:
            raise  # it is intact, and must not be overwritten
        except Exception:
            if not leave_out:
                raise
            left_out += 1
        else:
            readable[bookmark.key] = bookmark
    return tuple(readable.values()), left_out


def _unpack_bookmark(parts: _Parts, entry: _Entry) -> Bookmark:
    with open_archive(parts.read(f"{FOLDER}{entry.key}.helix")) as archive:
        # Without nested bookmarks: an archive could contain itself.
        work = _unpack_view(_Parts(archive, parts), f"The bookmark “{entry.name}”")
    picture = parts.read(f"{FOLDER}{entry.key}.png")
    return Bookmark(entry.key, entry.name, entry.note, entry.model, work, picture)


def write_bookmarks(bookmarks: Sequence[Bookmark], path: Path) -> None:
    """Write bookmarks into a separate file, atomically.

    Raises WorkError: when it cannot be written.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, part in pack_bookmarks(bookmarks).items():
            packed.writestr(zipfile.ZipInfo(name), part)
    with writing(path, WorkError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(archive.getvalue(), path)


def read_bookmarks(path: Path) -> tuple[tuple[Bookmark, ...], int]:
    """Read a file of bookmarks.

    Parameters
    ----------
    path
        The file; a missing one has no bookmarks.

    Returns
    -------
    bookmarks : tuple of Bookmark
        The readable ones, in order.
    left_out : int
        Number of unreadable ones.

    Raises
    ------
    OSError
        It cannot be read at the moment, but may be intact.
    NewerVersion
        It or one of the bookmarks has a later version.
    WorkError
        It is completely damaged.
    """
    try:
        data = read_content(path)
    except FileNotFoundError:
        return (), 0
    why = "cannot be read: the file is damaged"
    # A damaged file may fail anywhere in zipfile, json and numpy.
    with reading(f"The bookmarks in {path}", _BOOKMARKS_AGAIN, error=WorkError, fault=why):
        try:
            with open_archive(data) as archive:
                return _unpack_bookmarks(_Parts(archive), leave_out=True)
        except (OSError, HelixscopeError) as error:
            if isinstance(error, WorkError):
                raise
            raise WorkError(f"The bookmarks in {path} {why}.", _BOOKMARKS_AGAIN) from error
