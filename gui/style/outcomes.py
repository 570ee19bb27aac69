"""The six outcomes of a claim: a word, a mark and a colour for each."""

from geometry.evidence.drawn_tables import CURVES
from geometry.evidence.null import Null, Outcome
from gui.style.theme import Theme

SHORT: dict[Outcome, str] = {
    "holds": "holds",
    "as any smooth curve": "as any smooth curve",
    "does not hold": "does not hold",
    "worse than any such curve": "worse than any curve",
    "not applicable": "not applicable",
    "cannot tell": "undetermined",
}
"""Texts of table cells."""
SIGNS: dict[Outcome, str] = {
    "holds": "✓",
    "as any smooth curve": "≈",
    "does not hold": "✗",
    "worse than any such curve": "↓",
    "not applicable": "–",
    "cannot tell": "?",
}
"""Marks, which do not depend on colour."""
_BY_CHANCE: dict[Outcome, str] = {
    "as any smooth curve": "as by chance",
    "worse than any such curve": "worse than chance",
}
_DISPLACED: dict[Outcome, str] = {
    "as any smooth curve": "as any displacement",
    "worse than any such curve": "worse than any displacement",
}


def beside_curves(null: Null | None) -> bool:
    """Return whether a null distribution consists of curves."""
    return null is None or null.name in CURVES


def short(outcome: Outcome, null: Null | None = None) -> str:
    """Return an outcome as a cell of a table."""
    if beside_curves(null):
        return SHORT[outcome]
    displaced = null is not None and null.name == "displaced"
    return (_DISPLACED if displaced else _BY_CHANCE).get(outcome, SHORT[outcome])


def long(outcome: Outcome, null: Null | None = None) -> str:
    """Return an outcome as part of a sentence."""
    cell = short(outcome, null)
    if outcome != "as any smooth curve":
        return cell
    return f"holds, {cell if cell.startswith('as by') else cell.replace('as any', 'as for any')}"


def outcome_color(outcome: Outcome, theme: Theme) -> str:
    """Return the colour of an outcome, as ``#rrggbb``."""
    return {
        "holds": theme.good,
        "as any smooth curve": theme.usual,
        "does not hold": theme.warning,
        "worse than any such curve": theme.warning,
    }.get(outcome, theme.muted)
