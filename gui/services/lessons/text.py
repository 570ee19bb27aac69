"""A lesson for the open model: its steps, their setups and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from geometry.checkpoints.plain_text import visible
from gui.services.lessons.facts import FEATURES
from gui.state.lesson_setup import Condition, ConditionTerm, Setup, range_of
from gui.state.lessons import PLACEHOLDER, SECTIONS, Lesson, Section, Step

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

Wanted = tuple[str, tuple[int, int]]
"""Name of a number or a condition, and its range of positions."""
Facts = Mapping[Wanted, str | bool | None]
"""Formatted numbers, None if the model has none; and values of conditions."""
UNKNOWN = "…"
"""Placeholder of a number that is not known yet."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def steps_for(lesson: Lesson, model: PositionalModel | None) -> tuple[Step, ...]:
    """Return the steps of a lesson whose features a model has; all steps without a model."""
    if model is None:
        return lesson.steps
    return tuple(step for step in lesson.steps if _has(model, setup_for(step, model).needs))


def setup_for(step: Step, model: PositionalModel) -> Setup:
    """Return a step's setup of the window for a model."""
    return next(setup for condition, setup in step.setups if _has(model, condition))


def _has(model: PositionalModel, condition: Condition) -> bool:
    return all(FEATURES[term.name](model) is not term.negated for term in condition)


def wanted_for(step: Step, model: PositionalModel) -> tuple[Wanted, ...]:
    """Return the facts in a step's text for a model, each once."""
    usual = setup_for(step, model).positions
    wanted: dict[Wanted, None] = {}
    for paragraph in step.paragraphs:
        for term in paragraph.condition:
            wanted[_wanted(term.name, term.rule or usual, model)] = None
        for name, rule in paragraph.placeholders:
            wanted[_wanted(name, rule or usual, model)] = None
    for name in _looked_up(setup_for(step, model)).values():
        wanted[_wanted(name, usual, model)] = None
    return tuple(wanted)


def options_for(setup: Setup, model: PositionalModel, facts: Facts | None) -> dict[str, object]:
    """Return the options of a step's panel, with known numbers of the model."""
    looked_up = _looked_up(setup)
    options = {key: value for key, value in setup.options.items() if key not in looked_up}
    for key, name in looked_up.items():
        value = None if facts is None else facts[_wanted(name, setup.positions, model)]
        if isinstance(value, str):
            options[key] = int(value)
    return options


def _looked_up(setup: Setup) -> dict[str, str]:
    """Return the options that are numbers of the model, with their names."""
    named = {key: PLACEHOLDER.fullmatch(str(value)) for key, value in setup.options.items()}
    return {key: match[1] for key, match in named.items() if match is not None}


def _wanted(name: str, rule: str, model: PositionalModel) -> Wanted:
    return name, range_of(rule, model.n_positions)


def text_for(step: Step, model: PositionalModel, facts: Facts | None) -> dict[Section, str]:
    """Return a step's text for a model, as Markdown by section.

    ``facts`` are values of :func:`wanted_for`. While they are None, numbers are replaced by dots,
    and conditional paragraphs are omitted.
    """
    usual = setup_for(step, model).positions
    paragraphs: dict[Section, list[str]] = {section: [] for section in SECTIONS}

    def holds(term: ConditionTerm) -> bool:
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
            paragraphs[paragraph.section].append(_filled(paragraph.text, numbers))
    return {section: "\n\n".join(texts) for section, texts in paragraphs.items() if texts}


def _filled(text: str, numbers: Mapping[tuple[str, str], object]) -> str:
    # A token may be "*" or "<s>", so inserted text is escaped.
    return PLACEHOLDER.sub(
        lambda match: _MARKUP.sub(r"\\\1", visible(str(numbers[match[1], match[2] or ""]))), text
    )
