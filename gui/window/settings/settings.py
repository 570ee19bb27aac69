"""Persistent settings: a typed wrapper around a JSON file."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

from platformdirs import user_config_path

from geometry.checkpoints.errors import HelixscopeError
from gui.services.save_folders import MAX_FOLDERS
from gui.state.layout import (
    Layout,
    WindowPlace,
    pack_layout,
    pack_place,
    unpack_layout,
    unpack_place,
)
from gui.state.session import REMEMBERED, SAVED, Session
from gui.state.values import (
    MAX_COLUMNS,
    MAX_TABLES,
    ColumnWidths,
    FirstRange,
    Notice,
    within,
)
from gui.style.theme import COLORMAPS, TEXT, TEXT_SIZES, ThemeChoice
from gui.window.settings.settings_file import (
    BROKEN,
    OLD,
    quarantine,
    read_settings,
    write_settings,
)

log = logging.getLogger(__name__)

APP = "helixscope"
MIN_CACHE, MAX_CACHE = 100_000_000, 1_000_000_000_000
"""Bounds of the cache's size limit, in bytes."""
MAX_COLUMN_LENGTH = 100
"""Maximum number of characters of a stored column of a table."""
DEFAULT_CACHE = 2_000_000_000
"""Default size limit, as in the cache's module, which is not imported at start."""


def settings_path() -> Path:
    """Return the path of the settings file."""
    return user_config_path(APP, appauthor=False) / "settings.json"


class Settings:
    """Stored values; invalid or unknown ones fall back to their defaults.

    Parameters
    ----------
    path
        The file; it is created on the first write.
    """

    def __init__(self, path: Path) -> None:
        self._file = path
        self._damaged: Exception | None = None
        self._changed: dict[str, object] = {}
        self._values = self._read()

    def _read(self) -> dict[str, object]:
        try:
            return read_settings(self._file)
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
            aside = quarantine(self._file, BROKEN)
        except OSError:
            log.exception("%s cannot be moved aside", self._file)
            return Notice(why, f"The file is {self._file}.")
        return Notice(why, f"The file is kept as {aside}.")

    def _text(self, key: str, default: str = "") -> str:
        value = self._values.get(key, default)
        return value if isinstance(value, str) else default

    def _choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self._values.get(key)
        return value if isinstance(value, str) and value in allowed else allowed[0]

    def _number(self, key: str, default: float, bounds: tuple[float, float]) -> float:
        value = self._values.get(key)
        return value if within(value, bounds) else default

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self._values.get(key)
        texts = value if isinstance(value, list) else ()
        return tuple(text for text in texts if isinstance(text, str))

    def _columns(self, key: str) -> ColumnWidths:
        """Return columns of a table with their widths, each as "key width"."""
        columns = []
        for text in self._texts(key)[:MAX_COLUMNS]:
            name, _, width = text[:MAX_COLUMN_LENGTH].partition(" ")
            digits = width.isascii() and width.isdecimal() and len(width) < 6
            columns.append((name, int(width) if digits else 0))
        return tuple(columns)

    def _set(self, key: str, value: object) -> None:
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
    def theme(self) -> ThemeChoice:
        """The theme: light, dark, or the system's."""
        return cast(ThemeChoice, self._choice("look/theme", get_args(ThemeChoice)))

    @theme.setter
    def theme(self, value: ThemeChoice) -> None:
        self._set("look/theme", value)
        self.sync()

    @property
    def text_size(self) -> int:
        """Size of text, one of :data:`gui.style.theme.TEXT_SIZES`."""
        value = self._values.get("look/text_size")
        return value if isinstance(value, int) and value in TEXT_SIZES else TEXT

    @text_size.setter
    def text_size(self, value: int) -> None:
        self._set("look/text_size", value)
        self.sync()

    @property
    def colormap(self) -> str:
        """The colour map at every start; "" for the last one."""
        return self._choice("start/colormap", ("", *COLORMAPS))

    @colormap.setter
    def colormap(self, value: str) -> None:
        self._set("start/colormap", value)
        self.sync()

    @property
    def first_range(self) -> FirstRange:
        """The initial range of an opened model."""
        return cast(FirstRange, self._choice("start/range", get_args(FirstRange)))

    @first_range.setter
    def first_range(self, value: FirstRange) -> None:
        self._set("start/range", value)
        self.sync()

    @property
    def keys(self) -> object:
        """Keys of commands as stored, for :func:`gui.window.settings.keys.usable`."""
        return self._values.get("keys")

    @keys.setter
    def keys(self, value: Mapping[str, str]) -> None:
        self._set("keys", dict(value))
        self.sync()

    @property
    def last_source(self) -> str:
        """The last open source, or ""."""
        return self._text("model/last")

    @property
    def toolbar(self) -> bool:
        """Whether the toolbar is shown."""
        return self._values.get("view/toolbar") != "false"

    @toolbar.setter
    def toolbar(self, value: bool) -> None:
        self._set("view/toolbar", "true" if value else "false")

    @property
    def offline(self) -> bool:
        """Whether the user chose to work offline."""
        return self._values.get("network/offline") == "true"

    @offline.setter
    def offline(self, value: bool) -> None:
        self._set("network/offline", "true" if value else "false")
        self.sync()

    @property
    def cache_limit(self) -> int:
        """Size limit of the cache in bytes."""
        text = self._text("network/cache_limit")
        digits = len(str(MAX_CACHE))
        value = int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else 0
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
            recent=self._texts("model/recent"),
            surveys=self._texts("surveys/recent"),
            tables=self._pairs("model/tables", MAX_TABLES),
            prompt=self._text("prompt"),
            folders=self._pairs("folders", MAX_FOLDERS),
        )

    def _remembered(self) -> dict[str, Any]:
        """Return the remembered fields of a session, as far as they are valid."""
        values = {name: self._values.get(key) for name, key in REMEMBERED.items()}
        flags = {name: v == "true" for name, v in values.items() if v in ("true", "false")}
        values.update(flags)
        return {name: value for name, value in values.items() if SAVED[name](value)}

    def save_session(self, session: Session) -> None:
        """Store the session's fields for the next start."""
        for name, key in REMEMBERED.items():
            value = getattr(session, name)
            self._set(key, str(value).lower() if isinstance(value, bool) else value)
        self._set("compare/columns", [f"{key} {width}" for key, width in session.compare_columns])
        self._set("model/recent", list(session.recent))
        self._set("surveys/recent", list(session.surveys))
        self._set("model/last", session.recent[0] if session.recent else "")
        self._set("model/tables", dict(session.tables))
        self._set("prompt", session.prompt)
        self._set("folders", dict(session.folders))

    def _pairs(self, key: str, max_count: int) -> Mapping[str, str]:
        """Return texts by their names; of too many, the last ones."""
        value = self._values.get(key)
        pairs = value.items() if isinstance(value, dict) else ()
        texts = {name: text for name, text in pairs if isinstance(text, str)}
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
            place = unpack_place(self._values["window"])
            return place, unpack_layout(self._values.get("docks"))
        except ValueError as error:
            log.warning("The layout is left out: %s", error)
            return None

    @layout.setter
    def layout(self, value: tuple[WindowPlace, Layout]) -> None:
        self._set("window", pack_place(value[0]))
        self._set("docks", pack_layout(value[1]))

    @property
    def workspaces(self) -> tuple[str, dict[str, Layout]]:
        """Name of the current workspace, and the layouts of workspaces by name."""
        stored = self._values.get("workspaces")
        current = self._text("workspace")
        layouts: dict[str, Layout] = {}
        for name, layout in stored.items() if isinstance(stored, dict) else ():
            try:
                layouts[str(name)] = unpack_layout(layout)
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
            stored = read_settings(self._file)
        except FileNotFoundError:
            stored = dict(self._values)
        except (HelixscopeError, OSError) as error:
            self._damaged, stored = error, dict(self._values)
        self.quarantine_damaged()
        try:
            write_settings({**stored, **self._changed}, self._file)
        except OSError:
            log.exception("the settings cannot be written")
        else:
            self._changed.clear()

    def reset(self) -> Path | None:
        """Set everything back to its default; return where the file is kept now, if there was one.

        Raises OSError: the file cannot be renamed.
        """
        kept = quarantine(self._file, OLD) if os.path.lexists(self._file) else None
        self._values, self._changed, self._damaged = {}, {}, None
        return kept
