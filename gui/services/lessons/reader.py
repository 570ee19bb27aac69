"""Parser of lessons in Markdown; the format is described in ``resources/lessons/README.md``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.stores import open_regular
from geometry.models.sources.source import Source
from gui.services.lessons.facts import CONDITIONS, FEATURES, NUMBERS
from gui.state.lesson_setup import (
    BadSetup,
    Condition,
    Setup,
    check_rule,
    nearest,
    parse_condition,
    parse_setup,
)
from gui.state.lessons import (
    OPEN_LINK,
    PANEL_LINK,
    PLACEHOLDER,
    SECTIONS,
    Lesson,
    Paragraph,
    Section,
    Step,
)

FENCE, README = "+++", "README.md"
_CONDITION = re.compile(r"\[(if [^\]]*)\] ")
# Bounded, so that many unfinished links do not take quadratic time.
_LINK = re.compile(rf"\]\(({PANEL_LINK}|{OPEN_LINK}):([^)]{{0,100}})\)")
_SETUP = re.compile(r"```setup\s*(if .*)?$")


MAX_LESSON = 200_000
"""Maximum size of a lesson in bytes: ten times the longest bundled one."""


class LessonError(HelixscopeError):
    """A lesson cannot be read; the message is one sentence with its file and line."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"The lesson {file} cannot be read: line {line}: {why}.")


def find_lessons(
    folders: Sequence[Path], panels: Collection[str]
) -> tuple[tuple[Lesson, ...], tuple[HelixscopeError, ...]]:
    """Read all lessons of some folders.

    Parameters
    ----------
    folders
        Folders; missing ones are skipped.
    panels
        Names of the panels that a step may show.

    Returns
    -------
    lessons
        By folder, then by file name, without README.md.
    errors
        The errors of the invalid lessons.
    """
    lessons: list[Lesson] = []
    errors: list[HelixscopeError] = []
    for folder in folders:
        for path in sorted(folder.glob("*.md")):
            if path.name == README:
                continue
            try:
                lessons.append(read_lesson(path, panels))
            except HelixscopeError as error:
                errors.append(error)
    return tuple(lessons), tuple(errors)


def read_lesson(path: Path, panels: Collection[str]) -> Lesson:
    """Read a lesson.

    Raises HelixscopeError: it does not have the format of a lesson, or is damaged.
    """
    try:
        with open_regular(path) as file:
            content = file.read(MAX_LESSON + 1)
        if len(content) > MAX_LESSON:
            raise LessonError(path.name, 1, f"it is longer than {MAX_LESSON} bytes")
        # With uniform line ends, as in Python's text mode.
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise LessonError(path.name, line, "it is not UTF-8") from None
    except OSError as error:
        raise LessonError(path.name, 1, error.strerror or "it cannot be opened") from None
    except SourceError:
        raise LessonError(path.name, 1, "it is not a file") from None
    with reading(f"The lesson {path.name}", "Correct it, or remove it."):
        return parse_lesson(text, path.name, panels)


def parse_lesson(text: str, file: str, panels: Collection[str]) -> Lesson:
    """Parse a lesson.

    Parameters
    ----------
    panels
        Names of the panels that a step may show.

    Raises
    ------
    LessonError
        It does not have the format of a lesson.
    """
    lines = text.splitlines()
    front, body = _front(lines, file)
    starts = [i for i in range(body, len(lines)) if lines[i].startswith("## ")]
    for number in range(body, starts[0] if starts else len(lines)):
        if lines[number].strip():
            raise LessonError(file, number + 1, "there is text before the first step (## Title)")
    if not starts:
        raise LessonError(file, max(len(lines), 1), "it has no step (## Title)")
    ends = [*starts[1:], len(lines)]
    steps = tuple(
        _Reader(lines, file, panels).step(start, end)
        for start, end in zip(starts, ends, strict=True)
    )
    return Lesson(front["title"], front.get("about", ""), steps, file)


def _front(lines: list[str], file: str) -> tuple[dict[str, str], int]:
    """Return the values between the +++ lines, and the line after them."""
    if not lines or lines[0].strip() != FENCE:
        raise LessonError(file, 1, f"it should begin with a line {FENCE}")
    end = next((i for i in range(1, len(lines)) if lines[i].strip() == FENCE), None)
    if end is None:
        raise LessonError(file, 1, f"a second line {FENCE} is missing")
    front = _toml(lines[1:end], file, 1)
    for key, value in front.items():
        line = _line_of(key, lines[1:end]) + 2
        if key not in ("title", "about"):
            raise LessonError(file, line, f"“{key}” is not allowed here, only “title” and “about”")
        if not isinstance(value, str) or not value.strip():
            raise LessonError(file, line, f"“{key}” should be a text")
    if "title" not in front:
        raise LessonError(file, 1, "it has no “title”")
    return cast(dict[str, str], front), end + 1


def _toml(lines: list[str], file: str, before: int) -> dict[str, object]:
    """Parse TOML that follows ``before`` lines of the file."""
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(.*?) \(at (?:line (\d+)|end)", str(error))
        why, line = (match[1], match[2]) if match else (str(error), None)
        number = before + (int(line) if line else max(len(lines), 1))
        raise LessonError(file, number, why[:1].lower() + why[1:]) from None


def _line_of(key: str, lines: list[str]) -> int:
    """Return the index of the line that sets a key."""
    pattern = re.compile(rf'\s*"?{re.escape(key)}"?\s*[=.]|\s*\[{re.escape(key)}\]')
    return next((i for i, line in enumerate(lines) if pattern.match(line)), 0)


class _Reader:
    """Parser of the steps of one file."""

    def __init__(self, lines: list[str], file: str, panels: Collection[str]) -> None:
        self._lines, self._file, self._panels = lines, file, panels

    def step(self, start: int, end: int) -> Step:
        title = self._lines[start].removeprefix("## ").strip()
        if not title:
            raise self._error(start, "the step has no title")
        setups: list[tuple[Condition, Setup]] = []
        paragraphs: list[Paragraph] = []
        section: Section = ""
        for number, block in self._blocks(start + 1, end):
            if block[0].startswith("```"):
                setups.append(self._setup(number, block))
            elif block[0].startswith("### "):
                section = self._section(number, block)
            else:
                paragraphs.append(self._paragraph(number, block, section))
        if not paragraphs:
            raise self._error(start, "the step is empty")
        if not setups or setups[-1][0]:
            setups.append(((), Setup()))
        return Step(title, tuple(setups), tuple(paragraphs), start + 1)

    def _error(self, number: int, why: str) -> LessonError:
        return LessonError(self._file, number + 1, why)

    def _blocks(self, start: int, end: int) -> Iterator[tuple[int, list[str]]]:
        """Yield paragraphs, whole fences and headings, each with its first line."""
        number = start
        while number < end:
            line = self._lines[number].rstrip()
            first = number
            number += 1
            if not line:
                continue
            if line.startswith("```"):
                while number < end and self._lines[number].rstrip() != "```":
                    number += 1
                if number == end:
                    raise self._error(first, "the block is not closed by ```")
                number += 1
            elif not line.startswith("### "):
                while number < end and not self._ends(self._lines[number]):
                    number += 1
            yield first, [text.rstrip() for text in self._lines[first:number]]

    @staticmethod
    def _ends(line: str) -> bool:
        return not line.strip() or line.startswith(("```", "### "))

    def _setup(self, number: int, block: list[str]) -> tuple[Condition, Setup]:
        opening = _SETUP.match(block[0])
        if opening is None:
            raise self._error(number, "a step may only contain ```setup blocks")
        condition = self._condition(number, opening[1] or "", FEATURES)
        lines = block[1:-1]
        try:
            setup = parse_setup(_toml(lines, self._file, number + 1), self._panels, FEATURES)
        except BadSetup as error:
            line = number + 1 + _line_of(error.key, lines)
            raise self._error(line, str(error)) from None
        for key, value in setup.options.items():
            match = PLACEHOLDER.fullmatch(str(value))
            if match is not None and match[1] not in NUMBERS:
                line = number + 1 + (_line_of(key, lines) or _line_of("options", lines))
                raise self._error(line, f"there is no {{{match[1]}}}")
        return condition, setup

    def _section(self, number: int, block: list[str]) -> Section:
        name = block[0].removeprefix("### ").strip().lower()
        if name not in SECTIONS[1:]:
            known = ", ".join(section.capitalize() for section in SECTIONS[1:])
            raise self._error(number, f"a step's headings are {known}, and not “{block[0][4:]}”")
        return name

    def _paragraph(self, number: int, block: list[str], section: Section) -> Paragraph:
        text = "\n".join(block)
        condition: Condition = ()
        if match := _CONDITION.match(text):
            condition, text = self._condition(number, match[1]), text[match.end() :]
        paragraph = Paragraph(text, section, condition)
        for name, rule in paragraph.placeholders:
            if name not in NUMBERS:
                raise self._error(
                    self._where(number, block, f"{{{name}"), f"there is no {{{name}}}"
                )
            self._check_range(self._where(number, block, f"{{{name}"), rule)
        for kind, target in _LINK.findall(text):
            line = self._where(number, block, f"]({kind}:{target}")
            if kind == PANEL_LINK and target not in self._panels:
                raise self._error(line, f"there is no panel “{target}”")
            if kind == OPEN_LINK and Source.parse(unquote(target)).kind != "bundled":
                raise self._error(
                    line,
                    f"a link can open what is bundled, such as sample, not “{target}”",
                )
        return paragraph

    @staticmethod
    def _where(number: int, block: list[str], text: str) -> int:
        return number + next(i for i, line in enumerate(block) if text in line)

    def _condition(self, number: int, words: str, known: Collection[str] = CONDITIONS) -> Condition:
        if not words:
            return ()
        try:
            condition = parse_condition(words)
        except BadSetup as error:
            raise self._error(number, str(error)) from None
        for term in condition:
            if term.name not in known:
                some = nearest(term.name, sorted(known))
                raise self._error(number, f"there is no condition “{term.name}”{some}")
        return condition

    def _check_range(self, number: int, rule: str) -> None:
        try:
            if rule:
                check_rule(rule)
        except BadSetup as error:
            raise self._error(number, str(error)) from None
