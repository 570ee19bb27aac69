"""The window's setup for a step of a lesson, with ranges as rules, valid for any model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, get_args

from msgspec import ValidationError, convert

from gui.state.camera import VIEWS
from gui.state.fields import Counting, Three, one_of
from gui.state.values import ColorBy, Fields, Outside, Quantity

Place = tuple[str, str]
"""A name, and the rule of a range or "" for the step's own."""
MIN_POSITIONS = 4
"""Ranges of fewer positions have no shape, so the next rule is used."""
_MAX_NAME_LENGTH = 30
_PLACE = r"(?:\d{1,9}%?|last(?:-\d{1,9})?)"
_RANGE = re.compile(rf"({_PLACE})-({_PLACE})")


class BadSetup(Exception):
    """A setup is invalid; the message is the end of a sentence.

    ``key`` is the faulty one; "" for the whole.
    """

    def __init__(self, why: str, key: str = "") -> None:
        super().__init__(why)
        self.key = key


@dataclass(frozen=True, slots=True)
class ConditionTerm:
    """A part of a condition: a name, its range, and whether it is negated."""

    name: str
    rule: str = ""
    negated: bool = False


Condition = tuple[ConditionTerm, ...]
"""Conjunction of terms."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of the window for a step."""

    positions: str = "1-last-1"  # The range by rule; a last position may never have been trained
    components: tuple[int, int, int] = (1, 2, 3)  # The three shown, from 1
    # Colouring of the curve.
    color_by: ColorBy = "position"
    color_component: int = 4
    outside: Outside = "hidden"  # Whether the other positions are shown
    select: tuple[str, ...] = ()  # Positions by rule: "0", "last", "50%"
    sphere: bool = False  # Whether the sphere of mean norm is shown
    camera: str = "article"
    prompt: str | None = None  # A text whose tokens label the positions; None to keep the user's
    norms: Quantity = "norm"  # Settings of the norms panel
    beside: str = "none"  # The panel below the lesson: "none", "inspector" or "prompt"
    panel: str = ""  # The panel in front under the viewport; "" for no change
    options: Fields = field(default_factory=lambda: MappingProxyType({}))  # Its choices
    needs: Condition = ()  # Features the model must have; otherwise the step is left out


def parse_setup(table: Fields, panels: Collection[str], features: Collection[str]) -> Setup:
    """Parse a setup from a TOML table.

    Raises BadSetup: a key or its value is invalid.
    """
    read: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KINDS:
            raise BadSetup(f"a setup has no option “{key}”{nearest(key, list(_KINDS))}", key)
        try:
            read[key] = _read(key, value, features)
        except BadSetup as error:
            raise BadSetup(f"“{key}”: {error}", key) from None
    setup = replace(Setup(), **read)
    if setup.panel and setup.panel not in panels:
        raise BadSetup(f"there is no panel “{setup.panel}”", "panel")
    if setup.options and not setup.panel:
        raise BadSetup("options without a panel", "options")
    return setup


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known names most similar to a wrong one, as the end of a sentence."""
    from difflib import get_close_matches  # only needed for an invalid file

    matches = get_close_matches(name[:_MAX_NAME_LENGTH], known, n=3, cutoff=0.0)
    return f"; it could be {' or '.join(matches)}"


def parse_condition(words: str) -> Condition:
    """Parse a condition such as "if tokens and not helix 100-last".

    Raises BadSetup: the condition is invalid.
    """
    terms = []
    for part in words.removeprefix("if").split(" and "):
        match = re.fullmatch(r"(not )?([a-z][a-z_]*)(?: (\S.*))?", part.strip())
        if match is None:
            raise BadSetup(f"“{words}” is not a condition, such as “if tokens and not helix”")
        if match[3]:
            check_rule(match[3])
        terms.append(ConditionTerm(match[2], match[3] or "", bool(match[1])))
    return tuple(terms)


def check_rule(rule: str) -> str:
    """Check the rule of a range and return it.

    Raises BadSetup: it is not a rule.
    """
    for part in rule.split(" or "):
        if _RANGE.fullmatch(part) is None:
            raise BadSetup(f"“{part}” is not a range, such as 1-last, 100-last or 20%-last")
    return rule


def range_of(rule: str, n_positions: int) -> tuple[int, int]:
    """Return the range that a rule gives for a table.

    Parameters
    ----------
    rule
        Ranges joined by "or": the first with at least :data:`MIN_POSITIONS` positions is used.

    Returns
    -------
    First and last position, inclusive; the whole table if no range is long enough.
    """
    for part in rule.split(" or "):
        match = _RANGE.fullmatch(part)
        assert match is not None
        first, last = position_of(match[1], n_positions), position_of(match[2], n_positions)
        if last - first + 1 >= MIN_POSITIONS:
            return first, last
    return 0, n_positions - 1


def position_of(place: str, n_positions: int) -> int:
    """Return the position of a table given by "0", "50%", "last" or "last-1", clipped."""
    last = n_positions - 1
    if place.startswith("last"):
        wanted = last - int(place[5:] or 0)
    elif place.endswith("%"):
        wanted = round(int(place[:-1]) / 100 * last)
    else:
        wanted = int(place)
    return min(max(wanted, 0), last)


# ---- keys --------------------------------------------------------------------------------


def _one_of(*known: str) -> tuple[Any, str]:
    return one_of(*known), f"“{{}}” is not one of {', '.join(known)}"


_TEXT = str, "should be a text"
_KINDS: Mapping[str, tuple[Any, str]] = {
    "positions": _TEXT,
    "components": (Three, "should be three components, which count from 1"),
    # A lesson has no table of the reader's.
    "color_by": _one_of(*(by for by in get_args(ColorBy) if by != "column")),
    "color_component": (Counting, "should be a component; they count from 1"),
    "outside": _one_of(*get_args(Outside)),
    "select": (int | str | tuple[int | str, ...], "should be a position or a list of them"),
    "sphere": (bool, "should be true or false"),
    "camera": _one_of(*VIEWS),
    "prompt": _TEXT,
    "norms": _one_of(*get_args(Quantity)),
    "beside": _one_of("none", "inspector", "prompt"),
    "panel": _TEXT,
    "options": (dict[str, Any], "should be a table"),
    "needs": _TEXT,
}
"""The types of the keys' values in TOML, and a sentence about other values."""


def _read(key: str, value: object, features: Collection[str]) -> object:
    """Return a field of :class:`Setup` from its value in TOML.

    Raises BadSetup: the value is invalid.
    """
    kind, wrong = _KINDS[key]
    try:
        read = convert(value, kind)
    except ValidationError:
        raise BadSetup(wrong.format(value)) from None
    if key == "positions":
        return check_rule(read)
    if key == "select":
        return tuple(map(_place, read if isinstance(read, tuple) else (read,)))
    return _needs(read, features) if key == "needs" else read


def _place(value: int | str) -> str:
    if re.fullmatch(_PLACE, str(value)) is None:
        raise BadSetup(f"“{value}” is not a position, such as 0, 50% or last")
    return str(value)


def _needs(words: str, features: Collection[str]) -> Condition:
    condition = parse_condition(words)
    for term in condition:
        if term.name not in features:
            raise BadSetup(f"a step can need {', '.join(features)}, and not “{term.name}”")
    return condition
