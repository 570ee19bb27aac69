"""Make the guide's page of keys and gestures from the tables that the app itself uses.

    python -m tools.make_keys [FILE]

FILE is resources/guide/keys.md unless another is named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from gui.window.actions import COMMANDS, MENUS, Command
from gui.window.arrangement.docks import DOCKS
from gui.window.dialogs import PLOT, SLIDER, TABLE, TRAINING, viewport_rows

PAGE = Path(__file__).parents[1] / "resources" / "guide" / "keys.md"
INTRODUCTION = """\
# Keyboard and mouse reference

All commands in the menus, the panels, and the mouse gestures. In the window, Ctrl+/ shows the same
list, and Ctrl+K finds any command by a few letters. On a Mac, Ctrl is ⌘. The keys
are the defaults; Help → Keyboard shortcuts… changes them.

Keys without Ctrl or Alt, and all arrow keys, work unless the control that has the focus uses them
itself: letters typed into a field remain text, and an arrow key moves a slider that has the focus.
The key 0 returns to the 3D view.

`tools/make_keys.py` generates this page from the tables of the app.
"""
PANELS = """\
## Panels

The menu shows and hides each panel. The keys 1 to 7 open the groups of panels, listed here at the
first panel of each; pressed again, they show the next panel of the group. 8 and 9 open Positions
and View.

"""
GESTURES = (
    ("Mouse in the 3D view", viewport_rows(COMMANDS)),
    ("Mouse in a plot", PLOT),
    ("Range slider", SLIDER),
    ("Training panel", TRAINING),
    ("Table of models", TABLE),
)


def keys_page() -> str:
    """Return the page in Markdown."""
    parts = [INTRODUCTION]
    for menu in MENUS:
        commands = [one for one in COMMANDS if _menu(one)[0] == menu]
        if menu == "Panels":
            parts.append(_panels())
        else:
            parts.append(f"## {menu}\n")
        parts.append(_table(("Command", "Key", "What it does"), map(_row, commands)))
    parts.extend(
        f"## {title}\n\n" + _table(("Gesture or key", "What it does"), rows)
        for title, rows in GESTURES
    )
    return "\n".join(parts)


def _panels() -> str:
    return PANELS + _table(("Panel", "Key"), ((dock.title, dock.key) for dock in DOCKS))


def _row(command: Command) -> tuple[str, str, str]:
    _, below = _menu(command)
    title = f"{below} → {command.title}" if below else command.title
    return title, command.key, command.tip


def _menu(command: Command) -> tuple[str, str]:
    """Return the menu that a command is in, and the submenu, if it is in one."""
    menu, _, below = command.menu.partition("/")
    return menu.rstrip("-"), below


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "".join("| " + " | ".join(cell or " " for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE).write_text(keys_page(), encoding="utf-8")
