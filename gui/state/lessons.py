"""Lessons: short steps, each with a setup of the window."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gui.state.lesson_setup import Condition, Place, Setup

PANEL_LINK = "panel"
"""Scheme of links to a panel: [Norms](panel:norms)."""
OPEN_LINK = "open"
"""Scheme of links that open bundled sources: [layer 1](open:sample/inside/layer%201)."""
PLACEHOLDER = re.compile(r"\{([a-z][a-z_0-9]*)(?: ([^{}]+))?\}")
Section = Literal["", "look", "try", "question", "answer"]
SECTIONS: tuple[Section, ...] = get_args(Section)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a step."""

    text: str  # Markdown, with placeholders in braces
    section: Section  # Its heading; "" before the first
    condition: Condition  # Condition for showing it

    @property
    def placeholders(self) -> tuple[Place, ...]:
        """Names of its numbers, each with its range or ""."""
        return tuple((name, rule) for name, rule in PLACEHOLDER.findall(self.text))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lesson."""

    title: str
    # Setups with conditions; the first whose condition holds is used.
    setups: tuple[tuple[Condition, Setup], ...]
    paragraphs: tuple[Paragraph, ...]
    line: int  # Its first line in the file, from 1


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson."""

    # Its title, and one sentence about it.
    title: str
    about: str
    steps: tuple[Step, ...]
    file: str  # The name of its file


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """The user's place in a lesson."""

    lesson: Lesson
    steps: tuple[Step, ...]  # Its steps that the open model has the features for
    number: int = 0  # Index of the shown step, from 0

    @property
    def step(self) -> Step:
        """The shown step."""
        return self.steps[self.number]

    @property
    def at_end(self) -> bool:
        """Whether the shown step is the last one."""
        return self.number + 1 == len(self.steps)

    def following(self, lessons: Sequence[Lesson]) -> Lesson | None:
        """Return the lesson after this one; None for the last one."""
        later = lessons.index(self.lesson) + 1
        return lessons[later] if later < len(lessons) else None
