"""The command palette: a search of commands, panels and models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
)

from geometry.checkpoints.plain_text import visible
from geometry.checkpoints.suffixes import FILE_SUFFIXES
from geometry.models.sources.source import FORMS, Source
from gui.services.work_files.projects import is_work
from gui.side_panels.models.model_line import is_explicit, is_path, parsed
from gui.style.theme import GRID, format_count
from gui.widgets.boxes import vbox
from gui.widgets.label import label
from gui.window.arrangement.docks import DOCKS

if TYPE_CHECKING:
    from gui.state.session import Session
    from gui.window.host import HostWindow


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the command palette."""

    title: str  # Title, as in a menu
    kind: str  # Category: a menu, the panels, the models
    run: Callable[[], object]
    key: str = ""  # Its shortcut; "" for none
    about: str = ""  # Further words to search
    later: bool = False  # Whether it is after all others that match equally


FUZZY = 3
"""Minimum number of letters of a word that may match with gaps."""
BY_LETTERS = 5
"""Score of a word that matches with gaps only."""
SYNONYMS = {
    "save_picture": "screenshot image export figure",
    "save_turntable": "film movie video animate animation",
    "settings": "preferences options font text size",
    "bookmark": "favourite",
    "undo": "back",
    "models": "open checkpoint weights",
    "positions": "range PCA principal components explained variance outliers",
    "view": "colour map line point size camera",
    "prompt": "text tokens",
    "similarity": "cosine distance",
    "shape": "helix fit spiral circle line R2 turns",
    "directions": "SVD singular vectors",
    "fourier": "frequency spectrum period",
    "kernels": "attention heads queries keys",
    "lookback": "rotation translation lag",
    "effects": "ablation intervention loss",
    "training": "timelapse steps checkpoints layers",
    "claims": "ledger verdict p-value null",
}
"""Other words for commands and panels that are not in their texts, by their names."""


def matching(items: Iterable[Item], text: str) -> list[Item]:
    """Return the items with all words of a text, best matches first.

    The best match of a word is at the beginning of the title, then at the beginning of one of its
    words, then anywhere in it, then in the kind, then at the beginning of one of its further words.
    Where no item matches so, by its letters only: in order from the beginning of a word, within
    words or from the beginning of a later one. Equal matches are ordered by the places of the words
    in the title: "Open sample" is before "Undo: opening sample". Case is ignored.
    """
    words = text.lower().split()
    scored = []
    for item in items:
        scores = [score for word in words if (score := _score(item, word)) is not None]
        if len(scores) == len(words):
            title = item.title.lower()
            places = [place if (place := title.find(word)) >= 0 else len(title) for word in words]
            by_letters = BY_LETTERS in scores
            scored.append(((by_letters, sum(scores), item.later, sum(places)), item))
    best = min((by_letters for (by_letters, *_), _ in scored), default=False)
    ordered = sorted(scored, key=lambda pair: pair[0])
    return [item for (by_letters, *_), item in ordered if by_letters == best]


def _score(item: Item, word: str) -> int | None:
    title, kind = item.title.lower(), item.kind.lower()
    if title.startswith(word):
        return 0
    begins = rf"(?<!\w){re.escape(word)}"
    if re.search(begins, title):
        return 1
    if word in title:
        return 2
    if word in kind:
        return 3
    if re.search(begins, item.about.lower()):
        return 4
    in_order = r"\b" + r"(?:\w*|.*\b)".join(map(re.escape, word))
    return BY_LETTERS if len(word) >= FUZZY and re.search(in_order, title) else None


_TYPED_POSITIONS = re.compile(r"\s*(\d{1,9})\s*(?:[-\N{EN DASH}]\s*(\d{1,9})\s*)?")


def typed_positions(
    text: str,
    n_positions: int,
    select: Callable[[tuple[int, ...]], None],
    show: Callable[[int, int], None],
) -> list[Item]:
    """Return items for a typed number, or a range, of positions."""
    match = _TYPED_POSITIONS.fullmatch(text)
    if match is None:
        return []
    first, last = int(match[1]), int(match[2] or match[1])
    if not first <= last < n_positions:
        return []
    if match[2] is None:
        name = format_count(first)
        return [Item(f"Go to position {name}", "Positions", lambda: select((first,)))]
    span = f"{format_count(first)}\N{EN DASH}{format_count(last)}"
    return [Item(f"Show positions {span}", "Positions", lambda: show(first, last))]


def source_kind(source: Source, *, word: bool = False) -> str:
    """Return the kind of a typed source, by its form; "" for none.

    A single word, which may be an id of the oldest models, is a source only with ``word``.
    """
    text = source.text
    if source.kind == "bundled":
        return "Bundled"
    if source.kind == "computed":
        return "Formula"
    if source.kind in FORMS:
        return "Made of a model"
    if is_path(text):
        return "Path"
    if source.address is not None:
        return "Model on the Hub" if word or is_explicit(text) else ""
    return "Path" if "/" in text or (word and text.endswith(FILE_SUFFIXES)) else ""


def typed_sources(
    text: str, open_model: Callable[[Source], object] | None, add: Callable[[Source], object] | None
) -> list[Item]:
    """Return items for a typed path, id of the Hub, or formula.

    Parameters
    ----------
    text
        The typed text.
    open_model
        Opens a source; None to offer only adding it.
    add
        Adds it beside the open model; None if that is impossible.
    """
    source = parsed(text.strip())
    kind = source_kind(source, word=open_model is None)
    items = []
    if kind and open_model is not None:
        items.append(Item(f"Open {visible(source.text)}", kind, partial(open_model, source)))
    if kind and add is not None and not is_work(source.text):
        items.append(Item(f"Add {visible(source.text)} beside", kind, partial(add, source)))
    return items


WIDTH, ROWS, ROW_HEIGHT = 560, 12, 26
FROM_TOP = 72
"""Distance from the window's top to the palette, in pixels."""
NOTHING = "No matches."
A_PROJECT = "This is a project: open it with Open project… in the File menu."
_TO_THE_LIST = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class Palette(QFrame):
    """A search field with matching items below; Enter or a click runs one, Esc closes.

    ``further`` are items besides those of commands, panels and models.
    """

    field_name, list_name = "Command", "Matching commands"
    placeholder = "A command, a panel, a position; or a model: its name, path, id or formula"

    def __init__(self, window: HostWindow, further: Sequence[Item] = ()) -> None:
        super().__init__(window, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("role", "palette")
        self._window = window
        self._items = self._all_items(further)
        theme = window.viewport.scene.theme
        self._muted, self._row_height = QColor(theme.muted), theme.px(ROW_HEIGHT)
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.placeholder)
        self.field.setAccessibleName(self.field_name)
        self.field.textChanged.connect(self._show_matching)
        self.list = QTreeWidget()
        self.list.setColumnCount(3)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName(self.list_name)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.list.itemClicked.connect(self._run)
        self.nothing = label(NOTHING, "muted")
        vbox(self.field, self.list, self.nothing, parent=self, spacing=GRID, margins=GRID)
        self.field.installEventFilter(self)
        self.setFixedWidth(min(WIDTH, window.width() - 4 * GRID))
        self._show_matching("")

    def popup(self) -> None:
        """Show it over the window, with the field focused."""
        window = self._window
        corner = window.rect().topLeft()
        corner.setX((window.width() - self.width()) // 2)
        corner.setY(min(FROM_TOP, window.height() // 8))
        self.move(window.mapToGlobal(corner))
        self.show()
        self.field.setFocus()

    def _all_items(self, further: Sequence[Item]) -> list[Item]:
        return items_of(self._window, further)

    def _typed_items(self, text: str) -> list[Item]:
        """Return items for typed positions and sources."""
        session, controller = self._window.session, self._window.controller
        items, add = [], None
        if session.model is not None:
            n, show = session.model.n_positions, controller.request_positions
            items = typed_positions(text, n, controller.select, show)
            add = self._window.add_beside
        return items + typed_sources(text, controller.open, add)

    def _show_matching(self, text: str) -> None:
        self.list.clear()
        items = self._typed_items(text) + matching(self._items, text)
        for item in items:
            row = QTreeWidgetItem(self.list, [item.title, item.kind, item.key])
            row.setData(0, Qt.ItemDataRole.UserRole, item)
            for column in (1, 2):
                row.setForeground(column, self._muted)
        if (first := self.list.topLevelItem(0)) is not None:
            self.list.setCurrentItem(first)
        self.list.setVisible(bool(items))
        self.nothing.setText(self._no_match_text(text))
        self.nothing.setVisible(not items)
        self.list.setFixedHeight(self._row_height * min(len(items), ROWS) + 4)
        self.adjustSize()

    def _no_match_text(self, text: str) -> str:
        """Return the message for a text without matches."""
        model, typed = self._window.session.model, _TYPED_POSITIONS.fullmatch(text)
        if model is None or typed is None:
            return NOTHING
        if max(int(end) for end in typed.groups("0")) < model.n_positions:
            return "A range begins with its smaller end."
        return f"The positions are 0\N{EN DASH}{format_count(model.n_positions - 1)}."

    def _run(self, row: QTreeWidgetItem | None) -> None:
        if row is not None:
            item: Item = row.data(0, Qt.ItemDataRole.UserRole)
            self.close()  # first, because the command may open a window
            # After this event: the event loop of a dialog would delete the closed palette while its
            # list still handles the click.
            QTimer.singleShot(0, self._window, item.run)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        pressed = watched is self.field and event.type() == QEvent.Type.KeyPress
        if pressed and isinstance(event, QKeyEvent):
            if event.key() in _TO_THE_LIST:
                QApplication.sendEvent(self.list, event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)


class AddPalette(Palette):
    """Searches for a model to show beside the open one, by its name, path, id or formula.

    ``add`` is called with its source.
    """

    field_name, list_name = "Model", "Matching models"
    placeholder = "A model’s name, path, id on the Hub, or a formula: synthetic:helix,turns=3"

    def __init__(self, window: HostWindow, add: Callable[[Source], object]) -> None:
        self._add = add
        super().__init__(window)

    def _all_items(self, further: Sequence[Item]) -> list[Item]:
        session = self._window.session
        recent = [source for source in _recent(session) if not is_work(source.text)]
        return _source_items(session, recent, "Add", self._add)

    def _typed_items(self, text: str) -> list[Item]:
        return typed_sources(text, None, self._add)

    def _no_match_text(self, text: str) -> str:
        return A_PROJECT if is_work(text.strip()) else NOTHING


def items_of(window: HostWindow, further: Sequence[Item] = ()) -> list[Item]:
    """Return the items for a window's current state, with further ones before the models."""
    actions = window.commands.by_name
    items = [
        Item(
            actions[command.name].text().partition("\t")[0],
            command.menu.partition("/")[0].rstrip("-"),
            actions[command.name].trigger,
            command.key,
            f"{command.tip} {SYNONYMS.get(command.name, '')}",
        )
        for command in window.commands.commands.values()
        if actions[command.name].isEnabled() and command.name != "palette"
    ]
    items += [
        Item(
            f"Show {dock.title}",
            "Panels",
            partial(window.focus_on, dock.name),
            about=SYNONYMS.get(dock.name, ""),
        )
        for dock in DOCKS
        if dock.name not in ("lesson", "bookmarks")  # which have commands
    ]
    known = set(actions.values())
    items += [
        Item(f"Workspace {action.text().replace('&&', '&')}", "Panels", action.trigger)
        for action in window.commands.menus["Workspaces"].actions()
        if action.text() and action not in known
    ]
    items += further
    session = window.session
    recent = [*_recent(session), *map(parsed, session.surveys)]
    items += _source_items(session, recent, "Open", window.controller.open)
    if session.model is not None:
        models = [source for source in _recent(session) if not is_work(source.text)]
        beside = _source_items(session, models, "Add", window.add_beside)
        items += [replace(item, title=f"{item.title} beside", later=True) for item in beside]
    return items


def _recent(session: Session) -> list[Source]:
    """Return the recent sources, without models of the catalogue, which have their own items."""
    listed = {row.entry.id for row in session.models}
    return [source for source in session.recent if source.id not in listed]


def _source_items(
    session: Session, recent: Sequence[Source], verb: str, call: Callable[[Source], object]
) -> list[Item]:
    """Return items that call a function with a recent source, or with a model of the catalogue."""
    items = [Item(f"{verb} {source.name}", "Recent", partial(call, source)) for source in recent]
    for row in session.models:
        source = parsed(row.entry.id)
        kind = f"Models, {row.state}"
        items.append(Item(f"{verb} {row.entry.title}", kind, partial(call, source)))
    return items
