"""The help dialogs, and a dialog for long texts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import QMargins, QSize, Qt
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from geometry.checkpoints.plain_text import visible_lines
from gui.style.theme import GRID
from gui.widgets.boxes import grid, hbox, vbox
from gui.widgets.label import label
from gui.widgets.scroll_column import ScrollColumn
from gui.window.actions import COMMANDS, Command

Rows = tuple[tuple[str, str], ...]
VIEWPORT: Rows = (
    ("Drag", "Rotate"),
    ("Shift-drag, middle-drag", "Move"),
    ("Ctrl-drag", "Roll"),
    ("Wheel, right-drag", "Zoom"),
    ("Click a point", "Select it"),
    ("Shift-click a point", "Add it to the selection or remove it"),
    ("Ctrl-Shift-click a point", "Select all positions up to it"),
    ("Double-click a point", "Centre on it"),
    ("Double-click elsewhere", "Fit curve to view"),
)
DRAWN: Rows = (
    ("{}, then drag", "Select the points inside"),
    ("… with Shift, Ctrl", "Add to the selection, remove from it"),
)
"""More rows for the viewport, with the current keys of both commands."""
TURNING: Rows = (
    ("Shift ← → ↑ ↓", "Rotate"),
    ("Ctrl ← → ↑ ↓", "Move"),
    ("Alt ← →", "Roll"),
)
"""Rows that summarise the commands of the menu "Rotate and move"."""
PLOT: Rows = (
    ("Click, Shift-click", "Select, add or remove"),
    ("Shift-drag", "Select a range"),
    ("Drag", "Pan; on a vertical line, move the line"),
    ("Wheel", "Zoom; over the y axis, zoom along y"),
    ("Double-click, F", "Reset zoom"),
)
SLIDER: Rows = (
    ("← →", "Move the end last used"),
    ("Shift ← →", "Move the whole range"),
    ("↑ ↓", "Choose the end to move: last or first"),
)
TRAINING: Rows = (
    ("Space", "Play or pause"),
    ("← →, Home, End", "Next or previous, first, last step"),
    ("Esc", "Show the final model"),
)
TABLE: Rows = (
    ("Click a column title", "Sort ascending, descending, unsorted"),
    ("Enter, double-click", "Make it the open model"),
    ("Delete", "Close model"),
    ("Ctrl+C", "Copy the table"),
)
DIGITS: Rows = (
    ("1 … 7", "Open a group of panels, or its next panel"),
    ("8, 9", "Open Positions, View"),
)
MAX_HEIGHT = 632
"""Maximum height of the table of keys in logical pixels."""
AROUND_KEYS = QMargins(2 * GRID, 2 * GRID, 2 * GRID, 8 * GRID)
"""Space around the table of keys: margins, and the button."""
FRAME_HEIGHT = 4 * GRID
"""Maximum height of the desktop's title bar."""
ABOUT = (
    "A desktop microscope for positional embeddings.",
    "It makes the findings of several articles explorable: “GPT-2’s positional embedding matrix "
    "is a helix” and the comments on it, “Insights into GPT-2’s positional encodings”, and "
    "“Positional embeddings in GPT-2 lie near(ish) the surface of a hypersphere”.",
)


def room_on_screen(window: QWidget) -> QSize:
    """Return the largest size of a window that fits the screen with its title bar."""
    return window.screen().availableSize() - QSize(0, FRAME_HEIGHT)


def show_shortcuts(parent: QWidget, commands: Iterable[Command]) -> None:
    """Show the keyboard and mouse commands."""
    _run(shortcuts_dialog(parent, commands))


def shortcuts_dialog(parent: QWidget, commands: Iterable[Command] = COMMANDS) -> QDialog:
    """Create the dialog of keyboard and mouse commands, in three columns.

    ``commands`` are those of the table, with their current keys.
    """
    commands = tuple(commands)
    steps_as_usual = {*filter(is_step, commands)} == {*filter(is_step, COMMANDS)}
    keys_of = partial(_keys_of, commands=commands, steps=not steps_as_usual)
    turning = TURNING if steps_as_usual else ()
    dialog = QDialog(parent)
    dialog.setWindowTitle("Keyboard and mouse reference")
    panels = (*DIGITS, *keys_of("Panels"))
    left = (
        ("Mouse in the 3D view", viewport_rows(commands)),
        ("Mouse in a plot", PLOT),
        ("Range slider", SLIDER),
        ("Training panel", TRAINING),
        ("Compare", keys_of("Compare")),
    )
    middle = (
        ("File", keys_of("File")),
        ("Edit", keys_of("Edit")),
        ("Panels", panels),
        ("Help", keys_of("Help")),
        ("Table of models", TABLE),
    )
    right = (("View", (*keys_of("View"), *turning)), ("Positions", keys_of("Positions")))
    room = room_on_screen(dialog).shrunkBy(AROUND_KEYS)
    for columns in ((left, middle, right), ((*left, *middle, *right),)):
        table = QWidget()
        hbox(*map(_column, columns), parent=table, spacing=2 * GRID)
        width = table.sizeHint().width() + 2 * GRID
        if width <= room.width():
            break
    scrolled = ScrollColumn(table)
    scrolled.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # arrow keys scroll it
    scrolled.setProperty("ring", True)
    scrolled.setAccessibleName("Keys and gestures")
    scrolled.setMinimumSize(width, min(MAX_HEIGHT, room.height()))
    _finish(dialog, vbox(scrolled))
    return dialog


def viewport_rows(commands: Iterable[Command]) -> Rows:
    """Return the rows of mouse gestures in the viewport, with the keys of selection by drawing."""
    drawing = {c.name: c for c in commands if c.name in ("select_box", "select_lasso")}
    keys = [c.key for c in drawing.values() if c.key] or [c.title for c in drawing.values()]
    return (*VIEWPORT, *((how.format(" or ".join(keys)), meaning) for how, meaning in DRAWN))


def show_about(parent: QWidget) -> None:
    """Show the version and the articles."""
    _run(about_dialog(parent))


def about_dialog(parent: QWidget) -> QDialog:
    """Create the dialog with the version and the articles."""
    dialog = QDialog(parent)
    dialog.setWindowTitle("About Helixscope")
    icon = label()
    icon.setPixmap(QApplication.windowIcon().pixmap(64, 64))
    words = QVBoxLayout()
    words.setSpacing(GRID)
    words.addWidget(label("Helixscope", "title"))
    with suppress(PackageNotFoundError):  # run without being installed
        words.addWidget(label(f"Version {version('helixscope')}", "muted", selectable=True))
    for text in ABOUT:
        paragraph = label(text, wrap=True)
        paragraph.setMinimumWidth(400)
        words.addWidget(paragraph)
    _finish(dialog, hbox((icon, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=2 * GRID))
    return dialog


def show_text(parent: QWidget, title: str, text: str) -> None:
    """Show a long text that can be copied."""
    dialog = QDialog(parent)
    dialog.setWindowTitle(title)
    dialog.resize(720, 400)
    field = QPlainTextEdit(visible_lines(text))
    field.setReadOnly(True)
    field.setTabChangesFocus(True)
    field.setAccessibleName(title)
    _finish(dialog, vbox(field))
    _run(dialog)


def _keys_of(menu: str, commands: Iterable[Command], *, steps: bool) -> Rows:
    return tuple(
        (c.key, ": ".join((*c.menu.split("/")[1:], c.title.rstrip("…"))))
        for c in commands
        if c.shortcut and c.menu.split("/")[0].rstrip("-") == menu and (steps or not is_step(c))
    )


def is_step(command: Command) -> bool:
    """Return whether a command is one of those summarised in :data:`TURNING`."""
    return command.menu.endswith("/Rotate and move")


def _column(groups: Iterable[tuple[str, Rows]]) -> QGridLayout:
    column = grid(None, 2 * GRID, 0)  # without gaps, so that all fit on a small screen
    for title, rows in groups:
        if column.count():
            column.setRowMinimumHeight(column.rowCount(), GRID // 2)
        column.addWidget(label(title, "heading"), column.rowCount(), 0, 1, 2)
        for keys, meaning in rows:
            row = column.rowCount()
            column.addWidget(label(keys, "muted"), row, 0)
            column.addWidget(label(meaning), row, 1)
    column.setRowStretch(column.rowCount(), 1)
    return column


def _finish(dialog: QDialog, content: QHBoxLayout | QVBoxLayout) -> None:
    """Add a button below the content that closes the dialog."""
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    vbox((content, 1), buttons, parent=dialog, spacing=2 * GRID, margins=2 * GRID)


def show_in_front(window: QWidget) -> None:
    """Show a window that does not block the others, in front of them."""
    window.showNormal() if window.isMinimized() else window.show()
    window.raise_()
    window.activateWindow()


def _run(dialog: QDialog) -> int:
    answer = dialog.exec()
    dialog.deleteLater()
    return answer
