"""Lessons: short steps, each of which says how the window is set up for it. Knows no toolkit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from gui.state.lesson_setup import Condition, Place, Setup

PANEL_LINK = "panel"
"""The scheme of links that lead to a panel: [Norms](panel:norms)."""
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
        Under which heading it stands; "" before the first.
    condition
        When it is shown.
    """

    text: str
    section: Section
    condition: Condition

    @property
    def placeholders(self) -> tuple[Place, ...]:
        """Names of the numbers in it, each with its range or ""."""
        return tuple((name, rule) for name, rule in PLACEHOLDER.findall(self.text))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lesson.

    Attributes
    ----------
    title
        What it is about.
    setups
        How it sets the window up, each with when: the first that holds counts.
    paragraphs
        What it says.
    line
        Where in its file it begins, from 1.
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
        What it is called, and one sentence about it.
    steps
        In their order, at least one.
    file
        The name of its file.
    """

    title: str
    about: str
    steps: tuple[Step, ...]
    file: str


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """Where somebody is in a lesson.

    Attributes
    ----------
    lesson
        Which one.
    steps
        Those of its steps that the open model has what it takes for.
    number
        Which of these is shown, from 0.
    """

    lesson: Lesson
    steps: tuple[Step, ...]
    number: int = 0

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self.steps[self.number]
