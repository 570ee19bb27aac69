"""Lessons: short steps, each with a setup of the window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from gui.state.lesson_setup import Condition, Place, Setup

PANEL_LINK = "panel"
"""Scheme of links to a panel: [Norms](panel:norms)."""
PLACEHOLDER = re.compile(r"\{([a-z][a-z_0-9]*)(?: ([^{}]+))?\}")
Section = Literal["", "look", "try", "question", "answer"]
SECTIONS: tuple[Section, ...] = get_args(Section)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a step.

    Attributes
    ----------
    text
        Markdown, with placeholders in braces.
    section
        Its heading; "" before the first.
    condition
        Condition for showing it.
    """

    text: str
    section: Section
    condition: Condition

    @property
    def placeholders(self) -> tuple[Place, ...]:
        """Names of its numbers, each with its range or ""."""
        return tuple((name, rule) for name, rule in PLACEHOLDER.findall(self.text))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lesson.

    Attributes
    ----------
    title
        Its title.
    setups
        Setups with conditions; the first whose condition holds is used.
    paragraphs
        Its text.
    line
        Its first line in the file, from 1.
    """

    title: str
    setups: tuple[tuple[Condition, Setup], ...]
    paragraphs: tuple[Paragraph, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson.

    Attributes
    ----------
    title, about
        Its title, and one sentence about it.
    steps
        Its steps in order, at least one.
    file
        The name of its file.
    """

    title: str
    about: str
    steps: tuple[Step, ...]
    file: str


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """The user's place in a lesson.

    Attributes
    ----------
    lesson
        The lesson.
    steps
        Its steps that the open model has the features for.
    number
        Index of the shown step, from 0.
    """

    lesson: Lesson
    steps: tuple[Step, ...]
    number: int = 0

    @property
    def step(self) -> Step:
        """The shown step."""
        return self.steps[self.number]
