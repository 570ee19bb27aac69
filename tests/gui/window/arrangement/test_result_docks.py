"""The tabs under the viewport in the real window: built when seen, floated, closed, found again."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QMenu,
    QTabBar,
)

from gui.panels.kit.intents import ShowPanel
from gui.panels.kit.panel import ResultPanel
from gui.panels.table import GROUPS, OTHERS, PANELS
from gui.style.theme import LIGHT
from gui.widgets.segmented import Segmented
from gui.window.arrangement.dock_tabs import GroupBar
from gui.window.arrangement.docks import BOTTOM, DOCKS
from gui.window.arrangement.focus_navigation import in_front
from gui.window.arrangement.workspaces import WORKSPACES
from tests.gui.on_screen import ask_menu
from tests.gui.result_stage import named

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
LAZY = [dock.name for dock in DOCKS if dock.lazy and dock.area == BOTTOM]


def group_bars(window):
    """The visible bars of groups, each over one of Qt's tab bars."""
    return [bar for bar in window.findChildren(GroupBar) if bar.isVisible()]


@pytest.fixture
def bar(window, qtbot):
    qtbot.waitUntil(lambda: len(group_bars(window)) == 1)
    return group_bars(window)[0]


def tab(bar, title):
    """The middle of a group's tab, in the tabs."""
    tabs = bar.tabs
    return tabs.tabRect([tabs.tabText(i) for i in range(tabs.count())].index(title)).center()


def click_panel(window, bar, name, button=LEFT):
    """Show a panel as a user does: its group's tab, then its segment in the header."""
    entry = PANELS[name]
    QTest.mouseClick(bar.tabs, button, NONE, tab(bar, entry.group))
    QApplication.processEvents()
    front = window.built_panels[
        next(e.name for e in GROUPS[entry.group] if is_front(window, e.name))
    ]
    if isinstance(front.header.tabs, Segmented) and front.spec.name != name:
        QTest.mouseClick(front.header.tabs.buttons[name], LEFT)
        QApplication.processEvents()


def is_front(window, name):
    return in_front(window.docks[name])


def test_a_tab_for_each_group_and_a_panel_is_built_and_answered_when_seen(window, bar, settle):
    tabs = bar.tabs
    assert [tabs.tabText(i) for i in range(tabs.count())] == list(GROUPS)
    assert tabs.tabText(tabs.currentIndex()) == "Table"
    assert set(LAZY) & set(window.built_panels) == {"norms"}
    click_panel(window, bar, "spectra")
    assert set(LAZY) & set(window.built_panels) == {"norms", "spectra"}
    settle()
    panel = window.built_panels["spectra"]
    assert panel.result is not None
    assert named(panel, "Singular values").isVisible()
    assert tabs.tabText(tabs.currentIndex()) == "Spaces"


def test_header_lists_the_group(window, bar, settle):
    click_panel(window, bar, "overlaps")
    settle()
    assert is_front(window, "overlaps")
    tabs = window.built_panels["overlaps"].header.tabs
    assert list(tabs.buttons) == [entry.name for entry in GROUPS["Spaces"]]
    assert tabs.value() == "overlaps"
    click_panel(window, bar, "training")
    assert window.built_panels["training"].header.tabs is None  # alone, and called like its group
    QTest.mouseClick(bar.tabs, LEFT, NONE, tab(bar, "Spaces"))
    assert is_front(window, "overlaps")
    assert tabs.value() == "overlaps"


@pytest.mark.slow
def test_each_panel_knows_its_dock_and_options_of_unknown_ones_are_ignored(window, bar):
    for dock in (dock for dock in DOCKS if dock.name in LAZY):
        window.docks[dock.name].raise_()
        window.results.need(dock.name)
        panel = window.built_panels[dock.name]
        assert isinstance(panel, ResultPanel)
        assert panel.spec is PANELS[dock.name].spec
        assert window.docks[dock.name].widget().panel is panel
    before = window.results.options()
    window.results.restore({"nobody": {"k": 3}, "positions": {"k": 3}})
    assert window.results.options() == before


def test_only_the_front_panel_asks(application, window, bar, settle):
    session = application.session
    for name in ("spectra", "similarity"):
        click_panel(window, bar, name)
        settle()
    panel = window.built_panels["similarity"]
    heatmap = named(panel, "Cosine of every two positions")
    heatmap.cellHovered.emit((20, 30))
    heatmap.cellClicked.emit(20, 30, NONE)
    settle()
    assert (session.hover, session.selection) == (30, (20, 30))
    state = window.viewport.scene.state
    assert (state.hover, state.selection) == (30, (20, 30))
    assert session.details.position == 30
    click_panel(window, bar, "norms")
    before = panel.view().question
    application.controller.request_positions(10, 90)
    settle()
    assert panel.view().question == before
    click_panel(window, bar, "similarity")
    settle()
    assert panel.view().question.positions == (10, 90)


def test_titles_of_tabs_and_closed_panels(window, bar, qtbot):
    dock = window.docks["spectra"]
    click_panel(window, bar, "spectra")
    qtbot.waitUntil(lambda: dock.titleBarWidget().sizeHint().height() == 0)
    QTest.mouseClick(bar.buttons["float"], LEFT)
    qtbot.waitUntil(lambda: dock.isFloating() and dock.titleBarWidget().sizeHint().height() > 0)
    assert window.built_panels["spectra"].isVisible()
    dock.setFloating(False)
    qtbot.waitUntil(lambda: dock.titleBarWidget().sizeHint().height() == 0)
    assert is_front(window, "spectra")
    QTest.mouseClick(bar.buttons["close"], LEFT)
    assert not dock.isVisible()
    action = dock.toggleViewAction()
    menus = (action.menu() for action in window.commands.menus["Panels"].actions())
    assert any(action in menu.actions() for menu in menus if menu is not None)
    action.trigger()
    qtbot.waitUntil(dock.isVisible)


def test_the_menu_of_panels_has_a_menu_of_each_group_and_fits_small_screens(window):
    menu = window.commands.menus["Panels"]
    spaces = next(action.menu() for action in menu.actions() if action.text() == "Spaces")
    texts = [action.text().partition("\t")[0] for action in spaces.actions()]
    assert texts == [entry.title for entry in GROUPS["Spaces"]]
    assert menu.sizeHint().height() < 700


def test_a_tab_is_closed_by_the_middle_button_or_its_menu(window, bar):
    click_panel(window, bar, "capture")
    QTest.mouseClick(bar.tabs, Qt.MouseButton.MiddleButton, NONE, tab(bar, "Spaces"))
    assert not window.docks["capture"].isVisible()
    assert window.docks["spectra"].isVisible()
    menu = ask_menu(bar.tabs, tab(bar, "Training"))
    assert isinstance(menu, QMenu)
    texts = [action.text() for action in menu.actions()]
    assert texts == ["Training", "", "Maximise", "Float", "Close"]
    menu.actions()[-1].trigger()
    menu.close()
    assert not window.docks["training"].isVisible()


def test_the_wheel_opens_no_panel(window, bar, settle):
    click_panel(window, bar, "shape")
    settle()
    middle = bar.height() // 2
    rooms = [QPoint(part.rect().right() - 1, middle) for part in (bar.tabs, bar)]
    for at in (tab(bar, "Shape"), *rooms, bar.buttons["close"].geometry().center()):
        place = bar.mapTo(window, at)
        for way in (120, -120):
            # From the window: an event that is sent to the tabs is not passed on to their parents.
            QTest.wheelEvent(window.windowHandle(), place, QPoint(0, way))
            settle()
            assert is_front(window, "shape"), at


def test_hidden_bar_stays_hidden(bar):
    below = bar.parentWidget()
    size = below.size()
    bar.hide()
    below.resize(size.width() - 7, size.height())
    assert bar.isHidden()
    assert bar.size() == below.size()
    below.resize(size)
    bar.show()  # for the tests that share the window


def test_the_buttons_stand_at_the_end_of_the_tabs_and_not_on_them(window, bar, settle):
    for width in (1280, 1000):
        window.resize(width, 800)
        settle()
        (bar,) = group_bars(window)
        assert bar.size() == bar.parentWidget().size()
        last = bar.tabs.geometry().right()
        assert all(button.isVisible() and button.x() > last for button in bar.buttons.values())
    # All groups are in sight in the smallest of usual windows.
    assert bar.tabs.tabRect(bar.tabs.count() - 1).right() <= bar.tabs.width()


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKSPACES)
def test_no_workspace_hides_tabs_behind_arrows(window, settle, qtbot, name):
    window.resize(1280, 800)
    settle()
    window.workspaces.choose(name)
    settle()

    def shown():
        """All tab bars, but Qt's own under the groups'."""
        covered = [bar.parentWidget() for bar in group_bars(window)]
        bars = [one for one in window.findChildren(QTabBar) if one.isVisible() and one.count()]
        return [one for one in bars if one not in covered]

    qtbot.waitUntil(lambda: bool(shown()))
    for bar in shown():
        for at in range(bar.count()):
            assert bar.rect().contains(bar.tabRect(at)), bar.tabText(at)


def test_the_panels_go_away_together_and_come_back_as_they_were(window, bar, settle, qtbot):
    click_panel(window, bar, "overlaps")
    window.docks["fourier"].close()
    settle()
    height = window.docks["overlaps"].height()
    viewport = window.viewport.height()
    QTest.mouseClick(bar.buttons["all"], LEFT)
    qtbot.waitUntil(lambda: window.viewport.height() > viewport)
    assert not any(window.docks[name].isVisible() for name in LAZY)
    closed = window.results.tabs.closed_bar
    qtbot.waitUntil(lambda: group_bars(window) == [closed])
    QTest.mouseClick(closed.tabs, LEFT, NONE, tab(closed, "Spaces"))
    settle()
    assert is_front(window, "overlaps")
    assert window.docks["overlaps"].height() == pytest.approx(height, abs=2)
    assert {name for name in LAZY if window.docks[name].isHidden()} == {"fourier"}
    assert not closed.isVisible()
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    assert not window.results.tabs.is_open
    # One that another panel, a lesson or the menu shows brings the others.
    window.docks["kernels"].toggleViewAction().trigger()
    qtbot.waitUntil(lambda: is_front(window, "kernels"))
    qtbot.waitUntil(lambda: not window.docks["norms"].isHidden())


@pytest.mark.slow
def test_a_panel_fills_the_window_and_gives_it_back(window, bar, settle, qtbot):

    def fills(dock):
        return dock.height() > 0.8 * window.height()

    names = ("models", "positions", "view", "inspector", "prompt")
    before = {name: window.docks[name].geometry() for name in names}
    click_panel(window, bar, "shape")
    settle()
    for restore, beside in (("double click", False), ("key", True)):
        qtbot.waitUntil(lambda: len(group_bars(window)) == 1)  # Qt may have made another one
        (bar,) = group_bars(window)
        at = QPoint(bar.tabs.width() - 8, 8) if beside else tab(bar, "Shape")
        QTest.mouseDClick(bar.tabs, LEFT, NONE, at)
        qtbot.waitUntil(lambda: fills(window.docks["shape"]))
        assert window.docks["shape"].width() == pytest.approx(window.width(), abs=4)
        assert not window.viewport.isVisible()
        click_panel(window, group_bars(window)[0], "lookback")  # others of the place stay in reach
        qtbot.waitUntil(lambda: fills(window.docks["lookback"]))
        if restore == "key":
            QTest.keyClick(window, Qt.Key.Key_F9)
        else:
            (bar,) = group_bars(window)
            QTest.mouseDClick(bar.tabs, LEFT, NONE, tab(bar, "Shape"))
        qtbot.waitUntil(window.viewport.isVisible)
        qtbot.waitUntil(lambda: is_front(window, "lookback"))
        sides = {name: window.docks[name].geometry() for name in before}
        assert sides == before
        click_panel(window, group_bars(window)[0], "shape")
    window.viewport.interactor.setFocus()
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_F9)
    qtbot.waitUntil(lambda: abs(window.viewport.width() - window.width()) < 4)
    assert not any(dock.isVisible() for dock in window.docks.values())
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_F9)
    assert window.docks["inspector"].isVisible()


def test_reset_brings_all_docks_back(window, bar, qtbot):
    for dock in window.docks.values():
        dock.close()
    window.docks["spectra"].setFloating(True)
    window.commands.by_name["reset_layout"].trigger()
    shown = {name for name, dock in window.docks.items() if dock.isVisible()}
    assert shown == {dock.name for dock in DOCKS if not (dock.closed or dock.area == BOTTOM)}
    assert not any(dock.isFloating() for dock in window.docks.values())
    window.results.tabs.toggle()
    assert all(not window.docks[name].isHidden() for name in LAZY)


def test_panel_height_is_kept_until_reset(window):
    tabs, norms = window.results.tabs, window.docks["norms"]

    def toggled() -> int:
        tabs.toggle()
        QApplication.processEvents()
        return norms.height()

    first = norms.height()
    window.resizeDocks([norms], [first + 60], Qt.Orientation.Vertical)
    QApplication.processEvents()
    left = norms.height()
    assert left > first + 10
    toggled()
    assert abs(toggled() - left) <= 2
    window.commands.by_name["reset_layout"].trigger()
    QApplication.processEvents()
    if tabs.is_open:
        toggled()
    assert abs(toggled() - first) <= 2


@pytest.mark.slow
def test_reset_keeps_the_width_of_the_window_once_all_panels_were_seen(window, qtbot):
    for name in LAZY:
        window.focus_on(name)
    width = window.width()
    for _ in range(2):
        window.commands.by_name["reset_layout"].trigger()
        QApplication.processEvents()
        assert window.width() == width


@pytest.mark.slow
def test_front_tab_and_full_screen_return(start_application, write_table, wait_until_idle):
    first = start_application(write_table(name="kept"))
    first.window.bring("similarity")
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


@pytest.mark.slow
def test_a_panel_can_lead_to_another_which_has_the_theme_of_now(application, window, bar, settle):
    click_panel(window, bar, "spectra")
    settle()
    application.choose_theme("dark")
    window.built_panels["spectra"].intended.emit(ShowPanel("similarity", {"rows": "projected"}))
    settle()
    assert is_front(window, "similarity")
    assert window.built_panels["similarity"].view().question.components == (1, 2, 3)
    assert window.built_panels["similarity"].theme.name == "dark"
    application.choose_theme("light")
    assert window.built_panels["similarity"].theme.name == "light"


def test_a_choice_in_a_panel_is_taken_back_and_done_again(window, bar, settle):
    click_panel(window, bar, "similarity")
    settle()
    panel, undo = window.built_panels["similarity"], window.commands.by_name["undo"]
    QTest.mouseClick(panel.controls.widgets["rows"].buttons["projected"], LEFT)
    settle()
    assert panel.choices.rows == "projected"
    assert undo.text() == "Undo: options of Similarity"
    QTest.keyClick(panel, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    settle()
    assert panel.choices.rows == "raw"
    assert panel.controls.widgets["rows"].value() == "raw"
    window.commands.by_name["redo"].trigger()
    assert panel.choices.rows == "projected"


def test_tabs_move_closer_together_before_one_is_out_of_sight(qtbot, dress):
    dress(LIGHT)
    bar = GroupBar({})
    qtbot.addWidget(bar)
    bar.show_docks({name: PANELS[name].title for name in PANELS}, "norms")
    bar.show()

    def right(width):
        bar.resize(width, 26)
        QApplication.processEvents()
        tabs = bar.tabs
        last = tabs.tabRect(tabs.count() - 1)
        assert last.right() <= tabs.width()
        return last.right()

    wide = right(900)
    assert right(536) < wide
    assert right(900) == wide


def test_plugins_cannot_take_the_names_of_other_docks():
    assert set(OTHERS) == {dock.name for dock in DOCKS if dock.area != BOTTOM}
