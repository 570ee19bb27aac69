"""The menu of a line of the model panel, and the Hub in the panel of the window."""

from functools import partial
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from tests.gui.panels.side.models.models_stage import (
    COMMIT,
    GPT2,
    LEFT,
    MEDIUM,
    RIGHT,
    at,
    click,
    titles,
)
from tests.stand_ins import write_stand_in

BESIDE = "Show beside the open model"

# ---- the menu of a line ------------------------------------------------------------------


@pytest.fixture
def menu_of():
    """Open the menu of a panel's line by the right button; its actions by name."""

    def ask(panel, title):
        where = at(panel, title)
        click(panel, title, RIGHT)
        view = panel.list.viewport()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, where, view.mapToGlobal(where))
        QApplication.sendEvent(view, event)
        return popup()

    yield ask
    if (shown := QApplication.activePopupWidget()) is not None:
        shown.close()


@pytest.fixture
def menu(panel, menu_of):
    return partial(menu_of, panel)


def popup():
    shown = QApplication.activePopupWidget()
    assert isinstance(shown, QMenu)
    return {action.text(): action for action in shown.actions() if action.text()}


def pick(actions, name):
    """Choose one of the actions of the menu that is open, by the mouse."""
    shown = QApplication.activePopupWidget()
    QTest.mouseClick(shown, LEFT, pos=shown.actionGeometry(actions[name]).center())


@pytest.mark.parametrize(
    ("title", "names", "copied"),
    [
        ("GPT-2 medium", ["Open", BESIDE, "Copy id"], MEDIUM),
        ("theirs@v1", ["Open", BESIDE, "Copy id"], "someone/theirs@v1"),
        ("run-7", ["Open", BESIDE, "Copy path"], "/home/x/checkpoints/run-7"),
    ],
)
def test_the_menu_copies_and_opens(panel, heard, menu, title, names, copied):
    QGuiApplication.clipboard().clear()
    actions = menu(title)
    assert list(actions) == names
    pick(actions, names[2])
    assert QGuiApplication.clipboard().text() == copied
    assert heard == []
    pick(menu(title), "Open")
    assert heard == [("open", copied)]


def test_the_menu_shows_a_model_beside_the_open_one(panel, heard, menu):
    asked = []
    panel.compareRequested.connect(asked.append)
    assert not menu("GPT-2 medium")[BESIDE].isEnabled()
    QApplication.activePopupWidget().close()
    panel.session.model = SimpleNamespace(source=GPT2, commit=COMMIT)
    pick(menu("GPT-2 medium"), BESIDE)
    assert asked == [MEDIUM]
    assert heard == []


def test_the_menu_of_the_open_model_checks_for_a_newer_version(panel, heard, menu):
    panel.session.model = SimpleNamespace(source=GPT2, commit=COMMIT)
    actions = menu("GPT-2 small")
    assert list(actions) == ["Open", BESIDE, "Copy id", "Check for a newer version"]
    assert not actions["Open"].isEnabled()
    pick(actions, "Check for a newer version")
    assert heard == ["update"]
    assert "Check for a newer version" not in menu("GPT-2 medium")
    QApplication.activePopupWidget().close()
    panel.session.offline = True
    assert not menu("GPT-2 small")["Check for a newer version"].isEnabled()


@pytest.mark.parametrize(
    ("source", "commit"),
    [(GPT2, None), (f"{GPT2}@{COMMIT}", COMMIT)],
)
def test_what_can_have_no_newer_version_is_not_checked(panel, menu, source, commit):
    panel.session.recent = (source,)
    panel.session.model = SimpleNamespace(source=source, commit=commit)
    (line,) = panel.list.open_lines()
    assert "Check for a newer version" not in menu(line.title)


def test_the_menu_by_the_keyboard(panel, heard):
    panel.list.enter()
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    panel.list.verticalScrollBar().setValue(panel.list.verticalScrollBar().maximum())
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint())
    QApplication.sendEvent(panel.list.viewport(), event)
    shown = QApplication.activePopupWidget()
    rect = panel.list.rect_of("someone/theirs@v1")
    assert panel.list.viewport().rect().contains(rect)
    assert shown.pos() == panel.list.viewport().mapToGlobal(rect.bottomLeft())
    pick(popup(), "Open")
    assert heard == [("open", "someone/theirs@v1")]


def test_the_copy_key_copies_the_current_line(panel):
    QGuiApplication.clipboard().clear()
    panel.list.enter()
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "someone/theirs@v1"


def test_headings_and_sentences_have_no_menu(panel):
    panel.session.searching = "gpt2 dutch"
    QTest.keyClicks(panel.search, "gpt2 dutch")
    for title in ("On the Hub", "Searching the Hub for “gpt2 dutch”…"):
        where = at(panel, title)
        view = panel.list.viewport()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, where, view.mapToGlobal(where))
        QApplication.sendEvent(view, event)
        assert QApplication.activePopupWidget() is None


# ---- in the window -----------------------------------------------------------------------


def test_the_window_searches_opens_and_asks_for_a_newer_version(
    application, loopback_hub, tmp_path, qtbot, wait_until_idle, menu_of
):
    dutch = "someone/gpt2-small-dutch"
    loopback_hub.add(dutch, write_stand_in(tmp_path, GPT2))
    panel, session = application.window.panels["models"], application.session
    QTest.keyClicks(panel.search, "dutch")
    wait_until_idle(application)
    assert loopback_hub.requests == []
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: titles(panel) == [dutch])
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.recent[0] == dutch)
    wait_until_idle(application)
    (line,) = panel.list.open_lines()
    assert session.model.commit in line.tip
    commit = loopback_hub.add(dutch, write_stand_in(tmp_path, MEDIUM))
    pick(menu_of(panel, line.title), "Check for a newer version")
    qtbot.waitUntil(lambda: session.model.commit == commit)
    wait_until_idle(application)
