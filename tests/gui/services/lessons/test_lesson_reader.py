"""Lessons as files: what is read, and what is said of those that cannot be."""

from pathlib import Path

import pytest

from gui.services.lessons.facts import CONDITIONS, FEATURES, NUMBERS
from gui.services.lessons.reader import LessonError, find_lessons, parse_lesson
from gui.state.lesson_setup import ConditionTerm, Setup, position_of, range_of
from gui.window.docks import DOCKS
from gui.window.lesson_player import SHIPPED

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
        ("title =", "titel =", 2, "no “titel”"),
        ('title = "Shapes"', "title = 3", 2, "“title” should be a text"),
        ('title = "Shapes"\n', "", 1, "no “title”"),
        ("+++\n\n## One", "\n\n## One", 1, "a second line +++ is missing"),
        ("+++\ntitle", "title", 1, "begin with a line +++"),
        ("## One", "Hello.\n\n## One", 6, "text before the first step"),
        ("## One", "## ", 6, "no title"),
        ("k = 12 }", "k = }", 10, "invalid value"),
        ('panel = "capture"', 'panel = "captur"', 9, "no panel “captur”"),
        ('panel = "norms"', "panel = 3", 16, "“panel”: should be a text"),
        ('panel = "norms"', 'pannel = "norms"', 16, "no “pannel”"),
        ("100-last or", "100..last or", 14, "“100..last” is no range"),
        ('[0, "last"]', "[true]", 15, "is no position"),
        ('[0, "last"]', '["first"]', 15, "“first” is no position"),
        ('select = [0, "last"]', 'camera = "above"', 15, "“above” is none of article"),
        ('select = [0, "last"]', "components = [1, 2]", 15, "three components"),
        ('select = [0, "last"]', "components = [0, 1, 2]", 15, "count from 1"),
        ('select = [0, "last"]', "sphere = 1", 15, "true or false"),
        ('select = [0, "last"]', 'needs = "helix"', 15, "a step can need"),
        ("{ k = 12 }", '{ k = "{turnz}" }', 10, "no {turnz}"),
        ("if tokens\n", "if helix\n", 8, "no condition “helix”"),
        ("```setup if tokens", "```python", 8, "no blocks but"),
        ("{turns}", "{turnz}", 22, "no {turnz}"),
        ("{variance 1-last}", "{variance 1:last}", 19, "“1:last” is no range"),
        ("(panel:norms)", "(panel:norm)", 20, "no panel “norm”"),
        ("[if helix", "[if helicks", 22, "no condition “helicks”"),
        ("[if helix 1-last and", "[if helix 1-last, and", 22, "is no range"),
        ("### Question", "### Task", 24, "and not “Task”"),
        ("## Two\nWords.\n", "## Two\n", 30, "says nothing"),
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


@pytest.mark.parametrize(("text", "line"), [("", 1), (TEXT[: TEXT.index("## One")], 5)])
def test_a_file_without_steps_is_none(text, line):
    with pytest.raises(LessonError, match=f"line {line}:"):
        read(text)


def test_a_block_that_is_not_closed_is_found():
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


def test_shipped_lessons_can_be_read_and_name_only_what_there_is():
    lessons, errors = find_lessons((SHIPPED,), PANELS)
    assert not errors
    assert lessons[0].title == "The helix"
    assert 8 <= len(lessons[0].steps) <= 12


def test_all_that_lessons_can_say_is_written_down():
    told = (SHIPPED / "README.md").read_text("utf-8")
    for name in (*NUMBERS, *CONDITIONS):
        assert f"`{name}`" in told
    for fact in NUMBERS.values():
        assert fact.meaning in told
    for key in Setup.__dataclass_fields__:
        assert f"`{key}`" in told
    assert set(FEATURES) <= CONDITIONS
