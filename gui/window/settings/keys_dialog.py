"""The dialog to change the keys of commands."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gui.style.theme import GRID
from gui.widgets.boxes import hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped
from gui.window.actions import COMMANDS, Command, key_text
from gui.window.dialogs import room_on_screen
from gui.window.settings.keys import OWN, user_of, why_not

SIZE = QSize(640, 560)
HINT = "Choose a command, then press its new key here."
NONE = "No key"
_NAME = Qt.ItemDataRole.UserRole
_MODIFIERS = (
    Qt.Key.Key_Shift,
    Qt.Key.Key_Control,
    Qt.Key.Key_Alt,
    Qt.Key.Key_AltGr,
    Qt.Key.Key_Meta,
)
_NAVIGATION = (Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Return, Qt.Key.Key_Enter)


class KeyField(QLineEdit):
    """Shows a key, and emits the next one that is pressed; Tab moves the focus."""

    pressed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName("Key of the command")
        self.setPlaceholderText(NONE)

    def event(self, event: QEvent) -> bool:
        """Keep keys from the shortcuts of the window."""
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Emit a key, unless it is only a modifier."""
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.key() in _NAVIGATION and not control:
            super().keyPressEvent(event)
        elif event.key() not in _MODIFIERS:
            key = key_text(event.key(), event.modifiers())
            if key:  # Qt does not know all keys of all keyboards
                self.pressed.emit(key)


class KeysDialog(QDialog):
    """All commands with their keys; a new key takes effect at once.

    The key of another command is taken from it only after confirmation by the user.

    Parameters
    ----------
    changed
        Keys that differ from the defaults, by the commands' names.
    """

    keysChanged = Signal(object)

    def __init__(self, changed: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.changed = dict(changed)
        self._rows: list[QTreeWidgetItem] = []
        self._wanted = ""  # A key that another command has
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search commands and keys")
        self.search.setAccessibleName("Search commands and keys")
        self.search.setClearButtonEnabled(True)
        self.list = QTreeWidget()
        self.field = KeyField()
        self.note = label(HINT, "small", wrap=True)
        self.take = push_button("Use it here", "Take the key from the other command")
        self.remove = push_button("Remove", "Leave this command without a key")
        self.own = push_button("Reset", "Restore the default key of this command")
        self.reset_all = push_button("Reset all", "Restore the default keys of all commands")
        self._build_list()
        self._arrange()
        self._connect()
        self.resize(SIZE.boundedTo(room_on_screen(self)))
        self.list.setCurrentItem(self._rows[0])

    # ---- building ----------------------------------------------------------------------

    def _build_list(self) -> None:
        self.list.setHeaderLabels(["Command", "Menu", "Key"])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setAllColumnsShowFocus(True)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName("Commands and their keys")
        for command in COMMANDS:
            menu = command.menu.partition("/")[0].rstrip("-")
            row = QTreeWidgetItem(self.list, [_title(command), menu])
            row.setData(0, _NAME, command.name)
            row.setToolTip(0, wrapped(command.tip))
            self._write(row)
            self._rows.append(row)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)

    def _arrange(self) -> None:
        name = label("Key", "muted")
        name.setBuddy(self.field)
        row = hbox(name, (self.field, 1), self.take, self.remove, self.own, spacing=GRID)
        buttons = QDialogButtonBox()
        buttons.addButton(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.addButton(self.reset_all, QDialogButtonBox.ButtonRole.ResetRole)
        buttons.rejected.connect(self.reject)
        self.take.hide()
        self.note.setMinimumHeight(2 * self.note.fontMetrics().lineSpacing())
        self.note.setAlignment(Qt.AlignmentFlag.AlignTop)
        parts = (self.search, (self.list, 1), row, self.note, buttons)
        vbox(*parts, parent=self, spacing=GRID, margins=2 * GRID)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._filter)
        self.list.currentItemChanged.connect(self._show_current)
        self.list.itemActivated.connect(lambda: self.field.setFocus())
        self.field.pressed.connect(self._on_pressed)
        self.take.clicked.connect(self._take_key)
        self.remove.clicked.connect(lambda: self._set(""))
        self.own.clicked.connect(lambda: self._on_pressed(OWN[self._name]))
        self.reset_all.clicked.connect(self._reset_all)

    # ---- what is shown -----------------------------------------------------------------

    @property
    def _name(self) -> str:
        """The name of the chosen command; "" for none."""
        row = self.list.currentItem()
        return "" if row is None else str(row.data(0, _NAME))

    def _command(self, name: str) -> Command:
        """Return a command with its current key."""
        command = next(command for command in COMMANDS if command.name == name)
        return command.with_key(self.changed.get(name, OWN[name]))

    def _write(self, row: QTreeWidgetItem) -> None:
        name = str(row.data(0, _NAME))
        row.setText(2, self._command(name).key)
        font = row.font(2)
        font.setBold(name in self.changed)
        row.setFont(2, font)

    def _filter(self, text: str) -> None:
        words = text.lower().split()
        for row in self._rows:
            texts = " ".join(row.text(column) for column in range(3)).lower()
            row.setHidden(not all(word in texts for word in words))
        shown = [row for row in self._rows if not row.isHidden()]
        if shown:
            self.list.setCurrentItem(shown[0])
        else:
            self.list.setCurrentIndex(QModelIndex())

    def _show_current(self) -> None:
        name = self._name
        for control in (self.field, self.remove, self.own):
            control.setEnabled(bool(name))
        self._wanted = ""
        self.take.hide()
        self.note.setText(HINT)
        self.field.setText(self._command(name).key if name else "")
        if name:
            self.remove.setEnabled(bool(self._command(name).shortcut))
            self.own.setEnabled(name in self.changed)

    # ---- changes -----------------------------------------------------------------------

    def _on_pressed(self, key: str) -> None:
        """Set the key of the chosen command, if it is free."""
        self._show_current()
        refused = why_not(key) if key else ""
        user = user_of(key, self.changed, self._name)
        if refused:
            self.note.setText(refused)
        elif user is not None:
            self._wanted = key
            self.note.setText(f"{user.with_key(key).key} is the key of “{_title(user)}”.")
            self.take.show()
        else:
            self._set(key)

    def _take_key(self) -> None:
        user = user_of(self._wanted, self.changed, self._name)
        key = self._wanted
        if user is not None:
            self._change(user.name, "")
        self._set(key)
        self.field.setFocus()  # the button is hidden

    def _set(self, key: str) -> None:
        self._change(self._name, key)
        self._publish()

    def _change(self, name: str, key: str) -> None:
        if key == OWN[name]:
            self.changed.pop(name, None)
        else:
            self.changed[name] = key

    def _reset_all(self) -> None:
        self.changed.clear()
        self._publish()

    def _publish(self) -> None:
        for row in self._rows:
            self._write(row)
        self._show_current()
        self.keysChanged.emit(dict(self.changed))


def _title(command: Command) -> str:
    """Return a command's title, after its submenu, if it is in one."""
    return ": ".join((*command.menu.split("/")[1:], command.title.rstrip("…")))
