"""Persistent settings: a typed wrapper around an INI file."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

from platformdirs import user_config_path
from PySide6.QtCore import QByteArray, QSettings

from gui.state.session import Session
from gui.state.values import Outside, Projection
from gui.style.theme import COLORMAPS, ThemeChoice

APP = "helixscope"
LEAST_CACHE, MOST_CACHE = 100_000_000, 1_000_000_000_000
"""Bounds of the cache's size limit, in bytes."""
USUAL_CACHE = 2_000_000_000
"""Default size limit: that of the cache, whose modules are not needed at start."""
LAYOUT_VERSION = 2
"""Increased when the docks change, so that old layouts are not applied to a new window."""


def settings_path() -> Path:
    """Return the path of the settings file."""
    return user_config_path(APP, appauthor=False) / "settings.ini"


class Settings:
    """Stored values; invalid or unknown ones fall back to their defaults.

    The INI file is created on the first write.
    """

    def __init__(self, path: Path) -> None:
        self._store = QSettings(str(path), QSettings.Format.IniFormat)

    def _choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = str(self._store.value(key, allowed[0]))
        return value if value in allowed else allowed[0]

    def _texts(self, key: str) -> tuple[str, ...]:
        # Qt reads a list of one as its only item, and text with bare commas as a list.
        value = self._store.value(key)
        values = value if isinstance(value, list) else [value]
        return tuple(text for text in values if isinstance(text, str))

    @property
    def lessons(self) -> Path:
        """The folder of the user's own lessons, which may not exist."""
        return Path(self._store.fileName()).parent / "lessons"

    @property
    def unsaved(self) -> Path:
        """The folder of unsaved work, which may not exist."""
        return Path(self._store.fileName()).parent / "unsaved"

    @property
    def bookmarks(self) -> Path:
        """The file of bookmarks, which may not exist."""
        return Path(self._store.fileName()).parent / "bookmarks.zip"

    @property
    def theme(self) -> ThemeChoice:
        """Light, dark, or that of the system."""
        return cast(ThemeChoice, self._choice("look/theme", get_args(ThemeChoice)))

    @theme.setter
    def theme(self, value: ThemeChoice) -> None:
        self._store.setValue("look/theme", value)

    @property
    def last_source(self) -> str:
        """The source open last, or ""."""
        return ", ".join(self._texts("model/last"))

    @property
    def offline(self) -> bool:
        """Whether the user chose to work offline."""
        return str(self._store.value("network/offline", "false")) == "true"

    @offline.setter
    def offline(self, value: bool) -> None:
        self._store.setValue("network/offline", "true" if value else "false")

    @property
    def cache_limit(self) -> int:
        """Size limit of the cache in bytes."""
        try:
            value = int(str(self._store.value("network/cache_limit", USUAL_CACHE)))
        except ValueError:
            return USUAL_CACHE
        return value if LEAST_CACHE <= value <= MOST_CACHE else USUAL_CACHE

    @cache_limit.setter
    def cache_limit(self, value: int) -> None:
        self._store.setValue("network/cache_limit", str(value))

    def new_session(self) -> Session:
        """Return a session with its remembered fields."""
        return Session(
            colormap=self._choice("view/colormap", COLORMAPS),
            outside=cast(Outside, self._choice("view/outside", get_args(Outside))),
            projection=cast(Projection, self._choice("view/projection", get_args(Projection))),
            keep_turned=str(self._store.value("view/keep_turned", "false")) == "true",
            offline=self.offline,
            recent=self._texts("model/recent"),
            prompt=", ".join(self._texts("prompt")),
        )

    def save_session(self, session: Session) -> None:
        """Store the session's fields for the next start."""
        self._store.setValue("view/colormap", session.colormap)
        self._store.setValue("view/outside", session.outside)
        self._store.setValue("view/projection", session.projection)
        self._store.setValue("view/keep_turned", "true" if session.keep_turned else "false")
        self._store.setValue("model/recent", list(session.recent))
        self._store.setValue("model/last", session.recent[0] if session.recent else "")
        self._store.setValue("prompt", session.prompt)

    @property
    def layout(self) -> tuple[QByteArray, QByteArray] | None:
        """Geometry and dock state of the window, or None at the first start."""
        if str(self._store.value("window/version", "")) != str(LAYOUT_VERSION):
            return None
        geometry, state = self._store.value("window/geometry"), self._store.value("window/state")
        if not isinstance(geometry, QByteArray) or not isinstance(state, QByteArray):
            return None
        return geometry, state

    @layout.setter
    def layout(self, value: tuple[QByteArray, QByteArray]) -> None:
        self._store.setValue("window/version", LAYOUT_VERSION)
        self._store.setValue("window/geometry", value[0])
        self._store.setValue("window/state", value[1])

    def sync(self) -> None:
        """Write everything to the file now."""
        self._store.sync()
