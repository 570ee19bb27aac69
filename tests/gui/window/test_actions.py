"""The table of commands: complete, without duplicates, and what Qt makes of it."""

import itertools
from collections import Counter

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMainWindow

from gui.window.actions import COMMANDS, MENUS, Actions
from gui.window.main_window import handlers

NONE, SHIFT, KEYPAD, CONTROL, ALT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.KeypadModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
)


@pytest.fixture
def called():
    return []


@pytest.fixture
def actions(qtbot, called):
    window = QMainWindow()
    qtbot.addWidget(window)
    handlers = {}
    for command in COMMANDS:
        if command.checkable:
            handlers[command.name] = lambda on, name=command.name: called.append((name, on))
        else:
            handlers[command.name] = lambda name=command.name: called.append((name,))
    made = Actions(window, handlers)
    made.window = window
    return made


def test_names_and_shortcuts_are_unique():
    assert [n for n, count in Counter(c.name for c in COMMANDS).items() if count > 1] == []
    keys = [QKeySequence(c.shortcut).toString() for c in COMMANDS if c.shortcut]
    assert [k for k, count in Counter(keys).items() if count > 1] == []
    assert all(keys)


def test_no_command_takes_the_numbers_of_the_panels():
    assert not {c.shortcut for c in COMMANDS} & set("123456789")


def test_titles_are_sentence_case_and_tips_are_sentences():
    for command in COMMANDS:
        assert command.title[0].isupper()
        assert not command.title.endswith((".", "!"))
        assert not command.tip.endswith((".", "!"))
        assert not command.tip or command.tip[0].isupper()


def test_every_command_stands_in_a_menu(actions):
    assert tuple(actions.menus)[: len(MENUS)] == tuple(MENUS)
    found = {a for menu in actions.menus.values() for a in menu.actions()}
    for command in COMMANDS:
        assert actions.by_name[command.name] in found
        assert actions.by_name[command.name].text().startswith(command.title)
    assert [a.text() for a in actions.window.menuBar().actions()] == list(MENUS.values())
    mnemonics = [title[title.index("&") + 1].lower() for title in MENUS.values()]
    assert len(set(mnemonics)) == len(mnemonics)


def test_groups_are_parted_and_none_is_empty(actions):
    for menu in actions.menus.values():
        separators = [a.isSeparator() for a in menu.actions()]
        assert not separators or not (separators[0] or separators[-1])
        assert (True, True) not in set(itertools.pairwise(separators))


def test_shortcuts_are_shown_beside_their_commands(actions):
    for command in COMMANDS:
        action = actions.by_name[command.name]
        shown = action.shortcut().toString() or action.text().partition("\t")[2]
        assert shown == command.key


def test_every_command_calls_its_handler(actions, called):
    for command in COMMANDS:
        actions.by_name[command.name].trigger()
        assert called.pop() == ((command.name, True) if command.checkable else (command.name,))
    assert called == []


def test_keys_with_a_modifier_are_shortcuts_and_plain_ones_are_not(actions):
    """A plain QShortcut would fire while someone types."""
    for command in COMMANDS:
        keys = actions.by_name[command.name].shortcut()
        if keys.isEmpty():
            continue
        function_key = Qt.Key.Key_F1 <= keys[0].key() <= Qt.Key.Key_F35
        assert function_key or keys[0].keyboardModifiers() != NONE


def test_plain_keys_run_their_commands(actions, called):
    assert actions.press(Qt.Key.Key_F, NONE)
    assert actions.press(Qt.Key.Key_Right, NONE)
    assert actions.press(Qt.Key.Key_Right, KEYPAD)  # how macOS sends arrow keys
    assert actions.press(Qt.Key.Key_Escape, NONE)
    assert called == [("frame",), ("next",), ("next",), ("clear_selection",)]


@pytest.mark.parametrize(
    ("modifiers", "command"),
    [(SHIFT, "turn_left"), (CONTROL | KEYPAD, "move_left"), (ALT, "roll_left")],
)
def test_arrows_with_a_modifier_turn_and_move(actions, called, modifiers, command):
    assert actions.press(Qt.Key.Key_Left, modifiers)
    assert not actions.press(Qt.Key.Key_Left, SHIFT | CONTROL)
    assert called == [(command,)]


def test_plus_is_typed_with_shift_on_many_keyboards(actions, called):
    assert actions.press(Qt.Key.Key_Plus, SHIFT)
    assert actions.press(Qt.Key.Key_Plus, NONE)
    assert actions.press(Qt.Key.Key_Plus, KEYPAD)
    assert called == [("zoom_in",)] * 3


@pytest.mark.parametrize("modifiers", [SHIFT, CONTROL, CONTROL | SHIFT])
def test_plain_keys_with_a_modifier_do_nothing(actions, called, modifiers):
    for key in (Qt.Key.Key_F, Qt.Key.Key_Home, Qt.Key.Key_Space, Qt.Key.Key_X):
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
