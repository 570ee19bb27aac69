"""Lessons in the window: beginning, going on, changing things, and having everything back."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QToolButton

from gui.services.effects import EffectsRun
from gui.window.lesson_player import SHIPPED
from gui.window.settings.settings import Settings
from tests.gui.lesson_stage import LEFT, LESSON, LessonStage

NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def own(settings):
    """The folder of the user's own lessons, with one in it."""
    settings.lessons.mkdir()
    (settings.lessons / "own.md").write_text(LESSON.format(title="Own"), "utf-8")
    return settings.lessons


def with_lessons(qtbot, application, monkeypatch, *folders):
    """The application, where the lessons of some folders are the only ones."""
    monkeypatch.setattr(application.window.lesson_player.lessons, "folders", folders)
    return LessonStage(qtbot, application)


@pytest.fixture
def stage(own, application, qtbot, monkeypatch):
    return with_lessons(qtbot, application, monkeypatch, own)


def state(stage):
    """All that a lesson gives back."""
    session, window = stage.session, stage.window
    look = ("components", "color_by", "color_component", "outside", "sphere", "prompt")
    fields = (*look, "norms_quantity", "norms_after", "positions", "selection", "snapshot")
    docks = {name: dock.isFloating() for name, dock in window.docks.items() if not dock.isHidden()}
    front = {
        name: window.docks[name].geometry() for name in window.built_panels if stage.in_front(name)
    }
    panels = window.results.chosen()
    return {name: getattr(session, name) for name in fields}, docks, front, panels


def begin_second(stage):
    stage.begin()
    stage.click(stage.panel.next)


def leave(stage):
    """Close the dock of the lesson, and wait for what comes back."""
    stage.window.docks["lesson"].close()
    stage.settle()


def change(stage):
    """Change what can be changed, as a user does."""
    window, session = stage.window, stage.session
    window.focus_on("similarity")
    window.docks["view"].close()
    stage.settle()
    controller = window.controller
    controller.request_positions(20, 150)
    session.components = (1, 3, 5)
    controller.color_by("component", 2)
    controller.select((30, 40))
    session.prompt = "my name"
    session.norms_after = 40
    for name, options in (("norms", {"bulk": True}), ("spectra", {"k": 9})):
        window.bring(name)
        window.built_panels[name].configure(**options)
    window.focus_on("similarity")
    viewport = window.viewport.interactor
    at = viewport.rect().center()
    QTest.mousePress(viewport, LEFT, NONE, at)
    QTest.mouseMove(viewport, at + QPoint(60, 25))
    QTest.mouseRelease(viewport, LEFT, NONE, at + QPoint(60, 25))
    stage.settle()


@pytest.mark.slow
def test_steps_set_up_the_window_and_answer(stage):
    stage.begin()
    session, panel = stage.session, stage.panel
    assert panel.title.text() == "First"
    assert panel.count.text() == "1 of 2"  # the third needs a history
    assert session.positions == (10, 50)
    assert "The norms of tiny-gpt2 are" in stage.text
    assert "Because" not in stage.text
    stage.click_text("Show an answer")
    assert "Because" in stage.text
    assert not panel.previous.isEnabled()
    assert not stage.window.docks["prompt"].isVisible()
    stage.click(panel.next)
    check_second(stage)
    assert not stage.window.built_panels.get("shape")
    stage.click_text("Shape")
    assert stage.in_front("shape")
    stage.click(panel.previous)
    assert "Because" not in stage.text
    assert (session.positions, session.components) == ((10, 50), (1, 2, 3))
    assert (session.color_by, session.outside, session.sphere) == ("position", "hidden", False)
    assert session.selection == ()
    assert (session.norms_quantity, session.prompt) == ("norm", "")
    assert stage.in_front("norms")


def check_second(stage):
    session, window = stage.session, stage.window
    assert session.positions == session.curve.pca.positions == (159, 199)
    assert session.components == session.curve.components == (2, 3, 4)
    assert (session.color_by, session.outside, session.sphere) == ("norm", "faint", True)
    assert session.selection == (0, 199)
    assert (session.norms_quantity, session.prompt) == ("step", "hello adam")
    assert stage.in_front("spectra")
    assert window.built_panels["spectra"].choices.k == 7
    assert stage.in_front("inspector")
    pose = window.viewport.camera.place.pose
    toward = pose.position - pose.focal_point
    np.testing.assert_allclose(toward / np.linalg.norm(toward), (0, 0, 1), atol=1e-6)
    assert "Positions 159 to 199." in stage.text
    assert stage.panel.next.text() == "Finish"


@pytest.mark.slow
def test_lesson_is_set_up_again_and_resumed(stage, write_table, helix, qtbot):
    begin_second(stage)
    change(stage)
    stage.window.docks["inspector"].close()
    assert stage.session.positions == (20, 150)
    stage.click(stage.panel.again)
    check_second(stage)
    leave(stage)
    assert stage.session.positions == (1, 199)
    stage.begin()
    check_second(stage)
    # Another model is set up as the step says, and keeps its range.
    stage.window.controller.open(str(write_table(helix(90, 16), "other")))
    qtbot.waitUntil(lambda: stage.session.model.name == "other")
    stage.settle()
    assert stage.session.positions == (49, 89)
    assert stage.session.lesson.number == 1
    assert "Positions 49 to 89." in stage.text
    leave(stage)
    assert (stage.session.positions, stage.session.components) == ((49, 89), (1, 2, 3))
    assert stage.session.prompt == ""


@pytest.mark.slow
def test_leaving_gives_the_window_back(stage):
    window, player = stage.window, stage.window.lesson_player

    def leave_twice():
        player.leave()
        player.leave()  # twice is once

    def click_cross():
        title = window.docks["lesson"].titleBarWidget()
        QTest.mouseClick(title.findChildren(QToolButton)[-1], LEFT)

    def finish():
        QTest.mouseClick(stage.panel.next, LEFT)

    change(stage)
    before, pose = state(stage), window.viewport.camera.place.pose
    for way in (click_cross, player.action.trigger, leave_twice, finish):
        stage.begin()
        if stage.session.lesson.number == 0:  # else it goes on where it was left
            stage.click(stage.panel.next)
        window.focus_on("capture")
        window.built_panels["capture"].configure(k=9)
        window.docks["models"].close()
        window.docks["positions"].setFloating(True)
        stage.settle()
        way()
        stage.settle()
        assert state(stage) == before
        after = window.viewport.camera.place.pose
        np.testing.assert_allclose(after.position, pose.position)
        np.testing.assert_allclose(after.focal_point, pose.focal_point)
        assert not window.docks["lesson"].isVisible()
        assert not window.commands.by_name["lesson_next"].isEnabled()


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "loading"])
def test_a_model_that_a_lesson_opened_is_closed_with_it(stage, qtbot, loaded):
    change(stage)
    model, before, pose = stage.session.model, state(stage), stage.window.viewport.camera.place.pose
    stage.begin()
    stage.panel.openRequested.emit("sample/inside/layer 1")
    if loaded:
        qtbot.waitUntil(lambda: stage.session.model is not model)
        stage.settle()
    leave(stage)
    assert stage.session.model is model
    assert state(stage) == before
    np.testing.assert_allclose(stage.window.viewport.camera.place.pose.position, pose.position)


@pytest.mark.slow
def test_what_is_added_in_a_lesson_stays_and_the_project_returns(stage, qtbot, tmp_path):
    session, comparing = stage.session, stage.window.controller.comparing
    session.work_file = str(tmp_path / "talk.helix")
    model = session.model
    stage.begin()
    stage.panel.openRequested.emit("sample/inside/layer 1")
    qtbot.waitUntil(lambda: session.model is not model)
    stage.settle()
    assert session.work_file == ""
    comparing.add_source("sinusoidal:64x16")
    qtbot.waitUntil(lambda: session.others[0].session.model is not None)
    leave(stage)
    assert session.model is model
    assert session.work_file == str(tmp_path / "talk.helix")
    assert [other.name for other in session.others] == ["sinusoidal-64x16"]
    stage.window.undo.undo()
    assert session.model is not model
    assert session.work_file == ""


@pytest.mark.slow
def test_choices_that_no_file_has_return_after_a_lesson(stage):
    for name in ("effects", "norms"):
        stage.window.bring(name)
    panel = stage.window.built_panels["effects"]
    panel._set_choices(replace(panel.choices, run=EffectsRun("/texts", 24, 4)))
    before = panel.choices
    stage.begin()
    panel.configure_lesson(change="top 1")
    assert panel.choices.run is None
    leave(stage)
    assert panel.choices == before


@pytest.mark.slow
def test_a_model_that_the_user_opened_stays_after_a_lesson(stage, qtbot):
    stage.begin()
    for source in ("sample/inside/layer 1", "sample"):
        if source == "sample":
            stage.window.controller.open(source)
        else:
            stage.panel.openRequested.emit(source)
        qtbot.waitUntil(lambda source=source: stage.session.model.source.text == source)
        stage.settle()
    leave(stage)
    assert stage.session.model.source.text == "sample"


@pytest.mark.slow
def test_a_step_begins_with_the_panel_s_initial_choices(stage):
    stage.window.bring("norms")
    stage.window.built_panels["norms"].configure(bulk=True)
    stage.begin()
    assert stage.in_front("norms")
    assert not stage.window.built_panels["norms"].choices.bulk
    leave(stage)
    assert stage.window.built_panels["norms"].choices.bulk


def test_keys_lead_through_a_lesson(stage):
    window, actions = stage.window, stage.window.commands.by_name
    assert not window.docks["lesson"].isVisible()
    assert "lesson" not in window.built_panels
    assert actions["lesson"].isEnabled()
    assert not actions["lesson_next"].isEnabled()
    assert not actions["lesson_previous"].isEnabled()
    assert not window.lesson_player.action.isChecked()
    stage.press(Qt.Key.Key_F8)
    assert stage.session.lesson is None
    stage.begin()
    for key, number in ((7, 0), (8, 1), (8, 1), (7, 0), (6, 0)):
        stage.press(getattr(Qt.Key, f"Key_F{key}"))
        assert stage.session.lesson.number == number
    stage.settle()
    assert window.lesson_player.on


@pytest.mark.slow
def test_dock_menu_begins_a_lesson(stage, qtbot):
    stage.window.docks["view"].close()
    stage.settle()
    before = state(stage)
    menu = stage.window.createPopupMenu()
    assert isinstance(menu, QMenu)
    (action,) = [action for action in menu.actions() if action.text() == "Lesson"]
    action.trigger()
    qtbot.waitUntil(lambda: stage.window.lesson_player.on)
    stage.settle()
    assert stage.panel.title.text() == "First"
    leave(stage)
    assert state(stage) == before
    menu.deleteLater()
    # What is reset meanwhile is what comes back.
    stage.begin()
    stage.window.commands.by_name["reset_layout"].trigger()
    stage.settle()
    assert stage.window.lesson_player.on
    assert stage.window.docks["lesson"].isVisible()
    assert stage.session.positions == (10, 50)
    leave(stage)
    assert stage.window.docks["view"].isVisible()
    assert stage.window.docks["prompt"].isVisible()
    assert stage.session.positions == (1, 199)


@pytest.mark.slow
def test_window_closed_in_a_lesson(own, settings, start_application, write_gpt2, qtbot):
    stage = LessonStage(qtbot, start_application(write_gpt2()))
    stage.session.prompt = "my name"
    begin_second(stage)
    stage.application.close()
    again = Settings(settings.lessons.parent / "settings.json").new_session()
    assert (again.prompt, again.outside) == ("my name", "hidden")
    window = start_application(stage.session.recent[0]).window
    assert not window.docks["lesson"].isVisible()
    assert window.docks["prompt"].isVisible()


@pytest.mark.slow
def test_lessons_of_ones_own_stand_beside_the_shipped_ones(own, application, qtbot, monkeypatch):
    (own / "bad.md").write_text(LESSON.format(title="Bad").replace("color_by", "colour"), "utf-8")
    stage = with_lessons(qtbot, application, monkeypatch, SHIPPED, own)
    stage.begin()
    choice, notice = stage.panel.choice, stage.session.notice
    assert choice.isVisible()
    shipped = ["The helix", "Norms and subspaces", "Positions inside the model, and what they do"]
    assert [choice.itemText(i) for i in range(choice.count())] == [*shipped, "Own"]
    assert notice.text.startswith(
        "The lesson bad.md cannot be read: line 21: a setup has no option “colo"
    )
    choice.setFocus()
    for title in ("The sum of two vectors", "A network without positions", "First"):
        QTest.keyClick(choice, Qt.Key.Key_Down)
        stage.settle()
        assert stage.panel.title.text() == title
    assert stage.session.positions == (10, 50)


@pytest.fixture
def two(own, stage):
    """Where there are two lessons."""
    (own / "z.md").write_text(LESSON.format(title="R&D").replace("## First", "## Other"), "utf-8")
    return stage


@pytest.mark.slow
def test_lesson_leads_to_the_next(two):
    two.begin()
    assert not two.panel.further.isVisible()
    two.click(two.panel.next)
    assert two.panel.next.text() == "Finish"
    assert two.panel.further.text() == "Next lesson: R&&D"
    two.click(two.panel.further)
    assert (two.panel.choice.currentText(), two.panel.title.text()) == ("R&D", "Other")
    two.click(two.panel.next)
    assert not two.panel.further.isVisible()  # this is the last one
    two.click(two.panel.previous)
    two.panel.choice.setFocus()
    QTest.keyClick(two.panel.choice, Qt.Key.Key_Up)
    two.settle()
    two.click(two.panel.next)
    two.click(two.panel.next)
    assert not two.window.lesson_player.on
    two.begin()
    assert two.panel.title.text() == "Other"
    leave(two)
    two.begin()
    assert two.panel.title.text() == "Other"  # a closed lesson goes on where it was left


LINES = 12


@pytest.mark.slow
def test_the_text_has_room_and_next_stays_in_place_with_bookmarks_open(stage, qtbot):
    window = stage.window
    window.resize(1280, 770)
    stage.press_keys("Ctrl+B")
    assert window.docks["bookmarks"].isVisible()
    stage.begin()
    assert not window.docks["bookmarks"].isVisible()
    place = stage.panel.next.mapTo(window, QPoint(0, 0))

    def lines():
        page = stage.panel.page
        return page.viewport().height() / (1.25 * page.fontMetrics().height())

    stage.click(stage.panel.next)
    assert window.docks["inspector"].isVisible()
    assert lines() >= LINES
    stage.press_keys("Ctrl+B")
    assert stage.in_front("bookmarks")
    qtbot.waitUntil(lambda: lines() >= LINES)
    assert stage.panel.next.mapTo(window, QPoint(0, 0)) == place
    stage.click(stage.panel.previous)
    assert stage.panel.next.mapTo(window, QPoint(0, 0)) == place
    assert lines() >= LINES
    leave(stage)
    assert window.docks["bookmarks"].isVisible()


def test_unknown_lesson_and_options(stage, own):
    (own / "own.md").unlink()
    stage.begin()
    assert "No lesson" in stage.text
    assert not stage.panel.next.isEnabled()
    leave(stage)
    (own / "own.md").write_text(LESSON.format(title="Own").replace("k = 7", "kk = 7"), "utf-8")
    begin_second(stage)
    assert stage.session.notice.text == (
        "The lesson own.md, line 17: the panel “spectra” does not support this step's options."
    )
    assert stage.panel.title.text() == "Second"


def hide_models(monkeypatch):
    """Let no model be on this machine."""
    for module in ("local_models", "locating"):
        monkeypatch.setattr(f"geometry.models.sources.{module}.locate", lambda *_: None)


@pytest.mark.slow
def test_lesson_on_the_bundled_model(own, start_application, monkeypatch, qtbot):
    with monkeypatch.context() as nothing_here:
        hide_models(nothing_here)
        application = start_application(None)
    stage = with_lessons(qtbot, application, monkeypatch, own)
    offer = stage.window.empty_state.lesson
    assert offer.isVisible()
    QTest.mouseClick(offer, LEFT)
    qtbot.waitUntil(lambda: stage.session.model is not None)
    stage.settle()
    assert stage.session.model.name == "sample"
    assert stage.session.positions == (10, 50)
    assert stage.panel.count.text() == "1 of 3"  # this one has a history


@pytest.mark.slow
def test_a_waiting_lesson_begins_with_the_model(
    own, start_application, monkeypatch, qtbot, write_gpt2
):
    hide_models(monkeypatch)
    stage = with_lessons(qtbot, start_application(None), monkeypatch, own)
    stage.begin()
    assert "works on the open model" in stage.text
    assert not stage.panel.next.isEnabled()
    stage.window.controller.open(str(write_gpt2()))
    qtbot.waitUntil(lambda: stage.session.model is not None)
    stage.settle()
    assert stage.session.positions == (10, 50)
    assert "The norms of tiny-gpt2 are" in stage.text
    assert stage.panel.count.text() == "1 of 2"


@pytest.mark.slow
def test_a_panel_that_is_dragged_off_stays_in_its_lesson(stage, qtbot):
    """It is hidden for a moment then; a layout that came back meanwhile was a crash of Qt's."""
    begin_second(stage)
    window, dock = stage.window, stage.window.docks["lesson"]
    title = dock.titleBarWidget()
    at = title.mapTo(window, QPoint(30, title.height() // 2))
    handle = window.windowHandle()
    QTest.mousePress(handle, LEFT, NONE, at)
    for step in range(1, 8):
        QTest.mouseMove(handle, at + QPoint(-20 * step, 15 * step))
    assert dock.isFloating()
    QTest.mouseRelease(handle, LEFT, NONE, at + QPoint(-140, 105))
    stage.settle()
    assert stage.window.lesson_player.on
    assert dock.isVisible()
    dock.setFloating(False)
    stage.settle()
    assert stage.window.lesson_player.on
    dock.close()
    stage.settle()
    assert not stage.window.lesson_player.on
