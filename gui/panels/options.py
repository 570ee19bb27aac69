"""What can be chosen in panels, as it is in a file of saved work. Knows no toolkit.

Each panel of results tells its choices by :meth:`gui.panels.result_panel.ResultPanel.options` and
takes them again by its ``configure``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from geometry.measures.interference import MEASURES
from gui.panels import kit
from gui.panels.interference_question import Example
from gui.panels.table import PANELS
from gui.state.work import whole

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

Check = Callable[[Any], bool]
Options = Mapping[str, Any]

_MOST = 2**31 - 1
"""Of any whole number: more fits into no field."""
_LONGEST = 10_000
"""Characters of a token, and numbers in a list: more is nobody's choice."""


# ---- what each may be --------------------------------------------------------------------


def _one_of(*allowed: str) -> Check:
    return lambda value: isinstance(value, str) and value in allowed


def _from(least: int) -> Check:
    return lambda value: whole(value, least) and value <= _MOST


def _list_of(check: Check, least: int = 0, most: int = _LONGEST) -> Check:
    return lambda value: (
        isinstance(value, list) and least <= len(value) <= most and all(map(check, value))
    )


def _sum(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and len(value[0]) <= _LONGEST
        and whole(value[1])
    )


CHOICES: Mapping[str, Mapping[str, Check]] = {
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
        return True

    return {name: value for name, value in options.items() if fits(name, value)}
