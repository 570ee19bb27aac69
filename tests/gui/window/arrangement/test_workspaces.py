"""Workspaces in the real window: by their keys, remembered, saved, reset, and with lessons."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QToolButton

from gui.panels.table import PANELS
from gui.state.values import Notice
from gui.window.arrangement.docks import share
from gui.window.arrangement.focus_navigation import in_front
from gui.window.arrangement.layout import apply_layout
from gui.window.arrangement.workspaces import WORKSPACES
from gui.window.toolbar import TOOLS

CTRL, NONE = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier
SIDE = {"models", "positions", "view", "inspector", "prompt"}


def fronts(window):
    return {name for name, dock in window.docks.items() if in_front(dock)}


@pytest.fixture
def press(window, settle):
    """Press a key in the 3D view, with Ctrl or another modifier, and wait."""

    def pressed(key, modifiers=CTRL):
        QTest.keyClick(window.viewport.interactor, getattr(Qt.Key, f"Key_{key}"), modifiers)
        settle()

    return pressed


@pytest.fixture
def workspaces(window, settle):
    window.workspaces.choose("explore")
    window.arrange()
    settle()
    yield window.workspaces
    window.workspaces.choose("explore")


@pytest.mark.slow
def test_explore_gives_the_curve_half_of_the_window(window, workspaces, settle, qtbot):
    window.resize(1440, 900)
    view = window.viewport
    qtbot.waitUntil(lambda: view.width() * view.height() >= 0.5 * 1440 * 900)
    settle()
    assert fronts(window) == SIDE


@pytest.mark.slow
def test_each_workspace_has_a_key_and_a_place_for_its_panels(
    window, workspaces, press, settle, qtbot
):
    window.resize(1280, 800)
    press(2)
    panel, view = window.docks["norms"], window.viewport
    qtbot.waitUntil(lambda: abs(panel.width() - view.width()) < 0.05 * window.width())
    settle()
    assert fronts(window) == {"norms"}
    assert panel.height() > 0.75 * window.height()
    assert panel.x() > view.mapTo(window, view.rect().topRight()).x() - 2
    press(3)
    assert fronts(window) == {"compare"}
    assert window.docks["compare"].width() == pytest.approx(window.width(), abs=4)
    press(1)
    assert fronts(window) == SIDE
    for name in WORKSPACES:
        assert window.commands.by_name[f"workspace_{name}"].isChecked() is (name == "explore")


def test_panels_hidden_in_a_workspace_come_back_as_tabs(window, workspaces, press, settle, qtbot):
    height, shape = window.height(), window.docks["shape"]

    def is_half():
        return shape.width() == pytest.approx(window.width() / 2, rel=0.05)

    press(2)
    window.focus_on("shape")
    qtbot.waitUntil(is_half)
    window.commands.by_name["panels_below"].trigger()
    press(1)
    press(2)
    assert fronts(window) == set()
    window.focus_on("shape")
    settle()
    assert fronts(window) == {"shape"}
    assert window.height() == height
    qtbot.waitUntil(is_half)


@pytest.mark.slow
def test_a_workspace_is_as_it_was_left_until_it_is_reset(window, workspaces, press, settle):
    press(2)
    window.bring("shape")
    window.docks["inspector"].show()
    settle()
    press(1)
    press(2)
    assert fronts(window) == {"shape", "inspector"}
    window.commands.by_name["reset_layout"].trigger()
    settle()
    assert fronts(window) == {"norms"}


@pytest.mark.slow
def test_teach_is_the_lesson_beside_the_curve_and_ends_with_it(window, workspaces, press, settle):
    press(2)
    press(4)
    assert window.lesson_player.on
    assert in_front(window.docks["lesson"])
    assert window.docks["lesson"].width() > 400
    assert not SIDE & fronts(window) - {"prompt", "inspector"}
    press(1)
    assert not window.lesson_player.on
    assert fronts(window) == SIDE
    press(4)
    window.lesson_player.leave()  # closed by the reader
    settle()
    assert workspaces.current == "explore"
    assert fronts(window) == SIDE


@pytest.mark.slow
def test_a_lesson_beside_a_high_panel_has_a_column_of_its_own(window, press, settle):
    window.resize(1280, 800)
    press(2)
    window.lesson_player.open()
    lesson, panel = window.docks["lesson"], window.docks["dimensions"]
    settle()
    assert in_front(panel)
    assert panel.height() > 0.75 * window.height()
    assert lesson.x() > panel.x() + panel.width() - 4
    assert min(lesson.width(), panel.width(), window.viewport.width()) > 300


@pytest.mark.slow
def test_teach_remembers_how_wide_the_lesson_is(window, workspaces, press, settle, qtbot):
    window.resize(1440, 900)
    settle()
    lesson = window.docks["lesson"]
    press(4)
    first = lesson.width()
    share(window, {lesson: first + 90}, Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: lesson.width() > first + 60)
    wider = lesson.width()
    press(1)
    press(4)
    assert lesson.width() == pytest.approx(wider, abs=4)
    window.lesson_player.leave()
    assert workspaces.kept()[1]["teach"].areas["right"].size == pytest.approx(wider, abs=4)
    workspaces.restore(*workspaces.kept())
    press(4)
    assert lesson.width() == pytest.approx(wider, abs=4)
    window.commands.by_name["reset_layout"].trigger()
    settle()
    assert lesson.width() == pytest.approx(first, abs=4)


@pytest.mark.slow
def test_a_lesson_of_another_workspace_ends_before_it_is_left(window, workspaces, press, settle):
    window.lesson_player.open()
    settle()
    press(2)
    assert not window.lesson_player.on
    assert fronts(window) == {"norms"}
    press(1)
    assert fronts(window) == SIDE


@pytest.mark.slow
def test_own_workspaces_saved_chosen_deleted(window, workspaces, press, settle, monkeypatch):
    said = []
    monkeypatch.setattr(
        "gui.window.arrangement.workspaces.message_box",
        lambda *words: said.append(words[2]) or Said(),
    )
    answers = iter([("Norms & more", True), ("explore", True), ("   ", True), ("no", False)])
    monkeypatch.setattr(QInputDialog, "getText", lambda *_: next(answers))
    window.docks["prompt"].hide()
    window.bring("norms")
    settle()
    wanted = fronts(window)
    for _ in range(4):
        window.commands.by_name["workspace_save"].trigger()
    assert len(said) == 2
    assert workspaces.current == "Norms & more"
    menu = window.commands.menus["Workspaces"]
    own = next(one for one in menu.actions() if one.text() == "Norms && more")
    assert own.isChecked()
    press(2)
    assert not own.isChecked() or own not in menu.actions()
    press(5)
    assert fronts(window) == wanted
    window.bring("shape")
    window.commands.by_name["reset_layout"].trigger()
    settle()
    assert fronts(window) == wanted
    window.commands.by_name["workspace_delete"].trigger()
    assert "Norms && more" not in [one.text() for one in menu.actions()]
    assert not window.commands.by_name["workspace_delete"].isEnabled()
    settle()
    assert workspaces.current == "explore"
    assert fronts(window) == SIDE


class Said:
    """A message that is read."""

    def exec(self):
        return 0


@pytest.mark.slow
def test_workspaces_are_remembered(start_application, write_table, wait_until_idle, settings):
    first = start_application(write_table(name="kept"))
    window = first.window
    window.workspaces.save_as("mine")
    window.workspaces.choose("analyse")
    window.bring("capture")
    wait_until_idle(first)
    window.workspaces.choose("compare")
    wait_until_idle(first)
    first.close()
    second = start_application(None, settings=type(settings)(settings._file))
    window = second.window
    wait_until_idle(second)
    assert window.workspaces.current == "compare"
    assert fronts(window) == {"compare"}
    window.workspaces.choose("analyse")
    wait_until_idle(second)
    assert fronts(window) == {"capture"}
    window.workspaces.choose("mine")
    wait_until_idle(second)
    assert fronts(window) == SIDE


@pytest.mark.parametrize(
    "stored",
    [7, {"analyse": 3}, {"analyse": {"left": {"tabs": []}}}, {"x": {"hidden": {"a": "b"}}}],
)
def test_damaged_workspaces_are_left_out(settings, stored):
    settings._values["workspaces"] = stored
    settings._values["workspace"] = ["no", "text"]
    assert settings.workspaces[1] == {}


@pytest.mark.slow
def test_a_maximised_panel_is_kept_in_no_file(
    application, window, workspaces, press, settle, tmp_path
):
    window.bring("norms")
    settle()
    before = window.arrangement()
    window.panels["norms"].setFocus()
    QTest.keyClick(window, Qt.Key.Key_F9)
    settle()
    assert not window.viewport.isVisible()
    assert window.arrangement() == before
    window.work._write(tmp_path / "mine.helix")
    settle()
    press(2)
    assert window.viewport.isVisible()
    application.controller.open(str(tmp_path / "mine.helix"))
    settle()
    assert fronts(window) == SIDE | {"norms"}


def maximise(window, name, settle):
    window.focus_on(name)
    QTest.keyClick(window, Qt.Key.Key_F9)
    settle()
    assert not window.viewport.isVisible()


def button(dock, sign):
    buttons = dock.titleBarWidget().findChildren(QToolButton)
    return next(one for one in buttons if one.text() == sign)


def test_project_opened_while_maximised(application, window, workspaces, settle, tmp_path):
    window.bring("norms")
    window.docks["view"].hide()
    settle()
    window.work._write(tmp_path / "mine.helix")
    settle()
    window.docks["view"].show()
    settle()
    maximise(window, "norms", settle)
    application.controller.open(str(tmp_path / "mine.helix"))
    settle()
    assert window.viewport.isVisible()
    assert fronts(window) == SIDE - {"view"} | {"norms"}
    assert workspaces.maximized.layout is None


@pytest.mark.slow
def test_maximised_part_is_restored_before_the_end(window, workspaces, press, settle):
    window.lesson_player.open()
    settle()
    maximise(window, "lesson", settle)
    QTest.keyClick(window, Qt.Key.Key_2, CTRL)
    settle()
    assert fronts(window) == {"norms"}
    press(1)
    assert fronts(window) == SIDE
    window.lesson_player.open()
    settle()
    window.viewport.interactor.setFocus()
    press("F9", NONE)
    assert window.lesson_player.on, "it is only hidden"
    assert not fronts(window)
    window.lesson_player.action.trigger()
    settle()
    assert not window.lesson_player.on
    assert fronts(window) == SIDE
    assert workspaces.maximized.layout is None


def test_the_view_gets_the_focus_only_where_it_can_be_seen(window, workspaces, settle):
    maximise(window, "inspector", settle)
    for command in ("next_panel", "previous_panel"):
        window.commands.by_name[command].trigger()
        assert window.docks["inspector"].isAncestorOf(QApplication.focusWidget())
    window.commands.by_name["view_3d"].trigger()
    settle()
    assert fronts(window) == SIDE
    assert window.viewport.interactor.hasFocus()


def test_closing_a_maximised_panel(window, workspaces, settle, qtbot):
    maximise(window, "inspector", settle)
    window.docks["inspector"].close()
    qtbot.waitUntil(window.viewport.isVisible)
    settle()
    assert fronts(window) == SIDE - {"inspector"}


def test_floating_a_maximised_panel(window, workspaces, settle, qtbot):
    dock = window.docks["inspector"]
    size = dock.size()
    maximise(window, "inspector", settle)
    QTest.mouseClick(button(dock, "↗"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(window.viewport.isVisible)
    settle()
    assert dock.isFloating()
    assert dock.size() == size
    assert fronts(window) == SIDE
    assert workspaces.maximized.layout is None


@pytest.mark.slow
def test_hidden_panels_return_after_maximising(window, workspaces, settle, qtbot):
    window.bring("norms")
    window.docks["training"].close()
    settle()
    height = window.docks["norms"].height()
    shown = {name for name in PANELS if not window.docks[name].isHidden()}
    maximise(window, "norms", settle)
    command = window.commands.by_name["panels_below"]
    command.trigger()
    qtbot.waitUntil(window.viewport.isVisible)
    settle()
    assert fronts(window) == SIDE
    command.trigger()
    settle()
    assert fronts(window) == SIDE | {"norms"}
    assert {name for name in PANELS if not window.docks[name].isHidden()} == shown
    assert window.docks["norms"].height() == pytest.approx(height, abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["models", "norms", None])
@pytest.mark.parametrize("were_open", [True, False])
def test_key_of_the_panels_below(window, workspaces, settle, name, were_open):
    if were_open or name == "norms":
        window.bring("norms")
        settle()
    window.viewport.interactor.setFocus() if name is None else window.focus_on(name)
    QTest.keyClick(window, Qt.Key.Key_F9)
    settle()
    assert workspaces.maximized.layout is not None
    QTest.keyClick(window, Qt.Key.Key_J, CTRL)
    settle()
    assert workspaces.maximized.layout is None
    assert window.viewport.isVisible()
    assert fronts(window) >= SIDE
    # Those that fill the window are shown already, so they go.
    assert window.results.tabs.is_open is (name != "norms")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["norms", "positions"])
def test_wanted_panel_ends_maximising(window, workspaces, settle, name):
    maximise(window, "inspector", settle)
    window.focus_on(name)  # as the digits do
    settle()
    assert workspaces.maximized.layout is None
    assert window.viewport.isVisible()
    assert fronts(window) == SIDE | ({"norms"} if name == "norms" else set())


def test_the_key_of_the_side_panels_ends_what_is_maximised(window, workspaces, settle):
    command = window.commands.by_name["side_panels"]
    maximise(window, "inspector", settle)
    command.trigger()
    settle()
    assert window.viewport.isVisible()
    assert not fronts(window)
    command.trigger()
    settle()
    window.bring("norms")
    settle()
    maximise(window, "norms", settle)
    command.trigger()
    settle()
    assert fronts(window) == SIDE | {"norms"}


@pytest.mark.slow
def test_panels_below_keep_their_height(window, workspaces, press, settle):
    window.resize(1280, 800)
    window.bring("shape")
    settle()
    first = window.docks["shape"].height()
    for _ in range(4):
        press("J")
        assert not window.docks["shape"].isVisible()
        press("J")
        assert window.docks["shape"].height() == pytest.approx(first, abs=1)


@pytest.mark.slow
def test_floating_lesson_beside_a_maximised_view(window, workspaces, press, settle, qtbot):
    window.lesson_player.open()
    window.docks["lesson"].setFloating(True)
    settle()
    window.viewport.interactor.setFocus()
    press("F9", NONE)
    assert fronts(window) == {"lesson"}
    window.docks["lesson"].close()
    qtbot.waitUntil(lambda: not window.lesson_player.on)
    settle()
    assert fronts(window) == SIDE
    assert workspaces.maximized.layout is None


def test_side_panels_go_and_come_back(window, workspaces, settle):
    window.docks["view"].hide()
    settle()
    button = window.toolbar.buttons["side_panels"]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    settle()
    assert not fronts(window)
    window.commands.by_name["side_panels"].trigger()
    settle()
    assert fronts(window) == SIDE - {"view"}


def test_beside_a_high_panel_the_side_panels_leave_the_window_as_it_is(window, settle):
    window.resize(1280, 800)
    commands = window.commands.by_name
    for name in ("side_panels", "workspace_analyse", "side_panels"):
        commands[name].trigger()
        settle()
    assert fronts(window) & SIDE == {"models", "positions", "view"}
    window.docks["inspector"].show()
    settle()
    assert window.size().toTuple() == (1280, 800)


def test_the_toolbar_runs_commands_and_can_be_hidden(window, settle, qtbot):
    bar = window.toolbar
    assert bar.isVisible()
    camera = window.viewport.camera
    before = camera.place
    QTest.mouseClick(bar.buttons["view_xy"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: camera.place != before)
    settle()
    window.commands.by_name["toolbar"].trigger()
    assert not bar.isVisible()
    assert window.settings.toolbar is False
    window.commands.by_name["toolbar"].trigger()
    assert bar.isVisible()
    assert QApplication.focusWidget() is None or not bar.isAncestorOf(QApplication.focusWidget())


@pytest.mark.slow
def test_buttons_leave_where_there_is_no_room_and_workspaces_stay(application, window, settle):
    bar = window.toolbar

    def shown(width, text_size=13):
        application.choose_text_size(text_size)
        window.resize(width, 800)
        settle()
        QApplication.processEvents()  # the bar is laid out in the next turn
        buttons = [button for button in bar.buttons.values() if button.isVisible()]
        assert max(button.geometry().right() for button in buttons) < bar.width()
        titles = [button.text() for button in buttons]
        assert titles[-4:] == ["Explore", "Analyse", "Compare", "Teach"]
        separators = [one for one in bar.actions() if one.isSeparator() and one.isVisible()]
        groups = [g for g in TOOLS if any(bar.buttons[name].isVisible() for name, _ in g)]
        assert len(separators) == len(groups) - 1
        return titles

    everything = shown(1400)
    assert {"xy", "Sphere", "Picture"} <= set(everything)
    assert "xy" not in (narrow := shown(1150))
    assert set(narrow) < set(everything)
    larger = shown(1280, 17)
    assert "Side" in larger
    assert "xy" not in larger
    assert shown(1280, 13) == shown(1400, 13) == everything
    shown(1150)
    assert window.commands.by_name["view_xy"].isVisible()  # in the menu


def test_a_hidden_toolbar_stays_hidden(window, workspaces, press):
    window.viewport.interactor.setFocus()
    press("F9", NONE)
    menu = window.createPopupMenu()
    next(one for one in menu.actions() if one.text() == "Toolbar").trigger()
    menu.deleteLater()
    assert not window.commands.by_name["toolbar"].isChecked()
    assert window.settings.toolbar is False
    press("F9", NONE)
    assert fronts(window) == SIDE
    assert not window.toolbar.isVisible()
    window.commands.by_name["toolbar"].trigger()
    assert window.toolbar.isVisible()


def test_every_panel_is_in_one_group():
    from gui.panels.table import GROUPS

    assert [entry.name for entries in GROUPS.values() for entry in entries] == list(PANELS)


@pytest.mark.slow
def test_a_panel_beside_the_curve_keeps_its_share_of_the_window(window, workspaces, settle, qtbot):
    def has(part):
        norms = window.docks["norms"]
        qtbot.waitUntil(lambda: abs(norms.width() / window.width() - part) < 0.02, timeout=5000)

    window.resize(1280, 800)
    window.commands.by_name["workspace_analyse"].trigger()
    settle()
    window.bring("norms")
    settle()
    has(0.5)
    for width in (1700, 1300, 1500):
        window.resize(width, 800)
        has(0.5)
    share(window, {window.docks["norms"]: 600}, Qt.Orientation.Horizontal)
    has(0.4)
    window.resize(1800, 800)
    has(0.4)
    window.session.notice = Notice("word " * 40, "Try again with another one.", "details")
    QApplication.processEvents()
    has(0.4)
    window.session.notice = None


def test_saved_workspaces_are_in_the_toolbar(window, workspaces, settle, qtbot):
    button = window.toolbar.own
    assert button.isHidden()
    workspaces.save_as("Mine & yours, with a long name")
    qtbot.waitUntil(button.isVisible)
    assert button.isChecked()
    assert button.text().startswith("Mine && your")
    workspaces.choose("explore")
    settle()
    assert not button.isChecked()
    entries = [action for action in button.menu().actions() if "with a long" in action.text()]
    entries[0].trigger()
    settle()
    assert workspaces.current.startswith("Mine")
    workspaces.delete()
    qtbot.waitUntil(button.isHidden)
    assert window.toolbar.sizeHint().width() <= window.toolbar.width()


def test_a_panel_floats_beside_its_place_within_the_screen_and_with_an_edge(
    window, workspaces, settle, qtbot
):
    dock = window.docks["inspector"]
    place = QRect(dock.mapToGlobal(QPoint(0, 0)), dock.size())
    QTest.mouseClick(button(dock, "↗"), Qt.MouseButton.LeftButton)
    settle()
    qtbot.waitUntil(dock.isFloating)
    assert dock.screen().availableGeometry().contains(dock.geometry())
    assert not dock.geometry().intersects(place)
    picture = dock.grab().toImage()
    assert picture.pixelColor(0, 20) == QColor(window.theme.muted)
    assert picture.pixelColor(3, 20) == QColor(window.theme.panel)


def test_a_restored_floating_panel_is_painted(window, workspaces, settle, qtbot):
    dock = window.docks["inspector"]
    dock.setFloating(True)
    settle()
    layout = workspaces.layout()
    dock.setFloating(False)
    apply_layout(window, layout)
    settle()
    assert dock.isFloating()
    assert dock.updatesEnabled()
