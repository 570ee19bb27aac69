"""The question of the lesson panel: the numbers in a step's text.

Those of effects are measured in another panel, when the user asks for it: they are part of the
question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from gui.services.effects import Effects
from gui.services.lessons.facts import CONDITIONS, holds, needs_effects, number, tensors_for
from gui.services.lessons.findings import Cost, Findings, LossEffects
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
        What was measured in the panel of effects, if facts are about it; None before.
    """

    wanted: tuple[Wanted, ...]
    effects: LossEffects | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_for([name for name, _ in self.wanted])

    def steps(self, about: QuestionContext) -> Iterator[Progress | Facts]:
        found: dict[Wanted, str | bool | None] = {}
        for name, positions in self.wanted:
            yield Progress(len(found) / len(self.wanted), "Computing the numbers of this step")
            findings = Findings(about, positions, self.effects)
            measure = holds if name in CONDITIONS else number
            found[name, positions] = measure(name, findings)
        yield MappingProxyType(found)


def facts_of(wanted: tuple[Wanted, ...], effects: LossEffects | None) -> FactsOf:
    """Return the question for some facts; without effects, if none is about these."""
    return FactsOf(wanted, effects if needs_effects(name for name, _ in wanted) else None)


def measured_effects(answer: Answer | None) -> LossEffects | None:
    """Return what the panel of effects has measured; None if that is nothing, or not a loss."""
    result = None if answer is None or answer.state != "ready" else answer.result
    if not isinstance(result, Effects) or result.baseline is None:
        return None
    costs = (
        Cost(name, one.delta, one.low, one.high, one.attention)
        for name, one in result.found.items()
        if not one.why
    )
    return LossEffects(result.baseline, tuple(costs))
