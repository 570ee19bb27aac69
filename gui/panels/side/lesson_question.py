"""The question of the lesson panel: the numbers in a step's text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from gui.services.lessons.facts import CONDITIONS, holds, number, tensors_for
from gui.services.lessons.findings import Findings
from gui.services.lessons.text import Facts, Wanted
from gui.services.questions import Progress, QuestionContext, Tensor


@dataclass(frozen=True, slots=True)
class FactsOf:
    """Facts about the open model.

    Attributes
    ----------
    wanted
        The wanted facts, without duplicates.
    """

    wanted: tuple[Wanted, ...]

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_for([name for name, _ in self.wanted])

    def steps(self, about: QuestionContext) -> Iterator[Progress | Facts]:
        found: dict[Wanted, str | bool | None] = {}
        for name, positions in self.wanted:
            yield Progress(len(found) / len(self.wanted), "Computing the numbers of this step")
            findings = Findings(about, positions)
            measure = holds if name in CONDITIONS else number
            found[name, positions] = measure(name, findings)
        yield MappingProxyType(found)
