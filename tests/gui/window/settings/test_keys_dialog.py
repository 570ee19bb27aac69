"""Other keys for commands: chosen in the dialog, said where they conflict, used everywhere."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from gui.style.theme import LIGHT
from gui.window.actions import COMMANDS
from gui.window.dialogs import TURNING, shortcuts_dialog
from gui.window.palette import items_of
from gui.window.settings.keys import OWN, usable, why_not
from gui.window.settings.keys_dialog import HINT, KeysDialog
from gui.window.settings.settings import Settings
from tests.gui.on_screen import put_on_screen

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def dialog(qtbot, dress):
    dress(LIGHT)
    made = put_on_screen(qtbot, KeysDialog({}), active=True)
    made.heard = []
    made.keysChanged.connect(made.heard.append)
    return made


def choose(dialog, title):
    """Search for a command, and go to the field of its key, by keys alone."""
    dialog.search.setFocus()
    dialog.search.selectAll()
    QTest.keyClicks(dialog.search, title)
    dialog.list.setFocus()
    QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    assert dialog.field.hasFocus()


def shown(dialog):
    rows = (dialog.list.topLevelItem(n) for n in range(dialog.list.topLevelItemCount()))
    return {row.text(0): row.text(2) for row in rows if not row.isHidden()}


def test_all_commands_are_listed_with_their_keys_and_can_be_searched(dialog):
    assert dialog.list.topLevelItemCount() == len(COMMANDS)
    assert shown(dialog)["Next position"] == "→"
    QTest.keyClicks(dialog.search, "ctrl+g")
    assert shown(dialog) == {"Go to position": "Ctrl+G"}
    assert dialog.field.text() == "Ctrl+G"
    dialog.search.clear()
    QTest.keyClicks(dialog.search, "qwertz")
    assert shown(dialog) == {}
    assert not dialog.field.isEnabled()


def test_a_free_key_is_given_at_once_removed_and_reset(dialog):
    choose(dialog, "fit curve to view")
    QTest.keyClick(dialog.field, Qt.Key.Key_Control, CONTROL)  # alone it is no key
    QTest.keyClick(dialog.field, Qt.Key.Key_U, CONTROL | SHIFT)
    assert dialog.heard == [{"frame": "Ctrl+Shift+U"}]
    assert shown(dialog) == {"Fit curve to view": "Ctrl+Shift+U"}
    QTest.mouseClick(dialog.remove, LEFT)
    assert dialog.heard[-1] == {"frame": ""}
    assert not dialog.remove.isEnabled()
    QTest.mouseClick(dialog.own, LEFT)
    assert dialog.heard[-1] == {}
    assert shown(dialog) == {"Fit curve to view": "F"}
    assert not dialog.own.isEnabled()


def test_a_key_that_is_taken_is_only_moved_if_the_user_says_so(dialog):
    choose(dialog, "fit curve to view")
    QTest.keyClick(dialog.field, Qt.Key.Key_G, CONTROL)
    assert dialog.heard == []
    assert dialog.note.text() == "Ctrl+G is the key of “Go to position”."
    assert dialog.take.isVisible()
    QTest.keyClick(dialog.field, Qt.Key.Key_U, CONTROL)  # a free one instead
    assert dialog.heard == [{"frame": "Ctrl+U"}]
    assert not dialog.take.isVisible()
    QTest.keyClick(dialog.field, Qt.Key.Key_G, CONTROL)
    QTest.mouseClick(dialog.take, LEFT)
    assert dialog.heard[-1] == {"frame": "Ctrl+G", "go_to": ""}
    assert dialog.note.text() == HINT
    # Its own key is taken now: that is said as well.
    choose(dialog, "go to position")
    QTest.mouseClick(dialog.own, LEFT)
    assert dialog.note.text() == "Ctrl+G is the key of “Fit curve to view”."
    QTest.mouseClick(dialog.reset_all, LEFT)
    assert dialog.heard[-1] == {}


def test_keys_for_panels_and_for_moving_about_are_refused(dialog):
    choose(dialog, "fit curve to view")
    QTest.keyClick(dialog.field, Qt.Key.Key_4)
    assert "panels" in dialog.note.text()
    QTest.keyClick(dialog.field, Qt.Key.Key_5, CONTROL)
    assert dialog.note.text() == "Ctrl+5 to Ctrl+8 choose your own workspaces."
    QTest.keyClick(dialog.field, Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    assert dialog.note.text() == "This key opens a menu."
    unknown = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_unknown, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(dialog.field, unknown)
    assert dialog.heard == [], "a key without a name takes none away"
    QTest.keyClick(dialog.field, Qt.Key.Key_Tab)
    assert not dialog.field.hasFocus(), "no trap"
    assert dialog.heard == []
    assert all(map(why_not, ("", "Ctrl+K, Ctrl+S", "nonsense", "Tab", "Return")))
    assert not any(map(why_not, filter(None, OWN.values())))


@pytest.mark.parametrize(
    ("stored", "keys", "left_out"),
    [
        (None, {}, 0),
        ("mud", {}, 1),
        ({"frame": "Ctrl+Alt+J", "undo": ""}, {"frame": "Ctrl+Alt+J", "undo": ""}, 0),
        ({"frame": "Ctrl+Alt+J", "gone": "Ctrl+U", "undo": 5}, {"frame": "Ctrl+Alt+J"}, 2),
        ({"frame": "C"}, {}, 1),  # another command has it
        ({"frame": "C", "focus_on_selection": "F"}, {"frame": "C", "focus_on_selection": "F"}, 0),
        ({"frame": "Ctrl+Alt+J", "undo": "Ctrl+Alt+J"}, {"undo": "Ctrl+Alt+J"}, 1),
        ({"frame": "7", "undo": "Hyper+Q"}, {}, 2),
    ],
)
def test_stored_keys_that_cannot_be_used_are_left_out(stored, keys, left_out):
    found, without = usable(stored)
    assert (found, len(without)) == (keys, left_out)


def test_other_keys_work_and_are_shown_everywhere_and_stay(start_application, settings, qtbot):
    application = start_application("sinusoidal:64x16")
    window, view = application.window, application.window.viewport.interactor
    window.commands.by_name["change_keys"].trigger()
    dialog = window.keys.dialog
    qtbot.waitUntil(dialog.isActiveWindow)
    choose(dialog, "next position")
    QTest.keyClick(dialog.field, Qt.Key.Key_N)
    QTest.mouseClick(dialog.take, LEFT)  # that of the sphere
    choose(dialog, "undo")
    QTest.keyClick(dialog.field, Qt.Key.Key_U, CONTROL)
    dialog.close()
    window.keys.show()
    assert dialog.search.text() == ""
    dialog.close()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    application.controller.select((5,))
    view.setFocus()
    for key, position in ((Qt.Key.Key_N, 6), (Qt.Key.Key_Right, 6)):
        QTest.keyClick(view, key)
        assert application.session.selection == (position,)
    assert not application.session.sphere
    assert window.commands.by_name["next"].text().endswith("\tN")
    assert "\t" not in window.commands.by_name["sphere"].text()
    assert window.commands.by_name["undo"].shortcut().toString() == "Ctrl+U"
    keys = {item.title: item.key for item in items_of(window)}
    assert keys["Next position"] == "N"
    listed = shortcuts_dialog(window, window.commands.commands.values())
    said = [found.text() for found in listed.findChildren(QLabel)]
    assert "Ctrl+U" in said
    assert "Ctrl+Z" not in said
    button = window.toolbar.buttons["sphere"]
    assert "(N)" not in button.toolTip()
    listed.deleteLater()
    again = Settings(settings._file)
    assert again.keys == {"next": "N", "sphere": "", "undo": "Ctrl+U"}
    # A field in use keeps its letters.
    window.start_in("prompt")
    QTest.keyClicks(window.panels["prompt"].field, "n")
    assert application.session.selection == (6,)


@pytest.mark.slow
def test_damaged_keys_are_said_at_start(start_application, settings):
    settings._set("keys", {"frame": "Ctrl+Alt+J", "undo": "Hyper+Q"})
    settings.sync()
    application = start_application("sinusoidal:64x16", settings=Settings(settings._file))
    assert application.session.notice.text.endswith(" left out: Undo.")
    assert application.window.commands.by_name["frame"].shortcut().toString() == "Ctrl+Alt+J"
    assert application.window.commands.by_name["undo"].shortcut().toString() == "Ctrl+Z"
    application.close()
    again = start_application("sinusoidal:64x16", settings=Settings(settings._file))
    assert again.session.notice is None  # it is said once
    assert again.window.commands.by_name["frame"].shortcut().toString() == "Ctrl+Alt+J"


def test_the_reference_lists_other_keys(qtbot):
    def listed(keys):
        commands = [one.with_key(keys.get(one.name, one.shortcut)) for one in COMMANDS]
        dialog = shortcuts_dialog(None, commands)
        qtbot.addWidget(dialog)
        return {found.text() for found in dialog.findChildren(QLabel)}

    said = listed({"turn_left": "J"})
    assert {"J", "B or L, then drag"} <= said
    assert TURNING[0][0] not in said
    assert "J, then drag" in listed({"select_box": "J", "select_lasso": ""})
