"""Lessons: what is read of a file and said of a bad one, and the shipped ones on real models."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from geometry.claims.claims import CLAIMS
from geometry.models.residual_stream import Subject
from geometry.models.sources.opening import open_model
from gui.services.lessons.course import Lessons
from gui.services.lessons.facts import CLAIM, CONDITIONS, FEATURES, NUMBERS, holds
from gui.services.lessons.findings import Findings
from gui.services.lessons.reader import LessonError, find_lessons, parse_lesson
from gui.services.lessons.text import setup_for, steps_for, text_for, wanted_for
from gui.services.questions import QuestionContext, resolve
from gui.side_panels.lesson import FactsOf
from gui.state.camera import view_axes
from gui.state.lesson_setup import ConditionTerm, Setup, position_of, range_of
from gui.state.session import Session
from gui.style.verdicts import worth
from gui.window.arrangement.docks import DOCKS
from gui.window.lesson_player import SHIPPED
from tests.gui.lesson_stage import TIMEOUT_MS, LessonStage

PANELS = tuple(dock.name for dock in DOCKS)
TEXT = """+++
title = "Shapes"
about = "A few words."
+++

## One

```setup if tokens
panel = "capture"
options = { k = 12 }
```

```setup
positions = "100-last or 20%-last"
select = [0, "last"]
panel = "norms"
```

They hold {variance}, and before {variance 1-last}.
See [Norms](panel:norms).

[if helix 1-last and not tokens] With {turns} turns.

### Question
Why?

### Answer
Because.

## Two
Words.
"""


def read(text: str = TEXT):
    return parse_lesson(text, "shapes.md", PANELS)


def test_a_lesson_is_read():
    lesson = read()
    assert (lesson.title, lesson.about, lesson.file) == ("Shapes", "A few words.", "shapes.md")
    one, two = lesson.steps
    assert [one.title, two.title] == ["One", "Two"]
    assert [one.line, two.line] == [6, 30]
    (condition, first), (usual, second) = one.setups
    assert condition == (ConditionTerm("tokens"),)
    assert (first.panel, dict(first.options)) == ("capture", {"k": 12})
    assert usual == ()
    assert second.positions == "100-last or 20%-last"
    assert second.select == ("0", "last")
    assert [p.section for p in one.paragraphs] == ["", "", "question", "answer"]
    assert one.paragraphs[0].placeholders == (("variance", ""), ("variance", "1-last"))
    assert one.paragraphs[1].condition == (
        ConditionTerm("helix", "1-last"),
        ConditionTerm("tokens", negated=True),
    )
    assert one.paragraphs[1].text == "With {turns} turns."
    assert two.setups == (((), Setup()),)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"Shapes"', '"Shapes', 2, "illegal character"),
        ("title =", "titel =", 2, "“titel” is not allowed here"),
        ('title = "Shapes"', "title = 3", 2, "“title” should be a text"),
        ('title = "Shapes"\n', "", 1, "no “title”"),
        ("+++\n\n## One", "\n\n## One", 1, "a second line +++ is missing"),
        ("+++\ntitle", "title", 1, "begin with a line +++"),
        ("## One", "Hello.\n\n## One", 6, "text before the first step"),
        ("## One", "## ", 6, "no title"),
        ("k = 12 }", "k = }", 10, "invalid value"),
        ('panel = "capture"', 'panel = "captur"', 9, "no panel “captur”"),
        ('panel = "norms"', "panel = 3", 16, "“panel”: should be a text"),
        ('panel = "norms"', 'pannel = "norms"', 16, "no option “pannel”"),
        ("100-last or", "100..last or", 14, "“100..last” is not a range"),
        ('[0, "last"]', "[true]", 15, "should be a position or a list of them"),
        ('[0, "last"]', '["first"]', 15, "“first” is not a position"),
        ('select = [0, "last"]', 'camera = "above"', 15, "“above” is not one of side, article"),
        ('select = [0, "last"]', "components = [1, 2]", 15, "three components"),
        ('select = [0, "last"]', "components = [0, 1, 2]", 15, "count from 1"),
        ('select = [0, "last"]', "sphere = 1", 15, "true or false"),
        ('select = [0, "last"]', 'needs = "helix"', 15, "a step can need"),
        ("{ k = 12 }", '{ k = "{turnz}" }', 10, "no {turnz}"),
        ("if tokens\n", "if helix\n", 8, "no condition “helix”"),
        ("```setup if tokens", "```python", 8, "may only contain"),
        ("{turns}", "{turnz}", 22, "no {turnz}"),
        ("{variance 1-last}", "{variance 1:last}", 19, "“1:last” is not a range"),
        ("(panel:norms)", "(panel:norm)", 20, "no panel “norm”"),
        (
            "(panel:norms)",
            "(open:gpt2)",
            20,
            "can open what is bundled, such as sample, not “gpt2”",
        ),
        ("[if helix", "[if helicks", 22, "no condition “helicks”"),
        ("[if helix 1-last and", "[if helix 1-last, and", 22, "is not a range"),
        ("### Question", "### Task", 24, "and not “Task”"),
        ("## Two\nWords.\n", "## Two\n", 30, "step is empty"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(old, new, line, says):
    assert TEXT.count(old) == 1
    with pytest.raises(LessonError) as caught:
        read(TEXT.replace(old, new))
    said = str(caught.value)
    assert said.startswith(f"The lesson shapes.md cannot be read: line {line}: ")
    assert says in said
    assert "\n" not in said
    assert said.endswith(".")


def test_files_without_steps_or_unclosed_blocks():
    for text, line in (("", 1), (TEXT[: TEXT.index("## One")], 5)):
        with pytest.raises(LessonError, match=f"line {line}:"):
            read(text)
    with pytest.raises(LessonError, match="line 32: the block is not closed"):
        read(TEXT + "```setup\npanel = 'norms'\n")


def test_folders_are_searched_in_order_and_bad_files_harm_no_other(tmp_path: Path):
    mine, others = tmp_path / "mine", tmp_path / "others"
    mine.mkdir()
    others.mkdir()
    (mine / "b.md").write_text(TEXT.replace("Shapes", "B"), "utf-8")
    (mine / "a.md").write_text(TEXT.replace("Shapes", "A"), "utf-8")
    (mine / "README.md").write_text("How to write them.", "utf-8")
    (mine / "notes.txt").write_text("Nothing.", "utf-8")
    (others / "bad.md").write_bytes(b"+++\ntitle = 'x'\n\xff\n")
    (others / "folder.md").mkdir()
    (others / "good.md").write_text(TEXT, "utf-8")
    lessons, errors = find_lessons((mine, tmp_path / "absent", others), PANELS)
    assert [lesson.title for lesson in lessons] == ["A", "B", "Shapes"]
    assert [str(error).split(": ")[0] for error in errors] == [
        "The lesson bad.md cannot be read", "The lesson folder.md cannot be read",
    ]  # fmt: skip
    assert "line 3: it is not UTF-8" in str(errors[0])


@pytest.mark.parametrize(
    ("rule", "n", "expected"),
    [
        ("1-last", 512, (1, 511)),
        ("0-last", 4, (0, 3)),
        ("1-99", 60, (1, 59)),
        ("100-last or 20%-last", 1024, (100, 1023)),
        ("100-last or 20%-last", 103, (20, 102)),
        ("100-last", 103, (0, 102)),
        ("last-9-last", 512, (502, 511)),
        ("50%-last-1", 101, (50, 99)),
        ("20-10", 64, (0, 63)),
        ("1-last", 2, (0, 1)),
    ],
)
def test_ranges_by_rule(rule, n, expected):
    assert range_of(rule, n) == expected


@pytest.mark.parametrize(
    ("place", "expected"), [("0", 0), ("last", 63), ("last-3", 60), ("50%", 32), ("900", 63)]
)
def test_positions_by_rule(place, expected):
    assert position_of(place, 64) == expected


def test_shipped_lessons_are_read_and_documented():
    lessons, errors = find_lessons((SHIPPED,), PANELS)
    assert not errors
    assert [lesson.title for lesson in lessons] == [
        "The helix", "Norms and subspaces", "Positions inside the model, and what they do",
    ]  # fmt: skip
    assert [8 <= len(lesson.steps) <= 14 for lesson in lessons] == [True, True, True]
    told = (SHIPPED / "README.md").read_text("utf-8")
    facts = {name: fact for name, fact in NUMBERS.items() if not name.startswith(CLAIM)}
    for name in (*facts, *CONDITIONS):
        assert f"`{name}`" in told
    for fact in facts.values():
        assert fact.meaning in told
    assert len(NUMBERS) - len(facts) > 40
    for key in Setup.__dataclass_fields__:
        assert f"`{key}`" in told
    assert set(FEATURES) <= CONDITIONS


STEPS = (
    {"sample": 12, "gpt2": 11, "minilm": 11, "clip-size": 10},
    {"sample": 14, "gpt2": 11, "minilm": 14, "clip-size": 10},
    {"sample": 12, "gpt2": 12, "minilm": 12, "clip-size": 12},
)
SAID = ({
    "sample": (
        "256 vectors", "sample has one, too.", "the best helix, which may drift, explains 95 %",
        "Claim: how evenly the curve turns", "1.111, expected at least 1: ✓ holds.",
        "stand out: 0 and 255", "48 snapshots of P, from step 0 to step 5 127",
    ),
    "gpt2": (
        "1 024 vectors", "gpt2 has one, too.", "the best helix, which may drift, explains 91 %",
        "they explain 95 %",
        "average 3.38, with a standard deviation of 3 %", "stand out: 0 and 1023", "98 % of it",
        "together, 58 entries of 768", "This file has no token vectors",
        "the position 50 before it",
        "has 12, counted from 0", "Head 7 attends most",
        "Claim: R² for N = 50", "≈ holds, as for any smooth curve.",
        "0.976, expected at least 0.9: ✓ holds. 90 % of 399 random rotations: 0.2",
    ),
    "minilm": (
        "384 numbers", "The three components explain 37 %", "has no clear helix",
        "0, 127, 510 and 511", "The positions occupy directions that tokens hardly use",
        "turns by 114°", "Head 2 attends most",
        "Claim: how evenly the curve turns", "✗ does not hold.",
        "little difference: three components explain",
    ),
    "clip-size": ("77 vectors", "here 15–75"),
}, {
    "sample": (
        "two sums, each of a token and a position", "these are outliers: 0 and 255",
        "So here their mean is not the reason", "main finding, and it holds here",
        "Queries have 2.81, keys 2.87, values 0.035", "It is still there: 2.81 before, 2.73 after",
        "So this is a finding about GPT-2",
    ),
    "gpt2": (
        "has no token vectors here", "3.38 on average", "deviation of 3 % of that",
        "The earlier norms vary more: by 8 %", "these are outliers: 0 and 1023",
        "4 directions contain 90 %", "30 contain 99.9 %",
        "The article’s main finding is about tokens",
        "Queries have 1.65, keys 2.76, values 0.003", "3.8 times as much as by chance",
        "It is gone: from 1.65 to 0.00. LayerNorm’s gain is 3.1 times as large",
        "58 entries of 768 stand out",
    ),
    "minilm": (
        "0, 127, 510 and 511", "There are also some in the middle", "a typical cosine is 0.05",
        "Most at position 510: by 15 %", "The tokens need 263 for 90 %",
        "positions capture 48 %; without their mean, 16 %", "It is still there: 1.96",
        "with those of tokens 0.9 times as much as by chance",
        "and with those of positions 1.4 times",
        "In all-MiniLM-L6-v2 this is not so", "the position is recovered in 100 % of the cases",
        "almost nothing is lost in the sum",
    ),
    "clip-size": (
        "The sum has 32 numbers", "The plots show the strongest directions of the positions",
    ),
}, {
    "sample": (
        "Press Measure in the panel: texts run", "That is no finding. The rows were kept",
        "This was helped in training, too", "[Open its layers](open:sample/inside)",
    ),
    "gpt2": ("In the bundled model they are enough", "[Open its layers](open:sample/inside)"),
    "minilm": ("In the bundled model they are enough", "[Open its layers](open:sample/inside)"),
    "clip-size": ("In the bundled model they are enough", "[Open its layers](open:sample/inside)"),
})  # fmt: skip


def said_by(step, model, about):
    """The text of a step about a model, in one line."""
    facts = resolve(FactsOf(wanted_for(step, model)), about)
    parts = text_for(step, model, facts)
    assert "answer" in parts
    said = " ".join("\n".join(parts.values()).replace("*", "").replace("\\", "").split())
    assert not re.search(r"[{}…]|\[if", said)
    return said


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS[0])
def test_every_step_has_its_numbers(name, gpt2_folder, minilm_folder, write_table, helix):
    source = {"sample": "sample", "gpt2": gpt2_folder, "minilm": minilm_folder}.get(name)
    model = open_model(source or write_table(helix(77, 32), "clip-size"))
    session = Session()
    Lessons(session, [SHIPPED], [dock.name for dock in DOCKS]).read()
    about = QuestionContext(model)
    for lesson, count, expected in zip(session.lessons, STEPS, SAID, strict=True):
        steps = steps_for(lesson, model)
        assert len(steps) == count[name]
        said = " ".join(said_by(step, model, about) for step in steps)
        for words in expected[name]:
            assert words in said


BY_NAME = {
    "sample": {"apart"},
    "gpt2": {"steady", "sparse", "gain_hides", "writes"},
    "minilm": {"steady", "apart", "mean_first"},
}
"""Conditions by which the second lesson tells what it saw in three models, besides those of all."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_second_lesson_numbers_are_right(name, gpt2_folder, minilm_folder):
    source = {"sample": "sample", "gpt2": gpt2_folder, "minilm": minilm_folder}[name]
    model = open_model(source)
    found = Findings(QuestionContext(model), (1, model.n_positions - 1))
    conditions = set().union(*BY_NAME.values())
    assert {one for one in conditions if holds(one, found)} == BY_NAME[name]
    assert holds("readers", found)
    assert holds("values_apart", found)
    by_chance = set()
    if name != "sample":
        by_chance |= {"norms.stable"}
    for claim in (one for one in CLAIMS if one.id in by_chance):
        assert "≈ holds, as " in worth(found.verdict(claim))
    (squares,) = (one for one in CLAIMS if one.id == "layernorm.sum_of_squares")
    if name != "gpt2":
        outcome = "✓ holds" if name == "sample" else "↓ worse than chance"
        assert outcome in worth(found.verdict(squares))


@pytest.mark.slow
@pytest.mark.parametrize(
    "lesson", [0, 1, 2], ids=["the helix", "norms and subspaces", "positions inside"]
)
def test_every_step_sets_up_what_it_says(lesson, show_model, qtbot):
    stage = LessonStage(qtbot, show_model("sample"))
    stage.begin()
    for _ in range(lesson):
        stage.panel.choice.setFocus()
        QTest.keyClick(stage.panel.choice, Qt.Key.Key_Down)
        stage.settle()
    course, place = stage.session.lesson, None
    for number, step in enumerate(course.steps):
        assert stage.panel.title.text() == step.title
        assert stage.panel.count.text() == f"{number + 1} of {STEPS[lesson]['sample']}"
        check_window(stage, setup_for(step, stage.session.model))
        check_text(stage, step)
        place = place or place_of(stage.panel.next)
        assert place_of(stage.panel.next) == place  # "Next" stays where it is
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
    shown = window.built_panels[setup.panel].choices if setup.options else None
    for key, value in setup.options.items():
        if not str(value).startswith("{"):
            assert plain(getattr(shown, key)) == value
    pose = window.viewport.camera.place.pose
    toward = pose.position - pose.focal_point
    shown = window.viewport.scene.state.displayed_range
    expected, _ = view_axes(setup.camera, shown, session.turn)
    np.testing.assert_allclose(toward / np.linalg.norm(toward), expected, atol=1e-3)
    assert window.viewport.camera.well_framed()


def plain(value):
    """A panel's choice as a lesson writes it: matrices by their names."""
    if isinstance(value, Subject):
        return value.name
    return [plain(one) for one in value] if isinstance(value, tuple) else value


def place_of(button):
    return button.mapToGlobal(QPoint(0, 0)), button.size()


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


@pytest.mark.slow
def test_options_that_are_numbers_of_the_model_reach_the_panels(gpt2_folder, show_model, qtbot):
    stage = LessonStage(qtbot, show_model(gpt2_folder))
    stage.begin()
    titles = [step.title for step in stage.session.lesson.steps]
    stage.window.lesson_player.go_on(titles.index("Looking back"))
    stage.settle()
    lookback = stage.window.built_panels["lookback"]
    qtbot.waitUntil(lambda: lookback.result is not None)
    assert "N = 50" in lookback.header.caption.text()
    stage.press(Qt.Key.Key_F8)
    stage.settle()
    kernels = stage.window.built_panels["kernels"]
    qtbot.waitUntil(lambda: kernels.result is not None)
    assert "head 7" in kernels.header.caption.text()


@pytest.mark.parametrize(
    "text",
    [
        "+++\ntitle = " + "[" * 20_000 + "\n+++\n\n## One\nWords.\n",
        "+++\ntitle = " + "9" * 5_000 + "\n+++\n\n## One\nWords.\n",
        TEXT.replace("1-last}", "9" * 5_000 + "-last}"),
        TEXT + "x" * 200_000,
        TEXT.replace("title", "x" * 1_000),
        "\x00" * 100,
    ],
)
def test_a_lesson_of_any_text_is_one_short_sentence(text, tmp_path):
    (tmp_path / "shapes.md").write_text(text)
    (tmp_path / "sound.md").write_text(TEXT)
    lessons, (error,) = find_lessons([tmp_path], PANELS)
    assert [lesson.file for lesson in lessons] == ["sound.md"]
    assert str(error).startswith("The lesson shapes.md ")
    assert len(str(error)) <= 200


@pytest.mark.skipif(os.name == "nt", reason="has no pipes")
def test_a_pipe_among_the_lessons_is_left_out(tmp_path):
    os.mkfifo(tmp_path / "shapes.md")
    assert "it is not a file" in str(find_lessons([tmp_path], PANELS)[1][0])


def test_beginnings_of_links_take_no_time_to_the_square():
    assert len(read(TEXT + "\n" + "](panel:" * 20_000).steps) == 2
