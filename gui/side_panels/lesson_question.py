"""The question of the lesson panel: the numbers in a step's text.

Effects are measured in another panel, on request of the user, so they are part of the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from geometry.inside.intervene import Effects
from gui.services.effects import EffectsResult
from gui.services.lessons.facts import CONDITIONS, holds, needs_effects, number, tensors_for
from gui.services.lessons.findings import Findings
from gui.services.lessons.text import Facts, Wanted
from gui.services.questions import Progress, QuestionContext, Tensor
from gui.state.answer import Answer

EFFECTS = "effects"
"""Slot of the panel of effects."""


@dataclass(frozen=True, slots=True)
class FactsOf:
    """Facts about the open model.

    Attributes
    ----------
    wanted
        The wanted facts, without duplicates.
    effects
        Results of the panel of effects, if facts need them; None before they are measured.
    """

    wanted: tuple[Wanted, ...]
    effects: Effects | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_for([name for name, _ in self.wanted])

    def steps(self, context: QuestionContext) -> Iterator[Progress | Facts]:
        facts: dict[Wanted, str | bool | None] = {}
        for name, positions in self.wanted:
            yield Progress(len(facts) / len(self.wanted), "Computing the numbers of this step")
            findings = Findings(context, positions, self.effects)
            measure = holds if name in CONDITIONS else number
            facts[name, positions] = measure(name, findings)
        yield MappingProxyType(facts)


def facts_of(wanted: tuple[Wanted, ...], effects: Effects | None) -> FactsOf:
    """Return the question for some facts; without effects, if none is about these."""
    return FactsOf(wanted, effects if needs_effects(name for name, _ in wanted) else None)


def measured_effects(answer: Answer | None) -> Effects | None:
    """Return what the panel of effects has measured; None if that is nothing, or not a loss."""
    result = None if answer is None or answer.state != "ready" else answer.result
    if not isinstance(result, EffectsResult) or result.effects.baseline is None:
        return None
    return result.effects
