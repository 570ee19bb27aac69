"""A user's answers to dialogs, and keys pressed in windows."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFileDialog

LEFT = Qt.MouseButton.LeftButton
CONTROL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def answer_file(monkeypatch, path):
    """Answer the dialogs for files that follow with a path; None cancels them."""

    def execute(dialog):
        if path is None:
            return QDialog.DialogCode.Rejected
        dialog.selectFile(str(path))
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(QFileDialog, "exec", execute)


def press_button(dialog, text):
    (box,) = dialog.findChildren(QDialogButtonBox)
    (button,) = [button for button in box.buttons() if button.text().replace("&", "") == text]
    QTest.mouseClick(button, LEFT)


def type_number(field, text):
    field.selectAll()
    QTest.keyClicks(field, text)


def press_key(qtbot, window, key, modifiers=CONTROL_SHIFT):
    """Press a key in a window; only the active one has shortcuts."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, key, modifiers)
