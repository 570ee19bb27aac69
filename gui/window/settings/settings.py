"""Persistent settings: a typed wrapper around a JSON file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, convert
from platformdirs import user_config_path

from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import open_regular
from geometry.checkpoints.whole_files import write_bytes
from geometry.models.sources.source import Source
from gui.services.save_folders import MAX_FOLDERS
from gui.state.camera import Outlook
from gui.state.fields import as_json, one_of
from gui.state.layout import Layout, WindowPlace, pack_layout, unpack_layout
from gui.state.session import REMEMBERED, SAVED, Session
from gui.state.values import MAX_TABLES, ColumnWidths, FirstRange, Notice
from gui.style.theme import COLORMAPS, TEXT, TEXT_SIZES, ThemeChoice

log = logging.getLogger(__name__)

T = TypeVar("T")

APP = "helixscope"
LARGEST = 2_000_000
"""Maximum size of a settings file in bytes, a hundred times that with a long prompt."""
BROKEN, OLD = ".broken", ".old"
"""Suffixes of a damaged file, and of one that the user has reset."""
MIN_CACHE, MAX_CACHE = 100_000_000, 1_000_000_000_000
"""Bounds of the cache's size limit, in bytes."""
_Digits = Annotated[str, Meta(pattern=r"\A[0-9]{1,13}\Z")]
DEFAULT_CACHE = 2_000_000_000
"""Default size limit, as in the cache's module, which is not imported at start."""


def settings_path() -> Path:
    """Return the path of the settings file."""
    return user_config_path(APP, appauthor=False) / "settings.json"


class _Stored(Generic[T]):
    """A value with a key in the file, which is written when it is set."""

    def __init__(self, key: str, kind: Any, default: T) -> None:
        self._key, self._kind, self._default = key, kind, default

    def __get__(self, settings: Settings, owner: type) -> T:
        value: T = settings._get(self._key, self._kind, self._default)
        return value

    def __set__(self, settings: Settings, value: T) -> None:
        settings._set(self._key, value)
        settings.sync()


class Settings:
    """Stored values; invalid or unknown ones fall back to their defaults.

    Parameters
    ----------
    path
        The file; it is created on the first write.
    """

    theme = _Stored[ThemeChoice]("look/theme", ThemeChoice, "system")
    """The theme: light, dark, or the system's."""
    text_size = _Stored("look/text_size", one_of(*TEXT_SIZES), TEXT)
    """Size of text, one of :data:`gui.style.theme.TEXT_SIZES`."""
    colormap = _Stored("start/colormap", one_of("", *COLORMAPS), "")
    """The colour map at every start; "" for the last one."""
    first_range = _Stored[FirstRange]("start/range", FirstRange, "typical")
    """The initial range of an opened model."""
    keys = _Stored[object]("keys", object, None)
    """Keys of commands as stored, for :func:`gui.window.settings.keys.usable`."""
    toolbar = _Stored("view/toolbar", bool, True)
    """Whether the toolbar is shown."""
    offline = _Stored("network/offline", bool, False)
    """Whether the user chose to work offline."""

    def __init__(self, path: Path) -> None:
        self._file = path
        self._damaged: Exception | None = None
        self._changed: dict[str, object] = {}
        self._values = self._load()

    def _load(self) -> dict[str, object]:
        try:
            return _read(self._file)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (HelixscopeError, OSError) as error:
            log.warning("%s cannot be read", self._file, exc_info=error)
            self._damaged = error
            return {}

    def quarantine_damaged(self) -> Notice | None:
        """Rename a damaged file; return a notice about it, None if there was none."""
        if self._damaged is None:
            return None
        error, self._damaged = self._damaged, None
        why = f"The settings cannot be read and were reset to their defaults: {error}"
        try:
            aside = _quarantine(self._file, BROKEN)
        except OSError:
            log.exception("%s cannot be moved aside", self._file)
            return Notice(why, f"The file is {self._file}.")
        return Notice(why, f"The file is kept as {aside}.")

    def _get(self, key: str, kind: Any, default: Any) -> Any:
        """Return a value as a type; the default if there is none, or an invalid one."""
        try:
            # Flags are stored as texts.
            return convert(self._values[key], kind, strict=kind is not bool)
        except (KeyError, ValueError):
            return default

    def _texts(self, key: str) -> tuple[str, ...]:
        texts = self._get(key, list[object], ())
        return tuple(text for text in texts if isinstance(text, str))

    def _columns(self, key: str) -> ColumnWidths:
        """Return columns of a table with their widths, each as "key width"."""
        columns = []
        for text in self._texts(key):
            name, _, width = text.partition(" ")
            digits = width.isascii() and width.isdecimal() and len(width) < 6
            columns.append((name, int(width) if digits else 0))
        return tuple(columns)

    def _set(self, key: str, value: object) -> None:
        value = str(value).lower() if isinstance(value, bool) else value
        if self._values.get(key) != value:
            self._values[key] = self._changed[key] = value

    @property
    def folder(self) -> Path:
        """The folder of all data kept between starts, which may not exist."""
        return self._file.parent

    @property
    def lessons(self) -> Path:
        """The folder of the user's own lessons, which may not exist."""
        return self.folder / "lessons"

    @property
    def unsaved(self) -> Path:
        """The folder of unsaved work, which may not exist."""
        return self.folder / "unsaved"

    @property
    def bookmarks(self) -> Path:
        """The file of bookmarks, which may not exist."""
        return self.folder / "bookmarks.zip"

    @property
    def last_source(self) -> str:
        """The last open source, or ""."""
        return self._get("model/last", str, "")

    @property
    def camera(self) -> Outlook | None:
        """The view of the last source's curve; None for the default one."""
        numbers = self._get("view/camera", list[float], [])
        try:
            return Outlook.of_numbers(numbers) if numbers else None
        except ValueError as error:
            log.warning("The view is left out: %s", error)
            return None

    @camera.setter
    def camera(self, value: Outlook | None) -> None:
        self._set("view/camera", [] if value is None else value.numbers)

    @property
    def cache_limit(self) -> int:
        """Size limit of the cache in bytes."""
        value = int(self._get("network/cache_limit", _Digits, "0"))
        return value if MIN_CACHE <= value <= MAX_CACHE else DEFAULT_CACHE

    @cache_limit.setter
    def cache_limit(self, value: int) -> None:
        self._set("network/cache_limit", str(value))
        self.sync()

    def new_session(self) -> Session:
        """Return a session with its remembered fields."""
        fixed = {"colormap": self.colormap} if self.colormap else {}
        return Session(
            **{**self._remembered(), **fixed},
            first_range=self.first_range,
            compare_columns=self._columns("compare/columns"),
            offline=self.offline,
            recent=tuple(map(Source.parse, self._texts("model/recent"))),
            surveys=self._texts("surveys/recent"),
            tables=self._pairs("model/tables", MAX_TABLES),
            prompt=self._get("prompt", str, ""),
            folders=self._pairs("folders", MAX_FOLDERS),
        )

    def _remembered(self) -> dict[str, Any]:
        """Return the remembered fields of a session, as far as they are valid."""
        values = {name: self._get(key, SAVED[name], None) for name, key in REMEMBERED.items()}
        return {name: value for name, value in values.items() if value is not None}

    def save_session(self, session: Session) -> None:
        """Store the session's fields for the next start."""
        for name, key in REMEMBERED.items():
            self._set(key, getattr(session, name))
        self._set("compare/columns", [f"{key} {width}" for key, width in session.compare_columns])
        recent = [source.id for source in session.recent]
        self._set("model/recent", recent)
        self._set("surveys/recent", list(session.surveys))
        self._set("model/last", recent[0] if recent else "")
        self._set("model/tables", dict(session.tables))
        self._set("prompt", session.prompt)
        self._set("folders", dict(session.folders))

    def _pairs(self, key: str, max_count: int) -> Mapping[str, str]:
        """Return texts by their names; of too many, the last ones."""
        pairs = self._get(key, dict[str, Any], {})
        texts = {name: text for name, text in pairs.items() if isinstance(text, str)}
        return MappingProxyType(dict(list(texts.items())[-max_count:]))

    @property
    def at_first_start(self) -> bool:
        """Whether no window has stored its layout yet."""
        return "window" not in self._values

    @property
    def layout(self) -> tuple[WindowPlace, Layout] | None:
        """Places of the window and of its docks, or None at the first start."""
        if self.at_first_start:
            return None
        try:
            place = convert(self._values["window"], WindowPlace)
            return place, unpack_layout(self._values.get("docks"))
        except ValueError as error:
            log.warning("The layout is left out: %s", error)
            return None

    @layout.setter
    def layout(self, value: tuple[WindowPlace, Layout]) -> None:
        self._set("window", as_json(value[0]))
        self._set("docks", pack_layout(value[1]))

    @property
    def workspaces(self) -> tuple[str, dict[str, Layout]]:
        """Name of the current workspace, and the layouts of workspaces by name."""
        current = self._get("workspace", str, "")
        layouts: dict[str, Layout] = {}
        for name, layout in self._get("workspaces", dict[str, Any], {}).items():
            try:
                layouts[name] = unpack_layout(layout)
            except ValueError as error:
                log.warning("The workspace %r is left out: %s", name, error)
        return current, layouts

    @workspaces.setter
    def workspaces(self, value: tuple[str, Mapping[str, Layout]]) -> None:
        self._set("workspace", value[0])
        self._set("workspaces", {name: pack_layout(layout) for name, layout in value[1].items()})

    def sync(self) -> None:
        """Write changed values to the file; others, which another window may have written, stay."""
        if not self._changed:
            return
        try:
            stored = _read(self._file)
        except FileNotFoundError:
            stored = dict(self._values)
        except (HelixscopeError, OSError) as error:
            self._damaged, stored = error, dict(self._values)
        self.quarantine_damaged()
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({**stored, **self._changed}, indent=1, sort_keys=True)
            write_bytes(content.encode(), self._file)
        except OSError:
            log.exception("the settings cannot be written")
        else:
            self._changed.clear()

    def reset(self) -> Path | None:
        """Set everything back to its default; return where the file is kept now, if there was one.

        Raises OSError: the file cannot be renamed.
        """
        kept = _quarantine(self._file, OLD) if os.path.lexists(self._file) else None
        self._values, self._changed, self._damaged = {}, {}, None
        return kept


def _read(file: Path) -> dict[str, object]:
    """Return the values of a JSON file of settings, by their keys.

    Raises
    ------
    HelixscopeError
        It is damaged, or not a file.
    OSError
        It cannot be read, or does not exist.
    """
    with open_regular(file) as opened:
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise HelixscopeError(
            f"{file.name} is longer than {LARGEST} bytes.",
            "The settings were reset to their defaults.",
        )
    return parse_json(file.name, content)


def _quarantine(file: Path, ending: str) -> Path:
    """Rename a file with a suffix, and a number if necessary; return the new path.

    Raises OSError: It cannot be renamed.
    """
    names = chain((ending,), (f".{n}{ending}" for n in count(2)))
    renamed = next(
        free for name in names if not os.path.lexists(free := file.with_name(f"{file.name}{name}"))
    )
    os.rename(file, renamed)
    return renamed
