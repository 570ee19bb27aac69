"""The model panel and the Hub, through real events: typed ids, searches, and the offer of one."""

from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from geometry.models.sources.catalogue import CatalogueEntry
from geometry.models.sources.source import Source
from gui.state.values import ModelRow
from tests.gui.on_screen import ask_menu
from tests.gui.result_stage import enter
from tests.gui.side_panels.models.models_stage import (
    COMMIT,
    GPT2,
    LEFT,
    MEDIUM,
    RIGHT,
    at,
    click,
    current,
    model_of,
    titles,
)
from tests.stand_ins import write_stand_in

ALIAS = "stanford-crfm/alias-gpt2-small-x21@checkpoint-1000"


def found(name, downloads):
    return CatalogueEntry(name, name, "On the Hub", 0, 0, "", downloads=downloads)


DUTCH = (found("GroNLP/gpt2-small-dutch", 3412), found("yhavinga/gpt2-medium-dutch-nedd", 812))


def test_enter_opens_what_was_typed(panel, heard):
    for typed, opened in (
        (ALIAS, ALIAS),
        ("someone/theirs@refs/pr/3", "someone/theirs@refs/pr/3"),
        (f"{GPT2}@{COMMIT}", f"{GPT2}@{COMMIT}"),
        (f"https://huggingface.co/{GPT2}/tree/refs%2Fpr%2F3", f"{GPT2}@refs/pr/3"),
        (GPT2, GPT2),
        ("gpt2-medium", MEDIUM),
        ("someone/theirs@v1", "someone/theirs@v1"),
    ):
        enter(panel.search, typed)
        assert heard.pop() == ("open", opened)
    assert heard == []


def test_the_offer_to_open_is_the_first_line_whole_and_can_be_clicked(panel, heard):
    QTest.keyClicks(panel.search, ALIAS)
    assert titles(panel) == [f"Open {ALIAS} from the Hub"]
    assert current(panel) == titles(panel)[0]
    click(panel, titles(panel)[0])
    assert heard == [("open", ALIAS)]
    height = panel.list.rect_of(ALIAS).height()
    panel.resize(700, 420)
    assert panel.list.rect_of(ALIAS).height() < height
    panel.resize(264, 420)
    assert panel.list.rect_of(ALIAS).height() == height


def test_typing_asks_nobody_and_ends_a_search(panel, heard):
    for text in ("gpt2 dutch", "bert-base-cased", ALIAS, "a"):
        panel.search.clear()
        QTest.keyClicks(panel.search, text)
    assert heard == []
    enter(panel.search, "gpt2 dutch")
    panel.session.searching = "gpt2 dutch"
    QTest.keyClick(panel.search, Qt.Key.Key_E)
    assert heard == [("search", "gpt2 dutch"), ("search", "")]


def test_a_click_searches_the_hub_below_the_matches_of_the_list(panel, heard):
    QTest.keyClicks(panel.search, "medium")
    assert titles(panel) == ["GPT-2 medium", "Search the Hub for “medium”"]
    click(panel, "Search the Hub for “medium”")
    assert heard == [("search", "medium")]


def test_a_search_from_asking_to_opening(panel, heard):
    session = panel.session
    enter(panel.search, "gpt2 dutch")
    session.searching = "gpt2 dutch"
    assert titles(panel) == ["Searching the Hub for “gpt2 dutch”…"]
    session.change(hub_results=DUTCH, hub_query="gpt2 dutch", searching="", search_failed="")
    assert titles(panel) == [one.id for one in DUTCH]
    assert panel.list.lines()[0].state == "3.4\N{NO-BREAK SPACE}k"
    assert current(panel) == DUTCH[0].id  # what Enter means now
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert heard == [("search", "gpt2 dutch"), ("open", DUTCH[1].id)]


def test_from_the_list_the_keys_lead_on_to_what_was_found(panel, heard):
    QTest.keyClicks(panel.search, "gpt2 dutch")
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    panel.session.searching = "gpt2 dutch"
    assert current(panel) is None
    panel.session.change(hub_results=DUTCH, hub_query="gpt2 dutch", searching="")
    assert current(panel) == DUTCH[0].id
    assert panel.focusWidget() is panel.list


@pytest.mark.parametrize("by_mouse", [True, False])
def test_what_was_found_below_the_fold_comes_into_sight(panel, heard, by_mouse):
    """Though the list matches as well, and its open model is in sight."""
    session, view = panel.session, panel.list
    session.model = model_of(GPT2, COMMIT)
    panel.resize(264, 260)
    QTest.keyClicks(panel.search, "gpt2")
    offer = "Search the Hub for “gpt2”"
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    if by_mouse:
        click(panel, offer)
    else:
        view.setFocus()
        while current(panel) != offer:
            QTest.keyClick(view, Qt.Key.Key_Down)
        QTest.keyClick(view, Qt.Key.Key_Return)
    session.searching = "gpt2"
    under_way = at(panel, "Searching the Hub for “gpt2”…")
    assert view.viewport().rect().contains(under_way)
    QTest.keyClick(view, Qt.Key.Key_Return)  # not another model: nothing is marked
    session.models = tuple(ModelRow(row.entry, "cached") for row in session.models)
    assert view.viewport().rect().contains(at(panel, "Searching the Hub for “gpt2”…"))
    session.change(hub_results=DUTCH, hub_query="gpt2", searching="", search_failed="")
    assert current(panel) == DUTCH[0].id
    for title in ("On the Hub", *(one.id for one in DUTCH)):
        assert view.viewport().rect().contains(at(panel, title))
    assert heard == [("search", "gpt2")]


def test_the_arrow_keys_of_the_list_stay_there(panel):
    """At its ends too: the window would walk along the curve."""
    left_over = []
    panel.keyPressEvent = lambda event: left_over.append(event.key())
    for key, end in ((Qt.Key.Key_Home, Qt.Key.Key_Up), (Qt.Key.Key_End, Qt.Key.Key_Down)):
        panel.list.setFocus()
        QTest.keyClick(panel.list, key)
        line = current(panel)
        QTest.keyClick(panel.list, end)
        assert current(panel) == line
    assert left_over == []
    QTest.keyClick(panel.list, Qt.Key.Key_Escape)
    assert left_over == [Qt.Key.Key_Escape]


def test_a_search_that_failed_says_why_and_can_be_done_again(panel, heard):
    enter(panel.search, "gpt2 dutch")
    panel.session.change(hub_query="gpt2 dutch", search_failed="The Hub is busy. Try again later.")
    assert titles(panel) == ["The Hub is busy. Try again later.", "Search the Hub for “gpt2 dutch”"]
    click(panel, "The Hub is busy. Try again later.")  # a sentence, no button
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert heard == [("search", "gpt2 dutch")] * 2


def test_the_marked_line_is_what_enter_means_when_that_changes(panel, heard):
    QTest.keyClicks(panel.search, "gpt2")
    panel.search.setText("stanford")
    assert current(panel) == "Alias"
    panel.session.models = tuple(
        replace(row, state="cached") if row.entry.title == "Caprica" else row
        for row in panel.session.models
    )
    assert current(panel) == "Alias"
    panel.session.offline = True
    assert current(panel) == "Caprica"
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert heard == [("open", "stanford-crfm/caprica-gpt2-small-x81")]


def test_offline_nothing_is_searched(panel, heard):
    panel.session.offline = True
    enter(panel.search, "gpt2 dutch")
    assert titles(panel) == ["The Hub cannot be searched: Helixscope is offline."]
    assert heard == []
    enter(panel.search, ALIAS)  # it may be in a cache: who opens it knows
    assert heard == [("open", ALIAS)]


def type_into(panel, text):
    panel.search.setFocus()
    panel.search.selectAll()
    QTest.keyClicks(panel.search, text)


def test_the_offer_is_in_sight_where_its_line_is_not_until_one_searches(panel, heard, session):
    offer, models = panel.list.offer, panel.list
    assert not offer.isVisible()
    type_into(panel, "gpt")
    title = "Search the Hub for “gpt”"
    assert models.lines()[-1].title == title
    assert offer.isVisible()
    assert offer.text() == title
    # Under the lines and not over them.
    assert offer.geometry().top() > models.viewport().geometry().bottom()
    assert offer.geometry().bottom() < models.height()
    QTest.mouseClick(offer, LEFT)
    assert heard == [("search", "gpt")]
    type_into(panel, "gpt")
    bar = panel.list.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert not panel.list.offer.isVisible()
    assert bar.value() == bar.maximum()
    bar.setValue(0)
    assert panel.list.offer.isVisible()
    type_into(panel, "opt 125")
    assert not panel.list.offer.isVisible()
    assert panel.list.lines()[-1].kind == "search"
    type_into(panel, "gpt")
    session.searching = "gpt"
    assert not panel.list.offer.isVisible()
    session.searching = ""
    assert panel.list.offer.isVisible()
    panel.search.clear()
    assert not panel.list.offer.isVisible()
    assert panel.list.viewportMargins().bottom() == 0


def test_walking_down_goes_behind_nothing(panel):
    type_into(panel, "gpt")
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    seen = []
    for _ in panel.list.lines():
        QTest.keyClick(panel.list, Qt.Key.Key_Down)
        rect = panel.list.visualRect(panel.list.currentIndex())
        seen.append(panel.list.viewport().rect().contains(rect))
    assert all(seen)
    assert panel.list.currentIndex().data() == "Search the Hub for “gpt”"


BESIDE = "Add for comparison"


@pytest.fixture
def menu_of():
    """Open the menu of a panel's line by the right button; its actions by name."""

    def ask(panel, title):
        where = at(panel, title)
        click(panel, title, RIGHT)
        ask_menu(panel.list.viewport(), where)
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


def test_the_menu_copies_and_opens(panel, heard, menu):
    for title, copying, copied in (
        ("GPT-2 medium", "Copy id", MEDIUM),
        ("theirs@v1", "Copy id", "someone/theirs@v1"),
        ("run-7", "Copy path", "/home/x/checkpoints/run-7"),
    ):
        actions = menu(title)
        assert list(actions) == ["Open", BESIDE, copying]
        pick(actions, copying)
        assert QGuiApplication.clipboard().text() == copied
        assert heard == []
        pick(menu(title), "Open")
        assert heard.pop() == ("open", copied)


def test_menu_compares_and_checks_for_updates(panel, heard, menu):
    asked = []
    panel.compareRequested.connect(lambda source: asked.append(source.text))
    assert not menu("GPT-2 medium")[BESIDE].isEnabled()
    QApplication.activePopupWidget().close()
    panel.session.model = model_of(GPT2, COMMIT)
    pick(menu("GPT-2 medium"), BESIDE)
    assert asked == [MEDIUM]
    assert heard == []
    panel.session.model = model_of(GPT2, COMMIT)
    actions = menu("GPT-2 small")
    assert list(actions) == ["Open", BESIDE, "Copy id", "Check for a newer version"]
    assert not actions["Open"].isEnabled()
    pick(actions, "Check for a newer version")
    assert heard == ["update"]
    assert "Check for a newer version" not in menu("GPT-2 medium")
    QApplication.activePopupWidget().close()
    panel.session.offline = True
    assert not menu("GPT-2 small")["Check for a newer version"].isEnabled()


@pytest.mark.parametrize(("source", "commit"), [(GPT2, None), (f"{GPT2}@{COMMIT}", COMMIT)])
def test_what_can_have_no_newer_version_is_not_checked(panel, menu, source, commit):
    panel.session.recent = (Source.parse(source),)
    panel.session.model = model_of(source, commit)
    (line,) = panel.list.open_lines()
    assert "Check for a newer version" not in menu(line.title)


def test_the_copy_key_and_the_menu_by_the_keyboard(panel, heard):
    QGuiApplication.clipboard().clear()
    panel.list.enter()
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "someone/theirs@v1"
    panel.list.verticalScrollBar().setValue(panel.list.verticalScrollBar().maximum())
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint())
    QApplication.sendEvent(panel.list.viewport(), event)
    shown = QApplication.activePopupWidget()
    rect = panel.list.rect_of("someone/theirs@v1")
    assert panel.list.viewport().rect().contains(rect)
    assert shown.pos() == panel.list.viewport().mapToGlobal(rect.bottomLeft())
    pick(popup(), "Open")
    assert heard == [("open", "someone/theirs@v1")]


def test_headings_and_sentences_have_no_menu(panel):
    panel.session.searching = "gpt2 dutch"
    QTest.keyClicks(panel.search, "gpt2 dutch")
    for title in ("On the Hub", "Searching the Hub for “gpt2 dutch”…"):
        assert ask_menu(panel.list.viewport(), at(panel, title)) is None


@pytest.mark.slow
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
    qtbot.waitUntil(lambda: session.recent[0].id == dutch)
    wait_until_idle(application)
    (line,) = panel.list.open_lines()
    assert session.model.commit in line.tip
    commit = loopback_hub.add(dutch, write_stand_in(tmp_path, MEDIUM))
    pick(menu_of(panel, line.title), "Check for a newer version")
    qtbot.waitUntil(lambda: session.model.commit == commit)
    wait_until_idle(application)
