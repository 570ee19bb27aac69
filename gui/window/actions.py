"""The table of commands, for menus, shortcuts and the command palette."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from gui.widgets.native_keys import native_keys
from gui.widgets.tooltips import wrapped


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the user."""

    name: str  # The key of its handler, and of its tip
    # Its menu; ``View/Camera`` is a submenu. "-" after the name of a menu starts a new group.
    menu: str
    title: str  # Verb first, sentence case
    # A key sequence with a modifier is a shortcut of the window. A plain key ("F", "Right", "Esc"),
    # or an arrow with modifiers, works only if the focused widget does not use it, so that it is
    # not triggered by typing or moving a slider.
    shortcut: str = ""
    checkable: bool = False  # Whether it is a switch
    needs_model: bool = False  # Whether it needs an open model

    @property
    def tip(self) -> str:
        """One sentence for the status bar and the tooltip."""
        return TIPS[self.name]

    @property
    def has_plain_key(self) -> bool:
        """Whether the focused widget gets the key first: an arrow, or a key without a modifier.

        F1 to F35 are shortcuts nevertheless.
        """
        key = self.shortcut
        if key.rpartition("+")[2] in _ARROWS:
            return True
        return bool(key) and (key in "+-" or "+" not in key) and not re.fullmatch(r"F\d+", key)

    def with_key(self, shortcut: str) -> Command:
        """Return the command with another key, "" for none."""
        return replace(self, shortcut=shortcut)

    @property
    def key(self) -> str:
        """The shortcut for display, as the system writes it; arrows are signs."""
        modifiers, plus, key = native_keys(self.shortcut).rpartition("+")
        return modifiers + plus + _SIGNS.get(key, key)


def for_system(commands: Iterable[Command], system: str = sys.platform) -> tuple[Command, ...]:
    """Replace the keys that a system reserves.

    On macOS, where Ctrl means ⌘, some hide, minimise or uncover all windows.
    """
    keys = _ON_MACOS if system == "darwin" else {}
    return tuple(c.with_key(keys.get(c.name, c.shortcut)) for c in commands)


_COMMANDS = (
    Command("open_folder", "File", "Open folder…", "Ctrl+O"),
    Command("open_file", "File", "Open file…", "Ctrl+Shift+O"),
    Command("open_hub", "File", "Open from the Hub…", "Ctrl+H"),
    Command("open_tokens", "File", "Open token embeddings…", "Ctrl+Shift+H"),
    Command("find_model", "File", "Find a model", "Ctrl+F"),
    Command("switch_side", "File", "Switch to the model's other table", "E", needs_model=True),
    Command("choose_table", "File", "Choose table and family…", "Ctrl+Alt+P", needs_model=True),
    Command(
        "forget_table", "File", "Open without the chosen table", "Ctrl+Alt+E", needs_model=True
    ),
    Command(
        "check_update", "File-", "Check for a newer version of this model", "F5", needs_model=True
    ),
    Command("work_offline", "File", "Work offline", "Ctrl+Shift+W", checkable=True),
    Command("measure_inside", "File-", "Measure positions inside a model…", "Ctrl+Shift+I"),
    Command("open_work", "File-", "Open project…", "Ctrl+Alt+O"),
    Command("open_survey", "File", "Open survey…", "Ctrl+Alt+V"),
    Command("save_work", "File", "Save project", "Ctrl+Alt+S", needs_model=True),
    Command("save_work_as", "File", "Save project as…", "Ctrl+Alt+Shift+S", needs_model=True),
    Command("save_picture", "File-", "Save picture…", "Ctrl+S", needs_model=True),
    Command("copy_picture", "File", "Copy picture", "Ctrl+Shift+C", needs_model=True),
    Command("export_scene", "File", "Export scene…", "Ctrl+Shift+E", needs_model=True),
    Command("save_turntable", "File", "Save turntable…", "Ctrl+Shift+T", needs_model=True),
    Command("export_data", "File", "Export data…", "Ctrl+Shift+D", needs_model=True),
    Command("settings", "File-", "Settings…", "Ctrl+,"),
    Command("quit", "File", "Quit", "Ctrl+Q"),
    Command("undo", "Edit", "Undo", "Ctrl+Z"),
    Command("redo", "Edit", "Redo", "Ctrl+Shift+Z"),
    Command("copy_window", "Edit-", "Copy view as Python", "Ctrl+Alt+C", needs_model=True),
    Command("go_to", "Positions", "Go to position", "Ctrl+G", needs_model=True),
    Command("next", "Positions", "Next position", "Right", needs_model=True),
    Command("previous", "Positions", "Previous position", "Left", needs_model=True),
    Command("next_10", "Positions", "Ten positions forward", "Up", needs_model=True),
    Command("previous_10", "Positions", "Ten positions back", "Down", needs_model=True),
    Command("select_box", "Positions-", "Box select", "B", checkable=True, needs_model=True),
    Command("select_lasso", "Positions", "Lasso select", "L", checkable=True, needs_model=True),
    Command("focus_on_selection", "Positions", "Centre on selection", "C", needs_model=True),
    Command("measure", "Positions", "Measure distance", "M", checkable=True, needs_model=True),
    Command("clear_selection", "Positions", "Clear selection", "Esc"),
    Command(
        "label_tokens", "Positions-", "Label positions with prompt", "Ctrl+L", needs_model=True
    ),
    Command("view_side", "View", "View from the side", "Home", needs_model=True),
    Command("view_article", "View", "View as in the helix article", "A", needs_model=True),
    Command("view_isometric", "View", "Isometric view", "I", needs_model=True),
    Command("view_xy", "View", "View along the z axis", "Z", needs_model=True),
    Command("view_xz", "View", "View along the y axis", "Y", needs_model=True),
    Command("view_yz", "View", "View along the x axis", "X", needs_model=True),
    Command("frame", "View-", "Fit curve to view", "F", needs_model=True),
    Command("zoom_in", "View", "Zoom in", "+", needs_model=True),
    Command("zoom_out", "View", "Zoom out", "-", needs_model=True),
    Command("spin", "View", "Spin", "Space", checkable=True, needs_model=True),
    Command("turn_left", "View-/Rotate and move", "Rotate left", "Shift+Left", needs_model=True),
    Command("turn_right", "View/Rotate and move", "Rotate right", "Shift+Right", needs_model=True),
    Command("turn_up", "View/Rotate and move", "Rotate up", "Shift+Up", needs_model=True),
    Command("turn_down", "View/Rotate and move", "Rotate down", "Shift+Down", needs_model=True),
    Command("roll_left", "View/Rotate and move", "Roll left", "Alt+Left", needs_model=True),
    Command("roll_right", "View/Rotate and move", "Roll right", "Alt+Right", needs_model=True),
    Command("move_left", "View/Rotate and move", "Move left", "Ctrl+Left", needs_model=True),
    Command("move_right", "View/Rotate and move", "Move right", "Ctrl+Right", needs_model=True),
    Command("move_up", "View/Rotate and move", "Move up", "Ctrl+Up", needs_model=True),
    Command("move_down", "View/Rotate and move", "Move down", "Ctrl+Down", needs_model=True),
    Command("parallel", "View-", "Parallel projection", "P", checkable=True),
    Command("faint", "View", "Show positions outside the range", "O", checkable=True),
    Command("color_range", "View", "Colour by shown range", "R", checkable=True),
    Command("sphere", "View", "Show sphere of mean norm", "N", checkable=True),
    Command("bookmark", "View-", "Bookmark this view", "Ctrl+D", needs_model=True),
    Command("bookmarks", "View", "Show bookmarks", "Ctrl+B"),
    Command("theme_system", "View-/Theme", "Follow system", "F4", checkable=True),
    Command("theme_light", "View/Theme", "Light", "F2", checkable=True),
    Command("theme_dark", "View/Theme", "Dark", "F3", checkable=True),
    Command("toolbar", "View", "Show toolbar", "Ctrl+Alt+T", checkable=True),
    Command("full_screen", "View", "Full screen", "F11", checkable=True),
    Command("view_3d", "Panels-", "Focus 3D view", "0"),
    Command("next_panel", "Panels", "Next panel", "Ctrl+F6"),
    Command("previous_panel", "Panels", "Previous panel", "Ctrl+Shift+F6"),
    Command("compare_add", "Compare", "Add model for comparison…", "Ctrl+M", needs_model=True),
    Command("compare_nine", "Compare", "Compare nine GPT-2 models", "Ctrl+9"),
    Command("compare_next", "Compare-", "Next view", "Ctrl+PgDown", needs_model=True),
    Command("compare_previous", "Compare", "Previous view", "Ctrl+PgUp", needs_model=True),
    Command("compare_alone", "Compare", "Maximise this view", "Ctrl+Shift+M", needs_model=True),
    Command("cameras_linked", "Compare-", "Link cameras", "Ctrl+Shift+L", checkable=True),
    Command(
        "ranges_linked", "Compare", "Link positions and components", "Ctrl+Shift+P", checkable=True
    ),
    Command("lay_over", "Compare-", "Overlay a curve…", "Ctrl+Shift+Y", needs_model=True),
    Command(
        "compare_clear", "Compare-", "Close other models", "Ctrl+Shift+Backspace", needs_model=True
    ),
    Command("workspace_explore", "Panels-/Workspaces", "Explore", "Ctrl+1", checkable=True),
    Command("workspace_analyse", "Panels/Workspaces", "Analyse", "Ctrl+2", checkable=True),
    Command("workspace_compare", "Panels/Workspaces", "Compare", "Ctrl+3", checkable=True),
    Command("workspace_teach", "Panels/Workspaces", "Teach", "Ctrl+4", checkable=True),
    Command("workspace_save", "Panels/Workspaces", "Save workspace…", "Ctrl+Shift+K"),
    Command("workspace_delete", "Panels/Workspaces", "Delete workspace", "Ctrl+Alt+Shift+K"),
    Command("maximize", "Panels", "Maximise the panel or the 3D view", "F9"),
    Command("panels_below", "Panels", "Show or hide the result panels", "Ctrl+J"),
    Command("side_panels", "Panels", "Show or hide the side panels", "Ctrl+Shift+J"),
    Command("reset_layout", "Panels", "Reset layout", "Ctrl+R"),
    Command("lesson", "Help", "Open lessons", "F6"),
    Command("lesson_previous", "Help", "Previous lesson step", "F7"),
    Command("lesson_next", "Help", "Next lesson step", "F8"),
    Command("palette", "Help-", "Find a command…", "Ctrl+K"),
    Command("guide", "Help", "Open guide", "F1"),
    Command("change_keys", "Help", "Keyboard shortcuts…", "Ctrl+Alt+K"),
    Command("shortcuts", "Help", "Keyboard and mouse reference", "Ctrl+/"),
    Command("about", "Help", "About Helixscope", "Shift+F1"),
)
TIPS = {
    "open_folder": "Open a folder with a checkpoint",
    "open_file": "Open a file of weights, or a table of numbers",
    "open_hub": "Enter the id of a model on the Hugging Face Hub, or search for one there",
    "open_tokens": (
        "Show the embeddings of a list of tokens, such as numbers or weekdays, in its order"
    ),
    "find_model": "Search the list of models",
    "switch_side": "Open the other table of a model that has two, such as BART or CLIP",
    "choose_table": (
        "Choose the tensor of positions, the family as which the model is read, and the first rows "
        "that are no positions"
    ),
    "forget_table": (
        "Open the model as if no tensor had been chosen as its positions; if the model needs a "
        "choice, the window asks again"
    ),
    "check_update": "Ask the Hub whether the branch or tag has a newer commit, and open it",
    "work_offline": "Make no network requests; models downloaded before still open",
    "measure_inside": (
        "Measure the positions in each layer of any transformer, from forward passes over texts"
    ),
    "open_work": "Open a saved project: a model with its view, panels and selection",
    "open_survey": "Open the table of a survey of many checkpoints, also while it runs (.parquet)",
    "save_work": "Save the model's source with the view, panels and selection",
    "save_work_as": "Save to a new file",
    "save_picture": "Save the 3D view as PNG, SVG or PDF, or the whole window",
    "copy_picture": "Copy a picture to the clipboard, with the options last chosen in Save picture",
    "export_scene": "Save the curve as an interactive web page or a glTF model",
    "save_turntable": "Save an animation of one full turn of the curve, as MP4 or GIF",
    "export_data": "Save the data of the curve and the visible panels, as NPZ or CSV",
    "settings": "Appearance, keyboard shortcuts, downloaded models and network access",
    "quit": "Close the window",
    "undo": "Undo the last change of the view, the selection or the models",
    "redo": "Redo the change that was last undone",
    "copy_window": "Copy a script that computes and draws the same view without the window",
    "go_to": "Select a position by its number",
    "next": "Move one position forward along the curve",
    "previous": "Move one position back along the curve",
    "next_10": "Move ten positions forward along the curve",
    "previous_10": "Move ten positions back along the curve",
    "select_box": "Drag a box around points; Shift adds to the selection, Ctrl removes from it",
    "select_lasso": "Drag a line around points; Shift adds to the selection, Ctrl removes from it",
    "focus_on_selection": (
        "Centre the view on the selected position, or fit all selected positions in view"
    ),
    "measure": "Draw a line between the last two selected positions and show its length",
    "clear_selection": (
        "Cancel downloads and computations, else stop the animation, else close the notice, "
        "else select none"
    ),
    "label_tokens": "Enter text whose tokens label the positions",
    "view_side": "Look at right angles to what the curve turns around, or to its climb",
    "view_article": (
        "As in “GPT-2's positional embedding matrix is a helix”: elevation 20°, azimuth 45°"
    ),
    "view_isometric": "View all three axes at equal angles",
    "view_xy": "Show the components on x and y",
    "view_xz": "Show the components on x and z",
    "view_yz": "Show the components on y and z",
    "frame": "Centre the whole curve and fit it to the view",
    "zoom_in": "Enlarge the curve",
    "zoom_out": "Reduce the curve",
    "spin": "Rotate the curve continuously, or stop",
    "turn_left": "Rotate the curve, as dragging to the left does",
    "turn_right": "Rotate the curve, as dragging to the right does",
    "turn_up": "Rotate the curve, as dragging upwards does",
    "turn_down": "Rotate the curve, as dragging downwards does",
    "roll_left": "Rotate the curve anticlockwise on the screen",
    "roll_right": "Rotate the curve clockwise on the screen",
    "move_left": "Move the curve on the screen",
    "move_right": "Move the curve on the screen",
    "move_up": "Move the curve on the screen",
    "move_down": "Move the curve on the screen",
    "parallel": "No perspective: equal lengths parallel to the screen are drawn equal",
    "faint": "Draw them in a faint colour, in the same components",
    "color_range": "Apply the full colour map to the shown range instead of the whole table",
    "sphere": "Draw where rows of mean norm lie in the shown components",
    "bookmark": "Save the model, range, colours and camera as a bookmark",
    "bookmarks": "Bookmarked views and their notes",
    "theme_system": "Use the desktop's light or dark theme",
    "theme_light": "Dark text on light panels",
    "theme_dark": "Light text on dark panels",
    "toolbar": "Buttons for views, tools and workspaces",
    "full_screen": "Fill the screen with the window, or leave full screen",
    "view_3d": "Move the keyboard focus to the 3D view",
    "next_panel": "Move the keyboard focus to the next visible panel or the 3D view",
    "previous_panel": "Move the keyboard focus to the previous visible panel or the 3D view",
    "compare_add": "Show another model in its own view beside the open model",
    "compare_nine": (
        "OpenAI's four and Stanford's five, as in the helix article; some 3 MB each to download"
    ),
    "compare_next": "Make the next model the one that the panels analyse",
    "compare_previous": "Make the previous model the one that the panels analyse",
    "compare_alone": "Show only the open model's view, or all views again",
    "cameras_linked": "Show all curves from the same direction",
    "ranges_linked": "Use the open model's range and components for all models",
    "lay_over": (
        "Another model, other positions or a training step, aligned or in the same components"
    ),
    "compare_clear": "Close all views except the open model's",
    "workspace_explore": "The curve, with the side panels",
    "workspace_analyse": "A panel beside the curve, as high as the window",
    "workspace_compare": "Models side by side above the table that compares them",
    "workspace_teach": "The curve and a lesson",
    "workspace_save": "Save this arrangement of the panels under a name",
    "workspace_delete": "Delete the current workspace, if you saved it",
    "maximize": "Fill the window with the part that has the focus, or restore the others",
    "panels_below": "Give their space to the curve, or show them again",
    "side_panels": "Give their space to the curve, or show them again",
    "reset_layout": "Restore the default arrangement of this workspace",
    "lesson": "A guided tour of the articles' findings, on the open model",
    "lesson_previous": "Show the previous step of the lesson",
    "lesson_next": "Show the next step of the lesson",
    "palette": "Search for a command, panel, model or position",
    "guide": "The user guide at the section of the current panel, with full-text search",
    "change_keys": "Change or remove the keys of commands",
    "shortcuts": "List keyboard shortcuts and mouse gestures",
    "about": "Version, and the articles it is based on",
}
"""Tips of commands by their names: one sentence each, for the status bar and the tooltip."""
FIELDS: dict[str, tuple[str, object, object]] = {
    "work_offline": ("offline", True, False),
    "measure": ("measure", True, False),
    "parallel": ("projection", "parallel", "perspective"),
    "faint": ("outside", "faint", "hidden"),
    "color_range": ("color_span", "range", "table"),
    "sphere": ("sphere", True, False),
    "cameras_linked": ("cameras_linked", True, False),
    "ranges_linked": ("ranges_linked", True, False),
}
"""Switches for a field of the session: the field, its value when on, and when off, by command."""
_ON_MACOS = {"open_hub": "Ctrl+U", "compare_add": "Ctrl+E", "full_screen": "Meta+Ctrl+F"}
COMMANDS = for_system(_COMMANDS)
MENUS = {
    "File": "&File",
    "Edit": "&Edit",
    "Positions": "&Positions",
    "View": "&View",
    "Compare": "&Compare",
    "Panels": "P&anels",
    "Help": "&Help",
}
"""Titles of the menus, with their mnemonic letters."""
OWN_WORKSPACES = tuple(f"Ctrl+{digit}" for digit in "5678")
"""The keys of the user's own workspaces."""
_SIGNS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓", "-": "−"}
_ARROWS = ("Left", "Right", "Up", "Down")


class Actions:
    """The commands of a window as Qt actions in its menu bar.

    Attributes
    ----------
    commands
        The commands by their names, with their current keys.

    Parameters
    ----------
    window
        The window that gets menus, actions and shortcuts.
    handlers
        A function for every command name; that of a checkable command gets the new state.
    """

    def __init__(self, window: QMainWindow, handlers: Mapping[str, Callable[..., object]]) -> None:
        self.menus: dict[str, QMenu] = {}
        self.by_name: dict[str, QAction] = {}
        self.commands = {command.name: command for command in COMMANDS}
        self._plain: dict[str, QAction] = {}
        for title, mnemonic in MENUS.items():
            self.menus[title] = window.menuBar().addMenu(mnemonic)
        for command in COMMANDS:
            self._add(window, command, handlers[command.name])

    def _add(self, window: QMainWindow, command: Command, handler: Callable[..., object]) -> None:
        action = QAction(command.title, window)
        action.setStatusTip(command.tip)
        action.setCheckable(command.checkable)
        if command.checkable:
            action.triggered.connect(handler)
        else:
            action.triggered.connect(lambda _checked=False: handler())
        window.addAction(action)
        self._bind(action, command)
        self._menu(command.menu).addAction(action)
        self.by_name[command.name] = action

    def _bind(self, action: QAction, command: Command) -> None:
        plain = command.has_plain_key
        if plain:  # handled only by :meth:`press`
            self._plain[command.shortcut] = action
        action.setShortcut(QKeySequence("" if plain else command.shortcut))
        key = f" ({command.key})" if command.key else ""
        action.setToolTip(wrapped(f"{command.title}{key}: {command.tip}"))
        self.set_title(command.name, action.text().partition("\t")[0], action)

    def set_title(self, name: str, title: str, action: QAction | None = None) -> None:
        """Set a command's text in the menu, with its key if that is a plain key."""
        command = self.commands[name]
        key = f"\t{command.key}" if command.has_plain_key else ""
        (action or self.by_name[name]).setText(f"{title}{key}")

    def set_keys(self, changed: Mapping[str, str]) -> None:
        """Set the keys of commands by their names ("" for none), and defaults for all others."""
        self._plain.clear()
        for command in COMMANDS:
            key = changed.get(command.name, command.shortcut)
            self.commands[command.name] = command.with_key(key)
            self._bind(self.by_name[command.name], self.commands[command.name])

    def _menu(self, path: str) -> QMenu:
        parts = path.split("/")
        top = parts[0].rstrip("-")
        menu = self.menus[top]
        if parts[0].endswith("-") and not menu.isEmpty():
            menu.addSeparator()
        if len(parts) == 1:
            return menu
        if parts[1] not in self.menus:
            self.menus[parts[1]] = menu.addMenu(parts[1])
        return self.menus[parts[1]]

    def press(self, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        """Run the command of a key that no widget used; return False if there is none."""
        action = self._plain.get(key_text(key, modifiers))
        if action is None or not action.isEnabled():
            return False
        action.trigger()
        return True

    def set_model_open(self, is_open: bool) -> None:
        """Enable or disable the commands that need a model."""
        for command in COMMANDS:
            if command.needs_model:
                self.by_name[command.name].setEnabled(is_open)


def key_text(key: int, modifiers: Qt.KeyboardModifier) -> str:
    """Return a pressed key with its modifiers, written as in the table of commands."""
    modifiers &= ~Qt.KeyboardModifier.KeypadModifier
    if Qt.Key.Key_Exclam <= key < Qt.Key.Key_A:
        # Whether "+" needs Shift depends on the keyboard.
        modifiers &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(key | modifiers.value).toString()


def is_typing(focus: QWidget | None) -> bool:
    """Return whether the focused widget is a text field."""
    return isinstance(focus, QLineEdit | QAbstractSpinBox | QPlainTextEdit | QTextEdit)
