"""The shipped lessons: their texts on real models, and the window as each of their steps says."""

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt

from geometry.models.sources import open_source
from gui.panels.side.lesson_question import FactsOf
from gui.services.lessons.course import Lessons
from gui.services.lessons.text import setup_for, steps_for, text_for, wanted_for
from gui.services.questions import QuestionContext, resolve
from gui.state.camera import VIEWS
from gui.state.lesson_setup import position_of, range_of
from gui.state.session import Session
from gui.window.docks import DOCKS
from gui.window.lesson_player import SHIPPED
from tests.gui.lesson_stage import TIMEOUT_MS, LessonStage

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


def said_by(step, model, about):
    """The text of a step about a model, in one line."""
    facts = resolve(FactsOf(wanted_for(step, model)), about)
    parts = text_for(step, model, facts)
    assert "answer" in parts
    said = " ".join("\n".join(parts.values()).replace("*", "").replace("\\", "").split())
    assert not re.search(r"[{}…]|\[if", said)
    return said


@pytest.mark.parametrize("name", STEPS)
def test_every_step_has_its_numbers(name, gpt2_folder, minilm_folder, write_table, helix):
    source = {"sample": "sample", "gpt2": gpt2_folder, "minilm": minilm_folder}.get(name)
    model = open_source(source or write_table(helix(77, 32), "clip-size"))
    session = Session()
    Lessons(session, [SHIPPED], [dock.name for dock in DOCKS]).read()
    steps, about = steps_for(session.lessons[0], model), QuestionContext(model)
    assert len(steps) == STEPS[name]
    said = " ".join(said_by(step, model, about) for step in steps)
    for words in SAID[name]:
        assert words in said


def test_every_step_sets_up_what_it_says(show_model, qtbot):
    stage = LessonStage(qtbot, show_model("sample"))
    stage.begin()
    course = stage.session.lesson
    for number, step in enumerate(course.steps):
        assert stage.panel.title.text() == step.title
        assert stage.panel.count.text() == f"{number + 1} of {STEPS['sample']}"
        check_window(stage, setup_for(step, stage.session.model))
        check_text(stage, step)
        if number + 1 == len(course.steps):  # what was begun ends before the test does
            qtbot.waitUntil(lambda: stage.application.idle, timeout=4 * TIMEOUT_MS)
        stage.click(stage.panel.next)
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
    titles = [step.title for step in stage.session.lesson.steps]
    stage.window.lesson_player.go_on(titles.index("Looking back"))
    stage.settle()
    lookback = stage.window._panels["lookback"]
    qtbot.waitUntil(lambda: lookback.result is not None)
    assert "N = 50" in lookback.header.caption.text()
    stage.press(Qt.Key.Key_F8)
    stage.settle()
    kernels = stage.window._panels["kernels"]
    qtbot.waitUntil(lambda: kernels.result is not None)
    assert "head 7" in kernels.header.caption.text()
