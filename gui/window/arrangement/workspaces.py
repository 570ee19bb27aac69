"""Workspaces: stored arrangements of the docks, each with a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDockWidget, QInputDialog, QLineEdit, QMenu, QWidget

from geometry.checkpoints.plain_text import visible
from gui.panels.table import PANELS
from gui.services.jobs.jobs import gui_first
from gui.state.layout import Area, Layout, Node, Split, Tabs
from gui.widgets.label import message_box, without_keys
from gui.window.actions import OWN_WORKSPACES
from gui.window.arrangement.dock_tabs import first_height
from gui.window.arrangement.docks import is_docked, share
from gui.window.arrangement.layout import apply_layout, drop_dragged_dock, resize_docks, take_layout
from gui.window.lesson_player import DOCK as LESSON
from gui.window.lesson_player import LessonPlayer

if TYPE_CHECKING:
    from gui.window.host import HostWindow

LEFT_WIDTH, RIGHT_WIDTH = 272, 240
"""Initial widths of the columns in logical pixels."""
NARROW, LOW = 960, 672
"""In a smaller window (logical pixels), side panels are initially tabs of each other."""
BARS_HEIGHT, FOLDED_HEIGHT = 80, 272
"""Heights of the window's menu, toolbar and status bar, and of the side panels that are tabs."""
TABS_WIDTH, MIN_VIEW_WIDTH = 480, 320
"""Width for the tabs of all groups of panels, and minimum width of the viewport beside them."""
LESSON_WIDTH, LESSON_SHARE = 440, 0.45
"""Initial width of a lesson in its workspace, for about sixty letters; its maximum share of a
narrow window. The lesson arranges the rest, so only its width is stored for this workspace.
"""
MAX_OWN, MAX_NAME_LENGTH = 20, 40


@dataclass(frozen=True, slots=True)
class Workspace:
    """A built-in workspace."""

    title: str
    first: Callable[[QSize], Layout]  # Returns its initial layout for a window's size


LEFT_DOCKS, RIGHT_DOCKS = ("models", "positions", "view"), ("inspector", "prompt")
SIDE = (*LEFT_DOCKS, *RIGHT_DOCKS)
"""Docks at the sides of the viewport."""


def explore_layout(size: QSize) -> Layout:
    """Return the side panels beside the viewport, and the others closed.

    In a low window they are tabs of each other; in a narrow one, all are in one column.
    """
    left = _column(("models", 400), ("positions", 260), ("view", 180), width=LEFT_WIDTH)
    right = _column(("inspector", 500), ("prompt", 240), width=RIGHT_WIDTH)
    areas: dict[Area, Node] = {"left": left, "right": right}
    narrow = size.width() < NARROW
    if narrow or size.height() < LOW:
        top = ("models", *RIGHT_DOCKS) if narrow else ("models",)
        height = max(1, size.height() - BARS_HEIGHT - FOLDED_HEIGHT)
        folded = Tabs(("positions", "view"), "positions", FOLDED_HEIGHT)
        areas["left"] = Split("column", (Tabs(top, "models", height), folded), LEFT_WIDTH)
    if narrow:
        del areas["right"]
    return Layout(areas, _hidden({"bottom": PANELS}))


def analyse_layout(size: QSize) -> Layout:
    """Return a panel beside the viewport, of the same width and as high as the window.

    In a narrow window it is wider, for its tabs.
    """
    width = max(size.width() // 2, min(TABS_WIDTH, size.width() - MIN_VIEW_WIDTH))
    panels = Tabs(tuple(PANELS), next(iter(PANELS)), width)
    return Layout({"right": panels}, _hidden({"left": SIDE}))


def compare_layout(size: QSize) -> Layout:
    """Return the views of all models above the table that compares them."""
    panels = Tabs(tuple(PANELS), "compare", first_height(size.height()))
    return Layout({"bottom": panels}, _hidden({"left": LEFT_DOCKS, "right": RIGHT_DOCKS}))


def teach_layout(size: QSize) -> Layout:
    """Return the viewport only; the lesson opens beside it."""
    return Layout({}, _hidden({"left": LEFT_DOCKS, "right": RIGHT_DOCKS, "bottom": PANELS}))


def _column(*docks: tuple[str, int], width: int) -> Node:
    return Split("column", tuple(Tabs((name,), name, height) for name, height in docks), width)


def _hidden(docks: Mapping[Area, Iterable[str]]) -> dict[str, Area]:
    always: dict[str, Area] = {"lesson": "right", "bookmarks": "right"}
    return always | {name: area for area, names in docks.items() for name in names}


WORKSPACES = {
    "explore": Workspace("Explore", explore_layout),
    "analyse": Workspace("Analyse", analyse_layout),
    "compare": Workspace("Compare", compare_layout),
    "teach": Workspace("Teach", teach_layout),
}
"""Built-in workspaces by name, in the order of their keys Ctrl+1 to Ctrl+4."""
TEACH = "teach"


class Workspaces(QObject):
    """Arranges the window by workspaces, and stores each as the user leaves it.

    Parameters
    ----------
    window
        The window, with its commands.
    lessons
        The lesson of the workspace for teaching.
    menu
        Menu for the user's own workspaces, before its last group.

    Attributes
    ----------
    current
        Name of the current workspace; for one of the user's own, its title.
    """

    changed = Signal()
    """The current workspace, or the user's own ones."""

    def __init__(self, window: HostWindow, lessons: LessonPlayer, menu: QMenu) -> None:
        super().__init__(window)
        self._window, self._lessons, self._menu = window, lessons, menu
        self.current = "explore"
        self._arranging = False
        # Docks to show again, by workspace
        self._side: dict[str, tuple[str, ...]] = {"analyse": LEFT_DOCKS}
        self._before_teaching = "explore"
        self._layouts: dict[str, Layout] = {}
        self._own: list[QAction] = []
        self.maximized = Maximized(window)
        lessons.ending.connect(self._on_lesson_ending)
        lessons.left.connect(self._on_lesson_left)
        self._show()

    # ---- storing ----

    def layout(self) -> Layout:
        """Return the places of the docks; a maximised one counts as restored."""
        return self.maximized.layout or take_layout(self._window)

    def kept(self) -> tuple[str, dict[str, Layout]]:
        """Return the name of the current workspace, and all layouts other than initial ones."""
        if self.current in WORKSPACES and self.current != TEACH:
            return self.current, self._layouts | {self.current: self.layout()}
        return self.current, self._layouts

    def restore(self, current: str, layouts: Mapping[str, Layout]) -> None:
        """Restore stored layouts; the window is arranged separately."""
        self._layouts = dict(layouts)
        known = current in WORKSPACES or current in layouts
        self.current = current if known and current != TEACH else "explore"
        self._show()

    # ---- choices ----

    def choose(self, name: str) -> None:
        """Arrange the window by a workspace, as the user left or saved it."""
        self.maximized.restore()
        self._end_lesson()
        if self.current == TEACH:
            self.current = self._before_teaching
        elif self.current in WORKSPACES:
            self._layouts[self.current] = take_layout(self._window)
        if name == TEACH:
            self._before_teaching = self.current
        self.current = name
        self._arrange()

    def reset(self) -> None:
        """Restore the initial or saved arrangement of the current workspace; a lesson continues."""
        continues = self._lessons.on
        self.maximized.restore()
        self._end_lesson()
        if self.current in WORKSPACES:
            self._layouts.pop(self.current, None)
        self._window.results.tabs.reset_shares()
        self._arrange()
        if continues:
            self._lessons.open()

    def save(self) -> None:
        """Ask for a name, and save the window's arrangement as a workspace."""
        text, ok = QInputDialog.getText(
            self._window, "Save workspace", "Name:", QLineEdit.EchoMode.Normal, ""
        )
        if ok:
            self.save_as(text)

    def save_as(self, title: str) -> None:
        """Save the window's arrangement under a title, replacing a workspace of the same title."""
        title = visible(title).strip()[:MAX_NAME_LENGTH]
        known = {built_in.title.casefold() for built_in in WORKSPACES.values()} | set(WORKSPACES)
        own = self.own()
        full = title not in own and len(own) >= MAX_OWN
        if not title or title.casefold() in known or full:
            why = (
                f"There are {MAX_OWN} workspaces; delete one first."
                if full
                else f"“{title}” is built in; choose another name."
                if title
                else "A workspace needs a name."
            )
            message_box(self._window, "Save workspace", why).exec()
            return
        self._layouts[title] = self.layout()
        self.current = title
        self._show()

    def delete(self) -> None:
        """Delete the current workspace, if it is the user's own, and choose Explore."""
        if self.current not in WORKSPACES:
            self._layouts.pop(self.current, None)
            self.choose("explore")

    def _arrange(self) -> None:
        """Arrange the current workspace as stored, or initially."""
        window, kept = self._window, self._layouts.get(self.current)
        if kept is None or self.current == TEACH:
            layout = WORKSPACES[self.current].first(window.size())
        else:
            layout = kept
        with gui_first():
            apply_layout(window, layout)
        self._show()
        if self.current == TEACH:
            self._lessons.open()
            column = None if kept is None else kept.areas.get("right")
            first = min(LESSON_WIDTH, round(LESSON_SHARE * window.width()))
            width = (column.size if column is not None else 0) or first
            share(window, {window.docks[LESSON]: width}, Qt.Orientation.Horizontal)

    def _on_lesson_ending(self) -> None:
        """Store the width of the lesson in its workspace."""
        lesson = self._window.docks[LESSON]
        if self.current == TEACH and not lesson.isFloating():
            column = Tabs((LESSON,), LESSON, lesson.width())
            self._layouts[TEACH] = Layout({"right": column})

    def _end_lesson(self) -> None:
        """End a lesson, which has arranged the window, but stay in its workspace."""
        self._arranging = True
        self._lessons.leave()
        self._arranging = False

    def _on_lesson_left(self) -> None:
        """Return to the workspace before that of the lesson."""
        if self.current == TEACH and not self._arranging:
            self.current = self._before_teaching
            self._arrange()

    def toggle_side(self) -> None:
        """Hide the panels at both sides of the viewport, or show them again."""
        docks = self._window.docks
        hides = bool(self._shown_at_sides())
        self.maximized.restore()
        shown = self._shown_at_sides()
        if shown:
            self._side[self.current] = shown
        for name in self._side.get(self.current, SIDE):
            docks[name].setVisible(not hides)

    def _shown_at_sides(self) -> tuple[str, ...]:
        return tuple(name for name in SIDE if is_docked(self._window.docks[name]))

    # ---- the menu ----

    def _show(self) -> None:
        """Show the user's own workspaces in the menu, and check the current one."""
        by_name = self._window.commands.by_name
        for name in WORKSPACES:
            by_name[f"workspace_{name}"].setChecked(name == self.current)
        by_name["workspace_delete"].setEnabled(self.current not in WORKSPACES)
        for action in self._own:
            self._menu.removeAction(action)
            action.deleteLater()
        names = self.own()
        before = by_name["workspace_save"]
        self._own = []
        for name, key in zip_longest(names, OWN_WORKSPACES[: len(names)], fillvalue=""):
            action = QAction(without_keys(name), self._window)
            action.setCheckable(True)
            action.setChecked(name == self.current)
            action.setShortcut(QKeySequence(key))
            action.triggered.connect(lambda _checked=False, name=name: self.choose(name))
            self._menu.insertAction(before, action)
            self._own.append(action)
        self.changed.emit()

    def own(self) -> list[str]:
        """Return the titles of the user's own workspaces."""
        return [name for name in self._layouts if name not in WORKSPACES]


class Maximized:
    """Lets one panel, or the 3D view, fill the window, and restores the others.

    Attributes
    ----------
    layout
        The previous places of the docks; None while nothing is maximised.
    """

    def __init__(self, window: HostWindow) -> None:
        self._window = window
        self.layout: Layout | None = None
        self._state = QByteArray()
        self._kept: tuple[QDockWidget, ...] = ()
        self._hidden: tuple[QDockWidget, ...] = ()
        # Delayed: a panel that begins to float, also by a drag, is hidden for a moment.
        self._soon = QTimer(window, interval=0, singleShot=True)
        self._soon.timeout.connect(self._on_toggled)
        for dock in window.docks.values():
            dock.visibilityChanged.connect(self._soon.start)

    def toggle(self, dock: QDockWidget | None) -> None:
        """Maximise a dock with its tabs, or the 3D view (None); or restore all."""
        if self.layout is not None:
            self.restore()
            return
        if dock is not None and dock.isFloating():
            dock.showNormal() if dock.isMaximized() else dock.showMaximized()
            return
        drop_dragged_dock()
        window = self._window
        self.layout, self._state = take_layout(window), window.saveState()
        kept = () if dock is None else (dock, *window.tabifiedDockWidgets(dock))
        self._kept = kept
        docked = [widget for widget in window.docks.values() if not widget.isFloating()]
        self._hidden = tuple(widget for widget in docked if widget not in kept)
        window.setUpdatesEnabled(False)
        try:
            for widget in self._hidden:
                widget.hide()
            if dock is not None:
                dock.show()
                dock.raise_()
                _central_widget(window).hide()
            window.results.tabs.settle()
        finally:
            window.setUpdatesEnabled(True)

    def restore(self) -> None:
        """Restore all; the panels now in front stay in front."""
        if self.layout is None:
            return
        drop_dragged_dock()
        window, layout, self.layout = self._window, self.layout, None
        front = [dock for dock in window.docks.values() if not dock.visibleRegion().isEmpty()]
        window.setUpdatesEnabled(False)
        try:
            _central_widget(window).show()
            window.restore_docks(self._state)
            window.results.tabs.settle()
            if layout.window != window.size().toTuple():
                resize_docks(window, layout)
            for dock in front:
                if not dock.isHidden():
                    dock.raise_()
        finally:
            window.setUpdatesEnabled(True)

    def hides(self, dock: QDockWidget) -> bool:
        """Return whether a dock is hidden by a maximised panel or 3D view."""
        return self.layout is not None and dock in self._hidden

    def show_view(self) -> None:
        """Restore all if the 3D view is hidden by a maximised panel."""
        if _central_widget(self._window).isHidden():
            self.restore()

    def stop(self) -> None:
        """Stop listening, because the window is closing."""
        self._soon.stop()
        for dock in self._window.docks.values():
            dock.visibilityChanged.disconnect(self._soon.start)

    def _on_toggled(self) -> None:
        """Restore the others when no maximised panel is left in the window."""
        if self.layout is None or not self._kept or any(map(is_docked, self._kept)):
            return
        closed = [dock for dock in self._kept if dock.isHidden()]
        floating = {dock: dock.pos() for dock in self._kept if dock not in closed}
        self.restore()  # also docks those that float
        for dock in closed:
            dock.hide()
        for dock, place in floating.items():
            size = dock.size()
            dock.setFloating(True)
            dock.resize(size)  # not as large as the window
            dock.move(place)


def _central_widget(window: HostWindow) -> QWidget:
    centre = window.centralWidget()
    assert centre is not None
    return centre
