"""The tabs under the viewport in the real window: built when seen, floated, closed, found again."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTabBar

from gui.panels.intents import ShowPanel
from gui.panels.panel import ResultPanel
from gui.panels.table import PANELS
from gui.window.docks import BOTTOM, DOCKS
from tests.gui.result_stage import named

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
LAZY = [dock.name for dock in DOCKS if dock.lazy and dock.area == BOTTOM]


def bars(window):
    """The tab bars in use; Qt deletes and makes them as it likes."""
    found = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return [bar for bar in found if bar.isVisible()]


@pytest.fixture
def bar(window, qtbot):
    qtbot.waitUntil(lambda: len(bars(window)) == 1)
    return bars(window)[0]


def tab(bar, title):
    return next(i for i in range(bar.count()) if bar.tabText(i) == title)


def click_tab(bar, title, button=LEFT):
    QTest.mouseClick(bar, button, NONE, bar.tabRect(tab(bar, title)).center())
    QApplication.processEvents()


def test_tabs_stand_in_the_order_of_the_keys_and_a_panel_is_built_and_answered_when_seen(
    window, bar, settle
):
    titles = [dock.title for dock in DOCKS if dock.area == BOTTOM]
    assert [bar.tabText(i) for i in range(bar.count())] == titles
    assert bar.tabText(bar.currentIndex()) == titles[0] == "Norms"
    assert set(LAZY) & set(window._panels) == {"norms"}
    click_tab(bar, "Spectra")
    assert set(LAZY) & set(window._panels) == {"norms", "spectra"}
    settle()
    panel = window._panels["spectra"]
    assert panel.result is not None
    assert named(panel, "Singular values").isVisible()


def test_each_panel_knows_its_dock_and_options_of_unknown_ones_are_ignored(window, bar):
    for dock in (dock for dock in DOCKS if dock.name in LAZY):
        window.docks[dock.name].raise_()
        window.results.need(dock.name)
        panel = window._panels[dock.name]
        assert isinstance(panel, ResultPanel)
        assert panel.spec is PANELS[dock.name].spec
        assert window.docks[dock.name].widget() is panel
    before = window.results.options()
    window.results.restore({"nobody": {"k": 3}, "positions": {"k": 3}})
    assert window.results.options() == before


def test_only_the_panel_in_front_asks_and_it_shares_hover_and_selection_with_the_viewport(
    application, window, bar, settle
):
    session = application.session
    for title in ("Spectra", "Similarity"):
        click_tab(bar, title)
        settle()
    panel = window._panels["similarity"]
    heatmap = named(panel, "Cosine of every two positions")
    heatmap.cellHovered.emit((20, 30))
    heatmap.cellClicked.emit(20, 30, NONE)
    settle()
    assert (session.hover, session.selection) == (30, (20, 30))
    state = window.viewport.scene.state
    assert (state.hover, state.selection) == (30, (20, 30))
    assert session.details.position == 30
    click_tab(bar, "Norms")
    before = panel.view().question
    application.controller.request_positions(10, 90)
    settle()
    assert panel.view().question == before
    click_tab(bar, "Similarity")
    settle()
    assert panel.view().question.positions == (10, 90)


def test_a_tab_is_the_title_and_a_window_has_one_and_what_is_closed_is_in_the_menu(
    window, bar, qtbot
):
    dock, buttons = window.docks["spectra"], window.results.tabs.buttons
    click_tab(bar, "Spectra")
    qtbot.waitUntil(lambda: dock.titleBarWidget().sizeHint().height() == 0)
    QTest.mouseClick(buttons.floated, LEFT)
    qtbot.waitUntil(lambda: dock.isFloating() and dock.titleBarWidget().sizeHint().height() > 0)
    assert window._panels["spectra"].isVisible()
    dock.setFloating(False)
    qtbot.waitUntil(lambda: dock.titleBarWidget().sizeHint().height() == 0)
    assert bar.tabText(bar.currentIndex()) == "Spectra"
    QTest.mouseClick(buttons.closed, LEFT)
    assert not dock.isVisible()
    action = dock.toggleViewAction()
    assert action in window.commands.menus["Panels"].actions()
    action.trigger()
    assert dock.isVisible()
    qtbot.waitUntil(lambda: "Spectra" in [bar.tabText(i) for i in range(bar.count())])


def test_a_tab_is_closed_by_the_middle_button_or_its_menu_and_floated_by_a_double_click(
    window, bar
):
    click_tab(bar, "Capture", Qt.MouseButton.MiddleButton)
    assert not window.docks["capture"].isVisible()
    assert window.docks["spectra"].isVisible()
    at = bar.tabRect(tab(bar, "Similarity")).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, bar.mapToGlobal(at))
    QApplication.sendEvent(bar, event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    float_it, close_it = menu.actions()
    assert (float_it.text(), close_it.text()) == ("Float", "Close")
    close_it.trigger()
    menu.close()
    assert not window.docks["similarity"].isVisible()
    QTest.mouseDClick(bar, LEFT, NONE, bar.tabRect(tab(bar, "Spectra")).center())
    assert window.docks["spectra"].isFloating()


def test_the_buttons_stand_beside_the_tabs_and_not_on_them(window, bar, qtbot):
    buttons = window.results.tabs.buttons
    last = bar.tabRect(bar.count() - 1)
    if buttons.isVisible():
        assert buttons.x() > bar.mapTo(window, last.topRight()).x()
    else:
        assert last.right() + buttons.sizeHint().width() > bar.width()
    for name in LAZY:
        window.docks[name].close()
    window.docks["spectra"].show()
    qtbot.waitUntil(buttons.isVisible)
    right = bar.mapTo(window, QPointF(bar.width(), 0).toPoint()).x()
    assert abs(buttons.geometry().right() - right) <= 2
    assert buttons.y() == bar.mapTo(window, QPoint(0, 0)).y()


def test_reset_brings_all_docks_back(window, bar, qtbot):
    for dock in window.docks.values():
        dock.close()
    window.docks["spectra"].setFloating(True)
    window.commands.by_name["reset_layout"].trigger()
    shown = {name for name, dock in window.docks.items() if dock.isVisible()}
    assert shown == {dock.name for dock in DOCKS if not dock.closed}
    assert not any(dock.isFloating() for dock in window.docks.values())
    titles = {dock.title for dock in DOCKS if dock.area == BOTTOM}
    qtbot.waitUntil(
        lambda: {b.tabText(i) for b in bars(window) for i in range(b.count())} == titles
    )


def test_reset_keeps_the_width_of_the_window_once_all_panels_were_seen(window, qtbot):
    for name in LAZY:
        window.focus_on(name)
    width = window.width()
    for _ in range(2):
        window.commands.by_name["reset_layout"].trigger()
        QApplication.processEvents()
        assert window.width() == width


def test_the_tab_in_front_and_a_full_screen_come_back_at_the_next_start(
    start_application, write_table, wait_until_idle
):
    first = start_application(write_table(name="kept"))
    first.window.docks["similarity"].raise_()
    first.window.commands.by_name["full_screen"].trigger()
    assert first.window.isFullScreen()
    wait_until_idle(first)
    first.close()
    second = start_application(None)
    panel = second.window.panels.get("similarity")
    assert panel is not None
    wait_until_idle(second)
    assert panel.isVisible()
    assert panel.result is not None
    assert "spectra" not in second.window.panels
    assert second.window.isFullScreen()
    second.window.commands.by_name["full_screen"].trigger()
    assert not second.window.isFullScreen()


def test_a_panel_can_lead_to_another_which_has_the_theme_of_now(application, window, bar, settle):
    click_tab(bar, "Spectra")
    settle()
    application.choose_theme("dark")
    window._panels["spectra"].intended.emit(ShowPanel("similarity", {"rows": "projected"}))
    settle()
    assert bar.tabText(bar.currentIndex()) == "Similarity"
    assert window._panels["similarity"].view().question.components == (1, 2, 3)
    assert window._panels["similarity"].theme.name == "dark"
    application.choose_theme("light")
    assert window._panels["similarity"].theme.name == "light"


def test_a_choice_in_a_panel_is_taken_back_and_done_again(window, bar, settle):
    click_tab(bar, "Similarity")
    settle()
    panel, undo = window._panels["similarity"], window.commands.by_name["undo"]
    QTest.mouseClick(panel.controls.widgets["rows"].buttons["projected"], LEFT)
    settle()
    assert panel.choices.rows == "projected"
    assert undo.text() == "Undo: choices in Similarity"
    QTest.keyClick(panel, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    settle()
    assert panel.choices.rows == "raw"
    assert panel.controls.widgets["rows"].value() == "raw"
    window.commands.by_name["redo"].trigger()
    assert panel.choices.rows == "projected"
