"""The five outcomes of a claim: a word, a mark and a colour for each."""

from geometry.evidence.null import Null, Outcome
from gui.style.theme import Theme

SHORT: dict[Outcome, str] = {
    "holds": "holds",
    "as any smooth curve": "as any smooth curve",
    "does not hold": "does not hold",
    "not applicable": "not applicable",
    "cannot tell": "undetermined",
}
"""Texts of table cells."""
SIGNS: dict[Outcome, str] = {
    "holds": "✓",
    "as any smooth curve": "≈",
    "does not hold": "✗",
    "not applicable": "–",
    "cannot tell": "?",
}
"""Marks, which do not depend on colour."""

_CURVES = ("process", "matern", "walk", "band", "phase")


def beside_curves(null: Null | None) -> bool:
    """Return whether a null distribution consists of curves."""
    return null is None or null.name in _CURVES


def short(outcome: Outcome, null: Null | None = None) -> str:
    """Return an outcome as a cell of a table."""
    if outcome == "as any smooth curve" and null is not None and null.name == "displaced":
        return "as any displacement"
    if outcome == "as any smooth curve" and not beside_curves(null):
        return "as by chance"
    return SHORT[outcome]


def long(outcome: Outcome, null: Null | None = None) -> str:
    """Return an outcome as part of a sentence."""
    if outcome != "as any smooth curve":
        return SHORT[outcome]
    if null is not None and null.name == "displaced":
        return "holds, as for any displacement"
    curves = beside_curves(null)
    return f"holds, as {'for any smooth curve' if curves else 'by chance'}"


def outcome_color(outcome: Outcome, theme: Theme) -> str:
    """Return the colour of an outcome, as ``#rrggbb``."""
    return {
        "holds": theme.good,
        "as any smooth curve": theme.usual,
        "does not hold": theme.warning,
    }.get(outcome, theme.muted)
