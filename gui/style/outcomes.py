"""The five outcomes of a claim: a word, a mark and a colour of each."""

from geometry.evidence.null import Outcome
from gui.style.theme import Theme

SHORT: dict[Outcome, str] = {
    "holds": "holds",
    "as any smooth curve": "as any smooth curve",
    "does not hold": "does not hold",
    "not applicable": "not applicable",
    "cannot tell": "cannot be told",
}
"""As a cell of a table."""
LONG: dict[Outcome, str] = {
    **SHORT,
    "as any smooth curve": "holds, as it would for any smooth curve",
}
"""As part of a sentence."""
SIGNS: dict[Outcome, str] = {
    "holds": "✓",
    "as any smooth curve": "≈",
    "does not hold": "✗",
    "not applicable": "–",
    "cannot tell": "?",
}
"""Marks, for those who do not see the colours."""


def outcome_color(outcome: Outcome, theme: Theme) -> str:
    """Return the colour of an outcome, as ``#rrggbb``."""
    return {
        "holds": theme.good,
        "as any smooth curve": theme.usual,
        "does not hold": theme.warning,
    }.get(outcome, theme.muted)
