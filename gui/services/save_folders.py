"""The folders in which files of each kind were saved or opened last."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from gui.state.session import Session

WORK, MODELS = "work", "models"
"""Kinds shared by several dialogs; other kinds are the title of their dialog."""
MAX_FOLDERS = 32
"""Maximum number of kinds, of which there are a dozen."""


def remember_folder(session: Session, kind: str, file: Path) -> None:
    """Remember the folder of a file that was saved or opened, as the latest of all."""
    others = {other: folder for other, folder in session.folders.items() if other != kind}
    folders = {**others, kind: str(file.parent)}
    session.folders = MappingProxyType(dict(list(folders.items())[-MAX_FOLDERS:]))


def folder_for(session: Session, kind: str) -> str:
    """Return the folder for a kind, or the latest of any kind; "" if neither exists any more."""
    latest = reversed(list(session.folders.values()))
    for folder in (session.folders.get(kind, ""), *latest):
        if folder and Path(folder).is_dir():
            return folder
    return ""
