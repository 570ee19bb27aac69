"""The available lessons, and the user's place in one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gui.state.values import Notice

if TYPE_CHECKING:
    from gui.state.lessons import Lesson
    from gui.state.session import Session

log = logging.getLogger(__name__)


class Lessons:
    """Writes ``session.lessons`` and ``session.lesson``.

    ``panels`` are the names of those that a step may show.
    """

    def __init__(self, session: Session, folders: Sequence[Path], panels: Collection[str]) -> None:
        self.folders = folders
        self._session, self._panels = session, panels

    def read(self) -> None:
        """Read all lessons."""
        from gui.services.lessons.reader import find_lessons

        lessons, errors = find_lessons(self.folders, self._panels)
        for error in errors:
            log.warning("%s", error)
        if errors:
            more = f"{len(errors) - 1} more cannot be read." if len(errors) > 1 else ""
            self._session.notice = Notice(str(errors[0]), more, "\n".join(map(str, errors)))
        self._session.lessons = lessons

    def go_on(self, file: str = "") -> bool:
        """Continue in the lesson of a file, or in the last one; otherwise start the first one.

        Returns False if there are no lessons.
        """
        lessons, last = self._session.lessons, self._session.lesson
        left = "" if last is None else last.lesson.file
        same = [lesson for lesson in lessons if lesson.file == (file or left)]
        if same:
            self.go(same[0], last.step.line if last is not None and same[0].file == left else 0)
        elif lessons:
            self.go(lessons[0])
        return bool(lessons)

    def go(self, lesson: Lesson, line: int = 0) -> None:
        """Go to a lesson's step that begins at a line of its file, or the next one."""
        from gui.services.lessons.text import steps_for
        from gui.state.lessons import Course

        steps = steps_for(lesson, self._session.model)
        later = [number for number, step in enumerate(steps) if step.line >= line]
        number = later[0] if later else max(len(steps) - 1, 0)
        self._session.lesson = Course(lesson, steps, number)

    def finish(self) -> None:
        """Begin the lesson after the current one, for when lessons are opened again."""
        course = self._session.lesson
        following = None if course is None else course.following(self._session.lessons)
        if following is not None:
            self.go(following)

    def step(self, steps: int) -> bool:
        """Go some steps forward, or back, within the lesson; False if there is no such step."""
        course = self._session.lesson
        if course is None or not 0 <= course.number + steps < len(course.steps):
            return False
        self._session.lesson = replace(course, number=course.number + steps)
        return True
