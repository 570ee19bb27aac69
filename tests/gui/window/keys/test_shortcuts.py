"""Keys in the real window: commands from anywhere, but never while someone types."""

import itertools

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QPlainTextEdit

from gui.panels.table import GROUPS
from gui.window.actions import COMMANDS
from gui.window.arrangement.docks import DOCKS, KEYS
from gui.window.arrangement.focus_navigation import in_front

SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
PLAIN = "cizyxfpoebl+- 0123456789"
ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)


@pytest.fixture
def fired(application):
    """The names of the commands that are triggered, whatever they do."""
    names = []
    for name, action in application.window.commands.by_name.items():
        action.triggered.connect(lambda _=False, name=name: names.append(name))
    return names


def fields(window):
    """Everything in the window that text can be typed into."""
    found = [
        w
        for kind in (QLineEdit, QPlainTextEdit, QAbstractSpinBox)
        for w in window.findChildren(kind)
        if not w.isReadOnly() and w.isVisible() and not isinstance(w.parent(), QAbstractSpinBox)
    ]
    assert len(found) >= 5  # search, first, last, go to, prompt
    return found


@pytest.mark.parametrize("kind", [QLineEdit, QPlainTextEdit])
def test_no_field_takes_a_command_s_keys_for_itself(qtbot, kind):
    """As Ctrl+U, which deletes a line in X11: the command would be dead while the field is used.

    But for what is typed: that is taken back by the same keys.
    """
    field = kind("some text")
    qtbot.addWidget(field)
    taken = []
    for command in COMMANDS:
        keys = QKeySequence(command.shortcut)[0]
        if not command.has_plain_key:  # Ctrl+S, F5; not C, nor Shift+Left
            event = QKeyEvent(QEvent.Type.ShortcutOverride, keys.key(), keys.keyboardModifiers())
            event.ignore()
            QApplication.sendEvent(field, event)
            taken += [command.name] * event.isAccepted()
    assert taken == ["undo", "redo"]


def test_typing_fires_no_command_but_one_with_a_modifier(application, window, fired, monkeypatch):
    session = application.session
    application.controller.select((50,))
    before = {d.name: window.docks[d.name].isVisible() for d in DOCKS}
    for field in fields(window):
        field.setFocus()
        for letter in PLAIN:
            QTest.keyClicks(field, letter)
            QTest.keyClicks(field, letter.upper())
        for key, modifier in itertools.product(ARROWS[:2], (SHIFT, CONTROL)):
            QTest.keyClick(field, key, modifier)
        for key in (Qt.Key.Key_Home, *ARROWS):
            QTest.keyClick(field, key)
        assert fired == [], f"{fired} fired from {type(field).__name__} {field.accessibleName()!r}"
        assert session.selection == (50,)
        # From the search field Down leads into the list below it.
        models = window.panels["models"]
        assert field.hasFocus() or (field is models.search and models.list.hasFocus())
        field.setFocus()
        QTest.keyClick(field, Qt.Key.Key_Escape)  # leaves the field, and clears nothing
        assert session.selection == (50,)
    opened = []
    monkeypatch.setattr(
        "gui.window.host.QFileDialog.getExistingDirectory", lambda *a: opened.append(a) or ""
    )
    for field in fields(window):
        field.setFocus()
        QTest.keyClick(field, Qt.Key.Key_O, CONTROL)
    assert fired == ["open_folder"] * len(fields(window))
    assert len(opened) == len(fields(window))
    assert {d.name: window.docks[d.name].isVisible() for d in DOCKS} == before


def test_shortcuts_that_lead_to_a_field_and_numbers_to_a_panel(window):
    view = window.viewport.interactor
    for keys, field in (("Ctrl+F", "models"), ("Ctrl+G", "inspector"), ("Ctrl+L", "prompt")):
        window.docks[field].hide()
        view.setFocus()
        QTest.keySequence(window, keys)
        assert window.docks[field].isVisible(), keys
        focus = window.focusWidget()
        assert isinstance(focus, QLineEdit | QAbstractSpinBox | QPlainTextEdit)
        assert window.panels[field].isAncestorOf(focus)
    for key, dock in KEYS.items():
        window.docks[dock.name].hide()
        view.setFocus()
        QTest.keyClicks(view, key)
        assert window.docks[dock.name].isVisible()
        assert window.docks[dock.name].isAncestorOf(window.focusWidget())
    assert [KEYS[key].group for key in "1234567"] == list(GROUPS)
    before = [dock for dock in window.docks.values() if dock.isVisible()]
    QTest.keyClicks(view, ":")  # as if it came after nine
    assert before == [dock for dock in window.docks.values() if dock.isVisible()]


def test_the_key_of_a_group_goes_through_its_panels(window):
    view = window.viewport.interactor
    view.setFocus()
    seen = []
    for _ in range(len(GROUPS["Table"]) + 1):
        QTest.keyClicks(QApplication.focusWidget(), "1")
        (front,) = (e.name for e in GROUPS["Table"] if in_front(window.docks[e.name]))
        assert window.docks[front].isAncestorOf(QApplication.focusWidget())
        seen.append(front)
    names = [entry.name for entry in GROUPS["Table"]]
    assert seen == [*names, names[0]]
    view.setFocus()
    QTest.keyClicks(view, "1")  # from elsewhere: the one that was in front last
    assert in_front(window.docks[names[0]])


def test_plain_keys_work_from_the_viewport(application, window, fired):
    view, session = window.viewport.interactor, application.session
    QTest.keyClick(window, Qt.Key.Key_G, CONTROL)
    field = QApplication.focusWidget()
    QTest.keyClicks(field, "50")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert session.selection == (50,)
    assert QApplication.focusWidget() is view
    fired.clear()
    for key, position in (("Right", 51), ("Left", 50), ("Up", 60), ("Down", 50)):
        QTest.keyClick(view, getattr(Qt.Key, f"Key_{key}"))
        assert session.selection == (position,)
    QTest.keyClicks(view, "fizyxpoc+-")
    assert fired[4:9] == ["frame", "view_isometric", "view_xy", "view_xz", "view_yz"]
    assert fired[9:] == ["parallel", "faint", "focus_on_selection", "zoom_in", "zoom_out"]
    assert (session.projection, session.outside) == ("parallel", "faint")


@pytest.mark.slow
def test_escape_stops_closes_and_clears_one_after_the_other(application, window, qtbot):
    view, session = window.viewport.interactor, application.session
    application.controller.select((50,))
    application.controller.open("nowhere/at-all")
    qtbot.waitUntil(lambda: session.notice is not None)
    QTest.keyClick(view, Qt.Key.Key_Space)
    assert window.commands.by_name["spin"].isChecked()
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert not window.commands.by_name["spin"].isChecked()
    assert session.notice is not None
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert session.notice is None
    assert session.selection == (50,)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert session.selection == ()
