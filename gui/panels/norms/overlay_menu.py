"""Which models can be laid over the open one: those that are on this machine."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMenu, QWidget

from gui.panels.models.model_line import identity
from gui.panels.models.model_rows import source_title
from gui.services.loading import path_exists
from gui.services.overlaying import COLORS
from gui.state.session import Session

NONE_HERE = "No other model is on this machine: open one first"
MAX_RECENT = 4

Choice = tuple[str, str]
"""A source, and what it is called."""


def overlay_choices(session: Session) -> tuple[Choice, ...]:
    """Return what can be laid over: recent files and folders, then models that are here.

    What would have to be downloaded is left out, and so are the open model and those beside it.
    """
    here = [row.entry for row in session.models if row.state != "online"]
    found: dict[str, Choice] = {}
    known = {identity(row.entry.id) for row in session.models}
    recent = [s for s in session.recent if identity(s) not in known and path_exists(s)]
    for source in recent[: MAX_RECENT + 1]:
        found[identity(source)] = (source, source_title(source, session.models))
    for entry in here:
        found.setdefault(identity(entry.id), (entry.id, entry.title))
    if session.model is not None:
        opened = session.recent[0] if session.recent else session.model.source
        for source in (session.model.source, opened):
            found.pop(identity(source), None)
    laid = {overlay.source for overlay in session.overlays}
    for compared in session.compared:
        if compared.source not in laid:
            found.pop(identity(compared.source), None)
    return tuple(found.values())


def overlay_menu(
    session: Session,
    parent: QWidget,
    add: Callable[[str], None],
    remove: Callable[[str], None],
) -> QMenu:
    """Make the menu of what can be laid over the open model; what is already has a tick."""
    menu = QMenu(parent)
    laid = {identity(overlay.source): overlay.source for overlay in session.overlays}
    choices = overlay_choices(session)
    for source, title in choices:
        action = menu.addAction(title.replace("&", "&&"))
        action.setCheckable(True)
        there = laid.get(identity(source))
        action.setChecked(there is not None)
        action.setEnabled(there is not None or len(laid) + len(session.compared) < COLORS)
        if there is None:
            action.triggered.connect(lambda _=False, source=source: add(source))
        else:
            action.triggered.connect(lambda _=False, source=there: remove(source))
    if not choices:
        menu.addAction(NONE_HERE).setEnabled(False)
    if laid:
        menu.addSeparator()
        away = menu.addAction("Take all out")
        for source in laid.values():
            away.triggered.connect(lambda _=False, source=source: remove(source))
    return menu
