"""The panel of lessons alone: what it says while numbers are not there, or cannot be."""

from types import MappingProxyType

import pytest
from PySide6.QtTest import QTest

from gui.services.lessons.reader import parse_lesson
from gui.services.lessons.text import wanted_for
from gui.side_panels.lesson import FactsOf, LessonPanel
from gui.state.answer import Answer
from gui.state.lessons import Course
from gui.state.session import Session
from gui.style.theme import DARK, LIGHT, SMALL
from gui.widgets.markdown_page import blocks
from gui.window.arrangement.docks import DOCKS
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import LEFT

TEXT = """+++
title = "A lesson"
+++

## A step
The norm is {norm_mean}, the *last* one {norm_last}.

[if helix] It is a helix.

[if not helix] It is none.

[if not tokens] There are no tokens.

The capture is {capture_end}.

### Try
LONG

## Another step
No numbers.
"""


@pytest.fixture
def panel(qtbot, model):
    lesson = parse_lesson(
        TEXT.replace("LONG", "Nothing at all. " * 40), "a.md", [dock.name for dock in DOCKS]
    )
    session = Session()
    session.lessons, session.model = (lesson,), model
    session.lesson = Course(lesson, lesson.steps)
    panel = put_on_screen(qtbot, LessonPanel(session, LIGHT), 320, 480)
    panel.heard = []
    panel.asked.connect(lambda question, fetch: panel.heard.append((question, fetch)))
    return panel


def answer(panel, state, **fields):
    question = FactsOf(wanted_for(panel.course.step, panel.session.model))
    answers = {**panel.session.answers, "lesson": Answer(question, state, **fields)}
    panel.session.answers = MappingProxyType(answers)


def facts(panel, **known):
    wanted = wanted_for(panel.course.step, panel.session.model)
    return MappingProxyType({one: known[one[0]] for one in wanted})


KNOWN = {
    "norm_mean": "2.50",
    "norm_last": "0.10",
    "helix": True,
    "tokens": False,
    "capture_end": None,
}


def test_dots_until_numbers_come(panel):
    text = panel.page.toPlainText()
    assert "The norm is …, the last one …." in text
    assert "helix" not in text
    assert "There are no tokens." in text  # that is known without any work
    answer(panel, "ready", result=facts(panel, **KNOWN))
    text = panel.page.toPlainText()
    assert "The norm is 2.50, the last one 0.10." in text
    assert "It is a helix." in text
    assert "It is none." not in text
    assert "capture" not in text  # the model has no such number
    answer(panel, "ready", result=facts(panel, **{**KNOWN, "helix": False}))
    assert "It is none." in panel.page.toPlainText()
    answer(panel, "ready", result=facts(panel, **{**KNOWN, "norm_last": "<s>*_x_*"}))
    assert "the last one <s>*_x_*." in panel.page.toPlainText()


def test_download_is_confirmed_and_failures_told(panel):
    answer(panel, "to fetch", bytes_to_fetch=154_000_000)
    assert "154\xa0MB from the Hub" in panel.note.text()
    assert "…" in panel.page.toPlainText()
    QTest.mouseClick(panel.fetch, LEFT)
    ((question, fetch),) = panel.heard
    assert fetch
    assert question.tensors() == (("W_E", 0),)
    answer(panel, "working")
    assert panel.fetch.isHidden()
    assert "Computing" in panel.note.text()
    answer(panel, "ready", result=facts(panel, **KNOWN))
    assert panel.note.isHidden()
    answer(panel, "impossible", why="There is no network.", retry=True)
    assert panel.note.text() == "Numbers not available: There is no network."
    assert panel.fetch.text() == "Try again"
    answer(panel, "impossible", why="It is gone.")
    assert panel.fetch.isHidden()


def test_a_step_without_numbers_asks_for_none(panel):
    answer(panel, "to fetch", bytes_to_fetch=1_000_000)
    course = panel.course
    panel.session.lesson = Course(course.lesson, course.steps, 1)
    assert panel.page.toPlainText().startswith("No numbers.")
    assert not panel.heard
    assert panel.note.isHidden()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_headings_are_small_and_everything_has_the_theme_s_colours(panel, theme):
    panel.set_theme(theme)
    for block in blocks(panel.page.document()):
        look = block.begin().fragment().charFormat()
        heading = block.text() == "TRY"
        assert look.foreground().color().name() == (theme.muted if heading else theme.text)
        if heading:
            assert look.font().pixelSize() == SMALL


def test_the_mouse_wheel_s_place_stays_when_numbers_come(panel):
    panel.resize(320, 240)
    bar = panel.page.verticalScrollBar()
    assert bar.maximum() > 0
    bar.setValue(20)
    answer(panel, "ready", result=facts(panel, **KNOWN))
    assert bar.value() == 20
    course = panel.course
    panel.session.lesson = Course(course.lesson, course.steps, 1)
    assert bar.value() == 0


def test_a_number_and_its_per_cent_stay_in_one_line(panel):
    panel.page.show_text({"": "They hold 91 % of it.", "look": "90 % of the draws."})
    raw = panel.page.document().toRawText()
    assert "91\N{NO-BREAK SPACE}% of" in raw
    assert "90\N{NO-BREAK SPACE}% of" in raw
