"""Files of saved work, ``.helix``.

A zip archive: ``helix.json`` has all named values, ``arrays.npz`` the camera; bookmarks, if any,
are described below. The JSON starts with the format and its version. Files of a later version are
refused, since they could be shown only in part; fields that an earlier one lacks take their
defaults. Version 2 added bookmarks, 3 models side by side, 4 the aligned curve and the panels'
options; a file has the first version that supports its content. The docks' places are in "docks";
0.1 ignores them, and opens the rest.
"""

from __future__ import annotations

import io
import json
import logging
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_bytes, writing
from gui.services.work_files.work_parts import (
    numbers,
    pack_alignment,
    pack_place,
    row,
    table,
    text,
    tupled,
    unpack_alignment,
    unpack_place,
)
from gui.state.layout import Layout, pack_layout, unpack_layout
from gui.state.values import Fields
from gui.state.work import (
    FIELDS,
    MOST_BOOKMARKS,
    Bookmark,
    ModelFields,
    OtherView,
    Work,
    three,
    whole,
)

log = logging.getLogger(__name__)

FORMAT, VERSION = "helixscope", 4
JSON, ARRAYS = "helix.json", "arrays.npz"
LARGEST = 50_000_000
"""Size limit of the file and its unpacked content; larger files are not ours."""
_AGAIN = "Save the work again, or open the model by itself."


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
    said = {
        "format": FORMAT,
        "version": _version(work),
        "model": {**_model(work), "fingerprint": work.fingerprint},
        "positions": list(work.positions),
        "session": {name: work.fields[name] for name in FIELDS if name in work.fields},
        "follows": work.place is not None and work.place.follows,
        "panel": work.panel,
        "window": None if work.size is None else list(work.size),
    }
    if work.layout is not None:
        said["docks"] = pack_layout(work.layout)
    arrays = {"turn": work.turn, **pack_place(work.place)}
    if work.others:
        said |= {
            "main_at": work.main_at,
            "others": [
                {
                    **_model(other),
                    "positions": list(other.positions),
                    "components": list(other.components),
                    "follows": other.place is not None and other.place.follows,
                    "in_grid": other.in_grid,
                }
                for other in work.others
            ],
        }
        for number, other in enumerate(work.others):
            arrays |= {f"{name}_{number}": part for name, part in pack_place(other.place).items()}
    if work.alignment is not None:
        said["laying"] = pack_alignment(work.alignment)
    if work.panels:
        said["panels"] = {name: dict(options) for name, options in work.panels.items()}
    packed_arrays, archive = io.BytesIO(), io.BytesIO()
    np.savez(packed_arrays, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(archive, "w") as packed:
        for name, part in (
            (JSON, _json(said)),
            (ARRAYS, packed_arrays.getvalue()),
        ):
            # With a fixed date, so that the bytes do not depend on the time.
            packed.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
        if work.bookmarks:
            for name, part in pack_bookmarks(work.bookmarks).items():
                packed.writestr(zipfile.ZipInfo(name), part)
    return archive.getvalue()


def _json(said: Fields) -> bytes:
    # In ASCII: a path that is not UTF-8 has lone surrogates, which only escapes can represent.
    return json.dumps(said, indent=1).encode("ascii")


def _version(work: Work) -> int:
    if work.alignment is not None or work.panels:
        own = 4
    elif work.others:
        own = 3
    else:
        own = 2 if work.bookmarks else 1
    return max([own, *(_version(one.work) for one in work.bookmarks)])


def _model(work: Work | OtherView) -> dict[str, str | None]:
    return {
        "source": work.source, "beside": work.beside, "table": work.table, "commit": work.commit,
    }  # fmt: skip


def read_work(path: Path) -> Work:
    """Read a file of saved work.

    Raises WorkError: when it cannot be read, is not one, is of a later version, or has invalid
    values.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {error.strerror or error}", _AGAIN) from error
    return unpack_work(data, path.name)


def unpack_work(data: bytes, file: str) -> Work:
    """Parse the content of a file; ``file`` is its name for messages.

    Raises WorkError: as :func:`read_work` does.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            said = json.loads(_part(archive, JSON, file).decode())
            said = check_version(said, FORMAT, VERSION, file)
            arrays = _arrays(_part(archive, ARRAYS, file))
            return replace(_unpack(said, arrays), bookmarks=_bookmarks(archive))
    except WorkError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise WorkError(f"{file} is no saved work, or only a part of it.", _AGAIN) from error
    except Exception as error:  # a damaged file may fail anywhere in zipfile, json and numpy
        log.warning("%s cannot be read", file, exc_info=error)
        raise WorkError(f"{file} is damaged.", _AGAIN) from error


def _arrays(part: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(part), allow_pickle=False) as arrays:
        if sum(member.file_size for member in arrays.zip.infolist()) > LARGEST:
            raise ValueError(f"{ARRAYS} would unpack to more than {LARGEST} bytes")
        return dict(arrays)


def _bookmarks(archive: zipfile.ZipFile) -> tuple[Bookmark, ...]:
    return unpack_bookmarks(archive)[0] if LIST in archive.namelist() else ()


def _part(archive: zipfile.ZipFile, name: str, file: str) -> bytes:
    if name not in archive.namelist():
        raise WorkError(f"{file} is no saved work: it has no {name}.", _AGAIN)
    if archive.getinfo(name).file_size > LARGEST:
        raise WorkError(f"{file} is no saved work: its {name} is too large.", _AGAIN)
    return archive.read(name)


def check_version(said: object, expected: str, newest: int, file: str) -> Fields:
    """Check the format and version of a JSON object, and return it.

    Raises WorkError: it has another format, or a later version.
    """
    if not isinstance(said, dict) or said.get("format") != expected:
        raise WorkError(f"{file} is no work saved by Helixscope.", _AGAIN)
    version = said.get("version")
    if not whole(version, 1):
        raise WorkError(f"{file} is damaged: its version is {version!r}.", _AGAIN)
    if version > newest:
        raise NewerVersion(
            f"{file} was saved by a newer Helixscope (format {version}; this one reads up to "
            f"{newest}).",
            "Install a newer version, then open it again.",
        )
    return said


def _unpack(said: Fields, arrays: dict[str, np.ndarray]) -> Work:
    session, model = table(said["session"]), table(said["model"])
    saved = {name: tupled(value) for name, value in session.items() if name in FIELDS}
    for name, value in saved.items():
        if not FIELDS[name](value):
            raise ValueError(f"{name} cannot be {value!r}")
    others = tuple(
        _unpack_other(table(one), arrays, number)
        for number, one in enumerate(row(said.get("others", [])))
    )
    main_at = said.get("main_at", 0)
    if not (whole(main_at) and main_at <= len(others)):
        raise ValueError(f"place {main_at!r} is none of {len(others) + 1}")
    alignment = said.get("laying")
    return Work(
        **_unpack_model(model),
        positions=_range(said),
        fields=saved,
        fingerprint=text(model.get("fingerprint", "")),
        place=unpack_place(arrays, bool(said.get("follows", False))),
        others=others,
        main_at=main_at,
        alignment=None if alignment is None else unpack_alignment(table(alignment), len(others)),
        panels=_panels(said.get("panels")),
        turn=numbers(arrays, "turn", (3, 3)),
        panel=text(said.get("panel", "")),
        size=_size(said.get("window")),
        layout=_layout(said),
    )


def _panels(said: object) -> Mapping[str, Fields]:
    """Return the panels' options by name; the panels validate the values."""
    if said is None:
        return {}
    if not isinstance(said, dict) or not all(isinstance(one, dict) for one in said.values()):
        raise ValueError("what panels show has no names")
    return said


def _unpack_other(one: Fields, arrays: dict[str, np.ndarray], number: int) -> OtherView:
    components = tupled(one["components"])
    if not three(components):
        raise ValueError(f"components cannot be {components!r}")
    place = unpack_place(arrays, bool(one.get("follows", False)), f"_{number}")
    return OtherView(
        **_unpack_model(one), positions=_range(one), components=components, place=place,
        in_grid=bool(one.get("in_grid", True)),
    )  # fmt: skip


def _unpack_model(model: Fields) -> ModelFields:
    tensor, commit = model.get("table"), model.get("commit")
    return {
        "source": text(model["source"]),
        "beside": text(model.get("beside", "")),
        "table": None if tensor is None else text(tensor),
        "commit": None if commit is None else text(commit),
    }


def _range(said: Fields) -> tuple[int, int]:
    first, last = row(said["positions"])
    if not (whole(first) and whole(last, first)):
        raise ValueError(f"positions {first!r}–{last!r} are no range")
    return first, last


def _layout(said: Fields) -> Layout | None:
    """Return the places of docks; None without any, or if they are damaged.

    What 0.1 wrote as "layout" are bytes for Qt, which does not check them.
    """
    if "docks" not in said:
        return None
    try:
        return unpack_layout(said["docks"])
    except ValueError as error:
        log.warning("A layout is left out: %s", error)
        return None


def _size(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    width, height = row(value)
    if not (whole(width, 1) and whole(height, 1)):
        raise ValueError(f"a window cannot be {width!r} × {height!r}")
    return width, height


# ---- bookmarks: in a file of their own, or in that of saved work ----

BOOKMARKS_FORMAT, BOOKMARKS_VERSION = "helixscope bookmarks", 1
FOLDER = "bookmarks/"
LIST = f"{FOLDER}list.json"
_KEY = re.compile(r"[0-9a-f]{32}")
_BOOKMARKS_AGAIN = "Make the bookmarks again."


def pack_bookmarks(bookmarks: Sequence[Bookmark]) -> dict[str, bytes]:
    """Return the files of an archive of bookmarks, by name."""
    named = [
        {"key": one.key, "name": one.name, "note": one.note, "model": one.model}
        for one in bookmarks
    ]
    said = {"format": BOOKMARKS_FORMAT, "version": BOOKMARKS_VERSION, "bookmarks": named}
    parts = {LIST: _json(said)}
    for one in bookmarks:
        parts[f"{FOLDER}{one.key}.helix"] = _packed(one.work)
        parts[f"{FOLDER}{one.key}.png"] = one.picture
    return parts


@lru_cache(2 * MOST_BOOKMARKS)
def _packed(work: Work) -> bytes:
    """Pack a view; cached, because the whole list is written again and again."""
    return pack_work(work)


def unpack_bookmarks(
    archive: zipfile.ZipFile, *, leave_out: bool = False
) -> tuple[tuple[Bookmark, ...], int]:
    """Return the bookmarks of an archive, in their order.

    Parameters
    ----------
    archive
        An archive with a file :data:`LIST`.
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
    said = json.loads(_bookmark_part(archive, LIST).decode())
    said = check_version(said, BOOKMARKS_FORMAT, BOOKMARKS_VERSION, LIST)
    found: dict[str, Bookmark] = {}
    left_out = 0
    for one in row(said["bookmarks"]):
        try:
            bookmark = _unpack_bookmark(archive, table(one))
        except NewerVersion:
            raise  # it is intact, and must not get lost
        except Exception:
            if not leave_out:
                raise
            left_out += 1
        else:
            found[bookmark.key] = bookmark
    return tuple(found.values()), left_out


def _unpack_bookmark(archive: zipfile.ZipFile, said: Fields) -> Bookmark:
    texts = {name: text(said.get(name, "")) for name in ("key", "name", "note", "model")}
    key = texts["key"]
    if _KEY.fullmatch(key) is None:
        raise ValueError(f"{key!r} is no bookmark's key")
    view = _bookmark_part(archive, f"{FOLDER}{key}.helix")
    work = unpack_work(view, f"The bookmark “{texts['name']}”")
    return Bookmark(**texts, work=work, picture=_bookmark_part(archive, f"{FOLDER}{key}.png"))


def _bookmark_part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(f"{name} is too large")
    return archive.read(name)


def write_bookmarks(bookmarks: Sequence[Bookmark], path: Path) -> None:
    """Write bookmarks into a file of their own, atomically.

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
        data = path.read_bytes()
    except FileNotFoundError:
        return (), 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return unpack_bookmarks(archive, leave_out=True)
    except WorkError:
        raise
    except Exception as error:  # a damaged file may fail anywhere in zipfile, json and numpy
        log.warning("%s cannot be read", path, exc_info=error)
        why = f"The bookmarks in {path} cannot be read: the file is damaged."
        raise WorkError(why, _BOOKMARKS_AGAIN) from error
