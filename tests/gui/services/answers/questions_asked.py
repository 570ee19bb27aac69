"""Questions for the tests of answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gui.services.questions import Progress, QuestionContext

ANSWERED: list[Any] = []


@dataclass(frozen=True, slots=True)
class Double:
    """Twice a number; notes that it was answered."""

    number: int

    def answer(self, about: QuestionContext) -> int:
        ANSWERED.append(self.number)
        return 2 * self.number


@dataclass(frozen=True, slots=True)
class Slow:
    """A sum in steps."""

    n: int

    def steps(self, about: QuestionContext) -> Iterator[Progress | int]:
        total = 0
        for i in range(self.n):
            yield Progress(i / self.n, f"Step {i + 1}")
            ANSWERED.append(i)
            total += i
        yield total
