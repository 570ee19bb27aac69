"""The shipped lessons, step by step on real models: the window is as each of them says."""

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt

from gui.services.lessons.text import setup_for
from gui.state.camera import VIEWS
from gui.state.lesson_setup import position_of, range_of
from tests.gui.lesson_stage import TIMEOUT_MS, LessonStage

MODELS = ("sample", "gpt2", "minilm", "clip-size")
STEPS = {"sample": 12, "gpt2": 11, "minilm": 11, "clip-size": 10}
SAID = {
    "sample": ("512 vectors", "of its training to step"),
    "gpt2": (
        "1 024 vectors", "gpt2 has one, too. The best helix explains 91 %", "they hold 95 %",
        "3.38 on average, and vary by 3 %", "stand out: 0 and 1023", "98 % of it",
        "together 58 numbers of 768", "This file has no vectors of words", "the one 50 before it",
        "has 12, counted from 0", "Head 7 looks most",
    ),
    "minilm": (
        "384 numbers", "The three hold 36 %", "it is less clear", "0, 127, 510 and 511",
        "The places live where the words are not", "turns by 114°", "Head 2 looks most",
    ),
    "clip-size": ("77 vectors", "Here these are 15–76"),
}  # fmt: skip


@pytest.fixture
def source(request, gpt2_folder, minilm_folder, write_table, helix):
    given = {"sample": "sample", "gpt2": gpt2_folder, "minilm": minilm_folder}
    return given.get(request.param) or write_table(helix(77, 32), "clip-size")


@pytest.mark.parametrize(
    ("source", "name"), [(name, name) for name in MODELS], ids=MODELS, indirect=["source"]
)
def test_every_step_sets_up_what_it_says(source, name, show_model, qtbot):
    stage = LessonStage(qtbot, show_model(source))
    stage.begin()
    course = stage.session.lesson
    assert len(course.steps) == STEPS[name]
    said = ""
    for number, step in enumerate(course.steps):
        assert stage.panel.title.text() == step.title
        assert stage.panel.count.text() == f"{number + 1} of {STEPS[name]}"
        check_window(stage, setup_for(step, stage.session.model))
        check_text(stage, step)
        said += stage.text.replace("\N{THIN SPACE}", " ") + "\n"
        if number + 1 == len(course.steps):  # what was begun ends before the test does
            qtbot.waitUntil(lambda: stage.application.idle, timeout=4 * TIMEOUT_MS)
        stage.click(stage.panel.next)
    for words in SAID[name]:
        assert words in said
    assert not stage.window.lesson_player.on  # the last button leaves


def check_window(stage, setup):
    session, window = stage.session, stage.window
    n = session.model.n_positions
    assert session.positions == session.curve.pca.positions == range_of(setup.positions, n)
    for name in ("components", "color_by", "outside", "sphere"):
        assert getattr(session, name) == getattr(setup, name)
    assert session.norms_quantity == setup.norms
    assert session.selection == tuple(position_of(place, n) for place in setup.select)
    assert session.prompt == (setup.prompt or "")
    assert session.notice is None
    for name in ("inspector", "prompt"):
        assert window.docks[name].isVisible() is (name == setup.beside)
    assert stage.in_front(setup.panel)
    pose = window.viewport.camera.place.pose
    toward = pose.position - pose.focal_point
    expected = np.array(VIEWS[setup.camera][0])
    np.testing.assert_allclose(toward / np.linalg.norm(toward), expected, atol=1e-3)
    assert window.viewport.camera.well_framed()


def check_text(stage, step):
    """All numbers are there, and nothing of how the text was written."""
    text = stage.text
    assert not re.search(r"[{}…]|\[if|\*\*|\]\(", text)
    assert "Show an answer" in text
    stage.click_text("Show an answer")
    assert "AN ANSWER" in stage.text
    assert len(stage.text) > len(text)
    assert step.title
    assert stage.panel.note.isHidden()
    assert stage.panel.fetch.isHidden()


def test_options_that_are_numbers_of_the_model_reach_the_panels(gpt2_folder, show_model, qtbot):
    stage = LessonStage(qtbot, show_model(gpt2_folder))
    stage.begin()
    while stage.session.lesson.step.title != "Looking back":
        stage.press(Qt.Key.Key_F8)
    stage.settle()
    lookback = stage.window._panels["lookback"]
    qtbot.waitUntil(lambda: lookback.result is not None)
    assert "N = 50" in lookback.header.caption.text()
    stage.press(Qt.Key.Key_F8)
    stage.settle()
    kernels = stage.window._panels["kernels"]
    qtbot.waitUntil(lambda: kernels.result is not None)
    assert "head 7" in kernels.header.caption.text()
