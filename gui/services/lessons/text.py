"""A lesson about the open model: which steps it has, how each is set up, and what its text says.

Knows no toolkit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gui.services.lessons.facts import FEATURES
from gui.state.lesson_setup import Condition, Setup, Term, range_of
from gui.state.lessons import PLACEHOLDER, SECTIONS, Lesson, Section, Step

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

Wanted = tuple[str, tuple[int, int]]
"""The name of a number or a condition, and the range of positions that it is about."""
Facts = Mapping[Wanted, str | bool | None]
"""Numbers in words, None where the model has none; and whether conditions hold."""
UNKNOWN = "…"
"""In place of a number that is not known yet."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


def steps_for(lesson: Lesson, model: PositionalModel | None) -> tuple[Step, ...]:
    """Return the steps of a lesson that a model has what it takes for; all without a model."""
    if model is None:
        return lesson.steps
    return tuple(step for step in lesson.steps if _has(model, setup_for(step, model).needs))


def setup_for(step: Step, model: PositionalModel) -> Setup:
    """Return how a step sets the window up for a model."""
    return next(setup for condition, setup in step.setups if _has(model, condition))


def _has(model: PositionalModel, condition: Condition) -> bool:
    return all(FEATURES[term.name](model) is not term.negated for term in condition)


def wanted_for(step: Step, model: PositionalModel) -> tuple[Wanted, ...]:
    """Return the facts that a step's text needs of a model, each once."""
    usual = setup_for(step, model).positions
    found: dict[Wanted, None] = {}
    for paragraph in step.paragraphs:
        for term in paragraph.condition:
            found[_wanted(term.name, term.rule or usual, model)] = None
        for name, rule in paragraph.placeholders:
            found[_wanted(name, rule or usual, model)] = None
    for name in _looked_up(setup_for(step, model)).values():
        found[_wanted(name, usual, model)] = None
    return tuple(found)


def options_for(setup: Setup, model: PositionalModel, facts: Facts | None) -> dict[str, object]:
    """Return what a step's panel shows, numbers of the model among it as far as they are known."""
    looked_up = _looked_up(setup)
    options = {key: value for key, value in setup.options.items() if key not in looked_up}
    for key, name in looked_up.items():
        value = None if facts is None else facts[_wanted(name, setup.positions, model)]
        if isinstance(value, str):
            options[key] = int(value)
    return options


def _looked_up(setup: Setup) -> dict[str, str]:
    """Return which of the options are a number of the model, and which number."""
    named = {key: PLACEHOLDER.fullmatch(str(value)) for key, value in setup.options.items()}
    return {key: found[1] for key, found in named.items() if found is not None}


def _wanted(name: str, rule: str, model: PositionalModel) -> Wanted:
    return name, range_of(rule, model.n_positions)


def text_for(step: Step, model: PositionalModel, facts: Facts | None) -> dict[Section, str]:
    """Return what a step says of a model, as Markdown by section.

    Parameters
    ----------
    step, model
        Which step, of what.
    facts
        Answers to :func:`wanted_for`; None while they are not known: then there are dots in place
        of numbers, and only what depends on no condition is said.
    """
    usual = setup_for(step, model).positions
    said: dict[Section, list[str]] = {section: [] for section in SECTIONS}

    def holds(term: Term) -> bool:
        if term.name in FEATURES:
            return FEATURES[term.name](model) is not term.negated
        if facts is None:
            return False
        return bool(facts[_wanted(term.name, term.rule or usual, model)]) is not term.negated

    for paragraph in step.paragraphs:
        if not all(holds(term) for term in paragraph.condition):
            continue
        numbers = {
            place: UNKNOWN if facts is None else facts[_wanted(place[0], place[1] or usual, model)]
            for place in paragraph.placeholders
        }
        if None not in numbers.values():
            said[paragraph.section].append(_filled(paragraph.text, numbers))
    return {section: "\n\n".join(texts) for section, texts in said.items() if texts}


def _filled(text: str, numbers: Mapping[tuple[str, str], object]) -> str:
    # A token may be "*" or "<s>": what is put in is no Markdown.
    return PLACEHOLDER.sub(
        lambda found: _MARKUP.sub(r"\\\1", str(numbers[found[1], found[2] or ""])), text
    )
