"""The table of commands, for menus, shortcuts and the command palette."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the user."""

    name: str  # The key of its handler
    # Its menu; ``View/Camera`` is a submenu. "-" after the name of a menu starts a new group.
    menu: str
    title: str  # Verb first, sentence case
    # A key sequence with a modifier is a shortcut of the window. A plain key ("F", "Right", "Esc"),
    # or an arrow with modifiers, works only if the focused widget does not use it, so that it is
    # not triggered by typing or moving a slider.
    shortcut: str = ""
    tip: str = ""  # One sentence for the status bar
    # Whether it is a switch; whether it needs an open model.
    checkable: bool = False
    needs_model: bool = False

    @property
    def has_plain_key(self) -> bool:
        """Whether the focused widget gets it first: no modifier (except F1), or an arrow."""
        key = self.shortcut
        if key.rpartition("+")[2] in _ARROWS:
            return True
        return bool(key) and (key in "+-" or "+" not in key) and not re.fullmatch(r"F\d+", key)

    def with_key(self, shortcut: str) -> Command:
        """Return the command with another key, "" for none."""
        return replace(self, shortcut=shortcut)

    @property
    def key(self) -> str:
        """The shortcut for display: "→" and not "Right"."""
        modifiers, plus, key = self.shortcut.rpartition("+")
        return modifiers + plus + _SIGNS.get(key, key)


COMMANDS = (
    Command("open_folder", "File", "Open folder…", "Ctrl+O",
            "Open a Hugging Face model folder on this machine"),
    Command("open_file", "File", "Open file…", "Ctrl+Shift+O",
            "Open one .safetensors, .bin, .pt, .npy or .npz file"),
    Command("open_hub", "File", "Open from the Hub…", "Ctrl+H",
            "Enter the id of a model on the Hugging Face Hub, or search for one there"),
    Command("find_model", "File", "Find a model", "Ctrl+F", "Search the list of models"),
    Command("switch_side", "File", "Switch between decoder and encoder", "E",
            "Open the other table of a model that has two, such as BART", needs_model=True),
    Command("check_update", "File-", "Check for a newer version of this model", "F5",
            "Ask the Hub whether the branch or tag has moved on, and open what it is now",
            needs_model=True),
    Command("work_offline", "File", "Work offline", "Ctrl+Shift+W",
            "Send no request; what was fetched before still opens", checkable=True),
    Command("open_work", "File-", "Open work…", "Ctrl+Alt+O",
            "Open a file of saved work: a model, seen as it was when it was saved"),
    Command("save_work", "File", "Save work", "Ctrl+Alt+S",
            "Save which model is shown and how, to open it so again", needs_model=True),
    Command("save_work_as", "File", "Save work as…", "Ctrl+Alt+Shift+S",
            "Save into another file", needs_model=True),
    Command("save_picture", "File-", "Save picture…", "Ctrl+S",
            "Save the viewport or the whole window as a PNG", needs_model=True),
    Command("copy_picture", "File", "Copy picture", "Ctrl+Shift+C",
            "Put a picture on the clipboard, as chosen last in Save picture", needs_model=True),
    Command("export_scene", "File", "Export scene…", "Ctrl+Shift+E",
            "Save the curve as a web page that turns, or as a glTF body", needs_model=True),
    Command("save_turntable", "File", "Save a turntable…", "Ctrl+Shift+T",
            "Save a film of the curve that turns round once, as MP4 or GIF", needs_model=True),
    Command("export_data", "File", "Export data…", "Ctrl+Shift+D",
            "Save the numbers behind the curve and the panels in sight, as NPZ or CSV",
            needs_model=True),
    Command("settings", "File-", "Settings…", "Ctrl+,",
            "Appearance, keys, what is kept of the Hub, and whether the network is used"),
    Command("quit", "File", "Quit", "Ctrl+Q", "Close the window"),
    Command("undo", "Edit", "Undo", "Ctrl+Z",
            "Take back the last change of the view, the selection or the models"),
    Command("redo", "Edit", "Redo", "Ctrl+Shift+Z",
            "Do again what was taken back"),
    Command("copy_window", "Edit-", "Copy the window as Python", "Ctrl+Alt+C",
            "Put a script on the clipboard that fits and draws the same without a window",
            needs_model=True),
    Command("go_to", "Positions", "Go to a position", "Ctrl+G",
            "Type the number of a position to select it", needs_model=True),
    Command("next", "Positions", "Go to the next position", "Right",
            "Walk one position along the curve", needs_model=True),
    Command("previous", "Positions", "Go to the previous position", "Left",
            "Walk one position back along the curve", needs_model=True),
    Command("next_10", "Positions", "Go ten positions on", "Up",
            "Walk ten positions along the curve", needs_model=True),
    Command("previous_10", "Positions", "Go ten positions back", "Down",
            "Walk ten positions back along the curve", needs_model=True),
    Command("select_box", "Positions-", "Select by a box", "B",
            "Drag a box around points; with Shift it adds them, with Ctrl it takes them out",
            checkable=True, needs_model=True),
    Command("select_lasso", "Positions", "Select by a lasso", "L",
            "Drag a line around points; with Shift it adds them, with Ctrl it takes them out",
            checkable=True, needs_model=True),
    Command("focus_on_selection", "Positions", "Centre on the selection", "C",
            "Bring the selected position to the middle of the view, or all of them into sight",
            needs_model=True),
    Command("measure", "Positions", "Measure between two positions", "M",
            "Draw a line between the last two selected, and say how long it is",
            checkable=True, needs_model=True),
    Command("clear_selection", "Positions", "Clear the selection", "Esc",
            "Select no position; first cancel what is fetched or computed, stop what moves, close "
            "the notice"),
    Command("label_tokens", "Positions-", "Label positions with a prompt", "Ctrl+L",
            "Type a text whose tokens label the positions", needs_model=True),
    Command("view_side", "View", "View from the side", "Home",
            "Across the direction in which position climbs", needs_model=True),
    Command("view_article", "View", "View as in the helix article", "A",
            "Elevation 20°, azimuth 45°", needs_model=True),
    Command("view_isometric", "View", "Look isometrically", "I",
            "See all three axes at equal angles", needs_model=True),
    Command("view_xy", "View", "Look along the z axis", "Z",
            "See the components on x and y", needs_model=True),
    Command("view_xz", "View", "Look along the y axis", "Y",
            "See the components on x and z", needs_model=True),
    Command("view_yz", "View", "Look along the x axis", "X",
            "See the components on y and z", needs_model=True),
    Command("frame", "View-", "Frame the curve", "F",
            "Bring the whole curve into sight", needs_model=True),
    Command("zoom_in", "View", "Zoom in", "+", "Bring the curve nearer", needs_model=True),
    Command("zoom_out", "View", "Zoom out", "-", "Move the curve away", needs_model=True),
    Command("spin", "View", "Spin", "Space", "Turn the curve steadily; Esc stops",
            checkable=True, needs_model=True),
    Command("turn_left", "View-/Turn and move", "Turn to the left", "Shift+Left",
            "Turn the curve as a drag to the left does", needs_model=True),
    Command("turn_right", "View/Turn and move", "Turn to the right", "Shift+Right",
            "Turn the curve as a drag to the right does", needs_model=True),
    Command("turn_up", "View/Turn and move", "Turn upwards", "Shift+Up",
            "Turn the curve as a drag upwards does", needs_model=True),
    Command("turn_down", "View/Turn and move", "Turn downwards", "Shift+Down",
            "Turn the curve as a drag downwards does", needs_model=True),
    Command("roll_left", "View/Turn and move", "Roll to the left", "Alt+Left",
            "Turn the curve counterclockwise on the screen", needs_model=True),
    Command("roll_right", "View/Turn and move", "Roll to the right", "Alt+Right",
            "Turn the curve clockwise on the screen", needs_model=True),
    Command("move_left", "View/Turn and move", "Move to the left", "Ctrl+Left",
            "Move the curve on the screen", needs_model=True),
    Command("move_right", "View/Turn and move", "Move to the right", "Ctrl+Right",
            "Move the curve on the screen", needs_model=True),
    Command("move_up", "View/Turn and move", "Move upwards", "Ctrl+Up",
            "Move the curve on the screen", needs_model=True),
    Command("move_down", "View/Turn and move", "Move downwards", "Ctrl+Down",
            "Move the curve on the screen", needs_model=True),
    Command("parallel", "View-", "Use parallel projection", "P",
            "Without perspective: equal lengths look equal", checkable=True),
    Command("faint", "View", "Show positions outside the range", "O",
            "Draw them faintly, in the same components", checkable=True),
    Command("color_range", "View", "Spread colours over the range", "R",
            "Give the shown range all colours, however short it is", checkable=True),
    Command("sphere", "View", "Show the sphere of mean norm", "N",
            "Draw where rows of the mean norm lie in the shown components", checkable=True),
    Command("bookmark", "View-", "Bookmark this view", "Ctrl+D",
            "Keep the model, the range, the colours and the camera, to come back to them",
            needs_model=True),
    Command("bookmarks", "View", "Show the bookmarks", "Ctrl+B",
            "The views that were kept, with their notes"),
    Command("theme_system", "View-/Theme", "Follow the system", "F4",
            "Light or dark as the desktop is", checkable=True),
    Command("theme_light", "View/Theme", "Light", "F2",
            "Dark text on light panels", checkable=True),
    Command("theme_dark", "View/Theme", "Dark", "F3", "Light text on dark panels", checkable=True),
    Command("full_screen", "View", "Use the full screen", "F11",
            "Fill the screen with the window; F11 again leaves it", checkable=True),
    Command("view_3d", "Panels-", "Go to the 3D view", "0",
            "Leave the panel, so that keys turn the curve and walk along it"),
    Command("next_panel", "Panels", "Go to the next panel", "Ctrl+F6",
            "Of those in sight; the 3D view is one of them"),
    Command("previous_panel", "Panels", "Go to the panel before", "Ctrl+Shift+F6",
            "Of those in sight; the 3D view is one of them"),
    Command("compare_add", "Compare", "Add a model beside this one…", "Ctrl+M",
            "Show another model in a view of its own, beside the open one", needs_model=True),
    Command("compare_nine", "Compare", "Show the nine GPT-2s of the article", "Ctrl+9",
            "OpenAI's four and Stanford's five side by side, three megabytes each to fetch"),
    Command("compare_next", "Compare-", "Go to the next view", "Ctrl+PgDown",
            "Let the panels be about the next model", needs_model=True),
    Command("compare_previous", "Compare", "Go to the view before", "Ctrl+PgUp",
            "Let the panels be about the model before", needs_model=True),
    Command("compare_alone", "Compare", "Fill the grid with this view", "Ctrl+Shift+M",
            "Show the open model large, or all models again", needs_model=True),
    Command("cameras_linked", "Compare-", "Same view of all", "Ctrl+Shift+L",
            "Look at all curves from the same side", checkable=True),
    Command("ranges_linked", "Compare", "Same positions and components of all", "Ctrl+Shift+P",
            "Show of every model what is chosen for the open one", checkable=True),
    Command("lay_over", "Compare-", "Lay a curve over this one…", "Ctrl+Shift+Y",
            "Another model's, other positions or a step of the training, aligned or in the same "
            "components", needs_model=True),
    Command("compare_clear", "Compare-", "Show the open model alone", "Ctrl+Shift+Backspace",
            "Close all other views", needs_model=True),
    Command("reset_layout", "Panels-", "Reset layout", "Ctrl+R",
            "Put all panels back where they were at first"),
    Command("lesson", "Help", "Open the lessons", "F6",
            "Short steps through what the articles found, on the open model"),
    Command("lesson_previous", "Help", "Go back a step", "F7", "Show the lesson's step before"),
    Command("lesson_next", "Help", "Go on a step", "F8", "Show the lesson's next step"),
    Command("palette", "Help-", "Find a command…", "Ctrl+K",
            "Type a few letters of a command, a panel or a model, or a position"),
    Command("guide", "Help", "Open the guide", "F1",
            "The user guide, at the panel in use; it can be searched"),
    Command("change_keys", "Help", "Change keys…", "Ctrl+Alt+K",
            "Give commands other keys, or none"),
    Command("shortcuts", "Help", "Show keys and gestures", "Ctrl+/", "What keys and mouse do"),
    Command("about", "Help", "About Helixscope", "Shift+F1",
            "Version, and where the ideas come from"),
)  # fmt: skip
MENUS = {
    "File": "&File", "Edit": "&Edit", "Positions": "&Positions", "View": "&View",
    "Compare": "&Compare",
    "Panels": "P&anels", "Help": "&Help",
}  # fmt: skip
"""Titles of the menus, with their mnemonic letters."""
_SIGNS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓", "-": "−"}
_ARROWS = ("Left", "Right", "Up", "Down")


class Actions:
    """The commands of a window as Qt actions in its menu bar.

    Attributes
    ----------
    commands
        The commands by their names, with the keys that they have now.

    Parameters
    ----------
    window
        The window that gets menus, actions and shortcuts.
    handlers
        A function for every command name; a checkable one gets the new state.
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
        self.set_title(command.name, action.text().partition("\t")[0], action)

    def set_title(self, name: str, title: str, action: QAction | None = None) -> None:
        """Set a command's text in the menu, with its key if that is a plain one."""
        command = self.commands[name]
        key = f"\t{command.key}" if command.has_plain_key else ""
        (action or self.by_name[name]).setText(f"{title}{key}")

    def set_keys(self, changed: Mapping[str, str]) -> None:
        """Give commands other keys, by their names, and all others their own; "" for none."""
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
    """Return a pressed key with its modifiers as the table of commands writes it."""
    modifiers &= ~Qt.KeyboardModifier.KeypadModifier
    if Qt.Key.Key_Exclam <= key < Qt.Key.Key_A:
        # Whether "+" needs Shift depends on the keyboard.
        modifiers &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(key | modifiers.value).toString()


def is_typing(focus: QWidget | None) -> bool:
    """Return whether the focused widget is a text field."""
    return isinstance(focus, QLineEdit | QAbstractSpinBox | QPlainTextEdit | QTextEdit)
