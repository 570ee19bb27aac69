"""What can be chosen in panels, as it is in a file of saved work. Knows no toolkit.

Each panel of results tells its choices by :meth:`gui.panels.result_panel.ResultPanel.options` and
takes them again by its ``configure``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from geometry.measures.directions import Side
from geometry.measures.interference import MEASURES
from geometry.models.residual_stream import NAMES, Subject
from gui.panels import kit
from gui.panels.interference_question import Example
from gui.panels.overlaps_look import GREY, MAX_BLUR
from gui.panels.table import PANELS
from gui.state.work import flag, whole
from gui.style.theme import COLORMAPS

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

Check = Callable[[Any], bool]
Options = Mapping[str, Any]

_MOST = 2**31 - 1
"""Of any whole number: more fits into no field."""
_LONGEST = 10_000
"""Characters of a token, and numbers in a list: more is nobody's choice."""


def subject_of(said: Subject | Mapping[str, Any]) -> Subject:
    """Return a matrix that is told by its fields."""
    return said if isinstance(said, Subject) else Subject(**said)


# ---- what each may be --------------------------------------------------------------------


def _one_of(*allowed: str) -> Check:
    return lambda value: isinstance(value, str) and value in allowed


def _from(least: int) -> Check:
    return lambda value: whole(value, least) and value <= _MOST


def _none_or(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check, least: int = 0, most: int = _LONGEST) -> Check:
    return lambda value: (
        isinstance(value, list) and least <= len(value) <= most and all(map(check, value))
    )


def _fields(**checks: Check) -> Check:
    """All of these fields and no others."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == checks.keys()
        and all(check(value[name]) for name, check in checks.items())
    )


def _number(value: Any, most: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0.0 <= value <= most


def _sum(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and len(value[0]) <= _LONGEST
        and whole(value[1])
    )


_subject = _fields(
    name=_one_of(*NAMES),
    layer=_from(0),
    head=_none_or(_from(0)),
    side=_none_or(_one_of(*get_args(Side))),
    fold_ln=flag,
    centred=flag,
)
CHOICES: Mapping[str, Mapping[str, Check]] = {
    "overlaps": {
        "view": _one_of("pair", "attention", "mlp"),
        "rows": _subject,
        "columns": _subject,
        "look": _fields(
            blur=lambda value: _number(value, MAX_BLUR),
            colormap=_one_of(GREY, *COLORMAPS),
            log=flag,
        ),
    },
    "layernorm": {
        "page": _one_of("errors", "interference"),
        "version": _one_of("orthogonal", "constant_norm"),
        "measure": _one_of(*MEASURES),
        "example": _one_of(*get_args(Example)),
        "sums": _list_of(_sum, 2, 2),
    },
}  # fmt: skip
"""Of each panel, by its dock's name, what is saved, and which values each may have."""


def usable(panel: str, options: Options, model: PositionalModel) -> dict[str, Any]:
    """Return the choices in a file that make sense for a panel, and that a model has."""
    if panel in PANELS:
        return kit.usable(PANELS[panel].spec, options, model)
    checks = CHOICES.get(panel, {})
    known = {name: value for name, value in options.items() if name in checks}
    return fitting({name: value for name, value in known.items() if checks[name](value)}, model)


def fitting(options: Options, model: PositionalModel) -> dict[str, Any]:
    """Return choices but for those of layers and heads that a model lacks."""
    layers, heads = model.n_layers or 1, model.n_heads or 0

    def fits(name: str, value: Any) -> bool:
        if name == "layer":
            return bool(value < layers)
        if name == "head":
            return value is None or value < heads
        if isinstance(value, list):
            return all(fits("", one) for one in value)
        if isinstance(value, dict):
            return all(fits(key, one) for key, one in value.items())
        return True

    return {name: value for name, value in options.items() if fits(name, value)}
