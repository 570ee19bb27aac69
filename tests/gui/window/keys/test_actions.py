"""The table of commands: complete, without duplicates, and what Qt makes of it."""

import itertools
from collections import Counter

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMainWindow

from gui.window.actions import COMMANDS, MENUS, TIPS, Actions
from gui.window.parts import handlers

KEYS = Qt.KeyboardModifier
NONE, KEYPAD = KEYS.NoModifier, KEYS.KeypadModifier
SHIFT, CONTROL, ALT = KEYS.ShiftModifier, KEYS.ControlModifier, KEYS.AltModifier


@pytest.fixture
def called():
    return []


@pytest.fixture
def actions(qtbot, called):
    window = QMainWindow()
    qtbot.addWidget(window)

    def handler(command):
        if command.checkable:
            return lambda on: called.append((command.name, on))
        return lambda: called.append((command.name,))

    made = Actions(window, {command.name: handler(command) for command in COMMANDS})
    made.window = window
    return made


def test_names_and_shortcuts_are_unique():
    assert [n for n, count in Counter(c.name for c in COMMANDS).items() if count > 1] == []
    keys = [QKeySequence(c.shortcut).toString() for c in COMMANDS if c.shortcut]
    assert [k for k, count in Counter(keys).items() if count > 1] == []
    assert all(keys)
    assert not {c.shortcut for c in COMMANDS} & set("123456789")  # those are of the panels


def test_titles_are_sentence_case_and_tips_are_sentences():
    for command in COMMANDS:
        assert command.title[0].isupper()
        assert not command.title.endswith((".", "!"))
        assert not command.tip.endswith((".", "!"))
        assert command.tip[0].isupper()
    assert len(TIPS) == len(COMMANDS)


def test_every_command_stands_in_a_menu_with_its_keys(actions):
    assert tuple(actions.menus)[: len(MENUS)] == tuple(MENUS)
    found = {a for menu in actions.menus.values() for a in menu.actions()}
    for command in COMMANDS:
        action = actions.by_name[command.name]
        assert action in found
        assert action.text().startswith(command.title)
        keys = action.shortcut()
        assert (keys.toString() or action.text().partition("\t")[2]) == command.key
        if not keys.isEmpty():  # a plain key would fire while someone types
            function_key = Qt.Key.Key_F1 <= keys[0].key() <= Qt.Key.Key_F35
            assert function_key or keys[0].keyboardModifiers() != NONE
    assert [a.text() for a in actions.window.menuBar().actions()] == list(MENUS.values())
    mnemonics = [title[title.index("&") + 1].lower() for title in MENUS.values()]
    assert len(set(mnemonics)) == len(mnemonics)
    for menu in actions.menus.values():  # groups are parted and none is empty
        separators = [a.isSeparator() for a in menu.actions()]
        assert not separators or not (separators[0] or separators[-1])
        assert (True, True) not in set(itertools.pairwise(separators))


def test_every_command_calls_its_handler(actions, called):
    for command in COMMANDS:
        actions.by_name[command.name].trigger()
        assert called.pop() == ((command.name, True) if command.checkable else (command.name,))
    assert called == []


def test_plain_keys_run_their_commands(actions, called):
    pressed = [
        (Qt.Key.Key_F, NONE, "frame"),
        (Qt.Key.Key_Right, NONE, "next"),
        (Qt.Key.Key_Right, KEYPAD, "next"),  # how macOS sends arrow keys
        (Qt.Key.Key_Escape, NONE, "clear_selection"),
        (Qt.Key.Key_Plus, SHIFT, "zoom_in"),  # as it is typed on many keyboards
        (Qt.Key.Key_Plus, NONE, "zoom_in"),
        (Qt.Key.Key_Left, SHIFT, "turn_left"),
        (Qt.Key.Key_Left, CONTROL | KEYPAD, "move_left"),
        (Qt.Key.Key_Left, ALT, "roll_left"),
    ]
    for key, modifiers, command in pressed:
        assert actions.press(key, modifiers)
        assert called.pop() == (command,)
    assert not actions.press(Qt.Key.Key_Left, SHIFT | CONTROL)
    assert called == []


def test_plain_keys_with_a_modifier_do_nothing(actions, called):
    keys = (Qt.Key.Key_F, Qt.Key.Key_Home, Qt.Key.Key_Space, Qt.Key.Key_X)
    for key, modifiers in itertools.product(keys, (SHIFT, CONTROL, CONTROL | SHIFT)):
        assert not actions.press(key, modifiers)
    assert not actions.press(Qt.Key.Key_Q, NONE)
    assert called == []


def test_commands_that_need_a_model_wait_for_one(actions, called):
    actions.set_model_open(False)
    for command in COMMANDS:
        assert actions.by_name[command.name].isEnabled() != command.needs_model
    assert not actions.press(Qt.Key.Key_F, NONE)
    assert actions.press(Qt.Key.Key_O, NONE)
    actions.set_model_open(True)
    assert actions.press(Qt.Key.Key_F, NONE)
    assert called == [("faint", True), ("frame",)]


def test_the_window_has_a_handler_for_every_command(application):
    answers = handlers(application.window)
    assert set(answers) == {c.name for c in COMMANDS}
    assert all(callable(h) for h in answers.values())
